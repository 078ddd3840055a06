//! A run as a sheet: the answer, what was measured where and how, how the programs compare, and a section for each.

use crate::compare::overview::{overview, plot_id, table, without_duets};
use crate::compare::table::comparison;
use crate::compare::{design, duet_page, duets};
use crate::run::hints::hints_of_run;
use crate::run::intervals::what_of;
use crate::run::protocol::{asks, finding, no_check_one};
use crate::run::{metrics, plot, program, quiet, quiet_page, remarks};
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::clusters::{Clusters, TooFew};
use tarebench_core::run::discards::DiscardRule;
use tarebench_core::run::plan::{Order, RunCount};
use tarebench_core::run::protocol::{CheckOne, CheckOneDetail, StepFinding};
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::report::findings::{Remark, RemarkKind};
use tarebench_core::run::shown::{ShownRun, ShownSeries};
use tarebench_core::sample::data::Sample;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::hints::Hints;
use tarebench_report::number;
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetNote, SheetRemark};
use tarebench_report::style::Paint;
use tarebench_report::table::{Detail, Table};
use tarebench_report::web::page::{PageKind, Plot};
use tarebench_report::words::plural;

/// What is drawn of a run: its samples, and the clusters of each series ([`tarebench_core::run::report::duals`]).
#[derive(Clone, Copy)]
pub struct DrawnSamples<'a> {
    pub shown: &'a ShownRun,
    pub clusters: &'a [Result<Clusters, TooFew>],
}

/// Of a run. Without its samples it has no plots of them: tables stand in their place.
pub fn run(
    report: &RunReport,
    samples: Option<DrawnSamples<'_>>,
    hints: &Hints,
    zone: &TimeZone,
    foot: String,
) -> Sheet {
    let run = &report.run;
    let hints = &hints_of_run(hints, &run.plan);
    let labels: Vec<Cell> = report.series.iter().map(|s| Cell::foreign(&s.program.label)).collect();
    let mut overview = overview(report, samples.and_then(|s| duet_page::duets(report, &s.shown.blocks, hints)));
    let answers = overview.as_mut().map(|o| std::mem::take(&mut o.answers)).unwrap_or_default();
    let said = what_of(report).map(|said| Cell::text(" Intervals: ").and(said).and("."));
    let note = |text: Cell| said.iter().cloned().fold(text, Cell::and);
    let mut notes: Vec<SheetNote> =
        overview.iter_mut().map(|o| SheetNote::new("", note(std::mem::take(&mut o.note)))).collect();
    if samples.is_some() {
        notes.extend(without_duets(report).map(|why| SheetNote::new("", why)));
    } else {
        notes.extend(duets::notes(report, hints).into_iter().map(|note| SheetNote::new("", note)));
        notes.extend(report.control.iter().map(|c| SheetNote::new("", design::sentence(c, &labels))));
    }
    let compared = overview.as_ref().filter(|o| samples.is_none() && o.compared).map(table);
    let tables = [comparison(report), metrics::table(report, &labels), protocol(report, hints)];
    let drawn = overview.map(|o| Item::Overview(Box::new(o)));
    let result = compared.into_iter().map(Item::Table).chain(drawn).chain(tables.map(Item::Table));
    let programs = (0..report.series.len()).filter_map(|i| section(report, i, samples, hints));
    Sheet {
        kind: PageKind::Run,
        title: if run.id > 0 { format!("Run {}", run.id).into() } else { "Run".into() },
        subtitle: labels.iter().cloned().reduce(between).unwrap_or_default(),
        answers,
        facts: facts(report, hints, zone),
        notes,
        remarks: remarks(report, samples, &labels, hints),
        sections: [Section::result(result)].into_iter().chain(programs).collect(),
        foot: foot.into(),
    }
}

fn between(all: Cell, next: Cell) -> Cell {
    all.and(" · ").and(next)
}

fn remarks(report: &RunReport, samples: Option<DrawnSamples<'_>>, labels: &[Cell], hints: &Hints) -> Vec<SheetRemark> {
    let whose = |series: Option<usize>, text: String| match series.and_then(|i| labels.get(i)) {
        Some(label) if labels.len() > 1 => label.clone().and(": ").and(text),
        _ => text.into(),
    };
    let said = |r: &Remark| {
        let cell = whose(r.series.map(|i| i as usize), remarks::text(r, hints));
        if r.warning() { SheetRemark::warning(cell) } else { SheetRemark::information(cell) }
    };
    let (warnings, others): (Vec<_>, Vec<_>) = report.remarks.iter().partition(|r| r.warning());
    let mut all: Vec<SheetRemark> = warnings.into_iter().chain(others).map(said).collect();
    all.extend(metrics::missing(report, labels).into_iter().map(SheetRemark::warning));
    all.extend((0..labels.len()).filter_map(|i| {
        let text = thinned(samples?.shown.series(i)?)?;
        Some(SheetRemark::information(whose(Some(i), text)))
    }));
    all
}

/// That the figures do not show every sample; `None` if they do.
fn thinned(series: &ShownSeries) -> Option<String> {
    let (shown, all) = (series.samples().len(), series.counted());
    let text = "pairs of consecutive ones, evenly spaced. The tables are computed from all samples.";
    series.is_part().then(|| format!("The plots show {shown} of {all} samples: {text}"))
}

fn section(report: &RunReport, i: usize, samples: Option<DrawnSamples<'_>>, hints: &Hints) -> Option<Section> {
    let s = report.series.get(i)?;
    let Some(drawn) = samples else {
        let quiet = s.quiet.as_ref().map(|_| ("on the quiet machine", quiet_page::answer(s, hints)));
        let found = || s.quiet.iter().flatten();
        let parts = found().map(|q| ("correction", Cell::text(quiet_page::parts_text(q))));
        let doubts = found().flat_map(|q| &q.doubts);
        let doubts = doubts.map(|doubt| ("doubtful", Cell::text(quiet::doubt(doubt, hints))));
        let mut tables = program::tables(s, quiet.into_iter().chain(parts).chain(doubts).collect(), &[]);
        tables.extend(quiet_page::tables(report, s));
        return Some(Section {
            id: plot_id(i),
            title: Cell::foreign(&s.program.label),
            note: Cell::empty(),
            detail: Detail::Full,
            items: tables.into_iter().map(Item::Table).collect(),
        });
    };
    let all: Vec<&Sample> = drawn.shown.series(i).map_or(&[][..], ShownSeries::samples).iter().collect();
    Some(Section::result([Item::Samples(Box::new(Plot {
        tables: program::tables(s, Vec::new(), &all),
        quiet: quiet_page::quiet(i, s, &all, report, hints),
        ..plot::plot(i, s, &all, report, drawn.clusters.get(i))
    }))]))
}

fn facts(report: &RunReport, hints: &Hints, zone: &TimeZone) -> Vec<SheetFact> {
    let source = report.run.pt_source;
    let misses = source.misses().map_or_else(|| "misses nothing".to_owned(), |m| format!("misses {m}"));
    let mut all = vec![
        SheetFact::new("run", measured(report, zone)),
        SheetFact::new("machine", machine(report)),
        SheetFact::new("clock", clock(report)),
        SheetFact::new("PT source", format!("{}; {misses}", source.name())),
    ];
    all.extend(report.run.pt_source_notes.iter().map(|note| SheetFact::new("not used", note.clone())));
    all.extend([SheetFact::new("check 1", check_one(report, hints)), SheetFact::new("check 2", check_two(report))]);
    let p = &report.protocol;
    let held = p.steps.iter().filter(|s| s.standing == Standing::Held).count();
    let reached =
        if p.reached == 0 { "EMPv1 is not reached".to_owned() } else { format!("EMPv{} is reached", p.reached) };
    all.push(SheetFact::new("protocol", format!("{reached}, {held} of {} held", plural(p.steps.len() as u64, "step"))));
    all
}

/// When, how often, in which order, and whether to the end.
fn measured(report: &RunReport, zone: &TimeZone) -> Cell {
    let (run, plan) = (&report.run, &report.run.plan);
    let short = report.remarks.iter().any(|r| matches!(r.kind, RemarkKind::ShortBlocks { .. }));
    let noun = if short { "block" } else { "sample" };
    let share = |share| Cell::of(Unit::Share, share);
    let count = match plan.runs {
        RunCount::Fixed(n) => Cell::text(plural(n, noun)),
        RunCount::Adaptive { precision, min, max } => {
            Cell::text(format!("{min} to {max} {noun}s, until the precision is ")).and(share(precision)).and(",")
        }
        RunCount::Detect { difference, max } => {
            let most = Cell::text(format!("{} at most, until a difference of ", plural(max, "block")));
            most.and(share(difference)).and(" would be seen,")
        }
    };
    let order = match plan.order {
        Order::Rounds => "in rounds",
        Order::Random => "in random rounds",
        Order::Sequential => "one program after the other",
        Order::Auto => "in random rounds and duets",
        Order::Duet => "in duets",
    };
    let state = match run.status {
        Status::Finished => None,
        Status::Unfinished => Some("not finished"),
        Status::Interrupted => Some("interrupted"),
    };
    let id = (run.id > 0).then(|| Cell::text(format!("run {}", run.id)));
    let order = (report.series.len() > 1).then(|| Cell::text(order));
    let seed = Cell::text(format!("seed {}", plan.seed));
    let count = count.and(format!(" after {}", plural(plan.warmup, "warm-up")));
    let kept = quiet::kept_to(report).map(|cpus| Cell::text(format!("kept {cpus}, with probes")));
    let items = [id, Some(Cell::date(run.created, zone)), Some(count), order, Some(seed), kept, state.map(Cell::text)];
    items.into_iter().flatten().reduce(between).unwrap_or_default()
}

fn machine(report: &RunReport) -> Cell {
    let h = &report.run.host;
    let cpus = match &h.cpu {
        Reading::Value(cpu) => Cell::text(format!("{} × ", h.cpus)).and(Cell::foreign(cpu)),
        Reading::Absent(_) => plural(h.cpus, "CPU").into(),
    };
    let foreign = |text: &String| Cell::foreign(text);
    let hypervisor = h.hypervisor.value().filter(|v| *v != "none");
    let hypervisor = hypervisor.map(|v| Cell::text("virtual (").and(foreign(v)).and(")"));
    let kernel = Cell::text("Linux ").and(foreign(&h.kernel)).and(" ").and(foreign(&h.architecture));
    let items = [Some(foreign(&h.name)), Some(cpus), hypervisor, Some(kernel), h.distribution.value().map(foreign)];
    items.into_iter().flatten().reduce(between).unwrap_or_default()
}

fn clock(report: &RunReport) -> Cell {
    let h = &report.run.host;
    let said = Cell::text("ET from CLOCK_MONOTONIC · clock source ").and(match &h.clock_source {
        Reading::Value(source) => Cell::foreign(source),
        Reading::Absent(why) => why.to_string().into(),
    });
    let ghz = h.cycle_counter_hz.value().and_then(|hz| number::fixed(hz / 1e9, 3));
    ghz.map(|ghz| Cell::text(format!("cycle counter {ghz} GHz"))).into_iter().fold(said, between)
}

fn check_one(report: &RunReport, hints: &Hints) -> Cell {
    match &report.profile {
        Ok(name) => {
            let said = Cell::text("daemons above their cutoffs in profile ").and(Cell::foreign(name));
            said.and(check_one_detail(report).map(counted).unwrap_or_default())
        }
        Err(why) => Cell::text(format!("not done: {}", no_check_one(why, hints))).paint(Paint::Warn),
    }
}

fn check_two(report: &RunReport) -> Cell {
    match report.run.plan.sigma {
        sigma if sigma > 0.0 => format!("outside mean ± {sigma} s.d. of the samples that check 1 retained").into(),
        _ => Cell::text("not done (`none` was given)").paint(Paint::Warn),
    }
}

/// How check 1 was done, if it was.
fn check_one_detail(report: &RunReport) -> Option<&CheckOneDetail> {
    report.protocol.steps.iter().find_map(|step| match &step.finding {
        StepFinding::Outliers { check_one: CheckOne::Done { detail, .. }, .. } => Some(detail),
        _ => None,
    })
}

/// What check 1 went by, and what either rule discards, where they may differ.
fn counted(detail: &CheckOneDetail) -> String {
    let Some(c) = detail.counts else { return String::new() };
    let rule = match detail.rule {
        DiscardRule::Effect => "by what the daemons did",
        DiscardRule::Papers => "by their CPU time",
    };
    format!(
        ", {rule}; discards {} for ET and {} for PT by what they did, {} by their CPU time",
        plural(u64::from(c.effect_elapsed), "sample"),
        plural(u64::from(c.effect_process_time), "sample"),
        plural(u64::from(c.papers), "sample"),
    )
}

fn protocol(report: &RunReport, hints: &Hints) -> Table {
    let mut t =
        Table::new("Protocol", "The steps of EMP, and whether each holds.", &["step", "requires", "state", "finding"]);
    for s in &report.protocol.steps {
        let (standing, paint) = match s.standing {
            Standing::Held => ("held", Paint::Good),
            Standing::NotHeld => ("not held", Paint::Bad),
            Standing::Unknown => ("unknown", Paint::Warn),
        };
        let standing = Cell::text(standing).paint(paint);
        t.row([format!("v{}", s.version).into(), asks(s).into(), standing, finding(s, hints).into()], Vec::new());
    }
    t
}
