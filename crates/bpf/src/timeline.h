/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The records of timeline.bpf.c that user space reads, as numbers only: build.sh makes timeline_layout.rs of it, so that
 * both sides have one definition. All are 64-bit words. */

/* A record is a unit of two words; one of KIND_SWITCH is followed by a unit that holds the name. The first word is the
 * time, ns of CLOCK_MONOTONIC. The second is put together of the parts below. Units lie in chunks, one after the other. */
#define UNIT_WORDS 2
#define CHUNK_UNITS 256
#define CHUNK_WORDS 512

/* Parts of the second word: the kind and its flags; what (number of the interrupt, or process id of the task); the
 * thread id of the task that has the CPU. Ids are below 2^22 (PID_MAX_LIMIT). */
#define KIND_SHIFT 56
#define FLAGS_SHIFT 48
#define WHAT_SHIFT 24
#define PART_MASK 16777215

/* Kinds; a unit that was never written has none. */
#define KIND_BEGIN_VECTOR 1
#define KIND_END_VECTOR 2
#define KIND_BEGIN_IRQ 3
#define KIND_END_IRQ 4
#define KIND_BEGIN_SOFTIRQ 5
#define KIND_END_SOFTIRQ 6
#define KIND_SWITCH 7
#define KIND_STOLEN 8

/* Of KIND_STOLEN the other bits are how much the hypervisor has taken, ns; a unit follows that begins with the time since
 * when. */
#define STOLEN_MASK 281474976710655

/* Flags of a switch: to a kernel thread; found late, as the kernel did not tell of it. */
#define FLAG_KERNEL 1
#define FLAG_LATE 2

/* Words of the control record. The CPU's number and 1; 0: nothing is recorded. */
#define CONTROL_CPU 0
/* Units that are taken from the beginning, and how many there is room for. */
#define CONTROL_AT 1
#define CONTROL_ROOM 2
/* Records that had no room, and when the first of them came. */
#define CONTROL_LOST 3
#define CONTROL_FULL 4
/* The thread that has the CPU as far as was told, and 1. */
#define CONTROL_TASK 5
/* The scheduler's clock and what the hypervisor had taken when it last looked, the time of the record before that, and the
 * time of the last record; of records without softirqs. */
#define CONTROL_CLOCK 6
#define CONTROL_STOLEN 7
#define CONTROL_SINCE 8
#define CONTROL_LOOKED 9
/* Units that are taken from the end, by softirqs: a record of these may be interrupted by another one, and so both write to
 * places of their own. */
#define CONTROL_SOFTIRQ_AT 10
#define CONTROL_WORDS 11
/* As many units may be taken in an interrupt of a softirq's record. */
#define SOFTIRQ_MARGIN 64
