//! Growth as a sheet: the answer, the classes, the sizes, and the figure of times or counts over sizes.

use crate::fit::said;
use tarebench_core::fit::{GrowthMeasure, SizeFit};
use tarebench_core::statistics::complexity::Expectation;
use tarebench_core::statistics::growth::Growth;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Item, Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::style::Paint;
use tarebench_report::svg::curves;
use tarebench_report::table::{Column, Table};
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageKind, PageQuantity, PageScale};

/// Of a run; with what the data say of an expected class.
pub fn fit(fit: &SizeFit, expected: Option<Growth>) -> Sheet {
    let c = &fit.complexity;
    let tested = expected.map(|expected| {
        said::expectation(fit, expected).paint(match c.expects(expected) {
            Expectation::Holds => Paint::Good,
            Expectation::Rejected => Paint::Bad,
            Expectation::Open => Paint::Warn,
        })
    });
    let program = SheetFact::new("program", Cell::foreign(&fit.program));
    let doubts = said::why_step(fit).into_iter().chain(c.warnings.iter().map(said::warning)).chain(said::missing(fit));
    let items = [Item::Table(classes(fit)), Item::Table(sizes(fit)), Item::Figure(figure(fit))];
    Sheet {
        answers: [said::answer(fit).paint(Paint::Strong)].into_iter().chain(tested).collect(),
        facts: [program]
            .into_iter()
            .chain(c.power.as_ref().map(|p| SheetFact::new("free power", said::power(p))))
            .collect(),
        remarks: doubts.map(SheetRemark::warning).collect(),
        sections: vec![Section::result(items)],
        ..Sheet::new(PageKind::Growth, "Growth")
    }
}

fn classes(fit: &SizeFit) -> Table {
    let heads = ["class", "", ">AICc", ">error", ">left out", ">largest", "fit"];
    let note = "AICc above the best; relative errors of the fit, of sizes predicted from the others, of the largest one so predicted.";
    let mut table = Table::new("Classes", note, &heads);
    for class in &fit.complexity.classes {
        let step = class.step.as_ref().filter(|step| step.agrees);
        let (agrees, delta, error) = match step {
            Some(step) => ("with a step", step.delta, step.error),
            None if class.agrees => ("agrees", class.delta, class.error),
            None => ("", class.delta, class.error),
        };
        let cells = [
            class.growth.name().into(),
            agrees.into(),
            Cell::of(Unit::Plain, delta),
            Cell::of(Unit::Share, error),
            Cell::of(Unit::Share, step.is_none().then_some(class.left_out_error)),
            Cell::of(Unit::Change, step.is_none().then_some(1.0 + class.largest_error)),
            said::formula(class, fit.measure),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn sizes(fit: &SizeFit) -> Table {
    let c = &fit.complexity;
    let size = Column { right: true, ..Column::new(Cell::foreign(&fit.parameter)) };
    let columns = [size].into_iter().chain(["mean ± s.d.", ">executions", ">slope ± s.e."].map(Column::from));
    let note = "Slope from the size before, on logarithmic scales: where the start no longer counts, the power.";
    let mut table = Table::of(format!("Sizes, {}", said::measure_name(fit.measure)), note, columns);
    for p in &c.points {
        let slope = c.slopes.iter().find(|s| s.to == p.size);
        let slope = slope.map(|s| Figure::new(Unit::Ratio, s.slope).with_spread(s.std_error));
        let cells = [
            said::size(p.size).into(),
            Figure::new(unit(fit.measure), p.mean).with_spread(p.std_dev).into(),
            Cell::count(p.runs),
            slope.map_or_else(Cell::empty, Cell::figure),
        ];
        table.row(cells, Vec::new());
    }
    table
}

fn unit(measure: GrowthMeasure) -> Unit {
    match measure {
        GrowthMeasure::Pt | GrowthMeasure::Et | GrowthMeasure::Net => Unit::Time,
        GrowthMeasure::Instructions => Unit::Plain,
    }
}

/// Means over sizes and the curve of the simplest class that agrees, with its 95% band.
fn figure(fit: &SizeFit) -> PageFigure {
    let c = &fit.complexity;
    let quantity = match fit.measure {
        GrowthMeasure::Pt | GrowthMeasure::Et | GrowthMeasure::Net => PageQuantity::Time,
        GrowthMeasure::Instructions => PageQuantity::Count,
    };
    let axis = |title: &str, quantity| PageAxis::scaled(title, quantity, &[PageScale::Log, PageScale::Linear]);
    let curve = PageCurve {
        title: c.class(c.simplest()).map(|class| said::formula(class, fit.measure).plain()).unwrap_or_default(),
        look: 0,
        thin: false,
        join: Join::Straight,
        x: c.curve.iter().map(|p| p.size).collect(),
        y: c.curve.iter().map(|p| p.time).collect(),
        band: Some(Band {
            title: "95% band of the curve",
            low: c.curve.iter().map(|p| Some(p.low)).collect(),
            high: c.curve.iter().map(|p| Some(p.high)).collect(),
        }),
    };
    let measured = PageCurve {
        title: "measured means".to_owned(),
        look: 1,
        thin: false,
        join: Join::Points,
        x: c.points.iter().map(|p| p.size).collect(),
        y: c.points.iter().map(|p| p.mean).collect(),
        band: None,
    };
    PageFigure {
        id: "growth".to_owned(),
        title: fit.program.clone(),
        note: said::answer(fit).plain(),
        x: axis(&fit.parameter, PageQuantity::Count),
        y: axis(said::measure_name(fit.measure), quantity),
        curves: vec![curve, measured],
    }
}

/// The figure as SVG; `below` is its foot. `None` if nothing can be drawn.
pub fn svg(fit: &SizeFit, below: &str) -> Option<String> {
    curves::figure(&figure(fit), below, 0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fit::json;
    use tarebench_core::base::reading::Absent;
    use tarebench_core::fit::{GrowthMeasure, MissingSize, NoSizeFit};
    use tarebench_core::statistics::complexity::{SizePoint, analyse};
    use tarebench_report::style::Style;
    use tarebench_report::terminal::sheet_text;

    fn terminal(of: &SizeFit, expected: Option<Growth>, style: &Style) -> String {
        sheet_text(&fit(of, expected), style)
    }

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
        assert!(text.contains("The number of instructions grows as n²: 2000000 + 10.0 × n²."), "{text}");
        assert!(!text.contains(" ns") && !text.contains(" ms") && !text.contains(" s\n"), "{text}");
        let svg = super::svg(&fit, "tare").unwrap();
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
        assert!(text.contains("The CPU time grows as n²: 1.00 ms + 10.0 ns × n²."), "{text}");
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
    fn a_step_is_part_of_the_answer() {
        let fit = fitted(|n| 1e5 + 100.0 * n * if n > 5_000.0 { 1.3 } else { 1.0 });
        let text = terminal(&fit, Some(Growth::Linear), &Style::default());
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let says = "The CPU time grows as n, with a step of 1.30 between 2048 and 8192: 100 µs + 100 ns × n, from 8192 on \
                    100 µs + 130 ns × n.";
        assert!(flat.contains(says), "{text}");
        let says = "expected n: the data agree with it, with a step of 1.30 between 2048 and 8192";
        assert!(flat.contains(says), "{text}");
        assert!(flat.contains("the data may no longer fit into a cache there"), "{text}");
        let rejected = terminal(&fit, Some(Growth::Quadratic), &Style::default());
        assert!(rejected.contains("expected n²: the data reject it; they agree with n with a step"), "{rejected}");
        let json: serde_json::Value = serde_json::from_str(&json::json(&fit, Some(Growth::Linear)).unwrap()).unwrap();
        assert_eq!(json["verdict"], "holds");
    }

    #[test]
    fn narrow_and_ascii_terminals_are_kept_to() {
        let fit = fitted(|n| 1e6 + 10.0 * n * n);
        for width in [40, 60, 80] {
            let style = Style { width, unicode: false, ..Style::default() };
            let text = terminal(&fit, Some(Growth::Cubic), &style);
            assert!(text.is_ascii(), "{text}");
            assert!(text.contains("n^2") && text.contains("o"), "{text}");
            // No formula is cut.
            assert!(text.contains("1.05 ms + 1.03 ns"), "{text}");
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
        let svg = super::svg(&fit, "tare").unwrap();
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
