//! Measurements against what is known to be so: other processes on the CPU, timer interrupts, cold caches.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tarebench_kbest::{Clock, Kbest, Parameters, TimingStanding, counter};
use tarebench_sys::activity::Competitors;
use tarebench_sys::cpu;

/// One at a time: they disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same machine code wherever it is measured, and no memory: what a loop over the stack takes depends on where the stack is, on
/// some CPUs by half.
fn spin(n: u64) {
    tarebench_sys::noise::work(n);
}

/// Iterations of [`spin`] that take `seconds`.
fn iterations(seconds: f64) -> u64 {
    let each = Kbest::new().measure(|| spin(100_000)).unwrap().outcome().unwrap().value / 100_000.0;
    (seconds * 1e9 / each) as u64
}

fn few() -> Parameters {
    Parameters::new(3, 0.01, 6, 0).unwrap()
}

/// 40 ms among three others: no trial fits into a slice, which is a tick or some milliseconds.
#[test]
fn a_slice_that_is_too_short_is_said_and_cpu_time_serves() {
    let _alone = alone();
    let on = *cpu::allowed().unwrap().last().unwrap();
    cpu::confine(&[on]).unwrap();
    let n = iterations(0.04);
    let competitors = Competitors::start(3, on).unwrap();
    let elapsed = Kbest::new().parameters(few()).measure(|| spin(n)).unwrap();
    let own = Kbest::new().parameters(few()).clock(Clock::ThreadCpu).measure(|| spin(n)).unwrap();
    drop(competitors);
    let TimingStanding::SliceTooShort { lacking } = elapsed.standing() else { panic!("{:?}", elapsed.standing()) };
    assert!((0.5..0.95).contains(&lacking), "{lacking}");
    assert_eq!(elapsed.value().value(), None);
    assert!(elapsed.trials.iter().all(|t| t.preemptions.is_some_and(|p| p > 0)));
    let (elapsed, own) = (elapsed.outcome().unwrap().value, *own.value().value().unwrap());
    assert!(own < elapsed / 1.8, "{own} ns of CPU time, {elapsed} ns elapsed");
}

/// 30 µs among three others: most trials fit.
#[test]
fn short_code_is_measured_among_others() {
    let _alone = alone();
    let on = *cpu::allowed().unwrap().last().unwrap();
    cpu::confine(&[on]).unwrap();
    let n = iterations(30e-6);
    let competitors = Competitors::start(3, on).unwrap();
    let timing = Kbest::new().measure(|| spin(n)).unwrap();
    drop(competitors);
    assert!(timing.value().value().is_some(), "{:?}", timing.standing());
}

#[test]
fn timer_interrupts_are_counted_and_the_least_that_they_cost_is_subtracted() {
    let _alone = alone();
    let n = iterations(0.05);
    // A trace that was disturbed shows no tick; it is made once in a program, so this is said, not repeated.
    let timing = Kbest::new().parameters(few()).compensated(true).measure(|| spin(n)).unwrap();
    let plain = Kbest::new().parameters(few()).measure(|| spin(n)).unwrap();
    assert!(plain.compensation.absent().is_some() && plain.trials.iter().all(|t| t.ticks.is_none()));
    match timing.compensation.value() {
        Some(c) => {
            let hz = timing.hz / c.period;
            assert!(
                [100.0, 250.0, 300.0, 1000.0].iter().any(|h| (hz / h - 1.0_f64).abs() < 0.02),
                "{hz} ticks a second"
            );
            for t in timing.trials.iter().filter(|t| t.ticks.is_some()) {
                let (subtracted, most) = (timing.interrupts(t), t.count as f64 / c.period * c.cost);
                assert!(subtracted > 0.0 && subtracted <= most, "{t:?}, {c:?}");
                assert!(timing.time(t) < timing.gross(t));
            }
            // An interrupt takes far less than what is between two.
            assert!(c.cost < c.period / 10.0, "{c:?}");
        }
        None => assert!(timing.trials.iter().all(|t| timing.time(t) == timing.gross(t)), "{:?}", timing.compensation),
    }
}

/// A ring of cache lines, each with the place of the next, in an order that no CPU foresees.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(usize);

fn ring(lines: usize) -> Vec<Line> {
    let mut order: Vec<usize> = (0..lines).collect();
    let mut random = 1_u64;
    for i in (1..lines).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (random >> 33) as usize % (i + 1));
    }
    let mut ring = vec![Line(0); lines];
    for (from, to) in order.iter().zip(order.iter().cycle().skip(1)) {
        ring[*from] = Line(*to);
    }
    ring
}

/// Once around.
fn walk(ring: &[Line]) -> usize {
    black_box(ring).iter().fold(0, |at, _| ring[at].0)
}

/// Reading what was pushed out of the caches takes longer than reading what is in the first one: each of these loads waits for the
/// one before it.
#[test]
fn cold_takes_longer_than_warm() {
    let _alone = alone();
    let data = ring(256);
    let p = Parameters::new(3, 0.05, 30, 0).unwrap();
    let warm = Kbest::new().parameters(p).measure(|| walk(&data)).unwrap().outcome().unwrap().value;
    let cold = Kbest::new().parameters(p).cold_by(64 << 20).measure(|| walk(&data)).unwrap().outcome().unwrap().value;
    assert!(cold > 1.5 * warm, "{cold} ns cold, {warm} ns warm");
    // The same by lines, where the CPU has an instruction for it.
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        let flushed = Kbest::new().parameters(p).measure_with(
            || tarebench_kbest::flush(&data),
            |()| {
                black_box(walk(&data));
            },
        );
        let flushed = flushed.unwrap().outcome().unwrap().value;
        assert!(flushed > 1.5 * warm, "{flushed} ns flushed, {warm} ns warm");
    }
}

/// K-best and the plain counter see the same computation. They are interleaved: the machine may be slow for a while.
#[test]
fn the_plain_counter_agrees() {
    let _alone = alone();
    let n = iterations(1e-3);
    let hz = counter::hz().unwrap();
    let (mut kbest, mut plain) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..20 {
        kbest = kbest.min(Kbest::new().parameters(few()).measure(|| spin(n)).unwrap().outcome().unwrap().value);
        for _ in 0..6 {
            counter::start_counter();
            spin(n);
            plain = plain.min(counter::get_counter() / hz * 1e9);
        }
    }
    let ratio = kbest / plain;
    assert!((0.8..1.25).contains(&ratio), "{kbest} ns, {plain} ns");
}

/// What `cargo test` has built beside this test.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples").join(name)
}

#[test]
fn the_books_experiment_runs() {
    let _alone = alone();
    let program = built("book");
    assert!(Path::new(&program).exists(), "{}", program.display());
    let out = Command::new(program).output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && said.starts_with("T(r) = ") && said.lines().count() == 6, "{said}");
}
