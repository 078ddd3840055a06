//! `tare tune`: quiet the machine, so that `tare restore` can restore it exactly.

use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench::core::run::notes::{Note, tuning};
use tarebench::host::access::Access;
use tarebench::host::factors;
use tarebench::host::factors::FactorMachine;
use tarebench::host::freeze;
use tarebench::host::freeze::FreezeChoice;
use tarebench::host::setting::Setting;
use tarebench::host::state::{Pending, State, TuneError};
use tarebench::host::tune;
use tarebench::host::tune::{Stand, TuneItem, TuneReport, TuneRequest, Tuned};
use tarebench::report::json;
use tarebench::report::text::escape;
use tarebench::sys::process::effective_uid;
use tarebench::sys::signals::Signals;

/// Quiet the machine for measuring; undo with `tare restore`
///
/// Writes the old values to a journal on disk before it changes them, so that they can be restored even after a kill
/// or a power cut. `tare doctor --explain` describes the factors.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 success; 1 some were refused, the others are set; 2 usage error; 4 nothing could be \
set, or the journal failed; 130 interrupted and restored."
)]
pub struct TuneArgs {
    #[command(flatten)]
    what: WhatToTune,
    /// Show each change and the command that makes it; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: MachineArgs,
}

/// What to set.
#[derive(Args)]
pub struct WhatToTune {
    /// Set only these factors, by their names in `tare doctor`; optional ones are set only by name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Also freeze processes of other users and sessions, except those that the machine needs
    #[arg(long)]
    freeze: bool,
    /// With --freeze, thaw after SECONDS even if nothing was restored
    #[arg(long, value_name = "SECONDS", default_value_t = FreezeChoice::LIMIT.as_secs(), requires = "freeze",
          value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    freeze_limit: u64,
    /// Freeze only these processes, by their ids
    #[arg(long, value_name = "PID", value_delimiter = ',', requires = "freeze", hide = true)]
    freeze_only: Option<Vec<i32>>,
}

/// Longest limit of freezing: 30 days.
const MOST_SECONDS: u64 = 30 * 86_400;

/// The machine, and the folder of its journal.
#[derive(Args)]
pub struct MachineArgs {
    /// Folder of the journal [default: /var/lib/tarebench, or $XDG_STATE_HOME/tarebench without root]
    #[arg(long, value_name = "FOLDER", env = "TARE_STATE", hide_env_values = true)]
    state: Option<PathBuf>,
    /// The machine's files are below this folder
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    root: PathBuf,
    /// Take the values to set from this file (JSON), not from the table of factors
    #[arg(long, value_name = "FILE", hide = true)]
    settings: Option<PathBuf>,
    /// D-Bus address of the bus that systemd is on
    #[arg(long, value_name = "ADDRESS", env = "TARE_SYSTEMD_BUS", hide = true)]
    bus: Option<String>,
    /// For tests: die after N steps
    #[arg(long, value_name = "N", env = "TARE_TEST_STOP_AFTER", hide = true)]
    stop_after: Option<u64>,
}

impl MachineArgs {
    /// The folder of the journal.
    pub fn state(&self) -> Result<State, Failure> {
        match &self.state {
            Some(folder) => Ok(State::at(folder)),
            None => usual_state(&self.root, effective_uid() == 0),
        }
    }

    /// What is changed.
    pub fn access(&self) -> Access {
        let access = Access::new(&self.root).stop_after(self.stop_after);
        match &self.bus {
            Some(address) => access.with_bus(address),
            None => access,
        }
    }

    fn request(&self, what: &WhatToTune, access: &Access) -> Result<TuneRequest, Failure> {
        let settings = match &self.settings {
            Some(file) => read_settings(file)?,
            None => {
                let real = self.root == Path::new("/");
                let mut machine =
                    if real { FactorMachine::now(&self.root) } else { FactorMachine::from_files(&self.root) };
                machine.units = access.units();
                let settings = factors::settings(&machine, &what.only);
                settings.map_err(|e| Failure::usage(e.to_string()).hint("list them with: `tare doctor`"))?
            }
        };
        let limit = Duration::from_secs(what.freeze_limit);
        let freeze = what.freeze.then(|| FreezeChoice { only: what.freeze_only.clone(), limit });
        Ok(TuneRequest { settings, freeze })
    }
}

fn read_settings(file: &Path) -> Result<Vec<Setting>, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::usage(format!("--settings {}: {e}", file.display()));
    let text = std::fs::read(file).map_err(|e| failed(&e))?;
    serde_json::from_slice(&text).map_err(|e| failed(&e))
}

fn usual_state(root: &Path, superuser: bool) -> Result<State, Failure> {
    let (state, home) = (std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
    State::usual(root, superuser, state.as_deref(), home.as_deref()).map_err(Failure::from)
}

impl From<TuneError> for Failure {
    fn from(e: TuneError) -> Failure {
        use TuneError as T;
        let hint = match &e {
            T::NoPlace | T::NotJournalled { .. } => Some("choose another folder with --state FOLDER or TARE_STATE"),
            T::Pending { .. } => Some("restore the machine with: `tare restore`"),
            T::Held { .. } => Some("wait until it ends"),
            T::NotRemoved { .. } => Some("make the folder writable, then run `tare restore` again"),
            _ => None,
        };
        let exit = if matches!(e, T::Interrupted { .. }) { Exit::Interrupted } else { Exit::System };
        Failure { exit, message: e.to_string(), hint: hint.map(str::to_owned) }
    }
}

pub fn tune(args: &TuneArgs) -> Result<Exit, Failure> {
    let access = args.machine.access();
    let request = args.machine.request(&args.what, &access)?;
    let report = if args.dry_run {
        tune::dry_run(&access, &request)
    } else {
        let signals = Signals::install().map_err(Failure::system)?;
        let state = args.machine.state()?;
        tune::tune(access, state, &request, &|| signals.caught().is_some())?.keep()
    };
    if args.json {
        let text = json::pretty(&report).map_err(Failure::system)?;
        print(&format!("{text}\n"));
    } else {
        print(&table(&report, &args.what, args.dry_run, request.settings.len() > 40));
    }
    Ok(exit(&report, &args.what))
}

/// Partial if a setting was refused, or was requested by name and does not exist here.
fn exit(report: &TuneReport, what: &WhatToTune) -> Exit {
    let missing = !what.only.is_empty()
        && (report.items.is_empty() || report.items.iter().any(|i| matches!(i.stand, Stand::NotHere { .. })));
    if report.refused() > 0 || missing { Exit::PARTIAL } else { Exit::Done }
}

/// A line for each setting; of long lists, those that are as recommended are only counted.
fn table(report: &TuneReport, what: &WhatToTune, dry_run: bool, short: bool) -> String {
    let visible = |i: &&TuneItem| !short || i.stand != Stand::AsWanted;
    let rows: Vec<[String; 4]> = report.items.iter().filter(visible).map(|i| row(i, dry_run)).collect();
    let mut text = columns(&rows);
    if let Some(f) = &report.freeze {
        text += &frozen(f, what.freeze_limit, dry_run);
    }
    let summary = if dry_run {
        let n = report.items.iter().filter(|i| i.stand == Stand::Planned).count();
        format!("{n} values would be set, {} are as recommended", report.items.len() - n - unavailable(report))
    } else {
        report.summary()
    };
    text += &format!("{summary}\n");
    if !dry_run && report.changed() {
        text += "undo with: `tare restore`\n";
    }
    text
}

fn unavailable(report: &TuneReport) -> usize {
    let cannot = |i: &&TuneItem| matches!(i.stand, Stand::NotHere { .. } | Stand::Refused { .. });
    report.items.iter().filter(cannot).count()
}

fn row(i: &TuneItem, dry_run: bool) -> [String; 4] {
    let old = i.old.as_deref().unwrap_or("?");
    let change = match &i.stand {
        Stand::AsWanted => old.to_owned(),
        _ => format!("{old} → {}", i.wanted),
    };
    let stand = match &i.stand {
        Stand::Planned if dry_run => i.command.clone(),
        Stand::Planned | Stand::Set => "set".to_owned(),
        Stand::SetAs { value } => format!("set; it reads {value}"),
        Stand::AsWanted => "as recommended".to_owned(),
        Stand::NotHere { why } => format!("not available: {why}"),
        Stand::Refused { why } => format!("refused: {why}"),
    };
    [i.factor.clone(), i.label(), change, stand].map(|t| escape(&t).into_owned())
}

/// Left-aligned columns.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn frozen(f: &freeze::FreezeReport, limit: u64, dry_run: bool) -> String {
    let verb = if dry_run { "would freeze" } else { "frozen" };
    let names = escape(&f.names.join(", ")).into_owned();
    let mut text = format!("{verb} for at most {limit} s (--freeze-limit): {} processes: {names}\n", f.processes);
    for why in &f.refused {
        text += &format!("refused: {}\n", escape(why));
    }
    text
}

/// Tuning around a run.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub struct TuneAround {
    /// Quiet the machine as `tare tune` does, and restore it after the run
    #[arg(long)]
    tune: bool,
    /// With --tune, also freeze other processes
    #[arg(long, requires = "tune")]
    freeze: bool,
    /// With --freeze, thaw when no sample has been taken for SECONDS
    #[arg(long, value_name = "SECONDS", default_value_t = FreezeChoice::LIMIT.as_secs(), requires = "freeze",
          value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    freeze_limit: u64,
    /// Freeze only these processes, by their ids
    #[arg(long, value_name = "PID", value_delimiter = ',', requires = "freeze", hide = true)]
    freeze_only: Option<Vec<i32>>,
    /// With --tune, set only these factors
    #[arg(long = "tune-only", value_name = "NAME", value_delimiter = ',', requires = "tune")]
    only: Vec<String>,
    #[command(flatten)]
    machine: MachineArgs,
}

impl TuneAround {
    /// The machine, for measurements that set factors by themselves.
    pub fn machine(&self) -> &MachineArgs {
        &self.machine
    }

    /// Tunes, if requested, and reports it.
    pub fn begin(&self, signals: &Signals) -> Result<Option<Tuned>, Failure> {
        if !self.tune {
            return Ok(None);
        }
        let (only, freeze, freeze_only) = (self.only.clone(), self.freeze, self.freeze_only.clone());
        let freeze_limit = self.freeze_limit;
        let (access, state) = (self.machine.access(), self.machine.state()?);
        let request = self.machine.request(&WhatToTune { only, freeze, freeze_limit, freeze_only }, &access)?;
        let mut tuned = tune::tune(access, state, &request, &|| signals.caught().is_some())?;
        tuned.rest();
        let report = tuned.report();
        eprintln!("tare: tuned for this run: {}", report.summary());
        for i in &report.items {
            if let Stand::Refused { why } = &i.stand {
                eprintln!("      refused: {}", escape(&format!("{}: {why}", i.factor)));
            }
        }
        for why in report.freeze.iter().flat_map(|f| &f.refused) {
            eprintln!("      refused: {}", escape(why));
        }
        Ok(Some(tuned))
    }

    /// Warns if a run is resumed under other conditions.
    pub fn compare(&self, notes: &[Note]) {
        match (tuning(notes).is_some(), self.tune) {
            (true, false) => eprintln!("tare: warning: the run started with --tune and is resumed without it"),
            (false, true) => eprintln!("tare: warning: the run started without --tune and is resumed with it"),
            _ => {}
        }
    }

    /// Restores what was tuned. A machine that is not as before is a failure, reported after the results.
    pub fn end(tuned: Option<Tuned>) -> Result<(), Failure> {
        let Some(tuned) = tuned else { return Ok(()) };
        if !tuned.report().changed() {
            return Ok(());
        }
        let restored = tuned.restore()?;
        eprintln!("tare: restored: {}", restored.summary());
        for note in &restored.notes {
            eprintln!("      {}", escape(note));
        }
        if restored.is_whole() {
            return Ok(());
        }
        let message = format!("the machine is not fully restored: {}", restored.summary());
        Err(Failure::system(message).hint("show each value with: `tare restore`"))
    }
}

/// Warns if a tuned machine was not restored: journals of this user and of root.
pub fn warn_of_pending() {
    let root = Path::new("/");
    let states = match std::env::var_os("TARE_STATE") {
        Some(folder) => vec![State::at(Path::new(&folder))],
        None => [true, false].iter().filter_map(|superuser| usual_state(root, *superuser).ok()).collect(),
    };
    for pending in states.iter().filter_map(Pending::check) {
        let text = pending.to_string();
        match pending.holder {
            Some(_) => eprintln!("tare: warning: the machine is still tuned: {}", escape(&text)),
            None => {
                eprintln!(
                    "tare: warning: the machine is not restored: {}; restore it with: `tare restore`",
                    escape(&text)
                )
            }
        }
    }
}
