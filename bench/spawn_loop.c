/* The minimum that timing a program needs: posix_spawn and wait4 between two clock readings.
 * Usage: spawn_loop N PROGRAM [ARGUMENTS]; prints each elapsed time in ns, after all executions. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[1]) : 0;
    long long *elapsed = n > 0 ? malloc(n * sizeof *elapsed) : NULL;
    if (!elapsed) {
        fprintf(stderr, "usage: spawn_loop N PROGRAM [ARGUMENTS]\n");
        return 2;
    }
    /* Execution -1 only fills the caches. */
    for (int i = -1; i < n; i++) {
        pid_t pid;
        int status;
        struct rusage usage;
        long long start = now();
        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 || wait4(pid, &status, 0, &usage) != pid) {
            perror(argv[2]);
            return 1;
        }
        long long end = now();
        if (status != 0) {
            fprintf(stderr, "%s failed\n", argv[2]);
            return 1;
        }
        if (i >= 0) elapsed[i] = end - start;
    }
    for (int i = 0; i < n; i++) printf("%lld\n", elapsed[i]);
    return 0;
}
