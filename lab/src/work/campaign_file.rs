//! The file of a campaign, in TOML.
//!
//! ```toml
//! name = "compressors"            # [default: the file's name]
//! samples = 20                    # as --runs of `tare run`
//! order = "random"                # as --order
//! options = ["--discard", "papers"]
//! time-limit = "1h"               # of one task
//! retries = 2                     # of a task that failed [default: 3]
//! tags = { project = "x" }
//! require = ["v3"]
//! tune = false
//!
//! [[program]]                     # or suite = "FILE", a file of `tare gate`
//! command = "gzip -6 -k -c {file}"
//! label = "gzip"
//!
//! [parameters]
//! file = ["a.txt", "b.txt"]
//!
//! [machines]                      # [default: any one machine]
//! names = ["node1"]               # or tags = { rack = "1" }, count = 3, all = true
//!
//! [repeat]
//! times = 10                      # with every = "1d", at = "02:00" (each night), or within = "7d" and seed = 1
//!
//! [needs]
//! files = ["/data/b.txt", { path = "/data/a.tar", sha256 = "…" }]
//! build = "make -C /src"
//! directory = "/shared/work"
//! ```

use crate::data::campaign::{Campaign, CampaignNeeds, CampaignProgram, CampaignRepeat, MachineChoice, NeededFile};
use crate::work::campaign_suite;
use crate::work::campaign_values::{clock_time, texts, time};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tarebench::written::{BadWritten, WrittenFileError, read_text};
use tarebench_core::base::units::Nanos;
use toml::{Spanned, Value};

/// Most programs, before parameters are replaced.
const MOST_PROGRAMS: usize = 10_000;
/// How often a task that failed is started again, where the file says nothing: a machine that is switched off takes
/// an attempt.
const RETRIES: u32 = 3;
/// What `order` may be, as of `tare run`.
const ORDERS: [&str; 5] = ["auto", "duet", "rounds", "random", "sequential"];

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CampaignDocument {
    name: Option<Spanned<String>>,
    samples: Option<Spanned<i64>>,
    order: Option<Spanned<String>>,
    #[serde(default)]
    options: Vec<String>,
    time_limit: Option<Spanned<Value>>,
    retries: Option<Spanned<i64>>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    require: Vec<String>,
    #[serde(default)]
    tune: bool,
    suite: Option<Spanned<String>>,
    #[serde(default)]
    program: Vec<CampaignProgramTable>,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<Vec<Value>>>,
    machines: Option<Spanned<MachinesTable>>,
    repeat: Option<Spanned<RepeatTable>>,
    needs: Option<NeedsTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CampaignProgramTable {
    command: Spanned<String>,
    label: Option<String>,
    setup: Option<String>,
    prepare: Option<String>,
    conclude: Option<String>,
    cleanup: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct MachinesTable {
    names: Option<Vec<String>>,
    tags: Option<BTreeMap<String, String>>,
    count: Option<Spanned<i64>>,
    all: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RepeatTable {
    times: Option<Spanned<i64>>,
    every: Option<Spanned<Value>>,
    at: Option<Spanned<String>>,
    within: Option<Spanned<Value>>,
    seed: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NeedsTable {
    #[serde(default)]
    files: Vec<Spanned<NeededFileEntry>>,
    build: Option<String>,
    directory: Option<Spanned<String>>,
}

/// A path, or a path and its digest.
#[derive(Deserialize)]
#[serde(untagged)]
enum NeededFileEntry {
    Path(String),
    File(NeededFileTable),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NeededFileTable {
    path: String,
    sha256: Option<String>,
}

/// Reads a file; returns its campaign and its text.
///
/// # Errors
/// [`WrittenFileError`] with the place.
pub fn read(file: &Path) -> Result<(Campaign, String), WrittenFileError> {
    let text = read_text(file)?;
    let campaign = parse(&text, file)?;
    Ok((campaign, text))
}

/// Reads the text of a file; a suite is looked for in the file's folder.
///
/// # Errors
/// [`WrittenFileError`] with the place.
pub fn parse(text: &str, file: &Path) -> Result<Campaign, WrittenFileError> {
    let document: CampaignDocument = toml::from_str(text).map_err(|e| BadWritten::of_toml(&e).within(file, text))?;
    let (suite_options, suite) = match &document.suite {
        Some(suite) => {
            let folder = file.parent().unwrap_or(Path::new("."));
            campaign_suite::read(&folder.join(suite.get_ref()))?
        }
        None => (Vec::new(), Vec::new()),
    };
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    campaign(document, suite_options, suite, &stem).map_err(|e| e.within(file, text))
}

fn campaign(
    document: CampaignDocument,
    suite_options: Vec<String>,
    suite: Vec<CampaignProgram>,
    stem: &str,
) -> Result<Campaign, BadWritten> {
    let options = options(&document, suite_options)?;
    let programs = programs(document.program, suite)?;
    let name = match document.name {
        Some(name) if name.get_ref().trim().is_empty() => {
            return Err(BadWritten::new(Some(name.span().start), "the name is empty, expected a text"));
        }
        Some(name) => name.into_inner(),
        None => stem.to_owned(),
    };
    let parameters = document.parameters.into_iter().map(|(name, values)| {
        let values = texts(&name, values)?;
        Ok((name, values))
    });
    Ok(Campaign {
        name,
        programs,
        parameters: parameters.collect::<Result<_, BadWritten>>()?,
        options,
        tags: document.tags,
        machines: document.machines.map_or(Ok(MachineChoice::Count(1)), machines)?,
        repeat: document.repeat.map_or(Ok(CampaignRepeat::Once), repeat)?,
        needs: document.needs.map_or(Ok(CampaignNeeds::default()), needs)?,
        time_limit: document.time_limit.map(|t| time("time-limit", t)).transpose()?,
        retries: document.retries.map_or(Ok(RETRIES), |n| number("retries", n, 0, 1_000))?,
    })
}

/// The arguments of `tare run` that the keys stand for, then those that the file gives as they are.
fn options(document: &CampaignDocument, of_suite: Vec<String>) -> Result<Vec<String>, BadWritten> {
    let mut options = of_suite;
    let mut add = |option: &str, value: String| options.extend([option.to_owned(), value]);
    if let Some(samples) = &document.samples {
        add("--runs", number("samples", samples.clone(), 1, 10_000_000)?.to_string());
    }
    if let Some(order) = &document.order {
        let (at, order) = (order.span().start, order.get_ref());
        if !ORDERS.contains(&order.as_str()) {
            let what = format!("the order is `{order}`, expected one of {}", ORDERS.join(", "));
            return Err(BadWritten::new(Some(at), what));
        }
        add("--order", order.clone());
    }
    document.require.iter().for_each(|step| add("--require", step.clone()));
    if document.tune {
        options.push("--tune".to_owned());
    }
    options.extend(document.options.iter().cloned());
    Ok(options)
}

fn programs(
    tables: Vec<CampaignProgramTable>,
    suite: Vec<CampaignProgram>,
) -> Result<Vec<CampaignProgram>, BadWritten> {
    let mut programs = suite;
    for table in tables {
        let CampaignProgramTable { command, label, setup, prepare, conclude, cleanup } = table;
        let (at, command) = (command.span().start, command.into_inner());
        if command.trim().is_empty() {
            let what = "the command is empty, expected a program with its arguments";
            return Err(BadWritten::new(Some(at), what));
        }
        programs.push(CampaignProgram { command, label, setup, prepare, conclude, cleanup });
    }
    if programs.is_empty() {
        let what = "it has no program: begin each with a line [[program]], followed by command = \"…\"";
        return Err(BadWritten::new(None, what));
    }
    if programs.len() > MOST_PROGRAMS {
        let what = format!("it has {} programs, expected at most {MOST_PROGRAMS}", programs.len());
        return Err(BadWritten::new(None, what));
    }
    Ok(programs)
}

fn machines(table: Spanned<MachinesTable>) -> Result<MachineChoice, BadWritten> {
    let at = Some(table.span().start);
    let MachinesTable { names, tags, count, all } = table.into_inner();
    let count = count.map(|n| number("count", n, 1, 100_000)).transpose()?;
    match (names, tags, count, all.unwrap_or(false)) {
        (None, None, None, true) => Ok(MachineChoice::All),
        (Some(names), None, None, false) if !names.is_empty() => Ok(MachineChoice::Names(names)),
        (Some(_), None, None, false) => Err(BadWritten::new(at, "machines.names is empty, expected a name")),
        (None, Some(tags), count, false) if !tags.is_empty() => Ok(MachineChoice::Tags { tags, count }),
        (None, Some(_), _, false) => Err(BadWritten::new(at, "machines.tags is empty, expected a tag")),
        (None, None, Some(count), false) => Ok(MachineChoice::Count(count)),
        (None, None, None, false) => Ok(MachineChoice::Count(1)),
        _ => {
            let what =
                "machines are chosen in two ways: expected names, or tags (with or without count), or count, or all";
            Err(BadWritten::new(at, what))
        }
    }
}

fn repeat(table: Spanned<RepeatTable>) -> Result<CampaignRepeat, BadWritten> {
    let at_table = Some(table.span().start);
    let RepeatTable { times, every, at, within, seed } = table.into_inner();
    let Some(times) = times else {
        return Err(BadWritten::new(at_table, "repeat has no times, expected e.g. times = 10"));
    };
    let times = number("times", times, 1, 100_000)?;
    if let (Some(seed), None) = (&seed, &within) {
        return Err(BadWritten::new(
            Some(seed.span().start),
            "seed is for random times: expected within = \"7d\", too",
        ));
    }
    match (every, at, within) {
        (None, None, None) => Ok(CampaignRepeat::Times { times, every: None }),
        (Some(every), None, None) => Ok(CampaignRepeat::Times { times, every: Some(time("every", every)?) }),
        (None, Some(at), None) => Ok(CampaignRepeat::Nightly { nights: times, at: clock_time(&at)? }),
        (None, None, Some(within)) => {
            let seed = seed.map_or(Ok(1), |s| number("seed", s, 0, u32::MAX))?;
            Ok(CampaignRepeat::AtRandom { times, within: time("within", within)?, seed: u64::from(seed) })
        }
        _ => {
            let what = "the times of repetitions are given in two ways: expected one of every, at and within";
            Err(BadWritten::new(at_table, what))
        }
    }
}

fn needs(table: NeedsTable) -> Result<CampaignNeeds, BadWritten> {
    let NeedsTable { files, build, directory } = table;
    if let Some(folder) = &directory
        && !Path::new(folder.get_ref()).is_absolute()
    {
        let what =
            format!("the directory is `{}`, expected an absolute path: machines share no other", folder.get_ref());
        return Err(BadWritten::new(Some(folder.span().start), what));
    }
    let has_directory = directory.is_some();
    let files = files.into_iter().map(|entry| needed_file(entry, has_directory)).collect::<Result<_, _>>()?;
    Ok(CampaignNeeds { files, build, directory: directory.map(Spanned::into_inner) })
}

fn needed_file(entry: Spanned<NeededFileEntry>, has_directory: bool) -> Result<NeededFile, BadWritten> {
    let at = Some(entry.span().start);
    let (path, sha256) = match entry.into_inner() {
        NeededFileEntry::Path(path) => (path, None),
        NeededFileEntry::File(NeededFileTable { path, sha256 }) => (path, sha256),
    };
    if path.is_empty() || !(has_directory || Path::new(&path).is_absolute()) {
        let what = format!("the file is `{path}`, expected an absolute path, or one below needs.directory");
        return Err(BadWritten::new(at, what));
    }
    let sha256 = sha256.map(|digest| digest.to_ascii_lowercase());
    if let Some(digest) = sha256.as_deref().filter(|d| d.len() != 64 || !d.bytes().all(|b| b.is_ascii_hexdigit())) {
        let what = format!("sha256 is `{digest}`, expected 64 hex digits, as of sha256sum");
        return Err(BadWritten::new(at, what));
    }
    Ok(NeededFile { path, sha256 })
}

/// A whole number between two others.
fn number(key: &str, value: Spanned<i64>, least: u32, most: u32) -> Result<u32, BadWritten> {
    let (at, value) = (value.span().start, value.into_inner());
    let fits = u32::try_from(value).ok().filter(|n| (least..=most).contains(n));
    fits.ok_or_else(|| BadWritten::new(Some(at), format!("{key} is {value}, expected a number from {least} to {most}")))
}

/// A task's time limit as an option of sbatch, in minutes, rounded up.
pub fn minutes(limit: Nanos) -> i64 {
    let minute = 60_000_000_000;
    limit.0.saturating_add(minute - 1) / minute
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Campaign, WrittenFileError> {
        parse(text, Path::new("some/nightly.toml"))
    }

    #[test]
    fn a_campaign_as_it_is_written() {
        let digest = "A".repeat(64);
        let text = format!(
            "
            name = 'compressors'
            samples = 20
            order = 'random'
            options = ['--discard', 'papers']
            time-limit = '1h'
            retries = 2
            tags = {{ project = 'x' }}
            require = ['v3', 'ntp']
            tune = true
            [[program]]
            command = 'gzip -6 -k -c {{file}}'
            label = 'gzip'
            setup = 'make'
            [[program]]
            command = 'xz -0 -k -c {{file}}'
            prepare = 'sync'
            [parameters]
            file = ['a.txt', 'b.txt']
            level = [1, 2.5]
            [machines]
            tags = {{ rack = '1' }}
            count = 3
            [repeat]
            times = 10
            within = '7d'
            seed = 5
            [needs]
            files = ['data/b.txt', {{ path = '/data/a.tar', sha256 = '{digest}' }}]
            build = 'make -C /src'
            directory = '/shared/work'
            "
        );
        let campaign = parsed(&text).unwrap();
        assert_eq!(campaign.name, "compressors");
        let options = [
            "--runs",
            "20",
            "--order",
            "random",
            "--require",
            "v3",
            "--require",
            "ntp",
            "--tune",
            "--discard",
            "papers",
        ];
        assert_eq!(campaign.options, options);
        assert_eq!((campaign.time_limit, campaign.retries), (Some(Nanos(3_600_000_000_000)), 2));
        assert_eq!(campaign.tags["project"], "x");
        let [gzip, xz] = campaign.programs.as_slice() else { panic!("{campaign:?}") };
        assert_eq!((gzip.label.as_deref(), gzip.setup.as_deref()), (Some("gzip"), Some("make")));
        assert_eq!((xz.command.as_str(), xz.prepare.as_deref()), ("xz -0 -k -c {file}", Some("sync")));
        assert_eq!(campaign.parameters["file"], ["a.txt", "b.txt"]);
        assert_eq!(campaign.parameters["level"], ["1", "2.5"]);
        let tags = BTreeMap::from([("rack".to_owned(), "1".to_owned())]);
        assert_eq!(campaign.machines, MachineChoice::Tags { tags, count: Some(3) });
        let week = Nanos(7 * 86_400_000_000_000);
        assert_eq!(campaign.repeat, CampaignRepeat::AtRandom { times: 10, within: week, seed: 5 });
        assert_eq!(campaign.needs.files[1].sha256, Some("a".repeat(64)));
        assert_eq!(campaign.needs.directory.as_deref(), Some("/shared/work"));
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let campaign = parsed("[[program]]\ncommand = 'true'").unwrap();
        assert_eq!((campaign.name.as_str(), campaign.retries), ("nightly", RETRIES));
        assert_eq!((campaign.machines, campaign.repeat), (MachineChoice::Count(1), CampaignRepeat::Once));
        assert!(campaign.options.is_empty() && campaign.time_limit.is_none());
        let repeated =
            |repeat: &str| parsed(&format!("[[program]]\ncommand = 'true'\n[repeat]\n{repeat}")).unwrap().repeat;
        assert_eq!(repeated("times = 2"), CampaignRepeat::Times { times: 2, every: None });
        let day = Nanos(86_400_000_000_000);
        assert_eq!(repeated("times = 2\nevery = '1d'"), CampaignRepeat::Times { times: 2, every: Some(day) });
        assert_eq!(repeated("times = 2\nat = '02:30'"), CampaignRepeat::Nightly { nights: 2, at: (2, 30) });
        let chosen =
            |machines: &str| parsed(&format!("[[program]]\ncommand = 'true'\n[machines]\n{machines}")).unwrap();
        assert_eq!(chosen("all = true").machines, MachineChoice::All);
        assert_eq!(chosen("names = ['a', 'b']").machines, MachineChoice::Names(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(chosen("count = 4").machines, MachineChoice::Count(4));
    }

    /// Each is one sentence, with its line where it has one.
    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let with = |line: &str| format!("[[program]]\ncommand = 'a'\n{line}\n");
        let before = |line: &str| format!("{line}\n[[program]]\ncommand = 'a'\n");
        let cases = [
            (String::new(), None, "it has no program"),
            ("[[program]]\nlabel = 'a'".to_owned(), Some(1), "missing field `command`"),
            ("[[program]]\ncommand = ' '".to_owned(), Some(2), "the command is empty"),
            (with("comand = 'b'"), Some(3), "did you mean `command`?"),
            (before("sample = 3"), Some(1), "unknown field `sample`"),
            (before("sample = 3"), Some(1), "did you mean `samples`?"),
            (before("name = ''"), Some(1), "the name is empty"),
            (before("samples = 0"), Some(1), "samples is 0, expected a number from 1 to 10000000"),
            (before("samples = 'many'"), Some(1), "invalid type"),
            (before("order = 'up'"), Some(1), "the order is `up`, expected one of auto, duet"),
            (before("time-limit = 'soon'"), Some(1), "time-limit is `soon`, expected a time such as"),
            (before("time-limit = -1"), Some(1), "time-limit is `-1`, expected a positive time"),
            (before("retries = -1"), Some(1), "retries is -1"),
            (with("[parameters]\nfile = []"), Some(4), "the parameter `file` has no values"),
            (with("[parameters]\nfile = [true]"), Some(4), "`file` is a list of texts or numbers"),
            (with("[machines]\nnames = []"), Some(3), "machines.names is empty"),
            (with("[machines]\ncount = 0"), Some(4), "count is 0"),
            (with("[machines]\nall = true\ncount = 2"), Some(3), "chosen in two ways"),
            (with("[repeat]\nevery = '1d'"), Some(3), "repeat has no times"),
            (with("[repeat]\ntimes = 2\nevery = '1d'\nat = '02:00'"), Some(3), "given in two ways"),
            (with("[repeat]\ntimes = 2\nat = '25:00'"), Some(5), "at is `25:00`, expected a time of day"),
            (with("[repeat]\ntimes = 2\nseed = 1"), Some(5), "seed is for random times"),
            (with("[needs]\ndirectory = 'work'"), Some(4), "expected an absolute path"),
            (with("[needs]\nfiles = ['a']"), Some(4), "the file is `a`, expected an absolute path"),
            (with("[needs]\nfiles = [{ path = '/a', sha256 = 'ab' }]"), Some(4), "expected 64 hex digits"),
            ("name = 'a\n[[program]]".to_owned(), Some(1), ""),
        ];
        for (text, line, expected) in cases {
            let e = parsed(&text).unwrap_err();
            assert!(e.what.contains(expected), "{text}: {e}");
            assert_eq!(e.place.map(|p| p.0), line, "{text}: {e}");
            assert!(!e.to_string().contains('\n'), "{e}");
        }
        let e = parsed(&before("samples = 0")).unwrap_err().to_string();
        assert_eq!(e, "some/nightly.toml, line 1, column 11: samples is 0, expected a number from 1 to 10000000");
    }

    #[test]
    fn limits_are_rounded_up_to_minutes() {
        assert_eq!([1, 60, 61].map(|s| minutes(Nanos::from_millis(s * 1_000))), [1, 1, 2]);
    }
}
