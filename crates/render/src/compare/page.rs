//! The page's table of comparisons.

use crate::kit::number;
use crate::kit::table::Table;
use crate::kit::words::measure;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::data::RunReport;

/// The ratios, with the measure that each is of.
pub(crate) fn comparison(report: &RunReport) -> Option<Table> {
    let name = |i: u32| report.series.get(i as usize).map_or("", |s| s.program.label.as_str());
    let mut t = Table::new(
        "Comparison",
        "Median of the ratios of samples of the same round, with its 95% interval.",
        &["program", "against", "measure", ">ratio", ">interval", "verdict"],
    );
    for c in &report.comparisons {
        let places = number::ratio_decimals(c.ratio, c.interval.as_ref().ok().map(|i| i.half_width()));
        let ratio = |r: f64| number::fixed(r, places).unwrap_or_default();
        let interval = match &c.interval {
            Ok(i) => format!("{} to {}", ratio(i.low), ratio(i.high)),
            Err(why) => why.to_string(),
        };
        let verdict = match c.verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Undecided => "undecided",
        };
        let cells = [name(c.series), name(c.reference), measure(c.measure), &ratio(c.ratio), &interval, verdict];
        t.row(cells.iter().map(|c| (*c).to_owned()).collect(), Vec::new());
        let low = c.interval.as_ref().ok().map(|i| i.low);
        t.values(vec![None, None, None, Some(c.ratio), low, None]);
    }
    Some(t).filter(|t| !t.rows.is_empty())
}
