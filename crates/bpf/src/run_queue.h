/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The run queue of a CPU: what is used of it, and what the scheduler has noted there of the hypervisor. */

// The loader finds the offsets of the running kernel (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct rq { __u64 clock; __u64 clock_task; __u64 prev_steal_time_rq; __u64 prev_steal_time; __u64 prev_irq_time; };
struct cfs_rq { struct rq *rq; };
struct sched_entity { __u64 exec_start; __u64 sum_exec_runtime; struct cfs_rq *cfs_rq; };
#pragma clang attribute pop

// Functions of the kernel that not all have: the loader puts in as constants which (CO-RE), and a call that is never reached
// is not refused.
enum bpf_func_id___present {
	BPF_FUNC_get_current_task_btf___present = 158, // Linux 5.11
	BPF_FUNC_task_pt_regs___present = 175,	       // Linux 5.15
};
#define HAS_TYPED_CURRENT \
	bpf_core_enum_value_exists(enum bpf_func_id___present, BPF_FUNC_get_current_task_btf___present)
#define HAS_TASK_PT_REGS bpf_core_enum_value_exists(enum bpf_func_id___present, BPF_FUNC_task_pt_regs___present)
