// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel does on one CPU, in the order of time: each beginning and end of an interrupt and of a softirq, and
// each switch to another task. User space pairs them afterwards and is never woken.
//
// The records lie in an array that is made before. It is filled once: what has no room is counted, and as nothing is
// overwritten, only the end of the time is missing then. It is filled from its beginning, by what happens with interrupts off,
// and from its end, by softirqs, so that neither of the two is interrupted by another writer of its own.
//
// Not every kernel tells of every switch. So each record looks who has the CPU; what got it unseen is recorded late.
//
// What the hypervisor takes is in no event. The scheduler notes how much it was, and that is recorded with the times between
// which it must have been.
//
// On the other CPUs each event costs a look-up and a comparison.

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "run_queue.h"
#include "timeline.h"

#define PF_KTHREAD 0x00200000

// What is used of the kernel's types; the loader finds the offsets of the running kernel (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct sched_entity se;
	char comm[16];
};
struct irqaction;
#pragma clang attribute pop

#include "look.h"

struct control { __u64 words[CONTROL_WORDS]; };
struct chunk { __u64 words[CHUNK_WORDS]; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

// The loader sets how many.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct chunk);
} chunks SEC(".maps");

// The control record, if this is the CPU that is asked for.
static __always_inline struct control *here(void)
{
	__u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	return c && c->words[CONTROL_CPU] == (__u64)bpf_get_smp_processor_id() + 1 ? c : NULL;
}

static __always_inline void put(__u64 unit, __u64 first, __u64 second)
{
	__u32 n = unit / CHUNK_UNITS;
	struct chunk *chunk = bpf_map_lookup_elem(&chunks, &n);
	if (!chunk)
		return;
	__u64 at = unit % CHUNK_UNITS * UNIT_WORDS;
	chunk->words[at] = first;
	chunk->words[at + 1] = second;
}

// Takes units; false if there is no room.
static __always_inline bool take(struct control *c, bool softirq, __u64 units, __u64 now, __u64 *at)
{
	__u64 *used = &c->words[softirq ? CONTROL_SOFTIRQ_AT : CONTROL_AT];
	__u64 wanted = units + (softirq ? SOFTIRQ_MARGIN : 0);
	if (c->words[CONTROL_AT] + c->words[CONTROL_SOFTIRQ_AT] + wanted > c->words[CONTROL_ROOM]) {
		if (!c->words[CONTROL_FULL])
			c->words[CONTROL_FULL] = now;
		__sync_fetch_and_add(&c->words[CONTROL_LOST], 1);
		return false;
	}
	*at = *used;
	*used += units;
	if (softirq)
		*at = c->words[CONTROL_ROOM] - *used;
	return true;
}

static __always_inline __u64 second_word(__u64 kind, __u64 flags, __u64 what, __u64 tid)
{
	return kind << KIND_SHIFT | flags << FLAGS_SHIFT | (what & PART_MASK) << WHAT_SHIFT | (tid & PART_MASK);
}

// The task that has got the CPU.
struct taken { __u64 ids; __u64 flags; __u64 name[2]; };

static __noinline int got(struct control *c, struct taken *t, bool softirq, __u64 now)
{
	__u64 at;
	__u32 tid = t->ids;
	c->words[CONTROL_TASK] = (__u64)tid + 1;
	if (!take(c, softirq, 2, now, &at))
		return 0;
	put(at, now, second_word(KIND_SWITCH, t->flags, t->ids >> 32, tid));
	put(at + 1, t->name[0], t->name[1]);
	return 0;
}

// If another task has the CPU than the last switch told, it is recorded now.
static __always_inline void attend(struct control *c, bool softirq, __u64 now)
{
	struct taken t = { .ids = bpf_get_current_pid_tgid(), .flags = FLAG_LATE };
	if (c->words[CONTROL_TASK] == (__u64)(__u32)t.ids + 1)
		return;
	struct task_struct *current = (void *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(current, group_leader);
	bpf_probe_read_kernel(t.name, sizeof(t.name), &leader->comm);
	if (BPF_CORE_READ(current, flags) & PF_KTHREAD)
		t.flags |= FLAG_KERNEL;
	got(c, &t, softirq, now);
}

// What the hypervisor has taken, if the scheduler has looked since the record before: it does in a tick and before a switch, and its
// clock tells that it has. A kernel that leaves stolen time to its statistics notes it at other times than that. Only where
// interrupts are off.
static __always_inline void attend_stolen(struct control *c, __u64 now)
{
	struct queue queue;
	if (!bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq) || !look(&queue))
		return;
	if (queue.clock != c->words[CONTROL_CLOCK]) {
		__u64 more = queue.steal - c->words[CONTROL_STOLEN], at;
		if (c->words[CONTROL_CLOCK] && more && more <= STOLEN_MASK && take(c, false, 2, now, &at)) {
			put(at, now, (__u64)KIND_STOLEN << KIND_SHIFT | more);
			put(at + 1, c->words[CONTROL_SINCE], 0);
		}
		c->words[CONTROL_CLOCK] = queue.clock;
		c->words[CONTROL_STOLEN] = queue.steal;
		c->words[CONTROL_SINCE] = c->words[CONTROL_LOOKED];
	}
	c->words[CONTROL_LOOKED] = now;
}

static __always_inline int edge(__u64 kind, __u64 what)
{
	struct control *c = here();
	if (!c)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	bool softirq = kind == KIND_BEGIN_SOFTIRQ || kind == KIND_END_SOFTIRQ;
	attend(c, softirq, now);
	// A softirq may be interrupted between the two readings.
	if (!softirq)
		attend_stolen(c, now);
	__u64 at;
	if (take(c, softirq, 1, now, &at))
		put(at, now, second_word(kind, 0, what, (__u32)bpf_get_current_pid_tgid()));
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(timeline_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct control *c = here();
	if (!c)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	attend(c, false, now);
	attend_stolen(c, now);
	struct taken t = { .ids = (__u64)next->tgid << 32 | (__u32)next->pid };
	struct task_struct *leader = BPF_CORE_READ(next, group_leader);
	bpf_probe_read_kernel(t.name, sizeof(t.name), &leader->comm);
	t.flags = next->flags & PF_KTHREAD ? FLAG_KERNEL : 0;
	got(c, &t, false, now);
	return 0;
}

#define X(number, name)                                                                                                \
	SEC("tp_btf/" #name "_entry") int BPF_PROG(name##_entry) { return edge(KIND_BEGIN_VECTOR, number); }           \
	SEC("tp_btf/" #name "_exit") int BPF_PROG(name##_exit) { return edge(KIND_END_VECTOR, number); }
#include "account_vectors.h"
#undef X

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	return edge(KIND_BEGIN_IRQ, irq);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action, int result)
{
	return edge(KIND_END_IRQ, irq);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	return edge(KIND_BEGIN_SOFTIRQ, vector);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
	return edge(KIND_END_SOFTIRQ, vector);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
