//! Names that come from the machine: any bytes, kept exactly, shown safely.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A string of arbitrary bytes (a process name, an argument, a path).
///
/// Text form, in JSON, the store and on the terminal: UTF-8 as it is, except that a
/// backslash is `\\`, and control characters, bidirectional overrides and bytes that are not UTF-8
/// are escaped (`\n`, `\t`, `\xff`, `\u{202e}`). The text form can be read back exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub Vec<u8>);

/// The text is not the escaped form of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad escape in name {text:?} at byte {at}: expected \\\\, \\n, \\t, \\xNN or \\u{{N}}")]
pub struct BadName {
    pub text: String,
    /// Offset of the backslash.
    pub at: usize,
}

fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

impl Name {
    /// From the bytes as they are.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Name {
        Name(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads the text form back.
    ///
    /// # Errors
    /// [`BadName`] if a backslash begins none of the escapes.
    pub fn parse(text: &str) -> Result<Name, BadName> {
        let bad = |at| BadName { text: text.to_owned(), at };
        let mut out = Vec::with_capacity(text.len());
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            if c != '\\' {
                let mut buf = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut buf).as_bytes());
                continue;
            }
            match chars.next().map(|(_, c)| c) {
                Some('\\') => out.push(b'\\'),
                Some('n') => out.push(b'\n'),
                Some('t') => out.push(b'\t'),
                Some('x') => {
                    let hex = text.get(at + 2..at + 4).ok_or_else(|| bad(at))?;
                    out.push(u8::from_str_radix(hex, 16).map_err(|_| bad(at))?);
                    chars.next();
                    chars.next();
                }
                Some('u') => {
                    let rest = text.get(at + 2..).ok_or_else(|| bad(at))?;
                    let hex = rest
                        .strip_prefix('{')
                        .and_then(|r| r.split_once('}'))
                        .map(|(h, _)| h)
                        .ok_or_else(|| bad(at))?;
                    let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).ok_or_else(|| bad(at))?;
                    let mut buf = [0; 4];
                    out.extend_from_slice(c.encode_utf8(&mut buf).as_bytes());
                    for _ in 0..hex.len() + 2 {
                        chars.next();
                    }
                }
                _ => return Err(bad(at)),
            }
        }
        Ok(Name(out))
    }
}

impl From<&str> for Name {
    fn from(s: &str) -> Name {
        Name(s.as_bytes().to_vec())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        let mut out = String::with_capacity(self.0.len());
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\\' => out.push_str("\\\\"),
                    '\n' => out.push_str("\\n"),
                    '\t' => out.push_str("\\t"),
                    c if (c as u32) < 0x80 && c.is_control() => {
                        write!(out, "\\x{:02x}", c as u32)?;
                    }
                    c if hidden(c) => write!(out, "\\u{{{:x}}}", c as u32)?,
                    c => out.push(c),
                }
            }
            for b in chunk.invalid() {
                write!(out, "\\x{b:02x}")?;
            }
        }
        f.pad(&out)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Name, D::Error> {
        let text = String::deserialize(d)?;
        Name::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_what_a_terminal_must_not_see() {
        let n = Name::new(b"a\x1b[31m\n\\(b) \xff<script>".to_vec());
        assert_eq!(n.to_string(), r"a\x1b[31m\n\\(b) \xff<script>");
        assert_eq!(Name::from("\u{202e}x").to_string(), r"\u{202e}x");
    }

    #[test]
    fn bad_escapes_are_refused() {
        for bad in ["\\", "\\q", "\\x1", "\\xzz", "\\u{110000}", "\\u1", "\\xé"] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_form_reads_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let n = Name(bytes);
            let text = n.to_string();
            prop_assert!(!text.chars().any(hidden));
            prop_assert_eq!(Name::parse(&text).unwrap(), n);
        }

        #[test]
        fn any_text_parses_or_errs(text in ".*") {
            let _ = Name::parse(&text);
        }
    }
}
