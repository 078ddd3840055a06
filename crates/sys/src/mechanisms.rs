//! What the machine's ways to read time cost and resolve (CS:APP section 9.5): each is read in a loop until it has moved often
//! enough, and then by itself for its cost.

use crate::clock::monotonic;
use crate::procfs::{parse_int, parse_schedstat};
use crate::{SysError, SysResult, clock, counter, cpu, taskstats};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clocks::{ClockKind, Clocks, MeasuredClock, Mechanism, ReadingMethod};

/// How long a mechanism may take to move; the ticks of the slowest are 10 ms apart.
const PATIENCE: Nanos = Nanos::from_millis(60);
/// Steps after which the smallest is known.
const STEPS: u32 = 2_000;
/// A batch that the cost is taken from, and how many.
const BATCH: Nanos = Nanos::from_micros(500);
const BATCHES: u32 = 7;

/// Reads of one mechanism, in units of `unit` ns.
struct MechanismReader<'a> {
    kind: ClockKind,
    way: ReadingMethod,
    unit: f64,
    read: Box<dyn FnMut() -> Option<u64> + 'a>,
}

/// The scheduler's time slice for each process, ns, where debugfs shows it (`sched/base_slice_ns`): mostly only to
/// root.
pub fn base_slice(root: &Path) -> Option<f64> {
    crate::procfs::read_text_below(root, "sys/kernel/debug/sched/base_slice_ns").ok()?.trim().parse().ok()
}

/// What is known of some mechanisms that are always there, in a few milliseconds each: those that a measurement can use.
///
/// # Errors
/// If there is no counter and no clock at all.
pub fn some(kinds: &[ClockKind]) -> SysResult<Clocks> {
    let counter_hz = if counter::PRESENT { Some(clock::cycle_counter_hz(Nanos::from_millis(20))?) } else { None };
    let asked = readers(counter_hz, &|kind| kinds.contains(&kind));
    let not_asked = || Absent::NotAsked("only some mechanisms were measured".to_owned());
    Ok(Clocks {
        source: Reading::Absent(not_asked()),
        counter_hz: counter_hz.ok_or_else(not_asked).into(),
        constant: counter::constant().ok_or_else(not_asked).into(),
        apart: Reading::Absent(not_asked()),
        mechanisms: asked.into_iter().map(measure).collect(),
    })
}

/// Everything that can be read, by its cost. Takes about a second, computing.
///
/// # Errors
/// If there is no counter and no clock at all.
pub fn clocks(root: &Path) -> SysResult<Clocks> {
    let counter_hz = if counter::PRESENT { Some(clock::cycle_counter_hz(Nanos::from_millis(50))?) } else { None };
    let allowed = cpu::allowed()?;
    let apart = match counter_hz {
        None => Reading::Absent(Absent::NotSupported("no supported cycle counter".to_owned())),
        Some(_) if allowed.len() < 2 => Reading::Absent(Absent::NotAsked("there is only one CPU".to_owned())),
        Some(hz) => match counter::apart(&allowed, hz) {
            Ok(apart) => Reading::Value(apart.as_f64()),
            Err(e) => Reading::Absent(e.absent("permission to change CPUs")),
        },
    };
    let no_counter = || Absent::NotSupported("no supported cycle counter".to_owned());
    let source =
        crate::procfs::read_text_below(root, "sys/devices/system/clocksource/clocksource0/current_clocksource");
    let mut mechanisms: Vec<Mechanism> = readers(counter_hz, &|_| true).into_iter().map(measure).collect();
    if counter_hz.is_none() {
        let absent = |kind| Mechanism { kind, measured: Reading::Absent(no_counter()) };
        mechanisms.extend([ClockKind::Counter, ClockKind::CounterUnfenced, ClockKind::CounterAfter].map(absent));
    }
    mechanisms.push(core_cycles());
    let cost = |m: &Mechanism| m.measured.value().map_or(f64::INFINITY, |v| v.latency);
    mechanisms.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then(a.kind.cmp(&b.kind)));
    Ok(Clocks {
        source: source.map(|s| s.trim().to_owned()).map_err(|e| e.absent("read access to /sys")).into(),
        counter_hz: counter_hz.ok_or_else(no_counter).into(),
        constant: counter::constant()
            .ok_or_else(|| Absent::NotSupported("the CPU does not report it".to_owned()))
            .into(),
        apart,
        mechanisms,
    })
}

/// The core's cycles by `rdpmc`; its rate is that of the core while this is read.
fn core_cycles() -> Mechanism {
    let kind = ClockKind::Rdpmc;
    let absent = |e: SysError| match e.errno() {
        Some(libc::ENOENT) => Absent::NotSupported("the CPU or its hypervisor offers no counter of cycles".to_owned()),
        _ => e.absent("permission to use perf events"),
    };
    let cycles = match crate::perf::CoreCycles::open() {
        Ok(cycles) => cycles,
        Err(e) => return Mechanism { kind, measured: Reading::Absent(absent(e)) },
    };
    let (began, first) = (monotonic(), cycles.read());
    while monotonic() - began < Nanos::from_millis(20) {}
    let elapsed = (monotonic() - began).as_f64();
    match first.zip(cycles.read()).map(|(a, b)| b.wrapping_sub(a)).filter(|made| *made > 0) {
        Some(made) => measure(MechanismReader {
            kind,
            way: ReadingMethod::Instruction,
            unit: elapsed / made as f64,
            read: Box::new(move || cycles.read()),
        }),
        None => Mechanism {
            kind,
            measured: Reading::Absent(Absent::NotSupported("the event never had a counter".to_owned())),
        },
    }
}

/// Those that are wanted; whether a clock is read in the vDSO takes some milliseconds to find out.
fn readers<'a>(counter_hz: Option<f64>, wanted: &dyn Fn(ClockKind) -> bool) -> Vec<MechanismReader<'a>> {
    let mut all: Vec<MechanismReader<'a>> = Vec::new();
    if let Some(hz) = counter_hz {
        let counter = |kind, read: fn() -> u64| MechanismReader {
            kind,
            way: ReadingMethod::Instruction,
            unit: 1e9 / hz,
            read: Box::new(move || Some(read())),
        };
        all.push(counter(ClockKind::Counter, counter::fenced));
        all.push(counter(ClockKind::CounterUnfenced, counter::unfenced));
        all.push(counter(ClockKind::CounterAfter, counter::after));
    }
    let clocks = [
        (ClockKind::MonotonicRaw, libc::CLOCK_MONOTONIC_RAW),
        (ClockKind::Monotonic, libc::CLOCK_MONOTONIC),
        (ClockKind::MonotonicCoarse, libc::CLOCK_MONOTONIC_COARSE),
        (ClockKind::Boottime, libc::CLOCK_BOOTTIME),
        (ClockKind::Realtime, libc::CLOCK_REALTIME),
        (ClockKind::RealtimeCoarse, libc::CLOCK_REALTIME_COARSE),
        (ClockKind::Tai, libc::CLOCK_TAI),
        (ClockKind::ThreadCpu, libc::CLOCK_THREAD_CPUTIME_ID),
        (ClockKind::ProcessCpu, libc::CLOCK_PROCESS_CPUTIME_ID),
    ];
    all.extend(clocks.into_iter().filter(|(kind, _)| wanted(*kind)).map(|(kind, id)| MechanismReader {
        kind,
        way: way(id),
        unit: 1.0,
        read: Box::new(move || clock::gettime(id).map(|t| t.0 as u64)),
    }));
    let call = |kind, unit, read: fn() -> Option<u64>| MechanismReader {
        kind,
        way: ReadingMethod::Call,
        unit,
        read: Box::new(read),
    };
    if wanted(ClockKind::Gettimeofday) {
        all.push(MechanismReader {
            way: way(libc::CLOCK_REALTIME),
            ..call(ClockKind::Gettimeofday, 1e3, gettimeofday)
        });
    }
    all.push(call(ClockKind::Getrusage, 1e3, getrusage));
    // POSIX demands a million a second of clock(3).
    all.push(call(ClockKind::Clock, 1e3, || u64::try_from(c_clock()).ok()));
    all.push(call(ClockKind::Times, 1e9 / crate::procfs::USER_HZ as f64, times));
    all.extend(file(ClockKind::Schedstat, "/proc/self/schedstat", 1.0, |text| Some(parse_schedstat(text)?.0 as u64)));
    let ticks = 1e9 / crate::procfs::USER_HZ as f64;
    all.extend(file(ClockKind::Stat, "/proc/self/stat", ticks, |text| {
        // Fields 14 and 15 of proc(5), counted from the end of the name.
        let close = text.iter().rposition(|b| *b == b')')?;
        let mut fields = text.get(close + 2..)?.split(|b| *b == b' ').skip(11);
        Some(parse_int::<u64>(fields.next()?)? + parse_int::<u64>(fields.next()?)?)
    }));
    if let Ok(mut query) = taskstats::Query::open() {
        let own = crate::process::own_pid();
        let read = move || query.process(own).ok().flatten().map(|r| r.cpu.0 as u64);
        all.push(MechanismReader {
            kind: ClockKind::Taskstats,
            way: ReadingMethod::Call,
            unit: 1.0,
            read: Box::new(read),
        });
    }
    all.retain(|r| wanted(r.kind));
    all
}

/// A file that stays open and is read from its beginning each time.
fn file<'a>(kind: ClockKind, path: &str, unit: f64, parse: fn(&[u8]) -> Option<u64>) -> Option<MechanismReader<'a>> {
    let file = File::open(path).ok()?;
    let mut text = [0; 1024];
    let read = move || {
        let n = file.read_at(&mut text, 0).ok()?;
        parse(text.get(..n)?)
    };
    Some(MechanismReader { kind, way: ReadingMethod::File, unit, read: Box::new(read) })
}

/// gettimeofday(2), in microseconds since 1970.
pub fn gettimeofday() -> Option<u64> {
    let mut t = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: `t` is valid for writing; the time zone is not asked for.
    let r = unsafe { libc::gettimeofday(&mut t, std::ptr::null_mut()) };
    (r == 0).then(|| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64)
}

/// getrusage(2): user and system time of the process, microseconds.
pub fn getrusage() -> Option<u64> {
    // SAFETY: all-zero is a valid rusage, and it is valid for writing.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &mut u) == 0).then_some(u)?
    };
    let micros = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
    Some(micros(u.ru_utime) + micros(u.ru_stime))
}

/// times(2): user and system time of the process, in units of 1 / [`USER_HZ`](crate::procfs::USER_HZ) s.
pub fn times() -> Option<u64> {
    // SAFETY: all-zero is a valid tms, and it is valid for writing.
    let t = unsafe {
        let mut t: libc::tms = std::mem::zeroed();
        libc::times(&mut t);
        t
    };
    Some(t.tms_utime as u64 + t.tms_stime as u64)
}

/// times(2): what it returns, ticks of 1 / [`USER_HZ`](crate::procfs::USER_HZ) s since some time in the past.
pub fn clock_ticks() -> Option<u64> {
    // SAFETY: all-zero is a valid tms, and it is valid for writing.
    let ticks = unsafe {
        let mut t: libc::tms = std::mem::zeroed();
        libc::times(&mut t)
    };
    u64::try_from(ticks).ok()
}

fn c_clock() -> libc::clock_t {
    unsafe extern "C" {
        fn clock() -> libc::clock_t;
    }
    // SAFETY: clock(3) of the C library, without preconditions.
    unsafe { clock() }
}

/// Whether the C library reads this clock in the vDSO: if so, it takes less than half of what the system call takes.
fn way(id: libc::clockid_t) -> ReadingMethod {
    let library = cost(&mut || clock::gettime(id).map(|t| t.0 as u64));
    let call = cost(&mut || {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `t` is valid for writing.
        unsafe { libc::syscall(libc::SYS_clock_gettime, id, &mut t) };
        Some(t.tv_nsec as u64)
    });
    if library < call / 2.0 { ReadingMethod::Vdso } else { ReadingMethod::Call }
}

/// Time of one reading, ns: of the fastest batch, so that an interrupt does not count.
fn cost(read: &mut dyn FnMut() -> Option<u64>) -> f64 {
    let mut n = 8_u64;
    let mut batch = |n: u64| {
        let t = monotonic();
        for _ in 0..n {
            black_box(read());
        }
        monotonic() - t
    };
    while batch(n) < BATCH {
        n *= 2;
    }
    (0..BATCHES).map(|_| batch(n).as_f64() / n as f64).fold(f64::INFINITY, f64::min)
}

fn measure(mut r: MechanismReader<'_>) -> Mechanism {
    let Some(mut last) = (r.read)() else {
        let why = SysError::last("read it").absent("a permission that is missing here");
        return Mechanism { kind: r.kind, measured: Reading::Absent(why) };
    };
    let (began, mut smallest, mut steps, mut went_back) = (monotonic(), u64::MAX, 0, false);
    while steps < STEPS && monotonic() - began < PATIENCE {
        // Several in a row, so that reading the clock that is waited by does not hide the smallest steps.
        for _ in 0..16 {
            let Some(now) = (r.read)() else { continue };
            went_back |= now < last;
            if now > last {
                smallest = smallest.min(now - last);
                steps += 1;
            }
            last = now;
        }
    }
    let resolution = (steps > 0).then_some(smallest as f64 * r.unit);
    let latency = cost(&mut r.read);
    Mechanism { kind: r.kind, measured: Reading::Value(MeasuredClock { way: r.way, resolution, latency, went_back }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_costs_something_and_moves() {
        let c = clocks(Path::new("/")).unwrap();
        assert!(c.source.value().is_some_and(|s| !s.is_empty()));
        for kind in [
            ClockKind::Monotonic,
            ClockKind::MonotonicRaw,
            ClockKind::ThreadCpu,
            ClockKind::Getrusage,
            ClockKind::Times,
            ClockKind::Stat,
        ] {
            let m = c.measured(kind).unwrap();
            assert!(m.latency > 0.0 && m.resolution.is_some_and(|r| r > 0.0), "{kind:?}: {m:?}");
            assert!(!m.went_back, "{kind:?}");
        }
        // By its nature: what is read by ticks moves by ticks, what is exact does not.
        let resolution = |kind| c.measured(kind).unwrap().resolution.unwrap();
        assert_eq!(resolution(ClockKind::Times) % 10e6, 0.0);
        assert!(resolution(ClockKind::MonotonicCoarse) >= 1e6 - 1.0 && resolution(ClockKind::Monotonic) < 1e5);
        assert!(c.measured(ClockKind::Schedstat).is_none_or(|m| m.way == ReadingMethod::File));
        assert_eq!(c.measured(ClockKind::ThreadCpu).unwrap().way, ReadingMethod::Call);
    }
}
