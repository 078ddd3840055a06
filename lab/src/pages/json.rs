//! A lab as JSON.

use crate::data::campaign::Campaign;
use crate::data::nodes::NodesReport;
use crate::data::state::{CampaignSummary, LabMachine, LabTask};
use crate::data::tasks::LabTaskPlan;
use crate::pages::page::left::time_left;
use crate::pages::said::{answers, remarks};
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_report::error::RenderError;
use tarebench_report::style::Style;

/// The head of each document, and what it holds.
#[derive(Serialize)]
struct LabJson<T> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    holds: T,
}

fn document(format: &'static str, holds: impl Serialize) -> Result<String, RenderError> {
    Ok(tarebench_report::json::pretty(&LabJson { format, version: 1, holds })? + "\n")
}

/// `{"format":"tare-lab-campaigns","version":1,"campaigns":[{"id":3,"name":"…","state":"running",…}]}`.
pub fn campaigns(campaigns: &[CampaignSummary]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct CampaignsPart<'a> {
        campaigns: &'a [CampaignSummary],
    }
    document("tare-lab-campaigns", CampaignsPart { campaigns })
}

/// `{"format":"tare-lab-campaign","version":1,"summary":{…},"left":754000000000,"campaign":{…},"tasks":[…]}`.
///
/// `left` is an estimate, in ns; `null` if none can be made. Times are in ns since 1970.
pub fn campaign(
    summary: &CampaignSummary,
    campaign: &Campaign,
    tasks: &[LabTask],
    now: Nanos,
) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct CampaignPart<'a> {
        summary: &'a CampaignSummary,
        left: Option<Nanos>,
        campaign: &'a Campaign,
        tasks: &'a [LabTask],
    }
    let left = time_left(summary.state, tasks, now);
    document("tare-lab-campaign", CampaignPart { summary, left, campaign, tasks })
}

/// `{"format":"tare-lab-submitted","version":1,"summary":{…},"tasks":[{"uuid":"…","machine":"…","arguments":[…],…}]}`.
pub fn submitted(summary: &CampaignSummary, tasks: &[LabTaskPlan]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct SubmittedPart<'a> {
        summary: &'a CampaignSummary,
        tasks: &'a [LabTaskPlan],
    }
    document("tare-lab-submitted", SubmittedPart { summary, tasks })
}

/// `{"format":"tare-lab-machines","version":1,"machines":[{"name":"…","state":"idle",…}]}`.
pub fn machines(machines: &[LabMachine]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct MachinesPart<'a> {
        machines: &'a [LabMachine],
    }
    document("tare-lab-machines", MachinesPart { machines })
}

/// `{"format":"tare-lab-nodes","version":1,"answers":["n037 is odd: …"],"remarks":[…],"report":{"fleets":[…]}}`.
///
/// Ratios are of times, relative to the typical machine; standard deviations are of logarithms.
pub fn nodes(report: &NodesReport, style: &Style) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct NodesPart<'a> {
        answers: Vec<String>,
        remarks: Vec<String>,
        report: &'a NodesReport,
    }
    // JSON escapes by itself.
    let show = |text: &str| text.to_owned();
    let said = report.fleets.iter().flat_map(|fleet| answers(fleet, &style.glyphs(), &show));
    let answers = said.map(|s| s.text).collect();
    document("tare-lab-nodes", NodesPart { answers, remarks: remarks(report, &show), report })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::state::LabMachineState;
    use crate::pages::nodes_fixtures;
    use crate::pages::page::fixtures;
    use serde_json::Value;
    use tarebench_report::text::hidden;

    fn read(text: &str) -> Value {
        assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{}", text.escape_debug());
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn documents_have_their_format() {
        let list = read(&campaigns(&[fixtures::summary(), fixtures::hostile_summary()]).unwrap());
        assert_eq!((&list["format"], &list["version"]), (&"tare-lab-campaigns".into(), &1.into()));
        assert_eq!(
            (&list["campaigns"][0]["state"], &list["campaigns"][1]["name"]),
            (&"running".into(), &fixtures::HOSTILE.into())
        );
        let tasks = [fixtures::tasks(), vec![fixtures::hostile_task()]].concat();
        let one = read(&campaign(&fixtures::summary(), &fixtures::campaign(), &tasks, fixtures::NOW).unwrap());
        assert_eq!((&one["format"], one["tasks"].as_array().unwrap().len()), (&"tare-lab-campaign".into(), 6));
        assert_eq!((&one["campaign"]["programs"][0]["label"], &one["summary"]["id"]), (&"gzip".into(), &3.into()));
        assert!(one["left"].as_i64().unwrap() > 0, "{one}");
        let busy = fixtures::machine("node02", LabMachineState::Busy);
        let all = read(&machines(&[busy, fixtures::hostile_machine()]).unwrap());
        assert_eq!((&all["format"], &all["machines"][0]["state"]), (&"tare-lab-machines".into(), &"busy".into()));
        // A load that is no number.
        assert_eq!(all["machines"][1]["load"], Value::Null);
        let queued = read(&submitted(&fixtures::summary(), &nodes_fixtures::plans()).unwrap());
        assert_eq!(
            (&queued["format"], &queued["tasks"][0]["machine"]),
            (&"tare-lab-submitted".into(), &"node00".into())
        );
    }

    #[test]
    fn machines_compared_have_their_answer() {
        let report = nodes_fixtures::odd();
        let d = read(&nodes(&report, &Style::default()).unwrap());
        assert_eq!(d["format"], "tare-lab-nodes");
        assert!(d["answers"][0].as_str().unwrap().starts_with("node07 is odd: "), "{d}");
        assert_eq!(d["report"]["fleets"][0]["machines"][0]["machine"], "node07");
        let d = read(&nodes(&nodes_fixtures::hostile(), &Style::default()).unwrap());
        assert!(d["answers"][0].as_str().unwrap().contains(fixtures::HOSTILE), "{d}");
    }
}
