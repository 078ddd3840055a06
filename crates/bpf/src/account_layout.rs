// Made by build.sh from account.h.
pub const CLASS_OUTSIDE: usize = 0;
pub const CLASS_MAIN: usize = 1;
pub const CLASS_OTHERS: usize = 2;
pub const CLASSES: usize = 3;
pub const CLASS_WARMING: usize = 3;
pub const SIDES: usize = 2;
pub const SIDE_CLASS: usize = 4;
pub const SLOT_ON_CPU: usize = 0;
pub const SLOT_STOLEN: usize = 1;
pub const SLOT_RUNTIME: usize = 2;
pub const SLOT_PREEMPTED: usize = 3;
pub const SLOT_WOKEN: usize = 4;
pub const SLOT_TASKS: usize = 5;
pub const SLOT_SOFTIRQ: usize = 16;
pub const SOFTIRQS: usize = 16;
pub const SLOT_VECTOR: usize = 32;
pub const VECTORS: usize = 32;
pub const SLOT_IRQ: usize = 64;
pub const IRQS: usize = 448;
pub const SLOT_BLOCKED: usize = 512;
pub const CALLS: usize = 512;
pub const CALL_ENDED: usize = 506;
pub const CALL_IO: usize = 507;
pub const CALL_STOPPED: usize = 508;
pub const CALL_NEW: usize = 509;
pub const CALL_FAULT: usize = 510;
pub const CALL_OTHER: usize = 511;
pub const SLOTS: usize = 1024;
pub const WORD_TASK: usize = 0;
pub const WORD_CLASS: usize = 1;
pub const WORD_DEPTH: usize = 2;
pub const WORD_FRAMES: usize = 3;
pub const FRAMES: usize = 6;
pub const WORD_SINCE: usize = 15;
pub const WORD_STEAL: usize = 16;
pub const WORD_RUNTIME: usize = 17;
pub const WORD_LOST: usize = 18;
pub const WORD_LATE: usize = 19;
pub const WORD_NEXT: usize = 20;
pub const WORD_CHARGED: usize = 23;
pub const WORD_PREEMPTOR: usize = 24;
pub const WORD_QUEUE_CLOCK: usize = 27;
pub const WORD_QUEUE_STEAL: usize = 28;
pub const WORD_SUMS: usize = 32;
pub const CPU_WORDS: usize = 6176;
pub const SECOND_WORDS: usize = 6144;
pub const CONTROL_STATE: usize = 0;
pub const CONTROL_TARE: usize = 1;
pub const CONTROL_BASE: usize = 2;
pub const CONTROL_GENERATION: usize = 3;
pub const CONTROL_WARMING: usize = 4;
pub const CONTROL_STEAL_KNOWN: usize = 5;
pub const CONTROL_STEAL_LEFT_OUT: usize = 6;
pub const CONTROL_IRQ_LEFT_OUT: usize = 7;
pub const CONTROL_WANTED: usize = 8;
pub const CONTROL_STARTED: usize = 9;
pub const CONTROL_STACK: usize = 10;
pub const CONTROL_SIDES: usize = 16;
pub const SIDE_MAIN: usize = 0;
pub const SIDE_LEADER: usize = 1;
pub const SIDE_EXEC: usize = 2;
pub const SIDE_EXITED: usize = 3;
pub const SIDE_END: usize = 4;
pub const SIDE_LEFT: usize = 5;
pub const SIDE_WORDS: usize = 8;
pub const CONTROL_WORDS: usize = 32;
pub const TASK_SINCE: usize = 0;
pub const TASK_STATE: usize = 1;
pub const TASK_CLASS: usize = 2;
pub const TASK_CPU: usize = 3;
pub const TASK_CALL: usize = 4;
pub const TASK_GENERATION: usize = 5;
pub const TASK_RUNTIME: usize = 6;
pub const TASK_OFFSET: usize = 7;
pub const TASK_STEAL: usize = 8;
pub const TASK_WORDS: usize = 9;
pub const STEAL_NOT_KNOWN: usize = 9223372036854775807;
pub const STATE_RUNNING: usize = 0;
pub const STATE_PREEMPTED: usize = 1;
pub const STATE_WOKEN: usize = 2;
pub const STATE_BLOCKED: usize = 3;
pub const FILTER_BYTES: usize = 16384;
pub const PREEMPTOR_USER: usize = 0;
pub const PREEMPTOR_KERNEL: usize = 1;
pub const PREEMPTOR_SELF: usize = 2;
pub const PREEMPTOR_TARE: usize = 3;
pub const PREEMPTOR_NOBODY: usize = 4;
pub const PREEMPTOR_PARTNER: usize = 5;
pub const NAME_BYTES: usize = 16;
pub const COST_WORDS: usize = 4;
pub const PREEMPTOR_WORDS: usize = 8;
pub const VECTOR_NAMES: &[&str] = &[
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "x86_platform_ipi",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
    "error_apic",
    "spurious_apic",
];
