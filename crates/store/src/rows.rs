//! Runs, samples and profiles as rows, and back.

use crate::error::{Fault, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, DuetSide};
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::{Factor, Host};
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::{Note, from_texts};
use tarebench_core::run::plan::{RunCount, RunPlan};
use tarebench_core::sample::daemons::{Daemon, Daemons, TaskKind};
use tarebench_core::sample::data::{Phase, Sample};
use tarebench_core::sample::process_time::PtSource;

pub(crate) type Inner<T> = Result<T, Fault>;

fn bad(what: impl Into<String>, cause: impl ToString) -> Fault {
    Fault::Bad { what: what.into(), cause: cause.to_string() }
}

/// The JSON form of a value.
pub(crate) fn document<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Unstorable { what, cause: e.to_string() })
}

/// The same, for types with floats: JSON has no infinities and no NaN, and a value that cannot be read back is not
/// written.
pub(crate) fn exact<T: Serialize + DeserializeOwned + PartialEq>(
    what: &'static str,
    value: &T,
) -> Result<String, StoreError> {
    let text = document(what, value)?;
    match serde_json::from_str::<T>(&text) {
        Ok(back) if back == *value => Ok(text),
        Ok(_) => Err(StoreError::Unstorable { what, cause: "it could not be read back unchanged".to_owned() }),
        Err(e) => Err(StoreError::Unstorable { what, cause: format!("it could not be read back: {e}") }),
    }
}

/// Reads a JSON form; `what` names its content.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Inner<T> {
    serde_json::from_str(text).map_err(|e| bad(what(), e))
}

pub(crate) fn status_text(status: Status) -> &'static str {
    match status {
        Status::Unfinished => "unfinished",
        Status::Interrupted => "interrupted",
        Status::Finished => "finished",
    }
}

pub(crate) fn status(text: &str) -> Inner<Status> {
    [Status::Unfinished, Status::Interrupted, Status::Finished]
        .into_iter()
        .find(|&s| status_text(s) == text)
        .ok_or_else(|| bad("a run's status", format!("it is {text:?}")))
}

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

/// The parts of a run without a separate column or table.
#[derive(PartialEq, Serialize, Deserialize)]
struct Rest {
    pt_source: PtSource,
    pt_source_notes: Vec<String>,
    factors: Vec<Factor>,
}

/// The number of a machine's description, which is stored once.
pub(crate) fn host_number(tx: &Connection, host: &Host) -> Inner<i64> {
    let doc = exact("machine's description", host)?;
    tx.execute(
        "INSERT INTO host (name, machine, doc) VALUES (?1, ?2, ?3) ON CONFLICT (doc) DO NOTHING",
        params![host.name, host.machine, doc],
    )?;
    Ok(tx.query_row("SELECT id FROM host WHERE doc = ?1", [&doc], |r| r.get(0))?)
}

/// Removes descriptions of machines that no stored run or document has.
pub(crate) fn remove_unused_hosts(tx: &Connection) -> Inner<()> {
    let sql = "DELETE FROM host WHERE id NOT IN
                   (SELECT host_id FROM run UNION SELECT host_id FROM document WHERE host_id IS NOT NULL)";
    tx.execute(sql, [])?;
    Ok(())
}

/// Inserts a run; returns its number.
pub(crate) fn insert_run(tx: &Connection, run: &Run) -> Inner<i64> {
    // Names all fields, so that a new field cannot be forgotten.
    let Run { id: _, uuid, created, tool, plan, host, pt_source, pt_source_notes, factors, status, notes } = run;
    let rest = Rest { pt_source: *pt_source, pt_source_notes: pt_source_notes.clone(), factors: factors.clone() };
    let host_id = host_number(tx, host)?;
    tx.execute(
        "INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![uuid, created.0, status_text(*status), tool, host_id, exact("run", plan)?, exact("run", &rest)?],
    )?;
    let id = tx.last_insert_rowid();
    let mut tag = tx.prepare("INSERT INTO tag (run_id, key, value) VALUES (?1, ?2, ?3)")?;
    for (key, value) in &plan.tags {
        tag.execute(params![id, key, value])?;
    }
    notes.iter().try_for_each(|note| insert_note(tx, id, note))?;
    Ok(id)
}

/// Changes a run's status; returns the number of changed runs.
pub(crate) fn update_status(tx: &Connection, run: i64, status: Status) -> Inner<usize> {
    Ok(tx.execute("UPDATE run SET status = ?2 WHERE id = ?1", params![run, status_text(status)])?)
}

/// Changes how many samples the plan of a run asks for; returns the number of changed runs.
pub(crate) fn update_run_count(tx: &Connection, run: i64, runs: RunCount) -> Inner<usize> {
    let stored = tx.query_row("SELECT plan FROM run WHERE id = ?1", [run], |r| r.get::<_, String>(0)).optional()?;
    let Some(text) = stored else { return Ok(0) };
    let plan = RunPlan { runs, ..parse(&text, || format!("the plan of run {run}"))? };
    Ok(tx.execute("UPDATE run SET plan = ?2 WHERE id = ?1", params![run, exact("run", &plan)?])?)
}

/// When a run was imported; the outer `None`: there is no such run.
pub(crate) fn imported(conn: &Connection, run: i64) -> Inner<Option<Option<Nanos>>> {
    let sql = "SELECT imported_ns FROM run WHERE id = ?1";
    let found = conn.query_row(sql, [run], |r| r.get::<_, Option<i64>>(0)).optional()?;
    Ok(found.map(|at| at.map(Nanos)))
}

/// Marks a run as imported.
pub(crate) fn mark_imported(tx: &Connection, run: i64, at: Nanos) -> Inner<()> {
    tx.execute("UPDATE run SET imported_ns = ?2 WHERE id = ?1", params![run, at.0])?;
    Ok(())
}

/// Adds a note.
pub(crate) fn insert_note(tx: &Connection, run: i64, note: &Note) -> Inner<()> {
    tx.execute(
        "INSERT INTO run_note (run_id, seq, kind, doc)
         SELECT ?1, coalesce(max(seq), -1) + 1, ?2, ?3 FROM run_note WHERE run_id = ?1",
        params![run, note.kind(), exact("note", note)?],
    )?;
    Ok(())
}

/// The notes of a run, in their order.
fn select_notes(conn: &Connection, run: i64) -> Inner<Vec<Note>> {
    let mut statement = conn.prepare_cached("SELECT seq, doc FROM run_note WHERE run_id = ?1 ORDER BY seq")?;
    let rows = statement.query_map([run], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (seq, doc) = row?;
        parse(&doc, || format!("note {seq} of run {run}"))
    })
    .collect()
}

/// Notes that versions up to 0.1 kept as texts, in their typed form.
pub(crate) fn typed_notes(texts: BTreeMap<String, String>) -> Vec<Note> {
    from_texts(texts, |readings| serde_json::from_str(readings).ok())
}

/// The same for the whole store, whose schema is then of version 4.
pub(crate) fn convert_notes(tx: &Connection) -> Inner<()> {
    let mut statement = tx.prepare("SELECT run_id, key, value FROM note")?;
    let rows = statement.query_map([], |r| Ok((r.get::<_, i64>(0)?, r.get(1)?, r.get(2)?)))?;
    let mut by_run: BTreeMap<i64, BTreeMap<String, String>> = BTreeMap::new();
    for row in rows {
        let (run, key, text) = row?;
        by_run.entry(run).or_default().insert(key, text);
    }
    for (run, texts) in by_run {
        typed_notes(texts).iter().try_for_each(|note| insert_note(tx, run, note))?;
    }
    Ok(())
}

/// Adds slices to a recording.
pub(crate) fn insert_chunk(tx: &Connection, run: i64, doc: &str) -> Inner<()> {
    tx.execute(
        "INSERT INTO recording (run_id, seq, doc)
         SELECT ?1, coalesce(max(seq), -1) + 1, ?2 FROM recording WHERE run_id = ?1",
        params![run, doc],
    )?;
    Ok(())
}

/// The slices of a recording, in their order.
pub(crate) fn select_chunks(conn: &Connection, run: i64) -> Inner<Vec<RecordingChunk>> {
    let mut statement = conn.prepare("SELECT seq, doc FROM recording WHERE run_id = ?1 ORDER BY seq")?;
    let rows = statement.query_map([run], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (seq, doc) = row?;
        parse(&doc, || format!("part {seq} of the recording of run {run}"))
    })
    .collect()
}

/// Keys and values of a run.
pub(crate) fn pairs(conn: &Connection, sql: &str, run: i64) -> Inner<BTreeMap<String, String>> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([run], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A run, if there is one of this number.
pub(crate) fn select_run(conn: &Connection, id: i64) -> Inner<Option<Run>> {
    type Columns = (String, i64, String, String, String, String, String);
    let columns = |r: &Row| -> rusqlite::Result<Columns> {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?, r.get(6)?))
    };
    let row = conn
        .query_row(
            "SELECT uuid, created_ns, status, tool, plan, rest, host.doc
             FROM run JOIN host ON host.id = host_id WHERE run.id = ?1",
            [id],
            columns,
        )
        .optional()?;
    let Some((uuid, created, status_text, tool, plan, rest, host)) = row else {
        return Ok(None);
    };
    let plan: RunPlan = parse(&plan, || format!("the plan of run {id}"))?;
    let rest: Rest = parse(&rest, || format!("the rest of run {id}"))?;
    let host: Host = parse(&host, || format!("the host of run {id}"))?;
    Ok(Some(Run {
        id,
        uuid,
        created: Nanos(created),
        tool,
        plan,
        host,
        pt_source: rest.pt_source,
        pt_source_notes: rest.pt_source_notes,
        factors: rest.factors,
        status: status(&status_text)?,
        notes: select_notes(conn, id)?,
    }))
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
        account: account.clone(),
        estimate: estimate.clone(),
        counters: counters.clone(),
        environment_padding: *environment_padding,
        metrics: metrics.clone(),
        probes: probes.clone(),
    }
}

/// Inserts a sample and its daemons.
pub(crate) fn insert_sample(tx: &Connection, run: i64, sample: &Sample) -> Inner<()> {
    let phase = match sample.phase {
        Phase::Warmup => "warmup",
        Phase::Counted => "counted",
    };
    let list = sample.daemons.value().map(|d| d.list.as_slice());
    let mut row = tx.prepare_cached(
        "INSERT INTO sample (run_id, seq, series, phase, idx, elapsed_ns, pt_ns, outcome, daemons, doc)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (run_id, seq) DO NOTHING",
    )?;
    let inserted = row.execute(params![
        run,
        sample.seq,
        sample.series,
        phase,
        sample.index,
        sample.elapsed().0,
        sample.process_time().ok().map(|t| t.0),
        document("sample", &sample.outcome)?,
        list.map(length),
        document("sample", &without_list(sample))?,
    ])?;
    if inserted == 0 {
        return Err(StoreError::DuplicateSample { run, seq: sample.seq }.into());
    }
    let mut row = tx.prepare_cached(
        "INSERT INTO daemon (run_id, seq, ordinal, pid, start_ns, name, kind, cpu_ns, tick_bound,
                             interval_counted_ns, born, died)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    for (ordinal, d) in (0_i64..).zip(list.unwrap_or_default()) {
        let Daemon { pid, start, name, kind, cpu, tick_bound, interval_counted, born, died } = d;
        row.execute(params![
            run,
            sample.seq,
            ordinal,
            pid,
            start.0,
            name.to_string(),
            kind_text(*kind),
            cpu.0,
            tick_bound,
            interval_counted.map(|t| t.0),
            born,
            died
        ])?;
    }
    Ok(())
}

/// Inserts a duet.
pub(crate) fn insert_duet(tx: &Connection, run: i64, duet: &Duet) -> Inner<()> {
    let [program, reference] = &duet.sides;
    let pt = |side: &DuetSide| side.process_time().ok().map(|t| t.0);
    let mut row = tx.prepare_cached(
        "INSERT INTO duet (run_id, seq, series, reference, idx, pt_ns, reference_pt_ns, doc)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (run_id, seq) DO NOTHING",
    )?;
    let inserted = row.execute(params![
        run,
        duet.seq,
        program.series,
        reference.series,
        duet.index,
        pt(program),
        pt(reference),
        document("duet", duet)?,
    ])?;
    match inserted {
        0 => Err(StoreError::DuplicateSample { run, seq: duet.seq }.into()),
        _ => Ok(()),
    }
}

/// Visits the duets of a run, by their position in it, until the visitor breaks off.
pub(crate) fn each_duet(conn: &Connection, run: i64, visit: &mut dyn FnMut(Duet) -> ControlFlow<()>) -> Inner<()> {
    let mut statement = conn.prepare_cached("SELECT seq, doc FROM duet WHERE run_id = ?1 ORDER BY seq")?;
    let mut rows = statement.query([run])?;
    while let Some(r) = rows.next()? {
        let seq: u32 = r.get(0)?;
        let what = || format!("duet {seq} of run {run}");
        let doc = r.get_ref(1)?.as_str().map_err(|e| bad(what(), e))?;
        let duet: Duet = parse(doc, what)?;
        if duet.seq != seq {
            return Err(bad(what(), format!("its document is of duet {}", duet.seq)));
        }
        if visit(duet).is_break() {
            break;
        }
    }
    Ok(())
}

/// SQLite's integers are signed; a list in memory is never longer than their maximum.
fn length(list: &[Daemon]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

fn daemon(r: &Row) -> Inner<Daemon> {
    let name = r.get_ref(2)?.as_str().map_err(|e| bad("a daemon's name", e))?;
    Ok(Daemon {
        pid: r.get(0)?,
        start: Nanos(r.get(1)?),
        name: Name::parse(name).map_err(|e| bad("a daemon's name", e))?,
        kind: kind(r.get_ref(3)?.as_str().map_err(|e| bad("a daemon's kind", e))?)?,
        cpu: Nanos(r.get(4)?),
        tick_bound: r.get(5)?,
        interval_counted: r.get::<_, Option<i64>>(6)?.map(Nanos),
        born: r.get(7)?,
        died: r.get(8)?,
    })
}

/// Visits the samples of a run, by their position in it, until the visitor breaks off.
pub(crate) fn each_sample(conn: &Connection, run: i64, visit: &mut dyn FnMut(Sample) -> ControlFlow<()>) -> Inner<()> {
    let mut statement = conn.prepare_cached("SELECT seq, daemons, doc FROM sample WHERE run_id = ?1 ORDER BY seq")?;
    let mut list = conn.prepare_cached(
        "SELECT pid, start_ns, name, kind, cpu_ns, tick_bound, interval_counted_ns, born, died
         FROM daemon WHERE run_id = ?1 AND seq = ?2 ORDER BY ordinal",
    )?;
    let mut rows = statement.query([run])?;
    while let Some(r) = rows.next()? {
        let (seq, count): (u32, Option<i64>) = (r.get(0)?, r.get(1)?);
        let what = || format!("sample {seq} of run {run}");
        let doc = r.get_ref(2)?.as_str().map_err(|e| bad(what(), e))?;
        let mut sample: Sample = parse(doc, what)?;
        if sample.seq != seq {
            return Err(bad(what(), format!("its document is of sample {}", sample.seq)));
        }
        if let Reading::Value(daemons) = &mut sample.daemons {
            let mut found = list.query(params![run, seq])?;
            while let Some(r) = found.next()? {
                daemons.list.push(daemon(r)?);
            }
        }
        let found = sample.daemons.value().map(|d| length(&d.list));
        if found != count {
            return Err(bad(what(), format!("expected {count:?} daemons, found {found:?}")));
        }
        if visit(sample).is_break() {
            break;
        }
    }
    Ok(())
}

/// 32 hex digits in lower case.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
