//! The sentences on growth.

use crate::kit::number;
use tarebench_core::fit::SizeFit;
use tarebench_core::sample::measure::Measure;
use tarebench_core::statistics::complexity::{ClassFit, ComplexityWarning, Expectation, PowerFit};
use tarebench_core::statistics::growth::Growth;

/// The class, in ASCII where the terminal shows nothing else.
pub fn class_name(growth: Growth, unicode: bool) -> &'static str {
    match growth {
        _ if unicode => growth.name(),
        Growth::Root => "sqrt n",
        Growth::Quadratic => "n^2",
        Growth::QuadraticLog => "n^2 log n",
        Growth::Cubic => "n^3",
        Growth::Exponential => "2^n",
        other => other.name(),
    }
}

pub(crate) fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Pt => "CPU time",
        Measure::Et => "elapsed time",
        Measure::Net => "net time",
    }
}

/// A size: whole numbers as they are, large ones with a power of ten.
pub(crate) fn size(value: f64) -> String {
    match value {
        v if v >= 1e7 => format!("{v:.3e}"),
        v if v == v.round() => format!("{v:.0}"),
        v => number::fixed(v, number::decimals_for(v, 4)).unwrap_or_default(),
    }
}

/// A time, also below a nanosecond: factors of steep classes are small.
pub(crate) fn factor(ns: f64, unicode: bool) -> String {
    match ns {
        0.0 => "0".to_owned(),
        v if v.abs() < 0.01 => format!("{v:.2e} ns"),
        v if v.abs() < 999.5 => format!("{} ns", number::fixed(v, number::decimals_for(v, 3)).unwrap_or_default()),
        v => number::time(v, None, unicode).unwrap_or_default(),
    }
}

/// `1.00 ms + 10.0 ns · n`.
pub(crate) fn formula(class: &ClassFit, unicode: bool) -> String {
    let constant = factor(class.constant, unicode);
    if class.growth == Growth::Constant {
        return constant;
    }
    let times = if unicode { '·' } else { '*' };
    let grown = format!("{} {times} {}", factor(class.factor, unicode), class_name(class.growth, unicode));
    if class.constant > 0.0 { format!("{constant} + {grown}") } else { grown }
}

fn list(classes: &[Growth], unicode: bool) -> String {
    let names: Vec<&str> = classes.iter().map(|g| class_name(*g, unicode)).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// The answer.
pub fn answer(fit: &SizeFit, unicode: bool) -> String {
    let c = &fit.complexity;
    let n = &fit.parameter;
    let with = if n == "n" { String::new() } else { format!(", with n = {n}") };
    let what = measure_name(fit.measure);
    let simplest = c.simplest();
    let best = c.classes.first().is_some_and(|class| class.growth == simplest);
    if simplest == Growth::Constant && !best {
        return format!(
            "The data do not tell whether the {what} grows with {n}: these classes agree: {}.",
            list(&c.agreeing, unicode)
        );
    }
    if simplest == Growth::Constant {
        return format!("The {what} does not grow with {n}, as far as these sizes tell.");
    }
    let formula = c.class(simplest).map(|class| formula(class, unicode)).unwrap_or_default();
    match c.agreeing.len() {
        1 => format!("The {what} grows as {}: {formula}{with}.", class_name(simplest, unicode)),
        _ => format!(
            "The {what} grows as {}; the data do not tell which. The simplest: {formula}{with}.",
            list(&c.agreeing, unicode)
        ),
    }
}

/// `n^1.02 [1.00, 1.05]`.
pub(crate) fn power(p: &PowerFit) -> String {
    let half = p.low.zip(p.high).map(|(low, high)| (high - low) / 2.0);
    let decimals = number::decimals(p.power, half).clamp(2, 4);
    let show = |v: f64| number::fixed(v, decimals).unwrap_or_default();
    let bound = |v: Option<f64>, open: &str| v.map_or(open.to_owned(), show);
    let interval = match (p.low, p.high) {
        (None, None) => "no interval".to_owned(),
        (low, high) => format!("[{}, {}]", bound(low, "below 0.02"), bound(high, "above 5")),
    };
    format!("n^{} {interval}", show(p.power))
}

/// What the data say of the expected class.
pub fn expectation(fit: &SizeFit, expected: Growth, unicode: bool) -> String {
    let name = class_name(expected, unicode);
    let found = list(&fit.complexity.agreeing, unicode);
    let no_class = fit.complexity.warnings.contains(&ComplexityWarning::NoClass);
    match fit.complexity.expects(expected) {
        Expectation::Holds => format!("expected {name}: the data agree with it"),
        Expectation::Rejected => format!("expected {name}: the data reject it; they agree with {found}"),
        Expectation::Open if no_class => format!("expected {name}: the data cannot tell; no class describes them well"),
        Expectation::Open => format!("expected {name}: the data cannot tell it from the others of {found}"),
    }
}

/// What makes the answer less certain.
pub(crate) fn warning(w: &ComplexityWarning, unicode: bool) -> String {
    match w {
        ComplexityWarning::FewSizes { sizes, enough } => {
            format!("There are {sizes} sizes only: with fewer than {enough} the answer may be by chance.")
        }
        ComplexityWarning::NarrowRange { span, enough } => format!(
            "The largest size is only {} times the smallest: classes look alike over less than {} times.",
            size(*span),
            size(*enough)
        ),
        ComplexityWarning::NoClass => {
            "A free power describes the times better than every class: other things than the size change \
             with it (caches, memory), or the program is in none of these classes."
                .to_owned()
        }
        ComplexityWarning::LeftOutDisagrees { growth } => format!(
            "By AICc alone {} would not agree; it predicts sizes that were left out best, so that it is not ruled out.",
            class_name(*growth, unicode)
        ),
    }
}
