//! The machines of a campaign, compared by the same work: reads the runs of its tasks from the lab's store.

use crate::data::nodes::{NodeRun, NodesReport, nodes};
use crate::data::state::LabTask;
use tarebench_core::documents::head::DocumentKind;
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::run::data::Run;
use tarebench_core::sample::data::{Phase, Sample};
use tarebench_core::sample::measure::Measure;
use tarebench_store::{Store, StoreError};

/// Compares the machines of a campaign by the runs of its finished tasks that are still stored; by net time where all samples have one,
/// else by process time, else by elapsed time.
pub fn compare_nodes(store: &dyn Store, tasks: &[LabTask]) -> Result<NodesReport, StoreError> {
    let mut measured = Vec::new();
    for task in tasks {
        for uuid in &task.runs {
            // An administrator may have removed it.
            let Some(id) = store.find_kind(DocumentKind::Run, uuid)? else { continue };
            let run = store.run(id.number)?;
            let samples = counted(store, &run)?;
            let machine = task.agent.clone().unwrap_or_else(|| run.host.name.clone());
            measured.push((machine, run, samples));
        }
    }
    let measure = measure(measured.iter().flat_map(|(_, _, samples)| samples));
    let runs: Vec<NodeRun> =
        measured.iter().flat_map(|(machine, run, samples)| node_runs(machine, run, samples, measure)).collect();
    Ok(nodes(&runs, measure))
}

/// What of a sample is compared.
struct NodeSample {
    series: u32,
    elapsed: f64,
    process: Option<f64>,
    net: Option<f64>,
    added: Option<f64>,
}

fn counted(store: &dyn Store, run: &Run) -> Result<Vec<NodeSample>, StoreError> {
    let mut samples = Vec::new();
    store.each_sample_alone(run.id, &mut |sample| {
        if sample.phase == Phase::Counted && run.plan.ignore_failure.accepts(&sample.outcome) {
            samples.push(NodeSample {
                series: sample.series,
                elapsed: sample.elapsed().as_f64(),
                process: sample.process_time().ok().map(|t| t.as_f64()),
                net: sample.net_time().ok().map(|t| t.as_f64()),
                added: added(&sample),
            });
        }
    })?;
    Ok(samples)
}

/// Share of the elapsed time in which the program's main thread was interrupted, waited for a CPU, or had it stolen.
fn added(sample: &Sample) -> Option<f64> {
    let account = sample.account.value().filter(|a| a.lost == 0)?;
    let (main, elapsed) = (&account.main, sample.elapsed().as_f64());
    let added = main.interrupted() + main.stolen() + main.waited();
    (elapsed > 0.0).then(|| (added.as_f64() / elapsed).clamp(0.0, 1.0))
}

/// The median; the upper one of two in the middle.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The best measure that all samples have: times of two kinds are never compared.
fn measure<'a>(samples: impl Iterator<Item = &'a NodeSample>) -> Measure {
    let (mut net, mut process) = (true, true);
    for sample in samples {
        net &= sample.net.is_some();
        process &= sample.process.is_some();
    }
    if net {
        Measure::Net
    } else if process {
        Measure::Pt
    } else {
        Measure::Et
    }
}

/// Each program of a run.
fn node_runs(machine: &str, run: &Run, samples: &[NodeSample], measure: Measure) -> Vec<NodeRun> {
    let node_run = |(series, label): (u32, String)| {
        let own: Vec<&NodeSample> = samples.iter().filter(|s| s.series == series).collect();
        let time = |s: &&NodeSample| match measure {
            Measure::Net => s.net,
            Measure::Pt => s.process,
            Measure::Et => Some(s.elapsed),
        };
        NodeRun {
            machine: machine.to_owned(),
            fingerprint: fingerprint(&run.host, &run.factors),
            run: run.uuid.clone(),
            started: run.created,
            program: label,
            times: own.iter().filter_map(time).collect(),
            added: middle(own.iter().filter_map(|s| s.added).collect()),
        }
    };
    (0..).zip(run.plan.programs.iter().map(|p| p.label.clone())).map(node_run).filter(|r| !r.times.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(process: Option<f64>, net: Option<f64>) -> NodeSample {
        NodeSample { series: 0, elapsed: 3.0, process, net, added: None }
    }

    #[test]
    fn all_samples_have_the_measure() {
        let both = || sample(Some(2.0), Some(1.0));
        assert_eq!(measure([both(), both()].iter()), Measure::Net);
        assert_eq!(measure([both(), sample(Some(2.0), None)].iter()), Measure::Pt);
        assert_eq!(measure([both(), sample(None, None)].iter()), Measure::Et);
    }
}
