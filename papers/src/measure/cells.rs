//! Measures one cell of a study.

use crate::data::cells::{CellData, M, MOST_K, PATIENT, StudyCell, StudyPart};
use crate::measure::error::StudyError;
use std::hint::black_box;
use std::path::Path;
use tarebench_core::kbest::clocks::ClockKind;
use tarebench_core::kbest::scheme::Parameters;
use tarebench_core::kbest::timing::Timing;
use tarebench_core::statistics::fit::{LineFit, fit};
use tarebench_kbest::{Kbest, Repetitions};
use tarebench_sys::activity::Competitors;
use tarebench_sys::{cache, clock, counter, mechanisms, procfs};

/// Approximate time of one repetition of the computation, ns: the line is fitted to 1 to 10 of them, which fit between
/// two interrupts in most trials.
const UNIT: f64 = 10e3;
/// The book's values: repetitions that the line is fitted to, and measurements of each.
const SHORT: u32 = 10;
const MEASUREMENTS: u32 = 100;
/// Measurements of each before the first trial and after the last one, and before each trial: the machine may be slow for
/// milliseconds and more, so that compared measurements are interleaved.
const AROUND: u32 = 20;
const BETWEEN: u32 = 1;
/// Executions of a procedure in a row (figures 9.11, 9.12).
const EXECUTIONS: usize = 18;
/// Longest array of the procedure: 1 GiB.
const MOST_INTS: usize = 1 << 28;
/// Sequences of six calls (figure 9.13).
const SEQUENCES: usize = 200;

/// On separate pages, so that any two arrays are alike to the caches.
#[repr(align(4096))]
struct Ints([i32; 2048]);

/// The book's computation: writes an array of 2,048 integers and reads it back.
struct Computation {
    array: Box<Ints>,
    /// Passes over the array in one repetition.
    passes: u64,
}

impl Computation {
    fn new() -> Result<Computation, StudyError> {
        let mut computation = Computation { array: Box::new(Ints([0; 2048])), passes: 1 };
        let once = Kbest::new().measure(|| computation.run(1))?.outcome().map_or(UNIT, |o| o.value);
        computation.passes = (UNIT / once).round().max(1.0) as u64;
        Ok(computation)
    }

    /// Not inlined: the same machine code for the line and for what is compared with it.
    #[inline(never)]
    fn run(&mut self, repetitions: u64) -> i32 {
        let mut sum = 0_i32;
        for _ in 0..repetitions * self.passes {
            black_box(&mut self.array.0).fill(3);
            sum = black_box(&self.array.0).iter().fold(sum, |s, x| s.wrapping_add(*x));
        }
        sum
    }
}

/// The fastest of many measurements of short repetitions, ns by repetitions: the line is fitted to them.
struct Fastest {
    ns: [f64; SHORT as usize],
    computation: Computation,
    counter_hz: f64,
}

impl Fastest {
    /// With as many passes as the other computation makes.
    fn new(other: &Computation) -> Result<Fastest, StudyError> {
        let computation = Computation { array: Box::new(Ints([0; 2048])), passes: other.passes };
        Ok(Fastest { ns: [f64::INFINITY; SHORT as usize], computation, counter_hz: tarebench_kbest::counter::hz()? })
    }

    /// Adds `times` measurements of each, interleaved, so that a change of the machine's speed affects all alike.
    fn measure(&mut self, times: u32) {
        for _ in 0..times {
            for (r, fastest) in (1_u64..).zip(&mut self.ns) {
                // Once uncounted, as K-best does.
                black_box(self.computation.run(1));
                let start = counter::fenced();
                black_box(self.computation.run(r));
                let count = counter::fenced().wrapping_sub(start);
                *fastest = fastest.min(count as f64 / self.counter_hz * 1e9);
            }
        }
    }

    /// T(r) = m r + b, in ns: the least-squares line.
    fn line(&self) -> Result<LineFit, StudyError> {
        let points: Vec<(f64, f64)> = (1_u32..).zip(self.ns).map(|(r, ns)| (f64::from(r), ns)).collect();
        fit(&points).ok_or(StudyError::Line)
    }
}

/// The measuring thread's setup: the thread stays on one CPU as long as this exists.
pub(crate) struct StudyBench {
    cpu: u32,
    computation: Computation,
}

impl StudyBench {
    /// The calling thread must be on the CPU, alone.
    pub(crate) fn new(cpu: u32) -> Result<StudyBench, StudyError> {
        // The cost of a timer interrupt is measured once in a program: before competitors start.
        Kbest::new().compensated(true).measure(|| ())?;
        Ok(StudyBench { cpu, computation: Computation::new()? })
    }

    pub(crate) fn measure(&mut self, cell: StudyCell, round: u32) -> Result<StudyPart, StudyError> {
        let seen = match cell {
            StudyCell::Kbest { load, length } => {
                let _competitors = Competitors::start(load.saturating_sub(1), self.cpu)?;
                self.kbest(length)?
            }
            StudyCell::Interval { load, length } => {
                // Nicer, so that the kernel does not count their time as ours.
                let _competitors = Competitors::start_nice(load.saturating_sub(1), self.cpu, 1)?;
                self.interval(length)?
            }
            StudyCell::Procedure { load, length } => {
                let _competitors = Competitors::start(load.saturating_sub(1), self.cpu)?;
                procedure(length)?
            }
            StudyCell::Equal => CellData::Equal { calls: equal_calls()? },
        };
        Ok(StudyPart { cell, round, seen })
    }

    fn repetitions(line: &LineFit, length: f64) -> u64 {
        ((length - line.intercept) / line.slope).round().max(1.0) as u64
    }

    fn kbest(&mut self, length: f64) -> Result<CellData, StudyError> {
        let mut fastest = Fastest::new(&self.computation)?;
        fastest.measure(AROUND);
        let repetitions = StudyBench::repetitions(&fastest.line()?, length);
        let kbest = Kbest::new().repetitions(Repetitions::Fixed(1)).compensated(true);
        let mut timing = |(clock, most): (ClockKind, u32)| -> Result<Timing, StudyError> {
            let parameters = Parameters::new(MOST_K, 0.001, most, 0).map_err(tarebench_kbest::KbestError::from)?;
            let settings = kbest.clone().parameters(parameters).clock(clock);
            Ok(settings.measure_between(|| fastest.measure(BETWEEN), || self.computation.run(repetitions))?)
        };
        let clocks = if counter::PRESENT {
            [(ClockKind::Counter, PATIENT), (ClockKind::Gettimeofday, M), (ClockKind::ThreadCpu, M)]
        } else {
            [(ClockKind::MonotonicRaw, PATIENT), (ClockKind::Gettimeofday, M), (ClockKind::ThreadCpu, M)]
        };
        let timings = clocks.into_iter().map(&mut timing).collect::<Result<_, _>>()?;
        fastest.measure(AROUND);
        Ok(CellData::Kbest { line: fastest.line()?, repetitions, timings })
    }

    fn interval(&mut self, length: f64) -> Result<CellData, StudyError> {
        let mut fastest = Fastest::new(&self.computation)?;
        fastest.measure(MEASUREMENTS / 2);
        let repetitions = StudyBench::repetitions(&fastest.line()?, length);
        let tick = 1e9 / procfs::USER_HZ as f64;
        let read = || {
            let stat = procfs::read_below(Path::new("/"), "proc/stat").ok();
            (
                stat.and_then(|s| procfs::parse_cpu_user(&s, self.cpu)),
                mechanisms::times().unwrap_or(0) as f64 * tick,
                mechanisms::getrusage().unwrap_or(0) * 1000,
                clock::own_cpu(),
            )
        };
        let before = read();
        black_box(self.computation.run(repetitions));
        let after = read();
        fastest.measure(MEASUREMENTS / 2);
        Ok(CellData::Interval {
            line: fastest.line()?,
            repetitions,
            ticks: before.0.zip(after.0).map(|(a, b)| (b.0 - a.0).unsigned_abs()),
            times: (after.1 - before.1) as u64,
            rusage: after.2.saturating_sub(before.2),
            cpu: (after.3 - before.3).0.unsigned_abs(),
        })
    }
}

fn sum(data: &[i32]) -> i32 {
    data.iter().fold(0_i32, |s, x| black_box(s.wrapping_add(*x)))
}

/// The sum of an array, sized to take about `length` ns, executed repeatedly.
fn procedure(length: f64) -> Result<CellData, StudyError> {
    let mut data = vec![1_i32; 131_072];
    for _ in 0..3 {
        // By its CPU time, because others may have the CPU meanwhile; closer each time.
        let took = (0..3).map(|_| {
            let before = clock::thread_cpu();
            black_box(sum(&data));
            (clock::thread_cpu() - before).as_f64()
        });
        let took = took.fold(f64::INFINITY, f64::min).max(1.0);
        data.resize(((length / took * data.len() as f64) as usize).clamp(1, MOST_INTS), 1);
    }
    let hz = tarebench_kbest::counter::hz()?;
    let mut elapsed = vec![f64::NAN; EXECUTIONS];
    black_box(sum(&data));
    for ns in &mut elapsed {
        let start = counter::fenced();
        black_box(sum(&data));
        *ns = counter::fenced().wrapping_sub(start) as f64 / hz * 1e9;
    }
    Ok(CellData::Procedure { elapsed })
}

/// Eight doubles, on separate cache lines.
#[derive(Clone, Copy)]
#[repr(align(256))]
struct Doubles([f64; 8]);

/// The book's procA and procB set eight elements to 0. A store does not wait for its line on current CPUs, so these add
/// 1, which needs the data. The constant makes them different for the compiler, and costs both the same.
#[inline(never)]
fn proc_a(doubles: &mut Doubles) {
    black_box(1_u8);
    doubles.0.iter_mut().for_each(|x| *x += 1.0);
}

#[inline(never)]
fn proc_b(doubles: &mut Doubles) {
    black_box(2_u8);
    doubles.0.iter_mut().for_each(|x| *x += 1.0);
}

/// The first call of procB in the sequence.
const FIRST_B: usize = 4;

type Procedure = fn(&mut Doubles);

/// One call and its time, in units of the counter.
struct Call {
    procedure: Procedure,
    on: Box<Doubles>,
    count: u64,
}

/// The measuring code: a function, so that it can also be evicted from the caches.
#[inline(never)]
fn timed(call: &mut Call) {
    let start = counter::fenced();
    (call.procedure)(&mut call.on);
    call.count = counter::fenced().wrapping_sub(start);
}

fn equal_calls() -> Result<Vec<[f64; 6]>, StudyError> {
    let hz = tarebench_kbest::counter::hz()?;
    let call = |procedure| Call { procedure: black_box(procedure), on: Box::new(Doubles([1.0; 8])), count: 0 };
    let mut buffers = [(); 3].map(|()| Box::new(Doubles([1.0; 8])));
    let mut all = Vec::with_capacity(SEQUENCES);
    let mut next = call(proc_a as Procedure);
    for _ in 0..SEQUENCES {
        // Which procedure on which buffer (figure 9.13).
        let order: [(Procedure, usize); 6] =
            [(proc_a, 0), (proc_a, 1), (proc_a, 2), (proc_a, 0), (proc_b, 0), (proc_b, 1)];
        for buffer in &buffers {
            cache::flush(&buffer.0);
        }
        cache::flush_code(proc_a);
        cache::flush_code(timed);
        let mut counts = [0.0; 6];
        for (i, ((procedure, buffer), count)) in order.into_iter().zip(&mut counts).enumerate() {
            if i == FIRST_B {
                // A CPU also prefetches the next line, and procB lies behind procA.
                cache::flush_code(proc_b);
            }
            next.procedure = black_box(procedure);
            if let Some(on) = buffers.get_mut(buffer) {
                std::mem::swap(&mut next.on, on);
                timed(&mut next);
                std::mem::swap(&mut next.on, on);
            }
            *count = next.count as f64 / hz * 1e9;
        }
        all.push(counts);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::report::equal_calls as table;

    /// Cached data and instructions are faster than uncached ones.
    #[test]
    fn misses_cost_something() {
        let part =
            StudyPart { cell: StudyCell::Equal, round: 0, seen: CellData::Equal { calls: equal_calls().unwrap() } };
        let e = table(&[part]).unwrap();
        assert_eq!(e.sequences as usize, SEQUENCES);
        assert!(e.misses.data > 0.0 && e.misses.procedure > 0.0 && e.misses.none > 0.0, "{e:?}");
    }

    #[test]
    fn cells_are_measured() {
        let mut bench = StudyBench::new(0).unwrap();
        // However long a repetition is on this machine, so many are about as long as was asked, if the machine's speed stays the same.
        let as_asked = (0..5).any(|_| {
            let part = bench.measure(StudyCell::Kbest { load: 1, length: 50e3 }, 3).unwrap();
            let CellData::Kbest { line, repetitions, timings } = &part.seen else { panic!("{part:?}") };
            assert!(line.slope > 0.0 && *repetitions > 1 && timings.len() == 3 && part.round == 3, "{part:?}");
            let length = *repetitions as f64 * line.slope + line.intercept;
            eprintln!("{length:.0} ns by {repetitions} repetitions, {line:?}");
            (35e3..70e3).contains(&length)
        });
        assert!(as_asked);
        let part = bench.measure(StudyCell::Interval { load: 1, length: 20e6 }, 0).unwrap();
        let CellData::Interval { cpu, rusage, .. } = part.seen else { panic!("{part:?}") };
        assert!(cpu > 5_000_000 && rusage.abs_diff(cpu) < 5_000_000, "{cpu}, {rusage}");
        let part = bench.measure(StudyCell::Procedure { load: 1, length: 1e6 }, 0).unwrap();
        let CellData::Procedure { elapsed } = part.seen else { panic!("{part:?}") };
        assert!(elapsed.len() == EXECUTIONS && elapsed.iter().all(|ns| *ns > 1e5));
    }
}
