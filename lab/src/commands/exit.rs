//! What the command says of a lab's errors.

use crate::server::LabError;
use tarebench_cli::exit::{Exit, Failure};

impl From<LabError> for Failure {
    fn from(e: LabError) -> Failure {
        use LabError as L;
        let (exit, hint) = match e {
            L::Store(e) => return e.into(),
            L::NotALab { .. } => (Exit::Usage, "make the database a lab with: `tare lab init URL`"),
            L::Version { found, known, .. } if found < known => {
                (Exit::System, "bring it up to date with: `tare lab init URL`, as the owner of its tables")
            }
            L::Version { .. } => (Exit::System, "use the version of tare that wrote it"),
            L::NoSuchCampaign { .. } | L::AmbiguousCampaign { .. } => {
                (Exit::Usage, "`tare lab status` lists the campaigns")
            }
            L::NoSuchMachine { .. } => (Exit::Usage, "`tare lab machines` lists the machines"),
            L::NotYours { .. } | L::Replaced { .. } => {
                (Exit::System, "give each machine a name of its own: `tare lab agent --name NAME`")
            }
            _ => return Failure::system(e),
        };
        Failure { exit, message: e.to_string(), hint: Some(hint.to_owned()) }
    }
}
