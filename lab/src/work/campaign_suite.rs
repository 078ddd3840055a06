//! The programs of a campaign from a suite, a file of `tare gate`.

use crate::data::campaign::CampaignProgram;
use crate::work::campaign_error::{BadCampaign, CampaignFileError, read_text};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Spanned, Value};

/// What of the file a campaign uses. What only decides about a regression, as thresholds and weights, is not read.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CampaignSuite {
    timeout: Option<Value>,
    cpus: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    benchmark: Vec<CampaignBenchmark>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CampaignBenchmark {
    name: Option<String>,
    command: Spanned<String>,
    setup: Option<String>,
    prepare: Option<String>,
    conclude: Option<String>,
    cleanup: Option<String>,
    timeout: Option<Spanned<Value>>,
    cpus: Option<Spanned<String>>,
    env: Option<Spanned<BTreeMap<String, String>>>,
}

/// The options that hold for all programs of a suite, and the programs.
///
/// # Errors
/// [`CampaignFileError`] with the place in the suite.
pub(crate) fn read(file: &Path) -> Result<(Vec<String>, Vec<CampaignProgram>), CampaignFileError> {
    let text = read_text(file)?;
    parse(&text).map_err(|e| e.within(file, &text))
}

fn parse(text: &str) -> Result<(Vec<String>, Vec<CampaignProgram>), BadCampaign> {
    let suite: CampaignSuite = toml::from_str(text).map_err(|e| BadCampaign::of_toml(&e))?;
    if suite.benchmark.is_empty() {
        return Err(BadCampaign::new(None, "it has no [[benchmark]], expected at least one with a command"));
    }
    let mut options = Vec::new();
    let mut add = |option: &str, value: String| options.extend([option.to_owned(), value]);
    match suite.timeout {
        Some(Value::String(text)) => add("--timeout", text),
        Some(Value::Integer(seconds)) => add("--timeout", seconds.to_string()),
        Some(Value::Float(seconds)) => add("--timeout", seconds.to_string()),
        Some(_) => {
            return Err(BadCampaign::new(None, "timeout is no time, expected e.g. \"90s\" or a number of seconds"));
        }
        None => {}
    }
    suite.cpus.into_iter().for_each(|list| add("--cpus", list));
    suite.env.into_iter().for_each(|(name, value)| add("--env", format!("{name}={value}")));
    let programs = suite.benchmark.into_iter().map(program).collect::<Result<_, _>>()?;
    Ok((options, programs))
}

/// A program. `tare run` times all programs under the same conditions: a benchmark's own ones would be lost.
fn program(benchmark: CampaignBenchmark) -> Result<CampaignProgram, BadCampaign> {
    let CampaignBenchmark { name, command, setup, prepare, conclude, cleanup, timeout, cpus, env } = benchmark;
    let own = [
        ("timeout", timeout.map(|t| t.span().start)),
        ("cpus", cpus.map(|c| c.span().start)),
        ("env", env.filter(|e| !e.get_ref().is_empty()).map(|e| e.span().start)),
    ];
    if let Some((key, Some(at))) = own.into_iter().find(|(_, at)| at.is_some()) {
        let what =
            format!("a campaign runs all programs under the same conditions: expected {key} above all benchmarks");
        return Err(BadCampaign::new(Some(at), what));
    }
    let (at, command) = (command.span().start, command.into_inner());
    if command.trim().is_empty() {
        return Err(BadCampaign::new(Some(at), "the command is empty, expected a program with its arguments"));
    }
    Ok(CampaignProgram { command, label: name, setup, prepare, conclude, cleanup })
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
            ("", None, "it has no [[benchmark]]"),
            ("[[benchmark]]\ncommand = 'a'\nenv = { B = '1' }", Some(3), "expected env above all benchmarks"),
            ("[[benchmark]]\ncommand = 'a'\ntimeout = 3", Some(3), "expected timeout above"),
            ("[[benchmark]]\ncommand = ''", Some(2), "the command is empty"),
        ];
        for (text, line, expected) in cases {
            let e = parse(text).unwrap_err().within(Path::new("gate.toml"), text);
            assert!(e.to_string().starts_with("gate.toml") && e.what.contains(expected), "{text}: {e}");
            assert_eq!(e.place.map(|p| p.0), line, "{e}");
        }
        let e = campaign_file::parse("suite = 'none.toml'", Path::new("/nowhere/c.toml")).unwrap_err().to_string();
        assert!(e.starts_with("/nowhere/none.toml: "), "{e}");
    }
}
