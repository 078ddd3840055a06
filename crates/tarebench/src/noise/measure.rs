//! Measurements of noise (ICS'05, section 3) on this machine: a fixed loop, repeated, on one CPU or several at once.
//! The phases of a grain are durable before the next grain starts.

use crate::noise::error::NoiseError;
use crate::noise::histogram;

use crate::documents;
use crate::documents::{DocumentError, DocumentStore, MeasureOptions, Stopped};
use crate::event::{Event, Watch};
use crate::run::session::StorePlace;
use crate::trace::record;
use std::path::Path;
use tarebench_bpf::timeline::Recorded;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::documents::progress::MeasuringStep;
use tarebench_core::noise::blob;
use tarebench_core::noise::data::PhaseCalibration;
use tarebench_core::noise::data::{
    Calibrated, Kernel, KernelRecord, KernelTick, Noise, NoisePart, NoisePlan, PhaseScheduling, Phases, PhasesEnd,
    Series,
};
use tarebench_core::noise::report::{DELAYS, Grain, report_over};
use tarebench_core::noise::undisturbed::UndisturbedRule;
use tarebench_core::statistics::series::Values;
use tarebench_core::trace::timeline::CpuEvent as KernelEvent;
use tarebench_store::{Store, content};
use tarebench_sys::noise::{GRACE, MeasuredCpu as Timed, Setup, Team};
use tarebench_sys::perf;
use tarebench_sys::perf::{CacheLevel, CacheMisses};
use tarebench_sys::procfs::{parse_steal_of, read_below};
use tarebench_sys::signals::Signals;
use tarebench_sys::{SysError, clock, counter, cpu, topology};

/// Iterations of the calibration's loop (ICS'05, section 3.1).
const ITERATIONS: u64 = 1_000_000;
/// Timings of a loop of one iteration, which give the cost of reading the counter.
const READINGS: usize = 10_000;
/// Time over which the counter's rate is measured.
const RATE: Nanos = Nanos::from_millis(200);
/// Phases may be shorter than calibrated: factor for the room beyond the number that should fit into the time.
const ROOM: f64 = 1.25;

/// The CPUs of a measurement, checked; the last that may be used if none is asked for.
///
/// # Errors
/// The system's, and if one may not be used.
pub fn choose_cpus(asked: Option<Vec<u32>>) -> Result<Vec<u32>, NoiseError> {
    let Some(mut cpus) = asked else { return Ok(cpu::allowed()?.last().copied().into_iter().collect()) };
    cpus.sort_unstable();
    cpus.dedup();
    let allowed = topology::reachable()?;
    match cpus.iter().find(|c| !allowed.contains(c)) {
        Some(&cpu) => Err(NoiseError::Cpu { cpu, allowed }),
        None => Ok(cpus),
    }
}

/// The counter's rate, in units a second.
///
/// # Errors
/// Without a counter.
pub fn rate() -> Result<f64, NoiseError> {
    if !counter::PRESENT {
        return Err(NoiseError::NoCounter);
    }
    Ok(clock::cycle_counter_hz(RATE)?)
}

/// Configuration of this kernel's tick.
pub fn tick() -> KernelTick {
    tarebench_host::tick::tick(Path::new("/"))
}

/// Maximum number of phases of a grain, and their expected time.
fn size(plan: &NoisePlan, grain: Nanos) -> (usize, Nanos) {
    let fit = |limit: Nanos| (limit.as_f64() / grain.as_f64() * ROOM) as u64 + 1;
    let phases = plan.limit.map_or(plan.phases, |limit| plan.phases.min(fit(limit)));
    let whole = Nanos(i64::try_from(phases).unwrap_or(i64::MAX).saturating_mul(grain.0));
    (usize::try_from(phases).unwrap_or(usize::MAX), plan.limit.map_or(whole, |l| whole.min(l + grain)))
}

/// Result of a measurement.
#[derive(Debug)]
pub struct MeasuredNoise {
    /// Its head; without a number if it is not stored.
    pub head: DocumentHead,
    /// The measurement.
    pub noise: Noise,
    /// Why it ended.
    pub stopped: Stopped,
}

impl MeasuredNoise {
    /// Its report, with the probabilities of these delays, or of the default ones if empty.
    pub fn report(&self, delays: &[Nanos]) -> Vec<Grain> {
        reported(&self.noise, delays)
    }

    /// The same with slowdowns relative to this undisturbed grain.
    pub fn report_over(&self, delays: &[Nanos], over: UndisturbedRule) -> Vec<Grain> {
        reported_over(&self.noise, delays, over)
    }
}

/// Seed of the intervals.
const SEED: u64 = 1;

/// The report of a measurement, with the probabilities of these delays, or of the default ones if empty.
pub fn reported(noise: &Noise, delays: &[Nanos]) -> Vec<Grain> {
    reported_over(noise, delays, UndisturbedRule::default())
}

/// As [`reported`], with slowdowns relative to this undisturbed grain instead of the shortest phase.
pub fn reported_over(noise: &Noise, delays: &[Nanos], over: UndisturbedRule) -> Vec<Grain> {
    report_over(noise, if delays.is_empty() { &DELAYS } else { delays }, over, SEED)
}

/// Measures what the plan says; `watch` is called before each step. The process must have one
/// thread only.
///
/// # Errors
/// [`NoiseError`]; the phases measured before are kept.
pub fn measure(
    plan: &NoisePlan,
    place: &mut StorePlace,
    options: &MeasureOptions,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredNoise, NoiseError> {
    let mut document_store = DocumentStore::at(place)?;
    let (id, claim) = documents::begin(document_store.store(), DocumentKind::Noise, &title(plan), plan, options)?;
    let named = document_store.number(id);
    let done = steps(document_store.store(), id, plan, signals, &mut |step| watch(Event::Step(Some(named), step)));
    let status = if matches!(done, Ok(None)) { Status::Finished } else { Status::Interrupted };
    let marked = documents::end(document_store.store(), id, status, &claim);
    let stopped = done?.map_or(Stopped::Finished, Stopped::Interrupted);
    marked?;
    let (head, noise) = load(document_store.store(), id)?;
    Ok(MeasuredNoise { head: DocumentHead { number: named.number, ..head }, noise, stopped })
}

fn title(plan: &NoisePlan) -> String {
    let grain = |g: &Nanos| match g.0 {
        n if n % 1_000_000_000 == 0 => format!("{}s", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => format!("{}ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}us", n / 1_000),
        n => format!("{n}ns"),
    };
    let grains: Vec<String> = plan.grains.iter().map(grain).collect();
    let cpus: Vec<String> = plan.cpus.iter().map(u32::to_string).collect();
    let sched = match plan.sched {
        PhaseScheduling::Other => String::new(),
        PhaseScheduling::Fifo { priority } => format!(", fifo:{priority}"),
    };
    format!("{} on CPU {}{sched}", grains.join(","), cpus.join(","))
}

fn team(
    plan: &NoisePlan,
    cpus: &[u32],
    work: (u64, usize),
    most: Option<u64>,
    expected: Nanos,
) -> Result<Team, NoiseError> {
    let fifo = match plan.sched {
        PhaseScheduling::Other => None,
        PhaseScheduling::Fifo { priority } => Some(priority),
    };
    let setup = Setup { cpus: cpus.to_vec(), fifo, iterations: work.0, phases: work.1, most, expected, grace: GRACE };
    Team::start(&setup).map_err(|e| if fifo.is_some() { real_time(e) } else { e.into() })
}

fn real_time(e: SysError) -> NoiseError {
    match e.absent("") {
        Absent::NoPermission(_) => match tarebench_sys::cgroup::without_realtime(std::path::Path::new("/")) {
            Some(file) => NoiseError::Budget { error: e, file },
            None => NoiseError::Priority(e),
        },
        _ => e.into(),
    }
}

fn steps(
    store: &mut dyn Store,
    id: Id,
    plan: &NoisePlan,
    signals: &Signals,
    watch: &mut dyn FnMut(MeasuringStep),
) -> Result<Option<i32>, NoiseError> {
    watch(MeasuringStep::Calibration);
    let (calibrated, timings, signal) = calibrate(plan, signals)?;
    if let Some(signal) = signal {
        return Ok(Some(signal));
    }
    let blob = Some(blob::durations(&timings));
    store.append_part(
        id,
        &tarebench_store::DocumentPart { doc: content(&NoisePart::Calibration(calibrated.clone()))?, blob },
    )?;
    for grain in &plan.grains {
        let (_, expected) = size(plan, *grain);
        watch(MeasuringStep::Phases { grain: *grain, expected });
        let (all, signal) = phases(plan, &calibrated, *grain, signals)?;
        for p in all {
            let cpu = p.series.cpu;
            let undisturbed = calibrated.time(p.series.iterations).round() as u64;
            let histogram = histogram::of(&p.durations, undisturbed);
            let blob = Some(blob::durations(&p.durations));
            store.append_part(
                id,
                &tarebench_store::DocumentPart { doc: content(&NoisePart::Phases(p.series))?, blob },
            )?;
            let doc = content(&NoisePart::Histogram { grain: *grain, cpu, undisturbed })?;
            store.append_part(id, &tarebench_store::DocumentPart { doc, blob: Some(histogram::bytes(&histogram)) })?;
            if let Some(kernel) = p.kernel {
                let (whats, blob) = blob::events(&kernel.events);
                let doc = content(&NoisePart::Kernel(KernelRecord { whats, ..kernel.record }))?;
                store.append_part(id, &tarebench_store::DocumentPart { doc, blob: Some(blob) })?;
                let doc = content(&NoisePart::Stolen { grain: *grain, cpu })?;
                store.append_part(
                    id,
                    &tarebench_store::DocumentPart { doc, blob: Some(blob::stolen(&kernel.stolen)) },
                )?;
            }
        }
        if signal.is_some() {
            return Ok(signal);
        }
    }
    Ok(None)
}

/// Duration of an iteration, and the part of a phase beside its iterations.
fn calibrate(plan: &NoisePlan, signals: &Signals) -> Result<(Calibrated, Vec<u64>, Option<i32>), NoiseError> {
    let on = plan.cpus.first().copied().into_iter().collect::<Vec<_>>();
    let timed = |iterations: u64, n: usize| {
        // An iteration takes about a nanosecond.
        let expected = Nanos(i64::try_from(n as u64 * iterations).unwrap_or(i64::MAX).saturating_mul(2));
        let (mut all, signal) = team(plan, &on, (iterations, n), None, expected)?.run(signals).map_err(real_time)?;
        Ok::<_, NoiseError>((all.pop().map(|m| m.durations).unwrap_or_default(), signal))
    };
    let values = |all: &[u64]| Values::from_nanos(all.iter().map(|d| Nanos(i64::try_from(*d).unwrap_or(i64::MAX))));
    let (timings, signal) = timed(ITERATIONS, usize::try_from(plan.calibrations).unwrap_or(usize::MAX))?;
    let none = PhaseCalibration { heuristic: plan.heuristic, timings: 0, per_iteration: f64::MIN_POSITIVE };
    let calibration = match signal {
        Some(_) => none,
        None => PhaseCalibration::new(&values(&timings), ITERATIONS, plan.heuristic)?,
    };
    let (readings, signal) = if signal.is_none() { timed(1, READINGS)? } else { (Vec::new(), signal) };
    // 0 if the counter is too coarse for it.
    let reading = PhaseCalibration::new(&values(&readings), 1, plan.heuristic).map_or(0.0, |c| c.per_iteration);
    let overhead = (reading - calibration.per_iteration).max(0.0);
    let cpu = on.first().copied().unwrap_or(0);
    Ok((Calibrated { cpu, iterations: ITERATIONS, calibration, overhead }, timings, signal))
}

fn phases(
    plan: &NoisePlan,
    calibrated: &Calibrated,
    grain: Nanos,
    signals: &Signals,
) -> Result<(Vec<Phases>, Option<i32>), NoiseError> {
    let iterations = calibrated.calibration.iterations(grain.secs() * plan.hz, calibrated.overhead)?;
    let (n, expected) = size(plan, grain);
    let most = plan.limit.map(|l| (l.secs() * plan.hz) as u64);
    let team = team(plan, &plan.cpus, (iterations, n), most, expected)?;
    let timelines: Vec<_> = plan.cpus.iter().map(|cpu| record(plan.explain, expected, *cpu)).collect();
    let mut misses: Vec<_> =
        team.pids().into_iter().map(|pid| CacheLevel::ALL.map(|l| CacheMisses::of(pid, l))).collect();
    let stolen_before: Vec<_> = plan.cpus.iter().map(|cpu| stolen(*cpu)).collect();
    let (measured, signal) = team.run(signals).map_err(real_time)?;
    // Immediately, because reading the recorded events takes a while.
    let stolen: Vec<Result<Nanos, Absent>> =
        plan.cpus.iter().zip(stolen_before).map(|(cpu, before)| Ok(stolen(*cpu)? - before?)).collect();
    let recorded = timelines.into_iter().map(|t| t.and_then(|t| t.finish().map_err(|e| e.absent())));
    let misses = misses.iter_mut().map(|levels| levels.each_mut().map(counted));
    let beside =
        stolen.into_iter().zip(misses).map(|(stolen, misses)| BesideMeasuring { stolen: stolen.into(), misses });
    let all = measured.into_iter().zip(recorded).zip(beside);
    Ok((all.map(|((m, r), b)| joined(m, r, b, grain, iterations)).collect(), signal))
}

/// Counters that run beside the phases of a CPU.
struct BesideMeasuring {
    stolen: Reading<Nanos>,
    /// Of the first level, and of the last.
    misses: [Reading<u64>; 2],
}

fn stolen(cpu: u32) -> Result<Nanos, Absent> {
    let text = read_below(Path::new("/"), "proc/stat").map_err(|e| e.absent("to read /proc/stat"))?;
    parse_steal_of(&text, cpu).map_err(|e| Absent::NotSupported(e.to_string()))
}

fn counted(misses: &mut Result<CacheMisses, SysError>) -> Reading<u64> {
    match misses.as_mut().map(CacheMisses::read) {
        Ok(Ok(Some(count))) => Reading::Value(count),
        Ok(Ok(None)) => Reading::Absent(Absent::Lost("other processes had the hardware counters".to_owned())),
        Ok(Err(e)) => Reading::Absent(perf::no_counter(&e)),
        Err(e) => Reading::Absent(perf::no_counter(e)),
    }
}

fn joined(m: Timed, recorded: Result<Recorded, Absent>, b: BesideMeasuring, grain: Nanos, iterations: u64) -> Phases {
    let [l1_misses, cache_misses] = b.misses;
    let series = Series {
        grain,
        iterations,
        cpu: m.cpu,
        ended: m.ended,
        pairs: m.pairs,
        switches: m.counted.map(|c| c.switches),
        faults: m.counted.map(|c| c.faults),
        cache_misses,
        l1_misses,
        stolen: b.stolen,
        locked: m.locked,
        unexplained: recorded.as_ref().err().cloned(),
    };
    let kernel = recorded.ok().map(|r| {
        let record = KernelRecord {
            grain,
            cpu: m.cpu,
            own: m.tid,
            whats: Vec::new(),
            from: r.from,
            until: r.until,
            lost: r.lost,
            late: r.late,
            missing: r.missing.into_iter().map(str::to_owned).collect(),
        };
        Kernel { record, events: r.events, stolen: r.stolen }
    });
    Phases { series, durations: m.durations, kernel }
}

/// The first series that took too long or whose process died.
pub fn failed(noise: &Noise) -> Option<&Series> {
    noise.phases.iter().map(|p| &p.series).find(|s| matches!(s.ended, PhasesEnd::TookTooLong | PhasesEnd::Died))
}

/// A stored measurement, finished or not.
///
/// # Errors
/// Those of the store; if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<(DocumentHead, Noise), DocumentError> {
    let document = documents::of_kind(store, id, DocumentKind::Noise)?;
    let bad = |cause: String| DocumentError::Content { id, cause };
    let plan = serde_json::from_value(document.doc).map_err(|e| bad(e.to_string()))?;
    let mut noise = Noise { plan, calibration: None, phases: Vec::new() };
    for (n, part) in document.parts.into_iter().enumerate() {
        let wrong = |cause: &dyn std::fmt::Display| bad(format!("its part {n} (from 0): {cause}"));
        let bytes = part.blob.unwrap_or_default();
        match serde_json::from_value::<NoisePart>(part.doc).map_err(|e| wrong(&e))? {
            NoisePart::Calibration(c) => {
                noise.calibration = Some((c, blob::read_durations(&bytes).map_err(|e| wrong(&e))?));
            }
            NoisePart::Phases(series) => {
                let durations = blob::read_durations(&bytes).map_err(|e| wrong(&e))?;
                noise.phases.push(Phases { series, durations, kernel: None });
            }
            NoisePart::Histogram { grain, cpu, .. } => {
                let of = noise.phases.last().filter(|p| (p.series.grain, p.series.cpu) == (grain, cpu));
                let of = of.ok_or_else(|| wrong(&"a histogram without phases"))?;
                let histogram = histogram::read(&bytes).map_err(|e| wrong(&e))?;
                if histogram.len() != of.durations.len() as u64 {
                    return Err(wrong(&"the histogram belongs to other phases"));
                }
            }
            NoisePart::Kernel(record) => {
                let events: Vec<KernelEvent> = blob::read_events(&record.whats, &bytes).map_err(|e| wrong(&e))?;
                let of =
                    noise.phases.last_mut().filter(|p| (p.series.grain, p.series.cpu) == (record.grain, record.cpu));
                of.ok_or_else(|| wrong(&"recorded kernel events without phases"))?.kernel =
                    Some(Kernel { record, events, stolen: Vec::new() });
            }
            NoisePart::Stolen { grain, cpu } => {
                let of = noise.phases.last_mut().filter(|p| (p.series.grain, p.series.cpu) == (grain, cpu));
                let kernel = of.and_then(|p| p.kernel.as_mut());
                kernel.ok_or_else(|| wrong(&"steal time without recorded kernel events"))?.stolen =
                    blob::read_stolen(&bytes).map_err(|e| wrong(&e))?;
            }
        }
    }
    if !(noise.plan.hz.is_finite() && noise.plan.hz > 0.0) {
        return Err(bad("the counter has no rate".to_owned()));
    }
    Ok((document.head, noise))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;
    use tarebench_core::noise::data::Heuristic;
    use tarebench_core::noise::data::PhaseSource;
    use tarebench_store::SqliteStore;

    fn plan() -> NoisePlan {
        NoisePlan {
            source: PhaseSource::Measured,
            tick: Some(tick()),
            cpus: choose_cpus(None).unwrap(),
            sched: PhaseScheduling::Other,
            grains: vec![Nanos(2_000), Nanos(50_000)],
            phases: 20_000,
            limit: Some(Nanos::from_millis(100)),
            heuristic: Heuristic::SecondDecile,
            calibrations: 20,
            explain: true,
            hz: rate().unwrap(),
        }
    }

    #[test]
    fn a_measurement_is_read_back_as_it_was_made() {
        let mut place = StorePlace::Store(Box::new(SqliteStore::in_memory().unwrap()));
        let signals = Signals::install().unwrap();
        let (plan, mut seen) = (plan(), Vec::new());
        let options = MeasureOptions { tags: [("a".to_owned(), "b".to_owned())].into() };
        let measured = measure(&plan, &mut place, &options, &signals, &mut |e| {
            let Event::Step(Some(id), step) = e else { panic!("another event") };
            seen.push((id, step));
        });
        let measured = measured.unwrap();
        let steps = |grain| MeasuringStep::Phases { grain, expected: size(&plan, grain).1 };
        let expected = [MeasuringStep::Calibration, steps(plan.grains[0]), steps(plan.grains[1])];
        assert_eq!(seen, expected.map(|step| (measured.head.id(), step)));
        assert_eq!(measured.stopped, Stopped::Finished);
        assert_eq!(measured.report(&[]).len(), 2);
        let id = measured.head.id();
        let store = place.store().unwrap();
        let (head, noise) = load(store, id).unwrap();
        assert_eq!((&head, &noise), (&measured.head, &measured.noise));
        assert_eq!((head.status, &noise.plan), (Status::Finished, &plan));
        assert_eq!((head.identity(), &head.tags), (Some(crate::machine::identity().as_str()), &options.tags));
        let (calibrated, timings) = noise.calibration.as_ref().unwrap();
        assert_eq!((timings.len(), calibrated.calibration.timings), (20, 20));
        assert_eq!(noise.phases.len(), 2);
        for p in &noise.phases {
            assert!(!p.durations.is_empty() && p.durations.len() <= 20_000);
            assert!(matches!(p.series.ended, PhasesEnd::Complete | PhasesEnd::TimeOver));
            assert_eq!(p.kernel.is_none(), p.series.unexplained.is_some());
            assert!(p.kernel.iter().all(|k| k.events.is_sorted_by_key(|e| e.start)));
        }
        assert!(noise.phases[0].series.iterations < noise.phases[1].series.iterations);
        // Stored again, it is the same.
        let parts = store.document(id).unwrap().parts;
        let blobs: Vec<&Vec<u8>> = parts.iter().filter_map(|p| p.blob.as_ref()).collect();
        assert_eq!(blobs[0], &blob::durations(timings));
        assert_eq!(blobs[1], &blob::durations(&noise.phases[0].durations));
        let histogram = histogram::read(blobs[2]).unwrap();
        assert_eq!(histogram.len(), noise.phases[0].durations.len() as u64);
        assert!(blobs[1].len() <= 4 * noise.phases[0].durations.len() + 16);
    }

    /// Without a store the result is the same, but for its number.
    #[test]
    fn without_a_store_it_has_no_number() {
        let signals = Signals::install().unwrap();
        let plan = NoisePlan { grains: vec![Nanos(2_000)], phases: 100, explain: false, ..plan() };
        let measured = measure(&plan, &mut StorePlace::Nowhere, &MeasureOptions::default(), &signals, &mut |e| {
            assert!(matches!(e, Event::Step(Some(Id { number: 0, .. }), _)));
        });
        let measured = measured.unwrap();
        assert_eq!((measured.head.number, measured.noise.plan.grains.len()), (0, 1));
        assert!(measured.head.fingerprint().is_some() && !measured.noise.phases[0].durations.is_empty());
    }

    #[test]
    fn only_cpus_that_may_be_used() {
        assert!(matches!(choose_cpus(Some(vec![4_000])), Err(NoiseError::Cpu { cpu: 4_000, .. })));
        let last = choose_cpus(None).unwrap();
        assert_eq!(choose_cpus(Some(vec![last[0], last[0]])).unwrap(), last);
    }

    #[test]
    fn sizes_follow_the_plan() {
        let plan = NoisePlan { phases: 1_000, limit: None, ..plan() };
        assert_eq!(size(&plan, Nanos(1_000)), (1_000, Nanos(1_000_000)));
        let timed = NoisePlan { phases: u64::MAX, limit: Some(Nanos(1_000_000)), ..plan };
        assert_eq!(size(&timed, Nanos(1_000)), (1_251, Nanos(1_001_000)));
        assert_eq!(title(&timed), format!("2us,50us on CPU {}", timed.cpus[0]));
    }
}
