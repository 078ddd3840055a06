//! Files that results are written to.

use crate::exit::Failure;
use crate::output::{print, print_pieces};
use crate::replace::{replace, write_text};
use clap::Args;
use std::cell::RefCell;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use tarebench::core::compare::gate::{Gate, GateReport};
use tarebench::core::compare::stored::StoredComparison;
use tarebench::core::compare::stored_report::StoredReport;
use tarebench::core::documents::head::{DocumentHead, DocumentKind};
use tarebench::core::run::report::data::RunReport;
use tarebench::render::compare::{gate, stored};
use tarebench::render::kbest::bench;
use tarebench::render::run::{csv, duet_csv, hyperfine, json};
use tarebench::render::{kbest, run};
use tarebench::report;
use tarebench::report::csv as tables;
use tarebench::report::document;
use tarebench::report::error::SamplesError;
use tarebench::report::markup::Markup;
use tarebench::report::style::Style;
use tarebench::run::samples::RunSamples;
use tarebench::store::StoreError;
use tarebench::sys::clock;

/// Files to write.
#[derive(Args)]
#[command(next_help_heading = "Exports (FILE `-` is standard output)")]
pub struct Exports {
    /// Print the full result, with all samples, as JSON instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write the full result, with all samples, as JSON
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Write one row per program or benchmark, as CSV
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// Write one row per sample or trial, as CSV
    #[arg(long, value_name = "FILE")]
    export_samples: Option<PathBuf>,
    /// Write one row per duet of two programs, as CSV
    #[arg(long, value_name = "FILE")]
    export_duets: Option<PathBuf>,
    /// Write a Markdown table
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
    /// Write an AsciiDoc table
    #[arg(long, value_name = "FILE")]
    export_asciidoc: Option<PathBuf>,
    /// Write an Org-mode table
    #[arg(long, value_name = "FILE")]
    export_orgmode: Option<PathBuf>,
    /// Write hyperfine's JSON format, for scripts made for it
    #[arg(long, value_name = "FILE")]
    export_hyperfine: Option<PathBuf>,
}

impl Exports {
    fn files(&self) -> [&Option<PathBuf>; 8] {
        [
            &self.export_json,
            &self.export_csv,
            &self.export_samples,
            &self.export_duets,
            &self.export_markdown,
            &self.export_asciidoc,
            &self.export_orgmode,
            &self.export_hyperfine,
        ]
    }

    /// Whether anything is to be written.
    pub fn any(&self) -> bool {
        self.json || self.files().into_iter().any(Option::is_some)
    }

    pub fn to_stdout(&self) -> bool {
        self.files().into_iter().flatten().any(|f| f.as_os_str() == "-")
    }

    /// Checks before measuring that the files can be written.
    pub fn check(&self) -> Result<(), Failure> {
        let to_stdout =
            self.files().into_iter().flatten().filter(|f| f.as_os_str() == "-").count() + usize::from(self.json);
        if to_stdout > 1 {
            return Err(Failure::usage("more than one export goes to standard output"));
        }
        let files: Vec<&PathBuf> = self.files().into_iter().flatten().filter(|f| f.as_os_str() != "-").collect();
        for (i, file) in files.iter().enumerate() {
            if files.get(..i).unwrap_or_default().iter().any(|f| is_same(f, file)) {
                return Err(Failure::usage(format!("two exports go to one file: {}", file.display()))
                    .hint("each would overwrite the other: give each export its own file"));
            }
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
            opened.map_err(|e| Failure::usage(format!("export file {}: {e}", file.display())))?;
        }
        Ok(())
    }

    pub fn check_bench(&self) -> Result<(), Failure> {
        match (&self.export_hyperfine, &self.export_duets) {
            (Some(_), _) => Err(Failure::usage("hyperfine's JSON format holds runs of programs, not benchmarks")),
            (_, Some(_)) => Err(Failure::usage("benchmarks have no duets: --export-duets is for runs of programs")),
            (None, None) => Ok(()),
        }
    }

    /// Writes the requested files for benchmarks: rows are benchmarks, samples are trials.
    pub fn write_bench(&self, shown: &bench::ShownBench<'_>, style: &Style) -> Result<(), Failure> {
        let failed = |e: tarebench::report::error::RenderError| Failure::system(e);
        if let Some(f) = &self.export_json {
            write(f, &bench::json(shown).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_csv {
            write(f, &report::csv::table(&kbest::sheet::table(shown.report)).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_samples {
            write(f, &bench::trials(shown.bench).map_err(failed)?)?;
        }
        for (file, language) in [
            (&self.export_markdown, Markup::Markdown),
            (&self.export_asciidoc, Markup::Asciidoc),
            (&self.export_orgmode, Markup::Org),
        ] {
            if let Some(f) = file {
                write(f, &document::table(&kbest::sheet::table(shown.report), language, style.unit))?;
            }
        }
        Ok(())
    }

    /// Refuses exports that a comparison of stored runs or a gate does not have.
    pub fn check_kind(&self, kind: DocumentKind) -> Result<(), Failure> {
        let of_runs = [&self.export_samples, &self.export_duets, &self.export_hyperfine];
        let of_tables = [&self.export_csv, &self.export_asciidoc, &self.export_orgmode];
        let more: &[&Option<PathBuf>] = if kind == DocumentKind::Gate { &of_tables } else { &[] };
        if of_runs.iter().chain(more).any(|file| file.is_some()) {
            return Err(Failure::usage(format!("a {} cannot be exported in this format", kind.noun()))
                .hint("use --json or --export-markdown"));
        }
        Ok(())
    }

    /// Writes the requested files for a comparison of stored runs.
    pub fn write_comparison(
        &self,
        head: &DocumentHead,
        comparison: &StoredComparison,
        report: &StoredReport,
    ) -> Result<(), Failure> {
        let failed = |e: tarebench::report::error::RenderError| Failure::system(e);
        if let Some(f) = &self.export_json {
            write(f, &stored::json::json(head, comparison, report).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_csv {
            write(f, &tables::table(&stored::tables::exported(comparison, report)).map_err(failed)?)?;
        }
        for (file, language) in [
            (&self.export_markdown, Markup::Markdown),
            (&self.export_asciidoc, Markup::Asciidoc),
            (&self.export_orgmode, Markup::Org),
        ] {
            if let Some(f) = file {
                write(f, &document::table(&stored::tables::ratios(comparison, report), language, None))?;
            }
        }
        Ok(())
    }

    /// Writes the requested files for a gate.
    pub fn write_gate(&self, head: &DocumentHead, gate: &Gate, report: &GateReport) -> Result<(), Failure> {
        if let Some(f) = &self.export_json {
            write(f, &gate::json::json(head, gate, report).map_err(Failure::system)?)?;
        }
        if let Some(f) = &self.export_markdown {
            let sheet = gate::sheet::gate(head, gate, report, &clock::zone(), String::new());
            write(f, &document::document(&sheet))?;
        }
        Ok(())
    }

    /// Whether `--json` is given; an error for exports that this kind of document does not have.
    pub fn json_only(&self, kind: DocumentKind) -> Result<bool, Failure> {
        match self {
            Exports {
                json,
                export_json: None,
                export_csv: None,
                export_samples: None,
                export_duets: None,
                export_markdown: None,
                export_asciidoc: None,
                export_orgmode: None,
                export_hyperfine: None,
            } => Ok(*json),
            _ => Err(Failure::usage(format!("a {} cannot be exported in this format", kind.noun())).hint("use --json")),
        }
    }

    /// Writes the requested files.
    pub fn write(&self, report: &RunReport, samples: &RunSamples<'_>, style: &Style) -> Result<(), Failure> {
        let (unit, sort) = (style.unit, style.sort);
        let failed = |e: tarebench::report::error::RenderError| Failure::system(e);
        if let Some(f) = &self.export_json {
            write_samples(f, &|out| json::write_full(out, report, samples, &style.hints))?;
        }
        if let Some(f) = &self.export_csv {
            write(f, &csv::series(report).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_samples {
            write_samples(f, &|out| csv::write_samples(out, report, samples))?;
        }
        if let Some(f) = &self.export_duets {
            write_samples(f, &|out| duet_csv::write_duets(out, report, samples))?;
        }
        if let Some(f) = &self.export_markdown {
            write(f, &run::markup::markup(report, Markup::Markdown, unit, sort))?;
        }
        if let Some(f) = &self.export_asciidoc {
            write(f, &run::markup::markup(report, Markup::Asciidoc, unit, sort))?;
        }
        if let Some(f) = &self.export_orgmode {
            write(f, &run::markup::markup(report, Markup::Org, unit, sort))?;
        }
        if let Some(f) = &self.export_hyperfine {
            write_samples(f, &|out| hyperfine::write(out, report, samples))?;
        }
        Ok(())
    }
}

/// Whether both names are of the same file; the first one exists.
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let regular = |path: &Path| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| (m.dev(), m.ino()));
    a == b || regular(a).is_some_and(|of_a| regular(b) == Some(of_a))
}

/// Content with all samples of a run, which are never all in memory.
type SamplesContent<'a> = &'a dyn Fn(&mut dyn Write) -> Result<(), SamplesError<StoreError>>;

/// Writes it to a file; `-` is standard output.
pub fn write_samples(file: &Path, content: SamplesContent<'_>) -> Result<(), Failure> {
    let unread = RefCell::new(None);
    let write = |out: &mut dyn Write| {
        content(out).map_err(|e| match e {
            SamplesError::Unwritten(e) => io::Error::from(e),
            SamplesError::Unread(e) => {
                *unread.borrow_mut() = Some(e);
                io::Error::other("the samples could not be read")
            }
        })
    };
    let written = if file.as_os_str() == "-" {
        // Only the reason why they could not be read is reported.
        print_pieces(|out| write(out).or_else(|e| if unread.borrow().is_some() { Ok(()) } else { Err(e) }));
        Ok(())
    } else {
        replace(file, &write)
    };
    match unread.take() {
        Some(e) => Err(e.into()),
        None => written.map_err(|e| Failure::system(format!("write {}: {e}", file.display()))),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if file.as_os_str() == "-" {
        print(text);
        return Ok(());
    }
    write_text(file, text)
}
