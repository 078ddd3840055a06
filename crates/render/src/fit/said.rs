//! The sentences on growth.

use tarebench_core::fit::{GrowthMeasure, MissingSize, NoSizeFit, SizeFit};
use tarebench_core::statistics::complexity::{ClassFit, ComplexityWarning, Expectation, PowerFit};
use tarebench_core::statistics::growth::Growth;
use tarebench_report::number;

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

pub(crate) fn measure_name(measure: GrowthMeasure) -> &'static str {
    match measure {
        GrowthMeasure::Pt => "CPU time",
        GrowthMeasure::Et => "elapsed time",
        GrowthMeasure::Net => "net time",
        GrowthMeasure::Instructions => "number of instructions",
    }
}

/// Why sizes have no value, each reason once, with its sizes: `n = 300, 1000: not known: …`.
fn reasons(parameter: &str, missing: &[MissingSize]) -> Vec<String> {
    let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
    for m in missing {
        let why = m.why.to_string();
        match by_reason.iter_mut().find(|(known, _)| *known == why) {
            Some((_, sizes)) => sizes.push(size(m.size)),
            None => by_reason.push((why, vec![size(m.size)])),
        }
    }
    by_reason.into_iter().map(|(why, sizes)| format!("{parameter} = {}: {why}", sizes.join(", "))).collect()
}

/// Which sizes have no value, and why; a sentence for each reason.
pub(crate) fn missing(fit: &SizeFit) -> Vec<String> {
    let what = measure_name(fit.measure);
    let all = reasons(&fit.parameter, &fit.missing).into_iter();
    all.map(|reason| format!("There is no {what} of {reason}.")).collect()
}

/// Why nothing is said of the growth, without a period.
pub fn refusal(e: &NoSizeFit, measure: GrowthMeasure) -> String {
    let NoSizeFit::Missing { parameter, have, need, missing } = e else { return e.to_string() };
    let what = measure_name(measure);
    match (have, missing.as_slice()) {
        (0, [first, rest @ ..]) if rest.iter().all(|m| m.why == first.why) => {
            format!("no size has a known {what}: {}", first.why)
        }
        _ => {
            let reasons = reasons(parameter, missing).join("; ");
            format!("only {have} sizes have a known {what}, at least {need} are needed; {reasons}")
        }
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

/// A time, or a number of instructions.
pub(crate) fn amount(value: f64, measure: GrowthMeasure, unicode: bool) -> String {
    match measure {
        GrowthMeasure::Pt | GrowthMeasure::Et | GrowthMeasure::Net => {
            number::time(value, None, unicode).unwrap_or_default()
        }
        GrowthMeasure::Instructions => count(value),
    }
}

/// Three significant digits.
fn count(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if (0.01..1e6).contains(&v) => number::fixed(value, number::decimals_for(v, 3)).unwrap_or_default(),
        _ => format!("{value:.2e}"),
    }
}

/// The same, also below a nanosecond: factors of steep classes are small.
fn factor(ns: f64, measure: GrowthMeasure, unicode: bool) -> String {
    if measure == GrowthMeasure::Instructions {
        return count(ns);
    }
    match ns {
        0.0 => "0".to_owned(),
        v if v.abs() < 0.01 => format!("{v:.2e} ns"),
        v if v.abs() < 999.5 => format!("{} ns", number::fixed(v, number::decimals_for(v, 3)).unwrap_or_default()),
        v => number::time(v, None, unicode).unwrap_or_default(),
    }
}

/// `1.00 ms + 10.0 ns · n`.
pub(crate) fn formula(class: &ClassFit, measure: GrowthMeasure, unicode: bool) -> String {
    let constant = factor(class.constant, measure, unicode);
    if class.growth == Growth::Constant {
        return constant;
    }
    let times = if unicode { '·' } else { '*' };
    let factor = factor(class.factor, measure, unicode);
    let grown = format!("{factor} {times} {}", class_name(class.growth, unicode));
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
    let formula = c.class(simplest).map(|class| formula(class, fit.measure, unicode)).unwrap_or_default();
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
            "A free power describes the data better than every class: other things than the size change \
             with it (caches, memory), or the program is in none of these classes."
                .to_owned()
        }
        ComplexityWarning::LeftOutDisagrees { growth } => format!(
            "By AICc alone {} would not agree; it predicts sizes that were left out best, so that it is not ruled out.",
            class_name(*growth, unicode)
        ),
    }
}
