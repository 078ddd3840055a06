/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The records of account.bpf.c that user space reads, as numbers only: build.sh makes account_layout.rs of it, so that
 * both sides have one definition. All records are arrays of 64-bit words. */

/* Whose time: before the program's exec and after its end; its main thread; its other tasks. Those of the second of two
 * programs are as much higher as SIDE_CLASS. */
#define CLASS_OUTSIDE 0
#define CLASS_MAIN 1
#define CLASS_OTHERS 2
#define CLASSES 3
/* What is run before a sample to warm the kernel's paths up: followed like a program, and summed nowhere. */
#define CLASS_WARMING 3
/* Two programs at most are followed at once, the first and the second that tare starts. */
#define SIDES 2
#define SIDE_CLASS 4

/* Sums of a class: each has nanoseconds and a count. */
#define SLOT_ON_CPU 0
#define SLOT_STOLEN 1
#define SLOT_RUNTIME 2
#define SLOT_PREEMPTED 3
#define SLOT_WOKEN 4
#define SLOT_TASKS 5
/* Softirqs by vector. */
#define SLOT_SOFTIRQ 16
#define SOFTIRQS 16
/* Interrupts that have a tracepoint of their own, in the order of account_vectors.h. */
#define SLOT_VECTOR 32
#define VECTORS 32
/* Device interrupts by number; the last one has all beyond. */
#define SLOT_IRQ 64
#define IRQS 448
/* Blocked, by system call; the last ones are no calls. */
#define SLOT_BLOCKED 512
#define CALLS 512
#define CALL_ENDED 506
#define CALL_IO 507
#define CALL_STOPPED 508
#define CALL_NEW 509
#define CALL_FAULT 510
#define CALL_OTHER 511
#define SLOTS 1024

/* Words of a CPU's record: the head, then CLASSES * SLOTS pairs. What every interrupt reads shares a cache line. */
#define WORD_TASK 0
#define WORD_CLASS 1
#define WORD_DEPTH 2
#define WORD_FRAMES 3
#define FRAMES 6
#define WORD_SINCE 15
#define WORD_STEAL 16
#define WORD_RUNTIME 17
#define WORD_LOST 18
#define WORD_LATE 19
/* The task that the last switch gave this CPU to, where some waited for it, as a preemptor's key; and when. */
#define WORD_NEXT 20
#define WORD_CHARGED 23
/* What functions that are verified for themselves take and give: before Linux 5.13 they have no pointers as arguments. The key of
 * the task whose cost is charged; the run queue's clock and steal time. */
#define WORD_PREEMPTOR 24
#define WORD_QUEUE_CLOCK 27
#define WORD_QUEUE_STEAL 28
#define WORD_SUMS 32
#define CPU_WORDS 6176
/* Words of a CPU's record for the second program: its sums only. */
#define SECOND_WORDS 6144

/* Words of the control record. */
#define CONTROL_STATE 0
#define CONTROL_TARE 1
#define CONTROL_BASE 2
#define CONTROL_GENERATION 3
#define CONTROL_WARMING 4
#define CONTROL_STEAL_KNOWN 5
#define CONTROL_STEAL_LEFT_OUT 6
#define CONTROL_IRQ_LEFT_OUT 7
/* How many programs are to be followed, and were started. */
#define CONTROL_WANTED 8
#define CONTROL_STARTED 9
/* Bytes of a task's stack in the kernel. */
#define CONTROL_STACK 10
/* Of each program: its process, its main thread's record, and moments. */
#define CONTROL_SIDES 16
#define SIDE_MAIN 0
#define SIDE_LEADER 1
#define SIDE_EXEC 2
#define SIDE_EXITED 3
#define SIDE_END 4
#define SIDE_LEFT 5
#define SIDE_WORDS 8
#define CONTROL_WORDS 32

/* Words of a task's record, which is kept by its address: exec by another thread than the first one swaps ids. */
#define TASK_SINCE 0
#define TASK_STATE 1
#define TASK_CLASS 2
#define TASK_CPU 3
#define TASK_CALL 4
#define TASK_GENERATION 5
/* Its run time when it left its CPU. */
#define TASK_RUNTIME 6
/* When it began to wait: this clock less the scheduler's, and the hypervisor's account, if that is of the CPU it waits for. */
#define TASK_OFFSET 7
#define TASK_STEAL 8
#define TASK_WORDS 9
#define STEAL_NOT_KNOWN 9223372036854775807
#define STATE_RUNNING 0
#define STATE_PREEMPTED 1
#define STATE_WOKEN 2
#define STATE_BLOCKED 3

/* A byte for each hash of a thread id that may be known. */
#define FILTER_BYTES 16384

/* A preemptor's key: kind, then the name; its value: ns and count of MAIN, then of OTHERS, then the same of the second
 * program. The kinds without a name are the programs: the first (SELF) and the second (PARTNER). */
#define PREEMPTOR_USER 0
#define PREEMPTOR_KERNEL 1
#define PREEMPTOR_SELF 2
#define PREEMPTOR_TARE 3
#define PREEMPTOR_NOBODY 4
#define PREEMPTOR_PARTNER 5
#define NAME_BYTES 16
#define COST_WORDS 4
#define PREEMPTOR_WORDS 8
