//! What was found, and the calls of the programs that it is found with.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How a feature stands on this machine.
pub enum CheckStanding {
    Works(String),
    /// It is not there, and tare says so and why; what stands in for it, if anything.
    Instead(String),
}
pub use CheckStanding::{Instead, Works};

/// A check's result: the text of a failure is what was expected and found.
pub type Found = Result<CheckStanding, String>;

pub struct CheckReport {
    who: String,
    failures: usize,
}

impl CheckReport {
    pub fn new(who: &str) -> CheckReport {
        CheckReport { who: who.to_owned(), failures: 0 }
    }

    pub fn is_root(&self) -> bool {
        self.who == "root"
    }

    pub fn has_failures(&self) -> bool {
        self.failures > 0
    }

    /// Makes a check, and again if it fails: an emulated machine charges its host's other work to whoever runs.
    pub fn check(&mut self, feature: &str, check: impl Fn() -> Found) {
        const TRIES: usize = 4;
        let mut found = check();
        for _ in 1..TRIES {
            found = found.or_else(|before| check().map_err(|now| format!("{before}; again: {now}")));
        }
        let (standing, text) = match &found {
            Ok(Works(text)) => ("works", text),
            Ok(Instead(text)) => ("instead", text),
            Err(text) => ("fails", text),
        };
        self.failures += usize::from(found.is_err());
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        println!("CHECK\t{feature}\t{}\t{standing}\t{line}", self.who);
    }
}

/// A folder of this process's own.
pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("truth-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// `tare WORDS`, with a store and a file for the burner's truths of its own.
pub fn tare<S: AsRef<str>>(words: &[S]) -> Command {
    let mut c = Command::new("tare");
    c.args(words.iter().map(AsRef::as_ref)).stdin(Stdio::null());
    c.env("TARE_DB", folder().join("db")).env("BURNER_TRUTH", folder().join("truth"));
    c
}

/// What it prints, if it exits with this code.
pub fn said(c: &mut Command, code: i32) -> Result<String, String> {
    let out = c.output().map_err(|e| format!("{c:?}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match out.status.code() == Some(code) {
        true => Ok(text(&out.stdout)),
        false => Err(format!("{c:?}: {}: {}", out.status, text(&out.stderr))),
    }
}

/// The JSON that it prints.
pub fn json(c: &mut Command) -> Result<Value, String> {
    serde_json::from_str(&said(c, 0)?).map_err(|e| format!("{c:?}: {e}"))
}

/// A number in a document, by its path.
pub fn number(document: &Value, path: &str) -> Result<f64, String> {
    let found = document.pointer(path).and_then(Value::as_f64);
    found.ok_or_else(|| format!("no number {path} in {}", shortened(document)))
}

/// Why a reading is absent; `None` if it has a value.
pub fn absent(reading: &Value) -> Option<String> {
    let why = reading.get("absent")?;
    Some(why["detail"].as_str().map_or_else(|| why.to_string(), str::to_owned))
}

fn shortened(document: &Value) -> String {
    document.to_string().chars().take(300).collect()
}
