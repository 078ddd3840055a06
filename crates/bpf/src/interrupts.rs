//! Interrupts: the tracepoints that both kernel programs attach to, and the names of what these report.

use crate::kernel_types::KernelTypes;
use crate::layout::account::VECTOR_NAMES;
use crate::object::Loader;
use crate::program::BpfError;
use std::path::Path;
use tarebench_core::base::reading::Absent;
use tarebench_sys::procfs::{InterruptLine, parse_interrupts, read_below};

/// Tracepoints that every kernel has.
const TRACEPOINTS: [&str; 4] = ["irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit"];

/// Those that a kernel may lack, by configuration and architecture; in the order of `account_vectors.h`.
const VECTOR_TRACEPOINTS: &[(&str, &str)] = &[
    ("local_timer_entry", "local_timer_exit"),
    ("reschedule_entry", "reschedule_exit"),
    ("call_function_entry", "call_function_exit"),
    ("call_function_single_entry", "call_function_single_exit"),
    ("irq_work_entry", "irq_work_exit"),
    ("x86_platform_ipi_entry", "x86_platform_ipi_exit"),
    ("thermal_apic_entry", "thermal_apic_exit"),
    ("threshold_apic_entry", "threshold_apic_exit"),
    ("deferred_error_apic_entry", "deferred_error_apic_exit"),
    ("error_apic_entry", "error_apic_exit"),
    ("spurious_apic_entry", "spurious_apic_exit"),
];

/// Position of the local timer among the vectors.
pub const LOCAL_TIMER: usize = 0;

/// Softirq vectors in the kernel's order (include/linux/interrupt.h).
const SOFTIRQ_NAMES: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Attaches the programs of an object that handle interrupts; returns the tracepoints that this kernel does not have.
/// A program has the name of its tracepoint, unless `named` gives another.
pub(crate) fn attach_interrupts(
    loader: &mut Loader,
    types: &KernelTypes,
    named: impl Fn(&'static str) -> &'static str,
) -> Result<Vec<&'static str>, BpfError> {
    for tracepoint in TRACEPOINTS {
        loader.attach_needed(named(tracepoint), tracepoint, types)?;
    }
    let mut missing = Vec::new();
    for (entry, exit) in VECTOR_TRACEPOINTS {
        let here = types.tracepoint(entry).is_some() && types.tracepoint(exit).is_some();
        if !here || !loader.attach(named(entry), entry, types)? || !loader.attach(named(exit), exit, types)? {
            missing.push(*entry);
        }
    }
    Ok(missing)
}

/// The names under which this machine's interrupts are shown.
#[derive(Clone, Debug, Default)]
pub struct InterruptNames(Vec<InterruptLine>);

impl InterruptNames {
    /// Those of `/proc/interrupts`.
    pub fn read() -> Result<InterruptNames, Absent> {
        let read = read_below(Path::new("/"), "proc/interrupts");
        let data = read.map_err(|e| e.absent("a readable /proc/interrupts"))?;
        Ok(InterruptNames(parse_interrupts(&data)))
    }

    /// From lines of `/proc/interrupts`.
    pub fn new(lines: Vec<InterruptLine>) -> InterruptNames {
        InterruptNames(lines)
    }

    /// Of an interrupt with a separate tracepoint, by its number in `account_vectors.h`.
    pub fn vector(&self, n: usize) -> String {
        VECTOR_NAMES.get(n).map_or_else(|| format!("vector {n}"), |s| (*s).to_owned())
    }

    /// Of a device's interrupt.
    pub fn irq(&self, n: usize) -> String {
        let label = n.to_string();
        match self.0.iter().find(|i| i.label == label) {
            Some(i) => format!("{} (IRQ {n})", i.what),
            None => format!("IRQ {n}"),
        }
    }

    pub fn softirq(&self, n: usize) -> String {
        SOFTIRQ_NAMES.get(n).map_or_else(|| format!("softirq {n}"), |s| (*s).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::account::VECTORS;

    #[test]
    fn interrupts_have_one_name_on_both_sides() {
        assert!(VECTOR_NAMES.len() == VECTOR_TRACEPOINTS.len() && VECTOR_NAMES.len() <= VECTORS);
        for (name, (entry, exit)) in VECTOR_NAMES.iter().zip(VECTOR_TRACEPOINTS) {
            assert_eq!((format!("{name}_entry"), format!("{name}_exit")), ((*entry).to_owned(), (*exit).to_owned()));
        }
        assert_eq!(VECTOR_NAMES.get(LOCAL_TIMER), Some(&"local_timer"));
    }

    #[test]
    fn names_are_those_of_the_machine_or_numbers() {
        let lines = b"  CPU0 CPU1\n 42: 5 6 PCI-MSI 1-edge virtio3-tx\nLOC: 1 2 Local timer interrupts\n";
        let names = InterruptNames::new(parse_interrupts(lines));
        assert_eq!((names.irq(42).as_str(), names.irq(43).as_str()), ("virtio3-tx (IRQ 42)", "IRQ 43"));
        assert_eq!((names.softirq(9).as_str(), names.softirq(12).as_str()), ("RCU", "softirq 12"));
        assert_eq!((names.vector(1).as_str(), names.vector(40).as_str()), ("reschedule", "vector 40"));
    }
}
