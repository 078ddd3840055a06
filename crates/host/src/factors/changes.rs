//! What changed between two readings of the factors.

use crate::factors::spec::Compare;
use crate::factors::table::find;
use tarebench_core::machine::data::Factor;
use tarebench_core::run::notes::FactorChange;

/// What changed from one reading of the factors to a later one, a sentence each, in the table's order: a governor, a
/// throttle count, swapping, a step of the clock, steal time. Factors without a value in both are omitted.
pub fn changes(before: &[Factor], after: &[Factor]) -> Vec<FactorChange> {
    let pair = |a: &Factor| {
        let b = before.iter().find(|b| b.name == a.name)?;
        change(&a.name, b.value.as_deref()?, a.value.as_deref()?)
    };
    after.iter().filter_map(pair).collect()
}

/// The factors that describe a state of the machine, which two readings have in common at any two times if nobody changes it; not those
/// that count something, or that change all the time.
pub fn states(factors: &[Factor]) -> Vec<Factor> {
    let is_state = |f: &&Factor| find(&f.name).is_some_and(|row| row.compare == Compare::Exact);
    factors.iter().filter(is_state).cloned().collect()
}

fn change(name: &str, before: &str, after: &str) -> Option<FactorChange> {
    let (what, count) = words(name, before, after)?;
    Some(FactorChange { factor: name.to_owned(), what, count, between: None })
}

/// What changed, with how much was counted.
fn words(name: &str, before: &str, after: &str) -> Option<(String, Option<i64>)> {
    let rule = find(name).map_or(Compare::Exact, |f| f.compare);
    let numbers = || Some((before.parse::<i64>().ok()?, after.parse::<i64>().ok()?));
    match rule {
        Compare::Never => None,
        Compare::Exact if before == after => None,
        Compare::Exact => Some((format!("{name}: {} before, {} after", shown(before), shown(after)), None)),
        Compare::Count(what) => {
            let (b, a) = numbers()?;
            let n = a.saturating_sub(b);
            (n > 0).then(|| (format!("{name}: {n} {what}"), Some(n)))
        }
        Compare::Span(what, limit) => {
            let (b, a) = numbers()?;
            let d = a.saturating_sub(b);
            let over = d.unsigned_abs() > limit.unsigned_abs();
            over.then(|| (format!("{name}: {what} by {:+.3} s", d as f64 / 1e9), None))
        }
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::machine::data::Standing;

    fn factor(name: &str, value: &str) -> Factor {
        Factor { value: Some(value.to_owned()), ..Factor::new(0, name, Standing::Held, "") }
    }

    #[test]
    fn tells_what_matters_and_nothing_else() {
        let before = [
            factor("governor", "performance"),
            factor("throttling", "3"),
            factor("swap", "100"),
            factor("clock-step", "1000000000"),
            factor("steal", "40"),
            factor("kernel", "6.1"),
            factor("daemons", ""),
            factor("kernel-age", "2024-01-01"),
        ];
        assert!(changes(&before, &before).is_empty());
        let after = [
            factor("governor", "powersave"),
            factor("throttling", "5"),
            factor("swap", "102"),
            factor("clock-step", "1500000000"),
            factor("steal", "41"),
            factor("kernel", "6.1"),
            factor("daemons", "cron"),
            factor("kernel-age", "2024-01-02"),
            factor("irqbalance", "running"),
        ];
        let expected = [
            "governor: performance before, powersave after",
            "throttling: 2 more times slowed down for heat",
            "swap: 2 pages were swapped",
            "clock-step: the clock was stepped by +0.500 s",
            "steal: 1 ms of CPU time were stolen by the hypervisor",
            "daemons: none before, cron after",
        ];
        let found = changes(&before, &after);
        assert_eq!(found.iter().map(|c| c.what.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(found.iter().map(|c| c.count).collect::<Vec<_>>(), [None, Some(2), Some(2), None, Some(1), None]);
    }

    #[test]
    fn counts_and_loads_are_no_states() {
        let names =
            ["governor", "throttling", "turbo", "swap", "clock-step", "steal", "smt", "kernel-age", "elsewhere"];
        let found = states(&names.map(|name| factor(name, "1")));
        let found: Vec<&str> = found.iter().map(|f| f.name.as_str()).collect();
        // Those three are part of a machine's fingerprint.
        assert_eq!(found, ["governor", "turbo", "smt"]);
    }

    #[test]
    fn what_cannot_be_compared_is_no_change() {
        let odd = [factor("throttling", "x"), factor("swap", "7")];
        let later = [factor("throttling", "9"), Factor::new(0, "swap", Standing::Held, "")];
        assert!(changes(&odd, &later).is_empty());
        // A slew that two readings cannot distinguish from the time between them.
        assert!(changes(&[factor("clock-step", "5")], &[factor("clock-step", "900000")]).is_empty());
    }
}
