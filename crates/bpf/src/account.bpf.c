// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the time of a program's tasks goes: on a CPU, interrupted, stolen, preempted by whom, waiting, blocked in which
// call. Summed in the kernel; user space reads the sums after a sample and is never woken.
//
// The program is the first task that tare starts while a sample is armed, and all its descendants. Of two programs that
// run together, the second is the second task that tare starts; each has its own sums. Every moment of a
// task's life is in one of the states RUNNING, PREEMPTED, WOKEN (both: runnable) and BLOCKED, and each change closes
// the last interval and opens the next with the same clock reading. While it runs, interrupts and softirqs are timed
// net of what is nested in them, and belong to its class.
//
// Who has the CPU that tasks wait for is summed for all of them at once: a word per CPU and class holds how many wait
// there and the sum of when they began to; at each switch there, the number times now, less that sum, is what the task
// that leaves the CPU has cost them.
//
// Not every kernel tells of every switch: some leave out those from idle and from certain tasks. So each event looks
// who has the CPU, and what got it unseen is entered late, from the moment that the scheduler's own account gives.
//
// A CPU on which no task of the program runs or waits costs a few comparisons per event.

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "account.h"
#include "account_kernel.h"
#include "account_tasks.h"

// --- Who waits where ------------------------------------------------------------------------------------------------

// The number that wait is in the upper 16 bits, the sum of their beginnings in units of 64 ns since the sample was
// armed in the others.
#define WAITERS_SHIFT 48
#define SUM_MASK ((1ULL << WAITERS_SHIFT) - 1)

static __always_inline __u64 moment(struct control *ctl, __u64 now)
{
	return (now - ctl->words[CONTROL_BASE]) >> 6;
}

// A beginning is rounded up, so that no more is charged than was waited.
static __always_inline __u64 beginning(struct control *ctl, __u64 began)
{
	return moment(ctl, began + 63);
}

static __always_inline void begin_wait(struct control *ctl, struct task *t, __u32 cpu, __u64 state, __u64 now)
{
	t->words[TASK_STEAL] = STEAL_NOT_KNOWN;
	t->words[TASK_SINCE] = now;
	t->words[TASK_STATE] = state;
	t->words[TASK_CPU] = cpu;
	struct waits *w = waits_of(cpu);
	__u64 class = t->words[TASK_CLASS];
	if (w && class < SIDES * SIDE_CLASS)
		__sync_fetch_and_add(&w->words[class], (1ULL << WAITERS_SHIFT) + (beginning(ctl, now) & SUM_MASK));
}

static __always_inline struct cost *cost_of(struct cpu *c, struct preemptor *who)
{
	struct cost *found = bpf_map_lookup_elem(&preemptors, who);
	if (found)
		return found;
	struct cost none = {};
	bpf_map_update_elem(&preemptors, who, &none, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&preemptors, who);
	if (!found)
		lost(c);
	return found;
}

static __always_inline void add_cost(struct cost *cost, __u64 side, __u64 word, __u64 more)
{
	__u64 at = side * COST_WORDS + word;
	// So that every verifier sees a bound of the sum itself.
	asm volatile("" : "+r"(at));
	if (at < PREEMPTOR_WORDS)
		__sync_fetch_and_add(&cost->words[at], more);
}

// `class`: that of the task if it is a program's, else NO_CLASS.
#define NO_CLASS (~0ULL)

static __always_inline void identify(struct control *ctl, struct preemptor *who, struct task_struct *t, __u64 class)
{
	__builtin_memset(who, 0, sizeof(*who));
	if (class != NO_CLASS) {
		// Without a branch, as the verifier follows each for itself.
		who->kind = PREEMPTOR_SELF + (PREEMPTOR_PARTNER - PREEMPTOR_SELF) * side_of(class);
		return;
	}
	if (!t->pid) {
		who->kind = PREEMPTOR_NOBODY;
		return;
	}
	who->kind = t->flags & PF_KTHREAD		      ? PREEMPTOR_KERNEL :
		    t->tgid == ctl->words[CONTROL_TARE]	      ? PREEMPTOR_TARE :
							PREEMPTOR_USER;
	// Not by the types: see run_queue_of.
	struct task_struct *leader = NULL;
	bpf_probe_read_kernel(&leader, sizeof(leader), &t->group_leader);
	bpf_probe_read_kernel(who->name, NAME_BYTES, &leader->comm);
}

static __always_inline bool first_waits(struct waits *w)
{
	return w->words[CLASS_OUTSIDE] | w->words[CLASS_MAIN] | w->words[CLASS_OTHERS];
}

static __always_inline bool second_waits(struct waits *w)
{
	return w->words[SIDE_CLASS + CLASS_OUTSIDE] | w->words[SIDE_CLASS + CLASS_MAIN] |
	       w->words[SIDE_CLASS + CLASS_OTHERS];
}

// What those of a program who wait on this CPU have lost to the task that had it, since the last switch or their own
// beginning.
//
// Like other functions that are not static, it is verified once for a program rather than on each path that calls it
// (Linux 5.6); so it looks its records up itself. Whom it charges is in WORD_PREEMPTOR.
__noinline int charge(__u64 now, __u32 side)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	struct waits *w = waits_of(bpf_get_smp_processor_id());
	if (!ctl || !c || !w)
		return 0;
	side %= SIDES;
	__u64 *words = &w->words[SIDE_CLASS * side];
	__u64 t = moment(ctl, now);
	__u64 ns[CLASSES] = {};
#pragma unroll
	for (int class = 0; class < CLASSES; class ++) {
		__u64 old = words[class];
		__u64 n = old >> WAITERS_SHIFT;
		__u64 sum = old & SUM_MASK;
		__u64 until = (n * t) & SUM_MASK;
		// A switch that is told of late lies before the beginnings of some.
		if (!n || until <= sum)
			continue;
		// Added rather than exchanged, which the verifier takes before Linux 5.12, too. Of one that begins to wait meanwhile
		// nothing is lost; what is charged too much for one that ends to, the next charge has less.
		__sync_fetch_and_add(&words[class], until - sum);
		ns[class] = (until - sum) << 6;
	}
	c->words[WORD_CHARGED] = now;
	// In memory of this function: as a key of a map the verifier takes no other before Linux 6.2.
	struct preemptor key;
	__builtin_memcpy(&key, &c->words[WORD_PREEMPTOR], sizeof(key));
	if (key.kind == PREEMPTOR_NOBODY || !(ns[CLASS_MAIN] | ns[CLASS_OTHERS]))
		return 0;
	struct cost *cost = cost_of(c, &key);
	if (!cost)
		return 0;
	if (ns[CLASS_MAIN])
		add_cost(cost, side, 0, ns[CLASS_MAIN]);
	if (ns[CLASS_OTHERS])
		add_cost(cost, side, 2, ns[CLASS_OTHERS]);
	return 0;
}

// A task that waited gets a CPU, or is moved to another one's queue. What it counted from in its CPU's sum is the last
// charge there, or its own beginning if that was later.
static __always_inline void end_wait(struct control *ctl, struct cpu *c, struct task *t, __u64 now)
{
	__u64 class = t->words[TASK_CLASS];
	__u32 id = t->words[TASK_CPU];
	__u64 began = t->words[TASK_SINCE];
	struct waits *w = waits_of(id);
	struct cpu *there = bpf_map_lookup_elem(&cpus, &id);
	__u64 from = beginning(ctl, began);
	if (there && there->words[WORD_CHARGED] > began)
		from = moment(ctl, there->words[WORD_CHARGED]);
	if (w && class < SIDES * SIDE_CLASS)
		__sync_fetch_and_sub(&w->words[class], (1ULL << WAITERS_SHIFT) + (from & SUM_MASK));
	add(c, class, t->words[TASK_STATE] == STATE_PREEMPTED ? SLOT_PREEMPTED : SLOT_WOKEN, between(t->words[TASK_SINCE], now),
	    1);
}

// --- On a CPU -------------------------------------------------------------------------------------------------------

// The word says of which sample it is, too: a task that an earlier one has left running may still have the CPU.
static __always_inline __u64 marked(struct control *ctl, __u64 class)
{
	return ctl->words[CONTROL_GENERATION] << 3 | (class + 1);
}

// Whether a task of the program has this CPU.
static __always_inline bool is_ours(struct control *ctl, struct cpu *c)
{
	return c->words[WORD_CLASS] >> 3 == ctl->words[CONTROL_GENERATION];
}

static __always_inline __u64 class_on(struct cpu *c)
{
	return (c->words[WORD_CLASS] & 7) - 1;
}

static __always_inline void enter(struct control *ctl, struct cpu *c, __u64 key, __u64 class, __u64 now, __u64 steal,
				     __u64 runtime)
{
	c->words[WORD_TASK] = key;
	c->words[WORD_CLASS] = marked(ctl, class);
	c->words[WORD_DEPTH] = 0;
	c->words[WORD_SINCE] = now;
	c->words[WORD_STEAL] = steal;
	c->words[WORD_RUNTIME] = runtime;
}

// Ends whatever a task was in before it got a CPU.
static __always_inline void end_state(struct control *ctl, struct cpu *c, struct task *t, __u64 now)
{
	__u64 was = t->words[TASK_STATE];
	if (was == STATE_BLOCKED)
		// Its wake-up was not seen.
		add(c, t->words[TASK_CLASS], SLOT_BLOCKED + t->words[TASK_CALL], between(t->words[TASK_SINCE], now), 1);
	else if (was != STATE_RUNNING)
		end_wait(ctl, c, t, now);
	t->words[TASK_STATE] = STATE_RUNNING;
}

// Enters a task that has got this CPU without a word. It did so when the scheduler's account of its present stint began:
// at the last look at the run queue's clock, less what it has run until then.
__noinline int enter_late(void)
{
	// Read by copies, as this is rare.
	struct task_struct *p = (void *)bpf_get_current_task();
	__u64 key = key_of(p);
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	struct task *t = ctl ? task_by(ctl, key) : NULL;
	if (!c || !t)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	struct rq *rq = run_queue_copied(p);
	__u64 ran = BPF_CORE_READ(p, se.sum_exec_runtime) - t->words[TASK_RUNTIME];
	__u64 began = now - ran;
	if (rq)
		began = BPF_CORE_READ(p, se.exec_start) + (BPF_CORE_READ(rq, clock) - BPF_CORE_READ(rq, clock_task)) +
			t->words[TASK_OFFSET] - ran;
	// Clocks and rounding must not put it before its own beginning or into the future.
	if (began < t->words[TASK_SINCE])
		began = t->words[TASK_SINCE];
	if (began > now)
		began = now;
	struct waits *w = waits_of(bpf_get_smp_processor_id());
	if (w && began > c->words[WORD_CHARGED]) {
		__builtin_memcpy(&c->words[WORD_PREEMPTOR], &c->words[WORD_NEXT], sizeof(struct preemptor));
		if (first_waits(w))
			charge(began, 0);
		if (second_waits(w))
			charge(began, 1);
	}
	end_state(ctl, c, t, began);
	// Of the scheduler's last look, as `began` is where it leaves out what was stolen before: that of the beginning of the
	// wait holds what was stolen from others meanwhile, which would be counted twice.
	__u64 steal = t->words[TASK_STEAL];
	if (steal == STEAL_NOT_KNOWN || (rq && bpf_core_field_exists(rq->prev_steal_time_rq)))
		steal = steal_copied(rq);
	enter(ctl, c, key, t->words[TASK_CLASS], began, steal, t->words[TASK_RUNTIME]);
	c->words[WORD_LATE]++;
	return 1;
}

// Whether a task of the program has this CPU; if it got it unseen, it is entered. `current`: the key of the task that has it.
static __always_inline bool attend(struct control *ctl, struct cpu *c, __u64 current)
{
	if (c->words[WORD_TASK] == current)
		return is_ours(ctl, c);
	__u32 tid = bpf_get_current_pid_tgid();
	return tid && may_be_known(tid) && enter_late();
}

// Into the record of this CPU; as zero where it is not known.
__noinline int look_at_queue(void)
{
	struct cpu *c = this_cpu();
	struct queue queue = {};
	if (!c)
		return 0;
	look(&queue);
	c->words[WORD_QUEUE_CLOCK] = queue.clock;
	c->words[WORD_QUEUE_STEAL] = queue.steal;
	return 0;
}

// Closes what the running task has had of its CPU; its run time is `runtime` by now.
static __always_inline void leave(struct cpu *c, __u64 runtime, __u64 steal, __u64 now)
{
	__u64 class = class_on(c);
	__u64 stolen = steal - c->words[WORD_STEAL];
	__u64 whole = between(c->words[WORD_SINCE], now);
	add(c, class, SLOT_ON_CPU, whole, 1);
	// Backwards, or more than all of it, is no account of this stint.
	if (stolen && stolen <= whole)
		add(c, class, SLOT_STOLEN, stolen, 1);
	add(c, class, SLOT_RUNTIME, runtime - c->words[WORD_RUNTIME], 0);
	c->words[WORD_TASK] = 0;
	c->words[WORD_CLASS] = 0;
	c->words[WORD_DEPTH] = 0;
}

// The task that leaves its CPU: closes its stint, and opens what comes next for it.
static __always_inline void depart(struct control *ctl, struct cpu *c, struct task_struct *prev, struct queue *queue,
				   struct preemptor *next, bool preempt, __u64 now)
{
	__u64 key = key_of(prev);
	unsigned int state = state_of(prev);
	struct task *t = task_of(ctl, prev);
	leave(c, prev->se.sum_exec_runtime, queue->steal, now);
	if (!t) {
		// But for a first thread that made room for another one's exec.
		if (!(state & TASK_DEAD))
			lost(c);
		return;
	}
	t->words[TASK_RUNTIME] = prev->se.sum_exec_runtime;
	t->words[TASK_OFFSET] = queue->clock ? now - queue->clock : 0;
	// Only its own program's: the other one may have ended, and its main thread's address be another task's.
	if (state & TASK_DEAD && key != side_at(ctl, t->words[TASK_CLASS])->words[SIDE_LEADER]) {
		bpf_map_delete_elem(&tasks, &key);
		return;
	}
	if (!(state & TASK_DEAD) && (preempt || !state)) {
		begin_wait(ctl, t, bpf_get_smp_processor_id(), STATE_PREEMPTED, now);
		t->words[TASK_STEAL] = queue->steal;
		__u64 class = t->words[TASK_CLASS], part = part_of(class);
		if (part != CLASS_MAIN && part != CLASS_OTHERS)
			return;
		struct cost *cost = next->kind == PREEMPTOR_NOBODY ? NULL : cost_of(c, next);
		if (cost)
			add_cost(cost, side_of(class), part == CLASS_MAIN ? 1 : 3, 1);
		return;
	}
	t->words[TASK_STEAL] = STEAL_NOT_KNOWN;
	t->words[TASK_SINCE] = now;
	t->words[TASK_STATE] = STATE_BLOCKED;
	if (state & TASK_DEAD) {
		// Its process may have other threads, and ends with the last of them.
		t->words[TASK_CALL] = CALL_ENDED;
		side_at(ctl, t->words[TASK_CLASS])->words[SIDE_LEFT] = now;
	} else {
		t->words[TASK_CALL] = call_of(prev, state, ctl->words[CONTROL_STACK]);
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(account_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	struct waits *w = waits_of(bpf_get_smp_processor_id());
	if (!c || !w)
		return 0;
	if (!ctl) {
		c->words[WORD_TASK] = 0;
		c->words[WORD_CLASS] = 0;
		return 0;
	}
	bool ours = attend(ctl, c, key_of(prev));
	bool first = first_waits(w), second = second_waits(w);
	struct task *new = next->pid ? task_of(ctl, next) : NULL;
	if (!first && !second && !ours && !new) {
		c->words[WORD_NEXT] = PREEMPTOR_NOBODY;
		return 0;
	}

	__u64 now = bpf_ktime_get_ns();
	// Of this CPU, of which the other task is, too.
	look_at_queue();
	struct queue queue = { c->words[WORD_QUEUE_CLOCK], c->words[WORD_QUEUE_STEAL] };
	struct preemptor who;
	if (first || second) {
		identify(ctl, &who, prev, ours ? class_on(c) : NO_CLASS);
		__builtin_memcpy(&c->words[WORD_PREEMPTOR], &who, sizeof(who));
		if (first)
			charge(now, 0);
		if (second)
			charge(now, 1);
	}
	identify(ctl, &who, next, new ? new->words[TASK_CLASS] : NO_CLASS);
	if (ours)
		depart(ctl, c, prev, &queue, &who, preempt, now);
	if (new) {
		end_state(ctl, c, new, now);
		enter(ctl, c, key_of(next), new->words[TASK_CLASS], now, queue.steal, next->se.sum_exec_runtime);
	}
	// For those who wait, if the switch away from it is not seen.
	__builtin_memcpy(&c->words[WORD_NEXT], &who, sizeof(who));
	return 0;
}

static __always_inline int woken(struct control *ctl, struct cpu *c, struct task *t, struct task_struct *p)
{
	if (t->words[TASK_STATE] != STATE_BLOCKED)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	// The one that it waits in from now on, which has just looked at its clock.
	struct rq *rq = run_queue_of(p);
	__u64 began = t->words[TASK_SINCE];
	add(c, t->words[TASK_CLASS], SLOT_BLOCKED + t->words[TASK_CALL], between(began, now), 1);
	begin_wait(ctl, t, cpu_of(p), STATE_WOKEN, now);
	t->words[TASK_OFFSET] = rq ? now - rq->clock : 0;
	t->words[TASK_STEAL] = steal_of(rq);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(account_wakeup, struct task_struct *p)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	struct task *t = ctl ? task_of(ctl, p) : NULL;
	return t && c ? woken(ctl, c, t, p) : 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(account_wakeup_new, struct task_struct *p)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	if (!ctl || !c)
		return 0;
	struct task *t = task_of(ctl, p);
	if (!t) {
		// The kernel's helpers of a process (io_uring) are made without a word.
		__u64 leader = (__u64)BPF_CORE_READ(p, group_leader);
		struct task *first = task_by(ctl, leader);
		if (!first || p->flags & PF_KTHREAD)
			return 0;
		remember(ctl, c, p, of_descendant(first->words[TASK_CLASS]), bpf_ktime_get_ns());
		t = task_of(ctl, p);
	}
	return t ? woken(ctl, c, t, p) : 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(account_migrate, struct task_struct *p, int dest)
{
	struct control *ctl = armed();
	if (!ctl)
		return 0;
	struct task *t = task_of(ctl, p);
	if (!t)
		return 0;
	__u64 state = t->words[TASK_STATE];
	struct cpu *c = this_cpu();
	if (!c || (state != STATE_PREEMPTED && state != STATE_WOKEN) || t->words[TASK_CPU] == dest)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	end_wait(ctl, c, t, now);
	begin_wait(ctl, t, dest, state, now);
	return 0;
}

// --- Beginning and end ----------------------------------------------------------------------------------------------

// What this kernel keeps, and what it leaves out of a task's run time: not what it was built for, but what has come.
static __always_inline void describe(struct control *ctl, struct task_struct *t)
{
	struct rq *rq = run_queue_copied(t);
	if (!rq)
		return;
	// Once known, of both programs.
	ctl->words[CONTROL_STEAL_KNOWN] |= steal_copied(rq) != 0;
	ctl->words[CONTROL_STEAL_LEFT_OUT] = bpf_core_field_exists(rq->prev_steal_time_rq);
	if (bpf_core_field_exists(rq->prev_irq_time))
		ctl->words[CONTROL_IRQ_LEFT_OUT] |= BPF_CORE_READ(rq, prev_irq_time) != 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(account_fork, struct task_struct *parent, struct task_struct *child)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	if (!ctl || !c)
		return 0;
	__u64 class;
	bool warming = ctl->words[CONTROL_WARMING];
	__u64 started = ctl->words[CONTROL_STARTED];
	if (parent->tgid == ctl->words[CONTROL_TARE] && (warming || started < ctl->words[CONTROL_WANTED])) {
		class = warming ? CLASS_WARMING : SIDE_CLASS * started;
		struct side *side = side_at(ctl, class);
		side->words[SIDE_MAIN] = child->pid;
		side->words[SIDE_LEADER] = key_of(child);
		ctl->words[CONTROL_STARTED] = warming ? 0 : started + 1;
		describe(ctl, parent);
	} else if (attend(ctl, c, key_of(parent))) {
		class = of_descendant(class_on(c));
	} else {
		return 0;
	}
	remember(ctl, c, child, class, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(account_exec, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	if (!ctl || !c)
		return 0;
	if (!is_main(ctl, p->tgid) || ctl->words[CONTROL_WARMING])
		return 0;
	struct task *t = task_of(ctl, p);
	if (!t || !attend(ctl, c, key_of(p)))
		return 0;
	__u64 steal = steal_copied(run_queue_copied(p));
	__u64 now = bpf_ktime_get_ns();
	__u64 class = SIDE_CLASS * side_of(t->words[TASK_CLASS]) + CLASS_MAIN;
	struct side *side = side_at(ctl, class);
	__u64 leader = side->words[SIDE_LEADER];
	if (key_of(p) != leader) {
		// Another thread than the first has called exec. The first one has ended for that, and this one is it now.
		struct task *first = task_by(ctl, leader);
		if (first && first->words[TASK_STATE] == STATE_BLOCKED)
			add(c, first->words[TASK_CLASS], SLOT_BLOCKED + first->words[TASK_CALL],
			    between(first->words[TASK_SINCE], now), 1);
		bpf_map_delete_elem(&tasks, &leader);
		side->words[SIDE_LEADER] = key_of(p);
	} else if (side->words[SIDE_EXEC]) {
		return 0;
	}
	if (!side->words[SIDE_EXEC])
		side->words[SIDE_EXEC] = now;
	__u64 runtime = p->se.sum_exec_runtime;
	leave(c, runtime, steal, now);
	t->words[TASK_CLASS] = class;
	t->words[TASK_RUNTIME] = runtime;
	enter(ctl, c, key_of(p), class, now, steal, runtime);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(account_exit, struct task_struct *p)
{
	struct control *ctl = armed();
	if (!ctl || !is_main(ctl, p->tgid) || BPF_CORE_READ(p, signal, live.counter))
		return 0;
	side_at(ctl, outside_of(ctl, p->tgid))->words[SIDE_EXITED] = 1;
	return 0;
}

// The program has ended when it wakes tare, which is its last thread's last act but for leaving the CPU.
SEC("tp_btf/sched_waking")
int BPF_PROG(account_waking, struct task_struct *p)
{
	struct control *ctl = armed();
	if (!ctl || p->tgid != ctl->words[CONTROL_TARE] || ctl->words[CONTROL_WARMING])
		return 0;
	struct task_struct *current = (void *)bpf_get_current_task();
	int tgid = bpf_get_current_pid_tgid() >> 32;
	if (!is_main(ctl, tgid))
		return 0;
	__u64 class = outside_of(ctl, tgid);
	struct side *side = side_at(ctl, class);
	if (!side->words[SIDE_EXITED] || side->words[SIDE_END])
		return 0;
	struct cpu *c = this_cpu();
	struct task *t = task_by(ctl, side->words[SIDE_LEADER]);
	if (!c || !t)
		return 0;
	bool running = attend(ctl, c, key_of(current)) && key_of(current) == side->words[SIDE_LEADER];
	__u64 steal = steal_copied(run_queue_copied(current));
	__u64 now = bpf_ktime_get_ns();
	__u64 state = t->words[TASK_STATE];
	__u64 runtime = BPF_CORE_READ(current, se.sum_exec_runtime);
	side->words[SIDE_END] = now;
	if (running)
		leave(c, runtime, steal, now);
	else
		end_state(ctl, c, t, now);
	t->words[TASK_CLASS] = class;
	t->words[TASK_SINCE] = now;
	if (running)
		enter(ctl, c, key_of(current), class, now, steal, runtime);
	else if (state == STATE_PREEMPTED || state == STATE_WOKEN)
		begin_wait(ctl, t, t->words[TASK_CPU], state, now);
	else
		t->words[TASK_STATE] = state;
	return 0;
}

// --- Interrupts -----------------------------------------------------------------------------------------------------

static __always_inline int begin_interrupt(void)
{
	struct control *ctl = armed();
	struct cpu *c = this_cpu();
	if (!ctl || !c || !attend(ctl, c, bpf_get_current_task()))
		return 0;
	__u64 depth = c->words[WORD_DEPTH];
	if (depth >= FRAMES) {
		lost(c);
		return 0;
	}
	__u64 at = WORD_FRAMES + 2 * depth;
	c->words[at] = bpf_ktime_get_ns();
	c->words[at + 1] = 0;
	c->words[WORD_DEPTH] = depth + 1;
	return 0;
}

static __always_inline int end_interrupt(__u32 slot)
{
	struct cpu *c = this_cpu();
	if (!c)
		return 0;
	// Also where nothing was begun.
	__u64 depth = c->words[WORD_DEPTH] - 1;
	if (depth >= FRAMES)
		return 0;
	__u64 at = WORD_FRAMES + 2 * depth;
	__u64 whole = bpf_ktime_get_ns() - c->words[at];
	// A softirq may be interrupted between the two readings.
	add(c, class_on(c), slot, between(c->words[at + 1], whole), 1);
	c->words[WORD_DEPTH] = depth;
	if (depth > 0)
		c->words[at - 1] += whole;
	return 0;
}

// These take what they need of the tracepoint by its place, not by its type, as such programs can be attached to several
// tracepoints, and load faster: the verifier needn't look the tracepoints up. One serves all that happens with interrupts off.
// That of softirqs is another, as it is interrupted, and the kernel leaves a program out that runs already on the CPU.
SEC("raw_tp")
int interrupt_entry(void *context)
{
	return begin_interrupt();
}

SEC("raw_tp")
int softirq_entry(void *context)
{
	return begin_interrupt();
}

#define X(number, name)                                                                                                \
	SEC("raw_tp") int name##_exit(void *context) { return end_interrupt(SLOT_VECTOR + number); }
#include "account_vectors.h"
#undef X

SEC("raw_tp")
int irq_handler_exit(__u64 *arguments)
{
	__u32 irq = arguments[0];
	return end_interrupt(SLOT_IRQ + (irq < IRQS - 1 ? irq : IRQS - 1));
}

SEC("raw_tp")
int softirq_exit(__u64 *arguments)
{
	__u32 vector = arguments[0];
	return end_interrupt(SLOT_SOFTIRQ + (vector < SOFTIRQS ? vector : SOFTIRQS - 1));
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
