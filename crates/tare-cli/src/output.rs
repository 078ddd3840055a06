//! What the user sees: style of the terminal, reports, exports, errors.

use crate::exit::Failure;
use clap::{Args, ValueEnum};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use tarebench::core::document::Kind;
use tarebench::core::report::RunReport;
use tarebench::core::sample::Sample;
use tarebench::core::units::Nanos;
use tarebench::render::number::Unit;
use tarebench::render::style::{Sort, Style};
use tarebench::render::{bench, csv, hyperfine, json, markup, terminal};

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
    /// Order of the programs in the comparing table
    #[arg(long, value_enum, default_value_t = SortArg::Auto)]
    sort: SortArg,
    /// Leave nothing out: all daemons, all discards, a section for each program
    #[arg(long)]
    full: bool,
    /// All entries of the account of where the time went
    #[arg(long)]
    account: bool,
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
    /// Nothing
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

/// The decisions that [`StyleArgs`], the environment and the terminal lead to.
pub struct Show {
    /// For the renderers.
    pub style: Style,
    /// Draw progress.
    pub progress: bool,
    /// Style of what is drawn on standard error.
    pub progress_style: Style,
    quiet: bool,
    /// ` --db FILE` for commands that the user may type next, if the store is not the default one.
    db_option: String,
}

/// Files to write.
#[derive(Args)]
#[command(next_help_heading = "Exports (FILE `-` is standard output)")]
pub struct Exports {
    /// The full result, with all samples, as JSON on standard output instead of the table
    #[arg(long)]
    json: bool,
    /// The full result, with all samples, as JSON
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// A row for each program or benchmark, as CSV
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// A row for each sample or trial, as CSV
    #[arg(long, value_name = "FILE")]
    export_samples: Option<PathBuf>,
    /// A Markdown table
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
    /// An AsciiDoc table
    #[arg(long, value_name = "FILE")]
    export_asciidoc: Option<PathBuf>,
    /// An Org-mode table
    #[arg(long, value_name = "FILE")]
    export_orgmode: Option<PathBuf>,
    /// Exactly hyperfine's JSON, for scripts made for it
    #[arg(long, value_name = "FILE")]
    export_hyperfine: Option<PathBuf>,
}

/// Width of the terminal; 100 where there is none.
fn width(of_stdout: bool) -> usize {
    let from_env = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let from_terminal =
        if of_stdout { terminal_size::terminal_size_of(&stdout) } else { terminal_size::terminal_size_of(&stderr) };
    let n: usize = from_env.or(from_terminal.map(|(w, _)| usize::from(w.0))).unwrap_or(100);
    n.clamp(40, 120)
}

impl StyleArgs {
    /// Looks at the terminal and at NO_COLOR, TERM and the locale.
    pub fn show(&self) -> Result<Show, Failure> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let dumb = variable("TERM").is_some_and(|t| t == "dumb");
        let colourless = variable("NO_COLOR").is_some() || dumb;
        let forced = variable("CLICOLOR_FORCE").is_some_and(|v| v != "0");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        // The C locale of containers and of scripts is no reason for ASCII; one that names another character set is.
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
                UnitArg::Nanosecond => Unit::Nanosecond,
                UnitArg::Microsecond => Unit::Microsecond,
                UnitArg::Millisecond => Unit::Millisecond,
                UnitArg::Second => Unit::Second,
            }),
            sort: match self.sort {
                SortArg::Auto => Sort::Auto,
                SortArg::Command => Sort::Command,
                SortArg::MeanTime => Sort::MeanTime,
            },
            more: None,
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
            db_option: String::new(),
        })
    }
}

impl Show {
    /// Commands that are suggested name this store.
    pub fn with_store(mut self, db: Option<&Path>) -> Show {
        let name = db.map(|d| format!(" --db {}", shell_words::quote(&d.to_string_lossy())));
        self.db_option = name.unwrap_or_default();
        self
    }

    /// ` --db FILE` for a command that is suggested, or nothing.
    pub fn db_option(&self) -> &str {
        &self.db_option
    }

    /// Whether nothing but errors is to be printed.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The command that goes on with a run.
    pub fn resume_command(&self, id: i64) -> String {
        format!("tare resume {id}{}", self.db_option)
    }

    /// Prints the report, as the table or as JSON.
    pub fn report(&self, report: &RunReport, samples: &[Sample], exports: &Exports) -> Result<(), Failure> {
        if exports.json {
            let text = json::full(report, samples).map_err(Failure::system)?;
            print(&(text.trim_end().to_owned() + "\n"));
            return Ok(());
        }
        if self.quiet || exports.to_stdout() {
            return Ok(());
        }
        let mut style = self.style.clone();
        style.more = (report.run.id != 0).then(|| format!("tare show {} --full{}", report.run.id, self.db_option));
        print(&terminal::run_report(report, &style));
        Ok(())
    }

    /// The same for benchmarks, which began when the text says.
    pub fn bench(&self, shown: &bench::Shown<'_>, created: &str, exports: &Exports) -> Result<(), Failure> {
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
        print(&bench::terminal(shown, created, &style));
        Ok(())
    }
}

impl Exports {
    fn files(&self) -> [&Option<PathBuf>; 7] {
        [
            &self.export_json,
            &self.export_csv,
            &self.export_samples,
            &self.export_markdown,
            &self.export_asciidoc,
            &self.export_orgmode,
            &self.export_hyperfine,
        ]
    }

    fn to_stdout(&self) -> bool {
        self.files().into_iter().flatten().any(|f| f.as_os_str() == "-")
    }

    /// Finds out before measuring whether the files can be written.
    pub fn check(&self) -> Result<(), Failure> {
        let to_stdout =
            self.files().into_iter().flatten().filter(|f| f.as_os_str() == "-").count() + usize::from(self.json);
        if to_stdout > 1 {
            return Err(Failure::usage("more than one export goes to standard output"));
        }
        for file in self.files().into_iter().flatten().filter(|f| f.as_os_str() != "-") {
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
            opened.map_err(|e| Failure::usage(format!("export file {}: {e}", file.display())))?;
        }
        Ok(())
    }

    fn check_bench(&self) -> Result<(), Failure> {
        match self.export_hyperfine {
            Some(_) => Err(Failure::usage("hyperfine's JSON is of runs of programs, not of benchmarks")),
            None => Ok(()),
        }
    }

    /// Writes the files that were asked for of benchmarks: rows are benchmarks, samples are trials.
    pub fn write_bench(&self, shown: &bench::Shown<'_>, show: &Show) -> Result<(), Failure> {
        let failed = |e: tarebench::render::RenderError| Failure::system(e);
        if let Some(f) = &self.export_json {
            write(f, &bench::json(shown).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_csv {
            write(f, &bench::csv(shown.report).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_samples {
            write(f, &bench::trials(shown.bench).map_err(failed)?)?;
        }
        for (file, language) in [
            (&self.export_markdown, markup::Markup::Markdown),
            (&self.export_asciidoc, markup::Markup::Asciidoc),
            (&self.export_orgmode, markup::Markup::Org),
        ] {
            if let Some(f) = file {
                write(f, &markup::benchmarks(shown.report, show.style.unit, language))?;
            }
        }
        Ok(())
    }

    /// Only `--json` serves for such a document: says whether it is wanted.
    pub fn json_only(&self, kind: Kind) -> Result<bool, Failure> {
        match self {
            Exports {
                json,
                export_json: None,
                export_csv: None,
                export_samples: None,
                export_markdown: None,
                export_asciidoc: None,
                export_orgmode: None,
                export_hyperfine: None,
            } => Ok(*json),
            _ => Err(Failure::usage(format!("a {} has no such export", kind.noun())).hint("--json has its figures")),
        }
    }

    /// Writes the files that were asked for.
    pub fn write(&self, report: &RunReport, samples: &[Sample], show: &Show) -> Result<(), Failure> {
        let (unit, sort) = (show.style.unit, show.style.sort);
        let failed = |e: tarebench::render::RenderError| Failure::system(e);
        if let Some(f) = &self.export_json {
            write(f, &json::full(report, samples).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_csv {
            write(f, &csv::series(report).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_samples {
            write(f, &csv::samples(report, samples).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_markdown {
            write(f, &markup::markdown(report, unit, sort))?;
        }
        if let Some(f) = &self.export_asciidoc {
            write(f, &markup::asciidoc(report, unit, sort))?;
        }
        if let Some(f) = &self.export_orgmode {
            write(f, &markup::orgmode(report, unit, sort))?;
        }
        if let Some(f) = &self.export_hyperfine {
            write(f, &hyperfine::json(report, samples).map_err(failed)?)?;
        }
        Ok(())
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if file.as_os_str() == "-" {
        print(text);
        return Ok(());
    }
    std::fs::write(file, text).map_err(|e| Failure::system(format!("write {}: {e}", file.display())))
}

/// Writes to standard output. A reader that has gone away (`tare show | head`) is no error.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a failure: one sentence, and what to do.
pub fn error(failure: &Failure) {
    let clean = |text: &str| tarebench::render::text::shown(text).into_owned();
    eprintln!("tare: {}", clean(&failure.message));
    if let Some(hint) = &failure.hint {
        eprintln!("      {}", clean(hint));
    }
}

/// A time since 1970 as `YYYY-MM-DD HH:MM:SS` in local time.
pub fn local_time(t: Nanos) -> String {
    tarebench::sys::clock::local_time(t)
}
