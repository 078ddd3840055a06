//! A study of samples as a sheet: what was measured, under which conditions, and what its report says.

use crate::data::samples::SampleStudyReport;
use crate::data::series::{SampleStudyPlan, StudyGap, StudyLeftOut, StudyRunPart};
use crate::sheets::samples::sheet;
use crate::sheets::sheet::study_title;
use serde::Serialize;
use tarebench_core::base::date::TimeZone;
use tarebench_core::documents::head::{DocumentHead, Status};
use tarebench_core::machine::data::{Factor, Standing};
use tarebench_core::sample::data::Phase;
use tarebench_render::documents::machine::described;
use tarebench_report::cell::Cell;
use tarebench_report::error::RenderError;
use tarebench_report::json;
use tarebench_report::sheet::{Section, Sheet, SheetFact, SheetRemark};
use tarebench_report::style::Paint;
use tarebench_report::table::Table;
use tarebench_report::web::page::PageKind;
use tarebench_report::words::plural;

/// A stored study of samples with its report.
pub struct StudyView<'a> {
    pub head: &'a DocumentHead,
    pub plan: &'a SampleStudyPlan,
    pub parts: &'a [StudyRunPart],
    pub left_out: &'a [StudyLeftOut],
    pub report: Result<SampleStudyReport, StudyGap>,
}

impl StudyView<'_> {
    /// All of it; without tables and figures if the samples do not answer the question.
    pub fn sheet(&self, zone: &TimeZone, foot: impl Into<Cell>) -> Sheet {
        let found = self.report.as_ref().map_or_else(|_| Sheet::new(PageKind::Study, ""), sheet);
        let warnings = self.warnings().into_iter().map(SheetRemark::warning);
        Sheet {
            title: study_title(self.head),
            subtitle: self.plan.sample_study.entry().about.question.into(),
            facts: self.facts(zone),
            remarks: warnings.chain(found.remarks).collect(),
            foot: foot.into(),
            ..found
        }
    }

    /// `study et-pt`.
    pub fn command(&self) -> String {
        format!("study {}", self.plan.sample_study.name())
    }

    /// Paper, question, samples, machines, and what of the papers' conditions does not hold.
    fn facts(&self, zone: &TimeZone) -> Vec<SheetFact> {
        let about = self.plan.sample_study.entry().about;
        let mut facts = vec![
            SheetFact::new("paper", format!("{}: {}", about.paper, about.shows)),
            SheetFact::new("question", about.question),
            SheetFact::new("measured", self.measured()),
            SheetFact::new("started", Cell::date(self.head.created, zone)),
        ];
        facts.extend(self.machines().into_iter().map(|text| SheetFact::new("machine", text)));
        let conditions = self.conditions().into_iter();
        facts.extend(conditions.map(|text| SheetFact::new("not held", Cell::text(text).paint(Paint::Warn))));
        facts
    }

    fn measured(&self) -> String {
        let counted = self.parts.iter().flat_map(|p| &p.samples).filter(|s| s.phase == Phase::Counted).count();
        let labels = self.parts.iter().flat_map(|p| &p.programs).map(|p| p.label.as_str());
        let programs = labels.collect::<std::collections::BTreeSet<&str>>().len();
        let samples = format!("{} of {}", plural(counted as u64, "sample"), plural(programs as u64, "program"));
        match self.plan.runs.len() {
            0 => format!("{samples}, from {}", plural(self.parts.len() as u64, "stored run")),
            n => format!("{} of {}, {samples}", self.parts.len(), plural(n as u64, "run")),
        }
    }

    /// Each machine once, with the conditions that were measured on it where there are several machines.
    fn machines(&self) -> Vec<String> {
        let text = |head: &DocumentHead| match described(head) {
            Some(machine) => format!("{}: {machine}", head.machine),
            None => head.machine.clone(),
        };
        let mut all: Vec<(String, Vec<&str>)> = Vec::new();
        for part in self.parts {
            let (condition, text) = (part.condition.as_str(), text(&part.head));
            match all.iter_mut().find(|(t, _)| *t == text) {
                Some((_, conditions)) => conditions.push(condition),
                None => all.push((text, vec![condition])),
            }
        }
        let several = all.len() > 1;
        let named = |(text, mut conditions): (String, Vec<&str>)| {
            conditions.retain(|c| !c.is_empty());
            conditions.dedup();
            match several && !conditions.is_empty() {
                true => format!("{text} ({})", conditions.join(", ")),
                false => text,
            }
        };
        all.into_iter().map(named).collect()
    }

    /// What the papers' protocol asks of the machine (EMPv1 to v4) and was not so, by condition where they differ.
    fn conditions(&self) -> Vec<String> {
        let mut all: Vec<(String, Vec<&str>)> = Vec::new();
        for part in self.parts {
            let Some(found) = part.head.conditions.as_deref() else { continue };
            let asked = found.factors().iter().filter(|f| (1..=4).contains(&f.step) && f.standing != Standing::Held);
            for factor in asked {
                let text = match factor.standing {
                    Standing::Unknown => not_known(factor),
                    _ => format!("{}: {}", factor.name, factor.finding),
                };
                match all.iter_mut().find(|(t, _)| *t == text) {
                    Some((_, conditions)) => conditions.push(part.condition.as_str()),
                    None => all.push((text, vec![part.condition.as_str()])),
                }
            }
        }
        let named = |(text, mut conditions): (String, Vec<&str>)| {
            let everywhere = conditions.len() == self.parts.len();
            conditions.retain(|c| !c.is_empty());
            conditions.dedup();
            match everywhere || conditions.is_empty() {
                true => text,
                false => format!("{text} (under: {})", conditions.join(", ")),
            }
        };
        all.into_iter().map(named).collect()
    }

    /// What a reader has to know first: what is missing, failed or was left out; then what the sheet says.
    fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.head.status != Status::Finished {
            let missing = self.plan.runs.len().saturating_sub(self.parts.len() + self.left_out.len());
            all.push(format!(
                "The study is not finished: {missing} of {} are missing.",
                plural(self.plan.runs.len() as u64, "run")
            ));
        }
        for part in self.parts.iter().filter(|p| p.head.status != Status::Finished) {
            all.push(format!("Run {} was not finished when its samples were copied.", part.head.number));
        }
        if let Err(gap) = &self.report {
            all.push(format!("There is no result: {gap}."));
        }
        for left in self.left_out {
            let condition =
                if left.condition.is_empty() { "One run".to_owned() } else { format!("`{}`", left.condition) };
            all.push(format!("{condition} was left out: {}.", left.left_out));
        }
        let samples = || self.parts.iter().flat_map(|p| &p.samples);
        let failed: usize =
            self.parts.iter().map(|p| p.samples.iter().filter(|s| !p.ignore_failure.accepts(&s.outcome)).count()).sum();
        if failed > 0 {
            all.push(format!("{failed} of {} failed and are not used.", plural(samples().count() as u64, "execution")));
        }
        let unused = self.parts.iter().flat_map(StudyRunPart::series).filter(|s| s.samples.is_empty());
        for series in unused {
            all.push(format!("`{}` has no successful sample.", series.program.label));
        }
        all
    }
}

/// A factor whose standing is not known, with the reason. Most findings say by themselves that there is no value.
fn not_known(factor: &Factor) -> String {
    const SAID: [&str; 5] = ["not known", "not available", "not measured", "lost:", "unknown"];
    let Factor { name, finding, .. } = factor;
    match SAID.iter().any(|said| finding.starts_with(said)) {
        true => format!("{name}: {finding}"),
        false => format!("{name} is not known: {finding}"),
    }
}

#[derive(Serialize)]
struct SampleStudyJson<'a> {
    format: &'static str,
    version: u32,
    head: &'a DocumentHead,
    plan: &'a SampleStudyPlan,
    /// Absent if the samples do not answer the question; `gap` says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a SampleStudyReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<&'a StudyGap>,
    answers: Vec<Cell>,
    remarks: Vec<Cell>,
    sections: Vec<SectionJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published: Vec<Table>,
    left_out: &'a [StudyLeftOut],
    parts: &'a [StudyRunPart],
}

#[derive(Serialize)]
struct SectionJson<'a> {
    id: &'a str,
    title: &'a Cell,
    tables: Vec<&'a Table>,
}

fn section_json(section: &Section) -> SectionJson<'_> {
    SectionJson { id: &section.id, title: &section.title, tables: section.tables().collect() }
}

/// The observations, the report, and the tables as on the terminal; `published` are the papers' values, if they are asked for.
pub fn study_json(view: &StudyView<'_>, published: Vec<Table>) -> Result<String, RenderError> {
    let sheet = view.sheet(&TimeZone::UTC, "");
    let document = SampleStudyJson {
        format: "tare-study",
        version: 1,
        head: view.head,
        plan: view.plan,
        report: view.report.as_ref().ok(),
        gap: view.report.as_ref().err(),
        sections: sheet.sections.iter().map(section_json).collect(),
        answers: sheet.answers.clone(),
        remarks: sheet.remarks.iter().map(|remark| remark.cell.clone()).collect(),
        published,
        left_out: view.left_out,
        parts: view.parts,
    };
    Ok(json::compact(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::base::reading::Absent;

    #[test]
    fn what_is_not_known_is_said_once() {
        let said = |finding: String| not_known(&Factor::new(3, "turbo", Standing::Unknown, finding));
        let why = || "a virtual machine".to_owned();
        for (finding, expected) in [
            (Absent::NotSupported(why()).to_string(), "turbo: not available: a virtual machine"),
            (Absent::NoPermission(why()).to_string(), "turbo: not known: needs a virtual machine"),
            (Absent::Lost(why()).to_string(), "turbo: lost: a virtual machine"),
            (Absent::NotAsked(why()).to_string(), "turbo: not measured: a virtual machine"),
            (Absent::Failed(why()).to_string(), "turbo: not known: a virtual machine"),
            ("no control".to_owned(), "turbo is not known: no control"),
        ] {
            assert_eq!(said(finding), expected);
        }
    }
}
