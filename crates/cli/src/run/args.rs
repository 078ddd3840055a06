//! The arguments of `tare run`.

use crate::args::exports::Exports;
use crate::args::store::StoreArgs;
use crate::args::style::StyleArgs;
use crate::args::values::{duration, pair, share, sigma};
use crate::machine::tune::TuneAround;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tarebench::core::base::units::Nanos;
use tarebench::core::run::discards::DiscardRule;
use tarebench::core::sample::process_time::PtSource;

/// The programs.
#[derive(Args)]
#[command(next_help_heading = "Programs")]
pub struct WhatArgs {
    /// Programs with their arguments, each in one string
    #[arg(value_name = "PROGRAM")]
    pub commands: Vec<String>,
    /// Reference program that the others are compared with [default: the first program]
    #[arg(long, value_name = "PROGRAM")]
    pub reference: Option<String>,
    /// Name of the reference program in tables
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub reference_name: Option<String>,
    /// Time the reference program once more, as a control that shows by how much programs seem to differ that do not
    #[arg(long)]
    pub control: bool,
    /// Name of a program in tables; give it once per program, or once per program and parameter combination
    #[arg(short = 'n', long, value_name = "NAME")]
    pub command_name: Vec<String>,
    /// Run the programs by this shell: `default` (/bin/sh), `none`, or a shell's command [default: /bin/sh for strings
    /// with operators, redirections, patterns, variables or shell commands, none for others]
    #[arg(short = 'S', long, value_name = "SHELL", overrides_with_all = ["shell", "no_shell"])]
    pub shell: Option<String>,
    /// Use no shell, as -S none: a string that needs one is an error
    #[arg(short = 'N', overrides_with_all = ["shell", "no_shell"])]
    pub no_shell: bool,
    /// Replace {VAR} by each number from MIN to MAX; each makes a program
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true)]
    pub parameter_scan: Vec<String>,
    /// Step between the numbers of -P
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan", allow_negative_numbers = true)]
    pub parameter_step_size: Option<String>,
    /// Replace {VAR} by each value; each makes a program; several lists are combined
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUE,…"], allow_hyphen_values = true)]
    pub parameter_list: Vec<String>,
}

/// Numbers of samples, and their order.
#[derive(Args)]
#[command(next_help_heading = "Samples")]
pub struct CountArgs {
    /// Warm-up executions of each program; stored, not counted
    #[arg(short, long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub warmup: u32,
    /// Counted samples per program [default: 10]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000), conflicts_with_all = ["precision", "min_runs", "max_runs"])]
    pub runs: Option<u32>,
    /// Take samples until the 95% intervals of mean and median are within ± REL of these, e.g. 1% or 0.01: those of the CPU time, or of
    /// the elapsed time of a program that mostly waits
    #[arg(long, value_name = "REL", value_parser = share, allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// Compare the programs until a difference of REL would be seen, e.g. 1% or 0.01; by duets, if --order names no other order
    #[arg(long, value_name = "REL", value_parser = share, allow_negative_numbers = true,
          conflicts_with_all = ["runs", "precision", "min_runs"])]
    pub detect: Option<f64>,
    /// Take at least N samples of each program [with --precision: 10]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub min_runs: Option<u32>,
    /// Take at most N samples of each program [with --precision: 500; with --detect, blocks: 200]
    #[arg(short = 'M', long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub max_runs: Option<u32>,
    /// Start no new round after TIME: 500ms, 90s, 10min, 2h; a bare number is seconds
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Nanos>,
    /// Order of several programs [default: auto; rounds with --prepare or --conclude; sequential if their setup commands differ]
    #[arg(long, value_enum)]
    pub order: Option<OrderArg>,
    /// Seed of the random order and of the environment padding, to repeat those of another run [default: another one for each run]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Kill an execution after TIME; it counts as failed and ends its program's series
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Nanos>,
    /// Count failing executions too, all or those with these exit codes: -i, -i=1,2
    #[arg(short = 'i', long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub ignore_failure: Option<String>,
}

/// Commands around the samples.
#[derive(Args)]
#[command(next_help_heading = "Hooks (shell commands, not timed)")]
pub struct HookArgs {
    /// Command to run before a program's first sample
    #[arg(short, long, value_name = "CMD")]
    pub setup: Option<String>,
    /// State that no program's setup undoes that of another program, so that the programs can run in rounds
    #[arg(long, requires = "setup")]
    pub independent_setup: bool,
    /// Command to run before each sample; give it once, or once per program, the reference first
    #[arg(short, long, value_name = "CMD")]
    pub prepare: Vec<String>,
    /// Command to run after each sample; give it once, or once per program, the reference first
    #[arg(short = 'C', long, value_name = "CMD")]
    pub conclude: Vec<String>,
    /// Command to run after a program's last sample, also if it failed
    #[arg(short, long, value_name = "CMD")]
    pub cleanup: Option<String>,
}

/// Conditions of the run.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub struct ConditionArgs {
    /// Standard output and error: null, pipe, inherit, or a file, to which standard output is appended; given once, or once
    /// for each program [default: null]
    #[arg(long, value_name = "WHERE")]
    pub output: Vec<OsString>,
    /// Same as --output inherit
    #[arg(long, conflicts_with = "output")]
    pub show_output: bool,
    /// Standard input: null, inherit, or a file
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: OsString,
    /// CPUs that the programs may use, e.g. 1,3-5; tare itself moves to the others
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Scheduling: fifo:PRIORITY (1 to 99) or nice:VALUE (-20 to 19)
    #[arg(long, value_name = "HOW")]
    pub sched: Option<String>,
    /// Working directory of the programs and hooks
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<OsString>,
    /// Set a variable for the programs and hooks; only these variables are stored
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub env: Vec<(String, String)>,
    /// Run the programs as this user, in a separate session, with PATH, TERM, TZ and the locale of the environment
    /// and what --env sets; USER:new-privileges lets set-user-ID programs take effect
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Do not kill leftover processes of a program
    #[arg(long)]
    pub leave_running: bool,
    /// Take no snapshots of the processes around each sample; there is then no list of daemons
    #[arg(long, visible_alias = "no-snapshots")]
    pub no_images: bool,
    /// Do not trace the kernel; there is then no account of where the time went and no net time
    #[arg(long)]
    pub no_account: bool,
    /// Count page faults, context switches and other events of the kernel also where there is no PMU (performance monitoring unit) to
    /// count instructions, cycles, branches and cache misses; each start of a process takes some microseconds longer then
    #[arg(long, conflicts_with = "no_account")]
    pub counters: bool,
    /// Record a number that the programs print: the first group of the regular expression, or the whole of it, in its last
    /// match on standard output, else on standard error; may be repeated
    #[arg(long, value_name = "NAME=REGEX", value_parser = metric)]
    pub metric: Vec<(String, String)>,
    /// Label the run, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub tag: Vec<(String, String)>,
}

/// Waiting for the quiet machine, and correcting for what is left.
#[derive(Args)]
#[command(next_help_heading = "Quiet machine")]
pub struct QuietArgs {
    /// Pause the programs while the machine is busy (another program or guest slows their core), and correct their CPU times
    /// for what is left, by short probes on their CPU; without --cpus, the programs are kept to one CPU
    #[arg(long, conflicts_with_all = ["correct", "self_check"])]
    pub quiet: bool,
    /// As --quiet, without pauses: probe and correct only
    #[arg(long, conflicts_with_all = ["no_correct", "self_check"])]
    pub correct: bool,
    /// With --quiet, only pause: do not correct
    #[arg(long, requires = "quiet")]
    pub no_correct: bool,
    /// Pause an execution for at most TIME in all, the wait before its start included [default: 1.5s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "quiet", conflicts_with = "correct")]
    pub quiet_limit: Option<Nanos>,
    /// Time between two wake-ups of all probes: 1ms to 100ms; --quiet wakes the two that it needs once more in between [default: 4ms]
    #[arg(long, value_name = "TIME", value_parser = duration, hide = true)]
    pub probe_period: Option<Nanos>,
}

/// What check 1 goes by.
#[derive(Clone, Copy, ValueEnum)]
pub enum DiscardArg {
    /// A daemon used more CPU time than its cutoff: the sample is discarded, for every time
    Papers,
    /// A daemon kept the program waiting: its elapsed time is discarded; a daemon that lengthens CPU time ran long: all its times
    Effect,
}

impl DiscardArg {
    /// As a plan has it.
    pub fn rule(self) -> DiscardRule {
        match self {
            DiscardArg::Papers => DiscardRule::Papers,
            DiscardArg::Effect => DiscardRule::Effect,
        }
    }
}

/// Statistics of the samples.
#[derive(Args)]
#[command(next_help_heading = "Statistics")]
pub struct StatisticsArgs {
    /// Discard samples more than S standard deviations from the mean: 2 is strict, 5 relaxed; none discards none (SEDONA)
    #[arg(long, value_name = "S", default_value = "2", value_parser = sigma, allow_negative_numbers = true)]
    pub sigma: f64,
    /// What the profile's cutoffs discard: by CPU time of a daemon (papers), or by what it did to the sample (effect)
    /// [default: effect for samples with an account, else papers]
    #[arg(long, value_name = "RULE", value_enum)]
    pub discard: Option<DiscardArg>,
    /// Call programs the same if their ratio is within 1 ± REL with 95% confidence, e.g. 1% or 0.01 [default: never]
    #[arg(long, value_name = "REL", value_parser = share, allow_negative_numbers = true)]
    pub margin: Option<f64>,
    /// Profile of daemons whose cutoffs discard samples: a name, or none [default: this machine's newest that was not imported]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Measure only if this step of the protocol (v1 to v6) or this factor (tare doctor lists them) holds, else exit with
    /// 3; may be repeated
    #[arg(long, value_name = "STEP", value_parser = step_or_factor)]
    pub require: Vec<String>,
}

/// Time one or more programs
///
/// `tare run -- PROG ARGS…` times one program with its own arguments; `tare run 'PROG A' 'PROG B'` times each
/// string, split into words as a shell would. A string that only a shell can run (`a | b`, `x > file`, `*`, `$VAR`, `cd`)
/// is run by /bin/sh, and the start of the shell is measured and shown beside the result.
#[derive(Args)]
#[command(after_help = AFTER)]
pub struct RunArgs {
    #[command(flatten)]
    pub what: WhatArgs,
    #[command(flatten)]
    pub count: CountArgs,
    #[command(flatten)]
    pub hooks: HookArgs,
    #[command(flatten)]
    pub conditions: ConditionArgs,
    #[command(flatten)]
    pub quiet: QuietArgs,
    #[command(flatten)]
    pub tuning: TuneAround,
    #[command(flatten)]
    pub statistics: StatisticsArgs,
    #[command(flatten)]
    pub style: StyleArgs,
    #[command(flatten)]
    pub exports: Exports,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Push the run to this PostgreSQL server when it has ended; --db with a server does the same
    #[arg(long, value_name = "URL", help_heading = "Store")]
    pub push: Option<OsString>,
    /// Take process times from no better source than this one (for comparing sources)
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = "Conditions")]
    pub pt_source: Option<CpuTimeSource>,
    /// Only measure the cost of tracing: workloads with and without it, interleaved
    #[arg(long, value_name = "ROUNDS", num_args = 0..=1, require_equals = true, default_missing_value = "20",
          value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with_all = ["commands", "argv"])]
    pub self_check: Option<u32>,
    /// One program and its arguments, passed unchanged
    #[arg(last = true, value_name = "PROG ARGS", conflicts_with = "commands", help_heading = "Programs")]
    pub argv: Vec<OsString>,
}

const AFTER: &str = "Examples:
  tare run -- gzip -9 -k -c file
  tare run -r 20 'sort a.txt' 'sort -S 1G a.txt'
  tare run -L level 1,6,9 -p 'rm -f out.gz' 'gzip -{level} -k file'
  tare run --precision 0.005 --cpus 1 -- ./prog
  tare run --quiet -- ./prog
  tare run --push postgresql://alice@db.example/lab -- ./prog

Exit codes: 0 success; 1 a program failed; 2 usage error; 3 a required step or factor does not hold; \
4 the store or the system failed; 130 interrupted.";

#[derive(Clone, Copy, ValueEnum)]
pub enum CpuTimeSource {
    Cgroup,
    TaskClock,
    ExitRecords,
    Wait4,
}

impl From<CpuTimeSource> for PtSource {
    fn from(s: CpuTimeSource) -> PtSource {
        match s {
            CpuTimeSource::Cgroup => PtSource::Cgroup,
            CpuTimeSource::TaskClock => PtSource::TaskClock,
            CpuTimeSource::ExitRecords => PtSource::ExitRecords,
            CpuTimeSource::Wait4 => PtSource::Wait4,
        }
    }
}

fn metric(text: &str) -> Result<(String, String), String> {
    let wrong = |_| "expected NAME=REGEX, e.g. rate='rate: ([0-9.]+)'".to_owned();
    pair(text).map_err(wrong)
}

/// `v1` to `v6`, or a factor that `tare doctor` lists.
fn step_or_factor(text: &str) -> Result<String, String> {
    let step = matches!(text, "v1" | "v2" | "v3" | "v4" | "v5" | "v6");
    if step || tarebench::host::factors::find(text).is_some() {
        return Ok(text.to_owned());
    }
    Err("expected v1 to v6, or the name of a factor (tare doctor lists them)".to_owned())
}

/// Order on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub enum OrderArg {
    /// Random rounds, and after each round a duet of each program with the reference: both at once on the same CPUs, for an exact
    /// ratio. Programs that don't suit duets, such as those shorter than 40 ms, are compared by the rounds
    Auto,
    /// Duets only, but for three rounds
    Duet,
    /// A B C A B C: a drift of the machine affects all programs alike
    Rounds,
    /// Rounds, each in random order
    Random,
    /// A A A B B B
    Sequential,
}
