//! The state of a lab as Prometheus reads it: the text format, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use crate::data::state::{CampaignState, CampaignSummary, LabMachine, LabMachineState, LabTaskState};
use std::fmt::Write as _;
use tarebench_core::base::units::Nanos;

/// The Content-Type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone, Debug)]
pub struct LabGauges<'a> {
    /// By the database's clock.
    pub now: Nanos,
    pub campaigns: &'a [CampaignSummary],
    pub machines: &'a [LabMachine],
    /// Tasks that may start now and wait for a machine.
    pub queue: u64,
    /// Counted samples per minute, of the last minutes.
    pub samples_per_minute: f64,
    /// Attempts that have failed since the lab was made, lost leases included.
    pub failures: u64,
    /// Changes of the queue since the lab was made.
    pub changes: u64,
}

/// The whole text. If the database does not answer there are no gauges, and `tare_lab_up` is 0.
pub fn metrics(gauges: Option<&LabGauges<'_>>) -> String {
    let mut text = Exposition::default();
    text.family("tare_lab_up", "gauge", "Whether the lab's database answered.");
    text.sample("tare_lab_up", &[], if gauges.is_some() { 1.0 } else { 0.0 });
    if let Some(gauges) = gauges {
        queue(&mut text, gauges);
        campaigns(&mut text, gauges.campaigns);
        machines(&mut text, gauges);
    }
    text.0
}

fn queue(text: &mut Exposition, g: &LabGauges<'_>) {
    text.family("tare_lab_queue_length", "gauge", "Tasks that may start now and wait for a machine.");
    text.sample("tare_lab_queue_length", &[], g.queue as f64);
    let sum = |count: fn(&CampaignSummary) -> u64| g.campaigns.iter().map(count).fold(0, u64::saturating_add) as f64;
    text.family("tare_lab_tasks", "gauge", "Tasks by state.");
    type CountOf = fn(&CampaignSummary) -> u64;
    let states: [(LabTaskState, CountOf); 5] = [
        (LabTaskState::Waiting, |c| c.waiting),
        (LabTaskState::Leased, |c| c.leased),
        (LabTaskState::Done, |c| c.done),
        (LabTaskState::Failed, |c| c.failed),
        (LabTaskState::Cancelled, |c| c.cancelled),
    ];
    for (state, count) in states {
        text.sample("tare_lab_tasks", &[("state", task_state(state))], sum(count));
    }
    let help = "Attempts that have failed since the lab was made, lost leases included.";
    text.family("tare_lab_failures_total", "counter", help);
    text.sample("tare_lab_failures_total", &[], g.failures as f64);
    text.family("tare_lab_changes_total", "counter", "Changes of the queue since the lab was made.");
    text.sample("tare_lab_changes_total", &[], g.changes as f64);
    text.family("tare_lab_samples", "gauge", "Counted samples of all campaigns.");
    text.sample("tare_lab_samples", &[], sum(|c| c.samples));
    text.family("tare_lab_samples_per_minute", "gauge", "Counted samples per minute that agents reported last.");
    text.sample("tare_lab_samples_per_minute", &[], g.samples_per_minute);
}

fn campaigns(text: &mut Exposition, campaigns: &[CampaignSummary]) {
    use CampaignState as S;
    text.family("tare_lab_campaigns", "gauge", "Campaigns by state.");
    for state in [S::Queued, S::Running, S::Paused, S::Cancelled, S::Finished] {
        let n = campaigns.iter().filter(|c| c.state == state).count();
        text.sample("tare_lab_campaigns", &[("state", campaign_state(state))], n as f64);
    }
    // Of those in progress only: the number of series must not grow with the age of a lab.
    let open = || campaigns.iter().filter(|c| matches!(c.state, S::Queued | S::Running | S::Paused));
    text.family("tare_lab_campaign_tasks", "gauge", "Tasks of a campaign that has not ended.");
    for c in open() {
        text.sample("tare_lab_campaign_tasks", &[("campaign", &c.id.to_string()), ("name", &c.name)], c.tasks as f64);
    }
    text.family("tare_lab_campaign_tasks_done", "gauge", "Tasks of a campaign that has not ended which are done.");
    for c in open() {
        let labels = [("campaign", c.id.to_string()), ("name", c.name.clone())];
        let labels = [(labels[0].0, labels[0].1.as_str()), (labels[1].0, labels[1].1.as_str())];
        text.sample("tare_lab_campaign_tasks_done", &labels, c.done as f64);
    }
}

fn machines(text: &mut Exposition, g: &LabGauges<'_>) {
    use LabMachineState as S;
    text.family("tare_lab_agents", "gauge", "Machines with an agent, by state; gone are those without a heartbeat.");
    for state in [S::Idle, S::Busy, S::Draining, S::TooLoaded, S::OutsideHours, S::Gone] {
        let n = g.machines.iter().filter(|m| m.state == state).count();
        text.sample("tare_lab_agents", &[("state", machine_state(state))], n as f64);
    }
    text.family("tare_lab_agents_alive", "gauge", "Machines whose agent sends heartbeats.");
    text.sample("tare_lab_agents_alive", &[], g.machines.iter().filter(|m| m.state != S::Gone).count() as f64);
    text.family("tare_lab_heartbeat_age_seconds", "gauge", "Time since the last heartbeat of a machine's agent.");
    for m in g.machines {
        text.sample("tare_lab_heartbeat_age_seconds", &[("machine", &m.name)], (g.now - m.heartbeat).secs());
    }
    text.family("tare_lab_load", "gauge", "Load average of a machine over the last minute, as its agent reported it.");
    for m in g.machines {
        if let Some(load) = m.load {
            text.sample("tare_lab_load", &[("machine", &m.name)], load);
        }
    }
}

fn task_state(state: LabTaskState) -> &'static str {
    match state {
        LabTaskState::Waiting => "waiting",
        LabTaskState::Leased => "leased",
        LabTaskState::Done => "done",
        LabTaskState::Failed => "failed",
        LabTaskState::Cancelled => "cancelled",
    }
}

fn campaign_state(state: CampaignState) -> &'static str {
    match state {
        CampaignState::Queued => "queued",
        CampaignState::Running => "running",
        CampaignState::Paused => "paused",
        CampaignState::Cancelled => "cancelled",
        CampaignState::Finished => "finished",
    }
}

fn machine_state(state: LabMachineState) -> &'static str {
    match state {
        LabMachineState::Idle => "idle",
        LabMachineState::Busy => "busy",
        LabMachineState::Draining => "draining",
        LabMachineState::TooLoaded => "too_loaded",
        LabMachineState::OutsideHours => "outside_hours",
        LabMachineState::Gone => "gone",
    }
}

/// The text in the making.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// Begins a metric; all its samples follow at once, as the format asks.
    fn family(&mut self, name: &'static str, kind: &'static str, help: &'static str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.0.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
            let _ = write!(self.0, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.0, " {}", number(value));
    }
}

/// A label's value: the format escapes backslashes, quotes and line feeds, and takes all else as it is.
fn quoted(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            // Allowed, but some readers end a line here.
            '\r' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        v => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::page::fixtures;
    use std::collections::{BTreeMap, BTreeSet};

    /// A sample as a reader of the format sees it.
    #[derive(Debug)]
    struct Parsed {
        name: String,
        labels: BTreeMap<String, String>,
        value: f64,
    }

    fn is_name(text: &str) -> bool {
        let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        first && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// The labels between braces, and what follows them.
    fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
        let mut all = BTreeMap::new();
        loop {
            let (name, after) = rest.split_once("=\"").unwrap();
            assert!(is_name(name), "{name}");
            let (mut value, mut chars) = (String::new(), after.char_indices());
            let end = loop {
                match chars.next().unwrap() {
                    (_, '\\') => match chars.next().unwrap().1 {
                        'n' => value.push('\n'),
                        c @ ('\\' | '"') => value.push(c),
                        c => panic!("\\{c}"),
                    },
                    (at, '"') => break at + 1,
                    (_, c) => value.push(c),
                }
            };
            assert_eq!(all.insert(name.to_owned(), value), None);
            rest = &after[end..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => return (all, rest.strip_prefix('}').unwrap()),
            }
        }
    }

    /// Reads the text by the grammar of the format, and checks what it asks for.
    fn parsed(text: &str) -> Vec<Parsed> {
        assert!(text.ends_with('\n') && !text.contains('\r'));
        let (mut all, mut current, mut seen) = (Vec::new(), None, BTreeSet::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let name = help.split_once(' ').unwrap().0.to_owned();
                assert!(is_name(&name) && name.starts_with("tare_lab_") && seen.insert(name.clone()), "{line}");
                let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
                assert_eq!(lines.next().unwrap(), format!("# TYPE {name} {kind}"));
                current = Some(name);
                continue;
            }
            let end = line.find(['{', ' ']).unwrap();
            let (name, rest) = line.split_at(end);
            assert_eq!(Some(name), current.as_deref(), "{line}");
            let (labels, rest) = rest.strip_prefix('{').map_or_else(|| (BTreeMap::new(), rest), labels);
            let value = rest.strip_prefix(' ').unwrap();
            let value = value.replace("+Inf", "inf").replace("-Inf", "-inf").parse().unwrap();
            all.push(Parsed { name: name.to_owned(), labels, value });
        }
        let mut keys: Vec<_> = all.iter().map(|p| (&p.name, &p.labels)).collect();
        keys.sort();
        let n = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), n, "a sample stands twice");
        all
    }

    fn value(all: &[Parsed], name: &str, label: Option<(&str, &str)>) -> f64 {
        let fits = |p: &&Parsed| label.is_none_or(|(k, v)| p.labels.get(k).map(String::as_str) == Some(v));
        all.iter().filter(|p| p.name == name).find(fits).unwrap().value
    }

    fn gauges<'a>(campaigns: &'a [CampaignSummary], machines: &'a [LabMachine]) -> LabGauges<'a> {
        LabGauges {
            now: fixtures::NOW,
            campaigns,
            machines,
            queue: 7,
            samples_per_minute: 12.5,
            failures: 4,
            changes: 99,
        }
    }

    #[test]
    fn the_lab_is_counted() {
        let (campaigns, machines) = ([fixtures::summary()], fixtures::machines());
        let all = parsed(&metrics(Some(&gauges(&campaigns, &machines))));
        assert_eq!(value(&all, "tare_lab_up", None), 1.0);
        assert_eq!(value(&all, "tare_lab_queue_length", None), 7.0);
        assert_eq!(value(&all, "tare_lab_samples_per_minute", None), 12.5);
        assert_eq!(value(&all, "tare_lab_failures_total", None), 4.0);
        assert_eq!(value(&all, "tare_lab_tasks", Some(("state", "failed"))), 1.0);
        assert_eq!(value(&all, "tare_lab_agents", Some(("state", "gone"))), 1.0);
        assert_eq!(value(&all, "tare_lab_agents_alive", None), 5.0);
        assert_eq!(value(&all, "tare_lab_heartbeat_age_seconds", Some(("machine", "node02"))), 12.0);
        assert_eq!(value(&all, "tare_lab_campaign_tasks_done", Some(("name", "gzip levels"))), 1.0);
        let away = parsed(&metrics(None));
        assert_eq!((away.len(), value(&away, "tare_lab_up", None)), (1, 0.0));
    }

    #[test]
    fn hostile_names_are_values_of_labels() {
        let (campaigns, machines) = ([fixtures::hostile_summary()], [fixtures::hostile_machine()]);
        let all = parsed(&metrics(Some(&gauges(&campaigns, &machines))));
        assert_eq!(value(&all, "tare_lab_load", Some(("machine", fixtures::HOSTILE))), f64::INFINITY);
        assert_eq!(quoted("a\\b\"c\nd\r{}"), "a\\\\b\\\"c\\nd\u{fffd}{}");
    }

    /// The same by Prometheus' own reader, where it is installed.
    #[test]
    fn prometheus_reads_it() {
        use std::io::Write as _;
        let (campaigns, machines) = ([fixtures::hostile_summary()], [fixtures::hostile_machine()]);
        let text = metrics(Some(&gauges(&campaigns, &machines)));
        let code = "import sys\ntry:\n from prometheus_client.parser import text_string_to_metric_families as read\n\
                    except ImportError:\n sys.exit(77)\n\
                    print(sum(len(f.samples) for f in read(sys.stdin.buffer.read().decode())))";
        let python = std::process::Command::new("python3")
            .args(["-c", code])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn();
        let Ok(mut python) = python else { return eprintln!("skipped: no python3") };
        // It may have ended before it reads.
        let _ = python.stdin.take().unwrap().write_all(text.as_bytes());
        let out = python.wait_with_output().unwrap();
        if out.status.code() == Some(77) {
            return eprintln!("skipped: prometheus_client is not installed");
        }
        assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), parsed(&text).len().to_string());
    }
}
