/* Every function of the header, called as a demanding user would. Exits with 0 if all is as it says. */
#define TARE_BOOK_NAMES
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <tare.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif
/* As in src/lib.rs. */
_Static_assert(sizeof(tare_settings) == 64 && offsetof(tare_settings, epsilon) == 16, "settings");
_Static_assert(sizeof(tare_outcome) == 128 && offsetof(tare_outcome, kept) == 104, "outcome");

static int failures;
#define CHECK(what) ((what) ? (void)0 : (void)(failures++, fprintf(stderr, "line %d: not true: %s\n", __LINE__, #what)))

static volatile int sink;
static int calls;

static void spin(void *params)
{
    int n = *(int *)params;
    calls++;
    for (int i = 0; i < n; i++)
        sink = i;
}

static void spin_ints(int *params)
{
    spin(params);
}

int main(void)
{
    int n = 100000, few = 3;
    CHECK(strcmp(tare_error(), "") == 0);

    start_counter();
    start_timer();
    spin(&n);
    double seconds = get_timer(), cycles = get_counter();
    CHECK(cycles > 0 && seconds >= 0);
    double rate = mhz(0, 0);
    CHECK(rate > 1 && fabs(tare_mhz(0, 0) / rate - 1) < 0.05);
    CHECK(cycles / rate * 1e-6 < seconds + 0.1);
    unsigned hi = 0, lo = 0, hi2 = 0, lo2 = 0;
    access_counter(&hi, &lo);
    access_counter(&hi2, &lo2);
    CHECK(((uint64_t)hi2 << 32 | lo2) > ((uint64_t)hi << 32 | lo));
    CHECK(inactiveduration(100) > 100);
    CHECK(tare_overhead() > 0);
    /* A hundred times the iterations are longer, whatever the machine does meanwhile: the fastest of some. */
    double quick = INFINITY, slow = INFINITY;
    for (int i = 0; i < 20; i++) {
        tare_start_counter();
        tare_noise_work(1000);
        double once = tare_get_counter();
        tare_start_counter();
        tare_noise_work(100000);
        double hundred = tare_get_counter();
        quick = fmin(quick, once);
        slow = fmin(slow, hundred);
    }
    CHECK(quick > 0 && slow > 10 * quick);

    /* The book's names take the book's types, and agree with the others. */
    double value = fcyc(spin_ints, &n), same = tare_fcyc(spin, &n);
    CHECK(value > 0 && same > 0 && value / same < 10 && same / value < 10);

    /* Defaults for NULL; the outcome is whole. */
    calls = 0;
    tare_outcome *o = tare_fcyc_full(spin, &n, NULL);
    CHECK(o != NULL);
    if (o) {
        CHECK(o->trials >= 3 && o->trials <= 30 && o->kept == 3 && (uint32_t)calls > o->trials * o->repetitions);
        double least = o->times_ns[0];
        for (uint32_t i = 1; i < o->trials; i++)
            least = fmin(least, o->times_ns[i]);
        CHECK(o->best_ns[0] == least && o->best_ns[0] <= o->best_ns[1] && o->best_ns[1] <= o->best_ns[2]);
        CHECK(o->fastest_ns == least && o->clock_hz > 1e6 && o->overhead_ns > 0 && o->interrupts_ns == 0);
        CHECK(o->method == TARE_AS_SET && o->load == 0);
        if (o->standing != TARE_SLICE_TOO_SHORT)
            CHECK(o->ns == least && fabs(o->cycles / (o->ns * rate * 1e-3) - 1) < 0.05 && o->lacking == 0);
        else
            CHECK(isnan(o->ns) && o->lacking > 0);
    }
    tare_outcome_free(o);
    tare_outcome_free(NULL);

    /* Settings. */
    tare_settings s = TARE_SETTINGS_DEFAULT;
    s.k = 5, s.most = 7, s.least = 6, s.clock = TARE_THREAD_CPU, s.repetitions = 2, s.epsilon = 0;
    o = tare_fcyc_full(spin, &n, &s);
    CHECK(o && o->kept == 5 && o->trials >= 6 && o->trials <= 7 && o->clock == TARE_THREAD_CPU && o->repetitions == 2);
    tare_outcome_free(o);
    s.clear_cache = 1, s.cache_bytes = 1 << 20, s.repetitions = 0, s.clock = TARE_COUNTER;
    o = tare_fcyc_full(spin, &few, &s);
    CHECK(o && o->standing == TARE_TOO_SHORT && o->repetitions == 1);
    tare_outcome_free(o);
    o = tare_auto(spin, &few, 1);
    CHECK(o && o->method == TARE_REPEATED_KBEST && o->repetitions > 1 && o->load == 1);
    tare_outcome_free(o);
    o = tare_auto(spin, &few, 0);
    CHECK(o && o->load >= 1);
    tare_outcome_free(o);

    /* Invalid settings are refused with a message, and change nothing. */
    s.k = 0;
    CHECK(tare_fcyc_full(spin, &n, &s) == NULL && strstr(tare_error(), "K is 0"));
    s.k = 3, s.clock = 99;
    CHECK(tare_fcyc_full(spin, &n, &s) == NULL && strstr(tare_error(), "99 is not a clock"));
    s.clock = 0, s.cache_bytes = UINT64_MAX;
    CHECK(tare_fcyc_full(spin, &n, &s) == NULL && strstr(tare_error(), "cannot allocate"));
    CHECK(isnan(tare_fcyc(NULL, NULL)) && strstr(tare_error(), "no function"));
    CHECK(tare_auto(NULL, NULL, 0) == NULL);
    set_fcyc_k(-1);
    CHECK(isnan(fcyc(spin_ints, &n)) && strstr(tare_error(), "K is 0"));
    set_fcyc_k(2);
    set_fcyc_epsilon(0.5);
    set_fcyc_maxsamples(4);
    set_fcyc_clear_cache(1);
    set_fcyc_cache_size(1 << 16);
    set_fcyc_compensate(0);
    calls = 0;
    CHECK(fcyc(spin_ints, &n) > 0 && calls >= 3 && calls <= 5);

    char flushed[1000];
    memset(flushed, 7, sizeof flushed);
    tare_flush(flushed, sizeof flushed);
    tare_flush(NULL, 100);
    CHECK(flushed[999] == 7);
    return failures != 0;
}
