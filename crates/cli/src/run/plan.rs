//! Makes a plan from the arguments of `tare run`.

use crate::args::values::cpu_list;
use crate::exit::Failure;
use crate::run::args::CountArgs;
use crate::run::args::DiscardArg;
use crate::run::args::OrderArg;
use crate::run::args::RunArgs;
use crate::run::detect;
use crate::run::programs::{Programs, explicit_shell, programs};
use crate::run::quiet;
use crate::run::shell::ShellSyntax;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use tarebench::core::base::name::Name;
use tarebench::core::run::plan::{
    IgnoreFailure, Input, MetricPlan, Order, Output, ProfileChoice, Program, RunCount, RunPlan, Sched, choose_order,
};
use tarebench::run::metrics::{MetricPatterns, MetricRefused};
use tarebench::sys::opened_as::check_readable;

/// A plan, and those of its programs that the shell runs without an option that requests it.
pub struct Built {
    pub plan: RunPlan,
    /// The command as typed, and what in it needs a shell.
    pub by_shell: Vec<(String, ShellSyntax)>,
}

/// Makes the plan.
///
/// # Errors
/// A sentence on the wrong argument.
pub fn build(args: &RunArgs) -> Result<Built, Failure> {
    let Programs { programs, by_shell } = programs(args)?;
    Ok(Built { plan: plan(args, programs)?, by_shell })
}

fn plan(args: &RunArgs, mut programs: Vec<Program>) -> Result<RunPlan, Failure> {
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
            let named = std::path::Path::new(std::ffi::OsStr::from_bytes(&path));
            // Another user's file is opened with that user's rights only.
            let readable = if c.user.is_some() { Ok(()) } else { check_readable(named) };
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
    let sched = c.sched.as_deref().map(sched).transpose()?;
    let probes = quiet::probes(&args.quiet, sched)?;
    let cpus = match c.cpus.as_deref() {
        Some(list) => cpu_list(list)?,
        None if probes.is_some() => vec![quiet::one_cpu()?],
        None => Vec::new(),
    };
    outputs(&c.output, &mut programs)?;
    if args.what.control {
        programs.extend(detect::control(&programs));
    }
    let metric = |(name, pattern): &(String, String)| MetricPlan { name: name.clone(), pattern: pattern.clone() };
    let plan = RunPlan {
        order: order(args, &programs, sched, probes.is_some())?,
        seed: args.count.seed,
        warmup: args.count.warmup,
        runs: run_count(&args.count)?,
        margin: args.statistics.margin,
        max_time: args.count.max_time,
        timeout: args.count.timeout,
        ignore_failure: ignore_failure(args.count.ignore_failure.as_deref())?,
        sigma: args.statistics.sigma,
        discard: args.statistics.discard.map(DiscardArg::rule),
        profile: match args.statistics.profile.as_deref() {
            None => ProfileChoice::Newest,
            Some("none") => ProfileChoice::No,
            Some(name) => ProfileChoice::Named(name.to_owned()),
        },
        output,
        input,
        cpus,
        sched,
        cwd: Name::new(cwd),
        env,
        user: c.user.clone(),
        leave_running: c.leave_running,
        images: !c.no_images,
        account: !c.no_account,
        counters: c.counters,
        tags: c.tag.iter().cloned().collect(),
        require: args.statistics.require.clone(),
        hook_shell: explicit_shell(&args.what)?,
        independent_setups: args.hooks.independent_setup,
        metrics: c.metric.iter().map(metric).collect(),
        probes,
        ..RunPlan::of(programs)
    };
    check_metrics(&plan)?;
    Ok(plan)
}

fn check_metrics(plan: &RunPlan) -> Result<(), Failure> {
    match MetricPatterns::new(plan) {
        Ok(_) => Ok(()),
        Err(e @ MetricRefused::OutputNotKept) => {
            Err(Failure::usage(format!("--metric: {e}")).hint("give --output null or --output FILE"))
        }
        Err(e) => Err(Failure::usage(format!("--metric: {e}"))),
    }
}

fn order(args: &RunArgs, programs: &[Program], sched: Option<Sched>, probed: bool) -> Result<Order, Failure> {
    let asked = args.count.order.map(|o| match o {
        OrderArg::Rounds => Order::Rounds,
        OrderArg::Random => Order::Random,
        OrderArg::Sequential => Order::Sequential,
        OrderArg::Auto => Order::Auto,
        OrderArg::Duet => Order::Duet,
    });
    if let (Some(Order::Duet), Some(Sched::Fifo(_))) = (asked, sched) {
        let why = "--order duet with --sched fifo: programs with a real-time priority do not alternate";
        return Err(Failure::usage(format!("{why}; give one of the two, or --order auto")));
    }
    if probed && asked == Some(Order::Duet) {
        return Err(quiet::no_duets());
    }
    let independent_setups = args.hooks.independent_setup;
    let chosen = match args.count.detect {
        Some(_) => detect::order(asked, programs, independent_setups, sched)?,
        None => choose_order(asked, programs, independent_setups)?,
    };
    Ok(if probed { quiet::without_duets(chosen) } else { chosen })
}

/// The target of a program's output, from one value of `--output`.
fn output(text: &[u8]) -> Result<Output, Failure> {
    Ok(match text {
        b"inherit" => Output::Inherit,
        b"null" => Output::Null,
        b"pipe" => Output::Pipe,
        file => Output::File(Name::new(absolute(file)?)),
    })
}

/// An absolute path, which stays valid when the run is resumed from another folder.
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
    if let Some(difference) = c.detect {
        return detect::count(difference, c);
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
