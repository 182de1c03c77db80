/* bench/measure.h: order statistics, memory and errors, for all benchmarks. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"

enum { ROUNDS_MAX = 101 };

static inline int measure_compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sort `values`. Afterwards measure_quantile() may be used. */
static inline void measure_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, measure_compare);
}

/* The value at the fraction `at` (0 to 1) of sorted values; 0.5: the median. */
static inline double measure_quantile(const double *sorted, size_t count, double at)
{
    assert(count >= 1);
    return sorted[(size_t)(at * (double)(count - 1) + 0.5)];
}

/* Print a line with the median and the quartiles of `values`, which stay in their order. */
static inline void measure_print_quartiles(const char *what, const double *values, size_t count)
{
    double sorted[ROUNDS_MAX];
    assert(count <= ROUNDS_MAX);
    memcpy(sorted, values, count * sizeof *values);
    measure_sort(sorted, count);
    printf("%-32s %6.2f   [%.2f, %.2f]\n", what, measure_quantile(sorted, count, 0.5),
           measure_quantile(sorted, count, 0.25), measure_quantile(sorted, count, 0.75));
}

/* At least `size` bytes, in whole pages, of different numbers; to be freed. NULL: no memory. */
static inline void *measure_filled(size_t size)
{
    uint64_t *values = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    for (size_t i = 0; values != NULL && i < size / 8; i++) {
        values[i] = i * 0x9e3779b97f4a7c15ULL;
    }
    return values;
}

/* The processor time of this process: other load on the machine does not count. */
static inline double measure_cpu_seconds(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) { return 0; }
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Exit with 1 and the error unless `status` is TN_OK. */
static inline void measure_require(enum tn_status status, const struct error *error)
{
    if (status == TN_OK) { return; }
    (void)fprintf(stderr, "benchmark failed: %s\n", error->text);
    exit(1);
}

#endif
