//! Noise in other tools' files: read as measurements for the model, and written from them.

use crate::noise::error::NoiseError;
use crate::noise::error::{FileError, MOST_PHASES};
use crate::noise::histogram;
use crate::run::session::new_uuid;
use std::collections::BTreeMap;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::noise::blob;
use tarebench_core::noise::data::Heuristic;
use tarebench_core::noise::data::{
    Noise, NoisePart, NoisePlan, PhaseScheduling, PhaseSource, Phases, PhasesEnd, Series,
};
use tarebench_core::noise::detour::{detours, fixed_time, replayed};
use tarebench_core::noise::files::{
    DurationUnit, detour_lines, duration_lines, ftq_lines, read_detours, read_durations,
};
use tarebench_store::{Store, content};
use tarebench_sys::clock;

/// The content of a file to read.
#[derive(Clone, Debug, PartialEq)]
pub enum Import {
    /// Duration of each phase, in units of 1/`hz` s.
    Durations {
        /// Their text form.
        unit: DurationUnit,
        /// The unit's rate.
        hz: f64,
        /// Duration of an undisturbed phase; the shortest if `None`.
        grain: Option<Nanos>,
    },
    /// Detours in ns: they delay phases of a grain.
    Detours {
        /// What an undisturbed phase takes.
        grain: Nanos,
        /// Length of the recording; to the end of the last detour if `None`.
        length: Option<Nanos>,
    },
}

/// Stores the phases of a file as a measurement of the named machine.
///
/// # Errors
/// [`FileError`] in [`NoiseError::File`]; the store's.
pub fn import(
    store: &mut dyn Store,
    text: &str,
    (file, machine): (&str, &str),
    tags: &BTreeMap<String, String>,
    how: &Import,
) -> Result<Id, NoiseError> {
    let (durations, hz, grain) = phases(text, how)?;
    let form = if matches!(how, Import::Detours { .. }) { "detours" } else { "durations" };
    let plan = NoisePlan {
        source: PhaseSource::Imported { form: form.to_owned(), file: file.to_owned() },
        tick: None,
        cpus: vec![0],
        sched: PhaseScheduling::Other,
        grains: vec![grain],
        phases: durations.len() as u64,
        limit: None,
        heuristic: Heuristic::Minimum,
        calibrations: 0,
        explain: false,
        hz,
    };
    let unknown = || Absent::NotAsked("the phases are from a file".to_owned());
    let series = Series {
        grain,
        iterations: 0,
        cpu: 0,
        ended: PhasesEnd::Complete,
        pairs: Vec::new(),
        switches: None,
        faults: None,
        cache_misses: Reading::Absent(unknown()),
        l1_misses: Reading::Absent(unknown()),
        stolen: Reading::Absent(unknown()),
        locked: true,
        unexplained: Some(unknown()),
    };
    let head = DocumentHead {
        kind: DocumentKind::Noise,
        number: 0,
        uuid: new_uuid(),
        title: format!("{file} ({form})"),
        created: clock::realtime(),
        status: Status::Unfinished,
        tool: crate::VERSION.to_owned(),
        machine: machine.to_owned(),
        // Measured elsewhere, by another tool.
        conditions: None,
        tags: tags.clone(),
    };
    let id = store.create_document(&head, &content(&plan)?)?;
    let blob = Some(blob::durations(&durations));
    store.append_part(id, &tarebench_store::DocumentPart { doc: content(&NoisePart::Phases(series))?, blob })?;
    store.set_status(id, Status::Finished)?;
    Ok(id)
}

/// The phases in a file, the rate of their unit, and their grain.
fn phases(text: &str, how: &Import) -> Result<(Vec<u64>, f64, Nanos), FileError> {
    match how {
        Import::Durations { unit, hz, grain } => {
            let all = read_durations(text, *unit)?;
            let shortest = all.iter().copied().min().filter(|d| *d > 0).ok_or(FileError::NoTime)?;
            let grain = grain.unwrap_or_else(|| Nanos((shortest as f64 * 1e9 / hz).round().max(1.0) as i64));
            Ok((all, *hz, grain))
        }
        Import::Detours { grain, length } => {
            let all = read_detours(text)?;
            let end = length.unwrap_or_else(|| all.iter().map(|d| d.start + d.duration).max().unwrap_or(Nanos::ZERO));
            if end.0 / grain.0.max(1) > MOST_PHASES {
                return Err(FileError::TooMany { end, grain: *grain });
            }
            let phases = replayed(&all, end, *grain)?;
            if phases.is_empty() {
                return Err(FileError::NoPhase { end, grain: *grain });
            }
            Ok((phases.iter().map(|d| d.0.unsigned_abs()).collect(), 1e9, *grain))
        }
    }
}

/// The file to make from phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseFileFormat {
    /// Start and length of each detour (netgauge's selfish benchmark, LogGOPSim).
    Detours {
        /// Minimum excess over the calibrated length.
        threshold: Nanos,
    },
    /// Work done in fixed quanta of time.
    Ftq {
        /// Length of a quantum.
        quantum: Nanos,
    },
    /// Duration of each phase.
    Fwq,
    /// Percentiles of the excess over the calibrated length.
    Hdr,
}

/// The file of the phases of one grain on one CPU; by default the first ones.
pub fn written(
    noise: &Noise,
    grain: Option<Nanos>,
    cpu: Option<u32>,
    form: PhaseFileFormat,
) -> Result<String, FileError> {
    let asked = |p: &&Phases| {
        grain.is_none_or(|g| g == p.series.grain) && cpu.is_none_or(|c| c == p.series.cpu) && !p.durations.is_empty()
    };
    let none = || FileError::NoSuchPhases {
        what: [grain.map(|g| format!("{} ns", g.0)), cpu.map(|c| format!("CPU {c}"))]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" on "),
        there: noise
            .phases
            .iter()
            .map(|p| format!("{} ns on CPU {}", p.series.grain.0, p.series.cpu))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let p = noise.phases.iter().find(asked).ok_or_else(none)?;
    let hz = noise.plan.hz;
    Ok(match form {
        PhaseFileFormat::Detours { threshold } => {
            detour_lines(&detours(p.timed(hz), Nanos(undisturbed(noise, p).round() as i64), threshold)?)
        }
        PhaseFileFormat::Ftq { quantum } => ftq_lines(&fixed_time(p.timed(hz), quantum)?),
        PhaseFileFormat::Fwq => duration_lines(&p.durations, hz),
        PhaseFileFormat::Hdr => {
            let units = undisturbed(noise, p) * hz / 1e9;
            histogram::lines(&histogram::of(&p.durations, units.round() as u64), 1e9 / hz)
        }
    })
}

/// Duration of an undisturbed phase, ns: from the calibration, or the grain without one.
fn undisturbed(noise: &Noise, p: &Phases) -> f64 {
    let calibrated = noise.calibration.as_ref().map(|(c, _)| c.time(p.series.iterations) * 1e9 / noise.plan.hz);
    calibrated.unwrap_or(p.series.grain.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::measure::load;
    use tarebench_store::SqliteStore;

    #[test]
    fn a_file_becomes_phases_and_a_file_again() {
        let mut store = SqliteStore::in_memory().unwrap();
        let how = Import::Durations { unit: DurationUnit::Whole, hz: 2e9, grain: None };
        let id = import(&mut store, "2000\n2000\n# late\n9000\n2010\n", ("a\u{1b}b", "far"), &BTreeMap::new(), &how)
            .unwrap();
        let (head, noise) = load(&store, id).unwrap();
        assert_eq!((head.machine.as_str(), head.status, noise.plan.grains[0]), ("far", Status::Finished, Nanos(1_000)));
        assert_eq!(noise.phases[0].durations, [2000, 2000, 9000, 2010]);
        let text = written(&noise, None, None, PhaseFileFormat::Fwq).unwrap();
        assert!(text.ends_with("\n2000\n2000\n9000\n2010\n"), "{text}");
        let text = written(&noise, None, None, PhaseFileFormat::Detours { threshold: Nanos(100) }).unwrap();
        assert!(text.ends_with("\n2000\t3500\n7505\t0"), "{text}");
        let text = written(&noise, None, None, PhaseFileFormat::Ftq { quantum: Nanos(2_000) }).unwrap();
        assert!(text.contains("\n0\t2\n2000\t"), "{text}");
        assert!(written(&noise, None, None, PhaseFileFormat::Hdr).unwrap().contains("Total count"));
        let e = written(&noise, Some(Nanos(5)), Some(3), PhaseFileFormat::Fwq).unwrap_err().to_string();
        assert_eq!(e, "there are no phases of 5 ns on CPU 3; there are: 1000 ns on CPU 0");
    }

    #[test]
    fn detours_delay_phases_of_any_grain() {
        let how = |grain, length| Import::Detours { grain: Nanos(grain), length };
        let text = "# netgauge\n1500\t250\n10000\t0";
        assert_eq!(
            phases(text, &how(1_000, None)).unwrap().0,
            [1_000, 1_250, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]
        );
        assert_eq!(phases(text, &how(4_000, Some(Nanos(9_000)))).unwrap().0, [4_250, 4_000]);
        assert!(matches!(phases(text, &how(20_000, None)), Err(FileError::NoPhase { .. })));
        let mut store = SqliteStore::in_memory().unwrap();
        let id = import(&mut store, text, ("f", "m"), &BTreeMap::new(), &how(1_000, None)).unwrap();
        assert_eq!(load(&store, id).unwrap().1.plan.hz, 1e9);
        assert!(matches!(
            import(&mut store, "x", ("f", "m"), &BTreeMap::new(), &how(1_000, None)),
            Err(NoiseError::File(_))
        ));
        let zero = Import::Durations { unit: DurationUnit::Whole, hz: 1e9, grain: None };
        assert!(matches!(phases("0\n1\n", &zero), Err(FileError::NoTime)));
    }
}
