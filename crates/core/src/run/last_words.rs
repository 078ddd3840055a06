//! What a program wrote last before it failed.

/// The last lines that a failed execution wrote to its standard error. They are not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWords {
    /// Index of the program in the plan.
    pub series: u32,
    /// It was a warm-up.
    pub warmup: bool,
    /// Number of the execution in its phase, from 0.
    pub index: u32,
    pub text: String,
}
