//! The conditions of the measurement, once per run.

use crate::run::protocol::{asks, finding, no_check_one};
use crate::run::terminal::quiet;
use tarebench_core::base::date::date;
use tarebench_core::base::hint::Hint;
use tarebench_core::base::reading::Reading;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::Standing;
use tarebench_core::run::discards::DiscardRule;
use tarebench_core::run::plan::{Order, RunCount};
use tarebench_core::run::protocol::{CheckOne, CheckOneDetail, StepFinding};
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::report::findings::RemarkKind;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::plural;

/// Draws machine, clock, sources, checks and protocol steps.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport) {
    page.gap();
    page.title("Conditions");
    run(page, report);
    machine(page, report);
    clock(page, report);
    pt_source(page, report);
    checks(page, report);
    protocol(page, report);
}

fn run(page: &mut ScreenText<'_>, report: &RunReport) {
    let run = &report.run;
    let plan = &run.plan;
    let mut items = Vec::new();
    if run.id > 0 {
        items.push(format!("run {}", run.id));
    }
    items.push(date(run.created, &page.style.zone));
    let warmups = plural(plan.warmup, "warm-up");
    let short = report.remarks.iter().any(|r| matches!(r.kind, RemarkKind::ShortBlocks { .. }));
    let noun = if short { "block" } else { "sample" };
    items.push(match plan.runs {
        RunCount::Fixed(n) => format!("{} after {warmups}", plural(n, noun)),
        RunCount::Adaptive { precision, min, max } => {
            let p = number::percent(precision).unwrap_or_default();
            format!("{min} to {max} {noun}s, until the precision is {p}, after {warmups}")
        }
        RunCount::Detect { difference, max } => {
            let d = number::percent(difference).unwrap_or_default();
            format!("{} at most, until a difference of {d} would be seen, after {warmups}", plural(max, "block"))
        }
    });
    if report.series.len() > 1 {
        items.push(
            match plan.order {
                Order::Rounds => "in rounds",
                Order::Random => "in random rounds",
                Order::Sequential => "one program after the other",
                Order::Auto => "in random rounds and duets",
                Order::Duet => "in duets",
            }
            .to_owned(),
        );
    }
    items.extend(quiet::kept_to(report).strip_prefix(", ").map(|cpus| format!("kept {cpus}, with probes")));
    page.field_items("run", &items);
    let state = match run.status {
        Status::Finished => return,
        Status::Unfinished => "not finished",
        Status::Interrupted => "interrupted",
    };
    let hint = page.style.hints.phrase(&Hint::Resume(run.id)).filter(|_| run.id > 0);
    let resume = hint.map_or_else(String::new, |hint| format!("; {hint}"));
    page.painted_field("", Paint::Warn, &format!("{state}{resume}"));
}

fn machine(page: &mut ScreenText<'_>, report: &RunReport) {
    let h = &report.run.host;
    let mut items = vec![page.style.show(&h.name)];
    let times = if page.style.unicode { "×" } else { "x" };
    items.push(match &h.cpu {
        Reading::Value(cpu) => format!("{} {times} {}", h.cpus, page.style.prose(cpu)),
        Reading::Absent(_) => plural(h.cpus, "CPU"),
    });
    if let Some(v) = h.hypervisor.value().filter(|v| *v != "none") {
        items.push(format!("virtual ({})", page.style.prose(v)));
    }
    items.push(format!("Linux {} {}", page.style.prose(&h.kernel), page.style.prose(&h.architecture)));
    if let (Reading::Value(d), true) = (&h.distribution, page.style.full) {
        items.push(page.style.prose(d));
    }
    let room = page.field_width();
    let items: Vec<String> = items.iter().map(|i| text::cut(i, room, page.g.dots).into_owned()).collect();
    page.field_items("machine", &items);
}

fn clock(page: &mut ScreenText<'_>, report: &RunReport) {
    let h = &report.run.host;
    let mut items = vec!["ET from CLOCK_MONOTONIC".to_owned()];
    items.push(match &h.clock_source {
        Reading::Value(c) => format!("clock source {}", page.style.prose(c)),
        Reading::Absent(a) => format!("clock source {}", page.style.prose(&a.to_string())),
    });
    if let Some(ghz) = h.cycle_counter_hz.value().and_then(|hz| number::fixed(hz / 1e9, 3)) {
        items.push(format!("cycle counter {ghz} GHz"));
    }
    page.field_items("clock", &items);
}

fn pt_source(page: &mut ScreenText<'_>, report: &RunReport) {
    let source = report.run.pt_source;
    let misses = source.misses().map_or_else(|| "misses nothing".to_owned(), |m| format!("misses {m}"));
    page.field("PT source", &format!("{}; {misses}", source.name()));
    let notes = &report.run.pt_source_notes;
    let limit = if page.style.full { usize::MAX } else { 2 };
    for n in notes.iter().take(limit) {
        let n = page.style.prose(n);
        page.painted_field("", Paint::Dim, &format!("not used: {n}"));
    }
}

fn checks(page: &mut ScreenText<'_>, report: &RunReport) {
    match &report.profile {
        Ok(name) => {
            let name = page.style.show(name);
            let rule = check_one_detail(report).map(|d| counted(d, page.style.full)).unwrap_or_default();
            page.field("check 1", &format!("daemons above their cutoffs in profile {name}{rule}"));
        }
        Err(why) => {
            let why = page.style.prose(&no_check_one(why, &page.style.hints));
            page.painted_field("check 1", Paint::Warn, &format!("not done: {why}"));
        }
    }
    let sigma = report.run.plan.sigma;
    let pm = page.g.plus_minus;
    if sigma > 0.0 {
        page.field("check 2", &format!("outside mean {pm} {sigma} s.d. of the samples that check 1 retained"));
    } else {
        page.painted_field("check 2", Paint::Warn, "not done (`none` was given)");
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
fn counted(detail: &CheckOneDetail, full: bool) -> String {
    let Some(c) = detail.counts else { return String::new() };
    let rule = match detail.rule {
        DiscardRule::Effect => "by what the daemons did",
        DiscardRule::Papers => "by their CPU time",
    };
    if !full {
        return format!(", {rule}");
    }
    format!(
        ", {rule}; discards {} for ET and {} for PT by what they did, {} by their CPU time",
        plural(u64::from(c.effect_elapsed), "sample"),
        plural(u64::from(c.effect_process_time), "sample"),
        plural(u64::from(c.papers), "sample"),
    )
}

fn protocol(page: &mut ScreenText<'_>, report: &RunReport) {
    let p = &report.protocol;
    page.gap();
    let held = p.steps.iter().filter(|s| s.standing == Standing::Held).count();
    page.line(&[
        (
            Paint::Title,
            match p.reached {
                0 => "Protocol: EMPv1 is not reached".to_owned(),
                n => format!("Protocol: EMPv{n} is reached"),
            },
        ),
        (Paint::Plain, format!("  ({held} of {} held)", plural(p.steps.len() as u64, "step"))),
    ]);
    let narrow = page.narrow();
    let room = if narrow { 20 } else { 28 };
    let asks: Vec<String> =
        p.steps.iter().map(|s| text::cut(&page.style.prose(asks(s)), room, page.g.dots).into_owned()).collect();
    let wide = asks.iter().map(|a| text::columns(a)).max().unwrap_or(0);
    for (s, asks) in p.steps.iter().zip(&asks) {
        let (mark, paint) = match s.standing {
            Standing::Held => (page.g.held, Paint::Good),
            Standing::NotHeld => (page.g.not_held, Paint::Bad),
            Standing::Unknown => (page.g.unknown, Paint::Warn),
        };
        let pad = " ".repeat(wide - text::columns(asks));
        let finding = page.style.prose(&finding(s, &page.style.hints));
        let head = [(paint, format!("  {mark}")), (Paint::Plain, format!(" v{}  {asks}{pad}", s.version))];
        if narrow || finding.is_empty() {
            page.line(&head);
            page.hang(&[(Paint::Plain, " ".repeat(8))], Paint::Dim, &finding);
        } else {
            let [mark, ask] = head;
            page.hang(&[mark, ask, (Paint::Plain, "  ".to_owned())], Paint::Plain, &finding);
        }
    }
}
