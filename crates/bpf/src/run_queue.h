/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The run queue of a CPU: what is used of it, and what the scheduler has noted there of the hypervisor. */

// The loader finds the offsets of the running kernel (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct rq { __u64 clock; __u64 clock_task; __u64 prev_steal_time_rq; __u64 prev_steal_time; __u64 prev_irq_time; };
struct cfs_rq { struct rq *rq; };
struct sched_entity { __u64 exec_start; __u64 sum_exec_runtime; struct cfs_rq *cfs_rq; };
#pragma clang attribute pop
