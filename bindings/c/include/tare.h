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
 * Everything that a machine adds to a time makes it longer, so the fastest of several trials is nearest to the truth, and K of them
 * that agree show that it was no accident. Where other processes had the CPU in every trial there is no value (NaN) rather than one
 * that is too long.
 *
 * The functions may be called from any thread. The function that is measured must return: no longjmp, no C++ exception out of it.
 */
#ifndef TARE_H
#define TARE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_VERSION "0.1.0"

/* What is measured, with its parameters. */
typedef void (*tare_function)(void *params);
/* The same as the book declares it. */
typedef void (*tare_test_func)(int *params);

/* Clocks of elapsed time, and from TARE_THREAD_CPU on of CPU time. */
enum tare_clock {
    TARE_ANY_CLOCK = 0,      /* the counter, or CLOCK_MONOTONIC_RAW where its rate is not constant */
    TARE_COUNTER = 1,        /* lfence; rdtsc; lfence, or isb; cntvct_el0; isb */
    TARE_MONOTONIC_RAW = 2,
    TARE_MONOTONIC = 3,
    TARE_GETTIMEOFDAY = 4,
    TARE_THREAD_CPU = 5,     /* CLOCK_THREAD_CPUTIME_ID */
    TARE_PROCESS_CPU = 6,    /* CLOCK_PROCESS_CPUTIME_ID */
    TARE_TIMES = 7           /* times(2), in ticks of 10 ms */
};

/* What a measurement is worth. */
enum tare_standing {
    TARE_CONVERGED = 0,       /* the K fastest agree within epsilon */
    TARE_NOT_CONVERGED = 1,   /* they do not; the fastest is the best guess */
    TARE_SLICE_TOO_SHORT = 2, /* other processes had the CPU in every trial: the fastest is too long, by `lacking` at least */
    TARE_TOO_SHORT = 3        /* under a hundred empty measurements long, and could not be repeated (cold caches) */
};

/* How tare_auto measured (CS:APP section 9.6). */
enum tare_method {
    TARE_AS_SET = 0,            /* not chosen by tare_auto */
    TARE_REPEATED_KBEST = 1,    /* the code repeated in each trial, as it is too short for the clock */
    TARE_KBEST = 2,             /* with an elapsed clock: it fits between interruptions */
    TARE_COMPENSATED_KBEST = 3, /* the same, less the least cost of the timer interrupts in it */
    TARE_CPU_KBEST = 4,         /* with the thread's CPU time, as others have the CPU meanwhile */
    TARE_LONG = 5               /* over a second: few trials of CPU time; better measured as programs, by `tare run` */
};

typedef struct tare_settings {
    uint32_t k;           /* fastest trials that must agree */
    uint32_t most;        /* trials after which it gives up (the book's M) */
    uint32_t least;       /* trials that are made in any case */
    int clock;            /* enum tare_clock */
    double epsilon;       /* share by which the K fastest may differ */
    uint64_t repetitions; /* executions in a trial; 0: as many as the clock needs */
    uint64_t apart_ns;    /* from the beginning of a trial to that of the next one at least: a machine may be slow for milliseconds */
    uint64_t cache_bytes; /* size of the buffer that empties the caches; 0: a quarter more than the machine's largest */
    int clear_cache;      /* not 0: data caches are emptied before each trial */
    int compensate;       /* not 0: less what the timer interrupts took at least */
    int less_overhead;    /* not 0: less what an empty trial takes */
} tare_settings;

/* The book's: K = 3, epsilon = 0.1%, M = 30. */
#define TARE_SETTINGS_DEFAULT {3, 30, 0, TARE_ANY_CLOCK, 0.001, 0, 0, 0, 0, 0, 0}

/* What a measurement came to. Times are for one execution. A value that is not known is NaN. */
typedef struct tare_outcome {
    double ns;            /* K-best's value; NaN if the slice is too short */
    double cycles;        /* the same in cycles of the counter */
    double fastest_ns;    /* the fastest trial, whatever it is worth */
    double spread;        /* (v_K - v_1) / v_1: no bound on the error */
    double lacking;       /* share of the fastest trial for which the thread had no CPU, if the slice is too short; else 0 */
    double overhead_ns;   /* of an empty trial with as many repetitions, whole */
    double interrupts_ns; /* what was subtracted from the fastest trial for timer interrupts; NaN if it was to be and is not known */
    double core_cycles;   /* cycles that the core made in user mode in the fastest trial; NaN without a PMU */
    double clock_hz;      /* units of the clock in a second */
    uint64_t repetitions; /* executions in a trial */
    uint64_t preemptions; /* times that another process took the CPU around the fastest trial */
    const double *best_ns;  /* the K fastest, ascending: `kept` of them */
    const double *times_ns; /* all trials in their order: `trials` of them */
    uint32_t kept;
    uint32_t trials;
    int standing;         /* enum tare_standing */
    int clock;            /* enum tare_clock */
    int method;           /* enum tare_method */
    uint32_t load;        /* active processes on the CPU that tare_auto assumed; else 0 */
} tare_outcome;

/* Time of f(params) in cycles of the counter, with the settings below. NaN if it is not known: tare_error() says why. */
double tare_fcyc(tare_function f, void *params);
/* The same for a function as the book declares it. */
double tare_fcyc_int(tare_test_func f, int *params);

/* The whole outcome, with these settings, or the defaults if NULL. Ends with tare_outcome_free. NULL if there is none: tare_error()
 * says why. */
tare_outcome *tare_fcyc_full(tare_function f, void *params, const tare_settings *settings);
/* The same with the clock and method that fit the duration of f(params) and `load`, the active processes on its CPU, itself included;
 * 0: as many as there are now. */
tare_outcome *tare_auto(tare_function f, void *params, uint32_t load);
/* Frees an outcome; NULL is nothing. */
void tare_outcome_free(tare_outcome *outcome);

/* Why the last call of this thread that failed did so; "" if none did. Valid until the next one that fails. */
const char *tare_error(void);

/* Settings of tare_fcyc, for the whole program. What makes no sense (K below 1, epsilon below 0, M below K) is reported by the next
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
/* Rate of the counter in MHz, over so many seconds (at least 50 ms); printed if verbose is not 0. NaN if there is no counter. */
double tare_mhz(int verbose, int sleeptime);
/* The timer of the calling thread, in seconds, by gettimeofday. */
void tare_start_timer(void);
double tare_get_timer(void);
/* Waits for the first time that the thread is inactive for more than `thresh` cycles; how many it was. */
int tare_inactiveduration(int thresh);
/* Writes these bytes back from all caches and drops them there. */
void tare_flush(const void *data, uint64_t bytes);
/* Cycles of an empty measurement: the fastest of many. */
double tare_overhead(void);

/* The work of `tare noise`, and of the MPI program of `tare noise bsp`: an empty loop of so many iterations, one at least. It is the
 * same machine code in all of them. */
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
