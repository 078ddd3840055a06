/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Interrupts of x86 with tracepoints of their own (arch/x86/include/asm/trace/irq_vectors.h): X(number, tracepoint).
 * Those of other architectures come by irq_handler_entry and irq_handler_exit, or are not seen (arm64's IPIs). */
X(0, local_timer)
X(1, reschedule)
X(2, call_function)
X(3, call_function_single)
X(4, irq_work)
X(5, x86_platform_ipi)
X(6, thermal_apic)
X(7, threshold_apic)
X(8, deferred_error_apic)
X(9, error_apic)
X(10, spurious_apic)
