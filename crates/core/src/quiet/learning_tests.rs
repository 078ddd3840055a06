use crate::base::units::Nanos;
use crate::quiet::correction::{fit_coefficients, quiet_time};
use crate::quiet::correction_tests::quiet_samples;
use crate::quiet::data::{KnownLevel, QuietCoefficients, QuietLevels};
use crate::quiet::prior::KnownCoefficients;
use crate::quiet::simulation::{
    Disturbance, SimulatedMachine, SimulatedProgram, SimulatedSample, levels, random, series,
};
use crate::sample::probes::ProbeKind;
use crate::statistics::random::normal;
use rand_chacha::ChaCha8Rng;

fn taken(d: Disturbance, p: &SimulatedProgram, n: usize, rng: &mut ChaCha8Rng) -> Vec<SimulatedSample> {
    series(&mut SimulatedMachine::new(d, rng), p, n, false, rng)
}

fn known(same: Option<QuietCoefficients>) -> KnownCoefficients {
    KnownCoefficients { same, others: Vec::new() }
}

/// What runs teach one after the other, each in its state of the machine.
fn taught(
    states: &[Disturbance],
    p: &SimulatedProgram,
    levels: &QuietLevels,
    rng: &mut ChaCha8Rng,
) -> KnownCoefficients {
    let mut all = known(None);
    for d in states {
        let samples = taken(*d, p, 10, rng);
        all = known(fit_coefficients(&quiet_samples(&samples), levels, &all, "p", Nanos(1)));
    }
    all
}

/// In each run the machine is in one state, so that its samples alone say nothing of the sibling. Additions follow the issue width by
/// 0.7; in the storm they take half as long again.
#[test]
fn runs_in_different_states_tell_what_none_of_them_does() {
    use Disturbance::{Nothing, Storm};
    let mut rng = random(41);
    let levels = levels(&mut rng);
    let program = SimulatedProgram::new(1, 0.002);
    let all = taught(&[Nothing, Storm, Nothing, Storm, Nothing, Storm], &program, &levels, &mut rng);
    let storm = taken(Storm, &program, 10, &mut rng);
    let found = quiet_time(&quiet_samples(&storm), Some(&levels), &all).unwrap();
    assert!(found.uncorrected > 1.4 * program.work * 1e9, "{found:?}");
    assert!((found.value / (program.work * 1e9) - 1.0).abs() < 0.02, "{found:?}");
    assert!(found.interval.contains(program.work * 1e9), "{found:?}");
    // With what only the samples of each run say, the state stays unknown.
    let mut alone = all.same.unwrap();
    alone.covariance = taught(&[Nothing], &program, &levels, &mut rng).same.unwrap().covariance;
    assert!(quiet_time(&quiet_samples(&storm), Some(&levels), &known(Some(alone))).is_err());
}

/// A change of the program is none of the machine: it is in the time, and teaches nothing of the coefficients.
#[test]
fn a_changed_program_is_learned_anew() {
    let mut rng = random(42);
    let levels = levels(&mut rng);
    let program = SimulatedProgram::new(1, 0.002);
    let all = taught(&[Disturbance::Sibling; 4], &program, &levels, &mut rng);
    let before = all.same.clone().unwrap();
    let changed = SimulatedProgram { work: 1.2 * program.work, ..program };
    let samples = taken(Disturbance::Sibling, &changed, 10, &mut rng);
    let found = quiet_time(&quiet_samples(&samples), Some(&levels), &all).unwrap();
    assert!(found.interval.contains(changed.work * 1e9), "{found:?}");
    let after = fit_coefficients(&quiet_samples(&samples), &levels, &all, "p", Nanos(2)).unwrap();
    let level = |c: &QuietCoefficients| c.level.as_ref().unwrap().log_time;
    assert!((level(&after) - level(&before) - 1.2_f64.ln()).abs() < 0.02, "{after:?}");
    // All that it teaches is in its own samples.
    let elsewhere = before.level.clone().map(|l| Box::new(KnownLevel { log_time: l.log_time + 5.0, ..*l }));
    let without = QuietCoefficients { level: elsewhere, ..before };
    let alone = fit_coefficients(&quiet_samples(&samples), &levels, &known(Some(without)), "p", Nanos(2)).unwrap();
    assert_eq!(after.coefficients, alone.coefficients);
}

/// The time is known in relation to what is quiet; when that is learned anew, what is known moves with it.
#[test]
fn other_levels_move_the_known_time() {
    let mut rng = random(43);
    let old = levels(&mut rng);
    let program = SimulatedProgram::new(1, 0.002);
    let all = taught(&[Disturbance::Both; 6], &program, &old, &mut rng);
    let samples = taken(Disturbance::Both, &program, 10, &mut rng);
    let mut new = old.clone();
    new.levels[ProbeKind::Stores as usize] *= 1.2;
    let after = |levels: &QuietLevels| fit_coefficients(&quiet_samples(&samples), levels, &all, "p", Nanos(2)).unwrap();
    let (kept, moved) = (after(&old), after(&new));
    let by = kept.coefficients[ProbeKind::Stores as usize] * 1.2_f64.ln();
    let level = |c: &QuietCoefficients| c.level.as_ref().unwrap().log_time;
    assert!(
        by.abs() > 0.01 && (level(&moved) - level(&kept) - by).abs() < 0.3 * by.abs(),
        "{by}: {} {}",
        level(&kept),
        level(&moved)
    );
    // Of the probes that depend on the program, quiet is what its first run saw.
    let mut memory = old.clone();
    memory.levels[ProbeKind::MemoryThroughput as usize] *= 1.1;
    let unmoved = level(&after(&memory)) - level(&kept);
    assert!(unmoved.abs() < 1e-9, "{unmoved}");
    // A probe that has no level any more: it begins anew.
    new.levels[ProbeKind::Stores as usize] = 0.0;
    assert!(level(&after(&new)).is_finite());
}

/// How many branches are predicted wrongly is random, so that the probe of each sample differs by chance. What that seems to say of the
/// program must not outweigh what the runs say, which met two states of the machine.
#[test]
fn chance_teaches_nothing_of_branches() {
    let mut rng = random(45);
    let levels = levels(&mut rng);
    let program = SimulatedProgram::new(2, 0.001);
    let branches = ProbeKind::Branches as usize;
    let run = |slower: f64, rng: &mut ChaCha8Rng| -> Vec<SimulatedSample> {
        let mut samples = taken(Disturbance::Nothing, &program, 10, rng);
        for (probes, pt) in &mut samples {
            for ticks in probes.cpus[0].wakes.iter_mut().map(|wake| &mut wake.ticks[branches]) {
                *ticks = (f64::from(*ticks) * (slower + 0.03 * normal(rng)).exp()) as u32;
            }
            *pt = Nanos::from_secs_f64(pt.as_f64() / 1e9 * (program.follows[branches] * slower).exp());
        }
        samples
    };
    let mut all = known(None);
    for slower in [0.0, 0.04, 0.0, 0.04, 0.04, 0.0, 0.04, 0.0] {
        all = known(fit_coefficients(&quiet_samples(&run(slower, &mut rng)), &levels, &all, "p", Nanos(1)));
    }
    let learned = all.same.as_ref().unwrap().coefficients[branches];
    assert!((learned - program.follows[branches]).abs() < 0.2, "{learned}");
    let found = quiet_time(&quiet_samples(&run(0.04, &mut rng)), Some(&levels), &all).unwrap();
    assert!((found.value / (program.work * 1e9) - 1.0).abs() < 0.01 && found.branches.share < 0.5, "{found:?}");
    assert!(found.interval.contains(program.work * 1e9), "{found:?}");
}

/// More runs make it more certain, whatever they meet.
#[test]
fn every_run_adds() {
    let mut rng = random(44);
    let levels = levels(&mut rng);
    let program = SimulatedProgram::new(2, 0.002);
    let variance = |runs: usize, rng: &mut ChaCha8Rng| {
        let c = taught(&vec![Disturbance::Both; runs], &program, &levels, rng).same.unwrap();
        (c.level.unwrap().variance, c.samples)
    };
    let (one, eight) = (variance(1, &mut rng), variance(8, &mut rng));
    assert!(eight.0 < one.0 / 2.0, "{one:?} {eight:?}");
    assert_eq!((one.1, eight.1), (10, 80));
}

/// However many runs were before: what is known becomes no surer than it is right.
#[test]
fn intervals_hold_the_time_after_many_runs() {
    let (mut given, mut inside) = (0, 0);
    for item in 0..60 {
        let mut rng = random(7_000 + item);
        let levels = levels(&mut rng);
        let program = SimulatedProgram::new(item as usize, [0.0, 0.01, 0.03][item as usize % 3]);
        let state = [Disturbance::Sibling, Disturbance::Clock, Disturbance::Both][item as usize / 3 % 3];
        let all = taught(&[state; 10], &program, &levels, &mut rng);
        let samples = taken(state, &program, 10, &mut rng);
        let Ok(found) = quiet_time(&quiet_samples(&samples), Some(&levels), &all) else { continue };
        given += 1;
        inside += u32::from(found.interval.contains(program.work * 1e9));
    }
    assert!(given >= 40 && f64::from(inside) >= 0.94 * f64::from(given), "{inside} of {given}");
}
