//! Files that users write, in TOML: their text, and what is wrong in it, and where.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest file that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// What is wrong in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFileError {
    /// Name of the file, as messages give it.
    pub file: String,
    /// Line and column, from 1.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl fmt::Display for WrittenFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for WrittenFileError {}

/// What is wrong, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub struct BadWritten {
    /// Position in bytes.
    pub at: Option<usize>,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl BadWritten {
    /// Without a hint.
    pub fn new(at: Option<usize>, what: impl Into<String>) -> BadWritten {
        BadWritten { at, what: what.into(), hint: None }
    }

    /// As the parser of TOML says it, with the key that was probably meant.
    pub fn of_toml(e: &toml::de::Error) -> BadWritten {
        // Some messages of the parser have several lines.
        let mut what = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(key) = nearest(&what) {
            what += &format!("; did you mean `{key}`?");
        }
        BadWritten { at: e.span().map(|s| s.start), what, hint: None }
    }

    /// With the name of the file and the line.
    pub fn within(self, file: &Path, text: &str) -> WrittenFileError {
        let place = self.at.map(|at| position(text, at));
        WrittenFileError { file: file.display().to_string(), place, what: self.what, hint: self.hint }
    }
}

/// The text of a file.
///
/// # Errors
/// It cannot be read, is too long, or is not UTF-8.
pub fn read_text(file: &Path) -> Result<String, WrittenFileError> {
    let failed = |what: String| WrittenFileError { file: file.display().to_string(), place: None, what, hint: None };
    let content = File::open(file).map_err(|e| failed(e.to_string()))?;
    let mut bytes = Vec::new();
    // A device has no length, and no end.
    content.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| failed(e.to_string()))?;
    if bytes.len() as u64 > LONGEST {
        return Err(failed(format!("it is longer than {} MiB, the most that is read", LONGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|e| failed(format!("it is not UTF-8 text: {e}")))
}

/// Line and column, from 1, of a byte.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// The key that was probably meant, from a message that lists the possible ones.
pub fn nearest(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("unknown field `")?;
    let (wrong, expected) = rest.split_once("`, expected ")?;
    let keys = expected.split('`').skip(1).step_by(2);
    let (distance, key) = keys.map(|key| (distance(wrong, key), key)).min()?;
    (distance <= wrong.chars().count().div_ceil(3)).then_some(key)
}

/// The number of characters to insert, remove or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, y) in b.iter().enumerate() {
            let left = row.get(j).copied().unwrap_or(usize::MAX);
            let Some(cell) = row.get_mut(j + 1) else { break };
            let replaced = diagonal + usize::from(x != *y);
            diagonal = *cell;
            *cell = replaced.min(left + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named_if_it_is_near() {
        let message = |wrong: &str| format!("unknown field `{wrong}`, expected one of `name`, `samples`, `time-limit`");
        assert_eq!(nearest(&message("sample")), Some("samples"));
        assert_eq!(nearest(&message("timelimit")), Some("time-limit"));
        assert_eq!(nearest(&message("colour")), None);
        assert_eq!(nearest("invalid type"), None);
        assert_eq!([distance("", "abc"), distance("abc", "abc"), distance("kitten", "sitting")], [3, 0, 3]);
    }

    #[test]
    fn positions_are_counted_in_characters() {
        let text = "a\néb\n";
        assert_eq!([0, 2, 4].map(|at| position(text, at)), [(1, 1), (2, 1), (2, 2)]);
        // Inside a character, or after the end.
        assert_eq!((position(text, 3), position(text, 99)), ((3, 1), (3, 1)));
    }
}
