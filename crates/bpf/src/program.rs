//! Why a kernel program cannot be used, and where none can be used.

use tarebench_core::base::reading::Absent;

const EPERM: i32 = 1;

/// A kernel program cannot be used here.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{cause}", if program.is_empty() { String::new() } else { format!("kernel program `{program}`: ") })]
pub struct BpfError {
    program: &'static str,
    cause: String,
    denied: bool,
    /// The whole text, with the verifier's log.
    detail: String,
}

impl BpfError {
    pub(crate) fn new(program: &'static str, cause: &dyn std::error::Error) -> BpfError {
        // The system's word is at the end of the chain.
        let mut text = cause.to_string();
        let mut denied = false;
        let mut next = cause.source();
        while let Some(e) = next {
            if let Some(io) = e.downcast_ref::<std::io::Error>() {
                // EACCES is what the verifier says of programs.
                denied |= io.raw_os_error() == Some(EPERM);
            }
            // Some errors contain it already.
            let more = e.to_string();
            if !text.ends_with(&more) {
                text = format!("{text}: {more}");
            }
            next = e.source();
        }
        // The verifier's log is for developers.
        let detail = text.clone();
        let text = text.lines().next().unwrap_or_default().to_owned();
        BpfError { program, cause: text, denied, detail }
    }

    /// For a reason other than a system error.
    pub(crate) fn of(program: &'static str, cause: String) -> BpfError {
        BpfError { program, detail: cause.clone(), cause, denied: false }
    }

    pub(crate) fn denied(program: &'static str, cause: &str) -> BpfError {
        BpfError { denied: true, ..BpfError::of(program, cause.to_owned()) }
    }

    /// The kernel refuses the program; `log` is what its verifier says, of which the last word is the reason.
    pub(crate) fn refused(program: &'static str, cause: &dyn std::error::Error, log: &str) -> BpfError {
        let error = BpfError::new(program, cause);
        let cause = match reason(log) {
            Some(reason) => format!("{}: {reason}", error.cause),
            None => error.cause,
        };
        BpfError { cause, detail: format!("{}\n{log}", error.detail), ..error }
    }

    /// The whole text with the verifier's log, for developers.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// As the reason why a reading is absent.
    pub fn absent(&self) -> Absent {
        match self.denied {
            true => Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".into()),
            false => Absent::NotSupported(self.to_string()),
        }
    }
}

/// The reason in a verifier's log: its last line but for statistics.
fn reason(log: &str) -> Option<&str> {
    const STATISTICS: [&str; 3] = ["processed ", "verification time ", "stack depth "];
    let said = |line: &&str| !line.trim().is_empty() && !STATISTICS.iter().any(|s| line.starts_with(s));
    log.lines().rev().find(said).map(str::trim)
}

/// The kernel's side knows processes by their ids, and times by its clock, as they are outside of all namespaces.
///
/// # Errors
/// In a container with separate process ids or clocks.
pub fn own_namespaces() -> Result<(), Absent> {
    // PROC_PID_INIT_INO and PROC_TIME_INIT_INO, include/linux/proc_ns.h.
    for (name, initial) in [("pid", "pid:[4026531836]"), ("time", "time:[4026531834]")] {
        let found = std::fs::read_link(format!("/proc/self/ns/{name}"));
        if found.is_ok_and(|n| n.as_os_str() != initial) {
            let why = format!("tare runs in a separate {name} namespace (a container); tracing works on the host");
            return Err(Absent::NotSupported(why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_the_verifiers_reason() {
        let log = "0: (b7) r0 = 0\n1: (85) call bpf_task_pt_regs#175\ninvalid func unknown#175\n\
                   verification time 45839 usec\nstack depth 0+80\nprocessed 931 insns (limit 1000000)\n\n";
        let error = std::io::Error::from_raw_os_error(22);
        let refused = BpfError::refused("account_switch", &error, log);
        assert!(refused.to_string().ends_with(": invalid func unknown#175"), "{refused}");
        assert!(refused.detail().contains("r0 = 0"));
        // Where the verifier says nothing, the system's error is all that there is.
        let silent = BpfError::refused("account_switch", &error, "\n");
        assert!(silent.to_string().ends_with("(os error 22)"), "{silent}");
    }
}
