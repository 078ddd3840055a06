/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads the run queue of a CPU. To be included after struct task_struct. */

// The run queue of the CPU that a task is on; NULL where kernels do not link it so.
//
// Where the verifier meets a pointer that is loaded from a task, it searches all of the kernel's types by name, some three
// times (Linux 6.2, btf_nested_type_is_trusted): a millisecond on each path that it follows. So it is loaded thus in one
// function, which is verified once; elsewhere, where less often a time is taken, by copies.
static __always_inline struct rq *run_queue_of(struct task_struct *t)
{
	if (!bpf_core_field_exists(t->se.cfs_rq->rq))
		return NULL;
	return t->se.cfs_rq->rq;
}

// The hypervisor's account of this CPU as the scheduler has last seen it, which is at the latest now: it looks before
// it switches.
static __always_inline __u64 steal_of(struct rq *rq)
{
	if (!rq)
		return 0;
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		return rq->prev_steal_time_rq;
	if (bpf_core_field_exists(rq->prev_steal_time))
		return rq->prev_steal_time;
	return 0;
}

// The same two by copies, which the verifier does not look up.
static __always_inline struct rq *run_queue_copied(struct task_struct *t)
{
	return bpf_core_field_exists(t->se.cfs_rq->rq) ? BPF_CORE_READ(t, se.cfs_rq, rq) : NULL;
}

static __always_inline __u64 steal_copied(struct rq *rq)
{
	if (!rq)
		return 0;
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		return BPF_CORE_READ(rq, prev_steal_time_rq);
	if (bpf_core_field_exists(rq->prev_steal_time))
		return BPF_CORE_READ(rq, prev_steal_time);
	return 0;
}

// What the scheduler has noted of this CPU.
struct queue { __u64 clock; __u64 steal; };

static __always_inline bool look(struct queue *queue)
{
	struct rq *rq;
	if (HAS_TYPED_CURRENT) {
		rq = run_queue_of((void *)bpf_get_current_task_btf());
		if (!rq)
			return false;
		queue->clock = rq->clock;
		queue->steal = steal_of(rq);
		return true;
	}
	rq = run_queue_copied((void *)bpf_get_current_task());
	if (!rq)
		return false;
	queue->clock = BPF_CORE_READ(rq, clock);
	queue->steal = steal_copied(rq);
	return true;
}
