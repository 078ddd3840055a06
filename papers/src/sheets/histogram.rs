//! The study of the shape of process times as tables and figures.

use crate::data::histogram::{HistogramPrefix, HistogramReport, HistogramSeries, ModeOrder, TimeShape};
use crate::sheets::checked_parts::{first_check_remarks, histogram_figure};
use crate::sheets::programs::table_section;
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::named;
use tarebench_core::statistics::mixture::{
    HIGHEST_VALLEY, LEAST_GAIN, LEAST_SEPARATION, LEAST_WEIGHT, MixtureComponent, MixtureFit,
};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// The report's figures 14, 15, 17 to 20, and its first two conclusions.
pub fn sheet(report: &HistogramReport) -> Sheet {
    let mut remarks = first_check_remarks(report.series.iter().map(|s| &s.first_check));
    remarks.push(
        "The tests take the samples as independent. Where the machine's speed changes slowly, neighbours resemble each other, and \
         both the gain of two modes and the rejection of normality are overstated."
            .to_owned(),
    );
    study_sheet(
        report.series.iter().flat_map(answers),
        remarks,
        vec![
            modes(report),
            normalities(report),
            histograms(report, "emp-v4", "PT by EMPv4 (report figures 14, 15, 17 and 18)", |p| Some(&p.raw)),
            histograms(report, "emp-v5", "PT by EMPv5-strict (report figures 14, 15, 19 and 20)", |p| {
                p.strict.as_ref()
            }),
        ],
    )
}

fn name(series: &HistogramSeries) -> String {
    named(&series.label, &series.condition)
}

/// What all samples of a series say.
fn answers(series: &HistogramSeries) -> Vec<Cell> {
    let Some(whole) = series.prefixes.last() else { return Vec::new() };
    let shape = &whole.raw;
    let modes = match &shape.modes {
        Err(why) => format!("whether PT has one mode or two cannot be said: {why}").into(),
        Ok(fit) if fit.two_modes() => two_modes(fit).and(shape.order.as_ref().map(order_words).unwrap_or_default()),
        Ok(_) => "these samples do not show two modes of PT".into(),
    };
    let begin = Cell::text(format!("{} ({} samples): ", name(series), whole.samples));
    let mut found = vec![begin.and(modes).and(".")];
    let tests = [("of all samples", Some(shape)), ("that the strict checks leave", whole.strict.as_ref())];
    for (what, shape) in tests {
        if let Some(n) = shape.and_then(|s| s.normality.as_ref()) {
            let verdict = if n.p < 0.05 { "are not normally distributed" } else { "may be normally distributed" };
            let text = format!("{}: the process times {what} {verdict} (K² = {:.1}, p = ", name(series), n.k_squared);
            found.push(Cell::text(text).and(Cell::of(Unit::Chance, n.p)).and(")."));
        }
    }
    found
}

/// With the digits in which the two modes differ.
fn median(fit: &MixtureFit, of: &MixtureComponent) -> Cell {
    let [fast, slow] = &fit.components;
    Cell::figure(Figure { digits: Some((slow.median - fast.median).abs()), ..Figure::new(Unit::Time, of.median) })
}

fn two_modes(fit: &MixtureFit) -> Cell {
    let [fast, slow] = &fit.components;
    let mode = |m: &MixtureComponent| median(fit, m).and(" (").and(Cell::of(Unit::Share, m.weight));
    Cell::text("PT has two modes, ")
        .and(mode(fast))
        .and(") and ")
        .and(mode(slow))
        .and(format!("; BIC gain {:.0}, D {:.1}, valley ", fit.gain, fit.separation))
        .and(Cell::of(Unit::Share, fit.valley))
        .and(")")
}

/// How the order of the modes continues the sentence.
fn order_words(order: &ModeOrder) -> String {
    let test = order.test();
    let runs = format!("{} runs, {:.0} expected at random, p = {}", test.runs, test.expected, number::chance(test.p));
    match order {
        ModeOrder::Time { .. } => format!("; executions near in time share a mode ({runs})"),
        ModeOrder::Alternating { .. } => format!("; the modes alternate ({runs})"),
        ModeOrder::Execution { .. } => format!("; their order does not differ from a random one ({runs})"),
    }
}

/// The shapes of a series, those of EMPv4 first.
fn shapes(prefix: &HistogramPrefix) -> impl Iterator<Item = (&'static str, &TimeShape)> {
    [("EMPv4", Some(&prefix.raw)), ("EMPv5-strict", prefix.strict.as_ref())]
        .into_iter()
        .filter_map(|(protocol, shape)| Some((protocol, shape?)))
}

fn modes(report: &HistogramReport) -> Section {
    let columns = [
        "program",
        ">samples",
        "protocol",
        "modes",
        ">first",
        ">second",
        ">weight of the second",
        ">BIC gain",
        ">D",
        ">valley",
        "order",
    ];
    let note = format!(
        "Two modes: gain over {LEAST_GAIN}, D over {LEAST_SEPARATION}, each weight at least {}, valley below {} of the lower peak. \
         The figures are of the best mixture of two, whether or not there are two modes.",
        number::limit(LEAST_WEIGHT),
        number::limit(HIGHEST_VALLEY)
    );
    let mut table = Table::new("One mode or two, by number of samples", note, &columns);
    for series in &report.series {
        for prefix in &series.prefixes {
            for (protocol, shape) in shapes(prefix) {
                let head = [Cell::foreign(name(series)), Cell::count(prefix.samples as f64), protocol.into()];
                table.row(head.into_iter().chain(mode_cells(shape)), Vec::new());
            }
        }
    }
    table_section("modes", "One model or a mixture of two (report section 9, conclusion 1)", table)
}

fn mode_cells(shape: &TimeShape) -> [Cell; 8] {
    let fit = match &shape.modes {
        Ok(fit) => fit,
        Err(why) => {
            let mut cells: [Cell; 8] = Default::default();
            cells[0] = why.to_string().into();
            return cells;
        }
    };
    let [fast, slow] = &fit.components;
    let order = match &shape.order {
        None => "",
        Some(ModeOrder::Time { .. }) => "by time",
        Some(ModeOrder::Alternating { .. }) => "alternating",
        Some(ModeOrder::Execution { .. }) => "as at random",
    };
    [
        if fit.two_modes() { "two" } else { "one" }.into(),
        median(fit, fast),
        median(fit, slow),
        Cell::of(Unit::Share, slow.weight),
        Cell::of(Unit::Plain, fit.gain),
        Cell::of(Unit::Plain, fit.separation),
        Cell::of(Unit::Share, fit.valley),
        order.into(),
    ]
}

fn normalities(report: &HistogramReport) -> Section {
    let columns = ["program", ">samples", "protocol", ">retained", ">std. dev.", ">skewness", ">kurtosis", ">K²", ">p"];
    let note = "K² of D'Agostino and Pearson; a normal distribution has skewness 0 and kurtosis 3. p: of a K² as large, if the times \
                were normal.";
    let mut table = Table::new("Normality, by number of samples", note, &columns);
    for series in &report.series {
        for prefix in &series.prefixes {
            for (protocol, shape) in shapes(prefix) {
                let found = shape.normality.as_ref();
                let cells = [
                    Cell::foreign(name(series)),
                    Cell::count(prefix.samples as f64),
                    protocol.into(),
                    Cell::count(shape.samples as f64),
                    Cell::time(shape.std_dev),
                    Cell::of(Unit::Plain, found.map(|n| n.skewness)),
                    Cell::of(Unit::Plain, found.map(|n| n.kurtosis)),
                    Cell::of(Unit::Plain, found.map(|n| n.k_squared)),
                    Cell::of(Unit::Chance, found.map(|n| n.p)),
                ];
                table.row(cells, Vec::new());
            }
        }
    }
    table_section("normality", "Normality before and after the checks (report section 9, conclusion 2)", table)
}

fn histograms(
    report: &HistogramReport,
    id: &str,
    title: &str,
    shape: fn(&HistogramPrefix) -> Option<&TimeShape>,
) -> Section {
    let mut figures = Vec::new();
    for (i, series) in report.series.iter().enumerate() {
        for prefix in &series.prefixes {
            let Some(shape) = shape(prefix) else { continue };
            let name = name(series);
            let title = format!("{name}, {} samples", prefix.samples);
            figures.extend(histogram_figure(format!("{id}-{}-{}", i + 1, prefix.samples), title, &shape.histogram));
        }
    }
    Section::new(
        id,
        title,
        "Histograms at rising numbers of samples, of the first ones of the series. The widths of the bins differ.",
        figures,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::histogram::TimeHistogram;
    use crate::sheets::checked_parts::tests::checked_with;
    use crate::sheets::sheet::tests::rows_fit;
    use tarebench_core::statistics::mixture::{NoMixture, RunsTest};
    use tarebench_core::statistics::normality::Normality;

    fn two_modes() -> MixtureFit {
        let component = |weight, median| MixtureComponent { weight, median, deviation: 0.001 };
        MixtureFit {
            n: 400,
            tick: 1.0,
            components: [component(0.7, 1e9), component(0.3, 1.05e9)],
            gain: 300.0,
            separation: 12.0,
            valley: 0.01,
        }
    }

    fn report(modes: Result<MixtureFit, NoMixture>) -> HistogramReport {
        let test = RunsTest { runs: 9, expected: 169.0, p: 1e-9 };
        let shape = TimeShape {
            samples: 400,
            std_dev: Some(2e6),
            histogram: TimeHistogram { low: 1e9, width: 1e6, counts: vec![300, 0, 100] },
            normality: Some(Normality { skewness: 1.0, kurtosis: 4.0, k_squared: 50.0, p: 1e-11 }),
            order: modes.is_ok().then_some(ModeOrder::Time { test }),
            modes,
        };
        let prefix = HistogramPrefix { samples: 400, raw: shape.clone(), strict: Some(shape) };
        let series = HistogramSeries {
            label: "INC1".to_owned(),
            condition: String::new(),
            size: Some(1.0),
            first_check: checked_with(0),
            prefixes: vec![prefix],
        };
        HistogramReport { series: vec![series] }
    }

    #[test]
    fn two_modes_with_their_grounds() {
        let sheet = sheet(&report(Ok(two_modes())));
        let answer = sheet.answers[0].plain();
        assert!(answer.contains("PT has two modes, 1.000 s (70 %) and 1.050 s (30 %; BIC gain 300"), "{answer}");
        assert!(answer.ends_with("executions near in time share a mode (9 runs, 169 expected at random, p = 1.0e-9)."));
        assert!(sheet.answers[1].plain().contains("are not normally distributed"), "{:?}", sheet.answers);
        rows_fit(&sheet);
        assert!(sheet.sections.iter().flat_map(Section::tables).all(|table| table.rows.len() == 2));
        let ids: Vec<&str> = sheet.sections.iter().flat_map(Section::figures).map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["emp-v4-1-400", "emp-v5-1-400"]);
    }

    #[test]
    fn a_refusal_is_no_verdict() {
        let sheet = sheet(&report(Err(NoMixture::TooFew { have: 60, need: 100 })));
        assert!(
            sheet.answers[0].plain().contains("cannot be said: 60 samples, expected at least 100"),
            "{:?}",
            sheet.answers
        );
        assert_eq!(sheet.sections[0].tables().next().unwrap().rows[0].cells[3], "60 samples, expected at least 100");
    }
}
