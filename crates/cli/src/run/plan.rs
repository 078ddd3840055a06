//! What the arguments of `tare run` ask for.

use crate::args::values::cpu_list;
use crate::exit::Failure;
use crate::run::args::{CountArgs, DiscardArg, OrderArg, RunArgs, WhatArgs};
use crate::run::quiet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tarebench::core::base::name::Name;
use tarebench::core::run::plan::{IgnoreFailure, Input, MetricPlan, Order, Output, ProfileChoice, RunPlan, Sched};
use tarebench::programs::command::ShellChoice;
use tarebench::programs::parameters::{Parameter, ParameterRange};
use tarebench::programs::request::{AskedHooks, AskedProgram, AskedReference, ProgramsRequest};
use tarebench::run::count::CountRequest;
use tarebench::run::request::{RequestedRun, RunRequest, plan};

/// Makes the plan.
///
/// # Errors
/// A sentence on the wrong argument.
pub fn build(args: &RunArgs) -> Result<RequestedRun, Failure> {
    Ok(plan(request(args)?)?)
}

fn request(args: &RunArgs) -> Result<RunRequest, Failure> {
    let c = &args.conditions;
    let sched = c.sched.as_deref().map(sched).transpose()?;
    let (for_all, outputs) = match c.output.as_slice() {
        _ if c.show_output => (Output::Inherit, Vec::new()),
        [] => (Output::Null, Vec::new()),
        [one] => (output(one), Vec::new()),
        several => (Output::Null, several.iter().map(|text| output(text)).collect()),
    };
    let metric = |(name, pattern): &(String, String)| MetricPlan { name: name.clone(), pattern: pattern.clone() };
    let rest = RunPlan {
        warmup: args.count.warmup,
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
        output: for_all,
        input: match c.input.as_bytes() {
            b"inherit" => Input::Inherit,
            b"null" => Input::Null,
            file => Input::File(Name::new(file)),
        },
        sched,
        env: c.env.iter().map(|(k, v)| (Name::new(k.as_bytes()), Name::new(v.as_bytes()))).collect(),
        user: c.user.clone(),
        leave_running: c.leave_running,
        images: !c.no_images,
        account: !c.no_account,
        counters: c.counters,
        tags: c.tag.iter().cloned().collect(),
        require: args.statistics.require.clone(),
        independent_setups: args.hooks.independent_setup,
        metrics: c.metric.iter().map(metric).collect(),
        probes: quiet::probes(&args.quiet)?,
        ..RunPlan::of(Vec::new())
    };
    Ok(RunRequest {
        control: args.what.control,
        count: count(&args.count),
        order: args.count.order.map(order),
        cpus: c.cpus.as_deref().map(cpu_list).transpose()?,
        cwd: c.cwd.as_ref().map(PathBuf::from),
        outputs,
        seed: args.count.seed,
        rest,
        ..RunRequest::new(programs(args)?)
    })
}

fn programs(args: &RunArgs) -> Result<ProgramsRequest, Failure> {
    let (what, hooks) = (&args.what, &args.hooks);
    let words: Vec<Name> = args.argv.iter().map(|w| Name::new(w.as_bytes())).collect();
    let words = (!words.is_empty()).then_some(AskedProgram::Words(words));
    let reference = |text: &String| AskedReference { text: text.clone(), name: what.reference_name.clone() };
    Ok(ProgramsRequest {
        programs: words.into_iter().chain(what.commands.iter().cloned().map(AskedProgram::Line)).collect(),
        reference: what.reference.as_ref().map(reference),
        names: what.command_name.clone(),
        parameters: parameters(what),
        shell: match what.shell.as_deref() {
            _ if what.no_shell => ShellChoice::No,
            None => ShellChoice::Auto,
            Some(name) => ShellChoice::named(name)?,
        },
        hooks: AskedHooks {
            setup: hooks.setup.clone(),
            prepare: hooks.prepare.clone(),
            conclude: hooks.conclude.clone(),
            cleanup: hooks.cleanup.clone(),
        },
    })
}

fn parameters(what: &WhatArgs) -> Vec<Parameter> {
    let mut all = Vec::new();
    for scan in what.parameter_scan.chunks(3) {
        if let [name, min, max] = scan {
            let step = what.parameter_step_size.clone();
            let range = ParameterRange::Scan { min: min.clone(), max: max.clone(), step };
            all.push(Parameter { name: name.clone(), range });
        }
    }
    for list in what.parameter_list.chunks(2) {
        if let [name, values] = list {
            all.push(Parameter { name: name.clone(), range: ParameterRange::Values(split_commas(values)) });
        }
    }
    all
}

/// Values separated by commas; `\,` is a literal comma.
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

fn order(order: OrderArg) -> Order {
    match order {
        OrderArg::Rounds => Order::Rounds,
        OrderArg::Random => Order::Random,
        OrderArg::Sequential => Order::Sequential,
        OrderArg::Auto => Order::Auto,
        OrderArg::Duet => Order::Duet,
    }
}

fn count(c: &CountArgs) -> CountRequest {
    CountRequest { samples: c.runs, precision: c.precision, difference: c.detect, min: c.min_runs, max: c.max_runs }
}

/// The target of a program's output, from one value of `--output`.
fn output(text: &OsStr) -> Output {
    match text.as_bytes() {
        b"inherit" => Output::Inherit,
        b"null" => Output::Null,
        b"pipe" => Output::Pipe,
        file => Output::File(Name::new(file)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_values() {
        assert_eq!(split_commas(r"a,b\,c,,"), ["a", "b,c", "", ""]);
    }
}
