//! The machine's factors: one table, in which each has a reader, a wanted state, a reason with its source, the EMP
//! step it belongs to, what is needed to change it, and a setter where there is one.
//!
//! EMP 4.1 (daemons; table XXVII), 4.2 (NTP), 4.3 (clock speed), 4.4 (kernel); SEDONA step A; what peers set.

mod changes;
mod clock_speed;
mod daemons;
mod isolation;
mod kernel;
mod load;
mod machine;
mod memory;
mod time;
mod virtualization;

pub use changes::changes;
pub use daemons::{NON_CRITICAL, NON_CRITICAL_UNITS};
pub use machine::{Busy, Machine, Process, format_cpu_list};

use crate::setting::Setting;
use std::path::Path;
use tare_core::reading::Absent;
use tare_core::run::{Factor, Standing};

/// Where a factor belongs: EMP's first four steps, then what the paper's machine did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// EMPv1.
    Daemons,
    /// EMPv2.
    Time,
    /// EMPv3.
    ClockSpeed,
    /// EMPv4.
    Kernel,
    /// What else may use the measured CPUs.
    Isolation,
    /// Paging and what the kernel does to memory by itself.
    Memory,
    /// Limits that no setting lifts.
    Virtual,
    /// What the machine is doing now.
    Load,
}

impl Group {
    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Daemons => "v1 daemons",
            Group::Time => "v2 time",
            Group::ClockSpeed => "v3 clock speed",
            Group::Kernel => "v4 kernel",
            Group::Isolation => "isolation",
            Group::Memory => "memory",
            Group::Virtual => "virtual machine",
            Group::Load => "load",
        }
    }
}

/// What it takes to change a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Nothing but doing it.
    None,
    /// Root (the file's or the unit's owner).
    Root,
    /// A kernel parameter or another kernel, hence a reboot.
    Reboot,
    /// Whoever runs the hypervisor or the container.
    Host,
}

impl Privilege {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Privilege::None => "none",
            Privilege::Root => "root",
            Privilege::Reboot => "root, and a reboot",
            Privilege::Host => "the host's owner",
        }
    }
}

/// How two readings of a factor are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// Changes all the time, or has no value.
    Never,
    /// Any difference is a change.
    Exact,
    /// A count that should stay; in words what it counts.
    Count(&'static str),
    /// A time in ns that should stay, up to a limit in ns; what it is when it does not.
    Span(&'static str, i64),
}

/// What a reader found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    standing: Standing,
    text: String,
    value: Option<String>,
    fix: Option<String>,
}

impl Finding {
    fn of(standing: Standing, text: impl Into<String>) -> Finding {
        Finding { standing, text: text.into(), value: None, fix: None }
    }

    fn held(text: impl Into<String>) -> Finding {
        Finding::of(Standing::Held, text)
    }

    fn wrong(text: impl Into<String>) -> Finding {
        Finding::of(Standing::NotHeld, text)
    }

    fn unknown(text: impl Into<String>) -> Finding {
        Finding::of(Standing::Unknown, text)
    }

    /// Held if `good`.
    fn when(good: bool, text: impl Into<String>) -> Finding {
        Finding::of(if good { Standing::Held } else { Standing::NotHeld }, text)
    }

    fn absent(why: &Absent) -> Finding {
        Finding::unknown(why.to_string())
    }

    fn value(mut self, value: impl ToString) -> Finding {
        self.value = Some(value.to_string());
        self
    }

    fn fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = Some(fix.into());
        self
    }
}

/// A reader's result; `Err` is why it could not read.
type Found = Result<Finding, Absent>;

/// Reads a factor.
type Reader = fn(&Machine) -> Found;
/// What to set for it.
type Setter = fn(&Machine) -> Vec<Setting>;

/// A row of the table.
pub struct FactorSpec {
    /// Short name, as in `--only`.
    pub name: &'static str,
    /// Where it belongs.
    pub group: Group,
    /// The EMP step that it decides, 1 to 4; 0 if it decides none.
    pub step: u8,
    /// Helps some measurements only, or cannot be had everywhere: doctor advises it and counts it as wrong only when
    /// strict; tune sets it only when it is named.
    pub optional: bool,
    /// The state that is wanted.
    pub wanted: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// What is needed to change it.
    pub privilege: Privilege,
    pub(crate) reader: Reader,
    pub(crate) setter: Option<Setter>,
    pub(crate) compare: Compare,
}

impl FactorSpec {
    /// A row that decides no step and that root may set; its texts are for the caller to fill in.
    const fn of(group: Group, name: &'static str, reader: Reader, setter: Option<Setter>) -> FactorSpec {
        FactorSpec {
            name,
            group,
            step: 0,
            optional: false,
            wanted: "",
            reason: "",
            source: "",
            privilege: Privilege::Root,
            reader,
            setter,
            compare: Compare::Exact,
        }
    }

    /// Whether there is a setter for it.
    pub fn settable(&self) -> bool {
        self.setter.is_some()
    }

    /// Reads it.
    pub fn read(&self, machine: &Machine) -> Factor {
        let found = (self.reader)(machine).unwrap_or_else(|why| Finding::absent(&why));
        let fix = (found.standing == Standing::NotHeld).then(|| self.way_out(machine, found.fix)).flatten();
        Factor {
            step: self.step,
            name: self.name.to_owned(),
            standing: found.standing,
            finding: found.text,
            value: found.value,
            fix,
        }
    }

    /// How to put it right, a way a line: by tune where it can be set, and by hand.
    fn way_out(&self, machine: &Machine, by_hand: Option<String>) -> Option<String> {
        let tune = (!self.settings(machine).is_empty()).then(|| format!("tare tune --only {}", self.name));
        let ways: Vec<String> = tune.into_iter().chain(by_hand).collect();
        (!ways.is_empty()).then(|| ways.join("\n"))
    }

    /// What would have to be set, whether or not it already is so.
    pub fn settings(&self, machine: &Machine) -> Vec<Setting> {
        self.setter.map(|s| s(machine)).unwrap_or_default()
    }
}

/// The parts of the table, in its order.
const PARTS: &[&[FactorSpec]] = &[
    daemons::ROWS,
    time::ROWS,
    clock_speed::ROWS,
    kernel::ROWS,
    isolation::ROWS,
    memory::ROWS,
    virtualization::ROWS,
    load::ROWS,
];

/// The whole table.
pub fn table() -> impl Iterator<Item = &'static FactorSpec> {
    PARTS.iter().copied().flatten()
}

/// A row by its name.
pub fn find(name: &str) -> Option<&'static FactorSpec> {
    table().find(|f| f.name == name)
}

/// A name that is not in the table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no factor is called `{0}`")]
pub struct UnknownFactor(pub String);

/// The rows of these names, in the table's order; all if there are none.
///
/// # Errors
/// The first name that is not in the table.
pub fn select(names: &[String]) -> Result<Vec<&'static FactorSpec>, UnknownFactor> {
    if let Some(unknown) = names.iter().find(|n| find(n).is_none()) {
        return Err(UnknownFactor(unknown.clone()));
    }
    Ok(table().filter(|f| names.is_empty() || names.iter().any(|n| n == f.name)).collect())
}

/// What to set so that the machine is as wanted, in an order that works (and can be undone in reverse): of these
/// factors, or, without names, of all that are not optional. What already is as wanted may be among it.
///
/// # Errors
/// The first name that is not in the table.
pub fn settings(machine: &Machine, only: &[String]) -> Result<Vec<Setting>, UnknownFactor> {
    let rows = select(only)?.into_iter().filter(|f| !only.is_empty() || !f.optional);
    Ok(rows.flat_map(|f| f.settings(machine)).collect())
}

/// Reads all factors of the machine whose files are below `root`, without waiting; what has no file (the clocks, the
/// hardware counters) is the running machine's.
pub fn read(root: &Path) -> Vec<Factor> {
    read_all(&Machine::now(root))
}

/// Reads all factors.
pub fn read_all(machine: &Machine) -> Vec<Factor> {
    table().map(|f| f.read(machine)).collect()
}
