//! Words and figures that the reports of runs and of comparisons share.

use tarebench_core::run::plan::Command;
use tarebench_core::run::report::data::{Measure, MeasureReport, SeriesReport};
use tarebench_report::number::TimeScale;
use tarebench_report::screen::ScreenText;

/// `PT`, `ET` or `net`.
pub fn measure(m: Measure) -> &'static str {
    match m {
        Measure::Pt => "PT",
        Measure::Et => "ET",
        Measure::Net => "net",
    }
}

/// The scale of a row.
pub fn scale(page: &ScreenText<'_>, m: &MeasureReport) -> TimeScale {
    TimeScale::of(m.mean, m.std_dev, page.style.unit)
}

/// The command as a user would read it.
pub fn words_of(page: &ScreenText<'_>, s: &SeriesReport) -> String {
    match &s.program.command {
        Command::Argv(words) => {
            let words: Vec<String> = words.iter().map(|w| page.style.show_name(w)).collect();
            words.join(" ")
        }
        Command::Shell { script, .. } => page.style.show_name(script),
    }
}
