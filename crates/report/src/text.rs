//! Text for people: escaped, measured, cut and wrapped.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// Whether this character is invisible, or changes how the following ones look.
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn escape_if(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii() && bad(c) => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if bad(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A string as a terminal may show it.
///
/// Text without hidden characters is shown as it is, so that a command with a backslash can be copied, and text that
/// was escaped before stays the same. Otherwise it is escaped as [`tarebench_core::base::name::Name`] is, backslashes included.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, hidden)
}

/// As [`escape`], with all that is not ASCII escaped too.
pub fn escape_ascii(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| !c.is_ascii() || hidden(c))
}

/// Prose made by tare, in ASCII: its typographic characters are spelled, others escaped.
pub fn spelled_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '±' => out.push_str("+-"),
            '…' => out.push_str(".."),
            '–' | '−' | '—' => out.push('-'),
            'µ' | 'μ' => out.push('u'),
            '×' => out.push('x'),
            '·' => out.push(';'),
            '‘' | '’' => out.push('\''),
            '“' | '”' => out.push('"'),
            '→' => out.push_str("->"),
            '≥' => out.push_str(">="),
            '≤' => out.push_str("<="),
            'σ' => out.push_str("s.d."),
            '²' => out.push_str("^2"),
            '³' => out.push_str("^3"),
            'ⁿ' => out.push_str("^n"),
            '√' => out.push_str("sqrt "),
            c => out.push(c),
        }
    }
    if out.is_ascii() { out } else { escape_ascii(&out).into_owned() }
}

/// Columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The longest beginning of `text` that takes at most `width` columns.
fn beginning(text: &str, width: usize) -> &str {
    let mut end = 0;
    for (count, (at, c)) in text.char_indices().enumerate() {
        let next = at + c.len_utf8();
        // Marks of no width are bounded too, because any number of them may be stacked.
        if count > 4 * width + 8 || columns(&text[..next]) > width {
            break;
        }
        end = next;
    }
    &text[..end]
}

/// The longest end of `text` that takes at most `width` columns.
fn ending(text: &str, width: usize) -> &str {
    let mut begin = text.len();
    for (count, (at, _)) in text.char_indices().rev().enumerate() {
        if count > 4 * width + 8 || columns(&text[at..]) > width {
            break;
        }
        begin = at;
    }
    &text[begin..]
}

fn fits(text: &str, width: usize) -> bool {
    text.len() <= 16 * width + 32 && columns(text) <= width
}

/// Cuts `text` to `width` columns; `mark` stands for what was cut from its end.
pub fn cut<'a>(text: &'a str, width: usize, mark: &str) -> Cow<'a, str> {
    if fits(text, width) {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(columns(mark));
    let mut out = beginning(text, room).trim_end().to_owned();
    out.push_str(beginning(mark, width));
    Cow::Owned(out)
}

/// Cuts `text` to `width` columns in its middle, because commands differ at their beginnings and ends.
pub fn cut_middle<'a>(text: &'a str, width: usize, mark: &str) -> Cow<'a, str> {
    let room = width.saturating_sub(columns(mark));
    if fits(text, width) {
        return Cow::Borrowed(text);
    }
    if room < 6 {
        return cut(text, width, mark);
    }
    let tail = ending(text, room / 2);
    let head = beginning(text, room - room / 2);
    let joined = format!("{head}{mark}{tail}");
    // Joined characters may be wider than apart.
    Cow::Owned(cut(&joined, width, mark).into_owned())
}

/// Breaks prose at spaces into lines of at most `width` columns; a longer word is cut, with `mark`.
pub fn wrap(text: &str, width: usize, mark: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word = cut(word, width, mark);
        if line.is_empty() {
            line.push_str(&word);
        } else if columns(&line) + 1 + columns(&word) <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(std::mem::replace(&mut line, word.into_owned()));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Breaks text anywhere into lines of at most `width` columns; nothing is lost.
pub fn break_anywhere(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut head = beginning(rest, width.max(2));
        if head.is_empty() {
            head = &rest[..rest.chars().next().map_or(rest.len(), char::len_utf8)];
        }
        lines.push(head.to_owned());
        rest = &rest[head.len()..];
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_others_kept() {
        assert_eq!(escape(r"sed 's/\./x/'"), r"sed 's/\./x/'");
        assert_eq!(escape("a\\b\x1b[31m\nx"), r"a\\b\x1b[31m\nx");
        assert_eq!(escape("\u{202e}cod\u{61c}"), r"\u{202e}cod\u{61c}");
        assert_eq!(escape("\u{9b}1m"), r"\u{9b}1m");
        assert_eq!(escape("größe 数"), "größe 数");
        assert_eq!(escape_ascii("größe"), r"gr\u{f6}\u{df}e");
        assert_eq!(spelled_ascii("n² log n, √n, 2ⁿ × n³"), "n^2 log n, sqrt n, 2^n x n^3");
        assert_eq!(spelled_ascii("3 ± 1 µs … é"), r"3 +- 1 us .. \u{e9}");
    }

    #[test]
    fn shown_text_is_shown_the_same_again() {
        let once = escape("\x1b\n\\").into_owned();
        assert_eq!(escape(&once), once);
    }

    #[test]
    fn cuts_keep_the_width() {
        assert_eq!(cut("abcdef", 6, "…"), "abcdef");
        assert_eq!(cut("abcdefg", 6, "…"), "abcde…");
        assert_eq!(cut_middle("abcdefghijkl", 9, "…"), "abcd…ijkl");
        assert_eq!(cut("数数数", 4, "…"), "数…");
        assert_eq!(cut("abc", 1, ".."), ".");
        let tower = format!("a{}", "\u{301}".repeat(10_000));
        assert!(cut(&tower, 10, "…").len() < 200);
    }

    #[test]
    fn wrapping() {
        assert_eq!(wrap("one two three", 7, "…"), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible", 7, "…"), ["incomp…"]);
        assert_eq!(break_anywhere("abcdef", 4), ["abcd", "ef"]);
    }
}
