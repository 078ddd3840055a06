//! The seam between the run loop and the machine.

use crate::RunError;
use crate::hooks::HookError;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, DuetSlot};
use tarebench_core::run::schedule::Slot;
use tarebench_core::sample::data::Sample;

/// The particulars of one sample.
pub struct SampleRequest<'a> {
    /// Which series, phase and number.
    pub slot: Slot,
    /// Position in the run.
    pub seq: u32,
    /// Variables of this sample, `KEY=value`.
    pub environment: &'a [Vec<u8>],
    /// Length of the padding variable among them.
    pub padding: u32,
}

/// The particulars of one duet.
pub struct DuetRequest<'a> {
    /// Which programs, and which block.
    pub slot: DuetSlot,
    /// Position in the run.
    pub seq: u32,
    /// Variables of both programs, `KEY=value`.
    pub environments: [&'a [Vec<u8>]; 2],
    /// Length of the padding variable among them.
    pub padding: u32,
    /// Process time of each alone, by which the CPU is shared.
    pub alone: [Nanos; 2],
    /// Elapsed time of each alone, by which they take turns, if they are gangs.
    pub gang: Option<[Nanos; 2]>,
    /// Memory that both need together, bytes, if it is known.
    pub memory: Option<u64>,
}

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookKind {
    /// Before the first sample of its program.
    Setup,
    Prepare,
    Conclude,
    /// After the last sample of its program.
    Cleanup,
}

impl HookKind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            HookKind::Setup => "setup",
            HookKind::Prepare => "prepare",
            HookKind::Conclude => "conclude",
            HookKind::Cleanup => "cleanup",
        }
    }
}

/// A hook to run.
pub struct Hook<'a> {
    pub kind: HookKind,
    /// Index of its program in the plan.
    pub series: u32,
    pub script: &'a str,
    /// Variables of the sample that it belongs to, `KEY=value`.
    pub environment: &'a [Vec<u8>],
}

/// Takes samples and runs the hooks around them. The real one is [`crate::machine::MachineSampler`]; a fake drives the
/// run loop in its tests.
pub trait Sampler {
    /// Takes one sample. The second value is the signal that asked tare to end during the sample.
    ///
    /// # Errors
    /// Only what makes further measuring pointless; a program that fails is an outcome.
    fn take(&mut self, request: &SampleRequest<'_>) -> Result<(Sample, Option<i32>), RunError>;

    /// Runs two programs together. The second value is the signal that asked tare to end meanwhile.
    ///
    /// # Errors
    /// Only what makes further measuring pointless; a program that fails is an outcome.
    fn take_duet(&mut self, request: &DuetRequest<'_>) -> Result<(Duet, Option<i32>), RunError>;

    /// Whether the programs' arguments and environment leave room for the padding variable: beyond the system's limit a program
    /// cannot be started.
    fn has_room_for_padding(&self) -> bool {
        true
    }

    /// What the execution of the last sample wrote last to its standard error, if it failed and that is known.
    fn last_words(&mut self) -> Option<String> {
        None
    }

    /// Runs a hook and waits for it.
    fn hook(&mut self, hook: &Hook<'_>) -> Result<(), HookError>;

    /// The clock that time limits are read from; it never goes back.
    fn now(&self) -> Nanos;

    /// The signal that asked tare to end, if one was received.
    fn interrupted(&self) -> Option<i32>;
}
