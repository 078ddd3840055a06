/* Work of one kind, R times: exactly so much more work for R that is larger. Usage: kinds KIND R.
 *
 * Each kind spends its time elsewhere: in the multiplier, in unpredictable branches, in the first-level cache, in the kernel, in
 * memory. What is set up before is the same for every R. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static volatile uint64_t sink;

static void multiply(long r) {
    uint64_t x = 3;
    for (long i = 0; i < r * 1000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

/* A variable on the stack, loaded and stored each time. */
static void increment(long r) {
    volatile uint64_t x = 0;
    for (long i = 0; i < r * 1000; i++)
        x++;
    sink = x;
}

/* The same numbers again and again, whose order a branch predictor can learn, or new ones each time. */
static void insertion_sort(long r, int anew) {
    enum { N = 128 };
    static int given[N], a[N];
    for (long k = 0; k < r; k++) {
        for (int i = 0; i < N && (anew || k == 0); i++)
            given[i] = (int)(next() % 100000);
        memcpy(a, given, sizeof a);
        for (int i = 1; i < N; i++) {
            int v = a[i], j = i;
            while (j > 0 && a[j - 1] > v) {
                a[j] = a[j - 1];
                j--;
            }
            a[j] = v;
        }
        sink += (uint64_t)a[k % N];
    }
}

static void matrix(long r) {
    enum { N = 24 };
    static double a[N][N], b[N][N], c[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = b[i][j] = (double)(next() % 100) / 100;
    for (long k = 0; k < r; k++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double s = 0;
                for (int l = 0; l < N; l++)
                    s += a[i][l] * b[l][j];
                c[i][j] = s;
            }
        a[0][0] = c[N - 1][N - 1] / 1000;
    }
    sink = (uint64_t)c[1][1];
}

/* A walk through all elements in random order, each step after the one before it. */
static void chase(long steps, size_t elements) {
    size_t *to = malloc(elements * sizeof *to), *order = malloc(elements * sizeof *order);
    if (!to || !order)
        exit(1);
    for (size_t i = 0; i < elements; i++)
        order[i] = i;
    for (size_t i = elements - 1; i > 0; i--) {
        size_t j = next() % (i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < elements; i++)
        to[order[i]] = order[(i + 1) % elements];
    size_t at = 0;
    for (long i = 0; i < steps; i++)
        at = to[at];
    sink = at;
}

static void branches(long r) {
    uint64_t sum = 0;
    for (long i = 0; i < r * 100; i++) {
        uint64_t x = next();
        if (x & 1)
            sum += x >> 3;
        else
            sum ^= x * 3;
        if (x & 2)
            sum -= 7;
    }
    sink = sum;
}

static void system_calls(long r) {
    for (long i = 0; i < r * 10; i++)
        sink += (uint64_t)syscall(SYS_getppid);
}

static void stream(long r) {
    size_t n = 8u << 20; /* 64 MiB */
    uint64_t *a = malloc(n * sizeof *a), sum = 0;
    if (!a)
        exit(1);
    memset(a, 1, n * sizeof *a);
    for (long i = 0; i < r * 1000; i++)
        sum += a[(size_t)(i * 8) % n];
    sink = sum;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    long r = atol(argv[2]);
    const char *kind = argv[1];
    if (!strcmp(kind, "multiply"))
        multiply(r);
    else if (!strcmp(kind, "increment"))
        increment(r);
    else if (!strcmp(kind, "sort"))
        insertion_sort(r, 0);
    else if (!strcmp(kind, "sort-new"))
        insertion_sort(r, 1);
    else if (!strcmp(kind, "matrix"))
        matrix(r);
    else if (!strcmp(kind, "l1"))
        chase(r * 1000, 2048);
    else if (!strcmp(kind, "l2"))
        chase(r * 1000, 128 << 10);
    else if (!strcmp(kind, "branches"))
        branches(r);
    else if (!strcmp(kind, "calls"))
        system_calls(r);
    else if (!strcmp(kind, "stream"))
        stream(r);
    else if (!strcmp(kind, "memory"))
        chase(r * 100, 2u << 20);
    else
        return 2;
    return 0;
}
