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
use tarebench_core::run::plan::{Input, Order, Output, Program, RunPlan};
use tarebench_run::metrics::{MetricPatterns, MetricRefused};
use tarebench_sys::opened_as::check_readable;
use tarebench_sys::{SysError, cpu};

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
    /// All else. Its programs, hook shell, order, number of samples, CPUs and working directory are replaced by what is asked for
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
    let RunRequest { programs: asked, control: has_control, count, order, cpus, cwd, outputs, rest } = request;
    let Programs { mut programs, by_shell } = programs(&asked)?;
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
        hook_shell: asked.shell.shell().to_vec(),
        ..rest
    };
    MetricPatterns::new(&plan)?;
    Ok(RequestedRun { plan, by_shell })
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
