//! Files of all kinds, which are detected from their content.

use crate::archive::{DocumentArchive, ProfileArchive, read_bench};
use crate::contract::Result;
use crate::documents::{content, content_uuid};
use crate::error::StoreError;
use crate::format::{BENCH, DOCUMENT, PROFILE, RUN};
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::io::Read;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind};
use tarebench_core::kbest::bench::Bench;
use tarebench_core::profile::data::Profile;

/// The kind of a file is found within its first bytes.
const BEGINNING: u64 = 1 << 20;

/// The accepted files, for errors.
const WHAT: &str = "a file that can be imported";

/// A file that can be stored.
pub(crate) enum ImportedFile<'a> {
    /// An archive of a run, which is still to be read.
    Run(Box<dyn Read + 'a>),
    Profile(Box<Profile>),
    Document(Box<DocumentArchive>),
    /// Results of benchmarks, as a document.
    Bench(Box<DocumentHead>, Value),
}

/// Finds what a file is; reads and checks it, if it is not an archive of a run.
pub(crate) fn file_in(reader: &mut dyn Read) -> Result<ImportedFile<'_>> {
    let bad = |cause: String| StoreError::BadArchive { what: WHAT, line: 0, column: 0, cause };
    let mut beginning = Vec::new();
    let failed = |e: io::Error| bad(format!("cannot be read: {e}"));
    // No more is read of a file that is not a document, because it may have no end.
    reader.take(4096).read_to_end(&mut beginning).map_err(failed)?;
    if is_object(&beginning) {
        reader.take(BEGINNING).read_to_end(&mut beginning).map_err(failed)?;
    }
    let found = format_of(&beginning);
    let is_object = is_object(&beginning);
    let mut whole = io::Cursor::new(beginning).chain(reader);
    match found.as_deref() {
        Some(f) if f == RUN.format => Ok(ImportedFile::Run(Box::new(whole))),
        Some(f) if f == DOCUMENT.format => Ok(ImportedFile::Document(Box::new(DocumentArchive::read(&mut whole)?))),
        Some(f) if f == BENCH.format => {
            let bench = read_bench(&mut whole)?;
            let doc = content(&bench)?;
            Ok(ImportedFile::Bench(Box::new(head_of(&bench, &doc.to_string())), doc))
        }
        Some(f) if f == PROFILE.format => {
            Ok(ImportedFile::Profile(Box::new(ProfileArchive::read(&mut whole)?.profile)))
        }
        Some(f) => Err(bad(format!("its format is {f:?}, expected {}", expected()))),
        None if !is_object => {
            let cause = "expected a JSON object".to_owned();
            Err(StoreError::BadArchive { what: WHAT, line: 1, column: 1, cause })
        }
        None => Err(bad(format!("no \"format\" was found in it, expected {}", expected()))),
    }
}

fn expected() -> String {
    format!("{:?}, {:?}, {:?} or {:?}", RUN.format, DOCUMENT.format, PROFILE.format, BENCH.format)
}

fn is_object(text: &[u8]) -> bool {
    text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

/// The value of the member `format` of a JSON object, if its beginning shows it.
fn format_of(beginning: &[u8]) -> Option<String> {
    struct Format<'a>(&'a mut Option<String>);
    impl<'de> Visitor<'de> for Format<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if key == "format" {
                    *self.0 = Some(map.next_value()?);
                    break;
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut found = None;
    // The rest is checked later.
    let _ = serde_json::Deserializer::from_slice(beginning).deserialize_map(Format(&mut found));
    found
}

/// A file of benchmarks is identified by its content only.
fn head_of(bench: &Bench, text: &str) -> DocumentHead {
    DocumentHead {
        kind: DocumentKind::Bench,
        number: 0,
        uuid: content_uuid(text),
        title: bench.name.clone(),
        created: bench.created,
        status: Status::Finished,
        tool: bench.tool.clone(),
        machine: bench.machine.name.clone(),
        conditions: None,
        tags: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_wherever_it_does() {
        let format_name = |text: &str| format_of(text.as_bytes());
        assert_eq!(format_name(r#"{"format":"a","x":"#).as_deref(), Some("a"));
        assert_eq!(format_name(r#" {"x":[{"format":"b"}],"format":"a"}"#).as_deref(), Some("a"));
        for text in ["", "[]", "{", r#"{"format":1}"#, r#"{"x":"#, r#"{"x":{"format":"a"}}"#, "\u{0}"] {
            assert_eq!(format_name(text), None, "{text}");
        }
        let deep = format!("{{\"x\":{}{},\"format\":\"a\"}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(format_name(&deep).as_deref(), Some("a"));
    }
}
