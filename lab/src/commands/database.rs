//! The lab that a command is about.

use crate::postgres::PostgresPlace;
use crate::server::Lab;
use clap::Args;
use std::ffi::OsString;
use tarebench_cli::args::store::environment;
use tarebench_cli::exit::Failure;
use tarebench_cli::pushed::check;

/// The lab's database.
#[derive(Args)]
pub struct LabDatabase {
    /// The lab: a PostgreSQL database, postgresql://USER@HOST/DATABASE [default: what PGSERVICE or PGHOST name]
    #[arg(long, value_name = "URL", env = "TARE_DB", hide_env_values = true, help_heading = "Store")]
    db: Option<OsString>,
}

impl LabDatabase {
    /// Where it is.
    pub fn place(&self) -> Result<PostgresPlace, Failure> {
        match &self.db {
            Some(name) if !name.is_empty() => place(name),
            _ if ["PGSERVICE", "PGHOST"].into_iter().any(|v| environment(v).is_some()) => {
                place(&"postgresql://".into())
            }
            _ => Err(Failure::usage("there is no lab: expected --db URL or TARE_DB").hint(NAME_ONE)),
        }
    }

    /// A connection to it.
    pub fn open(&self) -> Result<(Lab, PostgresPlace), Failure> {
        let place = self.place()?;
        Ok((Lab::connect(&place)?, place))
    }
}

const NAME_ONE: &str = "name one as postgresql://USER@HOST/DATABASE; `tare lab init URL` makes it a lab";

/// The server of this name.
pub fn place(name: &OsString) -> Result<PostgresPlace, Failure> {
    if !tarebench::store::is_server(name) {
        let text = format!("`{}` is a file: a lab is a PostgreSQL database", name.to_string_lossy());
        return Err(Failure::usage(text).hint(NAME_ONE));
    }
    let place = PostgresPlace::parse(&name.to_string_lossy(), &environment)?;
    check(name)?;
    Ok(place)
}
