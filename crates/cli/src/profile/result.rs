//! Shared by the subcommands of `tare profile`.

use crate::args::store::StoreArgs;
use crate::args::style::Show;
use crate::args::style::TableStyleArgs;
use crate::exit::Failure;
use crate::output::named;
use crate::output::print;
use tarebench::core::documents::head::Id;
use tarebench::core::profile::data::Profile;
use tarebench::profile as profiling;
use tarebench::render::profile::sheet;
use tarebench::report::style::Style;
use tarebench::report::terminal::sheet_text;
use tarebench::store::Store;
use tarebench::sys::clock;

/// The default name of this machine's profiles: the host's.
pub fn default_name() -> String {
    let name = tarebench::host::host::describe(std::path::Path::new("/")).name;
    let clean: String = name.chars().filter(|c| !c.is_control() && *c != '@').collect();
    if clean.is_empty() { "machine".to_owned() } else { clean }
}

/// Refuses a name that cannot be distinguished from a version or from a word of `--profile`.
pub fn check_name(name: &str) -> Result<(), Failure> {
    if name.is_empty() || name == "none" || name.contains('@') || name.chars().any(char::is_control) {
        let what = "expected a name without `@` and control characters, other than `none`";
        return Err(Failure::usage(format!("the profile's name is {name:?}: {what}")));
    }
    Ok(())
}

/// Prints a stored profile's tables.
pub fn print_profile(profile: &Profile, show: &Show) -> Result<(), Failure> {
    print_tables(profile, &show.style, show)
}

/// Prints a profile that is not kept: all of it, as it cannot be shown again.
pub fn print_unkept(profile: &Profile, show: &Show) -> Result<(), Failure> {
    print_tables(profile, &Style { full: true, ..show.style.clone() }, show)
}

fn print_tables(profile: &Profile, style: &Style, show: &Show) -> Result<(), Failure> {
    let learned = profiling::learned(profile)?;
    let host = tarebench::host::host::describe(std::path::Path::new("/"));
    let doubts = profile.doubts(clock::realtime(), &host.machine, &host.kernel, host.cpus);
    let more = format!("tare profile show --full{}", named(&profile.label(), show.db_option()));
    let style = Style { more: (!style.full).then_some(more), ..style.clone() };
    let sheet = sheet::profile(profile, &learned, &doubts, &style.hints, &style.zone, String::new());
    print(&sheet_text(&sheet, &style));
    Ok(())
}

/// The profile of a document.
pub fn stored(store: &dyn Store, id: Id) -> Result<Profile, Failure> {
    profiling::load(store, id)?.ok_or_else(|| unfinished(id))
}

/// A profile that is still being learned.
pub fn unfinished(id: Id) -> Failure {
    let hint = format!("resume with: `tare resume {id}`; `tare profile learn` makes a profile from the samples so far");
    Failure::usage(format!("{id} is not finished: there is no profile yet")).hint(hint)
}

/// A profile on standard output: its tables, or JSON with its samples.
pub fn present(profile: &Profile, json: bool, show: &Show) -> Result<(), Failure> {
    if !json {
        return print_profile(profile, show);
    }
    let learned = profiling::learned(profile)?;
    let text = sheet::json(profile, &learned).map_err(Failure::system)?;
    print(&(text + "\n"));
    Ok(())
}

/// How results are shown.
pub fn shown(style: &TableStyleArgs, store: &StoreArgs) -> Result<Show, Failure> {
    Ok(style.show()?.with_store(store.named()))
}
