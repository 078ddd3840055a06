//! What a row of the table of factors is made of.

use crate::factors::machine::FactorMachine;
use crate::setting::Setting;
use tarebench_core::base::reading::Absent;
use tarebench_core::machine::data::{Factor, Standing};

/// Where a factor belongs: EMP's first four steps, then what the paper's machine did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactorGroup {
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

impl FactorGroup {
    pub fn title(self) -> &'static str {
        match self {
            FactorGroup::Daemons => "v1 daemons",
            FactorGroup::Time => "v2 time",
            FactorGroup::ClockSpeed => "v3 clock speed",
            FactorGroup::Kernel => "v4 kernel",
            FactorGroup::Isolation => "isolation",
            FactorGroup::Memory => "memory",
            FactorGroup::Virtual => "virtual machine",
            FactorGroup::Load => "load",
        }
    }
}

/// What is needed to change a factor.
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
pub struct FactorValue {
    pub(crate) standing: Standing,
    pub(crate) text: String,
    pub(crate) value: Option<String>,
    pub(crate) fix: Option<String>,
}

impl FactorValue {
    pub(crate) fn of(standing: Standing, text: impl Into<String>) -> FactorValue {
        FactorValue { standing, text: text.into(), value: None, fix: None }
    }

    pub(crate) fn held(text: impl Into<String>) -> FactorValue {
        FactorValue::of(Standing::Held, text)
    }

    pub(crate) fn wrong(text: impl Into<String>) -> FactorValue {
        FactorValue::of(Standing::NotHeld, text)
    }

    pub(crate) fn unknown(text: impl Into<String>) -> FactorValue {
        FactorValue::of(Standing::Unknown, text)
    }

    /// Held if `good`.
    pub(crate) fn when(good: bool, text: impl Into<String>) -> FactorValue {
        FactorValue::of(if good { Standing::Held } else { Standing::NotHeld }, text)
    }

    pub(crate) fn absent(why: &Absent) -> FactorValue {
        FactorValue::unknown(why.to_string())
    }

    pub(crate) fn value(mut self, value: impl ToString) -> FactorValue {
        self.value = Some(value.to_string());
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> FactorValue {
        self.fix = Some(fix.into());
        self
    }
}

/// A reader's result; `Err` is why it could not read.
pub(crate) type FoundFactor = Result<FactorValue, Absent>;

pub(crate) type FactorReader = fn(&FactorMachine) -> FoundFactor;

/// What to set for it.
pub(crate) type Setter = fn(&FactorMachine) -> Vec<Setting>;

/// A row of the table.
pub struct FactorSpec {
    /// Short name, as in `--only`.
    pub name: &'static str,
    pub group: FactorGroup,
    /// The EMP step that it decides, 1 to 4; 0 if it decides none.
    pub step: u8,
    /// Helps some measurements only, or cannot be had everywhere: doctor advises it and counts it as wrong only when
    /// strict; tune sets it only when it is named.
    pub optional: bool,
    /// The state that is wanted.
    pub wanted: &'static str,
    pub reason: &'static str,
    pub source: &'static str,
    /// What is needed to change it.
    pub privilege: Privilege,
    pub(crate) reader: FactorReader,
    pub(crate) setter: Option<Setter>,
    pub(crate) compare: Compare,
}

impl FactorSpec {
    /// A row that decides no step and that root may set; its texts are for the caller to fill in.
    pub(crate) const fn of(
        group: FactorGroup,
        name: &'static str,
        reader: FactorReader,
        setter: Option<Setter>,
    ) -> FactorSpec {
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

    /// Whether `tune` sets it with the others of its kind.
    pub fn settable(&self) -> bool {
        self.setter.is_some() && !self.only_when_named()
    }

    /// Whether `tune` sets it only if it is named, though it isn't advice: an NTP daemon that somebody stopped may step the clock
    /// when it starts, in the middle of a series.
    pub(crate) fn only_when_named(&self) -> bool {
        self.name == "ntp"
    }

    pub fn read(&self, machine: &FactorMachine) -> Factor {
        let found = (self.reader)(machine).unwrap_or_else(|why| FactorValue::absent(&why));
        let wrong = found.standing == Standing::NotHeld;
        Factor {
            step: self.step,
            name: self.name.to_owned(),
            standing: found.standing,
            finding: found.text,
            value: found.value,
            fix: found.fix.filter(|_| wrong),
            settable: wrong && !self.settings(machine).is_empty(),
        }
    }

    /// What would have to be set, whether or not it already is so.
    pub fn settings(&self, machine: &FactorMachine) -> Vec<Setting> {
        self.setter.map(|s| s(machine)).unwrap_or_default()
    }
}
