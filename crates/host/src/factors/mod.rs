//! The machine's factors: one table, in which each has a reader, a wanted state, a reason with its source, the EMP
//! step it belongs to, what is needed to change it, and a setter where there is one.
//!
//! EMP 4.1 (daemons; table XXVII), 4.2 (NTP), 4.3 (clock speed), 4.4 (kernel); SEDONA step A; what peers set.

mod changes;
mod clock_speed;
mod daemons;
mod isolation;
mod kernel;
mod load;
mod machine;
mod memory;
mod spec;
mod table;
mod time;
mod virtualization;

pub use crate::factors::changes::{changes, states};
pub(crate) use crate::factors::daemons::is_stopped_by_a_factor;
pub use crate::factors::daemons::{NON_CRITICAL, NON_CRITICAL_UNITS};
pub use crate::factors::machine::{Busy, FactorMachine, Process, format_cpu_list};
pub use crate::factors::spec::{FactorGroup, FactorSpec, FactorValue, Privilege};
pub use crate::factors::table::{UnknownFactor, find, read, read_all, select, settings, table};
pub(crate) use crate::factors::time::{is_ntp_script, is_ntp_unit};
