//! What the kernel does on one CPU, recorded there while nothing in user space is woken, and read afterwards.

use crate::interrupts::{InterruptNames, LOCAL_TIMER, attach_interrupts};
use crate::kernel_types::KernelTypes;
use crate::object::{Aligned, Loader};
use crate::program::BpfError;
use aya::Pod;
use aya::maps::{Array, MapData, MapError};
use tarebench_core::base::name::Name;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::trace::timeline::{CpuEvent, CpuOccupant, Edge, Stolen, TraceTask, pair};

mod layout {
    #![allow(dead_code, reason = "the kernel's side uses some of them alone")]
    include!("timeline_layout.rs");
}
use layout::*;

const OBJECT_SIZE: usize = include_bytes!("timeline.bpf.o").len();
static OBJECT: Aligned<OBJECT_SIZE> = Aligned(*include_bytes!("timeline.bpf.o"));

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Control([u64; CONTROL_WORDS]);
// SAFETY: plain words without padding, for which any bytes are valid.
unsafe impl Pod for Control {}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct TimelineChunk([u64; CHUNK_WORDS]);
// SAFETY: plain words without padding, for which any bytes are valid.
unsafe impl Pod for TimelineChunk {}

/// Maximum number of units of an event: its beginning and its end, or a switch and its name; and the steal time before
/// it.
const UNITS_EACH: u32 = 4;

/// Events that a timeline has room for by default: 16 MiB of the kernel's memory.
pub const ROOM: u32 = 250_000;

/// A recording of one CPU.
pub struct Timeline {
    control: Array<MapData, Control>,
    chunks: Array<MapData, TimelineChunk>,
    from: Nanos,
    missing: Vec<&'static str>,
    missed: u64,
    loader: Loader,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    pub events: Vec<CpuEvent>,
    /// Steal time, in the order of the times at which it was seen. Empty if the hypervisor does not report it, or the
    /// kernel does not read it.
    pub stolen: Vec<Stolen>,
    /// All that was reported from here on is in the events, CLOCK_MONOTONIC.
    pub from: Nanos,
    /// Up to here; earlier than the end of the recording, if there was no more room.
    pub until: Nanos,
    /// Records that had no room, or were dropped by the kernel because its program ran already.
    pub lost: u64,
    /// Switches that the kernel did not report, and that were found by later events.
    pub late: u64,
    /// Interrupts that this kernel does not report.
    pub missing: Vec<&'static str>,
}

fn of_map(e: &MapError) -> BpfError {
    BpfError::new("maps of the timeline", e)
}

impl Timeline {
    /// Starts to record what the kernel does on a CPU. `room`: minimum number of events, of any kind.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON, on kernels without BTF or older than 5.10, where the verifier refuses the
    /// programs, or without enough memory.
    pub fn start(types: &KernelTypes, cpu: u32, room: u32) -> Result<Timeline, BpfError> {
        let chunk = u32::try_from(CHUNK_UNITS).unwrap_or(u32::MAX);
        let chunks = room.saturating_mul(UNITS_EACH).div_ceil(chunk).max(1);
        let mut loader = Loader::open("timeline", &OBJECT.0, types, &[("chunks", chunks)])?;
        loader.attach_needed("timeline_switch", "sched_switch", types)?;
        let missing = attach_interrupts(&mut loader, types, |tracepoint| tracepoint)?;
        let control = loader.take_map("control")?;
        let chunk_map = loader.take_map("chunks")?;
        let mut timeline = Timeline {
            control: Array::try_from(control).map_err(|e| of_map(&e))?,
            chunks: Array::try_from(chunk_map).map_err(|e| of_map(&e))?,
            from: Nanos::ZERO,
            missing,
            missed: loader.missed(),
            loader,
        };
        let mut control = Control([0; CONTROL_WORDS]);
        control.0[CONTROL_CPU] = u64::from(cpu) + 1;
        control.0[CONTROL_ROOM] = u64::from(chunks) * CHUNK_UNITS as u64;
        timeline.control.set(0, control, 0).map_err(|e| of_map(&e))?;
        timeline.from = tarebench_sys::clock::monotonic();
        Ok(timeline)
    }

    /// Ends the recording and reads it.
    pub fn finish(mut self) -> Result<Recorded, BpfError> {
        let end = tarebench_sys::clock::monotonic();
        let mut control = self.control.get(&0, 0).map_err(|e| of_map(&e))?;
        let word = |at: usize| control.0.get(at).copied().unwrap_or_default();
        let room = word(CONTROL_ROOM);
        let (used, by_softirqs) = (word(CONTROL_AT).min(room), word(CONTROL_SOFTIRQ_AT).min(room));
        let (lost, full) = (word(CONTROL_LOST), word(CONTROL_FULL));
        // What comes from now on is not read.
        control.0[CONTROL_CPU] = 0;
        self.control.set(0, control, 0).map_err(|e| of_map(&e))?;
        let lost = lost + self.loader.missed().saturating_sub(self.missed);
        let names = InterruptNames::read().unwrap_or_default();
        let mut all = records(&self.units(0..used)?, &names);
        all.append(records(&self.units(room - by_softirqs..room)?, &names));
        let Records { edges, late, stolen } = all;
        // The first one says which task had the CPU when the recording started, which no switch could report.
        let late = late.saturating_sub(1);
        let until = Some(full).filter(|t| *t > 0).and_then(|t| i64::try_from(t).ok()).map_or(end, Nanos);
        Ok(Recorded { events: pair(edges, until), stolen, from: self.from, until, lost, late, missing: self.missing })
    }

    fn units(&self, range: std::ops::Range<u64>) -> Result<Vec<[u64; UNIT_WORDS]>, BpfError> {
        let each = CHUNK_UNITS as u64;
        let mut units = Vec::new();
        for number in range.start / each..range.end.div_ceil(each) {
            let (number, first) = (u32::try_from(number).unwrap_or(u32::MAX), number * each);
            let words = self.chunks.get(&number, 0).map_err(|e| of_map(&e))?.0;
            let inside = words.as_chunks::<UNIT_WORDS>().0.iter().zip(first..).filter(|(_, at)| range.contains(at));
            units.extend(inside.map(|(unit, _)| *unit));
        }
        Ok(units)
    }
}

#[derive(Debug, PartialEq)]
struct Records {
    edges: Vec<(Nanos, Edge)>,
    /// Switches that were found late.
    late: u64,
    stolen: Vec<Stolen>,
}

impl Records {
    /// Adds those of softirqs, the last of which was written first.
    fn append(&mut self, softirqs: Records) {
        self.edges.extend(softirqs.edges.into_iter().rev());
        self.late += softirqs.late;
    }
}

fn records(units: &[[u64; UNIT_WORDS]], names: &InterruptNames) -> Records {
    let mut edges = Vec::with_capacity(units.len());
    let (mut late_ones, mut stolen) = (0, Vec::new());
    let mut all = units.iter();
    while let Some([time, second]) = all.next() {
        let part = |shift: usize| usize::try_from(second >> shift & PART_MASK as u64).unwrap_or_default();
        let (kind, flags, what) = (part(KIND_SHIFT), part(FLAGS_SHIFT) & 0xff, part(WHAT_SHIFT));
        let edge = match kind {
            KIND_BEGIN_VECTOR => Edge::Begin(vector(what, names)),
            KIND_END_VECTOR => Edge::End(vector(what, names)),
            KIND_BEGIN_IRQ => Edge::Begin(CpuOccupant::Interrupt { name: names.irq(what) }),
            KIND_END_IRQ => Edge::End(CpuOccupant::Interrupt { name: names.irq(what) }),
            KIND_BEGIN_SOFTIRQ => Edge::Begin(CpuOccupant::Softirq { name: names.softirq(what) }),
            KIND_END_SOFTIRQ => Edge::End(CpuOccupant::Softirq { name: names.softirq(what) }),
            KIND_SWITCH => {
                let Some(name) = all.next() else { break };
                let late = flags & FLAG_LATE != 0;
                late_ones += u64::from(late);
                Edge::Switch { to: task(name, flags, what, part(0)), late }
            }
            KIND_STOLEN => {
                let Some([since, _]) = all.next() else { break };
                let ns = |n: u64| i64::try_from(n).ok().map(Nanos);
                let one = (ns(*since), ns(*time), ns(second & STOLEN_MASK as u64));
                if let (Some(from), Some(until), Some(time)) = one {
                    stolen.push(Stolen { from, until, time });
                }
                continue;
            }
            // Taken, and not written before the end.
            _ => continue,
        };
        edges.extend(i64::try_from(*time).ok().map(|time| (Nanos(time), edge)));
    }
    Records { edges, late: late_ones, stolen }
}

fn vector(n: usize, names: &InterruptNames) -> CpuOccupant {
    if n == LOCAL_TIMER { CpuOccupant::Timer } else { CpuOccupant::Interrupt { name: names.vector(n) } }
}

fn task(name: &[u64; UNIT_WORDS], flags: usize, pid: usize, tid: usize) -> CpuOccupant {
    if tid == 0 {
        return CpuOccupant::Idle;
    }
    let bytes: Vec<u8> = name.iter().flat_map(|w| w.to_ne_bytes()).take_while(|b| *b != 0).collect();
    let by = if flags & FLAG_KERNEL != 0 { TaskKind::Kernel } else { TaskKind::User };
    let id = |n: usize| i32::try_from(n).unwrap_or_default();
    CpuOccupant::Task(TraceTask { name: Name::new(bytes), by, pid: id(pid), tid: id(tid) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    fn second(kind: usize, flags: usize, what: u64, tid: u64) -> u64 {
        (kind as u64) << KIND_SHIFT | (flags as u64) << FLAGS_SHIFT | what << WHAT_SHIFT | tid
    }

    #[test]
    fn records_are_read() {
        let name = u64::from_ne_bytes(*b"a)b <scr");
        let rest = u64::from_ne_bytes(*b"ipt>\0xyz");
        let units = [
            [5, second(KIND_SWITCH, FLAG_LATE, 7, 8)],
            [name, rest],
            [9, second(KIND_BEGIN_VECTOR, 0, 0, 8)],
            // Taken and not written.
            [0, 0],
            [10, second(KIND_BEGIN_SOFTIRQ, 0, 9, 8)],
            [11, second(KIND_SWITCH, FLAG_KERNEL, 0, 0)],
            [u64::from_ne_bytes(*b"swapper/"), 0],
            [12, second(KIND_BEGIN_IRQ, 0, 3_999_999, 0)],
            [40, (KIND_STOLEN as u64) << KIND_SHIFT | 1 << 40],
            [20, 0],
            // Cut off.
            [13, second(KIND_SWITCH, 0, 4_194_303, 4_194_303)],
        ];
        let records = records(&units, &InterruptNames::default());
        let task = TraceTask { name: Name::from("a)b <script>"), by: TaskKind::User, pid: 7, tid: 8 };
        let wanted = vec![
            (Nanos(5), Edge::Switch { to: CpuOccupant::Task(task), late: true }),
            (Nanos(9), Edge::Begin(CpuOccupant::Timer)),
            (Nanos(10), Edge::Begin(CpuOccupant::Softirq { name: "RCU".to_owned() })),
            (Nanos(11), Edge::Switch { to: CpuOccupant::Idle, late: false }),
            (Nanos(12), Edge::Begin(CpuOccupant::Interrupt { name: "IRQ 3999999".to_owned() })),
        ];
        let stolen = vec![Stolen { from: Nanos(20), until: Nanos(40), time: Nanos(1 << 40) }];
        assert_eq!(records, Records { edges: wanted, late: 1, stolen });
    }

    fn timeline(cpu: u32, room: u32) -> Option<Timeline> {
        match KernelTypes::read().and_then(|types| Timeline::start(&types, cpu, room)) {
            Ok(timeline) => Some(timeline),
            Err(e) => {
                let needed = std::env::var_os("TARE_NO_SKIP").is_some_and(|v| v == "1");
                assert!(!needed, "must not be skipped: {e}\n{}", e.detail());
                eprintln!("skipped: {e}");
                None
            }
        }
    }

    /// Keeps a CPU busy for this time.
    fn spin(ns: i64) {
        let began = tarebench_sys::clock::monotonic();
        while tarebench_sys::clock::monotonic() - began < Nanos(ns) {}
    }

    #[test]
    fn a_busy_cpu_has_timer_interrupts_and_tasks_inside_of_the_time() {
        let cpu = *tarebench_sys::cpu::allowed().unwrap().last().unwrap();
        let Some(t) = timeline(cpu, ROOM) else { return };
        tarebench_sys::cpu::confine(&[cpu]).unwrap();
        let own = tarebench_sys::process::own_tid();
        let before = tarebench_sys::clock::monotonic();
        spin(200_000_000);
        let after = tarebench_sys::clock::monotonic();
        let r = t.finish().unwrap();
        assert!(r.from <= before && r.until >= after);
        assert_eq!(r.lost, 0);
        let timers = r.events.iter().filter(|e| e.what == CpuOccupant::Timer && e.complete).count();
        // At least ten a second, whatever the steal time.
        assert!(timers >= 2, "{timers} in {} events", r.events.len());
        let mine = |e: &&CpuEvent| matches!(&e.what, CpuOccupant::Task(t) if t.tid == own);
        let mine: i64 = r.events.iter().filter(mine).map(|e| (e.end.min(after) - e.start.max(before)).0.max(0)).sum();
        assert!(mine > 0, "this thread had the CPU");
        assert!(r.events.is_sorted_by_key(|e| e.start));
        let last = r.events.iter().map(|e| e.end).max().unwrap();
        // What is recorded between the reading of the clock and the end.
        assert!(last >= r.until && last <= tarebench_sys::clock::monotonic());
    }

    #[test]
    fn what_has_no_room_is_counted_and_the_time_ends_there() {
        let cpu = *tarebench_sys::cpu::allowed().unwrap().last().unwrap();
        let Some(t) = timeline(cpu, 1) else { return };
        tarebench_sys::cpu::confine(&[cpu]).unwrap();
        // Each sleep is at least two switches or a timer interrupt.
        for _ in 0..300 {
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
        let after = tarebench_sys::clock::monotonic();
        let r = t.finish().unwrap();
        assert!(r.lost > 0 && r.until < after && !r.events.is_empty(), "{} lost", r.lost);
        assert!(r.events.len() <= CHUNK_UNITS);
    }
}
