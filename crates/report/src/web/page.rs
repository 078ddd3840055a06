//! What is written into the web page: `web/src/data.ts` is the same, as its reader sees it, and says what each field means.

use crate::cell::{Cell, Figure};
use crate::table::Table;
use crate::text::escape;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// `tare-page`.
    pub format: &'static str,
    /// 1.
    pub version: u32,
    pub kind: PageKind,
    pub title: Cell,
    pub subtitle: Cell,
    pub facts: Vec<(String, Cell)>,
    pub remarks: Vec<PageRemark>,
    /// The result of a run, shown first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overview: Option<Overview>,
    /// One for each program or part.
    pub plots: Vec<Plot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<PageTimeline>,
    /// Of noise one for each grain, of a study for each way to measure, of benchmarks, comparisons and gates for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PagePart>,
    /// Tables of the whole page.
    pub tables: Vec<Table>,
    pub foot: Cell,
}

/// What a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    Run,
    Profile,
    Trace,
    /// A measurement of noise.
    Noise,
    Study,
    Bench,
    /// Programs of stored runs against each other.
    Comparison,
    /// Two builds against each other.
    Gate,
    /// How a time grows with a size.
    Growth,
    /// What was found of a machine itself.
    Machine,
    History,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageRemark {
    /// A warning; otherwise information.
    pub warning: bool,
    pub text: Cell,
}

/// The result of a run at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// The result in sentences.
    pub answers: Vec<Cell>,
    /// What the estimates are, and how the ratios were made.
    pub note: Cell,
    /// Heading of the first column: what a row is.
    pub what: &'static str,
    /// Heading of the estimates, e.g. `CPU time`.
    pub measure: &'static str,
    /// Whether programs are compared.
    pub compared: bool,
    /// A program each, the fastest first; of a single program a measure each.
    pub rows: Vec<OverviewRow>,
    /// Gross = net + tare, in the order of `rows`, of the programs that have an account.
    pub accounts: Vec<AccountBar>,
    /// Of programs that ran together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duets: Option<PageDuets>,
}

/// What duets say of each pair of programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageDuets {
    /// How to read it.
    pub note: Cell,
    /// A row for each pair.
    pub table: Table,
    /// Of each pair that has duets, its ratios in the order of the blocks.
    pub figures: Vec<PageFigure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverviewRow {
    /// What it is of.
    pub title: Cell,
    /// Id of the program's plot.
    pub plot: String,
    /// Mean with its 95% interval, ns.
    pub mean: Option<Figure>,
    /// Time of the program divided by that of the reference, with its 95% interval.
    pub ratio: Option<Figure>,
    /// The same of executions alone, where `ratio` is that of duets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Figure>,
    /// What `ratio` rests on, e.g. `12 duets`; empty without one.
    pub basis: Cell,
    /// Largest ratio that is accepted; a line of the plot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    pub verdict: Option<OverviewVerdict>,
    /// Samples retained and discarded, or why there is no time.
    pub samples: Cell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OverviewVerdict {
    /// The whole interval lies below 1.
    Faster,
    /// The whole interval lies above 1.
    Slower,
    /// The whole interval lies within the margin of practical equality.
    Same,
    Undecided,
    /// The others are compared with it.
    Reference,
    /// The reference once more.
    Control,
    /// Of a gate: slower by less than the threshold.
    Pass,
    /// Of a gate: slower.
    Regression,
    /// Of a gate: faster.
    Improvement,
    /// Of a gate: none of these could be shown.
    Inconclusive,
    /// Of a gate: not measured.
    Failed,
}

/// Where a program's elapsed time went, on average.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccountBar {
    pub title: String,
    /// Id of its plot.
    pub plot: String,
    /// Mean elapsed time, ns.
    pub gross: f64,
    /// `gross = net + tare`, as it is read.
    pub text: String,
    /// They add up to `gross`; in the same order in every bar.
    pub parts: Vec<AccountPart>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccountPart {
    /// Names its colour and pattern: the same in every bar.
    pub kind: &'static str,
    pub title: &'static str,
    /// ns.
    pub time: f64,
    /// The time and its share as they are read.
    pub text: String,
}

/// The samples of one program or part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// Unique in the page.
    pub id: String,
    pub title: String,
    pub note: String,
    /// The first is shown first.
    pub measures: Vec<PageMeasure>,
    pub samples: Samples,
    /// Or why there is none.
    pub dual: DualOrWhy,
    pub tables: Vec<Table>,
    /// Of programs beside which probes ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<PageQuiet>,
}

/// The time of a program on the quiet machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageQuiet {
    /// The corrected time, or why there is none.
    pub answer: String,
    /// How it was found.
    pub note: String,
    /// What the correction is for; empty without one.
    pub parts: Vec<PageQuietPart>,
    /// What makes it doubtful.
    pub doubts: Vec<String>,
    /// The samples, and what the probes saw; bounded, however many there are.
    pub figures: Vec<PageFigure>,
    pub tables: Vec<Table>,
}

/// What a cause takes from a program's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageQuietPart {
    pub title: &'static str,
    /// Of the uncorrected time; negative if the time became shorter.
    pub share: f64,
    /// As it is read.
    pub text: String,
}

/// A measure of every sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageMeasure {
    /// `et`, `pt`, `net`.
    pub id: &'static str,
    pub title: &'static str,
    /// ns, by sample.
    pub values: Vec<Option<i64>>,
    pub bins: u32,
    /// In the sequence plot.
    pub lines: Vec<PageLine>,
    /// Places in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PagePlace>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageLine {
    pub title: String,
    /// ns; of a sloping line at the first sample.
    pub value: f64,
    /// At the last sample, if it is a sloping line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<f64>,
}

/// Something that begins with a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PagePlace {
    pub title: String,
    /// Number of the sample, from 1.
    pub number: u32,
}

/// A class of samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    pub title: String,
    /// How it is coloured.
    pub role: PageRole,
    pub symbol: Symbol,
}

/// How a class counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageRole {
    /// Retained; in the central cluster.
    Good,
    /// Discarded by a cutoff; an L-sample.
    Spoiled,
    /// Drift of the machine; discarded by standard deviations.
    Drift,
    /// Counts for some measures only; without a partner.
    Other,
    Failed,
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Symbol {
    Circle,
    Triangle,
    Diamond,
    Cross,
    Square,
    /// A circle's line.
    Ring,
    Plus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Samples {
    /// From 1.
    pub number: Vec<u32>,
    /// Milliseconds since 1970.
    pub start: Vec<f64>,
    pub classes: Vec<Class>,
    pub class: Vec<usize>,
    pub reasons: Vec<String>,
    /// By sample; -1 for none.
    pub reason: Vec<i64>,
    pub daemons: Vec<String>,
    /// By sample: name, ns, name, ns, …
    pub executions: Vec<Option<Vec<i64>>>,
    /// If any sample has one.
    pub account: Option<PageAccount>,
}

/// Gross = net + tare, by sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageAccount {
    pub entries: Vec<PageEntry>,
    /// By entry, by sample, ns.
    pub values: Vec<Vec<Option<i64>>>,
    /// Positions of the samples that means are over: those retained for ET.
    pub retained: Vec<usize>,
}

/// An entry of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageEntry {
    pub title: &'static str,
    /// `net` or `tare`.
    pub role: &'static str,
}

/// The dual-execution scatter plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DualOrWhy {
    Dual(PageDual),
    Why(String),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageDual {
    /// Id of the measure that is drawn.
    pub measure: &'static str,
    /// Positions of odd halves.
    pub odd: Vec<usize>,
    /// Positions of even halves.
    pub even: Vec<usize>,
    pub level: Vec<u32>,
    /// From everything to the cluster.
    pub levels: Vec<PageLevel>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageLevel {
    pub title: String,
    pub members: u32,
    /// ns.
    pub x: (i64, i64),
    /// ns.
    pub y: (i64, i64),
}

/// When a process had its CPU, by column. Times are ns from the beginning of the trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageTimeline {
    /// To the last reading.
    pub length: f64,
    /// What inactive periods were.
    pub causes: Vec<PageCause>,
    /// Beginnings of inactive periods.
    pub start: Vec<f64>,
    pub duration: Vec<f64>,
    pub cause: Vec<usize>,
    /// What each was, in words, where its cause does not say all.
    pub words: Vec<Option<String>>,
    pub ticks: Vec<f64>,
    /// Recorded kernel events, if any.
    pub events: Option<Events>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageCause {
    pub title: Cell,
    /// How it is drawn.
    pub class: GapClass,
    pub gaps: u32,
    /// Their time, ns.
    pub time: f64,
    pub share: Option<f64>,
}

/// Recorded kernel events, by column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Events {
    pub what: Vec<EventKind>,
    /// By event: which of these.
    pub kind: Vec<usize>,
    pub start: Vec<f64>,
    pub end: Vec<f64>,
}

/// What had the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventKind {
    pub title: String,
    /// How it is drawn.
    pub class: GapClass,
}

/// How an inactive period is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapClass {
    /// The timer's interrupt.
    Timer,
    Interrupt,
    Softirq,
    Task,
    /// The CPU was idle.
    Idle,
    /// No event was recorded.
    NoEvent,
    /// Its cause is unknown.
    Unknown,
}

/// Figures and tables that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PagePart {
    /// Unique in the page.
    pub id: String,
    pub title: Cell,
    pub note: Cell,
    /// One after the other.
    pub figures: Vec<PageFigure>,
    pub tables: Vec<Table>,
}

/// Curves over two axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageFigure {
    /// Unique in the page, of letters, digits and dashes.
    pub id: String,
    pub title: String,
    /// How to read it.
    pub note: String,
    pub x: PageAxis,
    pub y: PageAxis,
    /// At least one curve.
    pub curves: Vec<PageCurve>,
}

impl PageFigure {
    /// Whether there is anything to draw.
    pub fn has_points(&self) -> bool {
        self.curves.iter().any(|curve| !curve.x.is_empty())
    }

    /// Without the hidden characters that names in its texts may have.
    pub(crate) fn escaped(mut self) -> PageFigure {
        let titles = self.curves.iter_mut().map(|curve| &mut curve.title);
        let texts = [&mut self.title, &mut self.note, &mut self.x.title, &mut self.y.title];
        for text in texts.into_iter().chain(titles) {
            *text = escape(text).into_owned();
        }
        self
    }
}

/// An axis of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageAxis {
    pub title: String,
    /// What its values are.
    pub quantity: PageQuantity,
    /// How the values are spread; the first is shown first.
    pub scales: Vec<PageScale>,
    /// On a scale that is not linear, the smallest value that is distinguished, and the smallest distance of a share from 1:
    /// values beyond are drawn there.
    pub floor: Option<f64>,
    /// The range that is shown first; `None`: all.
    pub shown: Option<(f64, f64)>,
}

impl PageAxis {
    /// Evenly spread values, all of them.
    pub fn linear(title: &str, quantity: PageQuantity) -> PageAxis {
        PageAxis { title: title.to_owned(), quantity, scales: vec![PageScale::Linear], floor: None, shown: None }
    }

    /// On scales that the reader chooses from.
    pub fn scaled(title: &str, quantity: PageQuantity, scales: &[PageScale]) -> PageAxis {
        PageAxis { scales: scales.to_vec(), ..PageAxis::linear(title, quantity) }
    }

    /// Whole numbers, evenly spread.
    pub fn counts(title: &str) -> PageAxis {
        PageAxis::linear(title, PageQuantity::Count)
    }

    pub fn ratios(title: &str) -> PageAxis {
        PageAxis::linear(title, PageQuantity::Ratio)
    }
}

/// What values of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageQuantity {
    /// ns.
    Time,
    Count,
    /// From 0 to 1.
    Share,
    Ratio,
}

/// How values are spread on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageScale {
    Linear,
    Log,
    /// By the logarithms of their odds: shares near 0 as on a logarithmic scale, and those near 1 as their complements are.
    Logit,
}

/// A curve, by column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageCurve {
    pub title: String,
    /// Colour and pattern; curves with the same are hidden together.
    pub look: usize,
    /// Thin: an approximation of another one.
    pub thin: bool,
    /// What is between its points.
    pub join: Join,
    pub x: Vec<f64>,
    /// As many values as `x` has.
    pub y: Vec<f64>,
    /// Intervals of `y`.
    pub band: Option<Band>,
}

/// What is between two points of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    Straight,
    /// The value of the point before.
    Before,
    /// The value of the point after.
    After,
    Points,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    pub title: &'static str,
    /// Lower bounds; `None` where there is no interval.
    pub low: Vec<Option<f64>>,
    /// Upper bounds; `None` where there is none.
    pub high: Vec<Option<f64>>,
}
