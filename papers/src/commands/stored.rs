//! Stored studies of either kind: printed, and written as figures, tables and a page.

use crate::data::series::StudyGap;
use crate::measure::error::StudyError;
use crate::measure::samples::SampleStudied;
use crate::measure::stored;
use crate::measure::stored::StoredStudy;
use crate::sheets::cells::{cells_json, cells_sheet};
use crate::sheets::outputs::{csv_files, study_page, study_text};
use crate::sheets::published::{published_section, published_tables};
use crate::sheets::view::{StudyView, study_json};
use clap::Args;
use std::path::PathBuf;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::report::sheet::Sheet;
use tarebench::report::svg::figures::figures;
use tarebench::report::table::Table;
use tarebench::report::web::html;
use tarebench::report::web::page::Page;
use tarebench::store::{DocumentFilter, Store};
use tarebench::sys::clock;
use tarebench_cli::args::store::StoreArgs;
use tarebench_cli::args::style::{PlainStyleArgs, Show};
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::files::write_files;
use tarebench_cli::output;
use tarebench_cli::output::print;
use tarebench_cli::replace::write_text;

/// How a study is shown, and where it is stored.
#[derive(Args)]
pub struct StudyOutput {
    #[command(flatten)]
    pub files: StudyFiles,
    #[command(flatten)]
    pub style: PlainStyleArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Forms of the result.
#[derive(Args, Default)]
pub struct StudyFiles {
    /// Print the observations and the tables as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the figures as SVG into this folder
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// Write the tables as CSV into this folder
    #[arg(long, value_name = "FOLDER")]
    pub csv: Option<PathBuf>,
    /// Also print the papers' values, with their source
    #[arg(long)]
    published: bool,
}

impl StudyFiles {
    /// Standard output only.
    pub fn only_json(json: bool) -> StudyFiles {
        StudyFiles { json, ..StudyFiles::default() }
    }
}

impl StudyOutput {
    /// As the options say.
    pub fn show(&self) -> Result<Show, Failure> {
        Ok(self.style.show()?.with_store(self.store.named()))
    }

    /// The same for what is measured, which is in a file, whatever it is pushed to.
    pub fn show_measured(&self) -> Result<Show, Failure> {
        Ok(self.style.show()?.with_store(self.store.named_file()))
    }
}

/// Selects a stored study.
#[derive(Args)]
pub struct StudyChoice {
    /// Number of a study, e.g. s3 [default: the newest]
    #[arg(value_name = "STUDY")]
    id: Option<String>,
}

impl StudyChoice {
    /// The given study, or the newest.
    pub fn resolve(&self, store: &dyn Store) -> Result<Id, Failure> {
        if let Some(text) = &self.id {
            return text
                .parse()
                .map_err(|e| Failure::usage(format!("{e}")).hint("`tare list` shows the stored studies"));
        }
        let filter = DocumentFilter { kind: Some(DocumentKind::Study), limit: Some(1), ..DocumentFilter::default() };
        let newest = store.list(&filter)?;
        let none = || Failure::usage("no study is stored").hint("create one with: `tare study kbest`");
        newest.first().map(|d| d.head.id()).ok_or_else(none)
    }
}

/// Writes the page of a study.
#[derive(Args)]
pub struct StudyPageArgs {
    #[command(flatten)]
    what: StudyChoice,
    /// File to write; `-` is standard output [default: tare-study-STUDY.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// The failure of a study.
pub fn failure(e: StudyError) -> Failure {
    match e {
        StudyError::Cpu { .. } => Failure::usage(e.to_string()),
        StudyError::Document(e) => e.into(),
        StudyError::Session(e) => e.into(),
        StudyError::Tune(e) => e.into(),
        StudyError::Gap { ref gap, .. } => Failure::usage(e.to_string()).hint(cure(gap)),
        StudyError::Imported(_) => {
            Failure::usage(e.to_string()).hint("nothing was run; if you trust the commands above, add --trust-imported")
        }
        StudyError::NotRestored(_) => Failure::system(e).hint("show each value with: `tare restore`"),
        other => Failure::system(other),
    }
}

/// What to do about samples that do not answer a study's question.
fn cure(gap: &StudyGap) -> &'static str {
    match gap {
        StudyGap::NoSamples => "name runs that have successful samples; `tare list` shows them",
        StudyGap::TooFewSamples { .. } => "take more samples with `tare run --runs N`, or leave out the program's run",
        StudyGap::OneCondition { .. } => "name runs under different conditions: --from RUN=CONDITION,RUN=CONDITION",
        StudyGap::NoProcessTime { .. } => {
            "use runs whose samples have process times; `tare show RUN --full` shows why one has none"
        }
        StudyGap::Lacking { .. } => "measure the study without --from, or use runs that recorded this",
    }
}

/// A stored study.
pub fn load(store: &dyn Store, id: Id) -> Result<StoredStudy, Failure> {
    stored::load(store, id).map_err(failure)
}

fn view(found: &SampleStudied) -> StudyView<'_> {
    StudyView {
        head: &found.head,
        plan: &found.plan,
        parts: &found.parts,
        left_out: &found.left_out,
        report: found.report(),
    }
}

/// The sheet of a study, and its command: `study scaling`.
fn sheet(found: &StoredStudy) -> (Sheet, String) {
    let (zone, foot) = (clock::zone(), output::foot());
    match found {
        StoredStudy::Samples(found) => (view(found).sheet(&zone, foot), view(found).command()),
        StoredStudy::Cells(found) => {
            let sheet = cells_sheet(&found.head, &found.plan, &found.report(), &zone, foot);
            (sheet, format!("study {}", found.plan.study.name()))
        }
    }
}

fn json(found: &StoredStudy, published: Vec<Table>) -> Result<String, Failure> {
    let text = match found {
        StoredStudy::Samples(found) => study_json(&view(found), published),
        StoredStudy::Cells(found) => cells_json(&found.head, &found.plan, &found.report(), &found.parts, published),
    };
    text.map_err(Failure::system)
}

/// Prints a study and writes the requested files.
pub fn present(found: &StoredStudy, files: &StudyFiles, show: &Show) -> Result<(), Failure> {
    let (mut sheet, command) = sheet(found);
    if files.json {
        print(&json(found, if files.published { published_tables(&command) } else { Vec::new() })?);
    }
    if let Some(folder) = &files.svg {
        let page = study_page(sheet.clone(), &command);
        write_files(folder, &figures(&page).map_err(Failure::system)?, "figure")?;
    }
    sheet.sections.extend(published_section(&command).filter(|_| files.published));
    if !files.json && !show.is_quiet() {
        print(&study_text(&sheet, &show.style));
    }
    if let Some(folder) = &files.csv {
        write_files(folder, &csv_files(&sheet.sections).map_err(Failure::system)?, "table")?;
    }
    Ok(())
}

/// The page of a study, and its figures as SVG.
pub fn page(found: &StoredStudy) -> Result<(Page, Vec<(String, String)>), Failure> {
    let (sheet, command) = sheet(found);
    let page = study_page(sheet, &command);
    let figures = figures(&page).map_err(Failure::system)?;
    Ok((page, figures))
}

/// `tare study report`.
pub fn write_page(args: &StudyPageArgs) -> Result<Exit, Failure> {
    let store = args.store.readable()?;
    let id = args.what.resolve(&*store)?;
    let (page, _) = page(&load(&*store, id)?)?;
    let text = html::html(&page).map_err(Failure::system)?;
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("tare-study-{id}.html")));
    if file.as_os_str() == "-" {
        print(&text);
        return Ok(Exit::Done);
    }
    write_text(&file, &text)?;
    eprintln!("wrote {}", file.display());
    Ok(Exit::Done)
}
