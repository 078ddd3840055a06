//! Kernel programs and their maps: the few commands of bpf(2) that are needed to load them.

use crate::{SysError, SysResult};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// include/uapi/linux/bpf.h
const BPF_MAP_CREATE: i64 = 0;
const BPF_PROG_LOAD: i64 = 5;
const BPF_RAW_TRACEPOINT_OPEN: i64 = 17;
const BPF_BTF_LOAD: i64 = 18;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_RAW_TP: u32 = 23;
/// What is said of the program's states, and statistics.
const LOG_LEVEL: u32 = 1 | 4;
const NAME_BYTES: usize = 16;

/// The beginnings of `union bpf_attr`; the kernel takes missing fields as zero.
#[repr(C)]
#[derive(Default)]
struct MapAttributes {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; NAME_BYTES],
    padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct TypesAttributes {
    btf: u64,
    log: u64,
    btf_size: u32,
    log_size: u32,
    log_level: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct ProgramAttributes {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    expected_attach_type: u32,
    btf_fd: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    attach_btf_id: u32,
}

#[repr(C)]
struct TracepointAttributes {
    name: u64,
    program_fd: u32,
    padding: u32,
}

/// Bytes of an object's name in the kernel, which may only hold letters, digits, `_` and `.`, and is cut off.
fn name_of(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    for (to, from) in bytes.iter_mut().take(NAME_BYTES - 1).zip(name.bytes()) {
        *to = from;
    }
    bytes
}

fn address<T>(data: &[T]) -> u64 {
    data.as_ptr().addr() as u64
}

fn length<T>(data: &[T]) -> u32 {
    u32::try_from(data.len()).unwrap_or(u32::MAX)
}

/// Calls bpf(2).
///
/// # Safety
/// All addresses in `attributes` must be valid for what the command does with them.
unsafe fn call<T>(command: i64, attributes: &T, what: impl Fn() -> String) -> SysResult<OwnedFd> {
    // A signal that is pending ends a long verification (Linux 5.0).
    const ATTEMPTS: u32 = 10;
    let mut raised = None;
    for attempt in 1.. {
        // SAFETY: the attributes are as long as is said; the rest is the caller's.
        let fd = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
        if fd >= 0 {
            // SAFETY: a new descriptor, which has no other owner. Descriptors are ints.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        }
        let error = SysError::last(what());
        match error.errno() {
            Some(libc::EAGAIN) if attempt < ATTEMPTS => {}
            Some(libc::EPERM) if raised.is_none() => {
                raised = LockedMemory::raise();
                if raised.is_none() {
                    return Err(error);
                }
            }
            _ => return Err(error),
        }
    }
    unreachable!("the loop ends by returning")
}

/// The limit of locked memory, without effect as long as this lives.
///
/// Before Linux 5.11 the memory of maps and programs counts against it, and EPERM says that it was reached. What counts is the limit
/// at the call; the programs that tare starts get the one that tare was started with.
struct LockedMemory(libc::rlimit);

impl LockedMemory {
    /// `None` if there is no limit, or it may not be raised.
    fn raise() -> Option<LockedMemory> {
        // SAFETY: all-zero is a valid rlimit; the calls write to it, or read it.
        unsafe {
            let mut before: libc::rlimit = std::mem::zeroed();
            let none = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
            let limited = libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut before) == 0 && before.rlim_cur != none.rlim_cur;
            (limited && libc::setrlimit(libc::RLIMIT_MEMLOCK, &none) == 0).then_some(LockedMemory(before))
        }
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // SAFETY: a valid rlimit.
        unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &self.0) };
    }
}

/// A map to be made: the numbers of `enum bpf_map_type` and of its flags, sizes in bytes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "as in bpf(2)")]
pub struct MapSpec<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
}

pub fn create_map(map: MapSpec<'_>) -> SysResult<OwnedFd> {
    let attributes = MapAttributes {
        map_type: map.kind,
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
        map_flags: map.flags,
        name: name_of(map.name),
        ..MapAttributes::default()
    };
    // SAFETY: there are no addresses.
    unsafe { call(BPF_MAP_CREATE, &attributes, || format!("BPF map `{}`", map.name)) }
}

/// Hands an object's types (BTF) to the kernel.
pub fn load_types(btf: &[u8]) -> SysResult<OwnedFd> {
    let attributes = TypesAttributes { btf: address(btf), btf_size: length(btf), ..TypesAttributes::default() };
    // SAFETY: the types are only read, and as long as is said.
    unsafe { call(BPF_BTF_LOAD, &attributes, || "BPF types".to_owned()) }
}

/// What a program is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// One tracepoint, which the kernel's types describe under this id.
    Typed(u32),
    /// Any tracepoints, by their names.
    Raw,
}

/// A program to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    pub name: &'a str,
    /// What it is attached to.
    pub kind: ProgramKind,
    pub instructions: &'a [[u8; 8]],
    /// As the kernel wants it.
    pub license: &'a CStr,
    /// From [`load_types`].
    pub types: BorrowedFd<'a>,
    /// Where its functions begin and of which types they are: records of this size.
    pub functions: (&'a [u8], u32),
}

/// Has a program verified and loaded. The verifier's words are left in `log`, which may be empty.
pub fn load_program(program: ProgramSpec<'_>, log: &mut [u8]) -> SysResult<OwnedFd> {
    let (functions, function_size) = program.functions;
    let mut attributes = ProgramAttributes {
        program_type: BPF_PROG_TYPE_RAW_TRACEPOINT,
        instruction_count: length(program.instructions),
        instructions: address(program.instructions),
        license: program.license.as_ptr().addr() as u64,
        name: name_of(program.name),
        btf_fd: program.types.as_raw_fd().cast_unsigned(),
        function_size,
        functions: address(functions),
        function_count: length(functions).checked_div(function_size).unwrap_or(0),
        ..ProgramAttributes::default()
    };
    if let ProgramKind::Typed(id) = program.kind {
        attributes.program_type = BPF_PROG_TYPE_TRACING;
        attributes.expected_attach_type = BPF_TRACE_RAW_TP;
        attributes.attach_btf_id = id;
    }
    if !log.is_empty() {
        attributes.log_level = LOG_LEVEL;
        attributes.log_size = length(log);
        attributes.log = log.as_mut_ptr().expose_provenance() as u64;
    }
    // SAFETY: all addresses are of borrowed memory of the said lengths; only the log is written to.
    unsafe { call(BPF_PROG_LOAD, &attributes, || format!("BPF program `{}`", program.name)) }
}

/// Attaches a program to a tracepoint: to the one of its type, or, if it is of none, to the one of this name. It is detached when
/// what is returned is closed.
///
/// # Errors
/// The kernel's; ENOENT if it has no such tracepoint.
pub fn attach(program: BorrowedFd<'_>, tracepoint: Option<&CStr>) -> SysResult<OwnedFd> {
    let attributes = TracepointAttributes {
        name: tracepoint.map_or(0, |name| name.as_ptr().addr() as u64),
        program_fd: program.as_raw_fd().cast_unsigned(),
        padding: 0,
    };
    // SAFETY: the name ends with its NUL.
    unsafe {
        call(BPF_RAW_TRACEPOINT_OPEN, &attributes, || {
            format!("tracepoint {}", tracepoint.map_or_else(|| "of the program".into(), CStr::to_string_lossy))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_lie_as_in_the_kernels_header() {
        use std::mem::offset_of;
        assert_eq!((offset_of!(MapAttributes, name), size_of::<MapAttributes>()), (28, 48));
        assert_eq!((offset_of!(TypesAttributes, btf_size), size_of::<TypesAttributes>()), (16, 32));
        assert_eq!((offset_of!(ProgramAttributes, log), offset_of!(ProgramAttributes, name)), (32, 48));
        assert_eq!((offset_of!(ProgramAttributes, functions), offset_of!(ProgramAttributes, lines)), (80, 96));
        assert_eq!((offset_of!(ProgramAttributes, attach_btf_id), size_of::<ProgramAttributes>()), (108, 112));
        assert_eq!(size_of::<TracepointAttributes>(), 16);
    }

    #[test]
    fn names_are_cut_off_and_end() {
        assert_eq!(&name_of("account_wakeup_new"), b"account_wakeup_\0");
        assert_eq!(&name_of("tasks")[..6], b"tasks\0");
    }
}
