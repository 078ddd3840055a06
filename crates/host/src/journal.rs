//! The journal of old values: on the disk before anything is changed.
//!
//! The journal is a file of JSON lines, `{"sum":"…","boot":"…","record":{…}}`, each with a checksum. It is created
//! whole, with the old value of everything that will be changed (written to another file, flushed, renamed, the folder
//! flushed); only then is the first value written to the machine. Later lines are only appended. An incomplete last
//! line was being written when the machine or tare stopped, and what it reports had not taken effect yet.

use crate::access::Steps;
use crate::journal;
use crate::setting::Target;
use crate::state::Pending;
use crate::state::{JOURNAL, State, TuneError};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use tarebench_core::base::hash::fnv64;
use tarebench_core::base::units::Nanos;
use tarebench_sys::clock;

const FORMAT: &str = "tare-journal";
/// The version that is written, and the newest that is read.
pub const VERSION: u64 = 1;

/// The process that started the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// `tare-journal`.
    pub format: String,
    /// [`VERSION`].
    pub version: u64,
    pub pid: i32,
    /// Its start time since boot.
    pub start: Nanos,
    /// When, since 1970.
    pub created: Nanos,
}

impl JournalHeader {
    /// Of this process, now.
    pub fn now() -> JournalHeader {
        let pid = tarebench_sys::process::own_pid();
        let start = tarebench_sys::process::stat(pid).map_or(Nanos::ZERO, |s| s.start());
        JournalHeader { format: FORMAT.to_owned(), version: VERSION, pid, start, created: clock::realtime() }
    }
}

/// Something that will be changed, with what is needed to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    Value(ValueChange),
    /// A cgroup that is made, by its path below the root.
    Group {
        path: String,
    },
    /// Processes that are moved to another cgroup.
    Moved {
        /// Each with its start time in ticks, which distinguishes it from a later process with this number.
        processes: Vec<(i32, u64)>,
        from: String,
        to: String,
    },
}

/// A value that will be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueChange {
    /// The factor that asks for it.
    pub factor: String,
    pub target: Target,
    pub old: String,
    /// What it becomes; nothing for a value that only may change with another one.
    pub new: Option<String>,
    /// It outlives a reboot.
    pub survives_reboot: bool,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum JournalRecord {
    Header(JournalHeader),
    /// What will be changed.
    Change(Change),
    /// The machine writes the new value of a change (by its number) in its own way, or another value changed with it.
    Seen {
        index: usize,
        value: String,
    },
    /// A change was refused: the value is still the old one.
    Refused {
        index: usize,
    },
    /// All changes were made.
    Complete,
    /// The values are being restored.
    Restoring,
}

#[derive(Serialize, Deserialize)]
struct JournalLine<R> {
    boot: String,
    record: R,
}

fn line(boot: &str, record: &JournalRecord) -> String {
    let text = serde_json::to_string(&JournalLine { boot: boot.to_owned(), record }).unwrap_or_default();
    format!("{{\"sum\":\"{:016x}\",{}\n", fnv64(text.as_bytes()), text.trim_start_matches('{'))
}

fn parse(text: &str) -> Option<(String, JournalRecord)> {
    let rest = text.strip_prefix("{\"sum\":\"")?;
    let (sum, rest) = (rest.get(..16)?, rest.get(16..)?.strip_prefix("\",")?);
    let text = format!("{{{rest}");
    if format!("{:016x}", fnv64(text.as_bytes())) != sum {
        return None;
    }
    serde_json::from_str::<JournalLine<JournalRecord>>(&text).ok().map(|l| (l.boot, l.record))
}

/// A change as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// What was going to be changed.
    pub change: Change,
    /// The boot it happened in.
    pub boot: String,
    /// How the machine writes the new value.
    pub seen: Option<String>,
    pub refused: bool,
}

/// A journal as read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The first line, if it can be read.
    pub header: Option<JournalHeader>,
    /// The changes in their order.
    pub changes: Vec<JournalEntry>,
    pub complete: bool,
    /// A restore was started.
    pub restoring: bool,
    /// Lines that cannot be read, counted from one. A last line that was cut off does not count.
    pub damaged: Vec<usize>,
}

/// Version of a journal whose first line may be of any version.
fn version(text: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let header = &value["record"];
    (header["format"] == FORMAT).then(|| header["version"].as_u64())?
}

/// Reads the journal, if there is one.
///
/// # Errors
/// If it cannot be read at all, or has a later version.
pub fn load(state: &State) -> Result<Option<Loaded>, TuneError> {
    let path = state.journal();
    let data = match state.open().and_then(|folder| folder.read(JOURNAL)) {
        Ok(data) => data,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(TuneError::Unreadable { path, cause }),
    };
    let text = String::from_utf8_lossy(&data);
    match text.lines().next().and_then(version) {
        Some(found) if found > VERSION => Err(TuneError::Newer { path, found, known: VERSION }),
        _ => Ok(Some(read(&text))),
    }
}

/// Reads the text of a journal of this version. Takes time in proportion, whatever the text.
pub fn read(text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    // Changes are numbered by their lines, so that a damaged one does not shift the others.
    let mut lines_of: Vec<usize> = Vec::new();
    for (i, text) in text.split_inclusive('\n').enumerate() {
        let Some(whole) = text.strip_suffix('\n') else {
            // Cut off while it was being written: only lines that are added later can be, never the first ones.
            break;
        };
        let entry = |index: usize| lines_of.binary_search(&index).ok();
        match parse(whole) {
            None => loaded.damaged.push(i + 1),
            Some((_, JournalRecord::Header(h))) => loaded.header = Some(h),
            Some((boot, JournalRecord::Change(change))) => {
                lines_of.push(i);
                loaded.changes.push(JournalEntry { change, boot, seen: None, refused: false });
            }
            Some((_, JournalRecord::Seen { index, value })) => {
                if let Some(e) = entry(index).and_then(|e| loaded.changes.get_mut(e)) {
                    e.seen = Some(value);
                }
            }
            Some((_, JournalRecord::Refused { index })) => {
                if let Some(e) = entry(index).and_then(|e| loaded.changes.get_mut(e)) {
                    e.refused = true;
                }
            }
            Some((_, JournalRecord::Complete)) => loaded.complete = true,
            Some((_, JournalRecord::Restoring)) => loaded.restoring = true,
        }
    }
    if loaded.header.is_none() && !loaded.damaged.contains(&1) {
        loaded.damaged.insert(0, 1);
    }
    loaded
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    boot: String,
    length: u64,
}

impl Journal {
    /// Makes the journal with all that will be changed; when this returns, it is on the disk.
    ///
    /// # Errors
    /// The system's; there is no journal then.
    pub fn create(state: &State, boot: &str, changes: &[Change], steps: &Steps) -> io::Result<Journal> {
        let header = JournalRecord::Header(JournalHeader::now());
        let records = changes.iter().map(|c| (boot.to_owned(), JournalRecord::Change(c.clone())));
        Journal::replace(state, std::iter::once((boot.to_owned(), header)).chain(records), steps)
    }

    /// Keeps only these entries of a journal.
    ///
    /// # Errors
    /// The system's; the old journal still exists then.
    pub fn keep(state: &State, header: JournalHeader, entries: &[&JournalEntry], steps: &Steps) -> io::Result<Journal> {
        let boot = entries.first().map(|e| e.boot.clone()).unwrap_or_default();
        let mut records = vec![(boot.clone(), JournalRecord::Header(header))];
        for entry in entries {
            let index = records.len();
            records.push((entry.boot.clone(), JournalRecord::Change(entry.change.clone())));
            if let Some(value) = &entry.seen {
                records.push((entry.boot.clone(), JournalRecord::Seen { index, value: value.clone() }));
            }
        }
        records.push((boot, JournalRecord::Complete));
        Journal::replace(state, records.into_iter(), steps)
    }

    fn replace(
        state: &State,
        lines: impl Iterator<Item = (String, JournalRecord)>,
        steps: &Steps,
    ) -> io::Result<Journal> {
        let (folder, new) = (state.make()?, "journal.new");
        let lines: Vec<(String, JournalRecord)> = lines.collect();
        let boot = lines.first().map(|l| l.0.clone()).unwrap_or_default();
        let text: String = lines.iter().map(|(boot, record)| line(boot, record)).collect();
        let written = (|| {
            let mut file = folder.create(new, 0o644)?;
            steps.done();
            file.write_all(text.as_bytes())?;
            steps.done();
            file.sync_all()?;
            steps.done();
            folder.rename(new, JOURNAL)?;
            steps.done();
            folder.sync()?;
            steps.done();
            Ok(file)
        })();
        match written {
            Ok(file) => Ok(Journal { path: state.journal(), file, boot, length: text.len() as u64 }),
            Err(e) => {
                let _ = folder.remove(new);
                Err(e)
            }
        }
    }

    /// Opens the existing journal, to append to it.
    pub fn open(state: &State, boot: &str) -> io::Result<Journal> {
        let folder = state.open()?;
        let file = folder.file(JOURNAL, OFlags::WRONLY)?;
        // A line that was cut off must not be joined with the next one.
        let data = folder.read(JOURNAL)?;
        let length = data.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1) as u64;
        file.set_len(length)?;
        Ok(Journal { path: state.journal(), file, boot: boot.to_owned(), length })
    }

    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Adds a line; when this returns, it is on the disk.
    ///
    /// # Errors
    /// The system's; the journal is as before then.
    pub fn add(&mut self, record: &JournalRecord, steps: &Steps) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let text = line(&self.boot, record);
        let added = self.file.write_all_at(text.as_bytes(), self.length).and_then(|()| {
            steps.done();
            self.file.sync_data()
        });
        match added {
            Ok(()) => {
                self.length += text.len() as u64;
                steps.done();
                Ok(())
            }
            Err(e) => {
                let _ = self.file.set_len(self.length);
                Err(e)
            }
        }
    }
}

/// Line number of a change in a journal that [`Journal::create`] made: the header is line 0.
pub(crate) fn line_of(change: usize) -> usize {
    change + 1
}

/// Removes the journal, durably.
pub(crate) fn remove(state: &State, steps: &Steps) -> io::Result<()> {
    let folder = state.open()?;
    folder.remove(JOURNAL)?;
    steps.done();
    folder.sync()?;
    steps.done();
    Ok(())
}

/// Sets a damaged journal aside; returns its new name.
pub(crate) fn set_aside(state: &State, steps: &Steps) -> io::Result<PathBuf> {
    let name = format!("journal.damaged-{}", clock::realtime().0 / 1_000_000_000);
    let folder = state.open()?;
    folder.rename(JOURNAL, &name)?;
    steps.done();
    folder.sync()?;
    steps.done();
    Ok(state.folder().join(name))
}

impl Pending {
    /// Looks for a journal: one stat(2) where there is none. A folder that another user may write to is ignored.
    pub fn check(state: &State) -> Option<Pending> {
        let path = state.journal();
        std::fs::symlink_metadata(&path).ok()?;
        state.open().ok()?;
        let loaded: Option<Loaded> = journal::load(state).ok().flatten();
        let what = loaded.as_ref().and_then(|l| Some((l.header.as_ref()?.created, l.changes.len())));
        let complete = loaded.as_ref().is_some_and(|l| l.complete);
        Some(Pending { path, holder: state.holder(), what, complete })
    }
}
