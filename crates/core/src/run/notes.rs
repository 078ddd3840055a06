//! What is noted of a run beside its samples: readings of the machine's factors, resumptions, tuning, starts of shells.

use crate::base::name::Name;
use crate::base::units::Nanos;
use crate::machine::data::Factor;
use crate::quiet::knowledge::QuietKnowledge;
use crate::sample::measure::Measure;
use crate::statistics::intervals::Interval;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A note, kept in the order in which they were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// The machine was tuned for the run.
    Tuned(Tuning),
    /// What the start of each shell of the run takes.
    Shell {
        /// One for each shell.
        starts: Vec<ShellStart>,
    },
    /// The machine's factors were read. A session of the run begins with that before its first sample.
    Reading(FactorReading),
    /// The machine was not the same at two readings.
    Changed { changes: Vec<FactorChange> },
    /// The run was resumed.
    Resumed {
        /// When, since 1970; `None` if an earlier version did not keep it.
        at: Option<Nanos>,
        /// What there was of it.
        there: KeptBefore,
    },
    /// The run was resumed after the machine had been restarted.
    Rebooted {
        /// The kernel since then, as `uname -r`.
        kernel: String,
        /// What there was of the run.
        there: KeptBefore,
    },
    /// What a session with probes ended with: what the run's times are corrected by. The newest is right.
    Quiet { known: Box<QuietKnowledge> },
    /// How far earlier runs of the programs on this machine differed, when a session ended. The newest is right.
    Spread { programs: Vec<ProgramSpread> },
    /// What an earlier version noted in words.
    Text { key: String, text: String },
}

impl Note {
    /// Its short name, as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Note::Tuned(_) => "tuned",
            Note::Shell { .. } => "shell",
            Note::Reading(_) => "reading",
            Note::Changed { .. } => "changed",
            Note::Resumed { .. } => "resumed",
            Note::Rebooted { .. } => "rebooted",
            Note::Quiet { .. } => "quiet",
            Note::Spread { .. } => "spread",
            Note::Text { .. } => "text",
        }
    }
}

/// How the machine was tuned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    pub summary: String,
    /// Each value that was set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<TunedValue>,
}

/// A value that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedValue {
    /// What it is of.
    pub name: String,
    /// Before, if it could be read.
    pub old: Option<String>,
    pub new: String,
}

/// The starts of a shell with an empty script (`sh -c :`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellStart {
    /// The shell's words.
    pub shell: Vec<Name>,
    /// Elapsed times in ascending order; never empty.
    pub elapsed: Vec<Nanos>,
}

impl ShellStart {
    /// Median of the elapsed times; of two middle ones the lower.
    pub fn median(&self) -> Nanos {
        self.elapsed.get(self.elapsed.len().saturating_sub(1) / 2).copied().unwrap_or(Nanos::ZERO)
    }
}

/// The machine's factors at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorReading {
    pub when: ReadingTime,
    pub factors: Vec<Factor>,
}

/// When factors were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingTime {
    /// Before the first sample of a session.
    BeforeFirst,
    /// Before a program's samples, in sequential order; its number from 1.
    BeforeProgram(u32),
    /// After the last sample of a session.
    AfterLast,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorChange {
    /// Name of the factor; empty if an earlier version did not store it by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub factor: String,
    /// The factor with both values, or with what was counted, in words.
    pub what: String,
    /// How much was counted between the readings, of a factor that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// The two readings; `None` if an earlier version did not keep them.
    pub between: Option<(ReadingTime, ReadingTime)>,
}

impl FactorChange {
    /// A change that is only known in words.
    pub fn of_text(what: String) -> FactorChange {
        FactorChange { factor: String::new(), what, count: None, between: None }
    }
}

/// What there was of a run when it was resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptBefore {
    Samples(u64),
    /// A recording so long.
    Recorded(Nanos),
}

/// A spread beyond this says nothing more: runs that differ by a factor of 100.
const MOST_SPREAD: f64 = 100.0;

/// The spread of a program's runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BetweenRuns {
    /// Earlier runs of the program on the machine.
    pub runs: u32,
    /// The mean (or median) of a run is within this factor less one of that of many runs, with 95%: 0.03 for 1 / 1.03 to 1.03.
    pub share: f64,
}

impl BetweenRuns {
    /// The interval around a value of this run, extended to where the value of many runs is.
    pub fn widen(&self, interval: Interval, value: f64) -> Interval {
        let factor = 1.0 + self.share;
        interval.reaching(value / factor).reaching(value * factor)
    }
}

/// That of one program of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramSpread {
    /// Number of the program in the run, from 0.
    pub series: u32,
    pub measure: Measure,
    #[serde(flatten)]
    pub between: BetweenRuns,
}

/// What was known of a program's spread when its run ended.
pub fn spread(notes: &[Note], series: u32, measure: Measure) -> Option<BetweenRuns> {
    let newest = notes.iter().rev().find_map(|note| match note {
        Note::Spread { programs } => Some(programs),
        _ => None,
    })?;
    let found = newest.iter().find(|p| p.series == series && p.measure == measure).map(|p| p.between);
    // A document from elsewhere may say anything.
    found.filter(|between| (0.0..=MOST_SPREAD).contains(&between.share))
}

/// The readings among notes.
pub fn readings(notes: &[Note]) -> impl Iterator<Item = &FactorReading> {
    notes.iter().filter_map(|n| match n {
        Note::Reading(reading) => Some(reading),
        _ => None,
    })
}

/// How the machine was tuned, if it was.
pub fn tuning(notes: &[Note]) -> Option<&Tuning> {
    notes.iter().find_map(|n| match n {
        Note::Tuned(tuning) => Some(tuning),
        _ => None,
    })
}

/// When factors were read, in words, and what was read.
pub type OldReading = (String, Vec<Factor>);

/// The notes that versions up to 0.1 kept as texts by a name. What is not known, or not as these versions wrote it, stays a text.
/// `readings` reads the text of that name, which is JSON.
pub fn from_texts(texts: BTreeMap<String, String>, readings: impl Fn(&str) -> Option<Vec<OldReading>>) -> Vec<Note> {
    let mut notes: Vec<Note> = texts.into_iter().flat_map(|(key, text)| from_text(key, text, &readings)).collect();
    // In the order in which they are made today; readings stay in theirs.
    notes.sort_by_key(|n| match n {
        Note::Tuned(_) | Note::Shell { .. } => 0,
        Note::Text { .. } => 1,
        Note::Reading(_) => 2,
        Note::Changed { .. } => 3,
        Note::Rebooted { .. } => 4,
        Note::Resumed { .. } => 5,
        Note::Quiet { .. } => 6,
        Note::Spread { .. } => 7,
    });
    notes
}

fn from_text(key: String, text: String, readings: &impl Fn(&str) -> Option<Vec<OldReading>>) -> Vec<Note> {
    let known = match key.as_str() {
        "tuned" => Some(vec![Note::Tuned(Tuning { summary: text.clone(), values: Vec::new() })]),
        "changed" => Some(vec![Note::Changed { changes: vec![FactorChange::of_text(text.clone())] }]),
        "readings" => readings(&text).and_then(old_readings),
        "resumed" => old_resumed(&text).map(|n| vec![n]),
        "reboot" => old_reboot(&text).map(|n| vec![n]),
        _ => None,
    };
    known.unwrap_or_else(|| vec![Note::Text { key, text }])
}

fn old_readings(taken: Vec<OldReading>) -> Option<Vec<Note>> {
    let reading = |(when, factors): OldReading| {
        let when = match when.strip_suffix(", resumed").unwrap_or(&when) {
            "before the first sample" => ReadingTime::BeforeFirst,
            "after the last sample" => ReadingTime::AfterLast,
            other => ReadingTime::BeforeProgram(other.strip_prefix("before program ")?.parse().ok()?),
        };
        Some(Note::Reading(FactorReading { when, factors }))
    };
    taken.into_iter().map(reading).collect()
}

/// `with 3 samples there, at 1700000000 s since 1970`.
fn old_resumed(text: &str) -> Option<Note> {
    let (there, at) = text.strip_prefix("with ")?.split_once(" there, at ")?;
    let seconds: i64 = at.strip_suffix(" s since 1970")?.parse().ok()?;
    Some(Note::Resumed { at: Some(Nanos(seconds.checked_mul(1_000_000_000)?)), there: old_kept(there)? })
}

/// `resumed after a reboot, with 3 samples there; kernel 6.1.0`.
fn old_reboot(text: &str) -> Option<Note> {
    let (there, kernel) = text.strip_prefix("resumed after a reboot, with ")?.split_once(" there; kernel ")?;
    Some(Note::Rebooted { kernel: kernel.to_owned(), there: old_kept(there)? })
}

fn old_kept(text: &str) -> Option<KeptBefore> {
    if let Some(samples) = text.strip_suffix(" samples") {
        return Some(KeptBefore::Samples(samples.parse().ok()?));
    }
    let seconds: i64 = text.strip_suffix(" s")?.parse().ok()?;
    Some(KeptBefore::Recorded(Nanos(seconds.checked_mul(1_000_000_000)?)))
}

/// Reads notes as they are written, or as versions up to 0.1 wrote them: texts by a name, which stay texts ([`from_texts`]).
pub(crate) fn read<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Note>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Texts(BTreeMap<String, String>),
        Notes(Vec<Note>),
    }
    Ok(match Either::deserialize(d)? {
        Either::Texts(texts) => texts.into_iter().map(|(key, text)| Note::Text { key, text }).collect(),
        Either::Notes(notes) => notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::data::Standing;

    /// Reads a time and a factor in each line.
    fn old(texts: &[(&str, &str)]) -> Vec<Note> {
        let line = |l: &str| {
            let (when, name) = l.split_once(" = ")?;
            Some((when.to_owned(), vec![Factor::new(1, name, Standing::Held, "")]))
        };
        let texts = texts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        from_texts(texts, |text| text.lines().map(line).collect())
    }

    #[test]
    fn texts_become_typed() {
        let taken = "before the first sample = a\nbefore program 2, resumed = b\nafter the last sample, resumed = c";
        let notes = old(&[
            ("resumed", "with 3 samples there, at 17 s since 1970"),
            ("reboot", "resumed after a reboot, with 52 s there; kernel 6.1.0; x"),
            ("readings", taken),
            ("changed", "ntp: on before, off after"),
            ("tuned", "2 values set"),
        ]);
        let reading =
            |when, name| Note::Reading(FactorReading { when, factors: vec![Factor::new(1, name, Standing::Held, "")] });
        let change = FactorChange::of_text("ntp: on before, off after".to_owned());
        let expected = [
            Note::Tuned(Tuning { summary: "2 values set".to_owned(), values: Vec::new() }),
            reading(ReadingTime::BeforeFirst, "a"),
            reading(ReadingTime::BeforeProgram(2), "b"),
            reading(ReadingTime::AfterLast, "c"),
            Note::Changed { changes: vec![change] },
            Note::Rebooted { kernel: "6.1.0; x".to_owned(), there: KeptBefore::Recorded(Nanos(52_000_000_000)) },
            Note::Resumed { at: Some(Nanos(17_000_000_000)), there: KeptBefore::Samples(3) },
        ];
        assert_eq!(notes, expected);
        assert_eq!((readings(&notes).count(), tuning(&notes).unwrap().summary.as_str()), (3, "2 values set"));
    }

    #[test]
    fn what_is_not_known_stays_a_text() {
        for (key, text) in [
            ("mine", "any"),
            ("shell", "`sh -c :` takes 1 ms (median of 11 starts)"),
            ("tuned_values", "a b → c"),
            ("readings", "{"),
            ("readings", "at noon = a"),
            ("resumed", "with 3 samples there, at 9223372036854775807 s since 1970"),
            ("resumed", ""),
            ("reboot", "with few samples there"),
        ] {
            assert_eq!(old(&[(key, text)]), [Note::Text { key: key.to_owned(), text: text.to_owned() }]);
        }
    }

    #[test]
    fn the_median_is_one_of_the_starts() {
        let start = |ns: &[i64]| ShellStart { shell: Vec::new(), elapsed: ns.iter().map(|n| Nanos(*n)).collect() };
        assert_eq!((start(&[1, 5, 9]).median(), start(&[1, 5, 6, 9]).median()), (Nanos(5), Nanos(5)));
        assert_eq!(start(&[]).median(), Nanos::ZERO);
    }
}
