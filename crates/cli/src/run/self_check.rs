//! `tare run --self-check`: measures the cost of tracing.

use crate::args::style::Show;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::own_program;
use tarebench::render::run::self_check::{ProgramCost, SelfCheckRow, table};
use tarebench::run::self_check::{COMPUTING, Cost, SWITCHING, SelfCheckError, SelfCheckResult, check, own_command};
use tarebench::sys::signals::Signals;

impl From<SelfCheckError> for Failure {
    fn from(e: SelfCheckError) -> Failure {
        let exit = match e {
            SelfCheckError::Interrupted(_) => Exit::Interrupted,
            _ => Exit::System,
        };
        Failure { exit, message: e.to_string(), hint: None }
    }
}

pub fn run(rounds: u32, show: &Show) -> Result<Exit, Failure> {
    let signals = Signals::install().map_err(Failure::system)?;
    own_program::check()?;
    let tare = own_command()?;
    if show.progress {
        eprintln!("Two workloads, {rounds} rounds each, without, with and without tracing, interleaved …");
    }
    let found = [COMPUTING, SWITCHING].into_iter().map(|w| check(&tare, w, rounds, &signals));
    let found: Vec<SelfCheckResult> = found.collect::<Result<_, _>>()?;
    let rows: Vec<SelfCheckRow> = found.iter().map(row).collect();
    print(&table(&rows, &show.style));
    Ok(Exit::Done)
}

fn row(f: &SelfCheckResult) -> SelfCheckRow {
    let cost = |c: &Cost| ProgramCost {
        name: c.program.clone(),
        runs: c.runs,
        each: c.ns as f64 / c.runs as f64,
        missed: c.missed,
    };
    SelfCheckRow {
        workload: f.workload.name.to_owned(),
        command: f.workload.arguments.join(" "),
        executions: f.executions,
        ratio: f.ratio.as_ref().map(|r| (r.ratio, r.interval.as_ref().ok().map(|i| (i.low, i.high)))),
        share: f.share(),
        per_event: f.per_event(),
        rate: f.rate(),
        programs: f.costs.iter().map(cost).collect(),
    }
}
