//! A bulk-synchronous job compared with its prediction, as tables and as JSON.

use crate::noise::tables::{bounds, time};
use serde::Serialize;
use tarebench_core::noise::bsp::Bsp;
use tarebench_core::noise::bsp_report::{Agreement, BspComparison, BspJob, JobMakeup, crowded, unbound};
use tarebench_core::noise::prediction::Expected;
use tarebench_report::error::RenderError;
use tarebench_report::number;
use tarebench_report::number::{exact, ratio};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;

fn of(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The size of the job: `2 ranks`, `1 node (4 ranks)`.
fn name(job: &BspJob, c: &BspComparison) -> String {
    let n = job.n.get();
    match job.of {
        JobMakeup::Ranks => of(n, "rank"),
        JobMakeup::Nodes if n as usize == c.nodes => {
            format!("{} ({})", of(n, "node"), of(c.ranks.len() as u64, "rank"))
        }
        JobMakeup::Nodes => of(n, "node"),
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
    let columns = ["job", ">measured", "95% interval", ">predicted", "95% interval", "measured is", ">whole"];
    let mut table = Table::new("Slowdown of the job, measured and predicted", note, &columns);
    for job in &c.jobs {
        let value = |e: &Expected| e.value().map(ratio).unwrap_or_default();
        let interval = |e: &Expected| e.bounds().map(|b| bounds(&b)).unwrap_or_default();
        let cells = vec![
            name(job, c),
            value(&job.measured),
            interval(&job.measured),
            value(&job.predicted),
            interval(&job.predicted),
            agreement(job),
            job.whole.map(ratio).unwrap_or_default(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn ranks(c: &BspComparison, u: bool) -> Table {
    let note = "Phases back to back, and phases with a barrier after each, excluding the wait at the barrier.";
    let columns = [">rank", "node", ">CPU", ">per iteration", ">alone, mean", ">max", ">with barriers, mean", ">max"];
    let mut table = Table::new("Phases of the ranks", note, &columns);
    for (i, r) in c.ranks.iter().enumerate() {
        let cells = vec![
            i.to_string(),
            r.host.clone(),
            r.cpu.to_string(),
            format!("{} ns", number::fixed(r.per_iteration, 4).unwrap_or_default()),
            time(r.alone.mean, u),
            time(r.alone.max, u),
            time(r.work.mean, u),
            time(r.work.max, u),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn remarks(bsp: &Bsp, c: &BspComparison) -> Vec<String> {
    let mut all = Vec::new();
    let unbound = unbound(bsp);
    if unbound > 0 {
        all.push(format!(
            "{} could run on several CPUs and migrate: bind them with `mpirun --bind-to core` or `srun --cpu-bind=cores`.",
            of(unbound as u64, "rank")
        ));
    }
    let crowded = crowded(bsp);
    if crowded > 0 {
        all.push(format!(
            "{} shared a CPU with another rank: the result measures the scheduler.",
            of(crowded as u64, "rank")
        ));
    }
    let rates = || c.ranks.iter().map(|r| r.per_iteration).filter(|r| *r > 0.0);
    let (fast, slow) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    if slow > 1.05 * fast {
        let by = number::percent(slow / fast - 1.0).unwrap_or_default();
        all.push(format!(
            "The slowest rank's loop was calibrated {by} slower than the fastest rank's: the ranks do not run at the same speed."
        ));
    }
    all
}

/// Head, tables and remarks.
pub fn terminal(bsp: &Bsp, c: &BspComparison, style: &Style) -> String {
    let u = style.unicode;
    let mut page = ScreenText::new(style);
    let (ranks_, nodes) = (of(c.ranks.len() as u64, "rank"), of(c.nodes as u64, "node"));
    page.title(&format!("Bulk-synchronous job of {ranks_} on {nodes}"));
    page.field("began", &style.show(&bsp.created));
    page.field("library", &style.show(&bsp.mpi));
    let phases = format!("{} of {} on each rank", bsp.phases, exact(bsp.grain, u));
    page.field("phases", &phases);
    page.field("shortest", &time(c.shortest as f64, u));
    let b = &c.barrier;
    let barrier = format!("empty: median {}, mean {}, longest {}", time(b.median, u), time(b.mean, u), time(b.max, u));
    page.field("barrier", &barrier);
    draw(&mut page, &jobs(c));
    draw(&mut page, &ranks(c, u));
    let remarks = remarks(bsp, c);
    if !remarks.is_empty() {
        page.gap();
    }
    for remark in remarks {
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Plain, &style.prose(&remark));
    }
    page.finish()
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
        let text = terminal(&bsp, &compare(&bsp, 1).unwrap(), &Style::default());
        assert!(!text.contains('\u{1b}') && text.lines().all(|l| l.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
        let ascii = terminal(&bsp, &compare(&bsp, 1).unwrap(), &Style { unicode: false, ..Style::default() });
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
        assert!(said[0].starts_with("1 rank could") && said[1].starts_with("2 ranks shared"), "{said:?}");
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
