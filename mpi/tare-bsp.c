/* Measures a bulk-synchronous job: every rank does the same piece of work, then all wait for the slowest at a barrier.
 * `tare noise bsp` starts this program and compares the result with the prediction from the noise of single ranks (docs/noise.md,
 * "Many nodes"). The work is the loop of `tare noise`, from libtare.a.
 *
 * Three kinds of phases are interleaved in blocks of at most a tenth of a second, so that all meet the machine in the same state:
 *   - alone: phases back to back, on all ranks at once, without barriers;
 *   - work and whole: phases with a barrier after each; work is the time until the rank's work is done, whole until it has passed
 *     the barrier;
 *   - empty: barriers without work.
 * Between two readings of the clock there are only work and barrier.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tare.h>
#include <time.h>
#include <unistd.h>

/* Iterations of a timing of the calibration (ICS'05, section 3.1), and timings of the clock alone. */
#define ITERATIONS 1000000
#define READINGS 10000
/* Maximum number of phases: 2 GB of memory per rank. */
#define MOST 50000000

enum { DONE = 0, USAGE = 2, FAILED = 4 };

struct options {
    double grain; /* ns */
    long phases, calibrations;
    const char *output; /* NULL: standard output */
};

/* What each rank reports to rank 0. */
struct rank {
    char host[MPI_MAX_PROCESSOR_NAME];
    int32_t cpu;     /* where it ran at the end */
    int32_t allowed; /* CPUs that it may run on */
    double per_iteration, overhead;
};

/* Columns of times, one value for each phase, in ns. */
enum { START, ALONE, WORK, WHOLE, EMPTY, COLUMNS };
static int64_t *column[COLUMNS];

/* The kernel's clock, not the cycle counter: it has the same unit on all nodes, and the same origin for all ranks of a node. */
static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void alone(long from, long until, uint64_t iterations)
{
    int64_t last = now();
    for (long i = from; i < until; i++) {
        tare_noise_work(iterations);
        int64_t t = now();
        column[START][i] = last;
        column[ALONE][i] = t - last;
        last = t;
    }
}

static void together(long from, long until, uint64_t iterations)
{
    int64_t last = now();
    for (long i = from; i < until; i++) {
        tare_noise_work(iterations);
        int64_t done = now();
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t t = now();
        column[WORK][i] = done - last;
        column[WHOLE][i] = t - last;
        last = t;
    }
}

static void empty(long from, long until)
{
    int64_t last = now();
    for (long i = from; i < until; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t t = now();
        column[EMPTY][i] = t - last;
        last = t;
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The mean of the second decile of the timings of the loop, in ns; negative if there is no memory. */
static double second_decile(long timings, uint64_t iterations)
{
    int64_t *each = malloc((size_t)timings * sizeof *each);
    if (each == NULL)
        return -1;
    int64_t last = now();
    for (long i = 0; i < timings; i++) {
        tare_noise_work(iterations);
        int64_t t = now();
        each[i] = t - last;
        last = t;
    }
    qsort(each, (size_t)timings, sizeof *each, by_size);
    double sum = 0;
    for (long i = timings / 10; i < timings / 5; i++)
        sum += (double)each[i];
    free(each);
    return sum / (double)(timings / 5 - timings / 10);
}

/* A time such as "1ms", in ns; negative if the text is not a time. */
static double length(const char *text)
{
    static const struct {
        const char *sign;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *rest;
    double value = strtod(text, &rest);
    for (size_t i = 0; rest != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(rest, units[i].sign) == 0)
            return value * units[i].ns;
    return -1;
}

static int whole_number(const char *text, long least, long most, long *value)
{
    char *rest;
    errno = 0;
    *value = strtol(text, &rest, 10);
    return errno == 0 && rest != text && *rest == '\0' && *value >= least && *value <= most;
}

static const char usage[] =
    "usage: mpirun -n RANKS tare-bsp [-g GRAIN] [-p PHASES] [-c TIMINGS] [-o FILE]\n"
    "  -g GRAIN    length of an undisturbed phase, 1us to 1s [1ms]\n"
    "  -p PHASES   phases of each kind on each rank [10000]\n"
    "  -c TIMINGS  timings of the calibration, of a million iterations each [1000]\n"
    "  -o FILE     where rank 0 writes the result [standard output]\n"
    "`tare noise bsp FILE` shows the result.\n";

/* Why the arguments are invalid, or NULL. */
static const char *parse(int argc, char **argv, struct options *o)
{
    int option;
    opterr = 0;
    while ((option = getopt(argc, argv, "g:p:c:o:h")) != -1)
        switch (option) {
        case 'g':
            o->grain = length(optarg);
            if (!(o->grain >= 1e3 && o->grain <= 1e9))
                return "-g is not between 1us and 1s, as in 100us";
            break;
        case 'p':
            if (!whole_number(optarg, 1, MOST, &o->phases))
                return "-p is not between 1 and 50000000";
            break;
        case 'c':
            if (!whole_number(optarg, 10, 10000000, &o->calibrations))
                return "-c is not between 10 and 10000000";
            break;
        case 'o':
            o->output = optarg;
            break;
        default:
            return usage;
        }
    return optind == argc ? NULL : usage;
}

/* Memory for the durations, mapped before they are measured. */
static int prepare(long phases)
{
    size_t bytes = (size_t)phases * sizeof(int64_t);
    for (int c = 0; c < COLUMNS; c++) {
        column[c] = malloc(bytes);
        if (column[c] == NULL)
            return 0;
        memset(column[c], 0, bytes);
        /* Needs a privilege; without it, touched pages usually stay mapped. */
        (void)mlock(column[c], bytes);
    }
    return 1;
}

static void describe(struct rank *r)
{
    int length = 0;
    MPI_Get_processor_name(r->host, &length);
    /* The name becomes a word in a line of the file. */
    for (char *c = r->host; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            *c = '?';
    cpu_set_t set;
    r->cpu = sched_getcpu();
    /* With more CPUs than the set has room for, the rank may run on several. */
    r->allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
}

static void write_head(FILE *f, const struct options *o, uint64_t iterations, int ranks, time_t began)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", created[32] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n\t")] = '\0';
    struct tm utc;
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&began, &utc));
    fprintf(f, "tare-bsp 1\nmpi %s\ncreated %s\nclock CLOCK_MONOTONIC\nunit ns\n", version, created);
    fprintf(f, "grain %.0f\niterations %" PRIu64 "\ncalibrations %ld\n", o->grain, iterations, o->calibrations);
    fprintf(f, "phases %ld\nranks %d\n", o->phases, ranks);
}

static void write_rank(FILE *f, int number, const struct rank *r, long phases)
{
    fprintf(f, "rank %d\nhost %s\ncpu %d\nallowed %d\n", number, r->host, r->cpu, r->allowed);
    fprintf(f, "per_iteration %.6f\noverhead %.3f\nrows start alone work whole empty\n", r->per_iteration, r->overhead);
    for (long i = 0; i < phases; i++)
        fprintf(f, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", column[START][i], column[ALONE][i],
                column[WORK][i], column[WHOLE][i], column[EMPTY][i]);
}

/* Writes one rank after another, so that rank 0 needs no more memory than the others. Returns whether all was written. */
static int gather(FILE *f, int rank, int ranks, const struct rank *own, long phases)
{
    if (rank != 0) {
        MPI_Send(own, sizeof *own, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        for (int c = 0; c < COLUMNS; c++)
            MPI_Send(column[c], (int)phases, MPI_INT64_T, 0, 1 + c, MPI_COMM_WORLD);
        return 1;
    }
    write_rank(f, 0, own, phases);
    for (int r = 1; r < ranks; r++) {
        struct rank other;
        MPI_Recv(&other, sizeof other, MPI_BYTE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int c = 0; c < COLUMNS; c++)
            MPI_Recv(column[c], (int)phases, MPI_INT64_T, r, 1 + c, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        write_rank(f, r, &other, phases);
    }
    fputs("end\n", f);
    return fflush(f) == 0 && !ferror(f);
}

static int job(const struct options *o, FILE *f, int rank, int ranks)
{
    time_t began = time(NULL);
    int ready = prepare(o->phases), all;
    MPI_Allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        if (!ready)
            fprintf(stderr, "tare-bsp: rank %d has no memory for %ld phases: fewer by -p\n", rank, o->phases);
        return FAILED;
    }
    /* All ranks calibrate at the same time, as they will work; all do the number of iterations of rank 0's calibration. */
    struct rank own;
    memset(&own, 0, sizeof own);
    MPI_Barrier(MPI_COMM_WORLD);
    own.per_iteration = second_decile(o->calibrations, ITERATIONS) / ITERATIONS;
    own.overhead = second_decile(READINGS, 1) - own.per_iteration;
    if (own.overhead < 0)
        own.overhead = 0;
    double iterations = own.per_iteration > 0 ? (o->grain - own.overhead) / own.per_iteration : 0;
    MPI_Bcast(&iterations, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (!(iterations >= 1 && iterations < 9e18)) {
        if (rank == 0)
            fprintf(stderr, "tare-bsp: no number of iterations takes %.0f ns: a longer grain by -g\n", o->grain);
        return FAILED;
    }
    uint64_t n = (uint64_t)(iterations + 0.5);
    /* A tenth of a second, or a twentieth of the measurement if that is shorter. */
    long round = (long)fmin(1e8 / o->grain, (double)o->phases / 20);
    if (round < 10)
        round = 10;
    /* Warms the caches, and lets the MPI library set up its first barriers. */
    for (int i = 0; i < 100; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (long from = 0; from < o->phases; from += round) {
        long until = o->phases - from < round ? o->phases : from + round;
        MPI_Barrier(MPI_COMM_WORLD);
        alone(from, until, n);
        MPI_Barrier(MPI_COMM_WORLD);
        together(from, until, n);
        MPI_Barrier(MPI_COMM_WORLD);
        empty(from, until);
    }
    describe(&own);
    if (rank == 0)
        write_head(f, o, n, ranks, began);
    int written = gather(f, rank, ranks, &own, o->phases);
    if (!written)
        fprintf(stderr, "tare-bsp: the result could not be written: %s\n", strerror(errno));
    return written ? DONE : FAILED;
}

/* Where rank 0 writes: a temporary file beside the result, which replaces it when it is whole, so that a kill or a full disk leaves an
 * earlier result as it was. */
struct output {
    FILE *file;
    char *target;    /* the file that is replaced, links followed */
    char *temporary; /* NULL: the file itself is written, as a device, a FIFO, another user's file or one in a closed folder */
};

/* Makes the temporary file for a file that is open; returns whether that was possible. */
static int open_temporary(struct output *out, const char *path, const struct stat *old)
{
    struct stat found;
    /* Those are names of open files, which a rename would not reach. */
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return 0;
    if (!S_ISREG(old->st_mode) || old->st_nlink != 1 || old->st_uid != geteuid())
        return 0;
    if ((out->target = realpath(path, NULL)) == NULL)
        return 0;
    if (stat(out->target, &found) != 0 || found.st_dev != old->st_dev || found.st_ino != old->st_ino ||
        asprintf(&out->temporary, "%s.XXXXXX", out->target) < 0)
        goto without_name;
    int fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd < 0)
        goto without_file;
    if (fchown(fd, (uid_t)-1, old->st_gid) == 0 && fchmod(fd, old->st_mode & 07777) == 0 &&
        (out->file = fdopen(fd, "w")) != NULL)
        return 1;
    close(fd);
    unlink(out->temporary);
without_file:
    free(out->temporary);
without_name:
    free(out->target);
    return 0;
}

/* Opens it before the measurement, so that an error is found early. Returns whether it can be written; otherwise errno is set. */
static int open_output(struct output *out, const char *path)
{
    struct stat old = {0};
    /* The kernel decides whether the name may be followed and written to. */
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return 0;
    if (fstat(fd, &old) == 0 && open_temporary(out, path, &old)) {
        close(fd);
        return 1;
    }
    out->target = out->temporary = NULL;
    if ((S_ISREG(old.st_mode) && ftruncate(fd, 0) != 0) || (out->file = fdopen(fd, "w")) == NULL) {
        int error = errno;
        close(fd);
        errno = error;
        return 0;
    }
    return 1;
}

/* Replaces the file if the job was done. Returns whether all of its result is there; otherwise errno is set. */
static int close_output(struct output *out, int done)
{
    int error = 0;
    if (done && out->temporary != NULL && (fflush(out->file) != 0 || fsync(fileno(out->file)) != 0))
        error = errno;
    if (fclose(out->file) != 0 && error == 0)
        error = errno;
    if (out->temporary != NULL) {
        if (done && error == 0 && rename(out->temporary, out->target) != 0)
            error = errno;
        if (!done || error != 0)
            unlink(out->temporary);
        free(out->temporary);
        free(out->target);
    }
    errno = error;
    return error == 0;
}

/* If srun and the MPI library use different interfaces, srun starts one job for each task. Reports this once. */
static int apart(int ranks)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS"), *own = getenv("SLURM_PROCID");
    if (ranks > 1 || tasks == NULL || own == NULL || atol(tasks) <= 1)
        return 0;
    if (strcmp(own, "0") == 0)
        fprintf(stderr,
                "tare-bsp: srun started %s tasks, but the MPI library knows of one only: tell srun how they meet, with one "
                "of `srun --mpi=list`, as in `srun --mpi=pmix`\n",
                tasks);
    return 1;
}

int main(int argc, char **argv)
{
    int rank, ranks, end = DONE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct options o = {1e6, 10000, 1000, NULL};
    const char *wrong = parse(argc, argv, &o);
    struct output out = {stdout, NULL, NULL};
    if (apart(ranks)) {
        end = USAGE;
    } else if (wrong != NULL) {
        end = USAGE;
        if (rank == 0)
            fprintf(stderr, "%s%s%s", wrong == usage ? "" : "tare-bsp: ", wrong, wrong == usage ? "" : "\n");
    } else {
        if (rank == 0 && o.output != NULL && !open_output(&out, o.output)) {
            fprintf(stderr, "tare-bsp: %s cannot be written: %s\n", o.output, strerror(errno));
            end = USAGE;
        }
        MPI_Bcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (end == DONE) {
            end = job(&o, out.file, rank, ranks);
            if (out.file != stdout && !close_output(&out, end == DONE) && end == DONE) {
                fprintf(stderr, "tare-bsp: %s cannot be written: %s\n", o.output, strerror(errno));
                end = FAILED;
            }
        }
    }
    MPI_Finalize();
    return end;
}
