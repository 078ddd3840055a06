//! The arguments of `tare run`, and the plan that they make. Parsed here, carried out elsewhere.

use crate::args::values::cpu_list;
use crate::exit::Failure;
use crate::run::args::CountArgs;
use crate::run::args::OrderArg;
use crate::run::args::RunArgs;
use crate::run::args::WhatArgs;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use tarebench::core::base::name::Name;
use tarebench::core::run::plan::{
    Command, IgnoreFailure, Input, Order, Output, Plan, ProfileChoice, Program, RunCount, Sched, choose_order,
};

/// Most combinations of parameters, against a slip of the finger.
const MOST_PROGRAMS: usize = 10_000;

/// Refuses what cannot be a number of standard deviations.
pub fn check_sigma(sigma: f64) -> Result<f64, Failure> {
    if sigma.is_finite() && sigma > 0.0 {
        return Ok(sigma);
    }
    Err(Failure::usage(format!("--sigma {sigma}: expected a positive number, e.g. 2 (strict) or 5 (relaxed)")))
}

/// Makes the plan.
///
/// # Errors
/// With a sentence on what is wrong in the arguments.
pub fn build(args: &RunArgs) -> Result<Plan, Failure> {
    let c = &args.conditions;
    let env: Vec<(Name, Name)> =
        c.env.iter().map(|(k, v)| (Name::new(k.as_bytes()), Name::new(v.as_bytes()))).collect();
    let output = match (c.show_output, c.output.as_slice()) {
        (true, _) => Output::Inherit,
        (false, [one]) => output(one.as_bytes())?,
        (false, _) => Output::Null,
    };
    let input = match c.input.as_bytes() {
        b"inherit" => Input::Inherit,
        b"null" => Input::Null,
        file => {
            let path = absolute(file)?;
            let readable = std::fs::File::open(std::ffi::OsStr::from_bytes(&path));
            readable.map_err(|e| Failure::usage(format!("--input {}: {e}", c.input.to_string_lossy())))?;
            Input::File(Name::new(path))
        }
    };
    let cwd = match &c.cwd {
        Some(folder) => absolute(folder.as_bytes())?,
        None => std::env::current_dir()
            .map_err(|e| Failure::system(format!("working directory: {e}")))?
            .into_os_string()
            .into_vec(),
    };
    let cpus = c.cpus.as_deref().map(cpu_list).transpose()?.unwrap_or_default();
    let order = args.count.order.map(|o| match o {
        OrderArg::Rounds => Order::Rounds,
        OrderArg::Random => Order::Random,
        OrderArg::Sequential => Order::Sequential,
    });
    let programs = programs(args)?;
    Ok(Plan {
        order: choose_order(order, &programs, args.hooks.independent_setup)?,
        programs,
        seed: args.count.seed,
        warmup: args.count.warmup,
        runs: run_count(&args.count)?,
        max_time: args.count.max_time,
        timeout: args.count.timeout,
        ignore_failure: ignore_failure(args.count.ignore_failure.as_deref())?,
        sigma: check_sigma(args.statistics.sigma)?,
        profile: match args.statistics.profile.as_deref() {
            None => ProfileChoice::Newest,
            Some("none") => ProfileChoice::No,
            Some(name) => ProfileChoice::Named(name.to_owned()),
        },
        output,
        input,
        cpus,
        sched: c.sched.as_deref().map(sched).transpose()?,
        cwd: Name::new(cwd),
        env,
        user: c.user.clone(),
        leave_running: c.leave_running,
        images: !c.no_images,
        account: !c.no_account,
        tags: c.tag.iter().cloned().collect(),
        require: args.statistics.require.clone(),
        hook_shell: hook_shell(&args.what)?,
        independent_setups: args.hooks.independent_setup,
        purpose: None,
    })
}

/// Where a program's output goes, by one value of `--output`.
fn output(text: &[u8]) -> Result<Output, Failure> {
    Ok(match text {
        b"inherit" => Output::Inherit,
        b"null" => Output::Null,
        b"pipe" => Output::Pipe,
        file => Output::File(Name::new(absolute(file)?)),
    })
}

/// The shell that was chosen for the programs runs the hooks, too.
fn hook_shell(what: &WhatArgs) -> Result<Vec<Name>, Failure> {
    Ok(match command(what, "true", &[])? {
        Command::Shell { shell, .. } => shell,
        Command::Argv(_) => Vec::new(),
    })
}

/// A path that stays right when the run is resumed from another folder.
fn absolute(path: &[u8]) -> Result<Vec<u8>, Failure> {
    let path = std::path::absolute(std::ffi::OsStr::from_bytes(path));
    Ok(path.map_err(|e| Failure::usage(format!("path: {e}")))?.into_os_string().into_vec())
}

fn run_count(c: &CountArgs) -> Result<RunCount, Failure> {
    if let (Some(min), Some(max)) = (c.min_runs, c.max_runs)
        && min > max
    {
        return Err(Failure::usage(format!("--min-runs {min} is more than --max-runs {max}")));
    }
    match c.precision {
        Some(p) if !(p > 0.0 && p < 1.0) => {
            Err(Failure::usage(format!("--precision {p}: expected a fraction between 0 and 1, e.g. 0.01 for 1%")))
        }
        Some(precision) => {
            let min = c.min_runs.unwrap_or(10);
            Ok(RunCount::Adaptive { precision, min, max: c.max_runs.unwrap_or(500.max(min)) })
        }
        None => {
            Ok(RunCount::Fixed(c.runs.unwrap_or(10).max(c.min_runs.unwrap_or(0)).min(c.max_runs.unwrap_or(u32::MAX))))
        }
    }
}

fn ignore_failure(text: Option<&str>) -> Result<IgnoreFailure, Failure> {
    match text {
        None => Ok(IgnoreFailure::No),
        Some("all" | "all-non-zero") => Ok(IgnoreFailure::All),
        Some(codes) => {
            let codes: Result<Vec<i32>, _> = codes.split(',').map(|c| c.trim().parse()).collect();
            let bad = |_| {
                Failure::usage(format!(
                    "--ignore-failure={codes_text}: expected exit codes such as 1,2",
                    codes_text = text.unwrap_or_default()
                ))
            };
            codes.map(IgnoreFailure::Codes).map_err(bad)
        }
    }
}

fn sched(text: &str) -> Result<Sched, Failure> {
    let bad = || Failure::usage(format!("--sched {text}: expected fifo:PRIORITY (1 to 99) or nice:VALUE (-20 to 19)"));
    let (kind, value) = text.split_once(':').ok_or_else(bad)?;
    match kind {
        "fifo" => value.parse().ok().filter(|p| (1..=99).contains(p)).map(Sched::Fifo).ok_or_else(bad),
        "nice" => value.parse().ok().filter(|n| (-20..=19).contains(n)).map(Sched::Nice).ok_or_else(bad),
        _ => Err(bad()),
    }
}

/// The programs: the one after `--`, or each string with each combination of parameters, the reference first.
fn programs(args: &RunArgs) -> Result<Vec<Program>, Failure> {
    let what = &args.what;
    let mut templates: Vec<(String, Vec<Name>)> = Vec::new();
    if !args.argv.is_empty() {
        let words: Vec<Name> = args.argv.iter().map(|w| Name::new(w.as_bytes())).collect();
        let label = words.iter().map(|w| shell_words::quote(&w.to_string()).into_owned()).collect::<Vec<_>>().join(" ");
        templates.push((label, words));
    }
    templates.extend(what.commands.iter().map(|c| (c.clone(), Vec::new())));
    if templates.is_empty() {
        return Err(Failure::usage("no program to time").hint("tare run -- PROG ARGS…, or tare run 'PROG A' 'PROG B'"));
    }
    let combinations = parameters(what)?;
    if combinations.len() * templates.len() > MOST_PROGRAMS {
        let n = combinations.len() * templates.len();
        return Err(Failure::usage(format!("{n} programs by the parameters: expected at most {MOST_PROGRAMS}")));
    }
    let mut programs = Vec::new();
    if let Some(reference) = &what.reference {
        let hooks = Hooks::of(args, None, &BTreeMap::new())?;
        let label = what.reference_name.clone().unwrap_or_else(|| reference.clone());
        programs.push(program(label, command(what, reference, &[])?, BTreeMap::new(), hooks, true));
    }
    let first = programs.len();
    for (i, (text, words)) in templates.iter().enumerate() {
        for values in &combinations {
            let text = substitute(text, values);
            let words: Vec<Name> = words.iter().map(|w| substitute_bytes(w, values)).collect();
            let named = what.command_name.get(programs.len() - first).or(match what.command_name.len() {
                n if n == templates.len() => what.command_name.get(i),
                _ => None,
            });
            let label = named.map_or_else(|| text.clone(), |n| substitute(n, values));
            let hooks = Hooks::of(args, Some((i, templates.len())), values)?;
            programs.push(program(label, command(what, &text, &words)?, values.clone(), hooks, false));
        }
    }
    outputs(&args.conditions.output, &mut programs)?;
    if what.command_name.len() > programs.len() - first {
        let (names, n) = (what.command_name.len(), programs.len() - first);
        return Err(Failure::usage(format!("{names} names (-n) for {n} programs")));
    }
    Ok(programs)
}

/// Several `--output`: one for each program, the reference first.
fn outputs(list: &[OsString], programs: &mut [Program]) -> Result<(), Failure> {
    if list.len() < 2 {
        return Ok(());
    }
    if list.len() != programs.len() {
        let (n, all) = (list.len(), programs.len());
        return Err(Failure::usage(format!(
            "--output is given {n} times for {all} programs: expected once, or once for each"
        )));
    }
    for (program, text) in programs.iter_mut().zip(list) {
        program.output = Some(output(text.as_bytes())?);
    }
    Ok(())
}

struct Hooks {
    setup: Option<String>,
    prepare: Option<String>,
    conclude: Option<String>,
    cleanup: Option<String>,
}

impl Hooks {
    /// Of the program at this position of so many; `None` is the reference, which has those given once.
    fn of(args: &RunArgs, at: Option<(usize, usize)>, values: &BTreeMap<String, String>) -> Result<Hooks, Failure> {
        let h = &args.hooks;
        let pick = |list: &[String], name: &str| match (list.len(), at) {
            (0, _) => Ok(None),
            (1, _) => Ok(list.first().map(|s| substitute(s, values))),
            (_, None) => Ok(None),
            (n, Some((i, all))) if n == all => Ok(list.get(i).map(|s| substitute(s, values))),
            (n, Some((_, all))) => Err(Failure::usage(format!(
                "--{name} is given {n} times for {all} programs: expected once, or once for each"
            ))),
        };
        let put = |s: &Option<String>| s.as_ref().map(|s| substitute(s, values));
        Ok(Hooks {
            setup: put(&h.setup),
            prepare: pick(&h.prepare, "prepare")?,
            conclude: pick(&h.conclude, "conclude")?,
            cleanup: put(&h.cleanup),
        })
    }
}

fn program(
    label: String,
    command: Command,
    parameters: BTreeMap<String, String>,
    hooks: Hooks,
    reference: bool,
) -> Program {
    Program {
        label,
        command,
        parameters,
        prepare: hooks.prepare,
        conclude: hooks.conclude,
        setup: hooks.setup,
        cleanup: hooks.cleanup,
        output: None,
        reference,
    }
}

fn command(what: &WhatArgs, text: &str, words: &[Name]) -> Result<Command, Failure> {
    let shell = if what.no_shell { "none" } else { &what.shell };
    let split = |text: &str| {
        let words = shell_words::split(text);
        words.map_err(|_| Failure::usage(format!("a quote is not closed in `{text}`")))
    };
    let names = |words: Vec<String>| words.into_iter().map(|w| Name::new(w.into_bytes())).collect::<Vec<_>>();
    if shell == "none" {
        if !words.is_empty() {
            return Ok(Command::Argv(words.to_vec()));
        }
        let words = split(text)?;
        if words.is_empty() {
            return Err(Failure::usage("an empty string is no program"));
        }
        return Ok(Command::Argv(names(words)));
    }
    let shell = match shell {
        "default" => vec!["/bin/sh".to_owned()],
        other => split(other)?,
    };
    if shell.is_empty() {
        return Err(Failure::usage("--shell: expected default, none, or a shell's command"));
    }
    Ok(Command::Shell { shell: names(shell), script: Name::from(text) })
}

/// All combinations of the parameters' values, the last list varying fastest; one empty combination without parameters.
fn parameters(what: &WhatArgs) -> Result<Vec<BTreeMap<String, String>>, Failure> {
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for scan in what.parameter_scan.chunks(3) {
        if let [name, min, max] = scan {
            lists.push((name.clone(), scan_values(min, max, what.parameter_step_size.as_deref())?));
        }
    }
    for list in what.parameter_list.chunks(2) {
        if let [name, values] = list {
            lists.push((name.clone(), split_commas(values)));
        }
    }
    let mut all = vec![BTreeMap::new()];
    for (name, values) in lists {
        if all.iter().any(|c: &BTreeMap<_, _>| c.contains_key(&name)) {
            return Err(Failure::usage(format!("the parameter `{name}` is given twice")));
        }
        if all.len().saturating_mul(values.len()) > MOST_PROGRAMS {
            return Err(Failure::usage(format!("more than {MOST_PROGRAMS} combinations of parameters")));
        }
        let with = |c: &BTreeMap<String, String>, v: &String| {
            let mut c = c.clone();
            c.insert(name.clone(), v.clone());
            c
        };
        all = all.iter().flat_map(|c| values.iter().map(move |v| (c, v))).map(|(c, v)| with(c, v)).collect();
    }
    Ok(all)
}

/// Values between commas; `\,` is a comma itself.
fn split_commas(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                values.last_mut().into_iter().for_each(|v| v.push(','));
            }
            ',' => values.push(String::new()),
            c => values.last_mut().into_iter().for_each(|v| v.push(c)),
        }
    }
    values
}

/// Numbers from `min` to `max`, computed in units of the finest decimal given, so that 0.1 steps do not drift.
fn scan_values(min: &str, max: &str, step: Option<&str>) -> Result<Vec<String>, Failure> {
    let step = step.unwrap_or("1");
    let decimals = |t: &str| t.split_once('.').map_or(0, |(_, d)| d.len());
    let places = [min, max, step].into_iter().map(decimals).max().unwrap_or(0);
    let scaled = |t: &str| {
        let negative = t.starts_with('-');
        let (whole, fraction) =
            t.trim_start_matches(['-', '+']).split_once('.').unwrap_or((t.trim_start_matches(['-', '+']), ""));
        let digits = format!("{whole}{fraction:0<places$}");
        let n = digits.parse::<i64>().ok().filter(|_| !whole.is_empty() && places <= 9);
        let n = n.ok_or_else(|| Failure::usage(format!("parameter scan: `{t}` is not a number such as 5 or 0.25")))?;
        Ok::<i64, Failure>(if negative { -n } else { n })
    };
    let (min_n, max_n, step_n) = (scaled(min)?, scaled(max)?, scaled(step)?);
    if step_n <= 0 || min_n > max_n {
        return Err(Failure::usage(format!(
            "parameter scan: from {min} to {max} by {step}: expected MIN ≤ MAX and a positive step"
        )));
    }
    if (max_n - min_n) / step_n >= MOST_PROGRAMS as i64 {
        return Err(Failure::usage(format!("parameter scan: more than {MOST_PROGRAMS} values")));
    }
    let show = |n: i64| {
        let unit = 10i64.pow(places as u32);
        let sign = if n < 0 { "-" } else { "" };
        let n = n.abs();
        if places == 0 { format!("{sign}{n}") } else { format!("{sign}{}.{:0places$}", n / unit, n % unit) }
    };
    Ok((0..=(max_n - min_n) / step_n).map(|i| show(min_n + i * step_n)).collect())
}

/// Puts parameters' values in place of `{NAME}`, in one pass: a value is never looked into.
fn substitute(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let value = after.find('}').and_then(|close| Some((values.get(&after[..close])?, &after[close + 1..])));
        match value {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn substitute_bytes(word: &Name, values: &BTreeMap<String, String>) -> Name {
    match std::str::from_utf8(word.as_bytes()) {
        Ok(text) => Name::new(substitute(text, values).into_bytes()),
        Err(_) => word.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_do_not_drift() {
        assert_eq!(scan_values("1", "3", None).unwrap(), ["1", "2", "3"]);
        assert_eq!(scan_values("0", "0.3", Some("0.1")).unwrap(), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(scan_values("-1", "1", Some("0.5")).unwrap(), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        for (a, b, s) in [("3", "1", None), ("1", "2", Some("0")), ("x", "2", None), ("0", "1000000", None)] {
            assert!(scan_values(a, b, s).is_err(), "{a} {b}");
        }
    }

    #[test]
    fn values_are_put_in_once() {
        let values = BTreeMap::from([("a".to_owned(), "{b}".to_owned()), ("b".to_owned(), "2".to_owned())]);
        assert_eq!(substitute("x{a}y{b}{c}{", &values), "x{b}y2{c}{");
    }

    #[test]
    fn lists_of_values() {
        assert_eq!(split_commas(r"a,b\,c,,"), ["a", "b,c", "", ""]);
    }
}
