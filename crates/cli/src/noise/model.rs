//! `tare noise --model`: what the noise law says, without a measurement.

use crate::args::values::duration;
use crate::exit::Failure;
use crate::output::print;
use clap::Args;
use std::num::NonZeroU64;
use tarebench::core::base::units::Nanos;
use tarebench::core::noise::model::Probability;
use tarebench::core::noise::question::{NoiseQuestion, answer};
use tarebench::render::noise::question::{json, sheet};
use tarebench::report::style::Style;
use tarebench::report::terminal::sheet_text;

#[derive(Args)]
#[command(next_help_heading = "Without measuring")]
pub struct ModelArgs {
    /// Answer by the model instead of measuring: d_p(n), the largest p and n, slowdowns
    ///
    /// P is the probability that a phase of one node is delayed, d the length of the delay, grain that of an undisturbed phase
    /// (1ms if it is omitted; several may be given).
    #[arg(long, value_name = "p=P,d=TIME,grain=TIME", conflicts_with_all = ["grain", "sweep", "phases", "limit", "cpus", "sched",
          "calibrate", "calibrations", "delays", "no_explain", "undisturbed", "tag", "svg", "html"])]
    pub model: Option<String>,
    /// Numbers of nodes for --model [default: 1,10,100,… 1000000]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    nodes: Vec<String>,
    /// Share of delayed phases that a job can bear, for --model [default: 1%]
    #[arg(long, value_name = "SHARE")]
    alpha: Option<String>,
}

impl ModelArgs {
    /// clap asks for what an option requires only where no other option conflicts with that.
    pub fn check(&self) -> Result<(), Failure> {
        match self.model.is_none() && (!self.nodes.is_empty() || self.alpha.is_some()) {
            true => Err(Failure::usage("--nodes and --alpha are of a question to the model; give it with --model p=P")),
            false => Ok(()),
        }
    }
}

const GRAIN: Nanos = Nanos::from_millis(1);
const ALPHA: f64 = 0.01;

/// A number from 0 to 1, as a fraction or in per cent.
fn probability(text: &str) -> Option<Probability> {
    let number = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
        None => text.trim().parse().ok()?,
    };
    Probability::new(number).ok()
}

/// What is asked by `p=P[,d=TIME][,grain=TIME]…`.
fn question(text: &str, args: &ModelArgs) -> Result<NoiseQuestion, Failure> {
    let wrong = |what: String| Failure::usage(format!("--model {text}: {what}"));
    let (mut p, mut delay, mut grains) = (None, None, Vec::new());
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let time = || duration(value).map_err(|e| wrong(format!("{key}={value}: {e}")));
        match key.trim() {
            "p" if p.is_none() => {
                let found = probability(value);
                p = Some(found.ok_or_else(|| wrong(format!("p={value} is not a number from 0 to 1")))?);
            }
            "d" if delay.is_none() => delay = Some(time()?),
            "grain" => grains.push(time()?),
            "p" | "d" => return Err(wrong(format!("{key} is given twice"))),
            _ => return Err(wrong(format!("`{part}` is none of p=P, d=TIME, grain=TIME"))),
        }
    }
    let p = p.ok_or_else(|| wrong("p=P is missing, the probability that a phase of one node is delayed".to_owned()))?;
    if delay.is_none() && !grains.is_empty() {
        return Err(wrong("grain=TIME needs d=TIME, the length of the delay".to_owned()));
    }
    if grains.is_empty() {
        grains.push(GRAIN);
    }
    let (nodes, alpha) = (nodes(&args.nodes)?, alpha(args.alpha.as_deref())?);
    Ok(NoiseQuestion { p, delay, grains, nodes, alpha })
}

fn nodes(asked: &[String]) -> Result<Vec<NonZeroU64>, Failure> {
    if asked.is_empty() {
        return Ok(NoiseQuestion::usual_nodes());
    }
    let wrong = |n: &str| Failure::usage(format!("--nodes {n}: expected a whole number of at least 1"));
    let mut all =
        asked.iter().map(|n| n.trim().parse().map_err(|_| wrong(n))).collect::<Result<Vec<NonZeroU64>, _>>()?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn alpha(asked: Option<&str>) -> Result<Probability, Failure> {
    let Some(text) = asked else { return Probability::new(ALPHA).map_err(Failure::system) };
    let inside = probability(text).filter(|a| a.get() > 0.0 && a.get() < 1.0);
    inside
        .ok_or_else(|| Failure::usage(format!("--alpha {text}: expected a share between 0 and 1, such as 1% or 0.01")))
}

/// Prints the answer.
pub fn print_model(text: &str, args: &ModelArgs, as_json: bool, quiet: bool, style: &Style) -> Result<(), Failure> {
    let found = answer(&question(text, args)?).map_err(|e| Failure::usage(format!("--model {text}: {e}")))?;
    if as_json {
        print(&json(&found).map_err(Failure::system)?);
    } else if !quiet {
        print(&sheet_text(&sheet(&found), style));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<NoiseQuestion, String> {
        question(text, &ModelArgs { model: None, nodes: Vec::new(), alpha: None }).map_err(|f| f.message)
    }

    #[test]
    fn questions_are_read() {
        let q = asked("p=1e-6,d=50us,grain=10us,grain=1ms").unwrap();
        assert_eq!((q.p.get(), q.delay, q.nodes.len()), (1e-6, Some(Nanos::from_micros(50)), 7));
        assert_eq!(q.grains, [Nanos::from_micros(10), Nanos::from_millis(1)]);
        assert_eq!(asked("p=1%").unwrap().p.get(), 0.01);
        assert_eq!((asked("p=0.5").unwrap().grains, asked("p=0.5").unwrap().alpha.get()), (vec![GRAIN], ALPHA));
    }

    #[test]
    fn a_bad_question_is_refused_in_one_sentence() {
        for (text, says) in [
            ("", "none of"),
            ("p", "p="),
            ("p=2", "from 0 to 1"),
            ("p=NaN", "from 0 to 1"),
            ("p=-1%", "from 0 to 1"),
            ("d=1ms", "missing"),
            ("p=0.1,p=0.2", "twice"),
            ("p=0.1,d=1ms,d=2ms", "twice"),
            ("p=0.1,d=0", "positive time"),
            ("p=0.1,grain=1ms", "needs d"),
            ("p=0.1,d=1ms,grain=x", "expected a"),
            ("p=0.1,x=1", "none of"),
        ] {
            let said = asked(text).unwrap_err();
            assert!(said.contains(says) && !said.contains('\n') && said.starts_with("--model"), "{text}: {said}");
        }
        for bad in ["0", "-1", "x", "1.5", ""] {
            assert!(nodes(&[bad.to_owned()]).is_err(), "{bad}");
        }
        for bad in ["0", "1", "100%", "x"] {
            assert!(alpha(Some(bad)).is_err(), "{bad}");
        }
    }
}
