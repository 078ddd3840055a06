//! A profile in words.

use crate::profile::account;
use std::collections::BTreeSet;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::clusters::{ClusterPlace, Clusters};
use tarebench_core::profile::cutoffs::Basis;
use tarebench_core::profile::data::{ProfileMethod, ProfilePart};
use tarebench_core::profile::profiling::{LSample, Lesson, Reach};
use tarebench_core::statistics::periods::{NoPeriod, Periodicity};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;
use tarebench_report::number::long_time;
use tarebench_report::words::plural;

/// A period with its spread, or why there is none.
pub(crate) fn periodicity(p: &Periodicity) -> Cell {
    match p {
        Periodicity::Period { period, spread, missed } => {
            let period = Figure::new(Unit::LongTime, period.as_f64()).with_spread(Some(*spread));
            if *missed > 0 { Cell::figure(period).and(format!(", {missed} missed")) } else { period.into() }
        }
        Periodicity::Perhaps { period } => Cell::of(Unit::LongTime, period.as_f64()).and(" (?)"),
        Periodicity::Unknown { why } => match why {
            NoPeriod::Once => "ran once",
            NoPeriod::Irregular => "irregular",
            NoPeriod::TooShort => "too frequent",
        }
        .into(),
    }
}

pub(crate) fn basis(b: &Option<Basis>) -> Cell {
    match b {
        None => Cell::empty(),
        Some(Basis::Midpoint { max, min }) => {
            let between = Cell::text("between ").and(Cell::time(max.map_or(0.0, |m| m.as_f64())));
            between.and(" and ").and(Cell::time(min.as_f64()))
        }
        Some(Basis::Normal { max, std_dev }) => {
            let sd = std_dev.map(|sd| Cell::text(" + 2 s.d. of ").and(Cell::time(sd)));
            sd.into_iter().fold(Cell::text("maximum ").and(Cell::time(max.as_f64())), Cell::and)
        }
    }
}

/// The daemons of an L-sample, the longest first.
pub(crate) fn listed(s: &LSample) -> Cell {
    let mut all: Vec<(&str, Nanos)> =
        s.executions.iter().flat_map(|(name, times)| times.iter().map(move |t| (name.as_str(), *t))).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut said = Cell::empty();
    for (i, (name, time)) in all.iter().take(6).enumerate() {
        let between = if i > 0 { ", " } else { "" };
        said = said.and(between).and(Cell::foreign(*name)).and(" ").and(Cell::time(time.as_f64()));
    }
    if all.len() > 6 { said.and(format!(" and {} more", all.len() - 6)) } else { said }
}

/// L-samples in the arms of neither plot, and the daemons that make them L-samples.
fn by_name_only(l: &Lesson) -> (usize, Vec<&str>) {
    let plots = [Some(&l.clusters), l.waiting.as_ref()].into_iter().flatten();
    let arms: BTreeSet<u32> =
        plots.flat_map(Clusters::halves).filter(|h| h.place == ClusterPlace::Arm).map(|h| h.number).collect();
    let (mut samples, mut names) = (BTreeSet::new(), Vec::new());
    for n in &l.named {
        let more: Vec<u32> = n.samples.iter().copied().filter(|s| !arms.contains(s)).collect();
        if !more.is_empty() {
            names.push(n.daemon.as_str());
        }
        samples.extend(more);
    }
    (samples.len(), names)
}

/// What the plot of a part looks like, in sentences.
pub(crate) fn shape(l: &Lesson) -> Cell {
    let c = &l.clusters;
    let places = l.places();
    let count = |place: ClusterPlace| places.values().filter(|p| **p == place).count();
    let central = Cell::text(format!(
        "{} of {} samples are in the central cluster (s.d. ",
        count(ClusterPlace::Central),
        places.len()
    ));
    let mut first = central.and(Cell::time(c.spread)).and(format!("), {} are L-samples", count(ClusterPlace::Arm)));
    if let Some(w) = &l.waiting {
        let which =
            format!(", {} of them by elapsed time and {} at equal CPU times (s.d. ", c.shape.arms, w.shape.arms);
        first = first.and(which).and(Cell::time(w.spread)).and(")");
    }
    let mut said = vec![first.and(".")];
    said.extend(l.account.as_ref().map(account::sentence));
    let (more, names) = by_name_only(l);
    if !names.is_empty() {
        let alone = format!(
            "{more} of the L-samples do not stand out alone; they were found by comparing all samples with the daemon ("
        );
        said.push(Cell::text(alone).and(Cell::foreign(names.join(", "))).and(") together."));
    }
    if let Some(f) = c.shape.frequent {
        let takes = Cell::text("A frequent daemon takes ").and(Cell::time(f.excess)).and(" in ");
        said.push(
            takes
                .and(Cell::of(Unit::Share, f.share))
                .and(" of the samples: it belongs to the machine's normal state and gets no cutoff."),
        );
    }
    if let Some(d) = c.shape.drift {
        let correlation = number::fixed(d.correlation, 2).unwrap_or_default();
        let drifted = Cell::text("Times of neighbouring samples drifted together by ").and(Cell::time(d.range));
        said.push(drifted.and(format!(
            " (correlation of the pairs {correlation}): the machine's speed may have changed, and no daemon is named for it."
        )));
    }
    match count(ClusterPlace::Stretch) {
        0 => {}
        n => said.push(format!("{n} samples are ignored, because most of their neighbours were slow as well.").into()),
    }
    if c.shape.l_remains {
        said.push("The central cluster still shows an L: some L-samples may have been missed.".into());
    }
    if l.incomplete > 0 {
        let samples = plural(l.incomplete as u64, "sample");
        said.push(
            format!("In {samples} the list of daemons is incomplete; daemons may be missing from the tables.").into(),
        );
    }
    said.into_iter().fold(Cell::empty(), Cell::and_sentence)
}

/// What a part can find and what not: a sentence without its subject and period.
pub fn reach(r: &Reach, unicode: bool) -> String {
    let long = |t| long_time(t, unicode);
    let often = "daemons that run more often count as normal";
    let (shortest, total) = (long(r.shortest), long(r.longest_once));
    if r.occurrences < 3 {
        return format!(
            "finds daemons that run less often than every {shortest}, if they run within {total}, but no periods; {often}"
        );
    }
    format!(
        "finds daemons that run every {shortest} ({} times) to every {} (3 times), with their periods; up to every {} (twice), \
         with a doubtful period; up to every {total} (once), without a period; {often}, those that run less often may be missed",
        r.occurrences,
        long(r.longest),
        long(r.longest_perhaps),
    )
}

/// What a part was made of.
pub(crate) fn part(p: &ProfilePart, method: ProfileMethod) -> Cell {
    let what = match method {
        ProfileMethod::Active => "samples of INC of",
        ProfileMethod::Watched => "virtual samples of",
    };
    Cell::text(format!("{} {what} ", p.observations.len())).and(Cell::of(Unit::LongTime, p.length.as_f64()))
}
