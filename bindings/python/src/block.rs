//! A block of Python code: what the kernel counts for its thread or process from its beginning to its end.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use tarebench::core::base::units::Nanos;
use tarebench::sys::{clock, process};

/// Counts of a thread or process at one time.
#[derive(Clone, Copy)]
struct BlockCounts {
    pid: i32,
    tid: i32,
    /// Time in the run queue; None where the kernel has none, and for processes.
    waiting: Option<Nanos>,
    usage: Option<BlockUsage>,
    cpu: Nanos,
    at: Nanos,
}

#[derive(Clone, Copy)]
struct BlockUsage {
    user: Nanos,
    system: Nanos,
    minor_faults: i64,
    major_faults: i64,
    voluntary_switches: i64,
    involuntary_switches: i64,
}

fn usage(of_process: bool) -> Option<BlockUsage> {
    let whose = if of_process { libc::RUSAGE_SELF } else { libc::RUSAGE_THREAD };
    // SAFETY: all-zero is a valid rusage, and it is valid for writing.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        (libc::getrusage(whose, &mut u) == 0).then_some(u)?
    };
    let time = |t: libc::timeval| Nanos::from_micros(t.tv_sec.saturating_mul(1_000_000).saturating_add(t.tv_usec));
    Some(BlockUsage {
        user: time(u.ru_utime),
        system: time(u.ru_stime),
        minor_faults: u.ru_minflt,
        major_faults: u.ru_majflt,
        voluntary_switches: u.ru_nvcsw,
        involuntary_switches: u.ru_nivcsw,
    })
}

fn waiting(of_process: bool, tid: i32) -> Option<Nanos> {
    // The kernel has it by thread, and forgets it with the thread.
    if of_process { None } else { process::schedstat(tid).ok().map(|(_, waiting)| waiting) }
}

fn cpu(of_process: bool) -> Nanos {
    if of_process { clock::own_cpu() } else { clock::thread_cpu() }
}

impl BlockCounts {
    /// The clocks last, so that the other readings are not in the block.
    fn before(of_process: bool) -> BlockCounts {
        let (pid, tid) = (process::own_pid(), process::own_tid());
        let (waiting, usage) = (waiting(of_process, tid), usage(of_process));
        let cpu = cpu(of_process);
        BlockCounts { pid, tid, waiting, usage, cpu, at: clock::monotonic() }
    }

    /// The clocks first.
    fn after(of_process: bool) -> BlockCounts {
        let at = clock::monotonic();
        let (cpu, usage) = (cpu(of_process), usage(of_process));
        let (pid, tid) = (process::own_pid(), process::own_tid());
        BlockCounts { pid, tid, waiting: waiting(of_process, tid), usage, cpu, at }
    }
}

/// A block, from `with` to its end; times in ns. May be used again, when it has ended.
#[pyclass(module = "tarebench._native")]
pub struct Measurement {
    of_process: bool,
    begun: Option<BlockCounts>,
    ended: Option<BlockCounts>,
}

/// Why a figure is absent.
enum NoFigure {
    NotEnded,
    Because(&'static str),
}

const FORKED: &str = "the block ended in another process than it began in";
const MOVED: &str = "the block ended on another thread than it began on";
const NOT_READ: &str = "the kernel does not report it";
const NO_ACCOUNT: &str =
    "tare traces the programs that it starts, not a block of a process that runs already: use tarebench.run()";
const BY_THREAD: &str = "the kernel counts it by thread, and forgets it when a thread ends: use measure(of=\"thread\")";

impl Measurement {
    fn ends(&self) -> Result<(&BlockCounts, &BlockCounts), NoFigure> {
        self.begun.as_ref().zip(self.ended.as_ref()).ok_or(NoFigure::NotEnded)
    }

    /// Both ends, if they were read on the same process, and thread.
    fn same_task(&self) -> Result<(&BlockCounts, &BlockCounts), NoFigure> {
        let (begun, ended) = self.ends()?;
        if begun.pid != ended.pid {
            return Err(NoFigure::Because(FORKED));
        }
        if !self.of_process && begun.tid != ended.tid {
            return Err(NoFigure::Because(MOVED));
        }
        Ok((begun, ended))
    }

    fn counted(&self, count: fn(&BlockUsage) -> i64) -> Result<i64, NoFigure> {
        let (begun, ended) = self.same_task()?;
        let both = begun.usage.as_ref().zip(ended.usage.as_ref()).ok_or(NoFigure::Because(NOT_READ))?;
        Ok(count(both.1).saturating_sub(count(both.0)))
    }

    fn cpu_time(&self) -> Result<i64, NoFigure> {
        self.same_task().map(|(begun, ended)| (ended.cpu - begun.cpu).0)
    }

    fn run_queue(&self) -> Result<i64, NoFigure> {
        let (begun, ended) = self.same_task()?;
        let why = if self.of_process { BY_THREAD } else { NOT_READ };
        let (before, after) = begun.waiting.zip(ended.waiting).ok_or(NoFigure::Because(why))?;
        Ok((after - before).0)
    }
}

/// None where a figure is absent; an exception before the block has ended.
fn known(found: Result<i64, NoFigure>) -> PyResult<Option<i64>> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(NoFigure::Because(_)) => Ok(None),
        Err(NoFigure::NotEnded) => Err(PyRuntimeError::new_err("the measured block has not ended")),
    }
}

#[pymethods]
impl Measurement {
    #[new]
    #[pyo3(signature = (of_process))]
    fn new(of_process: bool) -> Measurement {
        Measurement { of_process, begun: None, ended: None }
    }

    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyResult<PyRefMut<'_, Self>> {
        if slf.begun.is_some() && slf.ended.is_none() {
            return Err(PyRuntimeError::new_err("the measured block has begun already: make another with measure()"));
        }
        slf.ended = None;
        slf.begun = Some(BlockCounts::before(slf.of_process));
        Ok(slf)
    }

    fn __repr__(&self) -> String {
        let Ok((begun, ended)) = self.ends() else { return "Measurement(not ended)".to_owned() };
        let pt = self.cpu_time().map_or_else(|_| "None".to_owned(), |pt| pt.to_string());
        format!("Measurement(et={}, pt={pt})", (ended.at - begun.at).0)
    }

    /// The block's exception, if any, goes on.
    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, pyo3::types::PyTuple>) -> bool {
        self.ended = Some(BlockCounts::after(self.of_process));
        false
    }

    /// Elapsed time, ns.
    #[getter]
    fn et(&self) -> PyResult<Option<i64>> {
        known(self.ends().map(|(begun, ended)| (ended.at - begun.at).0))
    }

    /// CPU time of the thread or process, ns; None if the block ended in another one.
    #[getter]
    fn pt(&self) -> PyResult<Option<i64>> {
        known(self.cpu_time())
    }

    /// CPU time in user mode, ns, as the kernel divides CPU time.
    #[getter]
    fn user(&self) -> PyResult<Option<i64>> {
        known(self.counted(|u| u.user.0))
    }

    /// CPU time in the kernel, ns.
    #[getter]
    fn system(&self) -> PyResult<Option<i64>> {
        known(self.counted(|u| u.system.0))
    }

    /// Time for which the thread waited for a CPU, ns; None for processes.
    #[getter]
    fn waiting(&self) -> PyResult<Option<i64>> {
        known(self.run_queue())
    }

    /// Context switches by waiting.
    #[getter]
    fn voluntary_switches(&self) -> PyResult<Option<i64>> {
        known(self.counted(|u| u.voluntary_switches))
    }

    /// Context switches by preemption.
    #[getter]
    fn involuntary_switches(&self) -> PyResult<Option<i64>> {
        known(self.counted(|u| u.involuntary_switches))
    }

    /// Page faults without I/O.
    #[getter]
    fn minor_faults(&self) -> PyResult<Option<i64>> {
        known(self.counted(|u| u.minor_faults))
    }

    /// Page faults with I/O.
    #[getter]
    fn major_faults(&self) -> PyResult<Option<i64>> {
        known(self.counted(|u| u.major_faults))
    }

    /// Net time: always None, as a block is not traced.
    #[getter]
    fn net(&self) -> PyResult<Option<i64>> {
        known(self.ends().and(Err(NoFigure::Because(NO_ACCOUNT))))
    }

    /// Time of other processes: always None, as a block is not traced.
    #[getter]
    fn daemons(&self) -> PyResult<Option<i64>> {
        known(self.ends().and(Err(NoFigure::Because(NO_ACCOUNT))))
    }

    /// Why figures are None, by their names.
    #[getter]
    fn reasons(&self) -> PyResult<BTreeMap<&'static str, &'static str>> {
        let all = [
            ("pt", self.cpu_time()),
            ("user", self.counted(|u| u.user.0)),
            ("system", self.counted(|u| u.system.0)),
            ("waiting", self.run_queue()),
            ("voluntary_switches", self.counted(|u| u.voluntary_switches)),
            ("involuntary_switches", self.counted(|u| u.involuntary_switches)),
            ("minor_faults", self.counted(|u| u.minor_faults)),
            ("major_faults", self.counted(|u| u.major_faults)),
            ("net", self.ends().and(Err(NoFigure::Because(NO_ACCOUNT)))),
            ("daemons", self.ends().and(Err(NoFigure::Because(NO_ACCOUNT)))),
        ];
        let mut reasons = BTreeMap::new();
        for (name, found) in all {
            match found {
                Ok(_) => {}
                Err(NoFigure::Because(why)) => {
                    reasons.insert(name, why);
                }
                Err(e) => return known(Err(e)).map(|_| reasons),
            }
        }
        Ok(reasons)
    }
}
