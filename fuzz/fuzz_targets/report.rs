//! Any document that can be imported: its report can be computed and drawn, in every form, within the width and
//! without control characters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::hint::Hint;
use tarebench_core::profile::data::{Cutoff, Profile};
use tarebench_core::quiet::correction::{QuietSample, fit_coefficients};
use tarebench_core::quiet::knowledge::QuietKnowledge;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::quiet::prior::KnownCoefficients;
use tarebench_core::run::compared::program_identity;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::Program;
use tarebench_core::run::report::build::build_with;
use tarebench_core::run::report::duals::duals;
use tarebench_core::run::samples::Kept;
use tarebench_core::run::shown::ShownRun;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::probes::PROBE_REVISION;
use tarebench_render::run::sheet::{self, DrawnSamples};
use tarebench_render::run::terminal::report as terminal;
use tarebench_render::run::{csv, hyperfine, json, markup};
use tarebench_report::hints::Hints;
use tarebench_report::markup::Markup;
use tarebench_report::style::{Sort, Style};
use tarebench_store::Archive;
use unicode_width::UnicodeWidthStr;

fuzz_target!(|data: &[u8]| {
    // The first byte chooses how to draw.
    let Some((&choice, data)) = data.split_first() else { return };
    let Ok(archive) = Archive::read(&mut &data[..]) else { return };
    let (run, samples) = (&archive.run, &archive.samples);
    let profile = (choice & 1 != 0).then(|| profile(run.host.machine.clone()));
    let known = if choice & 64 != 0 { knowledge(run, samples) } else { QuietKnowledge::default() };
    let Ok(report) = build_with(run, &Kept { samples, duets: &archive.duets }, profile.as_ref(), &known);
    let style = Style {
        width: [0, 40, 72, 100][usize::from(choice >> 1 & 3)],
        unicode: choice & 8 != 0,
        full: choice & 16 != 0,
        more: (choice & 32 != 0).then(|| "tare show 1 --full".to_owned()),
        hints: Hints::new(|hint: &Hint| format!("{hint:?}")),
        ..Style::default()
    };
    let text = terminal::run_report(&report, &style);
    for line in text.lines() {
        let columns = line.width();
        assert!(columns <= style.width.max(40), "{columns} columns, {} wanted: {line:?}", style.width);
        assert!(!line.chars().any(char::is_control), "control character in {line:?}");
        assert!(style.unicode || line.is_ascii(), "not ASCII: {line:?}");
    }
    // These may refuse figures that a format cannot hold; they must not panic.
    let _ = json::full(&report, samples, &style.hints);
    let kept = Kept { samples, duets: &archive.duets };
    let Ok(shown) = ShownRun::read(run, &kept);
    let clusters = duals(run, &shown);
    let drawn = DrawnSamples { shown: &shown, clusters: &clusters };
    let _ = sheet::run(&report, Some(drawn), &style.hints, &style.zone, String::new()).into_page();
    let _ = csv::series(&report);
    let _ = csv::samples(&report, samples);
    let _ = hyperfine::json(&report, samples);
    for language in [Markup::Markdown, Markup::Asciidoc, Markup::Org, Markup::Latex] {
        let text = markup::markup(&report, language, None, Sort::Auto);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control character in {text:?}");
    }
});

/// With cutoffs that some samples of the seeds are over.
fn profile(machine: String) -> Profile {
    let cutoff = |daemon: &str, short| Cutoff {
        daemon: daemon.to_owned(),
        short,
        task_time_limit: None,
        long: None,
        effect: None,
    };
    Profile::of_cutoffs("fuzz", &machine, "", vec![cutoff("kworker", 20_000.0), cutoff("rustc", 1_000_000.0)])
}

/// What these samples would teach a store of their machine.
fn knowledge(run: &Run, samples: &[Sample]) -> QuietKnowledge {
    let mut history = LevelHistory::new(PROBE_REVISION);
    for sample in samples {
        // Of another revision.
        let _ = history.add_sample(sample);
    }
    let levels = history.levels();
    let fit = |program: &Program| {
        let quiet: Vec<QuietSample<'_>> = samples.iter().filter_map(QuietSample::of).collect();
        let identity = program_identity(&run.plan, program);
        fit_coefficients(&quiet, levels.as_ref()?, &KnownCoefficients::default(), &identity, run.created)
    };
    let coefficients = run.plan.programs.iter().filter_map(fit).collect();
    QuietKnowledge { levels, history: Some(history), coefficients }
}
