//! Names of signals.

/// A signal by its number; shown by its name where it has one, as `SIGSEGV`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(pub i32);

/// Names by number, from 1 on, of x86-64 and aarch64 (signal(7)).
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

impl std::fmt::Display for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = usize::try_from(self.0).ok().and_then(|n| n.checked_sub(1));
        match at.and_then(|at| NAMES.get(at)) {
            Some(name) => write!(f, "SIG{name}"),
            None => write!(f, "signal {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        let all = [1, 9, 11, 15, 21, 25, 31, 0, 34, -1].map(|n| Signal(n).to_string());
        let wanted = [
            "SIGHUP",
            "SIGKILL",
            "SIGSEGV",
            "SIGTERM",
            "SIGTTIN",
            "SIGXFSZ",
            "SIGSYS",
            "signal 0",
            "signal 34",
            "signal -1",
        ];
        assert_eq!(all, wanted);
    }
}
