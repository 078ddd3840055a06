//! Learning: by running INC or by recording the machine, and resuming either.

use crate::args::store::StoreArgs;
use crate::args::style::{Show, TableStyleArgs};
use crate::args::values::{cpu_list, duration};
use crate::exit::{Exit, Failure};
use crate::inc::command::calibration;
use crate::machine::tune::TuneAround;
use crate::output::named;
use crate::own_program;
use crate::profile::result::{check_name, default_name, print_profile, print_unkept, shown};
use crate::progress::Display;
use crate::pushed::PushAtEnd;
use crate::run::imported;
use clap::{Args, ValueEnum};
use std::path::Path;
use tarebench::core::base::name::Name;
use tarebench::core::base::signal::Signal;
use tarebench::core::base::units::Nanos;
use tarebench::core::profile::data::DaemonRule;
use tarebench::core::profile::profiling::reach;
use tarebench::documents::MeasureOptions;
use tarebench::profile as profiling;
use tarebench::profile::{ActivePlan, MeasuredProfile, PassivePlan, ProfilePlan, TaskSeries};
use tarebench::render::profile::said::reach as reach_text;
use tarebench::report::number::long_time;
use tarebench::report::text::escape as clean;
use tarebench::run::session::{ImportTrust, StopReason, StorePlace};
use tarebench::store::Store;
use tarebench::sys::signals::Signals;

/// How to learn a new profile.
#[derive(Args)]
#[command(next_help_heading = "Learning")]
pub struct LearnArgs {
    /// Task lengths and numbers of samples
    #[arg(long, value_enum, value_name = "PRESET", default_value_t = ProfilePreset::Minutes, conflicts_with_all = ["short", "watch"])]
    preset: ProfilePreset,
    /// Short part: task length and samples, e.g. 2sx900; with --watch the task length alone
    #[arg(long, value_name = "LENxN")]
    short: Option<String>,
    /// Long part, e.g. 60sx30; with --watch the task length alone
    #[arg(long, value_name = "LENxN", requires = "short")]
    long: Option<String>,
    /// Record the machine during normal use instead of running INC
    #[arg(long, requires = "total")]
    watch: bool,
    /// Length of the recording, e.g. 24h
    #[arg(long = "for", value_name = "TIME", value_parser = duration, requires = "watch", id = "total")]
    total: Option<Nanos>,
    /// Time between two snapshots [default: 1s, or longer if snapshots would use more than 0.05% of a CPU]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "watch")]
    interval: Option<Nanos>,
    /// Name of the profile [default: the machine's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// CPUs that INC may use, e.g. those that your programs will be measured on
    #[arg(long, value_name = "LIST", conflicts_with = "watch")]
    cpus: Option<String>,
    #[command(flatten)]
    tuning: TuneAround,
    /// Label the profile, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::args::values::pair)]
    tag: Vec<(String, String)>,
    #[command(flatten)]
    style: TableStyleArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProfilePreset {
    /// 128 s × 800 and 16,384 s × 40 (EMP, SEDONA): 28 and 182 hours
    Paper,
    /// 16 s × 1,200 and 600 s × 40: 12 hours
    Overnight,
    /// 2 s × 900 and 60 s × 30: an hour
    Hour,
    /// 0.25 s × 480 and 4 s × 30: four minutes; finds daemons that run every few seconds
    Minutes,
}

impl ProfilePreset {
    fn shapes(self) -> (TaskSeries, TaskSeries) {
        let shape = |seconds: f64, samples| TaskSeries { length: Nanos::from_secs_f64(seconds), samples };
        match self {
            ProfilePreset::Paper => (shape(128.0, 800), shape(16_384.0, 40)),
            ProfilePreset::Overnight => (shape(16.0, 1200), shape(600.0, 40)),
            ProfilePreset::Hour => (shape(2.0, 900), shape(60.0, 30)),
            ProfilePreset::Minutes => (shape(0.25, 480), shape(4.0, 30)),
        }
    }
}

/// Resumes a profile.
#[derive(Args)]
pub struct ProfileResumeArgs {
    /// Name of the profile [default: the latest that is not finished]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Resume a profile whose runs were imported: run the commands of their archives
    ///
    /// Without it, `tare profile resume` prints these commands and runs none of them.
    #[arg(long)]
    trust_imported: bool,
    #[command(flatten)]
    tuning: TuneAround,
    #[command(flatten)]
    style: TableStyleArgs,
}

/// How daemons are found in samples.
#[derive(Clone, Copy, ValueEnum)]
enum RuleArg {
    /// By what the program waited for them, where an account tells it; by the scatter plots for the rest
    Account,
    /// By the scatter plots, with the cutoffs exactly as in the papers
    Papers,
}

impl RuleArg {
    fn rule(self) -> DaemonRule {
        match self {
            RuleArg::Account => DaemonRule::Explained,
            RuleArg::Papers => DaemonRule::Papers,
        }
    }
}

/// Makes a profile from the samples so far.
#[derive(Args)]
pub struct SoFarArgs {
    /// Name of the profile [default: the machine's]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Short task length of the virtual samples, for a recording
    #[arg(long, value_name = "TIME", value_parser = duration)]
    short: Option<Nanos>,
    /// Long task length, for a recording
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "short")]
    long: Option<Nanos>,
    /// How daemons are found
    #[arg(long, value_enum, value_name = "RULE", default_value_t = RuleArg::Account)]
    rule: RuleArg,
    #[command(flatten)]
    style: TableStyleArgs,
}

/// `2sx900`: a task length and a number of samples.
fn shape(text: &str) -> Result<TaskSeries, Failure> {
    let bad = |why: String| Failure::usage(format!("{text}: expected a task length and samples such as 2sx900; {why}"));
    let (length, samples) = text.rsplit_once(['x', '×', '*']).ok_or_else(|| bad("there is no `x`".to_owned()))?;
    let length = duration(length).map_err(bad)?;
    let samples: u32 = samples.trim().parse().map_err(|_| bad("the number of samples is missing".to_owned()))?;
    if !(0.001..=16_384.0).contains(&length.secs()) {
        return Err(bad("task lengths are 1 ms to 16,384 s".to_owned()));
    }
    if samples < profiling::fewest() || samples > 10_000_000 {
        return Err(bad(format!("at least {} samples are needed to find a cluster", profiling::fewest())));
    }
    Ok(TaskSeries { length, samples })
}

fn name_of(given: Option<&str>) -> Result<String, Failure> {
    let name = given.map_or_else(default_name, str::to_owned);
    check_name(&name)?;
    Ok(name)
}

pub fn learn(args: &LearnArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let name = name_of(args.name.as_deref())?;
    // The profile is in a file, whatever it is pushed to.
    let show = args.style.show()?.with_store(store.named_file());
    if args.watch {
        let plan = passive_plan(args, name)?;
        return watch(args, plan, store, &show);
    }
    let (short, long) = match (&args.short, &args.long) {
        (Some(s), long) => (shape(s)?, long.as_deref().map(shape).transpose()?),
        (None, _) => {
            let (short, long) = args.preset.shapes();
            (short, Some(long))
        }
    };
    if long.is_some_and(|l| l.length <= short.length) {
        return Err(Failure::usage("the long part's task length must be greater than the short part's"));
    }
    let cpus = args.cpus.as_deref().map(cpu_list).transpose()?.unwrap_or_default();
    let mut place = store.place()?;
    refuse_second(&mut place, &name, &show)?;
    let rate = calibration(std::env::var_os("TARE_CALIBRATION").as_deref().map(Path::new), false, false)?;
    let exe = own_program::path()?;
    let words = [exe.as_os_str().as_encoded_bytes(), b"inc", b"--quiet", b"--count"];
    let plan = ActivePlan {
        name: name.clone(),
        short,
        long,
        inc: words.into_iter().map(Name::new).collect(),
        increments_per_second: rate.increments_per_second,
        cpus,
    };
    announce(&name, &[Some(("short", short)), long.map(|l| ("long", l))], "INC", is_kept(&place), &show);
    let push = PushAtEnd::of(store)?;
    let exit = measure(args, &ProfilePlan::Active(plan), place, &show)?;
    push.end(exit, show.is_quiet())
}

/// Measures what the plan says, with the machine tuned if that is asked for.
fn measure(args: &LearnArgs, plan: &ProfilePlan, mut place: StorePlace, show: &Show) -> Result<Exit, Failure> {
    let options = MeasureOptions { tags: args.tag.iter().cloned().collect() };
    let signals = Signals::install().map_err(Failure::system)?;
    let tuned = args.tuning.begin(&signals)?;
    let mut display = Display::new(show);
    let measured = profiling::measure(plan, &mut place, &options, &signals, &mut |e| display.on(e));
    drop(display);
    let restored = TuneAround::end(tuned);
    signals.release();
    let exit = finish(measured?, plan.name(), show)?;
    restored.map(|()| exit)
}

fn is_kept(place: &StorePlace) -> bool {
    matches!(place, StorePlace::Store(_))
}

fn passive_plan(args: &LearnArgs, name: String) -> Result<PassivePlan, Failure> {
    let total = args.total.unwrap_or_default();
    let length = |text: &Option<String>, default: i64| match text {
        Some(t) => duration(t).map_err(|e| Failure::usage(format!("{t}: with --watch a task length alone; {e}"))),
        None => Ok(Nanos(default)),
    };
    let least = args.interval.map_or(4_000_000_000, |i| i.0);
    let short = length(&args.short, (total.0 / 800).max(least))?;
    let long = match (&args.short, &args.long) {
        (Some(_), None) => None,
        _ => Some(length(&args.long, (total.0 / 40).max(2 * short.0))?),
    };
    let samples = |l: Nanos| u32::try_from(total.0 / l.0.max(1)).unwrap_or(u32::MAX);
    if samples(short) < profiling::fewest() {
        let need = long_time(Nanos(short.0.saturating_mul(i64::from(profiling::fewest()))), true);
        let text = format!("--for {}: too short for {} samples", long_time(total, true), profiling::fewest());
        return Err(Failure::usage(text).hint(format!("use --for {need} or more, or a shorter --short")));
    }
    let long = long.filter(|l| samples(*l) >= profiling::fewest());
    Ok(PassivePlan { name, total, interval: args.interval, lengths: (short, long) })
}

fn watch(args: &LearnArgs, plan: PassivePlan, store: &StoreArgs, show: &Show) -> Result<Exit, Failure> {
    let mut place = store.place()?;
    refuse_second(&mut place, &plan.name, show)?;
    let shape =
        |l: Nanos| TaskSeries { length: l, samples: u32::try_from(plan.total.0 / l.0.max(1)).unwrap_or(u32::MAX) };
    let (short, long) = plan.lengths;
    let parts = [Some(("short", shape(short))), long.map(|l| ("long", shape(l)))];
    announce(&plan.name, &parts, "virtual samples", is_kept(&place), show);
    let push = PushAtEnd::of(store)?;
    let exit = measure(args, &ProfilePlan::Passive(plan), place, show)?;
    push.end(exit, show.is_quiet())
}

/// Refuses a second attempt, which would hide an unfinished first one.
fn refuse_second(place: &mut StorePlace, name: &str, show: &Show) -> Result<(), Failure> {
    let StorePlace::Store(store) = place else { return Ok(()) };
    if !profiling::unfinished(&**store)?.iter().any(|n| n == name) {
        return Ok(());
    }
    let hint = format!(
        "resume with: `tare profile resume{0}`; `tare profile learn{0}` uses the samples so far; \
         --name starts another",
        named(name, show.db_option())
    );
    Err(Failure::usage(format!("the profile {name} is unfinished")).hint(hint))
}

/// Says how long it takes and what it can find.
fn announce(name: &str, parts: &[Option<(&str, TaskSeries)>], what: &str, kept: bool, show: &Show) {
    if show.is_quiet() {
        return;
    }
    let unicode = show.progress_style.unicode;
    let times = if unicode { "×" } else { "x" };
    eprintln!("Learning the profile {}:", clean(name));
    for (part, shape) in parts.iter().flatten() {
        let Ok(reach) = reach(shape.samples, shape.length) else { continue };
        let length = long_time(shape.length, unicode);
        let total = long_time(reach.total, unicode);
        eprintln!("  {part} part: {} {times} {what} of {length}, {total} in all;", shape.samples);
        eprintln!("    it {}.", reach_text(&reach, unicode));
    }
    if kept {
        let end = named(name, show.db_option());
        eprintln!("  It can be interrupted at any time; resume with: `tare profile resume{end}`.");
    }
}

pub fn resume(args: &ProfileResumeArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    // The profile is in a file, whatever it is pushed to.
    let show = args.style.show()?.with_store(store.named_file());
    let push = PushAtEnd::of(store)?;
    let store = store.local()?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => {
            let open = profiling::unfinished(&*store)?;
            let none = || Failure::usage("there is no unfinished profile").hint("start one with `tare profile`");
            open.into_iter().next().ok_or_else(none)?
        }
    };
    let exit = resume_named(name, store, imported::trust(args.trust_imported), &args.tuning, &show)?;
    push.end(exit, show.is_quiet())
}

/// Resumes the latest attempt at the profile of this name.
pub fn resume_named(
    name: String,
    store: Box<dyn Store>,
    trust: ImportTrust,
    tuning: &TuneAround,
    show: &Show,
) -> Result<Exit, Failure> {
    imported::check(profiling::imported_plans(&*store, &name)?, trust, show)?;
    let mut place = StorePlace::Store(store);
    let signals = Signals::install().map_err(Failure::system)?;
    let tuned = tuning.begin(&signals)?;
    let mut display = Display::new(show);
    let measured = profiling::resume(&name, &mut place, trust, &signals, &mut |e| display.on(e));
    drop(display);
    let restored = TuneAround::end(tuned);
    signals.release();
    let exit = finish(measured?, &name, show)?;
    restored.map(|()| exit)
}

pub fn so_far(args: &SoFarArgs, store: &StoreArgs) -> Result<Exit, Failure> {
    let show = shown(&args.style, store)?;
    let name = name_of(args.name.as_deref())?;
    let mut store = store.writable()?;
    let lengths = args.short.map(|short| (short, args.long));
    let profile = profiling::from_runs(&*store, &name, lengths, args.rule.rule())?;
    let profile = profiling::keep(&mut *store, profile)?;
    if !show.is_quiet() {
        print_profile(&profile, &show)?;
    }
    Ok(Exit::Done)
}

fn finish(measured: MeasuredProfile, name: &str, show: &Show) -> Result<Exit, Failure> {
    if let Some(profile) = &measured.profile {
        match (show.is_quiet(), measured.kept) {
            (true, _) => {}
            (false, true) => print_profile(profile, show)?,
            (false, false) => print_unkept(profile, show)?,
        }
        if !measured.kept {
            eprintln!("tare: the profile is not kept (--db none)");
        }
        return Ok(Exit::Done);
    }
    let end = named(name, show.db_option());
    let hint = match measured.kept {
        true => format!(
            "resume with: `tare profile resume{end}`; `tare profile learn{end}` makes a profile of what is there"
        ),
        false => "nothing is kept (--db none)".to_owned(),
    };
    let there = measured.there;
    Err(match measured.why {
        StopReason::Interrupted(signal) => Failure {
            exit: Exit::Interrupted,
            message: match measured.kept {
                true => format!("interrupted by {}; {there} are kept", Signal(signal)),
                false => format!("interrupted by {}", Signal(signal)),
            },
            hint: Some(hint),
        },
        StopReason::NotKept(e) => Failure::system(format!("the last sample could not be stored: {e}")).hint(hint),
        StopReason::Failed(e) => Failure::system(format!("measuring stopped: {e}")).hint(hint),
        StopReason::Finished => Failure::system("no profile was made").hint(hint),
    })
}
