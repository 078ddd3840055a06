//! What a store keeps beside runs and profiles: results that are one document each, with parts if it is made bit by bit.

use crate::base::units::Nanos;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What a document is the result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Benchmarks of one program ([`crate::kbest::bench::Bench`]).
    Bench,
    /// A study.
    Study,
    /// A measurement of noise.
    Noise,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Bench, Kind::Study, Kind::Noise];

    /// The letter that its numbers are written with.
    pub fn letter(self) -> char {
        match self {
            Kind::Bench => 'b',
            Kind::Study => 's',
            Kind::Noise => 'n',
        }
    }

    /// Its short name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bench => "bench",
            Kind::Study => "study",
            Kind::Noise => "noise",
        }
    }

    /// The one of this short name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// What it is called in a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Bench => "result of benchmarks",
            Kind::Study => "study",
            Kind::Noise => "measurement of noise",
        }
    }
}

/// A document's number in its store, from 1 within its kind, written with the kind's letter: `b1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Its kind.
    pub kind: Kind,
    /// From 1; 0 if it was not stored.
    pub number: i64,
}

/// A text that is no document's number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no document's number, expected a letter and digits: b1 (benchmarks), s1 (a study), n1 (noise)")]
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
        let kind = Kind::ALL.into_iter().find(|k| text.starts_with(k.letter())).ok_or_else(bad)?;
        let number = text.get(1..).and_then(|digits| digits.parse().ok()).ok_or_else(bad)?;
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// What it is the result of.
    pub kind: Kind,
    /// Number in its store; 0 if it was not stored.
    pub number: i64,
    /// Identity across stores, 32 hex digits.
    pub uuid: String,
    /// What it is called; any text.
    pub title: String,
    /// When it began, since 1970.
    pub created: Nanos,
    /// Where it stands.
    pub status: Status,
    /// Version of what measured it.
    pub tool: String,
    /// Host name of the machine.
    pub machine: String,
}

impl Head {
    /// How its store calls it.
    pub fn id(&self) -> Id {
        Id { kind: self.kind, number: self.number }
    }
}

/// Where a run stands.
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
        for (text, kind, number) in
            [("b1", Kind::Bench, 1), ("s30", Kind::Study, 30), ("n9223372036854775807", Kind::Noise, i64::MAX)]
        {
            let id = Id { kind, number };
            assert_eq!((text.parse(), id.to_string().as_str()), (Ok(id), text));
        }
        for text in
            ["", "b", "1", "b0", "b01", "b+1", "b-1", "B1", "x1", "b1 ", " b1", "b9223372036854775808", "é1", "bé"]
        {
            let e = text.parse::<Id>().unwrap_err();
            assert_eq!(e, BadId(text.to_owned()));
        }
        assert!(BadId("x\n".to_owned()).to_string().contains(r#""x\n""#));
    }

    #[test]
    fn kinds_have_names_and_letters_of_their_own() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
            assert_eq!(Kind::ALL.iter().filter(|k| k.letter() == kind.letter()).count(), 1);
        }
        assert_eq!(Kind::named("run"), None);
    }

    proptest! {
        #[test]
        fn any_text_parses_or_errs(text in "[bsn]?.{0,12}") {
            if let Ok(id) = text.parse::<Id>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
