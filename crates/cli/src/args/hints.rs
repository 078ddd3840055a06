//! Texts of render's hints, which name the options of the command.

use tarebench::core::base::hint::Hint;
use tarebench::report::hints::Hints;

/// The text; `db` is ` --db FILE` if the store is not the default one, else empty.
pub fn hints(db: &str) -> Hints {
    let db = db.to_owned();
    Hints::new(move |hint| words(hint, &db))
}

fn words(hint: &Hint, db: &str) -> String {
    match hint {
        Hint::Resume(id) => format!("resume with: `tare resume {id}{db}`"),
        Hint::Interleave => "omit `--order sequential`, or use `--order rounds`".to_owned(),
        Hint::CompareAlone => "`--order rounds` compares the programs alone".to_owned(),
        Hint::MakeDuets => "`--order duet` makes duets all the same".to_owned(),
        Hint::IndependentSetups => {
            "if the setups are independent, use `--independent-setup`: the programs then run interleaved".to_owned()
        }
        Hint::Failures => "see what it prints with `--show-output`; accept failures with `-i`".to_owned(),
        Hint::QuietMachine => "quiet the machine (`tare doctor`, `tare tune`) and measure again, or take more samples \
                               (`--runs`)"
            .to_owned(),
        Hint::Samples(n) => format!("take more samples: `--runs {n}`"),
        Hint::AtMost(n) => format!("allow more samples: `--max-runs {n}`"),
        Hint::MoreForPrecision => "allow more samples (`-M`), or quiet the machine (`tare doctor`)".to_owned(),
        Hint::SpeedChanges => {
            "measure while the machine is idle, correct for its speed (`--quiet`), or compare programs by \
                               duets (`--order duet`)"
                .to_owned()
        }
        Hint::WarmUps(n) => format!("take {n} more warm-ups (`-w`)"),
        Hint::SeeSamples => "see when each sample ran: `tare report` plots them".to_owned(),
        Hint::LeaveRunning => "keep them running with `--leave-running`".to_owned(),
        Hint::LearnProfile => format!("make one with: `tare profile{db}`"),
        Hint::ListProfiles => format!("list them with: `tare profile list{db}`"),
        Hint::CheckProfile(name) => {
            let name = shell_words::quote(name);
            format!("`tare profile check {name}{db}` lists daemons of recent runs that are not in it")
        }
        Hint::SetFactor(name) => format!("tare tune --only {}", shell_words::quote(name)),
        Hint::SetFactors => "set what can be set with `tare tune`; undo it with `tare restore`".to_owned(),
        Hint::ExplainFactors => {
            "`tare doctor --explain` shows what is recommended, why, and how to change it".to_owned()
        }
        Hint::Threshold => "raise the threshold with `--threshold`".to_owned(),
        Hint::Sigma => "set `--sigma` to 2 or 5".to_owned(),
        Hint::ConnectBuilds => {
            "measure one of them against a build of this history: `tare gate --base COMMIT`".to_owned()
        }
        Hint::GateRun => {
            "`tare run --quiet` runs programs while the machine is quiet, and corrects their times".to_owned()
        }
        Hint::Quiet => "this machine's speed may vary: `--quiet` corrects for it".to_owned(),
        Hint::LearnStates => format!("runs with probes learn them, such as `tare run --correct{db} -- PROGRAM`"),
        Hint::RunProbes => "run as root, or allow real-time priorities (`ulimit -r`)".to_owned(),
        Hint::ProbeCpus => "name the CPUs that it uses with `--cpus`".to_owned(),
        Hint::CompareElapsed => "go by elapsed time (`--compare-by elapsed`)".to_owned(),
        Hint::OtherTimeOrDuet => "measure again later, or compare programs by duets (`--order duet`)".to_owned(),
        Hint::MoreSamplesOrDuet => "take more samples, or compare programs by duets (`--order duet`)".to_owned(),
        Hint::WithoutGate => "compare with `--correct`, which does not pause it".to_owned(),
        Hint::LongerPauses => "allow longer pauses with `--quiet-limit`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--detect` and `--precision` refuse `--runs`: their cap is the option for it.
    #[test]
    fn a_cap_is_another_option_than_a_number() {
        assert_eq!(words(&Hint::AtMost(800), ""), "allow more samples: `--max-runs 800`");
        assert!(words(&Hint::Samples(40), "").contains("--runs 40"));
    }

    #[test]
    fn commands_name_the_store() {
        assert_eq!(words(&Hint::Resume(3), " --db x.db"), "resume with: `tare resume 3 --db x.db`");
        let check = words(&Hint::CheckProfile("a b".to_owned()), "");
        assert!(check.starts_with("`tare profile check 'a b'`"), "{check}");
    }
}
