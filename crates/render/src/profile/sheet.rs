//! A profile as a sheet: its cutoffs, and a section for each part with the tables that EMP and SEDONA print.

use crate::profile::account;
use crate::profile::account::or_none;
use crate::profile::doubts::sentence;
use crate::profile::plots::{plot, waiting};
use crate::profile::said::{basis, listed, part, periodicity, shape};
use serde::Serialize;
use tarebench_core::base::date::TimeZone;
use tarebench_core::profile::clusters::Clusters;
use tarebench_core::profile::cutoffs::CutoffRow;
use tarebench_core::profile::data::{Doubt, Profile, ProfileMethod, ProfilePart};
use tarebench_core::profile::lacking::Lacking;
use tarebench_core::profile::long_running::{BYSTANDER, Infrequent};
use tarebench_core::profile::profiling::{Learned, Lesson};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::error::RenderError;
use tarebench_report::hints::Hints;
use tarebench_report::json::pretty;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::PageKind;

/// What it is, its cutoffs, and each part.
pub fn profile(
    profile: &Profile,
    learned: &Learned,
    doubts: &[Doubt],
    hints: &Hints,
    zone: &TimeZone,
    foot: String,
) -> Sheet {
    let method = match profile.method {
        ProfileMethod::Active => ", learned by running INC",
        ProfileMethod::Watched => ", learned by recording the machine during normal use",
    };
    let parts = [
        ("short", "short part", Some(&profile.short), Some(&learned.short)),
        ("long", "long part", profile.long.as_ref(), learned.long.as_ref()),
    ];
    let machine = Cell::foreign(&profile.host).and(", Linux ").and(Cell::foreign(&profile.kernel));
    let made = Cell::date(profile.created, zone).and(" by tare ").and(Cell::foreign(&profile.tool));
    let mut facts =
        vec![SheetFact::new("machine", machine.and(format!(", {} CPUs", profile.cpus))), SheetFact::new("made", made)];
    let mut sections =
        vec![Section::result([cutoffs(&learned.cutoffs), account::effects(&learned.cutoffs)].map(Item::Table))];
    for (name, label, of, lesson) in parts {
        let Some(of) = of else { continue };
        let made_of = part(of, profile.method);
        facts.push(SheetFact::new(
            label,
            match lesson {
                Some(_) => made_of,
                None => made_of.and(". Too few samples to find a cluster; this part is not used."),
            },
        ));
        sections.extend(lesson.map(|l| section(name, of, l, profile.method, zone)));
    }
    let doubts = doubts.iter().map(|doubt| SheetRemark::warning(sentence(&profile.label(), doubt, hints)));
    let none = "No infrequent, long-running daemon disturbed a sample, so there are no cutoffs.";
    let none = learned.cutoffs.iter().all(|r| r.bystander).then(|| SheetRemark::information(none));
    Sheet {
        subtitle: Cell::text("Infrequent, long-running daemons of ").and(Cell::foreign(&profile.host)).and(method),
        facts,
        remarks: doubts.chain(none).collect(),
        sections,
        foot: foot.into(),
        ..Sheet::new(PageKind::Profile, Cell::text("Profile ").and(Cell::foreign(profile.label())))
    }
}

/// The cutoffs (EMP table XVI, SEDONA table 1).
fn cutoffs(rows: &[CutoffRow]) -> Table {
    let note =
        "A sample is discarded if an execution of the daemon in it used more CPU time. EMP table XVI, SEDONA table 1.";
    let columns = ["daemon", "cutoff", "from task time", ">cutoff then", ">period", "short part", "long part"];
    let mut t = Table::of("Cutoffs", note, columns.map(Column::from));
    for r in rows.iter().filter(|r| !r.bystander) {
        let limit = r.cutoff.task_time_limit;
        let cells = [
            Cell::foreign(&r.daemon),
            Cell::time(r.cutoff.short),
            limit.map(|l| Cell::of(Unit::LongTime, l.as_f64())).unwrap_or_default(),
            limit.map(|_| or_none(r.cutoff.long)).unwrap_or_default(),
            periodicity(&r.periodicity),
            basis(&r.short),
            basis(&r.long),
        ];
        t.row(cells, Vec::new());
    }
    t
}

/// The plots of a part and its tables, in the order of the protocol's steps.
fn section(name: &str, of: &ProfilePart, l: &Lesson, method: ProfileMethod, zone: &TimeZone) -> Section {
    let what = match method {
        ProfileMethod::Active => "INC of ",
        ProfileMethod::Watched => "Virtual samples of ",
    };
    let title = Cell::text(what).and(Cell::of(Unit::LongTime, of.length.as_f64())).and(format!(" ({name} part)"));
    let note = shape(l);
    let plots = [Some(plot(name, &title, &note, of, l, method)), waiting(name, of, l)].into_iter().flatten();
    let plots = plots.map(|plot| Item::Samples(Box::new(plot)));
    let items = plots.chain(tables(l, name, zone).into_iter().map(Item::Table)).collect();
    Section { id: name.to_owned(), title, note, items, ..Section::default() }
}

/// Positions of the samples with these numbers in the halves of the plot.
fn positions(c: &Clusters, numbers: &[u32]) -> Vec<usize> {
    let all: Vec<u32> = c.halves().map(|h| h.number).collect();
    numbers.iter().filter_map(|n| all.iter().position(|h| h == n)).collect()
}

fn tables(l: &Lesson, part: &str, zone: &TimeZone) -> Vec<Table> {
    let emp = if part == "long" { ["XII", "XIII", "XIV", "XV"] } else { ["VIII", "IX", "X", "XI"] };
    let at = |numbers: &[u32]| positions(&l.clusters, numbers);
    let table = |title: &str, note: &str, step: usize, columns: &[&str]| {
        let note = format!("{note} EMP table {}.", emp.get(step).copied().unwrap_or_default());
        Table::of(format!("{title}, {part} part"), note, columns.iter().map(|c| Column::from(*c)))
    };
    let note = "Normal CPU times. Longer executions in an L-sample are long-running.";
    let columns = ["daemon", "executions", "maximum", "s.d.", "long-running from"];
    let mut normal = table("Daemons of the central cluster", note, 0, &columns);
    // They are many, and of interest only beside the others.
    normal.columns = normal.columns.into_iter().map(Column::full).collect();
    for n in &l.normal {
        let cells = [
            Cell::foreign(&n.daemon),
            Cell::count(n.executions),
            Cell::time(n.max.as_f64()),
            n.std_dev.map(Cell::time).unwrap_or_default(),
            Cell::time(n.limit()),
        ];
        normal.row(cells, Vec::new());
    }
    let note = "Samples in the arms of the scatter plot, with all daemons that ran.";
    let mut samples = table("L-samples", note, 1, &["sample", "began", "ET", "daemons"]);
    for s in &l.l_samples {
        let cells = [Cell::count(s.number), Cell::date(s.start, zone), Cell::time(s.elapsed.as_f64()), listed(s)];
        samples.row(cells, at(&[s.number]));
    }
    let note = "Long-running executions of daemons that also occur in the central cluster.";
    let mut long = table("Long-running executions", note, 2, &["daemon", "sample", "began", "CPU time"]);
    for e in &l.long_running {
        let cells =
            [Cell::foreign(&e.daemon), Cell::count(e.number), Cell::date(e.at, zone), Cell::time(e.cpu.as_f64())];
        long.row(cells, at(&[e.number]));
    }
    let note = "Long-running, or only in L-samples. p: probability that a daemon which runs as often occurs only in L-samples. One \
                that explains less than 5% of every L-sample's excess occurred by coincidence and gets no cutoff.";
    let columns = ["daemon", ">cluster max", "L-samples min", "times", "samples", "period", "p", "explains"];
    let mut rare = table("Infrequent daemons", note, 3, &columns);
    for i in &l.infrequent {
        rare.row(infrequent(i), at(&i.samples));
    }
    let waits = l.account.as_ref().map(|a| account::waits(a, part, &at));
    waits.into_iter().chain([samples, long, rare, normal]).collect()
}

fn infrequent(i: &Infrequent) -> [Cell; 8] {
    let explains = |e: f64| match Cell::of(Unit::Share, e) {
        share if e < BYSTANDER => share.and(", bystander"),
        share => share,
    };
    [
        Cell::foreign(&i.daemon),
        or_none(i.max.map(|m| m.as_f64())),
        Cell::time(i.min.as_f64()),
        Cell::count(i.samples.len() as u32),
        account::listed(&i.samples),
        periodicity(&i.periodicity),
        Cell::of(Unit::Chance, i.chance),
        i.explains.map(explains).unwrap_or_default(),
    ]
}

/// Stored profiles, the newest first.
pub fn list(profiles: &[Profile], zone: &TimeZone) -> Sheet {
    let columns = ["profile", "made", "machine", "short part", "long part", "cutoffs"].map(Column::new);
    let mut t = Table::of("Profiles", "", columns);
    for p in profiles {
        let cells = [
            Cell::foreign(p.label()),
            Cell::date(p.created, zone),
            Cell::foreign(&p.host),
            part(&p.short, p.method),
            p.long.as_ref().map(|l| part(l, p.method)).unwrap_or_default(),
            Cell::count(p.cutoffs.len() as u32),
        ];
        t.row(cells, Vec::new());
    }
    table_alone(t)
}

/// Daemons that are not in a profile.
pub fn lacking(profile: &Profile, found: &[Lacking]) -> Sheet {
    let label = Cell::foreign(profile.label());
    let note = Cell::text("They ran in later samples, but not while ").and(label).and(" was learned.");
    let columns = ["daemon", "in samples", "longest", "share of ET", "matters"].map(Column::new);
    let mut t = Table::of("Daemons that are not in the profile", note, columns);
    for l in found {
        let cells = [
            Cell::foreign(&l.daemon),
            Cell::count(l.samples),
            Cell::time(l.max.as_f64()),
            Cell::of(Unit::Share, l.share),
            if l.matters() { "yes" } else { "no" }.into(),
        ];
        t.row(cells, Vec::new());
    }
    table_alone(t)
}

fn table_alone(table: Table) -> Sheet {
    Sheet { sections: vec![Section::result([Item::Table(table)])], ..Sheet::new(PageKind::Profile, "") }
}

#[derive(Serialize)]
struct ProfileJson<'a> {
    format: &'static str,
    version: u32,
    profile: &'a Profile,
    learned: &'a Learned,
}

/// A profile with every table: `{"format":"tare-profile-report","version":1,"profile":…,"learned":…}`.
pub fn json(profile: &Profile, learned: &Learned) -> Result<String, RenderError> {
    pretty(&ProfileJson { format: "tare-profile-report", version: 1, profile, learned })
}
