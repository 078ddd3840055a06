//! `tare run`: time programs by the protocol.

use crate::args::exports::Exports;
use crate::args::style::Show;
use crate::exit::{Exit, Failure};
use crate::machine::tune::TuneAround;
use crate::progress::Progress;
use crate::run::args::RunArgs;
use crate::run::plan;
use crate::run::self_check;
use tarebench::run::session::{Measured, Options, Why, measure};
use tarebench::sys::signals::Signals;

pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    if let Some(rounds) = args.self_check {
        return self_check::run(rounds, &args.style.show()?);
    }
    let plan = plan::build(&args)?;
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named());
    let mut place = args.store.place()?;
    let signals = Signals::install().map_err(Failure::system)?;
    let tuned = args.tuning.begin(&signals)?;
    let notes = tuned.as_ref().map(|t| t.report().notes()).unwrap_or_default();
    let mut progress = Progress::new(&show, &plan);
    let options = Options { pt_source: args.pt_source.map(Into::into), notes };
    let measured = measure(plan, &mut place, options, &signals, &mut |run, e| progress.on(run, &e));
    drop(progress);
    let restored = TuneAround::end(tuned);
    let exit = finish(measured?, &show, &args.exports)?;
    restored.map(|()| exit)
}

/// Prints and exports what was measured, and says how it ended.
pub fn finish(measured: Measured, show: &Show, exports: &Exports) -> Result<Exit, Failure> {
    let mut report = measured.report();
    show.compare(&mut report);
    show.report(&report, &measured.samples, exports)?;
    exports.write(&report, &measured.samples, &show.style)?;
    show.failures(&report);
    let resume = match measured.run.id {
        0 => None,
        id => Some(format!("`{}` goes on with it", show.resume_command(id))),
    };
    let with_hint = |f: Failure| match &resume {
        Some(hint) => f.hint(hint.clone()),
        None => f,
    };
    match measured.why {
        Why::Finished if report.series.iter().any(|s| s.failures.iter().any(|f| !f.ignored)) => Ok(Exit::ProgramFailed),
        Why::Finished => Ok(Exit::Done),
        Why::Interrupted(signal) => {
            let n = measured.samples.len();
            let message = format!("interrupted by signal {signal}; {n} samples are kept");
            Err(with_hint(Failure { exit: Exit::Interrupted, message, hint: None }))
        }
        Why::NotKept(e) => {
            let message = format!("the last sample could not be stored, so measuring stopped: {e}");
            Err(with_hint(Failure { exit: Exit::System, message, hint: None }))
        }
        Why::Failed(e) => Err(with_hint(Failure::system(format!("measuring stopped: {e}")))),
    }
}
