//! `tare work`: the papers' other reference programs.

use crate::exit::{Exit, Failure};
use clap::{Args, ValueEnum};
use tarebench::inc::workload::{Walk, increments, matrix_product, ping_pong, sort};

/// Run a reference workload: SORT, MATC or MATR (EMP 5.2, SEDONA figure 1), or INC or PIPE (`tare run --self-check`)
#[derive(Args)]
pub struct WorkArgs {
    /// Workload to run
    kind: IncKind,
    /// Integers to sort, rows and columns of the matrices, millions of increments, or passes between the threads
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    size: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum IncKind {
    /// Insertion sort of random integers
    Sort,
    /// Product of two square integer matrices, walked by columns
    Matc,
    /// The same, walked by rows
    Matr,
    /// SIZE million increments (INC without calibration)
    Inc,
    /// A byte passed back and forth SIZE times between two threads
    Pipe,
}

pub fn work(args: &WorkArgs) -> Result<Exit, Failure> {
    let n = args.size as usize;
    if matches!(args.kind, IncKind::Matc | IncKind::Matr) && n > 30_000 {
        return Err(Failure::usage(format!("matrices of {n} rows: expected at most 30000 (11 GB)")));
    }
    let checksum = match args.kind {
        IncKind::Sort => sort(n),
        IncKind::Matc => matrix_product(n, Walk::Columns),
        IncKind::Matr => matrix_product(n, Walk::Rows),
        IncKind::Inc => increments(u64::from(args.size) * 1_000_000),
        IncKind::Pipe => {
            ping_pong(u64::from(args.size)).map_err(|e| Failure::system(format!("pipes: {e}")))?;
            u64::from(args.size)
        }
    };
    crate::output::print(&format!("checksum {checksum:016x}\n"));
    Ok(Exit::Done)
}
