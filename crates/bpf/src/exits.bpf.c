// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records every task that ends, at its last switch away from a CPU: only there is its account complete.
// (An exit record of taskstats is made earlier and lacks what ran since the last tick, up to 10 ms.)
//
// Nothing wakes up in user space: the ring buffer is emptied after a sample. All other switches cost one comparison.

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define TASK_DEAD 0x80
#define PF_KTHREAD 0x00200000
#define RING_BYTES (8 << 20)

// What is used of the kernel's types; the loader finds the offsets of the running kernel (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node { __u64 id; };
struct cgroup { struct kernfs_node *kn; };
struct css_set { struct cgroup *dfl_cgrp; };
struct sched_entity { __u64 sum_exec_runtime; };
typedef struct { int counter; } atomic_t;
struct sighand_struct;
struct signal_struct { unsigned long long sum_sched_runtime; atomic_t live; };
struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct css_set *cgroups;
	struct sched_entity se;
	__u64 utime;
	__u64 stime;
	__u64 start_boottime;
	char comm[16];
};
// Before Linux 5.14 the state had another name and type.
struct task_struct___before_5_14 { volatile long state; };
#pragma clang attribute pop

// The record; its other definition is in lib.rs, and a test holds both to the same size.
struct exit_record {
	__u64 cpu;          // ns on a CPU, complete
	__u64 start;        // ns since boot, of the process
	__u64 cgroup;       // id in the v2 hierarchy
	__u64 ticks;        // tick-sampled user + system ns
	__u64 dead_threads; // ns of the process's tasks that were released before
	__u32 pid;          // of the thread
	__u32 tgid;         // of the process
	__u32 ppid;         // process id of the parent
	__u32 flags;        // RECORD_*
	char comm[16];      // of the process's main thread
};
#define RECORD_LAST 1   // no thread of the process is left
#define RECORD_KERNEL 2 // a kernel thread
#define RECORD_MAIN_RELEASED 4 // the main thread's time is in dead_threads, but for its last steps

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline bool is_dead(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state & TASK_DEAD;
	return ((struct task_struct___before_5_14 *)task)->state & TASK_DEAD;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(task_ended, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!is_dead(prev))
		return 0;
	struct exit_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__u32 zero = 0;
		__u64 *n = bpf_map_lookup_elem(&lost, &zero);
		if (n)
			__sync_fetch_and_add(n, 1);
		return 0;
	}
	// Pointers are followed by copies, for which the verifier needn't search the kernel's types (account_kernel.h).
	struct task_struct *leader = BPF_CORE_READ(prev, group_leader);
	struct signal_struct *signal = BPF_CORE_READ(prev, signal);
	r->cpu = prev->se.sum_exec_runtime;
	r->start = BPF_CORE_READ(leader, start_boottime);
	r->cgroup = BPF_CORE_READ(prev, cgroups, dfl_cgrp, kn, id);
	r->ticks = prev->utime + prev->stime;
	r->dead_threads = BPF_CORE_READ(signal, sum_sched_runtime);
	r->pid = prev->pid;
	r->tgid = prev->tgid;
	r->ppid = BPF_CORE_READ(prev, real_parent, tgid);
	// A parent that waits on another CPU may have released the task before its last switch.
	r->flags = (BPF_CORE_READ(signal, live.counter) == 0 ? RECORD_LAST : 0) |
		   (prev->flags & PF_KTHREAD ? RECORD_KERNEL : 0) |
		   (BPF_CORE_READ(leader, sighand) ? 0 : RECORD_MAIN_RELEASED);
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), &leader->comm);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
