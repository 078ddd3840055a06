// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For tests, which the program `burner` of tare-testbed loads: makes one in so many timer interrupts of a CPU longer by a known time,
// and writes down when.

#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// Most interrupts that are written down.
#define ROOM 4096

struct order {
	__u64 cpu; // The CPU's number and 1.
	__u64 every;
	__u64 length; // ns
	__u64 seen;
	__u64 done;
};
struct span { __u64 began; __u64 ended; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct order);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROOM);
	__type(key, __u32);
	__type(value, struct span);
} spans SEC(".maps");

// Two loops in functions of their own, as the verifier goes through each loop once for each of its callers, if it cannot take it as
// a function.
__noinline int burn_a_little(__u64 until)
{
	for (int i = 0; i < 1000; i++)
		if (bpf_ktime_get_ns() >= until)
			return 1;
	return 0;
}

__noinline int burn(__u64 until)
{
	for (int i = 0; i < 1000; i++)
		if (burn_a_little(until))
			return 1;
	return 0;
}

// The tick, and other timers of high resolution: within the timer's interrupt, a few within a softirq.
SEC("tp_btf/hrtimer_expire_entry")
int slow_tick(void *context)
{
	__u32 zero = 0;
	struct order *o = bpf_map_lookup_elem(&orders, &zero);
	if (!o || o->cpu != (__u64)bpf_get_smp_processor_id() + 1 || !o->every || ++o->seen % o->every)
		return 0;
	__u32 n = o->done;
	struct span *s = bpf_map_lookup_elem(&spans, &n);
	if (!s)
		return 0;
	s->began = bpf_ktime_get_ns();
	burn(s->began + o->length);
	s->ended = bpf_ktime_get_ns();
	o->done++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
