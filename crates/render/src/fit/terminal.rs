//! Growth on a terminal: the answer, the classes, the sizes, the plot.

use crate::fit::{plot, said};
use tarebench_core::fit::SizeFit;
use tarebench_core::statistics::complexity::Expectation;
use tarebench_core::statistics::growth::Growth;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table;

/// Draws it. Ends with a newline.
pub fn terminal(fit: &SizeFit, expected: Option<Growth>, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let unicode = style.unicode;
    let c = &fit.complexity;
    page.title(&style.show(&fit.program));
    page.hang(&[], Paint::Strong, &style.prose(&said::answer(fit, unicode)));
    if let Some(p) = &c.power {
        page.field("free power", &said::power(p));
    }
    if let Some(expected) = expected {
        let paint = match c.expects(expected) {
            Expectation::Holds => Paint::Good,
            Expectation::Rejected => Paint::Bad,
            Expectation::Open => Paint::Warn,
        };
        page.hang(&[], paint, &said::expectation(fit, expected, unicode));
    }
    terminal_table::draw(&mut page, &classes(fit, unicode));
    terminal_table::draw(&mut page, &sizes(fit, unicode));
    let lines = plot::lines(c, fit.measure, page.width(), unicode);
    page.gap();
    for line in lines {
        page.line(&[(Paint::Plain, line)]);
    }
    warnings(&mut page, fit);
    if let Some(more) = &style.more {
        page.gap();
        let details = style.prose(&format!("run {}, details: {more}", fit.run));
        page.hang(&[], Paint::Dim, &details);
    }
    page.finish()
}

fn warnings(page: &mut ScreenText<'_>, fit: &SizeFit) {
    let mut all: Vec<String> = fit.complexity.warnings.iter().map(|w| said::warning(w, page.style.unicode)).collect();
    all.extend(said::missing(fit));
    if all.is_empty() {
        return;
    }
    page.gap();
    let mark = (Paint::Warn, format!("{} ", page.g.warning));
    for text in all {
        let text = page.style.prose(&text);
        page.hang(std::slice::from_ref(&mark), Paint::Warn, &text);
    }
}

/// A relative error with its sign.
fn signed(share: f64) -> String {
    let sign = if share >= 0.0 { "+" } else { "" };
    number::percent(share).map_or_else(String::new, |p| format!("{sign}{p}"))
}

fn classes(fit: &SizeFit, unicode: bool) -> Table {
    let c = &fit.complexity;
    let heads = ["class", "", ">AICc", ">error", ">left out", ">largest", "fit"];
    let note = "AICc above the best; relative errors of the fit, of sizes predicted from the others, of the largest one so predicted.";
    let mut t = Table::new("Classes", note, &heads);
    for class in &c.classes {
        let cells = vec![
            said::class_name(class.growth, unicode).to_owned(),
            if class.agrees { "agrees" } else { "" }.to_owned(),
            number::fixed(class.delta, 1).unwrap_or_default(),
            number::percent(class.error).unwrap_or_default(),
            number::percent(class.left_out_error).unwrap_or_default(),
            signed(class.largest_error),
            said::formula(class, fit.measure, unicode),
        ];
        t.row(cells, Vec::new());
        let numbers = [class.delta, class.error, class.left_out_error, class.largest_error].map(Some);
        t.values([None, None].into_iter().chain(numbers).chain([None]).collect());
    }
    t
}

fn sizes(fit: &SizeFit, unicode: bool) -> Table {
    let c = &fit.complexity;
    let amount = |value: f64| said::amount(value, fit.measure, unicode);
    let size = format!(">{}", fit.parameter);
    let heads = [size.as_str(), ">mean", ">s.d.", ">executions", ">slope", ">s.e."];
    let title = format!("Sizes, {}", said::measure_name(fit.measure));
    let note = "Slope from the size before, on logarithmic scales: where the start no longer counts, the power.";
    let mut t = Table::new(title, note, &heads);
    for p in &c.points {
        let slope = c.slopes.iter().find(|s| s.to == p.size);
        let error = slope.and_then(|s| s.std_error);
        let two = |v: f64| number::fixed(v, 2).unwrap_or_default();
        let cells = vec![
            said::size(p.size),
            amount(p.mean),
            p.std_dev.map_or_else(String::new, amount),
            p.runs.to_string(),
            slope.map_or_else(String::new, |s| two(s.slope)),
            error.map_or_else(String::new, two),
        ];
        t.row(cells, Vec::new());
        let runs = Some(f64::from(p.runs));
        t.values(vec![Some(p.size), Some(p.mean), p.std_dev, runs, slope.map(|s| s.slope), error]);
    }
    t
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fit::{figure, json};
    use tarebench_core::base::reading::Absent;
    use tarebench_core::fit::{GrowthMeasure, MissingSize, NoSizeFit};
    use tarebench_core::statistics::complexity::{SizePoint, analyse};

    pub(crate) fn fitted(time: impl Fn(f64) -> f64) -> SizeFit {
        let point = |i: i32| {
            let size = 8.0 * 4_f64.powi(i);
            SizePoint { size, runs: 5, mean: time(size), std_dev: Some(0.01 * time(size)) }
        };
        let points: Vec<SizePoint> = (0..8).map(point).collect();
        SizeFit {
            run: 3,
            program: "sort \u{1b}[31m{n}".to_owned(),
            parameter: "n".to_owned(),
            measure: GrowthMeasure::Pt,
            missing: vec![missing(1e6, "3 exit \u{1b}[31m records"), missing(2e6, "3 exit \u{1b}[31m records")],
            complexity: analyse(&points).unwrap(),
        }
    }

    fn missing(size: f64, lost: &str) -> MissingSize {
        MissingSize { size, why: Absent::Lost(lost.to_owned()) }
    }

    #[test]
    fn instructions_are_counts() {
        let fit = SizeFit { measure: GrowthMeasure::Instructions, ..fitted(|n| 2e6 + 10.0 * n * n) };
        let text = terminal(&fit, None, &Style::default());
        assert!(text.contains("The number of instructions grows as n²: 2.00e6 + 10.0 · n²."), "{text}");
        assert!(!text.contains(" ns") && !text.contains(" ms") && !text.contains(" s\n"), "{text}");
        let svg = figure::svg(&fit, "tare").unwrap();
        assert!(svg.contains("number of instructions") && !svg.contains("[ms]"), "{svg}");
        assert!(json::json(&fit, None).unwrap().contains(r#""measure":"instructions""#));
    }

    #[test]
    fn a_refusal_has_every_reason() {
        let few = |have, missing| NoSizeFit::Missing { parameter: "n".to_owned(), have, need: 5, missing };
        let none = few(0, vec![missing(10.0, "all"), missing(20.0, "all")]);
        assert_eq!(said::refusal(&none, GrowthMeasure::Pt), "no size has a known CPU time: lost: all");
        let some = few(4, vec![missing(10.0, "a"), missing(20.0, "b"), missing(30.0, "a")]);
        assert_eq!(
            said::refusal(&some, GrowthMeasure::Net),
            "only 4 sizes have a known net time, at least 5 are needed; n = 10, 30: lost: a; n = 20: lost: b"
        );
        let other = said::refusal(&NoSizeFit::NoParameter, GrowthMeasure::Pt);
        assert_eq!(other, NoSizeFit::NoParameter.to_string());
    }

    #[test]
    fn the_answer_its_classes_and_its_sizes() {
        let fit = fitted(|n| 1e6 + 10.0 * n * n);
        let text = terminal(&fit, Some(Growth::Quadratic), &Style::default());
        assert!(text.contains("The CPU time grows as n²: 1.00 ms + 10.0 ns · n²."), "{text}");
        assert!(text.contains("expected n²: the data agree with it"), "{text}");
        assert!(text.contains("free power  n^2.00"), "{text}");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("There is no CPU time of n = 1000000, 2000000: lost: 3 exit "), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.lines().filter(|l| l.contains('●')).count() >= 3, "{text}");
        let rejected = terminal(&fit, Some(Growth::Linear), &Style::default());
        assert!(rejected.contains("expected n: the data reject it; they agree with n²"), "{rejected}");
    }

    #[test]
    fn narrow_and_ascii_terminals_are_kept_to() {
        let fit = fitted(|n| 1e6 + 10.0 * n * n);
        for width in [40, 60, 80] {
            let style = Style { width, unicode: false, ..Style::default() };
            let text = terminal(&fit, Some(Growth::Cubic), &style);
            assert!(text.is_ascii(), "{text}");
            assert!(text.contains("n^2") && text.contains("o"), "{text}");
            assert!(text.lines().all(|l| tarebench_report::text::columns(l) <= width), "{text}");
        }
    }

    #[test]
    fn times_that_do_not_grow() {
        let text = terminal(&fitted(|_| 1e6), None, &Style::default());
        assert!(text.contains("does not grow with n"), "{text}");
    }

    #[test]
    fn the_figure_and_json() {
        let fit = fitted(|n| 1e6 + 10.0 * n * n);
        let svg = figure::svg(&fit, "tare").unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let classes: Vec<&str> = document.descendants().filter_map(|n| n.attribute("class")).collect();
        assert!(["points", "curve", "band"].iter().all(|c| classes.contains(c)), "{svg}");
        let text = json::json(&fit, Some(Growth::Linear)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((value["format"].as_str(), value["verdict"].as_str()), (Some("tare-fit"), Some("rejected")));
        assert_eq!(value["fit"]["complexity"]["agreeing"][0], "quadratic");
        assert!(!text.contains('\u{1b}'));
    }
}
