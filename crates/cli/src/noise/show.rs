//! `tare noise show`: stored measurements, several of them beside each other.

use crate::args::store::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::files::write_files;
use crate::noise::result::{NoiseResultArgs, PublishedNoise, named, print_noise, write};
use crate::noise::undisturbed::UndisturbedArg;
use crate::output::{foot, print};
use crate::stored::say_imported;
use clap::Args;
use std::path::PathBuf;
use tarebench::core::documents::head::{DocumentHead, Id};
use tarebench::core::noise::data::Noise;
use tarebench::core::noise::report::Grain;
use tarebench::noise::measure::{load, reported_over};
use tarebench::render::noise::platform::ShownNoise;
use tarebench::render::noise::{json, several, sheet};
use tarebench::report::svg::figures::figures;
use tarebench::report::terminal::sheet_text;
use tarebench::report::web::html as web;
use tarebench::store::Store;

/// Show stored measurements; several of them with a curve each in one figure
///
/// Curves are labelled by machine, kernel and HZ: for comparing tick rates, kernels and machines (ICS'05, figures 4, 5 and 7).
#[derive(Args)]
#[command(after_help = "Examples:
  tare noise show n1 n2 --html ticks.html
  tare noise show n1 n2 n3 --svg figures
  tare noise show n1 --undisturbed mode --published")]
pub struct NoiseShowArgs {
    /// Numbers of measurements, e.g. n1 n2
    #[arg(value_name = "NOISE", required = true)]
    what: Vec<String>,
    /// Write the figures as SVG into this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    result: NoiseResultArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A measurement with its results.
type LoadedNoise = (DocumentHead, Noise, Vec<Grain>);

pub fn show(args: &NoiseShowArgs) -> Result<Exit, Failure> {
    let asked = &args.result;
    let show = asked.style.show()?;
    let published = PublishedNoise::asked(asked.published)?;
    let store = args.store.readable()?;
    let ids = ids(&*store, &args.what)?;
    let mut all: Vec<LoadedNoise> = Vec::new();
    for id in &ids {
        if !asked.json {
            say_imported(&*store, *id, &show)?;
        }
        all.push(results(&*store, *id, asked)?);
    }
    let shown: Vec<ShownNoise<'_>> =
        all.iter().map(|(head, noise, grains)| ShownNoise { head, noise, grains }).collect();
    match all.as_slice() {
        [(head, noise, grains)] if asked.json || !show.is_quiet() => {
            print_noise(head, noise, grains, asked.json, &show.style)?;
        }
        _ if asked.json => print(&json::several(&shown).map_err(Failure::system)?),
        _ if show.is_quiet() => {}
        _ => print(&sheet_text(&several::sheet(&shown, String::new()), &show.style)),
    }
    if let Some(published) = published.as_ref().filter(|_| !show.is_quiet()) {
        published.print(&show.style);
    }
    if args.svg.is_none() && asked.html.is_none() {
        return Ok(Exit::Done);
    }
    let sheet = match all.as_slice() {
        [(head, noise, grains)] => sheet::noise(head, noise, grains, &tarebench::sys::clock::zone(), foot()),
        _ => several::sheet(&shown, foot()),
    };
    let mut page = sheet.into_page();
    if let Some(published) = &published {
        published.add_to(&mut page);
    }
    if let Some(folder) = &args.svg {
        write_files(folder, &figures(&page).map_err(Failure::system)?, "figure")?;
    }
    if let Some(file) = &asked.html {
        write(file, &web::html(&page).map_err(Failure::system)?)?;
    }
    Ok(Exit::Done)
}

/// The measurements that are meant, in the order given.
fn ids(store: &dyn Store, what: &[String]) -> Result<Vec<Id>, Failure> {
    let mut ids: Vec<Id> = Vec::new();
    for text in what {
        let id = named(store, text)?;
        if ids.contains(&id) {
            return Err(Failure::usage(format!("{id} is named twice")));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn results(store: &dyn Store, id: Id, args: &NoiseResultArgs) -> Result<LoadedNoise, Failure> {
    let (head, noise) = load(store, id)?;
    if args.undisturbed == UndisturbedArg::Calibration && noise.calibration.is_none() {
        let text = format!("--undisturbed calibration: {id} has no calibration, expected minimum or mode");
        return Err(Failure::usage(text));
    }
    let grains = reported_over(&noise, &args.delays, args.undisturbed.rule());
    Ok((head, noise, grains))
}
