//! `--detect`, and the control: comparing until a difference would be seen.

use crate::exit::Failure;
use crate::run::args::CountArgs;
use tarebench::core::run::plan::{Order, Program, RunCount, Sched, choose_order};
use tarebench::core::statistics::intervals::FEWEST;
use tarebench::core::statistics::sequential::MOST_BLOCKS;

/// Most blocks, unless the user names another number.
const BLOCKS: u32 = 200;

/// The number of blocks with `--detect`.
///
/// # Errors
/// A sentence if `--max-runs` allows too few or too many.
pub fn count(difference: f64, c: &CountArgs) -> Result<RunCount, Failure> {
    let max = c.max_runs.unwrap_or(BLOCKS);
    if !(FEWEST..=MOST_BLOCKS).contains(&max) {
        let text = format!("--max-runs {max} with --detect: expected {FEWEST} to {MOST_BLOCKS} blocks");
        return Err(Failure::usage(text).hint("omit --max-runs for 200; a smaller difference needs more blocks"));
    }
    Ok(RunCount::Detect { difference, max })
}

/// The order with `--detect`: the one that was asked for; else duets, or what programs have that don't suit duets.
///
/// # Errors
/// A sentence if there is nothing to compare, or if the programs run one after the other.
pub fn order(
    asked: Option<Order>,
    programs: &[Program],
    independent_setups: bool,
    sched: Option<Sched>,
) -> Result<Order, Failure> {
    if programs.len() < 2 {
        let text = "--detect compares programs, and there is only one";
        return Err(Failure::usage(text).hint("name another program, or use --control to compare it with itself"));
    }
    let chosen = choose_order(asked, programs, independent_setups)?;
    let real_time = matches!(sched, Some(Sched::Fifo(_)));
    match (asked, chosen) {
        (None, Order::Sequential) => {
            let text = "--detect compares interleaved programs, and these run one after the other, because their setup \
                        commands differ";
            Err(Failure::usage(text).hint("if no setup undoes another's, use --independent-setup"))
        }
        (Some(_), Order::Sequential) => {
            let text = "--detect compares interleaved programs: it cannot be used with --order sequential";
            Err(Failure::usage(text).hint("omit --order, or use --order rounds"))
        }
        (None, Order::Auto) if !real_time => Ok(Order::Duet),
        (_, order) => Ok(order),
    }
}

/// The reference program once more, to be the last one: compared with itself.
pub fn control(programs: &[Program]) -> Option<Program> {
    let reference = programs.iter().find(|p| p.reference).or(programs.first())?;
    let label = format!("{} (control)", reference.label);
    Some(Program { label, reference: false, control: true, ..reference.clone() })
}
