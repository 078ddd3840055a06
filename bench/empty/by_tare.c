/* Measures an empty function with tare's library; prints the ns of one call, and of one empty measurement. */
#include <stdio.h>
#include <tare.h>

void nothing(void *params);

int main(void)
{
    tare_outcome *o = tare_fcyc_full(nothing, 0, 0);
    if (!o) {
        fprintf(stderr, "%s\n", tare_error());
        return 1;
    }
    printf("%.4f %.4f\n", o->fastest_ns, tare_overhead() / o->clock_hz * 1e9);
    tare_outcome_free(o);
    return 0;
}
