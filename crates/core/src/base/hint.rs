//! What a reader can do about something. Only the command knows its options, so it supplies the words.

/// Something that the reader can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Resume the run of this number.
    Resume(i64),
    /// Interleave the programs that are compared.
    Interleave,
    /// Compare the programs by executions alone, without duets.
    CompareAlone,
    /// Make duets of programs that have none unasked.
    MakeDuets,
    /// State that the programs' setup commands are independent.
    IndependentSetups,
    /// See what a failing program prints, or accept its failures.
    Failures,
    /// Quiet the machine and measure again, or take more samples.
    QuietMachine,
    /// Take at least this number of samples.
    Samples(u32),
    /// Let a measurement that decides itself how many samples it takes have up to this number.
    AtMost(u32),
    /// Let the number of samples grow further, or quiet the machine.
    MoreForPrecision,
    /// Correct for the machine's speed, or compare programs by duets, which its changes affect alike.
    SpeedChanges,
    /// Take so many warm-ups more.
    WarmUps(u32),
    /// See in the plots of a page when each sample ran.
    SeeSamples,
    /// Let leftover processes continue to run.
    LeaveRunning,
    /// Make a profile of this machine.
    LearnProfile,
    /// List the profiles of the store.
    ListProfiles,
    /// See whether daemons that are missing from the profile of this name ran in recent runs.
    CheckProfile(String),
    /// Choose s of check 2.
    Sigma,
    /// Set the factor of this name.
    SetFactor(String),
    /// Set all factors that can be set, and undo it later.
    SetFactors,
    /// See what is recommended of each factor, and why.
    ExplainFactors,
    /// Omit shorter periods of a trace.
    Threshold,
    /// Connect groups of builds by a gate between them.
    ConnectBuilds,
    /// Let probes pause programs while the machine is busy, and correct their times.
    GateRun,
    /// The same, in a few words, after a run that did not.
    Quiet,
    /// Let probes run, so that the machine's states become known.
    LearnStates,
    /// Give tare what probes need.
    RunProbes,
    /// Name the CPUs that a program uses, so that all of them are probed.
    ProbeCpus,
    /// Compare by elapsed time.
    CompareElapsed,
    /// Measure at another time, or compare by duets, which need no quiet machine.
    OtherTimeOrDuet,
    /// Take more samples, or compare by duets.
    MoreSamplesOrDuet,
    WithoutGate,
    LongerPauses,
}
