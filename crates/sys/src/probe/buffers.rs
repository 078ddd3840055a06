//! The memory that the probes walk through: all there before the first sample, locked where that is permitted. What is small and tells
//! of the core's caches is in pages of 4 KiB, the 64 MiB that tell of the shared cache and the memory are in huge ones.

use super::kernels::{ProbeCode, ProbeKernel};
use super::places;
use crate::{SysError, SysResult, clock};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use tarebench_core::sample::probes::{PROBE_KINDS, ProbeKind};

/// Bytes of a cache line, as far as the probes are concerned.
const LINE: usize = 64;
/// 8-byte words of a line.
const WORDS: usize = LINE / 8;
const PAGE: usize = 4096;
/// Of x86-64, and of aarch64 with pages of 4 KiB.
const HUGE_PAGE: usize = 2 << 20;
/// Not in every C library's headers; Linux 6.1, uapi/asm-generic/mman-common.h.
const MADV_COLLAPSE: libc::c_int = 25;
/// Lines of the memory that shared caches do not keep to themselves: 64 MiB.
const CHAIN_LINES: usize = (64 << 20) / LINE;
/// Lines of 32 KiB.
const FIRST_LEVEL_LINES: usize = (32 << 10) / LINE;
/// Lines whose eviction is looked for, one in each of so many pages.
const EVICTED_LINES: usize = 64;
/// Lines of a page.
const LINES_OF_PAGE: usize = PAGE / LINE;
/// Dependent loads of one probe of the memory's latency.
const MEMORY_STEPS: u64 = 12;

/// Where the memory of a CPU's probes begins, in bytes: two pages, then the two small rings.
const LOADS_AT: usize = 0;
const STORES_AT: usize = LOADS_AT + PAGE;
const FIRST_LEVEL_AT: usize = STORES_AT + PAGE;
const EVICTED_AT: usize = FIRST_LEVEL_AT + FIRST_LEVEL_LINES * LINE;
const OWN_BYTES: usize = EVICTED_AT + EVICTED_LINES * PAGE;

/// What pages a mapping is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageSize {
    /// 4 KiB: whether a huge one could be had must not change what a load takes.
    Small,
    /// Huge ones. In small ones nearly every load of 64 MiB misses the TLB, and how long the walk through the page tables takes depends
    /// on what others keep in the caches: the probe would not say what is slow.
    Huge,
}

/// Memory of this process alone: children that are forked do not have it, so that it is not copied when it is next written to.
struct Mapping {
    base: NonNull<u64>,
    bytes: usize,
    /// What was mapped, from its start on; `base` is within it.
    start: *mut libc::c_void,
    mapped: usize,
}

// SAFETY: memory like any other; who may write to it is said where it is owned.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// At that place, if nothing is there.
    fn new(place: usize, bytes: usize, pages: PageSize) -> SysResult<Mapping> {
        let what = || format!("map {bytes} bytes for probes");
        // A huge page begins at a multiple of its size; what lies before and after is never touched.
        let mapped = if pages == PageSize::Huge { bytes + HUGE_PAGE } else { bytes };
        let start = places::map(place, mapped).map_err(|e| SysError::io(what(), e))?;
        // SAFETY: a fresh mapping, of which all that is used is given.
        unsafe {
            let before = if pages == PageSize::Huge { start.addr().wrapping_neg() % HUGE_PAGE } else { 0 };
            let base = start.byte_add(before);
            // Where it cannot be chosen, it is as it is.
            let advice = if pages == PageSize::Huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
            libc::madvise(base, bytes, advice);
            libc::madvise(base, bytes, libc::MADV_DONTFORK);
            std::ptr::write_bytes(base.cast::<u8>(), 0, bytes);
            if pages == PageSize::Huge {
                // What got small pages, as no huge one was free: Linux 6.1 makes room now, where an earlier one leaves it.
                libc::madvise(base, bytes, MADV_COLLAPSE);
            }
            // Beyond RLIMIT_MEMLOCK, the pages are there all the same until memory is short.
            libc::mlock(base, bytes);
            let none = || SysError::io(what(), std::io::ErrorKind::OutOfMemory.into());
            Ok(Mapping { base: NonNull::new(base.cast()).ok_or_else(none)?, bytes, start, mapped })
        }
    }

    /// Makes a ring of pointers that reaches every node once, in random order. `node` says at which word a node is.
    fn make_ring(&mut self, nodes: usize, node: impl Fn(usize) -> usize) {
        let mut order: Vec<usize> = (0..nodes).collect();
        let mut random = SEED;
        for i in (1..nodes).rev() {
            random = xorshift(random);
            let below = i as u64 + 1;
            order.swap(i, usize::try_from(random % below).unwrap_or(0));
        }
        let next = order.iter().cycle().skip(1);
        for (from, to) in order.iter().zip(next) {
            let (from, to) = (node(*from), node(*to));
            debug_assert!((from.max(to) + 1) * 8 <= self.bytes);
            // SAFETY: both are words of the mapping.
            unsafe {
                let to = self.base.as_ptr().add(to);
                self.base.as_ptr().add(from).write(to.expose_provenance() as u64);
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.start, self.mapped) };
    }
}

/// Where the random sequences begin: any number but zero. The same in every process, as the work is to be the same.
const SEED: u64 = 88_172_645_463_325_252;

fn xorshift(x: u64) -> u64 {
    let x = x ^ (x << 13);
    let x = x ^ (x >> 7);
    x ^ (x << 17)
}

/// The 64 MiB, made once in a process, when the first probes begin; it is only read then.
fn chain() -> SysResult<Arc<Mapping>> {
    static CHAIN: Mutex<Option<Arc<Mapping>>> = Mutex::new(None);
    let mut kept = CHAIN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(chain) = &*kept {
        return Ok(Arc::clone(chain));
    }
    let mut made = Mapping::new(places::CHAIN, CHAIN_LINES * LINE, PageSize::Huge)?;
    made.make_ring(CHAIN_LINES, |n| n * WORDS);
    Ok(Arc::clone(kept.insert(Arc::new(made))))
}

/// The memory and the state of the probes of one CPU.
pub(super) struct ProbeMemory {
    code: ProbeCode,
    chain: Arc<Mapping>,
    own: Mapping,
    /// Where the walk through the 64 MiB is: it goes on from wake-up to wake-up, so that it does not meet what it has fetched.
    at: *const u64,
    scattered: u64,
    branched: u64,
}

// SAFETY: `at` points into `chain`, which lives as long and is only read.
unsafe impl Send for ProbeMemory {}

impl ProbeMemory {
    /// For the `index`th of the CPUs that are probed: each walks elsewhere.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn new(index: usize) -> SysResult<ProbeMemory> {
        let chain = chain()?;
        let mut own = Mapping::new(places::own(index), OWN_BYTES, PageSize::Small)?;
        own.make_ring(FIRST_LEVEL_LINES, |n| (FIRST_LEVEL_AT + n * LINE) / 8);
        // One line in each page, another one each time: neighbours are fetched together.
        own.make_ring(EVICTED_LINES, |n| (EVICTED_AT + n * PAGE + n * 7 % LINES_OF_PAGE * LINE) / 8);
        let random = (0..=index).fold(SEED, |x, _| xorshift(x));
        let line = usize::try_from(random).unwrap_or(0) % CHAIN_LINES;
        // SAFETY: a line of the mapping.
        let at = unsafe { chain.base.as_ptr().add(line * WORDS).cast_const() };
        // The same branches as in an earlier process, at the same addresses, might be known to the predictor.
        let branched = xorshift(random ^ clock::monotonic().0.unsigned_abs()).max(1);
        Ok(ProbeMemory { code: ProbeCode::of_process(), chain, own, at, scattered: random, branched })
    }

    fn own_at(&self, byte: usize) -> *mut u64 {
        // SAFETY: only with places within the mapping.
        unsafe { self.own.base.as_ptr().byte_add(byte) }
    }

    /// Executes a kind's work once; its ticks.
    fn once(&mut self, kind: ProbeKind) -> u64 {
        let (none, lines) = (std::ptr::null_mut(), |n: usize| n as u64);
        let (kernel, state, memory, count) = match kind {
            ProbeKind::Latency => (ProbeKernel::Latency, 0, none, 0),
            ProbeKind::Issue => (ProbeKernel::Issue, 0, none, 0),
            ProbeKind::Loads => (ProbeKernel::Loads, 0, self.own_at(LOADS_AT), 0),
            ProbeKind::Stores => (ProbeKernel::Stores, 0, self.own_at(STORES_AT), 0),
            ProbeKind::Branches => (ProbeKernel::Branches, self.branched, none, 0),
            ProbeKind::SystemCalls => (ProbeKernel::SystemCalls, 0, none, 0),
            ProbeKind::FirstLevel => {
                (ProbeKernel::FirstLevel, 0, self.own_at(FIRST_LEVEL_AT), lines(FIRST_LEVEL_LINES))
            }
            ProbeKind::MemoryLatency => (ProbeKernel::Chase, self.at.expose_provenance() as u64, none, MEMORY_STEPS),
            ProbeKind::MemoryThroughput => {
                (ProbeKernel::Scatter, self.scattered, self.chain.base.as_ptr(), lines(CHAIN_LINES - 1))
            }
            ProbeKind::Evicted => {
                (ProbeKernel::Chase, self.own_at(EVICTED_AT).expose_provenance() as u64, none, lines(EVICTED_LINES))
            }
            ProbeKind::Code => (ProbeKernel::Code, 0, none, 0),
        };
        // SAFETY: there are probes for this CPU, or this value is not used; the mappings are as large as the kernels need, the rings
        // are endless, and only this value uses `own`.
        let timed = unsafe { self.code.time(kernel, state, memory, count) };
        match kind {
            ProbeKind::Branches => self.branched = timed.state,
            ProbeKind::MemoryLatency => self.at = std::ptr::with_exposed_provenance(timed.state as usize),
            ProbeKind::MemoryThroughput => self.scattered = timed.state,
            _ => {}
        }
        timed.ticks
    }

    /// Ticks of a kind's work: the shorter of two passes, as an interrupt may come into one; only one of what the first pass
    /// would change.
    pub fn ticks(&mut self, kind: ProbeKind) -> u32 {
        let first = self.once(kind);
        let ticks = match kind {
            ProbeKind::Evicted | ProbeKind::Code => first,
            _ => first.min(self.once(kind)),
        };
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    pub fn all(&mut self) -> [u32; PROBE_KINDS] {
        ProbeKind::ALL.map(|kind| self.ticks(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter;
    use crate::probe::kernels::missing;

    fn lowest(memory: &mut ProbeMemory, kind: ProbeKind, times: u32) -> f64 {
        (0..times).map(|_| f64::from(memory.ticks(kind))).fold(f64::INFINITY, f64::min)
    }

    /// Whether the counter advances with every few instructions, by which the tests below compare.
    fn is_fine() -> bool {
        missing().is_none()
    }

    #[test]
    fn every_ring_reaches_every_node() {
        let mut m = Mapping::new(places::own(2000), PAGE * 16, PageSize::Small).unwrap();
        let nodes = PAGE * 16 / LINE;
        m.make_ring(nodes, |n| n * WORDS);
        let start = m.base.as_ptr().cast_const();
        let (mut at, mut seen) = (start, std::collections::HashSet::new());
        for _ in 0..nodes {
            assert!(seen.insert(at as usize));
            // SAFETY: every node holds the address of another one.
            at = std::ptr::with_exposed_provenance(usize::try_from(unsafe { at.read() }).unwrap());
        }
        assert_eq!((at, seen.len()), (start, nodes));
        if is_fine() {
            // SAFETY: an endless ring.
            let chased = unsafe {
                let state = start.expose_provenance() as u64;
                ProbeCode::of_process().time(ProbeKernel::Chase, state, std::ptr::null_mut(), nodes as u64).state
            };
            assert_eq!(chased, start.addr() as u64);
        }
    }

    /// Whether the kernel has any is another matter.
    #[test]
    fn there_is_room_for_huge_pages() {
        for pages in [1, 2, 3] {
            let m = Mapping::new(places::own(3000), pages * HUGE_PAGE, PageSize::Huge).unwrap();
            let (base, start) = (m.base.as_ptr().addr(), m.start.addr());
            assert!(base.is_multiple_of(HUGE_PAGE) && base >= start, "{base:x} {start:x}");
            assert!(base + m.bytes <= start + m.mapped);
            // All of it is there, and 0.
            // SAFETY: so many words were mapped.
            let words = unsafe { std::slice::from_raw_parts(m.base.as_ptr(), m.bytes / 8) };
            assert!(words.iter().all(|w| *w == 0));
        }
    }

    #[test]
    fn every_probe_takes_a_time_in_proportion_to_its_work() {
        if !is_fine() {
            return;
        }
        let mut m = ProbeMemory::new(0).unwrap();
        let least = |m: &mut ProbeMemory, kind| lowest(m, kind, 400);
        let ticks = ProbeKind::ALL.map(|kind| (kind, least(&mut m, kind)));
        assert!(ticks.iter().all(|(_, t)| *t > 0.0), "{ticks:?}");
        let empty = {
            let began = counter::fenced();
            counter::fenced().wrapping_sub(began) as f64
        };
        // 800 multiplications of 3 to 5 cycles, beside 6,000 additions of which 2 to 8 are done in a cycle.
        let (latency, issue) = (least(&mut m, ProbeKind::Latency), least(&mut m, ProbeKind::Issue));
        assert!(latency > empty && issue > empty, "{latency} {issue} {empty}");
        assert!((0.1..2.0).contains(&(issue / latency)), "{issue} / {latency}");
        // The least of many is much the same again: both are fixed work.
        let again = least(&mut m, ProbeKind::Issue) / least(&mut m, ProbeKind::Latency);
        let change = again / (issue / latency);
        assert!((0.5..2.0).contains(&change), "{issue} / {latency}, again {again}");
        // A load from memory that no cache near the core holds takes longer than one from the first level.
        let near = least(&mut m, ProbeKind::FirstLevel) / FIRST_LEVEL_LINES as f64;
        let far = least(&mut m, ProbeKind::MemoryLatency) / MEMORY_STEPS as f64;
        assert!(far > 2.0 * near, "{far} {near}");
    }

    #[test]
    fn a_walk_through_the_memory_goes_on() {
        if !is_fine() {
            return;
        }
        let mut m = ProbeMemory::new(1).unwrap();
        let before = (m.at, m.scattered, m.branched);
        m.all();
        assert!(m.at != before.0 && m.scattered != before.1 && m.branched != before.2);
        let other = ProbeMemory::new(2).unwrap();
        assert!(other.at != before.0, "each CPU walks elsewhere");
        assert!(Arc::ptr_eq(&m.chain, &other.chain), "the memory is there once");
    }

    #[test]
    fn what_streams_through_the_memory_evicts() {
        if !is_fine() {
            return;
        }
        let mut m = ProbeMemory::new(0).unwrap();
        m.ticks(ProbeKind::Evicted);
        let kept = lowest(&mut m, ProbeKind::Evicted, 50);
        let big: Vec<u64> = vec![1; 16 << 20];
        let streamed = || {
            std::hint::black_box(big.iter().step_by(WORDS).sum::<u64>());
        };
        let evicted = (0..5).map(|_| {
            streamed();
            f64::from(m.ticks(ProbeKind::Evicted))
        });
        let evicted = evicted.fold(f64::INFINITY, f64::min);
        assert!(evicted > 1.5 * kept, "{evicted} {kept}");
    }
}
