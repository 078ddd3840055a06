// The same by Google Benchmark: ns for one call; and for one call that is timed by itself, its way of timing a part of the loop.
#include <benchmark/benchmark.h>

extern "C" void nothing(void *params);

static void call(benchmark::State &state)
{
    for (auto _ : state)
        nothing(nullptr);
}
BENCHMARK(call);

static void timed(benchmark::State &state)
{
    for (auto _ : state) {
        state.PauseTiming();
        state.ResumeTiming();
        nothing(nullptr);
    }
}
BENCHMARK(timed)->Iterations(100000);

BENCHMARK_MAIN();
