//! `tare study compare`: studies of CS:APP of several machines or kernels beside each other.

use crate::commands::stored::{StudyOutput, load};
use crate::data::cells::StudyPlan;
use crate::data::compared::compared;
use crate::data::report::StudyReport;
use crate::measure::run::Studied;
use crate::measure::stored::StoredStudy;
use crate::sheets::compared::sheet;
use crate::sheets::outputs::{csv_files, study_text};
use clap::Args;
use tarebench::core::documents::head::{DocumentHead, Id};
use tarebench::report::json;
use tarebench::report::sheet::Sheet;
use tarebench::report::svg::figures::figures;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::files::write_files;
use tarebench_cli::output::print;

/// Studies to compare.
#[derive(Args)]
pub struct StudyCompareArgs {
    /// Numbers of studies of one kind, e.g. s3 s5; `tare import` brings those of other machines
    #[arg(value_name = "STUDY", required = true, num_args = 2..)]
    studies: Vec<String>,
    #[command(flatten)]
    output: StudyOutput,
}

pub fn compare(args: &StudyCompareArgs) -> Result<Exit, Failure> {
    let show = args.output.show()?;
    let store = args.output.store.readable()?;
    let mut all: Vec<(Studied, StudyReport)> = Vec::new();
    for text in &args.studies {
        let hint = "`tare list --kind study` shows the stored studies";
        let id: Id = text.parse().map_err(|e| Failure::usage(format!("{e}")).hint(hint))?;
        match load(&*store, id)? {
            StoredStudy::Cells(found) => {
                let report = found.report();
                all.push((*found, report));
            }
            StoredStudy::Samples(_) => {
                return Err(Failure::usage(format!(
                    "{id} is not a study of CS:APP, expected kbest or interval-counting"
                ))
                .hint(format!("compare samples of several machines with: `tare study scaling --from {id},…`")));
            }
        }
    }
    let studies: Vec<(&StudyPlan, &StudyReport)> = all.iter().map(|(found, report)| (&found.plan, report)).collect();
    let heads: Vec<&DocumentHead> = all.iter().map(|(found, _)| &found.head).collect();
    let found = compared(&studies)
        .map_err(|e| Failure::usage(format!("the studies cannot be compared: {e}")).hint("name studies of one kind"))?;
    let title = format!("Studies {}: {}", args.studies.join(", "), found.study.name());
    let sheet = Sheet { title: title.into(), ..sheet(&found, &heads) };
    let files = &args.output.files;
    if files.json {
        print(&(json::pretty(&found).map_err(Failure::system)? + "\n"));
    } else if !show.is_quiet() {
        print(&study_text(&sheet, &show.style));
    }
    if let Some(folder) = &files.svg {
        let page = sheet.clone().into_page();
        write_files(folder, &figures(&page).map_err(Failure::system)?, "figure")?;
    }
    if let Some(folder) = &files.csv {
        write_files(folder, &csv_files(&sheet.sections).map_err(Failure::system)?, "table")?;
    }
    Ok(Exit::Done)
}
