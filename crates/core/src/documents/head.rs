//! What every stored document has in common, whatever it is the result of.

use crate::base::units::Nanos;
use crate::machine::conditions::Conditions;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What a document is the result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// A run of programs, or a recording ([`crate::run::data::Run`]).
    Run,
    /// What was learned of a machine's daemons ([`crate::profile::data::Profile`]).
    Profile,
    /// Benchmarks of one program ([`crate::kbest::bench::Bench`]).
    Bench,
    Study,
    /// A measurement of noise.
    Noise,
    /// Programs of stored runs against each other ([`crate::compare::stored::StoredComparison`]).
    Comparison,
    /// Two builds against each other ([`crate::compare::gate::Gate`]).
    Gate,
}

impl DocumentKind {
    pub const ALL: [DocumentKind; 7] = [
        DocumentKind::Run,
        DocumentKind::Profile,
        DocumentKind::Noise,
        DocumentKind::Study,
        DocumentKind::Bench,
        DocumentKind::Comparison,
        DocumentKind::Gate,
    ];

    /// The letter that its numbers are written with; those of runs are written without one.
    pub fn letter(self) -> &'static str {
        match self {
            DocumentKind::Run => "",
            DocumentKind::Profile => "p",
            DocumentKind::Bench => "b",
            DocumentKind::Study => "s",
            DocumentKind::Noise => "n",
            DocumentKind::Comparison => "c",
            DocumentKind::Gate => "g",
        }
    }

    /// Its short name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            DocumentKind::Run => "run",
            DocumentKind::Profile => "profile",
            DocumentKind::Bench => "bench",
            DocumentKind::Study => "study",
            DocumentKind::Noise => "noise",
            DocumentKind::Comparison => "comparison",
            DocumentKind::Gate => "gate",
        }
    }

    /// The one of this short name.
    pub fn named(name: &str) -> Option<DocumentKind> {
        DocumentKind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// What it is called in a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            DocumentKind::Run => "run",
            DocumentKind::Profile => "profile",
            DocumentKind::Bench => "result of benchmarks",
            DocumentKind::Study => "study",
            DocumentKind::Noise => "measurement of noise",
            DocumentKind::Comparison => "comparison",
            DocumentKind::Gate => "gate",
        }
    }
}

/// A document's number in its store, from 1 within its kind, written with the kind's letter: `b1`; for a run `1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub kind: DocumentKind,
    /// From 1; 0 if it was not stored.
    pub number: i64,
}

impl Id {
    /// That of a run.
    pub const fn run(number: i64) -> Id {
        Id { kind: DocumentKind::Run, number }
    }

    /// As it stands in a sentence: `b1`; of a run, whose number is digits only, `run 1`.
    pub fn phrase(self) -> String {
        let Id { kind, number } = self;
        if kind.letter().is_empty() { format!("{} {number}", kind.noun()) } else { self.to_string() }
    }
}

/// A text that is not the number of a stored result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the number of a stored result, expected a letter and digits: p1 (a profile), n1 (noise), s1 (a \
     study), b1 (benchmarks), c1 (a comparison), g1 (a gate), or the digits of a run's number"
)]
pub struct BadId(pub String);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.kind.letter(), self.number))
    }
}

impl FromStr for Id {
    type Err = BadId;

    /// As [`Id`] is written, and no other way: no leading zeros, signs or capitals.
    fn from_str(text: &str) -> Result<Id, BadId> {
        let bad = || BadId(text.to_owned());
        let lettered = |k: &DocumentKind| *k != DocumentKind::Run && text.starts_with(k.letter());
        let kind = DocumentKind::ALL.into_iter().find(lettered).unwrap_or(DocumentKind::Run);
        let number = text.get(kind.letter().len()..).and_then(|digits| digits.parse().ok()).ok_or_else(bad)?;
        let id = Id { kind, number };
        if number > 0 && id.to_string() == text { Ok(id) } else { Err(bad()) }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Id, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

/// A document without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentHead {
    /// What it is the result of.
    pub kind: DocumentKind,
    /// Number in its store; 0 if it was not stored.
    pub number: i64,
    /// Identity across stores, 32 hex digits.
    pub uuid: String,
    /// What it is called; any text.
    pub title: String,
    /// When it began, since 1970.
    pub created: Nanos,
    pub status: Status,
    /// Version of what measured it.
    pub tool: String,
    /// Host name of the machine.
    pub machine: String,
    /// On which machine it was measured, and in which state of it; not known of what versions of tare up to 0.1 stored of
    /// noise, studies and profiles, and of what was measured by other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Box<Conditions>>,
    /// The user's labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl DocumentHead {
    /// How its store calls it.
    pub fn id(&self) -> Id {
        Id { kind: self.kind, number: self.number }
    }

    /// Identity of the machine ([`crate::machine::data::Host::machine`]), where it is known.
    pub fn identity(&self) -> Option<&str> {
        self.conditions.as_deref().map(|c| c.host().machine.as_str())
    }

    /// Equal for documents whose times can be compared ([`crate::machine::conditions::fingerprint`]), where it is known.
    pub fn fingerprint(&self) -> Option<&str> {
        self.conditions.as_deref().map(Conditions::fingerprint)
    }
}

/// Where a document stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Begun and not ended: in progress, or killed.
    Unfinished,
    /// Ended by the user; can be resumed.
    Interrupted,
    /// All samples are there.
    Finished,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_written_with_their_letter() {
        for (text, kind, number) in [
            ("b1", DocumentKind::Bench, 1),
            ("s30", DocumentKind::Study, 30),
            ("p2", DocumentKind::Profile, 2),
            ("12", DocumentKind::Run, 12),
            ("n9223372036854775807", DocumentKind::Noise, i64::MAX),
            ("c7", DocumentKind::Comparison, 7),
            ("g1", DocumentKind::Gate, 1),
        ] {
            let id = Id { kind, number };
            assert_eq!((text.parse(), id.to_string().as_str()), (Ok(id), text));
        }
        assert_eq!([Id::run(12), Id { kind: DocumentKind::Gate, number: 1 }].map(Id::phrase), ["run 12", "g1"]);
        for text in [
            "",
            "b",
            "0",
            "01",
            "+1",
            "r1",
            "b0",
            "b01",
            "b+1",
            "b-1",
            "B1",
            "x1",
            "b1 ",
            " b1",
            "b9223372036854775808",
            "é1",
            "bé",
        ] {
            let e = text.parse::<Id>().unwrap_err();
            assert_eq!(e, BadId(text.to_owned()));
        }
        assert!(BadId("x\n".to_owned()).to_string().contains(r#""x\n""#));
    }

    #[test]
    fn kinds_have_names_and_letters_of_their_own() {
        for kind in DocumentKind::ALL {
            assert_eq!(DocumentKind::named(kind.name()), Some(kind));
            assert_eq!(DocumentKind::ALL.iter().filter(|k| k.letter() == kind.letter()).count(), 1);
        }
        assert_eq!(DocumentKind::named("page"), None);
    }

    proptest! {
        #[test]
        fn any_text_parses_or_errs(text in "[bcgnps]?.{0,12}") {
            if let Ok(id) = text.parse::<Id>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
