//! How results are shown: the options, and their defaults, which depend on the terminal.

use crate::args::exports::{Exports, write_samples};
use crate::args::hints::hints;
use crate::args::store::shown_name;
use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;
use tarebench::core::base::reading::Reading;
use tarebench::core::compare::stored::ComparedBy;
use tarebench::core::run::plan::RunPlan;
use tarebench::core::run::report::data::{ComparedNumber, Measure, RunReport};
use tarebench::core::run::report::metrics::NoMetricRatio;
use tarebench::core::sample::counters::Counter;
use tarebench::render::kbest::{bench, sheet};
use tarebench::render::run::json;
use tarebench::render::run::terminal::report as terminal;
use tarebench::report::number::TimeUnit;
use tarebench::report::style::{Sort, Style};
use tarebench::report::terminal::sheet_text;
use tarebench::report::text::escape;
use tarebench::run::samples::RunSamples;
use tarebench::sys::events::EventSet;

/// How results are shown.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct StyleArgs {
    /// Terminal style; `none` prints no result, only errors and exports
    #[arg(long, value_enum, default_value_t = StyleChoice::Auto)]
    style: StyleChoice,
    /// Unit of times in tables [default: chosen for each]
    #[arg(short = 'u', long, value_enum, value_name = "UNIT")]
    time_unit: Option<UnitArg>,
    /// Order of the programs in the comparison
    #[arg(long, value_enum, default_value_t = SortArg::Auto)]
    sort: SortArg,
    /// Compare programs by this measure, by a counter (instructions, cycles, branches, branch-misses, cache-references, cache-misses,
    /// page-faults, context-switches, cpu-migrations, task-clock; of instructions and cycles also :u and :k, in user mode and in the
    /// kernel), or by what they print: metric:NAME, see --metric [default: CPU time, or elapsed time if a program has no CPU time]
    #[arg(long, value_parser = ComparedByParser, value_name = "MEASURE")]
    compare_by: Option<ComparedBy>,
    /// Print everything: statistics, daemons, discards and account of each program, and the conditions of the run
    #[arg(long)]
    full: bool,
    /// Print all entries of the account of where the time went
    #[arg(long)]
    account: bool,
}

/// Style options of a table without a choice of units or order.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct PlainStyleArgs {
    /// Terminal style; `none` prints no result, only errors and exports
    #[arg(long, value_enum, default_value_t = StyleChoice::Auto)]
    style: StyleChoice,
}

impl PlainStyleArgs {
    /// See [`StyleArgs::show`].
    pub fn show(&self) -> Result<Show, Failure> {
        self.with_rows(false)
    }

    fn with_rows(&self, full: bool) -> Result<Show, Failure> {
        StyleArgs { style: self.style, time_unit: None, sort: SortArg::Auto, full, account: false, compare_by: None }
            .show()
    }
}

/// Style options of a comparison of stored runs.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct ComparisonStyleArgs {
    /// Terminal style; `none` prints no result, only errors and exports
    #[arg(long, value_enum, default_value_t = StyleChoice::Auto)]
    style: StyleChoice,
    /// Unit of times in tables [default: chosen for each]
    #[arg(short = 'u', long, value_enum, value_name = "UNIT")]
    time_unit: Option<UnitArg>,
    /// Compare programs by this measure, by a counter (see `tare run --compare-by`), or by what they print: metric:NAME, see `tare
    /// run --metric` [default: CPU time, or elapsed time if a program has no CPU time]
    #[arg(long, value_parser = ComparedByParser, value_name = "MEASURE")]
    compare_by: Option<ComparedBy>,
    /// Print everything: the times of all programs, and the machines
    #[arg(long)]
    full: bool,
}

impl ComparisonStyleArgs {
    /// See [`StyleArgs::show`].
    pub fn show(&self) -> Result<Show, Failure> {
        let ComparisonStyleArgs { style, time_unit, ref compare_by, full } = *self;
        StyleArgs { style, time_unit, sort: SortArg::Auto, full, account: false, compare_by: compare_by.clone() }.show()
    }
}

/// The same for tables that may be long.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct TableStyleArgs {
    #[command(flatten)]
    plain: PlainStyleArgs,
    /// Show all rows of each table
    #[arg(long)]
    full: bool,
}

impl TableStyleArgs {
    /// See [`StyleArgs::show`].
    pub fn show(&self) -> Result<Show, Failure> {
        self.plain.with_rows(self.full)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum MeasureArg {
    /// Elapsed time
    Elapsed,
    /// CPU time of all processes of the program
    Cpu,
    /// CPU time minus interrupt, softirq and steal time charged to the program
    Net,
}

impl MeasureArg {
    fn measure(self) -> Measure {
        match self {
            MeasureArg::Elapsed => Measure::Et,
            MeasureArg::Cpu => Measure::Pt,
            MeasureArg::Net => Measure::Net,
        }
    }
}

/// What introduces the name of a value that programs print.
const METRIC: &str = "metric:";

/// Reads a measure, a counter, or `metric:NAME`.
#[derive(Clone)]
struct ComparedByParser;

impl TypedValueParser for ComparedByParser {
    type Value = ComparedBy;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<ComparedBy, clap::Error> {
        let printed = value.to_str().and_then(|text| text.strip_prefix(METRIC)).filter(|name| !name.is_empty());
        if let Some(name) = printed {
            return Ok(ComparedBy::Printed { metric: name.to_owned() });
        }
        if let Some(counter) = value.to_str().and_then(Counter::named) {
            return Ok(ComparedBy::Counter { counter });
        }
        let measure = EnumValueParser::<MeasureArg>::new().parse_ref(command, arg, value)?;
        Ok(ComparedBy::Time(measure.measure()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let times = MeasureArg::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        Some(Box::new(times.chain(Counter::ALL.into_iter().map(|c| PossibleValue::new(c.name())))))
    }
}

fn time_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Et => "elapsed time",
        Measure::Pt => "CPU time",
        Measure::Net => "net time",
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StyleChoice {
    /// Colour and progress on a terminal, plain text elsewhere
    Auto,
    /// Plain ASCII, no colour, no progress
    Basic,
    /// Colour and progress, terminal or not
    Full,
    /// As auto, without colour
    Nocolor,
    /// As auto, with colour
    Color,
    /// Print no result, only errors and exports
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum UnitArg {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
}

#[derive(Clone, Copy, ValueEnum)]
enum SortArg {
    /// By mean; with parameters, as given
    Auto,
    /// As given
    Command,
    /// By mean
    MeanTime,
}

/// The style that follows from [`StyleArgs`], the environment and the terminal.
pub struct Show {
    /// For the renderers.
    pub style: Style,
    /// Draw progress.
    pub progress: bool,
    /// Style of the output on standard error.
    pub progress_style: Style,
    quiet: bool,
    compare_by: Option<ComparedBy>,
    /// ` --db FILE` for commands that the user may type next, if the store is not the default one.
    db_option: String,
}

/// Width of the terminal; 100 without one.
fn width(of_stdout: bool) -> usize {
    let from_env = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let from_terminal =
        if of_stdout { terminal_size::terminal_size_of(&stdout) } else { terminal_size::terminal_size_of(&stderr) };
    let n: usize = from_env.or(from_terminal.map(|(w, _)| usize::from(w.0))).unwrap_or(100);
    n.clamp(40, 140)
}

impl StyleArgs {
    /// Looks at the terminal and at NO_COLOR, TERM and the locale.
    pub fn show(&self) -> Result<Show, Failure> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let dumb = variable("TERM").is_some_and(|t| t == "dumb");
        let colourless = variable("NO_COLOR").is_some() || dumb;
        let forced = variable("CLICOLOR_FORCE").is_some_and(|v| v != "0");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        // Containers and scripts often have the C locale: only a locale that names another character set means ASCII.
        let utf8 = locale.is_none_or(|l| {
            let l = l.to_string_lossy().to_ascii_lowercase();
            !l.contains('.') || l.contains("utf-8") || l.contains("utf8")
        });
        let (out, err) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        let coloured = |terminal: bool| match self.style {
            StyleChoice::Full | StyleChoice::Color => variable("NO_COLOR").is_none(),
            StyleChoice::Auto => (terminal || forced) && !colourless,
            StyleChoice::Basic | StyleChoice::Nocolor | StyleChoice::None => false,
        };
        let style = |terminal: bool, of_stdout: bool| Style {
            width: width(of_stdout),
            color: coloured(terminal),
            unicode: utf8 && self.style != StyleChoice::Basic,
            full: self.full,
            account: self.account,
            unit: self.time_unit.map(|u| match u {
                UnitArg::Nanosecond => TimeUnit::Nanosecond,
                UnitArg::Microsecond => TimeUnit::Microsecond,
                UnitArg::Millisecond => TimeUnit::Millisecond,
                UnitArg::Second => TimeUnit::Second,
            }),
            sort: match self.sort {
                SortArg::Auto => Sort::Auto,
                SortArg::Command => Sort::Command,
                SortArg::MeanTime => Sort::MeanTime,
            },
            zone: tarebench::sys::clock::zone(),
            more: None,
            hints: hints(""),
        };
        let progress = match self.style {
            StyleChoice::Full => true,
            StyleChoice::Basic | StyleChoice::None => false,
            _ => err && !dumb,
        };
        Ok(Show {
            style: style(out, true),
            progress,
            progress_style: style(err, false),
            quiet: self.style == StyleChoice::None,
            compare_by: self.compare_by.clone(),
            db_option: String::new(),
        })
    }
}

/// ` --db FILE` for a suggested command, if the user named a store.
pub fn db_option(db: Option<&Path>) -> String {
    db.map(|d| format!(" --db {}", shell_words::quote(&shown_name(d)))).unwrap_or_default()
}

/// Lets a run count what its programs are to be compared by.
fn count(counter: Counter, plan: &mut RunPlan) -> Result<(), Failure> {
    let name = counter.name();
    if !plan.account {
        return Err(Failure::usage(format!("--compare-by {name}: with --no-account, nothing is counted")));
    }
    plan.counters = true;
    match EventSet::probe(counter.events()).missing().next() {
        None => Ok(()),
        Some((_, why)) => Err(Failure {
            exit: Exit::Inconclusive,
            message: format!("--compare-by {name}: {why}"),
            hint: Some("cpu, net and elapsed are times, which need no counter".to_owned()),
        }),
    }
}

fn label(report: &RunReport, series: u32) -> String {
    escape(report.series.get(series as usize).map_or("", |s| s.program.label.as_str())).into_owned()
}

/// Compares the programs by what they print or by a counter; where that cannot be, says so.
fn compare_number(report: &mut RunReport, number: ComparedNumber<'_>) {
    let Err(why) = report.compare_by_number(number) else { return };
    let name = match number {
        ComparedNumber::Printed(name) => escape(name),
        ComparedNumber::Counter(counter) => counter.name().into(),
    };
    let (series, why) = match why {
        NoMetricRatio::Absent { series } => (series, not_counted(report, series, number)),
        NoMetricRatio::NotPositive { series } => {
            let why = "one of its values is zero or negative, and such values have no meaningful ratio";
            (series, why.to_owned())
        }
        NoMetricRatio::NoPairs { series } => (series, "in no round both programs have the value".to_owned()),
    };
    eprintln!("tare: `{}` cannot be compared by {name}: {why}", label(report, series));
    eprintln!("      the comparison below is the default one");
}

/// Why no sample has a number.
fn not_counted(report: &RunReport, series: u32, number: ComparedNumber<'_>) -> String {
    let counters = report.series.get(series as usize).map(|s| &s.counters);
    let why = match (number, counters) {
        (ComparedNumber::Counter(_), Some(Reading::Absent(why))) => Some(why),
        (ComparedNumber::Counter(counter), Some(Reading::Value(all))) => {
            all.get(counter).and_then(|c| c.figures.absent())
        }
        _ => None,
    };
    why.map_or_else(|| "no sample of it has the value".to_owned(), ToString::to_string)
}

impl Show {
    /// Suggested commands name this store.
    pub fn with_store(mut self, db: Option<&Path>) -> Show {
        self.db_option = db_option(db);
        self.style.hints = hints(&self.db_option);
        self
    }

    /// For another program, which shows the result itself: only progress, if it wants that, and what it must know is written to
    /// standard error.
    pub fn for_library(self, show_progress: bool) -> Show {
        Show { progress: show_progress, quiet: !show_progress, ..self }
    }

    /// ` --db FILE` for a suggested command, or nothing.
    pub fn db_option(&self) -> &str {
        &self.db_option
    }

    /// Whether only errors are printed.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// What programs are to be compared by, if the user named it.
    pub fn compared_by(&self) -> Option<ComparedBy> {
        self.compare_by.clone()
    }

    /// Refuses a comparison by what no `--metric` of the plan reads, or by a counter that this machine does not have; one that it has
    /// is counted.
    pub fn check_number(&self, plan: &mut RunPlan) -> Result<(), Failure> {
        let metric = match &self.compare_by {
            Some(ComparedBy::Printed { metric }) => metric,
            Some(ComparedBy::Counter { counter }) => return count(*counter, plan),
            Some(ComparedBy::Time(_)) | None => return Ok(()),
        };
        if plan.metrics.iter().any(|m| m.name == *metric) {
            return Ok(());
        }
        let name = escape(metric);
        let message = format!("--compare-by {METRIC}{name}: no --metric has the name `{name}`");
        Err(Failure::usage(message).hint(format!("add --metric '{name}=REGEX'")))
    }

    /// The command that resumes a run.
    pub fn resume_command(&self, id: i64) -> String {
        format!("tare resume {id}{}", self.db_option)
    }

    /// Compares the programs by the requested measure. If two programs cannot be compared by it, reports that on
    /// standard error and keeps the automatic measure.
    pub fn compare(&self, report: &mut RunReport) {
        let measure = match &self.compare_by {
            None => return,
            Some(ComparedBy::Time(measure)) => *measure,
            Some(ComparedBy::Printed { metric }) => return compare_number(report, ComparedNumber::Printed(metric)),
            Some(ComparedBy::Counter { counter }) => return compare_number(report, ComparedNumber::Counter(*counter)),
        };
        let Err(series) = report.compare_by(measure) else { return };
        let label = label(report, series);
        let name = time_name(measure);
        eprintln!("tare: `{label}` cannot be compared by {name}: too few samples of both programs have one");
        eprintln!("      the comparison below is the default one; `tare show --full` reports why {name} is missing");
    }

    /// Prints the report, as the table or as JSON.
    pub fn report(&self, report: &RunReport, samples: &RunSamples<'_>, exports: &Exports) -> Result<(), Failure> {
        if exports.json {
            return write_samples(Path::new("-"), &|out| json::write_full(out, report, samples, &self.style.hints));
        }
        if self.quiet || exports.to_stdout() {
            return Ok(());
        }
        let mut style = self.style.clone();
        style.more = (report.run.id != 0).then(|| format!("tare show {} --full{}", report.run.id, self.db_option));
        print(&terminal::run_report(report, &style));
        Ok(())
    }

    /// The same for benchmarks.
    pub fn bench(&self, shown: &bench::ShownBench<'_>, exports: &Exports) -> Result<(), Failure> {
        exports.check_bench()?;
        if exports.json {
            print(&bench::json(shown).map_err(Failure::system)?);
            return Ok(());
        }
        if self.quiet || exports.to_stdout() {
            return Ok(());
        }
        let mut style = self.style.clone();
        style.more = Some(format!("tare show {} --full{}", shown.head.id(), self.db_option));
        print(&sheet_text(&sheet::bench(shown, &style.zone, String::new()), &style));
        Ok(())
    }
}
