//! The machines of a campaign against each other: a dot with its interval for each.

use crate::data::nodes::{NodeDrift, NodeFleet, NodeRow, NodesReport};
use crate::data::state::CampaignSummary;
use crate::pages::page::html::{Html, href};
use crate::pages::page::interval::{Dot, dot, range, scale};
use crate::pages::page::rows::{facts, number, plot, table, text};
use crate::pages::page::shell::{LabFrame, live, shell};
use crate::pages::said::{answers, compared_time, fleet_remarks, fleet_title, remarks, spread};
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::number::{fixed, percent};
use tarebench_report::style::Style;
use tarebench_report::words::plural;

/// Programs that a row names.
const NAMED: usize = 8;

/// What the page is of.
#[derive(Clone, Debug)]
pub struct NodesView<'a> {
    pub zone: &'a TimeZone,
    pub summary: &'a CampaignSummary,
    pub report: &'a NodesReport,
}

/// The page.
pub fn nodes(frame: &LabFrame<'_>, view: &NodesView<'_>) -> String {
    let here = format!("{}/nodes", href("campaign", &view.summary.id.to_string()));
    shell(frame, &format!("Machines of {}", view.summary.name), &here, |h| {
        h.element("p", &[("class", "ways")], |h| {
            h.link(&href("campaign", &view.summary.id.to_string()), "Back to the campaign");
        });
        live(h, "nodes", "Is there an odd machine?", |h| compared(h, view));
    })
}

fn compared(html: &mut Html, view: &NodesView<'_>) {
    let report = view.report;
    if report.fleets.is_empty() {
        html.raw("<p class=\"instead\">No run of this campaign is in the store yet.</p>\n");
        return;
    }
    let counted = format!(
        "{} on {}, by {}. A ratio is the time of a machine divided by that of the typical machine, the median of all \
         with the same fingerprint; the intervals of a fleet hold together.",
        plural(report.runs as u64, "run"),
        plural(report.machines as u64, "machine"),
        compared_time(report.measure),
    );
    html.line("p", &[("class", "hint")], &counted);
    said(html, "hint", &remarks(report, &plain));
    for fleet in &report.fleets {
        one_fleet(html, fleet, report.fleets.len() > 1, view.zone);
    }
}

/// What is shown is escaped as a whole.
fn plain(text: &str) -> String {
    text.to_owned()
}

/// A paragraph for each sentence.
fn said(html: &mut Html, class: &'static str, sentences: &[String]) {
    for sentence in sentences {
        let mut letters = sentence.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        html.element("p", &[("class", class)], |h| h.name(&format!("{first}{}.", letters.as_str())));
        html.raw("\n");
    }
}

fn one_fleet(html: &mut Html, fleet: &NodeFleet, several: bool, zone: &TimeZone) {
    let g = Style::default().glyphs();
    if several {
        html.element("h3", &[], |h| h.name(&fleet_title(fleet, &g, &plain)));
    }
    for sentence in answers(fleet, &g, &plain) {
        let class = if sentence.bad { "answer bad" } else { "answer" };
        // A name may begin it, which keeps its letters.
        html.element("p", &[("class", class)], |h| h.name(&format!("{}.", sentence.text)));
        html.raw("\n");
    }
    said(html, "hint", &fleet_remarks(fleet, &plain));
    plotted(html, fleet);
    spreads(html, fleet, zone);
}

/// A row for each machine, all on one scale.
fn plotted(html: &mut Html, fleet: &NodeFleet) {
    let dots: Vec<Dot> = fleet.machines.iter().map(to_dot).collect();
    let range = range(&dots, 0.0);
    let mut axis = Html::new();
    scale(&mut axis, range);
    let columns = [
        text("machine"),
        plot("time relative to the typical machine"),
        number("ratio"),
        text("verdict"),
        number("runs"),
        number("samples"),
        number("between runs"),
        number("machine added"),
        text("drift"),
    ];
    let rows = fleet.machines.iter().zip(&dots).map(|(m, d)| row(m, *d, range));
    let last = vec![Html::new(), axis];
    let rest = (last.len()..columns.len()).map(|_| Html::new());
    let last = last.into_iter().chain(rest).collect();
    table(html, "Machines, the odd ones first", &columns, rows.chain([last]));
}

fn to_dot(m: &NodeRow) -> Dot {
    let off = |ratio: f64| (ratio - 1.0) * 100.0;
    Dot { value: off(m.ratio), bounds: m.interval.as_ref().map(|i| (off(i.low), off(i.high))), odd: m.odd }
}

fn row(m: &NodeRow, d: Dot, range: tarebench_report::svg::axis::Range) -> Vec<Html> {
    let (mut name, mut drawn, mut verdict) = (Html::new(), Html::new(), Html::new());
    name.link(&href("machine", &m.machine), &m.machine);
    dot(&mut drawn, range, d, 0.0, &format!("{}{}", signed(m.ratio), within(m.interval.as_ref())));
    let (word, class) = match (m.odd, m.differs, m.interval.is_some()) {
        (true, _, _) => ("odd", "state bad"),
        (false, true, _) => ("differs", "state active"),
        (false, false, true) => ("as the others", "state good"),
        (false, false, false) => ("too few runs", "state quiet"),
    };
    verdict.line("span", &[("class", class)], word);
    programs(&mut verdict, m);
    vec![
        name,
        drawn,
        Html::of_text(&format!("{}{}", signed(m.ratio), within(m.interval.as_ref()))),
        verdict,
        Html::of_text(&m.runs.to_string()),
        Html::of_text(&m.samples.to_string()),
        Html::of_text(&m.runs_spread.and_then(percent).unwrap_or_default()),
        Html::of_text(&m.added.and_then(percent).unwrap_or_default()),
        Html::of_text(&m.drift.as_ref().map(drift).unwrap_or_default()),
    ]
}

/// Programs on which the machine differs, and those that it has not run.
fn programs(html: &mut Html, m: &NodeRow) {
    let differing: Vec<_> = m.programs.iter().filter(|p| p.differs).collect();
    for p in differing.iter().take(NAMED) {
        html.raw(" ");
        html.name(&p.program);
        html.text(&format!(" {}", signed(p.ratio)));
    }
    if !m.missing.is_empty() {
        html.text(&format!(" {} missing", plural(m.missing.len() as u64, "program")));
    }
}

fn drift(d: &NodeDrift) -> String {
    let word = if d.drifts { "" } else { "none: " };
    format!("{word}{}{}", signed(d.ratio), within(Some(&d.interval)))
}

fn spreads(html: &mut Html, fleet: &NodeFleet, zone: &TimeZone) {
    let g = Style::default().glyphs();
    said(html, "hint", &[spread(&fleet.spread, &g)]);
    let mut list = vec![
        ("Relevant", Html::of_text(&percent(fleet.relevant).unwrap_or_default())),
        ("First run", Html::of_text(&date(fleet.first, zone))),
        ("Last run", Html::of_text(&date(fleet.last, zone))),
    ];
    if let Some(least) = fleet.detectable.and_then(percent) {
        list.insert(1, ("Detectable", Html::of_text(&least)));
    }
    facts(html, list);
}

/// `+3.1 %`.
fn signed(ratio: f64) -> String {
    let off = (ratio - 1.0) * 100.0;
    let sign = if off > 0.0 { "+" } else { "" };
    fixed(off, 2).map_or_else(|| "–".to_owned(), |text| format!("{sign}{text} %").replace('-', "−"))
}

/// ` [2.8, 3.4]`, in per cent.
fn within(interval: Option<&Interval>) -> String {
    let bound = |ratio: f64| fixed((ratio - 1.0) * 100.0, 2).unwrap_or_default().replace('-', "−");
    interval.map(|i| format!(" [{}, {}]", bound(i.low), bound(i.high))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::nodes::{NodeRun, nodes as compare};
    use crate::pages::page::fixtures::{HOSTILE, summary};
    use crate::pages::page::tests::read;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::sample::measure::Measure;

    /// Ten machines with six runs each; the last one is 3% slower.
    fn runs(slow: &str) -> Vec<NodeRun> {
        let mut all = Vec::new();
        for machine in 0..10_u32 {
            for run in 0..6_u32 {
                let off = if machine == 9 { 1.03 } else { 1.0 };
                let wobble = 1.0 + f64::from((machine * 7 + run * 13) % 11) * 2e-4;
                let name = if machine == 9 { slow.to_owned() } else { format!("node{machine}") };
                all.push(NodeRun {
                    run: format!("{machine:016}{run:016}"),
                    machine: name,
                    fingerprint: "f".repeat(16),
                    started: Nanos(1_795_000_000_000_000_000 + i64::from(run) * 3_600_000_000_000),
                    program: "gzip".to_owned(),
                    times: (0..10).map(|i| 1e8 * off * wobble * (1.0 + f64::from(i % 3) * 1e-4)).collect(),
                    added: Some(0.01),
                });
            }
        }
        all
    }

    fn page(runs: &[NodeRun]) -> String {
        let frame = LabFrame { place: "postgresql://lab/tare", version: Some(1), foot: "" };
        let (report, summary) = (compare(runs, Measure::Net), summary());
        nodes(&frame, &NodesView { zone: &TimeZone::UTC, summary: &summary, report: &report })
    }

    #[test]
    fn the_odd_machine_is_named_and_drawn() {
        let text = page(&runs("slow"));
        let all = read(&text);
        let answer = all.iter().find(|e| e.attributes.get("class").is_some_and(|c| c == "answer bad")).unwrap();
        assert!(
            answer.text.starts_with("slow is odd: ") && answer.text.contains(" slower than the typical machine ["),
            "{}",
            answer.text
        );
        let plots: Vec<&str> = all
            .iter()
            .filter(|e| e.tag == "svg")
            .filter_map(|e| e.attributes.get("class").map(String::as_str))
            .collect();
        assert_eq!(plots.len(), 11, "ten machines and the scale");
        assert_eq!((plots[0], plots[1], plots[10]), ("interval odd", "interval", "scale"));
        // The odd one is furthest to the right.
        let dots: Vec<f64> = all
            .iter()
            .filter(|e| e.tag == "circle")
            .map(|e| e.attributes["cx"].trim_end_matches('%').parse().unwrap())
            .collect();
        assert!(dots.len() == 10 && dots[1..].iter().all(|x| *x < dots[0]), "{dots:?}");
    }

    #[test]
    fn hostile_machines_and_no_runs() {
        let text = page(&runs(HOSTILE));
        assert!(
            read(&text).iter().any(|e| e.tag == "bdi" && e.text.contains("<script>window.hacked")),
            "shown as text"
        );
        assert!(!text.contains('\u{202e}') && text.matches("<script").count() == 1);
        assert!(page(&[]).contains("No run of this campaign is in the store yet."));
    }

    #[test]
    fn differences_are_in_per_cent() {
        assert_eq!([1.03, 1.0, 0.99, f64::NAN].map(signed), ["+3.00 %", "0.00 %", "−1.00 %", "–"]);
        assert_eq!(within(Some(&Interval { low: 0.99, high: 1.02, level: 0.95 })), " [−1.00, 2.00]");
    }
}
