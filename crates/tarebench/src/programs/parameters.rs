//! Parameters of programs: their values, their combinations, and their substitution in texts.

use std::collections::BTreeMap;
use tarebench_core::base::name::Name;

/// Maximum number of programs from parameters, against typing errors.
pub const MOST_PROGRAMS: usize = 10_000;

/// A parameter's values of one program, by name.
pub type ParameterValues = BTreeMap<String, String>;

/// Why parameters make no programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Two parameters have this name.
    #[error("the parameter `{0}` is given twice")]
    Twice(String),
    /// An empty name, or one with braces.
    #[error("`{0}` is not a valid parameter name")]
    BadName(String),
    /// Too many programs.
    #[error("more than {MOST_PROGRAMS} combinations of parameters")]
    TooManyCombinations,
    /// A scan with so many decimals.
    #[error("parameter scan: {0} decimals, expected at most {MOST_DECIMALS}")]
    Decimals(usize),
    /// A scan without numbers.
    #[error("parameter scan: from {min} to {max} by {step}: expected MIN ≤ MAX and a positive step")]
    BadScan {
        /// The first number.
        min: String,
        /// The largest number.
        max: String,
        /// The difference of two numbers.
        step: String,
    },
    /// A scan with too many numbers.
    #[error("parameter scan: more than {MOST_PROGRAMS} values")]
    TooManyValues,
    /// A bound or a step of a scan.
    #[error("parameter scan: `{0}` is not a number such as 5 or 0.25")]
    NotANumber(String),
}

/// The values of a parameter, as they are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterRange {
    /// These.
    Values(Vec<String>),
    /// Decimal numbers.
    Scan {
        /// The first number.
        min: String,
        /// The largest number.
        max: String,
        /// The difference of two numbers; `None`: 1.
        step: Option<String>,
    },
}

/// A parameter: each of its values makes a program, in which `{NAME}` is replaced by the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Not empty, without braces.
    pub name: String,
    /// Its values.
    pub range: ParameterRange,
}

impl Parameter {
    fn values(&self) -> Result<Vec<String>, ParameterError> {
        match &self.range {
            ParameterRange::Values(values) => Ok(values.clone()),
            ParameterRange::Scan { min, max, step } => scan_values(min, max, step.as_deref()),
        }
    }
}

/// All combinations of the parameters' values, the first parameter varying fastest as in hyperfine; one empty combination
/// without parameters.
///
/// # Errors
/// [`ParameterError`].
pub fn combinations(parameters: &[Parameter]) -> Result<Vec<ParameterValues>, ParameterError> {
    let mut all = vec![ParameterValues::new()];
    for parameter in parameters {
        let (name, values) = (&parameter.name, parameter.values()?);
        if name.is_empty() || name.contains(['{', '}']) {
            return Err(ParameterError::BadName(name.clone()));
        }
        if all.iter().any(|c| c.contains_key(name)) {
            return Err(ParameterError::Twice(name.clone()));
        }
        if all.len().saturating_mul(values.len()) > MOST_PROGRAMS {
            return Err(ParameterError::TooManyCombinations);
        }
        let with = |c: &ParameterValues, v: &String| {
            let mut c = c.clone();
            c.insert(name.clone(), v.clone());
            c
        };
        all = values.iter().flat_map(|v| all.iter().map(move |c| (c, v))).map(|(c, v)| with(c, v)).collect();
    }
    Ok(all)
}

/// Maximum decimals of a scanned number: 10^18 of its units still fit beside 20 digits before the point.
const MOST_DECIMALS: usize = 18;

/// Numbers from `min` to `max`, computed in units of the finest decimal given, so that 0.1 steps do not drift.
fn scan_values(min: &str, max: &str, step: Option<&str>) -> Result<Vec<String>, ParameterError> {
    let step = step.unwrap_or("1");
    let decimals = |t: &str| t.split_once('.').map_or(0, |(_, d)| d.len());
    let places = [min, max, step].into_iter().map(decimals).max().unwrap_or(0);
    if places > MOST_DECIMALS {
        return Err(ParameterError::Decimals(places));
    }
    let (min_n, max_n, step_n) = (scaled(min, places)?, scaled(max, places)?, scaled(step, places)?);
    if step_n <= 0 || min_n > max_n {
        let [min, max, step] = [min, max, step].map(str::to_owned);
        return Err(ParameterError::BadScan { min, max, step });
    }
    if (max_n - min_n) / step_n >= MOST_PROGRAMS as i128 {
        return Err(ParameterError::TooManyValues);
    }
    let show = |n: i128| {
        let unit = 10i128.pow(places as u32);
        let sign = if n < 0 { "-" } else { "" };
        let n = n.abs();
        if places == 0 { format!("{sign}{n}") } else { format!("{sign}{}.{:0places$}", n / unit, n % unit) }
    };
    Ok((0..=(max_n - min_n) / step_n).map(|i| show(min_n + i * step_n)).collect())
}

/// A decimal number in units of 10^-`places`.
fn scaled(text: &str, places: usize) -> Result<i128, ParameterError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let is_number = !whole.is_empty() && whole.len() <= 18 && all_digits(whole) && all_digits(fraction);
    let n = format!("{whole}{fraction:0<places$}").parse::<i128>().ok().filter(|_| is_number);
    let n = n.ok_or_else(|| ParameterError::NotANumber(text.to_owned()))?;
    Ok(if text.starts_with('-') { -n } else { n })
}

/// Replaces `{NAME}` by the parameters' values, in one pass: `{…}` in a value is not replaced.
pub(crate) fn substitute(text: &str, values: &ParameterValues) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let value = after.find('}').and_then(|close| Some((values.get(&after[..close])?, &after[close + 1..])));
        match value {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The same for a word of any bytes.
pub(crate) fn substitute_bytes(word: &Name, values: &ParameterValues) -> Name {
    match std::str::from_utf8(word.as_bytes()) {
        Ok(text) => Name::new(substitute(text, values).into_bytes()),
        Err(_) => word.clone(),
    }
}

/// A text with its parameters, and after it those that it does not show: `make (branch = a)`.
pub(crate) fn label(template: &str, values: &ParameterValues) -> String {
    let unused: Vec<String> = values
        .iter()
        .filter(|(name, _)| !template.contains(&format!("{{{name}}}")))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let text = substitute(template, values);
    if unused.is_empty() { text } else { format!("{text} ({})", unused.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(name: &str, values: &[&str]) -> Parameter {
        let values = values.iter().map(|v| (*v).to_owned()).collect();
        Parameter { name: name.to_owned(), range: ParameterRange::Values(values) }
    }

    #[test]
    fn scans_do_not_drift() {
        assert_eq!(scan_values("1", "3", None).unwrap(), ["1", "2", "3"]);
        assert_eq!(scan_values("0", "0.3", Some("0.1")).unwrap(), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(scan_values("-1", "1", Some("0.5")).unwrap(), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        let thirds = ["0.0000000000", "0.3333333333", "0.6666666666", "0.9999999999"];
        assert_eq!(scan_values("0", "1", Some("0.3333333333")).unwrap(), thirds);
        for (a, b, s) in [
            ("3", "1", None),
            ("1", "2", Some("0")),
            ("x", "2", None),
            ("--1", "2", None),
            ("1.+5", "2", None),
            ("0", "1000000", None),
            ("0", "1", Some("0.0000000000000000001")),
            ("0", "99999999999999999999", None),
        ] {
            assert!(scan_values(a, b, s).is_err(), "{a} {b}");
        }
    }

    #[test]
    fn values_are_put_in_once() {
        let values = ParameterValues::from([("a".to_owned(), "{b}".to_owned()), ("b".to_owned(), "2".to_owned())]);
        assert_eq!(substitute("x{a}y{b}{c}{", &values), "x{b}y2{c}{");
    }

    #[test]
    fn the_first_list_varies_fastest() {
        let all = combinations(&[list("a", &["1", "2"]), list("b", &["x", "y"])]).unwrap();
        let all: Vec<String> = all.iter().map(|v| format!("{}{}", v["a"], v["b"])).collect();
        assert_eq!(all, ["1x", "2x", "1y", "2y"]);
    }

    #[test]
    fn a_parameter_has_a_name() {
        for name in ["", "{a}", "}"] {
            assert_eq!(combinations(&[list(name, &["a", "b"])]), Err(ParameterError::BadName(name.to_owned())));
        }
    }

    #[test]
    fn labels_show_every_parameter() {
        let values = ParameterValues::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
        assert_eq!(label("x {a}", &values), "x 1 (b = 2)");
        assert_eq!(label("x", &values), "x (a = 1, b = 2)");
        assert_eq!(label("{a}{b}", &values), "12");
    }
}
