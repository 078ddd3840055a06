//! Processes that end: a record of each task, from its last switch away from a CPU.

use crate::kernel_types::KernelTypes;
use crate::object::{Aligned, Loader};
use crate::program::BpfError;
use aya::maps::{Array, MapData, RingBuf};
use tarebench_core::base::units::Nanos;

/// A task that has ended; layout of `struct exit_record` in `exits.bpf.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitRecord {
    /// Time on a CPU, complete.
    pub cpu: Nanos,
    /// Start of its process since boot.
    pub start: Nanos,
    /// Id of its cgroup in the v2 hierarchy.
    pub cgroup: u64,
    /// Tick-sampled user and system time.
    pub interval_counted: Nanos,
    /// CPU time of the process's tasks that were released before (each may lack up to a tick).
    pub dead_threads: Nanos,
    pub tid: i32,
    pub pid: i32,
    pub ppid: i32,
    /// It was the last thread of the process.
    pub last: bool,
    pub kernel: bool,
    /// `dead_threads` holds the main thread's time too, as a parent has reaped it already.
    pub main_released: bool,
    /// Name of the process's main thread, NUL-padded.
    pub comm: [u8; 16],
}

impl ExitRecord {
    /// Bytes of a record.
    pub const SIZE: usize = 72;

    /// Reads a record; `None` if it has another size.
    pub fn parse(d: &[u8]) -> Option<ExitRecord> {
        let d: &[u8; Self::SIZE] = d.try_into().ok()?;
        let u64_at = |at: usize| Some(u64::from_ne_bytes(d.get(at..at + 8)?.try_into().ok()?));
        let u32_at = |at: usize| Some(u32::from_ne_bytes(d.get(at..at + 4)?.try_into().ok()?));
        let time_at = |at: usize| u64_at(at).and_then(|n| i64::try_from(n).ok()).map(Nanos);
        let id_at = |at: usize| u32_at(at).and_then(|n| i32::try_from(n).ok());
        let flags = u32_at(52)?;
        Some(ExitRecord {
            cpu: time_at(0)?,
            start: time_at(8)?,
            cgroup: u64_at(16)?,
            interval_counted: time_at(24)?,
            dead_threads: time_at(32)?,
            tid: id_at(40)?,
            pid: id_at(44)?,
            ppid: id_at(48)?,
            last: flags & 1 != 0,
            kernel: flags & 2 != 0,
            main_released: flags & 4 != 0,
            comm: d.get(56..72)?.try_into().ok()?,
        })
    }

    /// The name, without its padding.
    pub fn name(&self) -> &[u8] {
        let end = self.comm.iter().position(|&b| b == 0).unwrap_or(self.comm.len());
        self.comm.get(..end).unwrap_or_default()
    }
}

const OBJECT_SIZE: usize = include_bytes!("exits.bpf.o").len();
static OBJECT: Aligned<OBJECT_SIZE> = Aligned(*include_bytes!("exits.bpf.o"));

/// Records every end of a task on the machine, from its last switch away from a CPU.
pub struct ExitTracer {
    records: RingBuf<MapData>,
    lost: Array<MapData, u64>,
    lost_before: u64,
    // Keeps the program attached.
    _loader: Loader,
}

impl ExitTracer {
    /// Loads the program and attaches it; takes some milliseconds.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON, on kernels without BTF or BPF, or where the verifier refuses it.
    pub fn load(types: &KernelTypes) -> Result<ExitTracer, BpfError> {
        let mut loader = Loader::open("exits", &OBJECT.0, types, &[])?;
        loader.attach_needed("task_ended", "sched_switch", types)?;
        let records = loader.take_map("records")?;
        let lost = loader.take_map("lost")?;
        Ok(ExitTracer {
            records: RingBuf::try_from(records).map_err(|e| BpfError::new("exits", &e))?,
            lost: Array::try_from(lost).map_err(|e| BpfError::new("exits", &e))?,
            lost_before: 0,
            _loader: loader,
        })
    }

    /// Hands every record since the last time to `each`; returns how many were lost since then.
    pub fn drain(&mut self, mut each: impl FnMut(ExitRecord)) -> u64 {
        while let Some(item) = self.records.next() {
            if let Some(record) = ExitRecord::parse(&item) {
                each(record);
            }
        }
        let lost = self.lost.get(&0, 0).unwrap_or(self.lost_before);
        let since = lost - self.lost_before;
        self.lost_before = lost;
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_size_is_refused() {
        assert!(ExitRecord::parse(&[0; ExitRecord::SIZE]).is_some());
        assert!(ExitRecord::parse(&[0; ExitRecord::SIZE - 1]).is_none());
        assert!(ExitRecord::parse(&[0xff; ExitRecord::SIZE]).is_none());
    }
}
