//! How long the arguments and variables of a program may be.

/// The longest single argument or variable (MAX_ARG_STRLEN, include/uapi/linux/binfmts.h), of pages of 4 KiB.
pub(crate) const LONGEST_ARGUMENT: usize = 128 << 10;

/// What an argument or variable takes of [`argument_limit`]: its bytes, its end and its address (execve(2)).
pub fn argument_bytes(word: &[u8]) -> u64 {
    (word.len() + 1 + size_of::<usize>()) as u64
}

/// What arguments and environment of a program may take together: a quarter of the limit of its stack, but at most 6 MiB and at least
/// 128 KiB (execve(2)).
pub fn argument_limit() -> u64 {
    // SAFETY: no preconditions.
    let limit = unsafe { libc::sysconf(libc::_SC_ARG_MAX) };
    u64::try_from(limit).unwrap_or(128 << 10).clamp(128 << 10, 6 << 20)
}
