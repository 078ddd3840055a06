//! Exit codes of the command.

use tarebench::core::base::signal::Signal;
use tarebench::sys::signals;

/// Exit code of a command; `tare help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// A program failed. Its samples are stored and marked.
    ProgramFailed = 1,
    /// Usage error; nothing was measured.
    Usage = 2,
    /// A required step or factor (`--require`) does not hold.
    Required = 3,
    /// The store or the system failed; the samples so far were printed.
    System = 4,
    /// A benchmark of a gate is slower.
    Regression = 5,
    /// A gate could not decide, and was asked to count that as a failure; or the times of `tare fit` cannot tell; or
    /// the machine does not have the counter to compare by.
    Inconclusive = 6,
    /// Interrupted; the samples so far were stored and printed.
    Interrupted = 130,
}

/// A failure: its exit code, a sentence, and a hint.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// What happened, where, and what was expected.
    pub message: String,
    /// What to do, if that helps.
    pub hint: Option<String>,
}

impl Exit {
    /// Partly done: a setting was refused, or changed by another process.
    pub const PARTIAL: Exit = Exit::ProgramFailed;
    /// `tare doctor` found a factor that is not as recommended, or `tare profile check` an unknown daemon.
    pub const NOT_AS_WANTED: Exit = Exit::ProgramFailed;
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, message: message.into(), hint: None }
    }

    /// A failure of the system or the store.
    pub fn system(message: impl std::fmt::Display) -> Failure {
        Failure { exit: Exit::System, message: message.to_string(), hint: None }
    }

    /// A signal asked tare to end before anything was measured.
    pub fn interrupted(signal: i32) -> Failure {
        let message = format!("interrupted by {} before anything was measured", Signal(signal));
        Failure { exit: Exit::Interrupted, message, hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl From<tarebench::store::StoreError> for Failure {
    fn from(e: tarebench::store::StoreError) -> Failure {
        use tarebench::store::StoreError as S;
        if let (S::Busy { path, .. }, Some(signal)) = (&e, signals::pending()) {
            let text = format!(
                "interrupted by {} while another process wrote to the store {}",
                Signal(signal),
                path.display()
            );
            return Failure { exit: Exit::Interrupted, message: text, hint: None };
        }
        let hint = match &e {
            S::ReadOnly { .. } | S::Full { .. } | S::TooLarge { .. } | S::NoPlace | S::NotADatabase { .. } => {
                Some("select another file with --db FILE or TARE_DB, or store nothing with --db none")
            }
            S::NoSuch { .. } => Some("`tare list` shows what is stored"),
            S::Older { .. } => Some(
                "run `tare list` as a user who may write to the store's file and folder, which brings it up to date",
            ),
            S::Missing { .. } => Some("`tare run` makes one; --db FILE or TARE_DB names another"),
            S::BadPlace { .. } => Some("a server is named as for psql: postgresql://USER@HOST/DATABASE"),
            S::LoginRefused { .. } => Some(
                "give the password in ~/.pgpass (mode 0600), PGPASSFILE or PGPASSWORD; the server's pg_hba.conf decides who may log in",
            ),
            S::NotPermitted { .. } => Some(
                "`tare lab init URL` makes the tables and roles; ask their owner for the role tare_reader, tare_agent or tare_admin",
            ),
            _ => None,
        };
        let exit = match &e {
            S::NoSuch { .. }
            | S::AmbiguousRun { .. }
            | S::Duplicate { .. }
            | S::DuplicateProfile { .. }
            | S::NewerArchive { .. }
            | S::BadArchive { .. }
            | S::BadPlace { .. } => Exit::Usage,
            _ => Exit::System,
        };
        Failure { exit, message: e.to_string(), hint: hint.map(str::to_owned) }
    }
}

impl From<tarebench::store::copy::PushError> for Failure {
    fn from(e: tarebench::store::copy::PushError) -> Failure {
        match e {
            tarebench::store::copy::PushError::Store(e) => e.into(),
            other => Failure::system(other),
        }
    }
}

impl From<tarebench::written::WrittenFileError> for Failure {
    fn from(e: tarebench::written::WrittenFileError) -> Failure {
        Failure { hint: e.hint.map(str::to_owned), ..Failure::usage(e.to_string()) }
    }
}

impl From<tarebench::documents::DocumentError> for Failure {
    fn from(e: tarebench::documents::DocumentError) -> Failure {
        use tarebench::documents::DocumentError as D;
        match e {
            D::Store(e) => e.into(),
            D::Content { .. } => Failure::system(e),
            D::Finished(id) => Failure::usage(e.to_string()).hint(format!("`tare show {id}` prints it")),
            D::NoStore(_) | D::Elsewhere { .. } => Failure::usage(e.to_string()),
        }
    }
}

impl From<tarebench::compare::gate::GateError> for Failure {
    fn from(e: tarebench::compare::gate::GateError) -> Failure {
        use tarebench::compare::gate::GateError as G;
        match e {
            G::Document(e) => e.into(),
            G::Session(e) => e.into(),
            G::Imported(_) => Failure::usage(e.to_string()).hint("run the gate on this machine with `tare gate`"),
            G::NotKept(_) | G::Failed(_) | G::Runs { .. } => Failure::system(e),
        }
    }
}

impl From<tarebench::core::run::plan::DependentSetups> for Failure {
    fn from(e: tarebench::core::run::plan::DependentSetups) -> Failure {
        Failure::usage(format!("{e}: all programs would be timed with the result of the last setup command"))
            .hint("use --order sequential, or --independent-setup if no setup undoes another's")
    }
}

impl From<tarebench::run::session::SessionError> for Failure {
    fn from(e: tarebench::run::session::SessionError) -> Failure {
        use tarebench::run::session::SessionError as S;
        match e {
            S::Store(e) => e.into(),
            S::Required(_) => Failure { exit: Exit::Required, message: e.to_string(), hint: None }
                .hint("`tare doctor` shows the factors; `tare profile` learns this machine's profile"),
            S::NoProfile(_) => Failure::usage(e.to_string())
                .hint("`tare profile list` shows the profiles; leave out --profile, or use --profile none"),
            S::Finished(id) => Failure::usage(e.to_string()).hint(format!("`tare show {id}` prints it")),
            S::Recording { ref profile, .. } => {
                let hint = format!("resume with: `tare profile resume {}`", shell_words::quote(profile));
                Failure::usage(e.to_string()).hint(hint)
            }
            S::NotResumable(_) => Failure::usage(e.to_string()),
            S::Imported(_) => Failure::usage(e.to_string())
                .hint("nothing was run; if you trust the commands above, add --trust-imported"),
            S::DependentSetups(e) => e.into(),
            S::Run(e) => match e {
                tarebench::RunError::Plan(text) => Failure::usage(text),
                other => Failure::system(other),
            },
        }
    }
}
