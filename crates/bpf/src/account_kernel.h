/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What account.bpf.c uses of the kernel, and how that differs between versions and architectures. */

#define TASK_DEAD 0x80
#define TASK_STOPPED_OR_TRACED 0xc
#define PF_KTHREAD 0x00200000
#define JOBCTL_TRAP_FREEZE (1UL << 23)

#include "run_queue.h"

// What is used of the kernel's types; the loader finds the offsets of the running kernel (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct { int counter; } atomic_t;
struct signal_struct { atomic_t live; };
struct thread_info { __u32 cpu; };
struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	void *stack;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct sched_entity se;
	unsigned long jobctl;
	struct thread_info thread_info;
	unsigned int in_iowait : 1;
	char comm[16];
};
struct irqaction;
struct linux_binprm;
// Before Linux 5.14 the state had another name and type; before 5.16 x86 had the CPU elsewhere.
struct task_struct___before_5_14 { volatile long state; };
struct task_struct___before_5_16 { unsigned int cpu; };
// Where a system call's number is differs by architecture; the object is the same.
struct pt_regs { long last; };
struct pt_regs___x86 { unsigned long orig_ax; };
struct pt_regs___arm64 { int syscallno; };
#pragma clang attribute pop

#include "look.h"

static __always_inline unsigned int state_of(struct task_struct *t)
{
	if (bpf_core_field_exists(t->__state))
		return t->__state;
	return ((struct task_struct___before_5_14 *)t)->state;
}

static __always_inline __u32 cpu_of(struct task_struct *t)
{
	if (bpf_core_field_exists(t->thread_info.cpu))
		return t->thread_info.cpu;
	return ((struct task_struct___before_5_16 *)t)->cpu;
}

// The registers with which a task has entered the kernel: at the top of its stack there (task_pt_regs in arch/*/include/asm).
static __always_inline void *registers_of(struct task_struct *t, __u64 stack_bytes)
{
	if (HAS_TASK_PT_REGS)
		return (void *)bpf_task_pt_regs((void *)t);
	return BPF_CORE_READ(t, stack) + stack_bytes - bpf_core_type_size(struct pt_regs);
}

// Why a task sleeps: by its system call, or what else it is.
static __always_inline __u64 call_of(struct task_struct *t, unsigned int state, __u64 stack_bytes)
{
	if (state & TASK_STOPPED_OR_TRACED)
		return CALL_STOPPED;
	// The freezer of cgroups has it (do_freezer_trap, kernel/signal.c). Its `frozen` holds for those that wait for a vfork, too.
	// (It sleeps interruptibly there: others wait for a disk or the like, and are stopped after that.)
	if (state & 1 && bpf_core_field_exists(t->jobctl) && BPF_CORE_READ(t, jobctl) & JOBCTL_TRAP_FREEZE)
		return CALL_STOPPED;
	void *regs = registers_of(t, stack_bytes);
	long call = -1;
	if (regs && bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax))
		call = BPF_CORE_READ((struct pt_regs___x86 *)regs, orig_ax);
	else if (regs && bpf_core_field_exists(((struct pt_regs___arm64 *)0)->syscallno))
		call = BPF_CORE_READ((struct pt_regs___arm64 *)regs, syscallno);
	if (call < 0)
		return BPF_CORE_READ_BITFIELD(t, in_iowait) ? CALL_IO : CALL_FAULT;
	return call < CALL_ENDED ? call : CALL_OTHER;
}
