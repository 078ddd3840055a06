//! What a gate writes: on the terminal, and into the files that other programs read.

use crate::args::style::Show;
use crate::exit::Failure;
use crate::output::print;
use crate::replace::write_text;
use clap::Args;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use tarebench::compare::gate::MeasuredGate;
use tarebench::core::compare::gate::GateReport;
use tarebench::render::compare::gate::bencher::bencher;
use tarebench::render::compare::gate::custom_smaller::custom_smaller;
use tarebench::render::compare::gate::google_benchmark::{ExportedBuild, google_benchmark};
use tarebench::render::compare::gate::json::json;
use tarebench::render::compare::gate::sheet;
use tarebench::report::document::document;
use tarebench::report::terminal::sheet_text;
use tarebench::sys::clock;

/// Files to write.
#[derive(Args, Default)]
#[command(next_help_heading = "Exports (FILE `-` is standard output)")]
pub struct GateOutputs {
    /// Write a summary in Markdown
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write the full result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write base.json and head.json for Google Benchmark's compare.py into this folder
    #[arg(long, value_name = "FOLDER")]
    google_benchmark: Option<PathBuf>,
    /// Write Bencher Metric Format
    #[arg(long, value_name = "FILE")]
    bmf: Option<PathBuf>,
    /// Write the format customSmallerIsBetter of github-action-benchmark
    #[arg(long, value_name = "FILE")]
    custom_smaller: Option<PathBuf>,
}

impl GateOutputs {
    /// JSON on standard output, or the terminal's text only.
    pub fn only_json(json: bool) -> GateOutputs {
        GateOutputs { json: json.then(|| PathBuf::from("-")), ..GateOutputs::default() }
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.summary, &self.json, &self.bmf, &self.custom_smaller].into_iter().flatten()
    }

    /// Checks before building and measuring that the files can be written.
    pub fn check(&self) -> Result<(), Failure> {
        if self.files().filter(|f| is_standard_output(f)).count() > 1 {
            return Err(Failure::usage("more than one export goes to standard output"));
        }
        let files: Vec<&PathBuf> = self.files().filter(|f| !is_standard_output(f)).collect();
        for (i, file) in files.iter().enumerate() {
            if files.iter().take(i).any(|other| other == file) {
                return Err(Failure::usage(format!("two exports go to one file: {}", file.display()))
                    .hint("each would overwrite the other: give each export its own file"));
            }
            let opened = OpenOptions::new().append(true).create(true).open(file);
            opened.map_err(|e| Failure::usage(format!("export file {}: {e}", file.display())))?;
        }
        match &self.google_benchmark {
            Some(folder) => std::fs::create_dir_all(folder)
                .map_err(|e| Failure::usage(format!("export folder {}: {e}", folder.display()))),
            None => Ok(()),
        }
    }

    /// Prints the result, writes the files, and adds the summary to that of a job of GitHub Actions.
    pub fn write(&self, measured: &MeasuredGate, report: &GateReport, show: &Show) -> Result<(), Failure> {
        let (head, gate) = (&measured.head, &measured.gate);
        let sheet = sheet::gate(head, gate, report, &show.style.zone, String::new());
        if !show.is_quiet() && !self.files().any(|f| is_standard_output(f)) {
            print(&sheet_text(&sheet, &show.style));
        }
        let failed = |e: tarebench::report::error::RenderError| Failure::system(e);
        if let Some(file) = &self.summary {
            write(file, &document(&sheet))?;
        }
        if let Some(file) = &self.json {
            write(file, &json(head, gate, report).map_err(failed)?)?;
        }
        if let Some(file) = &self.bmf {
            write(file, &bencher(gate, report).map_err(failed)?)?;
        }
        if let Some(file) = &self.custom_smaller {
            write(file, &custom_smaller(gate, report).map_err(failed)?)?;
        }
        if let Some(folder) = &self.google_benchmark {
            for (name, build) in [("base.json", ExportedBuild::Base), ("head.json", ExportedBuild::Head)] {
                let text = google_benchmark(head, gate, report, build, &clock::zone()).map_err(failed)?;
                write_text(&folder.join(name), &text)?;
            }
        }
        add_to_job_summary(&document(&sheet));
        Ok(())
    }
}

fn is_standard_output(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if is_standard_output(file) {
        print(text);
        return Ok(());
    }
    write_text(file, text)
}

/// The verdict does not depend on it: that it cannot be written is a warning.
fn add_to_job_summary(text: &str) {
    let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|f| !f.is_empty()) else { return };
    let opened = OpenOptions::new().append(true).create(true).open(&file);
    if let Err(e) = opened.and_then(|mut f| f.write_all(text.as_bytes())) {
        let file = file.to_string_lossy();
        let file = tarebench::report::text::escape(&file);
        eprintln!("tare: warning: the summary could not be added to {file}: {e}");
    }
}
