//! One timed execution, with everything that was observed around it.

pub mod account;
pub mod calls;
pub mod cgroup_limits;
pub mod counters;
pub mod daemons;
pub mod data;
pub mod families;
pub mod measure;
pub mod probes;
pub mod process_time;
#[cfg(test)]
pub(crate) mod test_samples;
