/* bench/bench_steps.c: the times of the steps of a running cluster, for bench/run. Asks one ps for
 * its step again and again, and for each line with a number of seconds on standard input prints the
 * median, the percentiles 99 and 99.9 and the longest of the milliseconds between two steps. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/observe/step_poller.h"
#include "common/base/clock.h"

enum { STEPS_MAX = 1 << 20, ASK_NS = 50000, NS_PER_MS = 1000000 };

struct asked {
    struct step_poller *poller;
    const char *address;
    uint64_t incarnation;
};

static void sleep_ns(long ns)
{
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

/* The step that the ps has at this time; 0: it does not answer. */
static uint64_t ask(const struct asked *asked)
{
    uint64_t generation, step;
    step_poller_ask(asked->poller, 0, asked->address, asked->incarnation);
    for (int i = 0; i < 100000 && step_poller_settled(asked->poller, 1) == 0; i++) {
        sleep_ns(ASK_NS);
    }
    return step_poller_get(asked->poller, 0, &generation, &step) ? step : 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Steps that were made between two answers share the time evenly. Returns their number. */
static size_t measure(const struct asked *asked, double seconds, double *times_ms)
{
    const uint64_t end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
    uint64_t last = ask(asked), since = clock_monotonic_ns();
    size_t count = 0;
    for (uint64_t now = since; now < end; sleep_ns(ASK_NS)) {
        const uint64_t step = ask(asked);
        now = clock_monotonic_ns();
        if (step <= last) { continue; }
        const double each = (double)(now - since) / NS_PER_MS / (double)(step - last);
        for (; last < step && count < STEPS_MAX; last++) { times_ms[count++] = each; }
        last = step;
        since = now;
    }
    return count;
}

int main(int argc, char **argv)
{
    static double times_ms[STEPS_MAX];
    struct error error;
    char line[64];
    if (argc != 4) { return 2; }
    struct asked asked = {.address = argv[2], .incarnation = strtoull(argv[3], NULL, 10)};
    if (step_poller_open(strtoull(argv[1], NULL, 16), &asked.poller, &error) != TN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        const size_t count = measure(&asked, strtod(line, NULL), times_ms);
        if (count == 0) {
            (void)fprintf(stderr, "the ps at %s made no step\n", asked.address);
            return 1;
        }
        qsort(times_ms, count, sizeof *times_ms, compare);
        printf("%.4g %.4g %.4g %.4g\n", times_ms[count / 2], times_ms[count * 99 / 100],
               times_ms[count * 999 / 1000], times_ms[count - 1]);
        (void)fflush(stdout);
    }
    step_poller_close(asked.poller);
    return 0;
}
