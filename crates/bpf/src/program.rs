//! What the loaders of all kernel programs share.

use aya::maps::Map;
use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf};
use std::os::fd::{AsFd, AsRawFd};
use tarebench_core::base::reading::Absent;

const EPERM: i32 = 1;

/// A kernel program cannot be used here.
#[derive(Clone, Debug, thiserror::Error)]
#[error("kernel program `{program}`: {cause}")]
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
            text = format!("{text}: {e}");
            next = e.source();
        }
        // The verifier's log is for developers.
        let detail = text.clone();
        let text = text.lines().next().unwrap_or_default().to_owned();
        BpfError { program, cause: text, denied, detail }
    }

    /// All that is known, the verifier's log too: for developers.
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

/// An object must lie aligned for the ELF reader.
#[repr(align(8))]
pub(crate) struct Aligned<const N: usize>(pub(crate) [u8; N]);

/// The running kernel's types (BTF), which the loaders need to find its tracepoints and the fields of its records.
pub struct KernelTypes(pub(crate) Btf);

impl KernelTypes {
    /// Reads them, which takes some 50 ms and 50 MB; so they are only read where programs may be loaded, and are best
    /// dropped when they are.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), or on kernels without BTF.
    pub fn read() -> Result<KernelTypes, BpfError> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|l| u64::from_str_radix(l.strip_prefix("CapEff:")?.trim(), 16).ok());
        if effective.is_some_and(|caps| !may_trace(caps)) {
            let cause = "a capability is missing".to_owned();
            return Err(BpfError { program: "types of the kernel", detail: cause.clone(), cause, denied: true });
        }
        Btf::from_sys_fs().map(KernelTypes).map_err(|e| BpfError::new("types of the kernel", &e))
    }
}

/// Whether a set of capabilities suffices (capabilities(7)): CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN.
fn may_trace(capabilities: u64) -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON: u64 = 1 << 38;
    const BPF: u64 = 1 << 39;
    capabilities & SYS_ADMIN != 0 || capabilities & (PERFMON | BPF) == PERFMON | BPF
}

/// Loads a program of an object and attaches it to a tracepoint.
pub(crate) fn attach(ebpf: &mut Ebpf, program: &'static str, tracepoint: &str, btf: &Btf) -> Result<(), BpfError> {
    let found = ebpf.program_mut(program).ok_or_else(|| missing(program))?;
    let failed = |e: ProgramError| BpfError::new(program, &e);
    let found: &mut BtfTracePoint = found.try_into().map_err(failed)?;
    found.load(tracepoint, btf).map_err(failed)?;
    found.attach().map_err(failed)?;
    Ok(())
}

/// A field of what the kernel tells of a loaded program, 0 if it does not tell it; `None` if it tells nothing.
pub(crate) fn field_of(program: &Program, key: &str) -> Option<u64> {
    let fd = program.fd().ok()?;
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    Some(line.and_then(|l| l.trim_start_matches(':').trim().parse().ok()).unwrap_or(0))
}

/// How often the kernel has left programs of an object out, as they ran already on that CPU (Linux 5.12).
pub(crate) fn missed(ebpf: &Ebpf) -> u64 {
    ebpf.programs().filter_map(|(_, p)| field_of(p, "recursion_misses")).sum()
}

/// The kernel's side knows processes by their ids, and times by its clock, as they are outside of all namespaces.
///
/// # Errors
/// In a container with process ids or clocks of its own.
pub fn own_namespaces() -> Result<(), Absent> {
    // PROC_PID_INIT_INO and PROC_TIME_INIT_INO, include/linux/proc_ns.h.
    for (name, initial) in [("pid", "pid:[4026531836]"), ("time", "time:[4026531834]")] {
        let found = std::fs::read_link(format!("/proc/self/ns/{name}"));
        if found.is_ok_and(|n| n.as_os_str() != initial) {
            let why = format!("tare is in a {name} namespace of its own (a container); on the host it can be traced");
            return Err(Absent::NotSupported(why));
        }
    }
    Ok(())
}

pub(crate) fn take_map(ebpf: &mut Ebpf, name: &'static str) -> Result<Map, BpfError> {
    ebpf.take_map(name).ok_or_else(|| missing(name))
}

fn missing(name: &'static str) -> BpfError {
    BpfError { program: name, cause: "it is not in its object".to_owned(), denied: false, detail: String::new() }
}
