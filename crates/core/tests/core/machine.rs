//! A simulated machine: daemons of known period, jitter and process time, drift, and the samples that it would give.
#![allow(dead_code)]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::dual::{FamilyExecutions, Observation};

/// Length of an undisturbed sample, seconds.
pub const LENGTH: f64 = 128.0;
/// Standard deviation of the cluster, seconds: the unit of all disturbances below.
pub const SIGMA: f64 = 0.0025;

pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    /// 0 to 1, never 0.
    pub fn uniform(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / 4_294_967_296.0
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// When a daemon comes.
#[derive(Clone, Copy)]
pub enum Comes {
    /// At a distance in samples, each occurrence off by this part of it (cron with a random delay).
    Clock { every: f64, jitter: f64 },
    /// Sleeps about as long after each execution, so that it loses its phase.
    Sleeps { every: f64, jitter: f64 },
    /// At any time, `rate` times per sample.
    Random { rate: f64 },
    /// In this share of the samples, once.
    Share(f64),
}

/// A daemon.
#[derive(Clone, Copy)]
pub struct Daemon {
    pub name: &'static str,
    pub comes: Comes,
    /// Process time, in cluster standard deviations.
    pub takes: f64,
    /// Standard deviation of the process time, as a part of it.
    pub varies: f64,
}

/// What the machine's speed does.
#[derive(Clone, Copy, Debug)]
pub enum Drift {
    None,
    /// A random walk; standard deviation of a step, in cluster standard deviations.
    Walk(f64),
    /// A ramp from the first to the last sample.
    Ramp(f64),
    /// A wave (the day's temperature) of this height over this number of samples.
    Wave(f64, f64),
    /// A step in the middle.
    Step(f64),
}

/// The noise of a sample.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    Normal,
    /// Student's t with 4 degrees of freedom, of the same spread: a heavy tail on both sides.
    Heavy,
    /// Stolen time: two bursts a sample on average, each of exponential length, of the same spread together.
    Stolen,
    /// Rounded to a clock of one millisecond (0.4 cluster standard deviations).
    Rounded,
}

pub struct Machine {
    pub daemons: Vec<Daemon>,
    pub drift: Vec<Drift>,
    pub noise: Noise,
}

/// Samples, and the numbers of those that each daemon fell into.
pub struct Simulated {
    pub samples: Vec<Observation>,
    pub truth: BTreeMap<&'static str, BTreeSet<u32>>,
}

impl Machine {
    pub fn quiet() -> Machine {
        Machine { daemons: vec![], drift: vec![], noise: Noise::Normal }
    }

    /// Numbers of the samples (from 1) that the daemon falls into.
    fn occurrences(daemon: &Daemon, n: u32, random: &mut Random) -> Vec<u32> {
        let (mut at, n, mut all) = (0.0, f64::from(n), Vec::new());
        match daemon.comes {
            Comes::Clock { every, jitter } => {
                at += random.uniform() * every;
                while at < n {
                    all.push(at + every * jitter * random.normal());
                    at += every;
                }
            }
            Comes::Sleeps { every, jitter } => {
                at += random.uniform() * every;
                while at < n {
                    all.push(at);
                    at += every * (1.0 + jitter * random.normal()).max(0.1);
                }
            }
            Comes::Random { rate } => {
                at -= random.uniform().ln() / rate;
                while at < n {
                    all.push(at);
                    at -= random.uniform().ln() / rate;
                }
            }
            Comes::Share(share) => {
                while at < n {
                    if random.uniform() < share {
                        all.push(at);
                    }
                    at += 1.0;
                }
            }
        }
        all.into_iter().filter(|t| (0.0..n).contains(t)).map(|t| t as u32 + 1).collect()
    }

    pub fn run(&self, n: u32, seed: u64) -> Simulated {
        let mut random = Random::new(seed);
        let mut added = vec![0.0; n as usize];
        let mut executions = vec![FamilyExecutions::new(); n as usize];
        let mut truth: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for d in &self.daemons {
            for number in Self::occurrences(d, n, &mut random) {
                let takes = d.takes * SIGMA * (1.0 + d.varies * random.normal()).max(0.05);
                let i = number as usize - 1;
                added[i] += takes;
                executions[i].entry(d.name.to_owned()).or_default().push(Nanos::from_secs_f64(takes));
                truth.entry(d.name).or_default().insert(number);
            }
        }
        let walks: Vec<f64> = self.drift.iter().map(|d| if let Drift::Walk(s) = d { *s } else { 0.0 }).collect();
        let (mut walk, mut clock, mut samples) = (0.0, 1_700_000_000.0, Vec::new());
        for (i, executions) in executions.into_iter().enumerate() {
            walk += walks.iter().map(|s| s * random.normal()).sum::<f64>();
            let place = i as f64 / f64::from(n);
            let drift: f64 = (self.drift.iter())
                .map(|d| match d {
                    Drift::None | Drift::Walk(_) => 0.0,
                    Drift::Ramp(height) => height * place,
                    Drift::Wave(height, length) => height / 2.0 * (std::f64::consts::TAU * i as f64 / length).sin(),
                    Drift::Step(height) => {
                        if place >= 0.5 {
                            *height
                        } else {
                            0.0
                        }
                    }
                })
                .sum();
            let noise = match self.noise {
                Noise::Heavy => {
                    let chi: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
                    random.normal() / (chi / 4.0).sqrt() / 2.0_f64.sqrt()
                }
                Noise::Stolen => {
                    // The variance of such a sum is twice the rate by the square of a burst's mean.
                    let (mut sum, mut at) = (0.0, -random.uniform().ln() / 2.0);
                    while at < 1.0 {
                        sum -= random.uniform().ln() / 2.0;
                        at -= random.uniform().ln() / 2.0;
                    }
                    sum
                }
                Noise::Normal | Noise::Rounded => random.normal(),
            };
            let mut elapsed = LENGTH + SIGMA * (noise + drift + walk) + added[i];
            if let Noise::Rounded = self.noise {
                elapsed = (elapsed * 1e3).round() / 1e3;
            }
            samples.push(Observation {
                number: i as u32 + 1,
                start: Nanos::from_secs_f64(clock),
                elapsed: Nanos::from_secs_f64(elapsed),
                process_time: None,
                executions: Reading::Value(executions),
                incomplete: false,
                waits: None,
            });
            // Tare's own work between samples.
            clock += elapsed + 0.1;
        }
        Simulated { samples, truth }
    }
}
