// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the account keeps: its maps, and the tasks of the programs that it follows.

#pragma once

#define MAX_TASKS 16384
#define MAX_PREEMPTORS 4096

struct cpu { __u64 words[CPU_WORDS]; };
struct control { __u64 words[CONTROL_WORDS]; };
struct task { __u64 words[TASK_WORDS]; };
struct second { __u64 words[SECOND_WORDS]; };
struct waits { __u64 words[8]; };
struct side { __u64 words[SIDE_WORDS]; };
struct preemptor { __u64 kind; char name[NAME_BYTES]; };
struct cost { __u64 words[PREEMPTOR_WORDS]; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

// One element for each possible CPU; the loader sets how many. Only its own CPU writes to one.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

// Likewise: the sums of the second program, apart from the others so that a single program costs nothing more.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct second);
} seconds SEC(".maps");

// Likewise; a word for each class. Written from all CPUs.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waits);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TASKS);
	__type(key, __u64);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PREEMPTORS);
	__type(key, struct preemptor);
	__type(value, struct cost);
} preemptors SEC(".maps");

// A byte for each hash of a thread id that may be in `tasks`: most switches and wake-ups are of others. Bytes can be set from
// all CPUs at once; bits only since Linux 5.12.
struct filter { __u8 bytes[FILTER_BYTES]; };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter);
} filter SEC(".maps");

static __always_inline struct control *armed(void)
{
	__u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	return c && c->words[CONTROL_STATE] ? c : NULL;
}

static __always_inline struct cpu *this_cpu(void)
{
	__u32 n = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, &n);
}

static __always_inline struct waits *waits_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&waits, &cpu);
}

// To a sum of the second program.
__noinline int add_second(__u32 class, __u32 slot, __u64 ns, __u64 count)
{
	__u32 n = bpf_get_smp_processor_id();
	struct second *second = bpf_map_lookup_elem(&seconds, &n);
	class -= SIDE_CLASS;
	if (!second || class >= CLASSES || slot >= SLOTS)
		return 0;
	__u64 at = 2 * (class * SLOTS + slot);
	asm volatile("" : "+r"(at));
	if (at > SECOND_WORDS - 2)
		return 0;
	second->words[at] += ns;
	second->words[at + 1] += count;
	return 0;
}

static __always_inline void add(struct cpu *c, __u32 class, __u32 slot, __u64 ns, __u64 count)
{
	if (class >= CLASSES) {
		if (class >= SIDE_CLASS)
			add_second(class, slot, ns, count);
		return;
	}
	if (slot >= SLOTS)
		return;
	__u64 at = WORD_SUMS + 2 * (class * SLOTS + slot);
	// So that the verifier sees a bound of the sum itself.
	asm volatile("" : "+r"(at));
	if (at > CPU_WORDS - 2)
		return;
	c->words[at] += ns;
	c->words[at + 1] += count;
}

// Whether a class is the second program's. (By bits, so that the verifier follows one path for both.)
static __always_inline __u64 side_of(__u64 class)
{
	return class / SIDE_CLASS % SIDES;
}

static __always_inline __u64 part_of(__u64 class)
{
	return class % SIDE_CLASS;
}

// That of a task which one of this class has started.
static __always_inline __u64 of_descendant(__u64 class)
{
	return class == CLASS_WARMING ? CLASS_WARMING : SIDE_CLASS * side_of(class) + CLASS_OTHERS;
}

static __always_inline struct side *side_at(struct control *ctl, __u64 class)
{
	return (struct side *)&ctl->words[CONTROL_SIDES + SIDE_WORDS * side_of(class)];
}

static __always_inline __u64 first_word(struct control *ctl, __u32 word)
{
	return ctl->words[CONTROL_SIDES + word];
}

static __always_inline __u64 second_word(struct control *ctl, __u32 word)
{
	return ctl->words[CONTROL_SIDES + SIDE_WORDS + word];
}

// Whether this is the process of one of the programs.
static __always_inline bool is_main(struct control *ctl, int tgid)
{
	return tgid == first_word(ctl, SIDE_MAIN) || tgid == second_word(ctl, SIDE_MAIN);
}

// The first class of the program whose process this is.
static __always_inline __u64 outside_of(struct control *ctl, int tgid)
{
	return tgid == first_word(ctl, SIDE_MAIN) ? CLASS_OUTSIDE : SIDE_CLASS + CLASS_OUTSIDE;
}

static __always_inline void lost(struct cpu *c)
{
	c->words[WORD_LOST]++;
}

// A task is known by its address. The verifier lets it be stored and compared, but not be computed with; the filter goes
// by thread id, which is among those of the program also while exec swaps the first thread's with another's.
static __always_inline __u64 key_of(struct task_struct *t)
{
	return (__u64)t;
}

static __always_inline struct task *task_by(struct control *ctl, __u64 key)
{
	struct task *t = bpf_map_lookup_elem(&tasks, &key);
	return t && t->words[TASK_GENERATION] == ctl->words[CONTROL_GENERATION] ? t : NULL;
}

static __always_inline bool may_be_known(__u32 tid)
{
	__u32 zero = 0;
	struct filter *f = bpf_map_lookup_elem(&filter, &zero);
	return f && f->bytes[tid % FILTER_BYTES];
}

static __always_inline struct task *task_of(struct control *ctl, struct task_struct *t)
{
	return may_be_known(t->pid) ? task_by(ctl, key_of(t)) : NULL;
}

static __always_inline void remember(struct control *ctl, struct cpu *c, struct task_struct *p, __u64 class, __u64 now)
{
	struct task t = {};
	t.words[TASK_SINCE] = now;
	t.words[TASK_STATE] = STATE_BLOCKED;
	t.words[TASK_CALL] = CALL_NEW;
	t.words[TASK_CLASS] = class;
	t.words[TASK_GENERATION] = ctl->words[CONTROL_GENERATION];
	t.words[TASK_STEAL] = STEAL_NOT_KNOWN;
	__u64 key = key_of(p);
	if (bpf_map_update_elem(&tasks, &key, &t, BPF_ANY)) {
		lost(c);
		return;
	}
	__u32 zero = 0, tid = p->pid;
	struct filter *f = bpf_map_lookup_elem(&filter, &zero);
	if (f)
		f->bytes[tid % FILTER_BYTES] = 1;
	add(c, class, SLOT_TASKS, 0, 1);
}

// Time between two readings of the clock, which may be of two CPUs.
static __always_inline __u64 between(__u64 from, __u64 to)
{
	return to > from ? to - from : 0;
}
