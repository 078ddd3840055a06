//! A bulk-synchronous job compared with its prediction, as a sheet and as JSON.

use crate::noise::said::{expected, length, slowdown};
use serde::Serialize;
use tarebench_core::noise::bsp::Bsp;
use tarebench_core::noise::bsp_report::{Agreement, BspComparison, BspJob, JobMakeup, crowded, unbound};
use tarebench_core::noise::prediction::Expected;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::error::RenderError;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::PageKind;
use tarebench_report::words::plural;

/// The size of the job: `2 ranks`, `1 node (4 ranks)`.
fn name(job: &BspJob, c: &BspComparison) -> String {
    let n = job.n.get();
    match job.of {
        JobMakeup::Ranks => plural(n, "rank"),
        JobMakeup::Nodes if n as usize == c.nodes => {
            format!("{} ({})", plural(n, "node"), plural(c.ranks.len() as u64, "rank"))
        }
        JobMakeup::Nodes => plural(n, "node"),
    }
}

fn agreement(job: &BspJob) -> String {
    if let Expected::Unknown { why } = &job.predicted {
        return format!("unknown: {why}");
    }
    let how = match job.agreement {
        None => "unknown",
        Some(Agreement::Inside) => "inside",
        Some(Agreement::Overlapping) => "close",
        Some(Agreement::Shorter) => "less",
        Some(Agreement::Longer) => "more",
    };
    // With few phases, or for many ranks.
    let extrapolated = matches!(job.predicted, Expected::Extrapolated { .. });
    format!("{how}{}", if extrapolated { " (extrapolated)" } else { "" })
}

fn jobs(c: &BspComparison) -> Table {
    let note = "Mean time of a phase until the slowest rank has done its work, divided by the shortest phase. Predicted: \
                E[max of n] of the phases that the same ranks did without barriers: for ranks, as if they were independent; \
                for nodes, from the slowest of their ranks at the same time. Ranks of one node are not independent: use the \
                node's row. Measured is: inside the prediction's interval, or close if the intervals overlap. Whole: until \
                the barrier is passed.";
    let columns = ["job", "measured [95%]", "predicted [95%]", "measured is", "whole"].map(Column::new);
    let mut table = Table::of("Slowdown of the job, measured and predicted", note, columns);
    for job in &c.jobs {
        let whole = job.whole.map(slowdown).unwrap_or_default();
        let cells =
            [name(job, c).into(), expected(&job.measured), expected(&job.predicted), agreement(job).into(), whole];
        table.row(cells, Vec::new());
    }
    table
}

fn ranks(c: &BspComparison) -> Table {
    let note = "Phases back to back, and phases with a barrier after each, excluding the wait at the barrier.";
    let columns = ["rank", "node", "CPU", "per iteration [ns]", "alone, mean", "max", "with barriers, mean", "max"];
    let mut table = Table::of("Phases of the ranks", note, columns.map(Column::new));
    for (i, r) in c.ranks.iter().enumerate() {
        let cells = [
            Cell::of(Unit::Count, i as f64),
            Cell::foreign(&r.host),
            Cell::count(r.cpu),
            // The loop takes less than a nanosecond.
            Figure { digits: Some(0.001), ..Figure::new(Unit::Plain, r.per_iteration) }.into(),
            Cell::time(r.alone.mean),
            Cell::time(r.alone.max),
            Cell::time(r.work.mean),
            Cell::time(r.work.max),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn remarks(bsp: &Bsp, c: &BspComparison) -> Vec<Cell> {
    let mut all: Vec<Cell> = Vec::new();
    let unbound = unbound(bsp);
    if unbound > 0 {
        let ranks = plural(unbound as u64, "rank");
        let bind = "bind them with `mpirun --bind-to core` or `srun --cpu-bind=cores`";
        all.push(format!("{ranks} could run on several CPUs and migrate: {bind}.").into());
    }
    let crowded = crowded(bsp);
    if crowded > 0 {
        let ranks = plural(crowded as u64, "rank");
        all.push(format!("{ranks} shared a CPU with another rank: the result measures the scheduler.").into());
    }
    let rates = || c.ranks.iter().map(|r| r.per_iteration).filter(|r| *r > 0.0);
    let (fast, slow) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    if slow > 1.05 * fast {
        let by = Cell::text("The slowest rank's loop was calibrated ").and(Cell::of(Unit::Share, slow / fast - 1.0));
        all.push(by.and(" slower than the fastest rank's: the ranks do not run at the same speed."));
    }
    all
}

/// The job with its tables.
pub fn sheet(bsp: &Bsp, c: &BspComparison) -> Sheet {
    let (ranks_, nodes) = (plural(c.ranks.len() as u64, "rank"), plural(c.nodes as u64, "node"));
    let b = &c.barrier;
    let barrier = Cell::text("empty: median ").and(Cell::time(b.median)).and(", mean ").and(Cell::time(b.mean));
    let phases = Cell::text(format!("{} of ", bsp.phases)).and(length(bsp.grain)).and(" on each rank");
    Sheet {
        facts: vec![
            SheetFact::new("began", Cell::foreign(&bsp.created)),
            SheetFact::new("library", Cell::foreign(&bsp.mpi)),
            SheetFact::new("phases", phases),
            SheetFact::new("shortest", Cell::time(c.shortest as f64)),
            SheetFact::new("barrier", barrier.and(", longest ").and(Cell::time(b.max))),
        ],
        remarks: remarks(bsp, c).into_iter().map(SheetRemark::warning).collect(),
        sections: vec![Section::result([jobs(c), ranks(c)].map(Item::Table))],
        ..Sheet::new(PageKind::Noise, format!("Bulk-synchronous job of {ranks_} on {nodes}"))
    }
}

#[derive(Serialize)]
struct BspDocument<'a> {
    format: &'static str,
    version: u32,
    job: &'a Bsp,
    comparison: &'a BspComparison,
}

/// All but the single durations, which are in the job's file.
pub fn json(bsp: &Bsp, comparison: &BspComparison) -> Result<String, RenderError> {
    let document = BspDocument { format: "tare-noise-bsp", version: 1, job: bsp, comparison };
    Ok(tarebench_report::json::compact(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::noise::bsp::Rank;
    use tarebench_core::noise::bsp_report::compare;
    use tarebench_report::style::Style;
    use tarebench_report::terminal::sheet_text;

    /// Two ranks on one node, one on another; every 50th phase is delayed, on the ranks of a node in the same one.
    fn job() -> Bsp {
        let rank = |host: &str, cpu: u32, at: u64| {
            let alone: Vec<u64> = (0..2_000).map(|i| if i % 50 == at { 15_000 } else { 10_000 + i % 7 }).collect();
            let start = alone
                .iter()
                .scan(0, |end, d| {
                    let start = *end;
                    *end += d;
                    Some(start)
                })
                .collect();
            let whole = (0..2_000).map(|i| if i % 50 == 1 || i % 50 == 9 { 16_000 } else { 11_000 }).collect();
            Rank {
                host: host.to_owned(),
                cpu,
                allowed: 1,
                per_iteration: 0.4 + f64::from(cpu) / 20.0,
                overhead: 25.0,
                start,
                work: alone.clone(),
                alone,
                whole,
                empty: (0..2_000).map(|i| 900 + i % 3).collect(),
            }
        };
        Bsp {
            mpi: "Open MPI v4.1.4".to_owned(),
            created: "2026-11-21T20:00:00Z".to_owned(),
            grain: Nanos(10_000),
            iterations: 24_937,
            calibrations: 1_000,
            phases: 2_000,
            ranks: vec![rank("a", 0, 1), rank("a", 1, 1), rank("b\u{1b}", 0, 9)],
        }
    }

    #[test]
    fn tables() {
        let bsp = job();
        let text = sheet_text(&sheet(&bsp, &compare(&bsp, 1).unwrap()), &Style::default());
        assert!(!text.contains('\u{1b}') && text.lines().all(|l| l.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
        let ascii = sheet_text(&sheet(&bsp, &compare(&bsp, 1).unwrap()), &Style { unicode: false, ..Style::default() });
        assert!(ascii.is_ascii(), "{ascii}");
    }

    #[test]
    fn remarks_are_made_where_ranks_are_not_alone() {
        let mut bsp = job();
        bsp.ranks[0].allowed = 4;
        bsp.ranks[1].cpu = 0;
        let c = compare(&bsp, 1).unwrap();
        let said = remarks(&bsp, &c);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(
            said[0].plain().starts_with("1 rank could") && said[1].plain().starts_with("2 ranks shared"),
            "{said:?}"
        );
    }

    #[test]
    fn json_has_the_figures() {
        let bsp = job();
        let text = json(&bsp, &compare(&bsp, 1).unwrap()).unwrap();
        let d: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&d["format"], &d["job"]["ranks"][2]["cpu"]), (&"tare-noise-bsp".into(), &0.into()));
        let jobs = d["comparison"]["jobs"].as_array().unwrap();
        let sizes: Vec<_> = jobs.iter().map(|j| (j["of"].as_str().unwrap(), j["n"].as_u64().unwrap())).collect();
        assert_eq!(sizes, [("ranks", 1), ("ranks", 2), ("ranks", 3), ("nodes", 1), ("nodes", 2)]);
        assert_eq!(jobs[0]["agreement"], "inside");
        assert!(d["job"]["ranks"][0]["alone"].is_null(), "single durations are in the file");
    }
}
