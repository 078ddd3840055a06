//! What the command says of a run that cannot be as it is asked for: with its options, and what to do.

use crate::exit::Failure;
use tarebench::programs::command::CommandError;
use tarebench::programs::parameters::ParameterError;
use tarebench::programs::request::{ProgramText, ProgramsError, among_them};
use tarebench::run::count::CountError;
use tarebench::run::metrics::MetricRefused;
use tarebench::run::order::OrderError;
use tarebench::run::request::RequestError;

impl From<RequestError> for Failure {
    fn from(e: RequestError) -> Failure {
        match e {
            RequestError::Programs(e) => e.into(),
            RequestError::Count(e) => e.into(),
            RequestError::Order(e) => e.into(),
            RequestError::Metric(e) => match e {
                MetricRefused::OutputNotKept => {
                    Failure::usage(format!("--metric: {e}")).hint("give --output null or --output FILE")
                }
                e => Failure::usage(format!("--metric: {e}")),
            },
            RequestError::Input { file, cause } => Failure::usage(format!("--input {}: {cause}", file.display())),
            RequestError::Outputs { outputs, programs } => Failure::usage(format!(
                "--output is given {outputs} times for {programs} programs: expected once, or once for each"
            )),
            RequestError::RealTimeProbes { pauses } => {
                let option = if pauses { "--quiet" } else { "--correct" };
                Failure::usage(format!(
                    "{option} with --sched fifo: probes have the lowest real-time priority, and would not run"
                ))
                .hint("omit one of the two")
            }
            RequestError::ProbePeriod(_) => Failure::usage("--probe-period: expected a time from 1ms to 100ms"),
            RequestError::Path(_) => Failure::usage(e.to_string()),
            RequestError::Folder(_) | RequestError::Cpus(_) | RequestError::NoCpu => Failure::system(e),
        }
    }
}

impl From<ProgramsError> for Failure {
    fn from(e: ProgramsError) -> Failure {
        match &e {
            ProgramsError::NoProgram => {
                Failure::usage(e.to_string()).hint("tare run -- PROG ARGS…, or tare run 'PROG A' 'PROG B'")
            }
            ProgramsError::TooMany(_) => Failure::usage(e.to_string()),
            ProgramsError::Names(given) => Failure::usage(given.sentence(" (-n)")),
            ProgramsError::Hooks { text, given, programs, reference } => Failure::usage(format!(
                "{} is given {given} times for {programs} programs{}: expected once, or once for each",
                option(*text),
                among_them(*reference),
            )),
            ProgramsError::ReferenceParameter { text, .. } => {
                let option = option(*text);
                Failure::usage(e.to_string()).hint(match text {
                    ProgramText::Prepare | ProgramText::Conclude => {
                        format!("give {option} once per program, the reference first")
                    }
                    ProgramText::Program | ProgramText::Setup | ProgramText::Cleanup => {
                        "omit --reference and time the reference as another program or another value".to_owned()
                    }
                })
            }
            ProgramsError::Command(e) => e.clone().into(),
            ProgramsError::Parameter(e @ ParameterError::BadName(_)) => {
                Failure::usage(e.to_string()).hint("e.g. -L level 1,6,9 for {level}")
            }
            ProgramsError::Parameter(e) => Failure::usage(e.to_string()),
        }
    }
}

/// The option that gives a text of a program.
fn option(text: ProgramText) -> &'static str {
    match text {
        ProgramText::Program => "--reference",
        ProgramText::Setup => "--setup",
        ProgramText::Prepare => "--prepare",
        ProgramText::Conclude => "--conclude",
        ProgramText::Cleanup => "--cleanup",
    }
}

impl From<CommandError> for Failure {
    fn from(e: CommandError) -> Failure {
        match e {
            CommandError::NeedsShell { .. } => Failure::usage(e.to_string())
                .hint("omit -N (or -S none), or quote the characters that belong to an argument"),
            CommandError::NoShell => Failure::usage("--shell: expected default, none, or a shell's command"),
            CommandError::Empty | CommandError::OpenQuote(_) => Failure::usage(e.to_string()),
        }
    }
}

impl From<CountError> for Failure {
    fn from(e: CountError) -> Failure {
        match e {
            CountError::Limits { min, max } => {
                Failure::usage(format!("--min-runs {min} is more than --max-runs {max}"))
            }
            CountError::Precision(p) => {
                Failure::usage(format!("--precision {p}: expected a fraction between 0 and 1, e.g. 0.01 for 1%"))
            }
            CountError::Blocks(max) => {
                let (fewest, most) = CountError::BLOCKS;
                Failure::usage(format!("--max-runs {max} with --detect: expected {fewest} to {most} blocks"))
                    .hint("omit --max-runs for 200; a smaller difference needs more blocks")
            }
        }
    }
}

impl From<OrderError> for Failure {
    fn from(e: OrderError) -> Failure {
        match e {
            OrderError::RealTimeDuets => Failure::usage(
                "--order duet with --sched fifo: programs with a real-time priority do not alternate; give one of the two, \
                 or --order auto",
            ),
            OrderError::ProbedDuets => Failure::usage(
                "--order duet with --quiet or --correct: in a duet two programs share the CPU that probes would watch",
            )
            .hint(
                "a duet's ratio needs no quiet machine: omit --quiet or --correct, or use --order rounds",
            ),
            OrderError::OneProgram => Failure::usage("--detect compares programs, and there is only one")
                .hint("name another program, or use --control to compare it with itself"),
            OrderError::SequentialForSetups => Failure::usage(
                "--detect compares interleaved programs, and these run one after the other, because their setup commands \
                 differ",
            )
            .hint("if no setup undoes another's, use --independent-setup"),
            OrderError::Sequential => {
                Failure::usage("--detect compares interleaved programs: it cannot be used with --order sequential")
                    .hint("omit --order, or use --order rounds")
            }
            OrderError::DependentSetups(e) => e.into(),
        }
    }
}
