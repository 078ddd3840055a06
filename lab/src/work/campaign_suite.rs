//! The programs of a campaign from a suite, a file of `tare gate`.

use crate::data::campaign::CampaignProgram;
use std::path::Path;
use tarebench::suite::{Suite, SuiteBenchmark, of_text};
use tarebench::written::{BadWritten, WrittenFileError, read_text};
use tarebench_core::base::units::Nanos;

/// The options that hold for all programs of a suite, and the programs. What only decides about a regression, as thresholds and
/// weights, is not used.
///
/// # Errors
/// [`WrittenFileError`] with the place in the suite.
pub(crate) fn read(file: &Path) -> Result<(Vec<String>, Vec<CampaignProgram>), WrittenFileError> {
    let text = read_text(file)?;
    parse(&text, file)
}

fn parse(text: &str, file: &Path) -> Result<(Vec<String>, Vec<CampaignProgram>), WrittenFileError> {
    let Suite { usual, benchmarks, .. } = of_text(text, file)?;
    let mut options = Vec::new();
    let mut add = |option: &str, value: String| options.extend([option.to_owned(), value]);
    usual.timeout.into_iter().for_each(|time| add("--timeout", as_option(time)));
    let list = |cpus: Vec<u32>| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    usual.cpus.into_iter().for_each(|cpus| add("--cpus", list(cpus)));
    usual.env.into_iter().for_each(|(name, value)| add("--env", format!("{name}={value}")));
    let programs = benchmarks.into_iter().map(program).collect::<Result<_, _>>();
    Ok((options, programs.map_err(|e| e.within(file, text))?))
}

/// A time as `tare run` reads it.
fn as_option(time: Nanos) -> String {
    const SECOND: i64 = 1_000_000_000;
    if time.0 % SECOND == 0 { format!("{}s", time.0 / SECOND) } else { format!("{}ns", time.0) }
}

/// A program. `tare run` times all programs under the same conditions: a benchmark's own ones would be lost.
fn program(benchmark: SuiteBenchmark) -> Result<CampaignProgram, BadWritten> {
    let SuiteBenchmark { name, is_named, command, setup, prepare, conclude, cleanup, own, at, .. } = benchmark;
    let own = [("timeout", own.timeout.is_some()), ("cpus", own.cpus.is_some()), ("env", !own.env.is_empty())];
    if let Some((key, _)) = own.into_iter().find(|(_, has_own)| *has_own) {
        let what =
            format!("a campaign runs all programs under the same conditions: expected {key} above all benchmarks");
        return Err(BadWritten::new(Some(at), what));
    }
    Ok(CampaignProgram { command, label: is_named.then_some(name), setup, prepare, conclude, cleanup })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::campaign_file;

    #[test]
    fn the_programs_of_a_suite_are_those_of_the_campaign() {
        let dir = tempfile::tempdir().unwrap();
        let suite = "base = 'main'\nthreshold = '2%'\ntimeout = '5s'\nenv = { A = '1' }\n[[benchmark]]\nname = 'big'\n\
                     command = './sort big'\nweight = 2\nprepare = 'sync'\n[[benchmark]]\ncommand = './sort small'\n";
        std::fs::write(dir.path().join("gate.toml"), suite).unwrap();
        let file = dir.path().join("campaign.toml");
        let text = "suite = 'gate.toml'\nsamples = 3\n[[program]]\ncommand = 'third'";
        let campaign = campaign_file::parse(text, &file).unwrap();
        let labels: Vec<_> = campaign.programs.iter().map(|p| p.label.as_deref()).collect();
        assert_eq!(labels, [Some("big"), None, None]);
        assert_eq!(campaign.programs[0].prepare.as_deref(), Some("sync"));
        assert_eq!(campaign.options, ["--timeout", "5s", "--env", "A=1", "--runs", "3"]);
    }

    #[test]
    fn what_a_campaign_cannot_keep_of_a_suite_is_refused() {
        let cases = [
            ("", None, "it has no benchmark"),
            ("[[benchmark]]\ncommand = 'a'\nenv = { B = '1' }", Some(2), "expected env above all benchmarks"),
            ("[[benchmark]]\ncommand = 'a'\ntimeout = 3", Some(2), "expected timeout above"),
            ("[[benchmark]]\ncommand = ''", Some(2), "the command is empty"),
        ];
        for (text, line, expected) in cases {
            let e = parse(text, Path::new("gate.toml")).unwrap_err();
            assert!(e.to_string().starts_with("gate.toml") && e.what.contains(expected), "{text}: {e}");
            assert_eq!(e.place.map(|p| p.0), line, "{e}");
        }
        let e = campaign_file::parse("suite = 'none.toml'", Path::new("/nowhere/c.toml")).unwrap_err().to_string();
        assert!(e.starts_with("/nowhere/none.toml: "), "{e}");
    }
}
