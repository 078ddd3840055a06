//! The list of all studies.

use crate::data::about::StudyAbout;
use crate::data::cells::StudyPreset;
use crate::data::samples::PlannedTime;
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_report::error::RenderError;
use tarebench_report::json;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};

/// A study in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedStudy {
    pub name: &'static str,
    #[serde(flatten)]
    pub about: StudyAbout,
    /// Time at each preset, about.
    pub times: Vec<(StudyPreset, PlannedTime)>,
}

/// `about 3 min`, or how many executions there are of programs whose length is not known.
fn duration(preset: StudyPreset, time: PlannedTime, unicode: bool) -> String {
    let long = || number::long_time(Nanos::from_secs_f64(time.seconds), unicode);
    let text = match time.unknown {
        0 => long(),
        n if n == time.executions => format!("{n} executions"),
        n => format!("{} and {n} executions", long()),
    };
    format!("{} {text}", preset.name())
}

/// All studies, a paragraph each.
pub fn list(all: &[ListedStudy], style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let width = all.iter().map(|s| s.name.len()).max().unwrap_or_default() + 2;
    for study in all {
        let first = [(Paint::Strong, format!("{:<width$}", study.name))];
        page.hang(&first, Paint::Plain, &style.prose(study.about.question));
        let rest = [(Paint::Plain, " ".repeat(width))];
        page.hang(&rest, Paint::Dim, &style.prose(&format!("{}: {}", study.about.paper, study.about.shows)));
        let times: Vec<String> = study.times.iter().map(|(p, t)| duration(*p, *t, style.unicode)).collect();
        page.hang(&rest, Paint::Dim, &style.prose(&format!("time: {}", times.join("; "))));
    }
    page.finish()
}

/// The same as JSON.
pub fn list_json(all: &[ListedStudy]) -> Result<String, RenderError> {
    Ok(json::pretty(&all)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::Study;
    use crate::data::samples::STUDIES;
    use crate::data::series::SampleStudy;

    #[test]
    fn studies_are_in_their_order() {
        assert!(STUDIES.iter().enumerate().all(|(i, entry)| entry.study as usize == i));
        assert!(STUDIES.iter().all(|entry| serde_json::to_value(entry.study).unwrap() == entry.name));
    }

    #[test]
    fn every_study_has_a_question_of_its_own() {
        let mut questions: Vec<&str> = SampleStudy::all().map(|s| s.entry().about.question).collect();
        questions.extend(Study::ALL.into_iter().map(|s| s.about().question));
        assert!(questions.iter().all(|q| q.ends_with('?')));
        let n = questions.len();
        questions.sort_unstable();
        questions.dedup();
        assert_eq!((n, questions.len()), (19, 19));
    }

    #[test]
    fn times_are_said_as_far_as_they_are_known() {
        let time = |seconds, executions, unknown| PlannedTime { seconds, executions, unknown };
        assert_eq!(duration(StudyPreset::Minutes, time(180.0, 90, 0), true), "minutes 3.0 min");
        assert_eq!(duration(StudyPreset::Hour, time(0.0, 40, 40), true), "hour 40 executions");
        assert_eq!(duration(StudyPreset::Paper, time(60.0, 40, 30), true), "paper 60.0 s and 30 executions");
        let study = ListedStudy {
            name: "et-pt",
            about: SampleStudy::EtPt.entry().about,
            times: vec![(StudyPreset::Minutes, time(180.0, 90, 0)), (StudyPreset::Paper, time(0.0, 3, 3))],
        };
        let text = list(std::slice::from_ref(&study), &Style { width: 60, ..Style::default() });
        assert!(text.starts_with("et-pt  How much do elapsed"), "{text}");
        assert!(text.contains("EMP: figures 2 and 9, tables II and III"), "{text}");
        assert!(text.contains("time: minutes 3.0 min; paper 3 executions\n"), "{text}");
        assert!(list_json(&[study]).unwrap().contains("\"question\""));
    }
}
