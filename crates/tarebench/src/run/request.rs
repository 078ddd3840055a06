//! A run as a user asks for it, and the plan that it makes.

use crate::programs::command::ByShell;
use crate::programs::request::{Programs, ProgramsError, ProgramsRequest, programs};
use crate::run::count::{CountError, CountRequest};
use crate::run::order::{OrderError, OrderRequest, control};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tarebench_core::base::name::Name;
use tarebench_core::base::units::Nanos;
use tarebench_core::run::plan::{Input, Order, Output, Program, RunPlan, Sched};
use tarebench_run::metrics::{MetricPatterns, MetricRefused};
use tarebench_sys::opened_as::check_readable;
use tarebench_sys::{SysError, cpu};

/// The periods of probes that are possible: more often, they would be most of what runs; more seldom, short programs would see none.
const PERIODS: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_millis(100)];

/// What to measure and how. Paths may be relative to the current folder.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The programs.
    pub programs: ProgramsRequest,
    /// The reference is measured once more, as a control.
    pub control: bool,
    /// Numbers of samples.
    pub count: CountRequest,
    /// Order of the programs; `None`: what suits them.
    pub order: Option<Order>,
    /// CPUs that the programs may use; `None`: all, or with probes one.
    pub cpus: Option<Vec<u32>>,
    /// Working directory of the programs; `None`: the current folder.
    pub cwd: Option<PathBuf>,
    /// Where the output of each program goes, the reference first; empty: as the plan says.
    pub outputs: Vec<Output>,
    /// Seed of all that is random; `None`: another one for each run, so that runs do not share their order and their paddings.
    pub seed: Option<u64>,
    /// All else. Its programs, hook shell, order, number of samples, CPUs, working directory and seed are replaced by what is asked for
    /// above.
    pub rest: RunPlan,
}

impl RunRequest {
    /// These programs, with all else as [`RunPlan::of`] has it.
    pub fn new(programs: ProgramsRequest) -> RunRequest {
        RunRequest {
            programs,
            control: false,
            count: CountRequest::default(),
            order: None,
            cpus: None,
            cwd: None,
            outputs: Vec::new(),
            seed: None,
            rest: RunPlan::of(Vec::new()),
        }
    }
}

/// Why no plan can be made.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The programs.
    #[error(transparent)]
    Programs(#[from] ProgramsError),
    /// Numbers of samples.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// What the programs print cannot be read.
    #[error(transparent)]
    Metric(#[from] MetricRefused),
    /// The file that programs are to read cannot be read.
    #[error("the input {}: {cause}", .file.display())]
    Input {
        /// As it was given.
        file: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// Some programs would have no output.
    #[error("{outputs} outputs for {programs} programs: expected one for each")]
    Outputs {
        /// How many there are.
        outputs: usize,
        /// How many programs there are.
        programs: usize,
    },
    /// A path that cannot be made absolute.
    #[error("path: {0}")]
    Path(io::Error),
    /// There is no current folder.
    #[error("working directory: {0}")]
    Folder(io::Error),
    /// Programs with a real-time priority beside probes.
    #[error("probes have the lowest real-time priority, and would not run beside programs with such a priority")]
    RealTimeProbes {
        /// The probes pause the programs; else they only correct.
        pauses: bool,
    },
    /// Probes that would be most of what runs, or of which short programs would see none.
    #[error("a time of {} ms between two wake-ups of the probes: expected 1 ms to 100 ms", .0.0 as f64 / 1e6)]
    ProbePeriod(Nanos),
    /// The CPUs cannot be known.
    #[error(transparent)]
    Cpus(SysError),
    /// There are none.
    #[error("no CPU may be used")]
    NoCpu,
}

/// A plan, and those of its programs that a shell runs without having been asked for.
#[derive(Clone, Debug)]
pub struct RequestedRun {
    /// What [`crate::run::session::measure`] measures.
    pub plan: RunPlan,
    /// What a user may want to know.
    pub by_shell: Vec<ByShell>,
}

/// Makes the plan. Whether the programs can be started is not checked: [`crate::programs::startable::check`].
///
/// # Errors
/// [`RequestError`].
pub fn plan(request: RunRequest) -> Result<RequestedRun, RequestError> {
    let RunRequest { programs: asked, control: has_control, count, order, cpus, cwd, outputs, seed, rest } = request;
    let Programs { mut programs, by_shell } = programs(&asked)?;
    check_probes(&rest)?;
    let input = input(rest.input, rest.user.is_some())?;
    let cwd = match cwd {
        Some(folder) => absolute(&folder)?,
        None => Name::new(std::env::current_dir().map_err(RequestError::Folder)?.into_os_string().into_vec()),
    };
    let cpus = match cpus {
        Some(cpus) => cpus,
        None if rest.probes.is_some() => vec![one_cpu()?],
        None => Vec::new(),
    };
    give_outputs(outputs, &mut programs)?;
    if has_control {
        programs.extend(control(&programs));
    }
    let order = OrderRequest {
        order,
        independent_setups: rest.independent_setups,
        sched: rest.sched,
        is_probed: rest.probes.is_some(),
        finds_difference: count.difference.is_some(),
    };
    let plan = RunPlan {
        order: order.choose(&programs)?,
        programs,
        runs: count.count()?,
        output: output(rest.output)?,
        input,
        cpus,
        cwd,
        seed: seed.unwrap_or_else(random_seed),
        hook_shell: asked.shell.shell().to_vec(),
        ..rest
    };
    MetricPatterns::new(&plan)?;
    Ok(RequestedRun { plan, by_shell })
}

/// Short enough to be typed again.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) >> 32
}

fn check_probes(plan: &RunPlan) -> Result<(), RequestError> {
    let Some(probes) = &plan.probes else { return Ok(()) };
    if let Some(Sched::Fifo(_)) = plan.sched {
        return Err(RequestError::RealTimeProbes { pauses: probes.gate.is_some() });
    }
    let [shortest, longest] = PERIODS;
    if probes.period < shortest || probes.period > longest {
        return Err(RequestError::ProbePeriod(probes.period));
    }
    Ok(())
}

fn input(input: Input, of_other_user: bool) -> Result<Input, RequestError> {
    let Input::File(name) = input else { return Ok(input) };
    let file = Path::new(OsStr::from_bytes(name.as_bytes()));
    let path = absolute(file)?;
    // Another user's file is opened with that user's rights only.
    if !of_other_user {
        let named = Path::new(OsStr::from_bytes(path.as_bytes()));
        check_readable(named).map_err(|cause| RequestError::Input { file: file.to_owned(), cause })?;
    }
    Ok(Input::File(path))
}

fn output(output: Output) -> Result<Output, RequestError> {
    match output {
        Output::File(name) => absolute(Path::new(OsStr::from_bytes(name.as_bytes()))).map(Output::File),
        other => Ok(other),
    }
}

/// An absolute path, which stays valid when the run is resumed from another folder.
fn absolute(path: &Path) -> Result<Name, RequestError> {
    let path = std::path::absolute(path).map_err(RequestError::Path)?;
    Ok(Name::new(path.into_os_string().into_vec()))
}

/// The CPU that programs are kept to if the user names none: the last one that may be used, as interrupts often go to the first.
fn one_cpu() -> Result<u32, RequestError> {
    let last = cpu::allowed().map_err(RequestError::Cpus)?.into_iter().next_back();
    last.ok_or(RequestError::NoCpu)
}

fn give_outputs(outputs: Vec<Output>, programs: &mut [Program]) -> Result<(), RequestError> {
    if outputs.is_empty() {
        return Ok(());
    }
    if outputs.len() != programs.len() {
        return Err(RequestError::Outputs { outputs: outputs.len(), programs: programs.len() });
    }
    for (program, to) in programs.iter_mut().zip(outputs) {
        program.output = Some(output(to)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::request::AskedProgram;
    use tarebench_core::quiet::data::ProbePlan;
    use tarebench_core::run::plan::{MetricPlan, RunCount};

    fn request() -> RunRequest {
        let programs = ["true", "false"].map(|p| AskedProgram::Line(p.to_owned())).to_vec();
        RunRequest::new(ProgramsRequest { programs, ..ProgramsRequest::default() })
    }

    #[test]
    fn what_is_asked_for_is_in_the_plan() {
        let mut asked = request();
        asked.control = true;
        asked.count.samples = Some(3);
        asked.cwd = Some("here".into());
        asked.outputs = vec![Output::Null, Output::File(Name::from("out"))];
        let made = plan(asked).unwrap().plan;
        let here = std::env::current_dir().unwrap();
        let name = |path: PathBuf| Name::new(path.into_os_string().into_vec());
        assert_eq!((made.runs, made.order, &made.cwd), (RunCount::Fixed(3), Order::Auto, &name(here.join("here"))));
        assert_eq!(made.programs[1].output, Some(Output::File(name(here.join("out")))));
        assert_eq!((made.programs[2].label.as_str(), made.programs[2].control), ("true (control)", true));
        assert_eq!(made.cpus, Vec::<u32>::new());
    }

    #[test]
    fn probes_have_limits() {
        let probed = |ms, sched| {
            let period = Nanos::from_millis(ms);
            let mut asked = request();
            asked.rest.probes = Some(ProbePlan { period, gate: None, correct: true });
            asked.rest.sched = sched;
            plan(asked)
        };
        for (ms, possible) in [(0, false), (1, true), (100, true), (101, false)] {
            assert_eq!(probed(ms, None).is_ok(), possible, "{ms}");
        }
        let made = probed(4, Some(Sched::Nice(5))).unwrap().plan;
        assert_eq!((made.cpus.len(), made.order), (1, Order::Rounds));
        let e = probed(4, Some(Sched::Fifo(1))).unwrap_err();
        assert!(matches!(e, RequestError::RealTimeProbes { pauses: false }), "{e}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |change: &dyn Fn(&mut RunRequest)| {
            let mut asked = request();
            change(&mut asked);
            plan(asked).unwrap_err().to_string()
        };
        let said = refused(&|r| r.outputs = vec![Output::Null]);
        assert_eq!(said, "1 outputs for 2 programs: expected one for each");
        let said = refused(&|r| r.rest.input = Input::File(Name::from("/nowhere")));
        assert!(said.starts_with("the input /nowhere: No such file"), "{said}");
        let twice = MetricPlan { name: "a".to_owned(), pattern: "b".to_owned() };
        assert_eq!(refused(&|r| r.rest.metrics = vec![twice.clone(); 2]), "two metrics have the name `a`");
        assert_eq!(refused(&|r| (r.count.min, r.count.max) = (Some(3), Some(2))), "at least 3 samples, but at most 2");
    }
}
