//! The sentences on growth.

use tarebench_core::fit::{GrowthMeasure, MissingSize, NoSizeFit, SizeFit};
use tarebench_core::statistics::complexity::{
    ClassFit, Complexity, ComplexityWarning, Expectation, GrowthStep, PowerFit,
};
use tarebench_core::statistics::growth::Growth;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;

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

/// A size, as it was given.
pub(crate) fn size(value: f64) -> String {
    if value >= 1e15 { format!("{value:e}") } else { value.to_string() }
}

/// `1.00 ms + 10.0 ns × n`; `1.00 ms + 10.0 ns × n, from 31623 on 1.00 ms + 13.0 ns × n` of a class that agrees with a step.
pub(crate) fn formula(class: &ClassFit, measure: GrowthMeasure) -> Cell {
    let line = |constant, factor| formula_of(class.growth, [constant, factor], measure);
    match class.step.as_ref().filter(|step| step.agrees) {
        None => line(class.constant, class.factor),
        Some(step) => {
            let below = line(step.constant, step.factor);
            below.and(format!(", from {} on ", size(step.from))).and(line(step.constant, step.factor * step.ratio))
        }
    }
}

fn formula_of(growth: Growth, [constant, factor]: [f64; 2], measure: GrowthMeasure) -> Cell {
    let unit = match measure {
        GrowthMeasure::Pt | GrowthMeasure::Et | GrowthMeasure::Net => Unit::FineTime,
        GrowthMeasure::Instructions => Unit::Plain,
    };
    let fixed = Cell::of(unit, constant);
    if growth == Growth::Constant {
        return Cell::words([fixed]);
    }
    let before = if constant > 0.0 { fixed.and(" + ") } else { Cell::empty() };
    before.and(Cell::of(unit, factor)).and(format!(" × {}", growth.name()))
}

/// `n or n log n`; `n, with a step, or …` of classes that agree with one.
fn list(c: &Complexity) -> String {
    let step = |g: Growth| if c.step(g).is_some() { " with a step" } else { "" };
    let names: Vec<String> = c.agreeing.iter().map(|g| format!("{}{}", g.name(), step(*g))).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// `, with a step of 1.30 between 14678 and 31623`.
fn stepped(step: &GrowthStep) -> Cell {
    let between = format!(" between {} and {}", size(step.after), size(step.from));
    Cell::text(", with a step of ").and(Cell::of(Unit::Ratio, step.ratio)).and(between)
}

/// Why a class is named with a step, and what it may be.
pub(crate) fn why_step(fit: &SizeFit) -> Option<String> {
    fit.complexity.step(fit.complexity.simplest()).map(|_| {
        "No class describes the data without a step, from which on each unit of work takes longer: the data may no longer fit \
         into a cache there, or the program may take another way."
            .to_owned()
    })
}

pub fn answer(fit: &SizeFit) -> Cell {
    let c = &fit.complexity;
    let n = Cell::foreign(&fit.parameter);
    let what = measure_name(fit.measure);
    let agreeing = list(c);
    let simplest = c.simplest();
    let best = c.classes.first().is_some_and(|class| class.growth == simplest);
    if simplest == Growth::Constant && !best {
        let said = Cell::text(format!("The data do not tell whether the {what} grows with ")).and(n);
        return said.and(format!(": these classes agree: {agreeing}."));
    }
    if simplest == Growth::Constant {
        return Cell::text(format!("The {what} does not grow with ")).and(n).and(", as far as these sizes tell.");
    }
    let step = c.step(simplest).map(stepped).into_iter();
    let said = match c.agreeing.len() {
        1 => step.fold(Cell::text(format!("The {what} grows as {}", simplest.name())), Cell::and).and(": "),
        _ => format!("The {what} grows as {agreeing}; the data do not tell which. The simplest: ").into(),
    };
    let said = c.class(simplest).map(|class| formula(class, fit.measure)).into_iter().fold(said, Cell::and);
    if fit.parameter == "n" { said.and(".") } else { said.and(", with n = ").and(n).and(".") }
}

/// `n^1.02 [1.00, 1.05]`.
pub(crate) fn power(p: &PowerFit) -> Cell {
    let power = Figure::new(Unit::Ratio, p.power);
    let said = |power: Figure, more: Cell| Cell::text("n^").and(power).and(more);
    let one_bound = |bound: &str, value: f64| Cell::text(format!(", at {bound} ")).and(Cell::of(Unit::Ratio, value));
    match (p.low, p.high) {
        (Some(low), Some(high)) => said(power.with_interval(&Ok(Interval { low, high, level: 0.95 })), Cell::empty()),
        (Some(low), None) => said(power, one_bound("least", low)),
        (None, Some(high)) => said(power, one_bound("most", high)),
        (None, None) => said(power, ", no interval".into()),
    }
}

/// What the data say of the expected class.
pub fn expectation(fit: &SizeFit, expected: Growth) -> Cell {
    let name = expected.name();
    let found = list(&fit.complexity);
    let no_class = fit.complexity.warnings.contains(&ComplexityWarning::NoClass);
    let said = Cell::text(match fit.complexity.expects(expected) {
        Expectation::Holds => format!("expected {name}: the data agree with it"),
        Expectation::Rejected => format!("expected {name}: the data reject it; they agree with {found}"),
        Expectation::Open if no_class => format!("expected {name}: the data cannot tell; no class describes them well"),
        Expectation::Open if !fit.complexity.agreeing.contains(&expected) => {
            format!("expected {name}: the data cannot tell; they agree with it only with a step, and with {found}")
        }
        Expectation::Open => format!("expected {name}: the data cannot tell it from the others of {found}"),
    });
    fit.complexity.step(expected).map(stepped).into_iter().fold(said, Cell::and)
}

/// What makes the answer less certain.
pub(crate) fn warning(w: &ComplexityWarning) -> String {
    match w {
        ComplexityWarning::FewSizes { sizes, enough } => {
            format!("There are {sizes} sizes only: with fewer than {enough} the answer may be by chance.")
        }
        ComplexityWarning::NarrowRange { span, enough } => format!(
            "The largest size is only {} times the smallest: classes look alike over less than {} times.",
            number::count(*span).unwrap_or_default(),
            number::count(*enough).unwrap_or_default()
        ),
        ComplexityWarning::NoClass => {
            "No class describes the data well, with one step or without: other things may change with the size (caches, \
             memory), or the program is in none of these classes."
                .to_owned()
        }
        ComplexityWarning::LeftOutDisagrees { growth } => format!(
            "By AICc alone {} would not agree; it predicts sizes that were left out best, so that it is not ruled out.",
            growth.name()
        ),
    }
}
