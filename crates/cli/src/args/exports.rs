//! Files that results are written to.

use crate::exit::Failure;
use crate::output::print;
use crate::replace::write_text;
use clap::Args;
use std::path::{Path, PathBuf};
use tarebench::core::documents::head::DocumentKind;
use tarebench::core::run::report::data::RunReport;
use tarebench::render::kbest::bench;
use tarebench::render::kit::markup;
use tarebench::render::kit::style::Style;
use tarebench::render::run::{csv, hyperfine, json};
use tarebench::render::{kbest, run};
use tarebench::run::samples::RunSamples;

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
        match self.export_hyperfine {
            Some(_) => Err(Failure::usage("hyperfine's JSON format holds runs of programs, not benchmarks")),
            None => Ok(()),
        }
    }

    /// Writes the requested files for benchmarks: rows are benchmarks, samples are trials.
    pub fn write_bench(&self, shown: &bench::ShownBench<'_>, style: &Style) -> Result<(), Failure> {
        let failed = |e: tarebench::render::kit::error::RenderError| Failure::system(e);
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
                write(f, &kbest::markup::benchmarks(shown.report, style.unit, language))?;
            }
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
                export_markdown: None,
                export_asciidoc: None,
                export_orgmode: None,
                export_hyperfine: None,
            } => Ok(*json),
            _ => Err(Failure::usage(format!("a {} cannot be exported in this format", kind.noun())).hint("use --json")),
        }
    }

    /// Writes the requested files; those that have all samples need them in memory.
    pub fn write(&self, report: &RunReport, samples: &RunSamples<'_>, style: &Style) -> Result<(), Failure> {
        let with_samples = [&self.export_json, &self.export_samples, &self.export_hyperfine];
        let samples = if with_samples.iter().any(|e| e.is_some()) { samples.all()? } else { Vec::new() };
        let (unit, sort) = (style.unit, style.sort);
        let failed = |e: tarebench::render::kit::error::RenderError| Failure::system(e);
        if let Some(f) = &self.export_json {
            write(f, &json::full(report, &samples, &style.hints).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_csv {
            write(f, &csv::series(report).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_samples {
            write(f, &csv::samples(report, &samples).map_err(failed)?)?;
        }
        if let Some(f) = &self.export_markdown {
            write(f, &run::markup::markdown(report, unit, sort))?;
        }
        if let Some(f) = &self.export_asciidoc {
            write(f, &run::markup::asciidoc(report, unit, sort))?;
        }
        if let Some(f) = &self.export_orgmode {
            write(f, &run::markup::orgmode(report, unit, sort))?;
        }
        if let Some(f) = &self.export_hyperfine {
            write(f, &hyperfine::json(report, &samples).map_err(failed)?)?;
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

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if file.as_os_str() == "-" {
        print(text);
        return Ok(());
    }
    write_text(file, text)
}
