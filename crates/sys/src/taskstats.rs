//! Taskstats: per-process statistics by generic netlink, on request and at every exit.
//!
//! tare has its own parser because the records are a kernel structure, not netlink attributes, and because 20,000 of
//! them must be read between two samples without allocating for each. Layout: `linux/taskstats.h`, append-only, so
//! fields are read by offset and a shorter structure of an older kernel simply lacks the later ones.

use crate::procfs::Comm;
use crate::{SysError, SysResult};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use tarebench_core::base::units::Nanos;

/// One record: of a thread, or of a whole process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskstatsRecord {
    /// It is the sum over a process (AGGR_TGID); otherwise of one thread.
    pub whole_process: bool,
    /// Thread id, or process id where `whole_process`.
    pub id: i32,
    /// Process id, where the kernel reports it (version 12, Linux 5.19); else `None`.
    pub tgid: Option<i32>,
    /// Parent process; 0 in records of whole processes.
    pub ppid: i32,
    /// Command name; empty in records of whole processes.
    pub comm: Comm,
    /// CPU time by the scheduler's clock. At an exit it lacks the time since the last tick or switch.
    pub cpu: Nanos,
    /// Tick-sampled user time plus system time.
    pub interval_counted: Nanos,
    /// CLOCK_REALTIME at the start of the task, resolution 1 s; 0 in records of whole processes.
    pub began: Nanos,
    /// Wall-clock time since the start of the task, resolution 1 µs; 0 in records of whole processes.
    pub elapsed: Nanos,
    /// Peak resident memory of its address space, bytes; 0 in records of whole processes.
    pub peak_memory: u64,
    /// The task was the last of its process (version 12).
    pub last: bool,
}

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const CMD_ATTR_TGID: u16 = 2;
const CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const CMD_ATTR_DEREGISTER_CPUMASK: u16 = 4;
const TYPE_PID: u16 = 1;
const TYPE_TGID: u16 = 2;
const TYPE_STATS: u16 = 3;
const TYPE_AGGR_PID: u16 = 4;
const TYPE_AGGR_TGID: u16 = 5;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const AGROUP: u8 = 0x20;

fn u16_at(d: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(d.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(d: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(d.get(at..at + 4)?.try_into().ok()?))
}

fn i32_at(d: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(d.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(d: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(d.get(at..at + 8)?.try_into().ok()?))
}

fn time_at(d: &[u8], at: usize, unit: i64) -> Option<Nanos> {
    Some(Nanos(i64::try_from(u64_at(d, at)?).ok()?.checked_mul(unit)?))
}

/// The attributes of a netlink message: type (flags removed) and payload. Ends at the first that does not fit.
fn attributes(mut d: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(d, 0)?);
        let kind = u16_at(d, 2)? & 0x3fff;
        let payload = d.get(4..len)?;
        d = d.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// Parses `struct taskstats`; `None` if it is too short to hold what every version has.
fn parse_stats(whole_process: bool, id: i32, d: &[u8]) -> Option<TaskstatsRecord> {
    let version = u16_at(d, 0)?;
    let name = d.get(80..112)?;
    let comm = Comm::new(&name[..name.iter().position(|&b| b == 0).unwrap_or(name.len())]);
    let interval_counted = time_at(d, 152, 1000)? + time_at(d, 160, 1000)?;
    let has_tgid = version >= 12 && !whole_process;
    Some(TaskstatsRecord {
        whole_process,
        id,
        tgid: if whole_process { Some(id) } else { has_tgid.then(|| i32_at(d, 368)).flatten() },
        ppid: i32_at(d, 132)?,
        comm,
        cpu: time_at(d, 72, 1)?,
        interval_counted,
        began: Nanos(i64::from(u32_at(d, 136)?) * 1_000_000_000),
        elapsed: time_at(d, 144, 1000)?,
        peak_memory: u64_at(d, 200)?.saturating_mul(1024),
        last: has_tgid && d.get(8).is_some_and(|f| f & AGROUP != 0),
    })
}

/// A message of a netlink datagram.
enum Message<'a> {
    /// The kernel's answer: 0, or a negative error number.
    Error(i32),
    /// Payload after the generic netlink header.
    Data(&'a [u8]),
}

/// The messages of a datagram: type and sequence number are not checked, except for errors.
fn messages(mut d: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(d, 0)? as usize;
        let kind = u16_at(d, 4)?;
        let payload = d.get(16..len)?;
        d = d.get(len.next_multiple_of(4)..).unwrap_or_default();
        match kind {
            NLMSG_ERROR => Some(Message::Error(i32_at(payload, 0)?)),
            NLMSG_DONE => None,
            _ => Some(Message::Data(payload.get(4..).unwrap_or_default())),
        }
    })
}

/// All records of a datagram, in order. Anything that is not a whole record is skipped.
pub fn parse_records(datagram: &[u8], mut each: impl FnMut(TaskstatsRecord)) {
    for message in messages(datagram) {
        let Message::Data(data) = message else { continue };
        for (kind, nested) in attributes(data) {
            let whole_process = match kind {
                TYPE_AGGR_PID => false,
                TYPE_AGGR_TGID => true,
                _ => continue,
            };
            let mut id = None;
            for (kind, payload) in attributes(nested) {
                match kind {
                    TYPE_PID | TYPE_TGID => id = i32_at(payload, 0),
                    TYPE_STATS => {
                        if let Some(record) = id.and_then(|id| parse_stats(whole_process, id, payload)) {
                            each(record);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Number of the family `TASKSTATS` from the controller's answer.
pub fn parse_family(datagram: &[u8]) -> Option<u16> {
    messages(datagram).find_map(|m| match m {
        Message::Data(data) => attributes(data).find(|a| a.0 == CTRL_ATTR_FAMILY_ID).and_then(|a| u16_at(a.1, 0)),
        Message::Error(_) => None,
    })
}

/// First error number in a datagram, positive; `None` if there is none.
fn parse_error(datagram: &[u8]) -> Option<i32> {
    messages(datagram).find_map(|m| match m {
        Message::Error(e) if e != 0 => Some(-e),
        _ => None,
    })
}

/// How many answers to earlier requests are skipped.
const MOST_STALE: usize = 64;

/// What a datagram answers to the request of this number for this process: its record or an error number. `None` if it
/// answers another one.
fn answer_to(datagram: &[u8], sequence: u32, pid: i32) -> Option<Result<TaskstatsRecord, i32>> {
    if u32_at(datagram, 8)? != sequence {
        return None;
    }
    let mut found = None;
    parse_records(datagram, |r| found = found.or(Some(r).filter(|r| r.whole_process && r.id == pid)));
    Some(found.ok_or_else(|| parse_error(datagram).unwrap_or(libc::EPROTO)))
}

/// A generic netlink socket to the family TASKSTATS.
struct Socket {
    fd: OwnedFd,
    family: u16,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Socket {
    fn open() -> SysResult<Socket> {
        // SAFETY: plain socket calls on a zeroed, valid address.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_GENERIC);
            if fd < 0 {
                return Err(SysError::last("open a netlink socket"));
            }
            let fd = OwnedFd::from_raw_fd(fd);
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            let len = size_of_val(&address) as u32;
            if libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) != 0 {
                return Err(SysError::last("bind a netlink socket"));
            }
            fd
        };
        let mut socket = Socket { fd, family: GENL_ID_CTRL, sequence: 0, buffer: vec![0; 64 * 1024] };
        socket.send(CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0")?;
        let n = socket.receive(0)?;
        let answer = socket.buffer.get(..n).unwrap_or_default();
        socket.family = parse_family(answer).ok_or_else(|| {
            let code = parse_error(answer).unwrap_or(libc::ENOENT);
            let code = if code == libc::ENOENT { libc::ENOSYS } else { code };
            SysError::io("find the netlink family TASKSTATS", std::io::Error::from_raw_os_error(code))
        })?;
        Ok(socket)
    }

    fn send(&mut self, command: u8, attribute: u16, value: &[u8]) -> SysResult<()> {
        const NLM_F_REQUEST: u16 = 1;
        const NLM_F_ACK: u16 = 4;
        // Requests that are answered with data need no separate acknowledgement.
        let ack = if attribute == CMD_ATTR_REGISTER_CPUMASK || attribute == CMD_ATTR_DEREGISTER_CPUMASK {
            NLM_F_ACK
        } else {
            0
        };
        let ack = if self.family == GENL_ID_CTRL { 0 } else { ack };
        let attribute_len = 4 + value.len();
        let total = 20 + attribute_len.next_multiple_of(4);
        let mut m = Vec::with_capacity(total);
        self.sequence = self.sequence.wrapping_add(1);
        m.extend((total as u32).to_ne_bytes());
        m.extend(self.family.to_ne_bytes());
        m.extend((NLM_F_REQUEST | ack).to_ne_bytes());
        m.extend(self.sequence.to_ne_bytes());
        m.extend(0u32.to_ne_bytes());
        m.extend([command, 1, 0, 0]);
        m.extend((attribute_len as u16).to_ne_bytes());
        m.extend(attribute.to_ne_bytes());
        m.extend(value);
        m.resize(total, 0);
        // SAFETY: the buffer is valid for its length.
        let n = unsafe { libc::send(self.fd.as_raw_fd(), m.as_ptr().cast(), m.len(), 0) };
        if n < 0 { Err(SysError::last("send to TASKSTATS")) } else { Ok(()) }
    }

    /// Receives one datagram into the buffer; its length. 0 if there is none and MSG_DONTWAIT was given.
    fn receive(&mut self, flags: libc::c_int) -> SysResult<usize> {
        loop {
            // SAFETY: the buffer is valid for its length.
            let n =
                unsafe { libc::recv(self.fd.as_raw_fd(), self.buffer.as_mut_ptr().cast(), self.buffer.len(), flags) };
            if n >= 0 {
                return Ok(n as usize);
            }
            let error = SysError::last("receive from TASKSTATS");
            match error.errno() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) => return Ok(0),
                _ => return Err(error),
            }
        }
    }
}

/// Asks for single processes.
pub struct Query(Socket);

impl Query {
    /// Opens a socket.
    ///
    /// # Errors
    /// EPERM on request without CAP_NET_ADMIN; ENOSYS on kernels without taskstats.
    pub fn open() -> SysResult<Query> {
        let mut query = Query(Socket::open()?);
        query.process(crate::process::own_pid())?;
        Ok(query)
    }

    /// Sum over the threads of a process. `None` if it is gone.
    pub fn process(&mut self, pid: i32) -> SysResult<Option<TaskstatsRecord>> {
        self.0.send(TASKSTATS_CMD_GET, CMD_ATTR_TGID, &pid.to_ne_bytes())?;
        // Of earlier requests, whose answers were not waited for, there may be a few.
        for _ in 0..MOST_STALE {
            let n = self.0.receive(0)?;
            let answer = self.0.buffer.get(..n).unwrap_or_default();
            match answer_to(answer, self.0.sequence, pid) {
                None => {}
                Some(Ok(record)) => return Ok(Some(record)),
                Some(Err(libc::ESRCH)) => return Ok(None),
                Some(Err(error)) => {
                    let error = std::io::Error::from_raw_os_error(error);
                    return Err(SysError::io(format!("taskstats of process {pid}"), error));
                }
            }
        }
        let error = std::io::Error::from_raw_os_error(libc::EPROTO);
        Err(SysError::io(format!("taskstats of process {pid}"), error))
    }
}

/// Receives a record of every exit on every CPU; nothing is read until it is drained.
pub struct ExitListener {
    socket: Socket,
    cpumask: Vec<u8>,
}

impl ExitListener {
    /// Registers on all CPUs of `cpumask` (e.g. `0-1`), with a receive buffer of `bytes`.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN (in the initial namespaces); ENOSYS without taskstats.
    pub fn open(cpumask: &str, bytes: usize) -> SysResult<ExitListener> {
        let mut socket = Socket::open()?;
        let size = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        let set = |option| {
            // SAFETY: the value is a valid int.
            unsafe { libc::setsockopt(socket.fd.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const size).cast(), 4) }
        };
        // Beyond net.core.rmem_max only with CAP_NET_ADMIN in the initial namespace; otherwise as large as allowed.
        if set(libc::SO_RCVBUFFORCE) != 0 {
            set(libc::SO_RCVBUF);
        }
        let mut cpumask = cpumask.as_bytes().to_vec();
        cpumask.push(0);
        socket.send(TASKSTATS_CMD_GET, CMD_ATTR_REGISTER_CPUMASK, &cpumask)?;
        // Exit records may come before the acknowledgement.
        loop {
            let n = socket.receive(0)?;
            let mut acknowledged = false;
            for message in messages(socket.buffer.get(..n).unwrap_or_default()) {
                if let Message::Error(e) = message {
                    if e != 0 {
                        let cause = std::io::Error::from_raw_os_error(-e);
                        return Err(SysError::io("listen to exits by taskstats", cause));
                    }
                    acknowledged = true;
                }
            }
            if acknowledged {
                return Ok(ExitListener { socket, cpumask });
            }
        }
    }

    /// Hands every record received since the last time to `each`. `Ok(false)` if some were lost (ENOBUFS).
    pub fn drain(&mut self, mut each: impl FnMut(TaskstatsRecord)) -> SysResult<bool> {
        let mut complete = true;
        loop {
            match self.socket.receive(libc::MSG_DONTWAIT) {
                Ok(0) => return Ok(complete),
                Ok(n) => parse_records(self.socket.buffer.get(..n).unwrap_or_default(), &mut each),
                Err(e) if e.errno() == Some(libc::ENOBUFS) => complete = false,
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for ExitListener {
    fn drop(&mut self) {
        let mask = std::mem::take(&mut self.cpumask);
        let _ = self.socket.send(TASKSTATS_CMD_GET, CMD_ATTR_DEREGISTER_CPUMASK, &mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn garbage_never_panics(data in proptest::collection::vec(any::<u8>(), 0..600)) {
            parse_records(&data, |_| {});
            let _ = (parse_family(&data), parse_error(&data));
        }
    }

    fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut a = ((payload.len() + 4) as u16).to_ne_bytes().to_vec();
        a.extend(kind.to_ne_bytes());
        a.extend(payload);
        a.resize(a.len().next_multiple_of(4), 0);
        a
    }

    #[test]
    fn an_answer_is_that_to_the_last_question() {
        let Ok(mut query) = Query::open() else { return };
        let own = crate::process::own_pid();
        // Answers that no request has waited for: a record of another process, and an error.
        for other in [1, i32::MAX] {
            query.0.send(TASKSTATS_CMD_GET, CMD_ATTR_TGID, &i32::to_ne_bytes(other)).unwrap();
        }
        let record = query.process(own).unwrap().unwrap();
        assert_eq!((record.id, record.whole_process), (own, true));
        assert_eq!(query.process(i32::MAX).unwrap(), None);
    }

    #[test]
    fn a_record_is_read_and_a_short_one_is_passed_over() {
        let mut stats = vec![0; 416];
        stats[0..2].copy_from_slice(&13u16.to_ne_bytes());
        stats[8] = AGROUP;
        stats[72..80].copy_from_slice(&5_000_000u64.to_ne_bytes());
        stats[80..84].copy_from_slice(b"a)\n\xff");
        stats[132..136].copy_from_slice(&9i32.to_ne_bytes());
        stats[144..152].copy_from_slice(&7_000u64.to_ne_bytes());
        stats[368..372].copy_from_slice(&41i32.to_ne_bytes());
        let datagram = |stats: &[u8]| {
            let nested = [attribute(TYPE_PID, &42i32.to_ne_bytes()), attribute(TYPE_STATS, stats)].concat();
            let payload = [vec![2, 1, 0, 0], attribute(TYPE_AGGR_PID | 0x8000, &nested)].concat();
            let mut m = ((payload.len() + 16) as u32).to_ne_bytes().to_vec();
            m.extend(30u16.to_ne_bytes());
            m.resize(16, 0);
            m.extend(payload);
            m
        };
        let mut got = Vec::new();
        parse_records(&datagram(&stats), |r| got.push(r));
        let r = got[0];
        assert_eq!(
            (r.id, r.tgid, r.ppid, r.cpu, r.elapsed),
            (42, Some(41), 9, Nanos::from_millis(5), Nanos::from_millis(7))
        );
        assert_eq!(r.comm.as_bytes(), b"a)\n\xff");
        assert!(r.last && !r.whole_process);
        got.clear();
        parse_records(&datagram(&stats[..100]), |r| got.push(r));
        assert!(got.is_empty());
    }
}
