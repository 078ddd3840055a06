//! What the account says of a machine's daemons: tables and a sentence.

use crate::profile::effect::process_time;
use tarebench_core::profile::by_account::AccountLesson;
use tarebench_core::profile::cutoffs::CutoffRow;
use tarebench_core::profile::data::GuardedEffect;
use tarebench_report::number;
use tarebench_report::table::Table;

fn time(ns: f64, unicode: bool) -> String {
    number::time(ns, None, unicode).unwrap_or_default()
}

/// Which times a daemon spoils.
fn guards(effect: &GuardedEffect) -> &'static str {
    let lengthens = effect.process_time.is_some_and(|p| p.lengthens);
    match (effect.waiting.is_some(), lengthens) {
        (true, true) => "ET by waiting; PT and net by CPU time",
        (true, false) => "ET by waiting",
        (false, true) => "ET, PT and net by CPU time",
        (false, false) => "nothing",
    }
}

/// What the cutoffs guard, of the daemons whose effect the account tells; without rows if there are none.
pub fn effects(rows: &[CutoffRow], unicode: bool) -> Table {
    let mut t = Table::new(
        "What the cutoffs guard",
        "By the account of the samples. A program waits for a daemon that has its CPU; this is in ET only. PT: by how much it \
         differs from that of the samples before and after.",
        &["daemon", ">waiting cutoff", ">cutoff then", "effect on PT", "guards"],
    );
    for r in rows.iter().filter(|r| !r.bystander) {
        let Some(effect) = &r.cutoff.effect else { continue };
        let short = effect.waiting.and_then(|w| w.short);
        let long = effect.waiting.and_then(|w| w.long);
        let shown = |ns: Option<f64>| ns.map_or("none".to_owned(), |ns| time(ns, unicode));
        let then = if r.cutoff.task_time_limit.is_some() { shown(long) } else { String::new() };
        let did = process_time(effect.process_time.as_ref(), unicode);
        t.row(vec![r.daemon.clone(), shown(short), then, did, guards(effect).to_owned()], Vec::new());
        t.values(vec![None, short, long, effect.process_time.map(|p| p.change), None]);
    }
    t
}

/// The daemons that the program waited for in few samples. `at`: positions of the samples with these numbers.
pub fn waits(lesson: &AccountLesson, part: &str, at: &dyn Fn(&[u32]) -> Vec<usize>, unicode: bool) -> Table {
    let mut t = Table::new(
        format!("Waiting for infrequent daemons, {part} part"),
        format!(
            "By the account: what INC waited for a daemon in the samples that it disturbed. Up to {} a sample, waiting for a \
             daemon is normal here.",
            time(lesson.limit, unicode)
        ),
        &["daemon", ">times", ">median wait", ">shortest", ">otherwise at most", "effect on PT", "samples"],
    );
    for e in &lesson.effects {
        let numbers: Vec<String> = e.samples.iter().map(u32::to_string).collect();
        let waited = e.direct.map(|d| d.waited);
        let (min, max) = (e.direct.map(|d| d.min.as_f64()), e.direct.map(|d| d.max.as_f64()));
        let shown = |ns: Option<f64>| ns.map_or("none".to_owned(), |ns| time(ns, unicode));
        let cells = vec![
            e.daemon.clone(),
            e.samples.len().to_string(),
            shown(waited),
            shown(min),
            shown(max),
            process_time(e.process_time.as_ref(), unicode),
            numbers.join(", "),
        ];
        t.row(cells, at(&e.samples));
        let change = e.process_time.map(|p| p.change);
        t.values(vec![None, Some(e.samples.len() as f64), waited, min, max, change, None]);
    }
    t
}

/// How the samples were judged.
pub fn sentence(lesson: &AccountLesson, unicode: bool) -> String {
    let disturbed = lesson.disturbed().len();
    let gap = time(lesson.gap.median, unicode);
    let found = match lesson.effects.len() {
        0 => "no daemon kept INC waiting longer than normal in a few samples".to_owned(),
        1 => format!("1 daemon disturbed {disturbed} samples"),
        n => format!("{n} daemons disturbed {disturbed} samples"),
    };
    let more = match lesson.unjudged {
        0 => String::new(),
        n => format!("; {n} others stood out and were not judged"),
    };
    format!("By the account of {} samples, {found}{more} (ET - PT is {gap}, the median).", lesson.samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::profile::effects::RobustSpread;

    #[test]
    fn daemons_that_were_not_judged_are_counted() {
        let lesson = |unjudged| AccountLesson {
            samples: 60,
            gap: RobustSpread { median: 2e6, deviation: 1e5 },
            waiting: RobustSpread::default(),
            limit: 1e6,
            effects: Vec::new(),
            normal: Vec::new(),
            unjudged,
        };
        assert!(sentence(&lesson(59_000), true).contains("; 59000 others stood out and were not judged (ET - PT is"));
        assert!(!sentence(&lesson(0), true).contains("judged"));
    }
}
