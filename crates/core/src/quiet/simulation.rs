//! A machine and programs of which all is known, for tests: what the probes measure, and what a program takes.

use crate::base::units::Nanos;
use crate::quiet::data::QuietLevels;
use crate::sample::probes::{CpuProbes, GateRecord, PROBE_KINDS, PROBE_REVISION, ProbeCost, ProbeWake, SampleProbes};
use crate::statistics::random::{RandomPurpose, generator, normal, unit};
use rand_chacha::ChaCha8Rng;

/// Ticks of the latency probe, and what the others take on the quiet machine, as [`QuietLevels::levels`] has it.
const LATENCY: f64 = 24_000.0;
const LEVELS: [f64; PROBE_KINDS] = [1.0, 0.42, 0.5, 0.6, 0.8, 0.9, 0.7, 30_000.0, 80_000.0, 0.9, 1.1];
/// Scatter of a wake-up's ticks.
const SCATTER: [f64; PROBE_KINDS] = [0.003, 0.01, 0.01, 0.01, 0.02, 0.01, 0.02, 0.05, 0.03, 0.08, 0.05];
/// What a busy sibling adds to the logarithm of each.
const SIBLING: [f64; PROBE_KINDS] = [0.0, 0.59, 0.4, 0.35, 0.15, 0.2, 0.45, 0.1, 0.25, 0.2, 0.1];
/// What the clock does; the core's probes are divided by the first.
const CLOCK: [f64; PROBE_KINDS] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.2, 0.0, 0.0];
/// Seconds between two wake-ups.
const PERIOD: f64 = 0.002;
const LONGEST_PAUSE: f64 = 1.5;
/// Of samples by themselves, beside that of the memory's layout.
const JITTER: f64 = 0.002;

/// What the machine does beside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    Nothing,
    /// The sibling is busy at times, for long.
    Sibling,
    /// The clock wanders by 15%.
    Clock,
    Both,
    /// The sibling is always busy.
    Storm,
}

pub(crate) fn random(item: u64) -> ChaCha8Rng {
    generator(16, RandomPurpose::Noise, item)
}

/// The machine's levels, as exactly as they may be known.
pub(crate) fn levels(rng: &mut ChaCha8Rng) -> QuietLevels {
    let mut levels = LEVELS;
    levels.iter_mut().skip(1).for_each(|l| *l *= (0.001 * normal(rng)).exp());
    let latency = LATENCY * (0.001 * normal(rng)).exp();
    QuietLevels { revision: PROBE_REVISION, learned: Nanos::ZERO, wakes: 1_000, latency, levels }
}

#[derive(Clone, Debug)]
pub(crate) struct SimulatedMachine {
    disturbance: Disturbance,
    time: f64,
    busy: bool,
    /// When the sibling changes, and its mean periods, s.
    change: f64,
    period: f64,
    /// Of the clock's course, s.
    course: f64,
}

impl SimulatedMachine {
    /// One that changes from sample to sample.
    pub fn varying(disturbance: Disturbance, rng: &mut ChaCha8Rng) -> SimulatedMachine {
        SimulatedMachine { period: 0.3, course: 1.0, ..SimulatedMachine::new(disturbance, rng) }
    }
}

impl SimulatedMachine {
    pub fn new(disturbance: Disturbance, rng: &mut ChaCha8Rng) -> SimulatedMachine {
        let period = 0.05 * 10_f64.powf(2.0 * unit(rng));
        let changes = matches!(disturbance, Disturbance::Sibling | Disturbance::Both);
        SimulatedMachine {
            disturbance,
            time: 1_000.0 * unit(rng),
            busy: disturbance == Disturbance::Storm || changes && unit(rng) < 0.5,
            change: if changes { 0.0 } else { f64::INFINITY },
            period,
            course: 10_f64.powf(3.0 * unit(rng)),
        }
    }

    fn pass(&mut self, seconds: f64, rng: &mut ChaCha8Rng) {
        self.time += seconds;
        if self.time > self.change {
            self.busy = !self.busy;
            self.change = self.time - self.period * unit(rng).ln();
        }
    }

    fn slowdowns(&self) -> [f64; PROBE_KINDS] {
        let drifts = matches!(self.disturbance, Disturbance::Clock | Disturbance::Both);
        let clock = if drifts { 0.15 * (std::f64::consts::TAU * self.time / self.course).sin() } else { 0.0 };
        let sibling = f64::from(u8::from(self.busy));
        std::array::from_fn(|k| clock * CLOCK[k] + sibling * SIBLING[k])
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SimulatedProgram {
    /// How it follows the probes.
    pub follows: [f64; PROBE_KINDS],
    /// Time on the quiet machine, s.
    pub work: f64,
    /// Scatter between executions by the layout of memory.
    pub layout: f64,
}

impl SimulatedProgram {
    /// Multiplications, additions, branches, a chase through the first cache, streaming.
    pub fn new(kind: usize, layout: f64) -> SimulatedProgram {
        let mut follows = [0.0; PROBE_KINDS];
        let known: &[(usize, f64)] = match kind % 5 {
            0 => &[(0, 1.0)],
            1 => &[(0, 1.0), (1, 0.7)],
            2 => &[(0, 0.99), (4, 0.96)],
            3 => &[(0, 0.5), (6, 1.13)],
            _ => &[(0, 0.1), (7, 0.5), (8, 0.58)],
        };
        known.iter().for_each(|(k, b)| follows[*k] = *b);
        SimulatedProgram { follows, work: 0.08, layout }
    }
}

/// A sample's probes, and its process time.
pub(crate) type SimulatedSample = (SampleProbes, Nanos);

fn execute(m: &mut SimulatedMachine, p: &SimulatedProgram, gate: bool, rng: &mut ChaCha8Rng) -> SimulatedSample {
    m.pass(0.02 * unit(rng), rng);
    let (mut wakes, mut done, mut time, mut stops, mut paused) = (Vec::new(), 0.0, 0.0, 0, 0.0);
    loop {
        if gate && m.busy && paused < LONGEST_PAUSE {
            stops += u32::from(time > 0.0);
            while m.busy && paused < LONGEST_PAUSE {
                m.pass(0.001, rng);
                paused += 0.001;
            }
        }
        m.pass(PERIOD, rng);
        let slow = m.slowdowns();
        let latency = LATENCY * (slow[0] + SCATTER[0] * normal(rng)).exp();
        let ticks = std::array::from_fn(|k| match k {
            0 => latency as u32,
            7 | 8 => (LEVELS[k] * (slow[k] + SCATTER[k] * normal(rng)).exp()) as u32,
            _ => (LEVELS[k] * latency * (slow[k] + SCATTER[k] * normal(rng)).exp()) as u32,
        });
        wakes.push(ProbeWake { at: Nanos::from_secs_f64(time), ticks });
        let speed = (-slow.iter().zip(&p.follows).map(|(s, b)| s * b).sum::<f64>()).exp();
        if done + PERIOD * speed >= p.work {
            time += (p.work - done) / speed;
            break;
        }
        (done, time) = (done + PERIOD * speed, time + PERIOD);
    }
    let seconds = time * (p.layout * normal(rng) + JITTER * normal(rng)).exp();
    let gate = gate.then(|| GateRecord {
        waited: Nanos::ZERO,
        stops,
        paused: Nanos::from_secs_f64(paused),
        limit_reached: paused >= LONGEST_PAUSE,
    });
    let cpus = vec![CpuProbes { cpu: 0, wakes, kept_every: 1, watched: Vec::new(), paused: Vec::new() }];
    let cost = ProbeCost { cpu: Nanos::ZERO, wakes: 0, late: 0 };
    (SampleProbes { revision: PROBE_REVISION, cpus, gate, cost }, Nanos::from_secs_f64(seconds))
}

/// So many executions in succession.
pub(crate) fn series(
    m: &mut SimulatedMachine,
    p: &SimulatedProgram,
    n: usize,
    gate: bool,
    rng: &mut ChaCha8Rng,
) -> Vec<SimulatedSample> {
    (0..n).map(|_| execute(m, p, gate, rng)).collect()
}
