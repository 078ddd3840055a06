/* The whole outcome of a measurement, warm and cold, and one whose method tare chooses.
 *
 *     cc outcome.c $(pkg-config --cflags --libs tare) -o outcome && ./outcome
 */
#include <stdint.h>
#include <stdio.h>
#include <tare.h>

static uint32_t data[16384];
static volatile uint32_t sink;

static void sum(void *params)
{
    (void)params;
    uint32_t s = 0;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        s += data[i];
    sink = s;
}

static int show(const char *what, tare_outcome *o)
{
    static const char *const standing[] = {"converged", "not converged", "the slice is too short", "too short for the clock"};
    if (!o) {
        fprintf(stderr, "%s: %s\n", what, tare_error());
        return 1;
    }
    printf("%-8s %10.1f ns, %llu executions in each of %u trials, %s; the %u fastest:", what, o->ns,
           (unsigned long long)o->repetitions, o->trials, standing[o->standing], o->kept);
    for (uint32_t i = 0; i < o->kept; i++)
        printf(" %.1f", o->best_ns[i]);
    printf("\n");
    tare_outcome_free(o);
    return 0;
}

int main(void)
{
    tare_settings settings = TARE_SETTINGS_DEFAULT;
    settings.epsilon = 0.01;
    int failed = show("warm", tare_fcyc_full(sum, NULL, &settings));
    settings.clear_cache = 1;
    settings.cache_bytes = 16 << 20;
    failed |= show("cold", tare_fcyc_full(sum, NULL, &settings));
    failed |= show("chosen", tare_auto(sum, NULL, 0));
    return failed;
}
