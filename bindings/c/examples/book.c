/* The book's experiment (CS:APP section 9.4.3): an array of 2,048 integers is written and read back r times. What r repetitions should
 * take comes from a line through short ones, T(r) = m r + b; then K-best measures longer ones, and the error is printed.
 *
 *     cc book.c $(pkg-config --cflags --libs tare) -lm -o book && ./book
 */
#define TARE_BOOK_NAMES
#include <math.h>
#include <stdio.h>
#include <tare.h>

#define INTS 2048
#define SHORT 10  /* repetitions for the line: 1 to 10 */
#define TRIALS 100

static volatile int sink;
static int array[INTS];

static void write_and_read(int *params)
{
    int sum = 0;
    for (int r = 0; r < *params; r++) {
        for (int i = 0; i < INTS; i++)
            array[i] = 3;
        for (int i = 0; i < INTS; i++)
            sum += array[i];
        sink = sum;
    }
}

/* The fastest of many single measurements, by the book's plain counter. */
static double fastest(int r)
{
    double best = INFINITY;
    write_and_read(&r);
    for (int i = 0; i < TRIALS; i++) {
        start_counter();
        write_and_read(&r);
        double cycles = get_counter();
        if (cycles < best)
            best = cycles;
    }
    return best;
}

int main(void)
{
    double n = SHORT, x = 0, y = 0, xx = 0, xy = 0;
    for (int r = 1; r <= SHORT; r++) {
        double t = fastest(r);
        x += r;
        y += t;
        xx += (double)r * r;
        xy += r * t;
    }
    double m = (n * xy - x * y) / (n * xx - x * x), b = (y - m * x) / n;
    double rate = mhz(0, 0);
    printf("T(r) = %.1f r + %.0f cycles, at %.1f MHz\n", m, b, rate);
    printf("%8s %12s %12s %8s\n", "r", "T(r), us", "K-best, us", "error");
    set_fcyc_compensate(1);
    for (int r = 10; r <= 10000; r *= 10) {
        double expected = m * r + b, measured = fcyc(write_and_read, &r);
        if (isnan(measured)) {
            printf("%8d %12.2f  %s\n", r, expected / rate, tare_error());
            continue;
        }
        printf("%8d %12.2f %12.2f %7.2f%%\n", r, expected / rate, measured / rate, 100 * (measured - expected) / expected);
    }
    return 0;
}
