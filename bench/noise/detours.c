/*
 * Prints the interruptions of a loop that only reads the cycle counter: detours CPU SECONDS THRESHOLD_NS
 *
 * A step from one reading to the next that is longer than the shortest step by the threshold is a detour. The first line has the ns
 * that the loop ran, and the shortest step. Each further line is a detour: its begin since the loop began, a tab, its length, in ns.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MOST 1000000

static uint64_t begins[MOST], lengths[MOST];

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
#error no cycle counter
#endif
}

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Both clocks at the same moment: the fastest of many readings of both. */
static void both(uint64_t *cycles, uint64_t *ns)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        uint64_t before = counter(), now = nanoseconds(), after = counter();
        if (after - before < least) {
            least = after - before;
            *cycles = before + least / 2;
            *ns = now;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        perror("sched_setaffinity");
        return 1;
    }
    /* Mapped by writing to it, and locked if the process may do so. */
    for (size_t i = 0; i < MOST; i++)
        begins[i] = lengths[i] = 1;
    mlockall(MCL_CURRENT);

    uint64_t cycles, ns, later_cycles, later_ns;
    both(&cycles, &ns);
    while (nanoseconds() < ns + 100000000)
        ;
    both(&later_cycles, &later_ns);
    double each = (double)(later_ns - ns) / (double)(later_cycles - cycles);

    uint64_t shortest = UINT64_MAX;
    for (uint64_t i = 0, last = counter(); i < 1000000; i++) {
        uint64_t now = counter();
        if (now - last < shortest)
            shortest = now - last;
        last = now;
    }
    uint64_t over = shortest + (uint64_t)(atof(argv[3]) / each);

    size_t n = 0;
    both(&cycles, &ns);
    uint64_t began = counter(), last = began, until = began + (uint64_t)(atof(argv[2]) * 1e9 / each);
    while (last < until && n < MOST) {
        uint64_t now = counter();
        if (now - last >= over) {
            begins[n] = last;
            lengths[n++] = now - last - shortest;
        }
        last = now;
    }
    /* More exact now, over the whole time. */
    both(&later_cycles, &later_ns);
    each = (double)(later_ns - ns) / (double)(later_cycles - cycles);
    printf("%.0f %.1f\n", (double)(last - began) * each, (double)shortest * each);
    for (size_t i = 0; i < n; i++)
        printf("%.0f\t%.0f\n", (double)(begins[i] - began) * each, (double)lengths[i] * each);
    return 0;
}
