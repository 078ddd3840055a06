//! Samples, their daemons, and duets as rows, and back: some at a time, as many as a database takes with one statement.

use crate::database::{Database, RowInsert, SqlRow, SqlValue, values};
use crate::error::{Fault, Inner, StoreError};
use crate::rows::{bad, document, parse};
use std::ops::ControlFlow;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, DuetSide};
use tarebench_core::sample::daemons::{Daemon, Daemons, TaskKind};
use tarebench_core::sample::data::{Phase, Sample};

/// After so many bytes of rows, no more of them are collected for one statement, 1 MiB.
const BATCH_BYTES: usize = 1 << 20;

const SAMPLES: RowInsert = RowInsert {
    table: "sample",
    columns: &["run_id", "seq", "series", "phase", "idx", "elapsed_ns", "pt_ns", "outcome", "daemons", "doc"],
    key: &["run_id", "seq"],
};

const DAEMONS: RowInsert = RowInsert {
    table: "daemon",
    columns: &[
        "run_id",
        "seq",
        "ordinal",
        "pid",
        "start_ns",
        "name",
        "kind",
        "cpu_ns",
        "tick_bound",
        "interval_counted_ns",
        "born",
        "died",
    ],
    key: &[],
};

const DUETS: RowInsert = RowInsert {
    table: "duet",
    columns: &["run_id", "seq", "series", "reference", "idx", "pt_ns", "reference_pt_ns", "doc"],
    key: &["run_id", "seq"],
};

fn kind_text(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::User => "user",
        TaskKind::Kernel => "kernel",
        TaskKind::Tare => "tare",
        TaskKind::Partner => "partner",
    }
}

fn kind(text: &str) -> Inner<TaskKind> {
    [TaskKind::User, TaskKind::Kernel, TaskKind::Tare, TaskKind::Partner]
        .into_iter()
        .find(|&k| kind_text(k) == text)
        .ok_or_else(|| bad("a daemon's kind", format!("it is {text:?}")))
}

/// A copy of a sample without the list of daemons, which may be long and has a separate table.
fn without_list(sample: &Sample) -> Sample {
    // Names all fields, so that a new field cannot be forgotten.
    let Sample {
        series,
        seq,
        index,
        phase,
        block,
        wall_clock,
        start,
        end,
        outcome,
        process_times,
        usage,
        peak_memory,
        daemons,
        survivors,
        own,
        steal,
        clock_shift,
        cgroup_limits,
        account,
        estimate,
        counters,
        environment_padding,
        metrics,
        probes,
    } = sample;
    let daemons = match daemons {
        Reading::Absent(a) => Reading::Absent(a.clone()),
        Reading::Value(Daemons { list: _, incomplete, processes, image_before, image_after }) => {
            Reading::Value(Daemons {
                list: Vec::new(),
                incomplete: incomplete.clone(),
                processes: *processes,
                image_before: *image_before,
                image_after: *image_after,
            })
        }
    };
    Sample {
        series: *series,
        seq: *seq,
        index: *index,
        phase: *phase,
        block: *block,
        wall_clock: *wall_clock,
        start: *start,
        end: *end,
        outcome: outcome.clone(),
        process_times: process_times.clone(),
        usage: usage.clone(),
        peak_memory: peak_memory.clone(),
        daemons,
        survivors: survivors.clone(),
        own: *own,
        steal: steal.clone(),
        clock_shift: clock_shift.clone(),
        cgroup_limits: cgroup_limits.clone(),
        account: account.clone(),
        estimate: estimate.clone(),
        counters: counters.clone(),
        environment_padding: *environment_padding,
        metrics: metrics.clone(),
        probes: probes.clone(),
    }
}

/// Samples of a run that are about to be inserted.
pub(crate) struct SampleBatch {
    run: i64,
    samples: Vec<SqlValue<'static>>,
    daemons: Vec<SqlValue<'static>>,
    bytes: usize,
}

impl SampleBatch {
    pub(crate) fn new(run: i64) -> SampleBatch {
        SampleBatch { run, samples: Vec::new(), daemons: Vec::new(), bytes: 0 }
    }

    /// Adds a sample; those that are waiting are inserted if they are enough for a statement.
    pub(crate) fn add(&mut self, db: &dyn Database, sample: &Sample) -> Inner<()> {
        let phase = match sample.phase {
            Phase::Warmup => "warmup",
            Phase::Counted => "counted",
        };
        let list = sample.daemons.value().map(|d| d.list.as_slice());
        let doc = document("sample", &without_list(sample))?;
        let outcome = document("sample", &sample.outcome)?;
        self.bytes += doc.len() + outcome.len();
        self.samples.extend([
            SqlValue::from(self.run),
            sample.seq.into(),
            sample.series.into(),
            phase.into(),
            sample.index.into(),
            sample.elapsed().0.into(),
            sample.process_time().ok().map(|t| t.0).into(),
            outcome.into(),
            list.map(length).into(),
            doc.into(),
        ]);
        for (ordinal, daemon) in (0_i64..).zip(list.unwrap_or_default()) {
            let Daemon { pid, start, name, kind, cpu, tick_bound, interval_counted, born, died } = daemon;
            let name = name.to_string();
            self.bytes += size_of::<Daemon>() + name.len();
            self.daemons.extend([
                SqlValue::from(self.run),
                sample.seq.into(),
                ordinal.into(),
                (*pid).into(),
                start.0.into(),
                name.into(),
                kind_text(*kind).into(),
                cpu.0.into(),
                (*tick_bound).into(),
                interval_counted.map(|t| t.0).into(),
                (*born).into(),
                (*died).into(),
            ]);
        }
        let enough = self.samples.len() >= db.page() * SAMPLES.columns.len() || self.bytes >= BATCH_BYTES;
        if enough { self.insert(db) } else { Ok(()) }
    }

    /// Inserts what is waiting.
    pub(crate) fn insert(&mut self, db: &dyn Database) -> Inner<()> {
        if let Some(seq) = db.insert(&SAMPLES, &self.samples)? {
            return Err(duplicate(self.run, seq));
        }
        db.insert(&DAEMONS, &self.daemons)?;
        self.samples.clear();
        self.daemons.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn duplicate(run: i64, seq: i64) -> Fault {
    StoreError::DuplicateSample { run, seq: u32::try_from(seq).unwrap_or(u32::MAX) }.into()
}

/// Inserts samples with their daemons.
pub(crate) fn insert_samples(db: &dyn Database, run: i64, samples: &[Sample]) -> Inner<()> {
    let mut batch = SampleBatch::new(run);
    samples.iter().try_for_each(|sample| batch.add(db, sample))?;
    batch.insert(db)
}

pub(crate) fn insert_duets(db: &dyn Database, run: i64, duets: &[Duet]) -> Inner<()> {
    let (mut waiting, mut bytes) = (Vec::new(), 0);
    let insert = |waiting: &mut Vec<SqlValue>| match db.insert(&DUETS, waiting)? {
        Some(seq) => Err(duplicate(run, seq)),
        None => {
            waiting.clear();
            Ok(())
        }
    };
    for duet in duets {
        let [program, reference] = &duet.sides;
        let pt = |side: &DuetSide| side.process_time().ok().map(|t| t.0);
        let doc = document("duet", duet)?;
        bytes += doc.len();
        waiting.extend([
            SqlValue::from(run),
            duet.seq.into(),
            program.series.into(),
            reference.series.into(),
            duet.index.into(),
            pt(program).into(),
            pt(reference).into(),
            doc.into(),
        ]);
        if waiting.len() >= db.page() * DUETS.columns.len() || bytes >= BATCH_BYTES {
            insert(&mut waiting)?;
            bytes = 0;
        }
    }
    insert(&mut waiting)
}

/// Visits the duets of a run, by their position in it, until the visitor breaks off.
pub(crate) fn each_duet(db: &dyn Database, run: i64, visit: &mut dyn FnMut(Duet) -> ControlFlow<()>) -> Inner<()> {
    db.each_row("SELECT seq, doc FROM duet WHERE run_id = ?1 ORDER BY seq", values![run], &mut |r| {
        let seq: u32 = r.get(0)?;
        let what = || format!("duet {seq} of run {run}");
        let duet: Duet = parse(&r.str(1)?, what)?;
        if duet.seq != seq {
            return Err(bad(what(), format!("its document is of duet {}", duet.seq)));
        }
        Ok(visit(duet))
    })
}

/// The databases' integers are signed; a list in memory is never longer than their maximum.
fn length(list: &[Daemon]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

/// From the columns after the first one.
fn daemon(r: &dyn SqlRow) -> Inner<Daemon> {
    Ok(Daemon {
        pid: r.get(1)?,
        start: Nanos(r.get(2)?),
        name: Name::parse(&r.str(3)?).map_err(|e| bad("a daemon's name", e))?,
        kind: kind(&r.str(4)?)?,
        cpu: Nanos(r.get(5)?),
        tick_bound: r.get(6)?,
        interval_counted: r.maybe(7)?.map(Nanos),
        born: r.get(8)?,
        died: r.get(9)?,
    })
}

/// A sample that was read, still without its daemons, and how many these are.
type WithoutDaemons = (Sample, Option<i64>);

const BY_POSITION: &str = "SELECT seq, daemons, doc FROM sample WHERE run_id = ?1 ORDER BY seq";

/// A row of [`BY_POSITION`], and the size of its document.
fn without_daemons(r: &dyn SqlRow, run: i64) -> Inner<(WithoutDaemons, usize)> {
    let (seq, count): (u32, Option<i64>) = (r.get(0)?, r.maybe(1)?);
    let what = || format!("sample {seq} of run {run}");
    let doc = r.str(2)?;
    let sample: Sample = parse(&doc, what)?;
    if sample.seq != seq {
        return Err(bad(what(), format!("its document is of sample {}", sample.seq)));
    }
    Ok(((sample, count), doc.len()))
}

/// Visits the samples of a run, by their position in it, without their daemons.
pub(crate) fn each_sample_alone(db: &dyn Database, run: i64, visit: &mut dyn FnMut(Sample)) -> Inner<()> {
    db.each_row(BY_POSITION, values![run], &mut |r| {
        let ((mut sample, _), _) = without_daemons(r, run)?;
        if sample.daemons.value().is_some() {
            sample.daemons = Reading::Absent(Absent::NotAsked("read without its daemons".to_owned()));
        }
        visit(sample);
        Ok(ControlFlow::Continue(()))
    })
}

/// Visits the samples of a run, by their position in it, until the visitor breaks off.
pub(crate) fn each_sample(db: &dyn Database, run: i64, visit: &mut dyn FnMut(Sample) -> ControlFlow<()>) -> Inner<()> {
    let (mut page, mut bytes): (Vec<WithoutDaemons>, usize) = (Vec::new(), 0);
    db.each_row(BY_POSITION, values![run], &mut |r| {
        let ((sample, count), size) = without_daemons(r, run)?;
        bytes += size + size_of::<Daemon>() * usize::try_from(count.unwrap_or(0)).unwrap_or(0);
        page.push((sample, count));
        if page.len() < db.page() && bytes < BATCH_BYTES {
            return Ok(ControlFlow::Continue(()));
        }
        bytes = 0;
        visit_page(db, run, &mut page, visit)
    })?;
    visit_page(db, run, &mut page, visit).map(|_| ())
}

/// Reads the daemons of samples that follow each other, visits these, and empties the list.
fn visit_page(
    db: &dyn Database,
    run: i64,
    page: &mut Vec<WithoutDaemons>,
    visit: &mut dyn FnMut(Sample) -> ControlFlow<()>,
) -> Inner<ControlFlow<()>> {
    let mut page = std::mem::take(page);
    let known = |(sample, _): &&WithoutDaemons| sample.daemons.value().is_some();
    if let (Some((first, _)), Some((last, _))) = (page.iter().find(known), page.iter().rfind(known)) {
        let sql = "SELECT seq, pid, start_ns, name, kind, cpu_ns, tick_bound, interval_counted_ns, born, died
                   FROM daemon WHERE run_id = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq, ordinal";
        let (first, last, mut at) = (first.seq, last.seq, 0);
        db.each_row(sql, values![run, first, last], &mut |r| {
            let seq: u32 = r.get(0)?;
            while page.get(at).is_some_and(|(sample, _)| sample.seq < seq) {
                at += 1;
            }
            if let Some((Sample { daemons: Reading::Value(daemons), seq: of, .. }, _)) = page.get_mut(at)
                && *of == seq
            {
                daemons.list.push(daemon(r)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    for (sample, count) in page {
        let found = sample.daemons.value().map(|d| length(&d.list));
        if found != count {
            let what = format!("sample {} of run {run}", sample.seq);
            return Err(bad(what, format!("expected {count:?} daemons, found {found:?}")));
        }
        if visit(sample).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
