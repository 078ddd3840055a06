/* Time a piece of code in your own program by the K-best scheme (CS:APP chapter 9).
 *
 *     #include <tare.h>
 *
 *     static void work(void *params) { ... }
 *     ...
 *     double cycles = tare_fcyc(work, &params);
 *
 * Link with `pkg-config --cflags --libs tare`. With TARE_BOOK_NAMES defined before this header is included, the functions have the
 * book's short names, too: start_counter, get_counter, access_counter, mhz, start_timer, get_timer, inactiveduration, fcyc, and the
 * setters set_fcyc_*.
 *
 * Whatever a machine adds to a time makes it longer, so the fastest of several trials is nearest to the time of the code itself; K
 * trials that agree show that it did not occur by chance. If other processes had the CPU in every trial, the result is NaN instead
 * of a time that is too long.
 *
 * The functions may be called from any thread. The measured function must return: it must not call longjmp or throw a C++ exception.
 */
#ifndef TARE_H
#define TARE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_VERSION "0.1.0"

/* The function to measure, and its parameter. */
typedef void (*tare_function)(void *params);
/* The same, as declared in the book. */
typedef void (*tare_test_func)(int *params);

/* Clocks of elapsed time, and from TARE_THREAD_CPU on of CPU time. */
enum tare_clock {
    TARE_ANY_CLOCK = 0,      /* the counter, or CLOCK_MONOTONIC_RAW if the counter's rate is not constant */
    TARE_COUNTER = 1,        /* lfence; rdtsc; lfence, or isb; cntvct_el0; isb */
    TARE_MONOTONIC_RAW = 2,
    TARE_MONOTONIC = 3,
    TARE_GETTIMEOFDAY = 4,
    TARE_THREAD_CPU = 5,     /* CLOCK_THREAD_CPUTIME_ID */
    TARE_PROCESS_CPU = 6,    /* CLOCK_PROCESS_CPUTIME_ID */
    TARE_TIMES = 7           /* times(2), in ticks of 10 ms */
};

/* Reliability of a measurement. */
enum tare_standing {
    TARE_CONVERGED = 0,       /* the K fastest agree within epsilon */
    TARE_NOT_CONVERGED = 1,   /* they do not agree; the fastest is an estimate */
    TARE_SLICE_TOO_SHORT = 2, /* other processes had the CPU in every trial: the fastest is too long, by at least `lacking` */
    TARE_TOO_SHORT = 3        /* shorter than a hundred empty trials, and could not be repeated (cold caches) */
};

/* How tare_auto measured (CS:APP section 9.6). */
enum tare_method {
    TARE_AS_SET = 0,            /* not chosen by tare_auto */
    TARE_REPEATED_KBEST = 1,    /* the code is repeated in each trial, because it is too short for the clock */
    TARE_KBEST = 2,             /* with a clock of elapsed time: a trial fits between two interruptions */
    TARE_COMPENSATED_KBEST = 3, /* the same, minus the minimum cost of the timer interrupts in it */
    TARE_CPU_KBEST = 4,         /* with the thread's CPU time, because other processes run on the CPU */
    TARE_LONG = 5               /* over a second: few trials of CPU time; better measured as programs, by `tare run` */
};

typedef struct tare_settings {
    uint32_t k;           /* fastest trials that must agree */
    uint32_t most;        /* maximum number of trials (the book's M) */
    uint32_t least;       /* minimum number of trials */
    int clock;            /* enum tare_clock */
    double epsilon;       /* share by which the K fastest may differ */
    uint64_t repetitions; /* executions in a trial; 0: as many as the clock needs */
    uint64_t apart_ns;    /* minimum time between the starts of two trials, ns: a machine may be slow for milliseconds */
    uint64_t cache_bytes; /* bytes of the buffer that empties the caches; 0: a quarter more than the machine's largest */
    int clear_cache;      /* not 0: empty the data caches before each trial */
    int compensate;       /* not 0: subtract the minimum cost of the timer interrupts */
    int less_overhead;    /* not 0: subtract the time of an empty trial */
} tare_settings;

/* The values of the book: K = 3, epsilon = 0.1%, M = 30. */
#define TARE_SETTINGS_DEFAULT {3, 30, 0, TARE_ANY_CLOCK, 0.001, 0, 0, 0, 0, 0, 0}

/* Result of a measurement. Times are for one execution; an unknown value is NaN. */
typedef struct tare_outcome {
    double ns;            /* result of K-best; NaN if the slice is too short */
    double cycles;        /* the same in cycles of the counter */
    double fastest_ns;    /* the fastest trial, whatever the standing */
    double spread;        /* (v_K - v_1) / v_1; not a bound on the error */
    double lacking;       /* share of the fastest trial without the CPU, if the slice is too short; else 0 */
    double overhead_ns;   /* time of a whole empty trial with as many repetitions */
    double interrupts_ns; /* time subtracted from the fastest trial for timer interrupts; NaN if it is unknown */
    double core_cycles;   /* core cycles in user mode in the fastest trial; NaN without a PMU (hardware counters) */
    double clock_hz;      /* units of the clock per second */
    uint64_t repetitions; /* executions in a trial */
    uint64_t preemptions; /* how often another process took the CPU around the fastest trial */
    const double *best_ns;  /* the K fastest, ascending: `kept` of them */
    const double *times_ns; /* all trials in their order: `trials` of them */
    uint32_t kept;
    uint32_t trials;
    int standing;         /* enum tare_standing */
    int clock;            /* enum tare_clock */
    int method;           /* enum tare_method */
    uint32_t load;        /* active processes on the CPU that tare_auto assumed; else 0 */
} tare_outcome;

/* Time of f(params) in cycles of the counter, with the settings below. NaN on failure: tare_error() gives the reason. */
double tare_fcyc(tare_function f, void *params);
/* The same for a function as declared in the book. */
double tare_fcyc_int(tare_test_func f, int *params);

/* The whole outcome, with these settings, or the defaults if NULL. Free it with tare_outcome_free. NULL on failure: tare_error()
 * gives the reason. */
tare_outcome *tare_fcyc_full(tare_function f, void *params, const tare_settings *settings);
/* The same with the clock and method that fit the duration of f(params) and `load`, the active processes on its CPU, itself included;
 * 0: as many as there are now. */
tare_outcome *tare_auto(tare_function f, void *params, uint32_t load);
/* Frees an outcome; NULL is ignored. */
void tare_outcome_free(tare_outcome *outcome);

/* Reason of the last failure in this thread; "" if there was none. Valid until the next failure. */
const char *tare_error(void);

/* Settings of tare_fcyc, for the whole program. Invalid ones (K below 1, epsilon below 0, M below K) are reported by the next
 * measurement. */
void tare_set_fcyc_k(int k);
void tare_set_fcyc_epsilon(double epsilon);
void tare_set_fcyc_maxsamples(int most);
void tare_set_fcyc_clear_cache(int clear);
void tare_set_fcyc_cache_size(int bytes);
void tare_set_fcyc_compensate(int compensate);

/* The counter of the calling thread, in cycles. */
void tare_start_counter(void);
double tare_get_counter(void);
/* The cycle counter as it is: its upper and lower 32 bits. */
void tare_access_counter(unsigned *hi, unsigned *lo);
/* Rate of the counter in MHz, measured for `sleeptime` seconds (at least 50 ms); printed if verbose is not 0. NaN without a
 * counter. */
double tare_mhz(int verbose, int sleeptime);
/* The timer of the calling thread, in seconds, by gettimeofday. */
void tare_start_timer(void);
double tare_get_timer(void);
/* Waits until the thread was inactive for more than `thresh` cycles; returns for how many. */
int tare_inactiveduration(int thresh);
/* Writes these bytes back from all caches and drops them there. */
void tare_flush(const void *data, uint64_t bytes);
/* Cycles of an empty measurement: the fastest of many. */
double tare_overhead(void);

/* The work of `tare noise`, and of the MPI program of `tare noise bsp`: an empty loop of `iterations` iterations (at
 * least one), the same machine code for all callers. */
void tare_noise_work(uint64_t iterations);

#ifdef TARE_BOOK_NAMES
#define start_counter tare_start_counter
#define get_counter tare_get_counter
#define access_counter tare_access_counter
#define mhz tare_mhz
#define start_timer tare_start_timer
#define get_timer tare_get_timer
#define inactiveduration tare_inactiveduration
#define fcyc tare_fcyc_int
#define set_fcyc_k tare_set_fcyc_k
#define set_fcyc_epsilon tare_set_fcyc_epsilon
#define set_fcyc_maxsamples tare_set_fcyc_maxsamples
#define set_fcyc_clear_cache tare_set_fcyc_clear_cache
#define set_fcyc_cache_size tare_set_fcyc_cache_size
#define set_fcyc_compensate tare_set_fcyc_compensate
typedef tare_test_func test_func_t;
#endif

#ifdef __cplusplus
}
#endif

#endif
