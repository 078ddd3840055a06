//! The plots of a profile on the page: two for each part.

use std::collections::BTreeMap;
use tarebench_core::profile::clusters::{ClusterPlace, Clusters};
use tarebench_core::profile::data::{ProfileMethod, ProfilePart};
use tarebench_core::profile::dual::Observation;
use tarebench_core::profile::profiling::Lesson;
use tarebench_report::cell::Cell;
use tarebench_report::number::long_time;
use tarebench_report::web::html::measure;
use tarebench_report::web::page::{Class, DualOrWhy, PageDual, PageLevel, PageRole, Plot, Samples, Symbol};

/// The plot of a part, with the title and note of its section.
pub(crate) fn plot(
    name: &str,
    title: &Cell,
    note: &Cell,
    part: &ProfilePart,
    l: &Lesson,
    method: ProfileMethod,
) -> Plot {
    let shown = shown(part, l);
    let mut et = measure("et", shown.iter().map(|(o, _)| Some(o.elapsed.0)).collect());
    et.title = match method {
        ProfileMethod::Active => et.title,
        ProfileMethod::Watched => "Task length and all daemons",
    };
    let pt = measure("pt", shown.iter().map(|(o, _)| o.process_time.map(|t| t.0)).collect());
    let measures = [Some(et), Some(pt).filter(|m| m.values.iter().any(Option::is_some))];
    Plot {
        id: name.to_owned(),
        title: title.plain(),
        note: note.plain(),
        measures: measures.into_iter().flatten().collect(),
        samples: samples(&shown),
        dual: DualOrWhy::Dual(dual(&l.clusters)),
        tables: Vec::new(),
        quiet: None,
    }
}

/// The second plot of a part: at equal CPU times.
pub(crate) fn waiting(name: &str, part: &ProfilePart, l: &Lesson) -> Option<Plot> {
    let clusters = l.waiting.as_ref()?;
    let shown = shown(part, l);
    let times: BTreeMap<u32, i64> = clusters.halves().map(|h| (h.number, h.elapsed.0)).collect();
    let mut et = measure("et", shown.iter().map(|(o, _)| times.get(&o.number).copied()).collect());
    et.title = "Elapsed time at equal CPU time";
    let note = "Elapsed time as if each sample had taken the median CPU time. Differences are waiting times, mostly for \
                daemons; the clock speed has no effect.";
    Some(Plot {
        id: format!("{name}-waiting"),
        title: format!("{} ({name} part), at equal CPU times", long_time(part.length, true)),
        note: note.to_owned(),
        measures: vec![et],
        samples: samples(&shown),
        dual: DualOrWhy::Dual(dual(clusters)),
        tables: Vec::new(),
        quiet: None,
    })
}

type ShownClass<'a> = Vec<(&'a Observation, Option<ClusterPlace>)>;

/// The samples of a part, and where they lie. The halves of the plot come first, so that the positions in the tables are right.
fn shown<'a>(part: &'a ProfilePart, l: &Lesson) -> ShownClass<'a> {
    let by_number: BTreeMap<u32, &Observation> = part.observations.iter().map(|o| (o.number, o)).collect();
    let places = l.places();
    let halves = l.clusters.halves().map(|h| (h.number, places.get(&h.number).copied()));
    let unpaired = l.clusters.unpaired.iter().map(|n| (*n, None));
    halves.chain(unpaired).filter_map(|(n, place)| Some((*by_number.get(&n)?, place))).collect()
}

fn samples(shown: &ShownClass<'_>) -> Samples {
    let class = |title: &str, role, symbol| Class { title: title.to_owned(), role, symbol };
    let classes = vec![
        class("central cluster", PageRole::Good, Symbol::Circle),
        class("L-sample", PageRole::Spoiled, Symbol::Triangle),
        class("drift", PageRole::Drift, Symbol::Diamond),
        class("without a partner", PageRole::Other, Symbol::Square),
    ];
    let mut out = Samples { classes, ..Samples::default() };
    let mut names = PageNames::default();
    for (o, place) in shown {
        out.number.push(o.number);
        out.start.push(o.start.millis());
        out.class.push(match place {
            Some(ClusterPlace::Central) => 0,
            Some(ClusterPlace::Arm) => 1,
            Some(ClusterPlace::Stretch) => 2,
            None => 3,
        });
        out.reason.push(-1);
        let known = o.executions.value().is_some();
        out.executions.push(known.then(|| names.flat(o.each().map(|(name, cpu)| (name, cpu.0)))));
    }
    out.daemons = names.all;
    out
}

#[derive(Default)]
pub(crate) struct PageNames {
    pub all: Vec<String>,
    at: BTreeMap<String, usize>,
}

impl PageNames {
    /// Name, CPU time, name, CPU time, …, the largest first.
    pub fn flat<S: AsRef<str>>(&mut self, executions: impl Iterator<Item = (S, i64)>) -> Vec<i64> {
        let mut some: Vec<(usize, i64)> = executions.map(|(name, cpu)| (self.index(name.as_ref()), cpu)).collect();
        some.sort_by_key(|(name, cpu)| (std::cmp::Reverse(*cpu), *name));
        some.into_iter().flat_map(|(name, cpu)| [i64::try_from(name).unwrap_or(0), cpu]).collect()
    }

    fn index(&mut self, name: &str) -> usize {
        if let Some(at) = self.at.get(name) {
            return *at;
        }
        self.all.push(name.to_owned());
        self.at.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}

/// The plot of clusters whose halves are the first samples, in their order.
pub(crate) fn dual(c: &Clusters) -> PageDual {
    let last = c.levels.len().saturating_sub(1);
    let level = |(i, l): (usize, &tarebench_core::profile::clusters::ZoomLevel)| PageLevel {
        title: match i {
            0 if last == 0 => "all: the central cluster".to_owned(),
            0 => "all".to_owned(),
            i if i == last => "central cluster".to_owned(),
            i => format!("zoom {i}"),
        },
        members: l.members,
        x: (l.x.0.0, l.x.1.0),
        y: (l.y.0.0, l.y.1.0),
    };
    PageDual {
        measure: "et",
        odd: (0..c.points.len()).map(|i| 2 * i).collect(),
        even: (0..c.points.len()).map(|i| 2 * i + 1).collect(),
        level: c.points.iter().map(|p| p.level).collect(),
        levels: c.levels.iter().enumerate().map(level).collect(),
    }
}
