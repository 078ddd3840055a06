//! What is said of the CPUs that a measurement uses.

use std::path::Path;
use tarebench::sys::topology::shared_cores;

/// Reports on standard error which of these CPUs are hyper-threads of one core: they share its units and caches.
pub fn say_shared(cpus: &[u32]) {
    for core in shared_cores(Path::new("/"), cpus) {
        eprintln!("tare: {}", sentence(&core));
    }
}

fn sentence(core: &[u32]) -> String {
    let (last, others) = core.split_last().map_or((0, &[][..]), |(last, others)| (*last, others));
    let others: Vec<String> = others.iter().map(u32::to_string).collect();
    format!(
        "CPUs {} and {last} are hyper-threads of one core: what runs on one slows the other; --cpus names others",
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_a_core_are_named() {
        assert!(sentence(&[2, 6]).starts_with("CPUs 2 and 6 are hyper-threads of one core"));
        assert!(sentence(&[0, 1, 2, 3]).starts_with("CPUs 0, 1, 2 and 3 are"));
    }
}
