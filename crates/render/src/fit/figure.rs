//! The figure of growth: times or counts over sizes, with the curve of the simplest class that agrees.

use crate::fit::said;
use tarebench_core::fit::{GrowthMeasure, SizeFit};
use tarebench_report::svg::curves;
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageScale};

/// Means over sizes and the curve with its 95% band, on logarithmic scales.
pub(crate) fn page_figure(fit: &SizeFit) -> PageFigure {
    let c = &fit.complexity;
    let axis = |title: String, quantity| PageAxis {
        title,
        quantity,
        scales: vec![PageScale::Log, PageScale::Linear],
        floor: None,
        shown: None,
    };
    let curve = PageCurve {
        title: c.class(c.simplest()).map(|class| said::formula(class, fit.measure, true)).unwrap_or_default(),
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
        note: said::answer(fit, true),
        x: axis(fit.parameter.clone(), PageQuantity::Count),
        y: axis(said::measure_name(fit.measure).to_owned(), quantity(fit.measure)),
        curves: vec![curve, measured],
    }
}

fn quantity(measure: GrowthMeasure) -> PageQuantity {
    match measure {
        GrowthMeasure::Pt | GrowthMeasure::Et | GrowthMeasure::Net => PageQuantity::Time,
        GrowthMeasure::Instructions => PageQuantity::Count,
    }
}

/// The figure as SVG; `below` is its foot. `None` if nothing can be drawn.
pub fn svg(fit: &SizeFit, below: &str) -> Option<String> {
    curves::figure(&page_figure(fit), below, 0)
}
