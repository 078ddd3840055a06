//! What each study repeats and answers; the list of all studies.

use crate::data::cells::{Study, StudyPreset};
use crate::data::samples::PlannedTime;
use crate::data::series::SampleStudy;
use serde::Serialize;
use tarebench_core::base::units::Nanos;
use tarebench_report::error::RenderError;
use tarebench_report::json;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};

/// A study in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StudyAbout {
    /// Short name of the paper.
    pub paper: &'static str,
    /// Its tables and figures.
    pub shows: &'static str,
    /// The question that it answers.
    pub question: &'static str,
}

const fn words(paper: &'static str, shows: &'static str, question: &'static str) -> StudyAbout {
    StudyAbout { paper, shows, question }
}

/// A study of samples.
pub fn about(study: SampleStudy) -> StudyAbout {
    match study {
        SampleStudy::EtPt => words(
            "EMP",
            "figures 2 and 9, tables II and III",
            "How much do elapsed and process time of the same work vary, and how does that grow with its length?",
        ),
        SampleStudy::Ntp => words("EMP", "figure 10, table IV", "Does the NTP daemon make process times steadier?"),
        SampleStudy::ClockSpeed => {
            words("EMP", "figure 11, table V", "How much of the spread do turbo mode and frequency scaling cause?")
        }
        SampleStudy::Scaling => words(
            "EMP, Report",
            "EMP figure 12, table VI; Report table 3, figure 1",
            "How do mean and standard deviation of process time grow with the length of the task?",
        ),
        SampleStudy::Outliers => words(
            "EMP, Report",
            "EMP figure 16, table XIX; Report figures 2 to 11",
            "What do the two checks for outliers remove?",
        ),
        SampleStudy::SampleSize => words(
            "EMP, Report",
            "EMP tables XX to XXIV; Report tables 4 and 6, figures 12, 13, 16",
            "How many samples are enough?",
        ),
        SampleStudy::Evolution => words(
            "EMP",
            "figure 17",
            "By how much does each step of the protocol reduce standard deviation and relative error?",
        ),
        SampleStudy::Clocks => words("EMP", "figure 18, table XXV", "Do different clocks measure the same times?"),
        SampleStudy::Programs => words(
            "EMP, SEDONA",
            "EMP figure 19; SEDONA figure 1",
            "Does the protocol hold for programs that use memory: SORT, MATC, MATR?",
        ),
        SampleStudy::Suite => words("EMP, SEDONA", "EMP table XXVI; SEDONA table 3", "Does it hold for real programs?"),
        SampleStudy::Histogram => {
            words("Report", "figures 14, 15, 17 to 20", "Do process times have one mode or two, and are they normal?")
        }
        SampleStudy::Dual => {
            words("Report", "section 6, table 7, figures 21 to 28", "Do both halves of an execution vary together?")
        }
        SampleStudy::Successive => {
            words("Report", "section 7, figures 29 to 32", "Does a sample depend on the one before it?")
        }
        SampleStudy::Daemons => words(
            "Report",
            "section 8, table 8, figures 33 to 39",
            "Does process time vary with the process time of the daemons?",
        ),
        SampleStudy::Worst => words("Report", "tables 5, 9 to 12", "Which daemons ran during the slowest sample?"),
        SampleStudy::Variance => words("EMP", "section 8", "What is the variance of process time made of?"),
    }
}

/// A study of CS:APP.
pub fn about_cells(study: Study) -> StudyAbout {
    match study {
        Study::IntervalCounting => {
            words("CS:APP", "figure 9.8", "How wrong are CPU times that are counted at timer interrupts?")
        }
        Study::Caching => {
            words("CS:APP", "figures 9.11 to 9.13", "What do other processes and cold caches cost a procedure?")
        }
        Study::Kbest => words(
            "CS:APP",
            "figures 9.14 to 9.19, 9.22",
            "How wrong is the K-best scheme by length, load, K, compensation and clock?",
        ),
    }
}

/// A study in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedStudy {
    /// As in commands.
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

    #[test]
    fn every_study_has_a_question_of_its_own() {
        let mut questions: Vec<&str> = SampleStudy::ALL.into_iter().map(|s| about(s).question).collect();
        questions.extend(Study::ALL.into_iter().map(|s| about_cells(s).question));
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
            about: about(SampleStudy::EtPt),
            times: vec![(StudyPreset::Minutes, time(180.0, 90, 0)), (StudyPreset::Paper, time(0.0, 3, 3))],
        };
        let text = list(std::slice::from_ref(&study), &Style { width: 60, ..Style::default() });
        assert!(text.starts_with("et-pt  How much do elapsed"), "{text}");
        assert!(text.contains("EMP: figures 2 and 9, tables II and III"), "{text}");
        assert!(text.contains("time: minutes 3.0 min; paper 3 executions\n"), "{text}");
        assert!(list_json(&[study]).unwrap().contains("\"question\""));
    }
}
