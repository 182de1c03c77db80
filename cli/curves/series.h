/*
 * cli/curves/series.h: the metrics of a run as series over its steps, from DIR/metrics.jsonl.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef CLI_CURVES_SERIES_H
#define CLI_CURVES_SERIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { SERIES_METRICS_MAX = 6, SERIES_MARKS_MAX = 256 };

struct series_point {
    uint64_t step;
    double value;
};

/* One metric of one run, one point for each step, ascending. */
struct series {
    struct series_point *points; /* Owned. */
    size_t count, capacity;
};

struct run_series {
    const char *dir; /* Borrowed. */
    size_t metric_count;
    const char *metrics[SERIES_METRICS_MAX]; /* Borrowed. */
    struct series series[SERIES_METRICS_MAX];
    /* The steps from which training continued after a recovery or a restart; the first ones. */
    size_t mark_count;
    uint64_t marks[SERIES_MARKS_MAX];
    json_t *changes; /* The `changed` events, an array. Owned. */
    bool out_of_memory;
};

/* Read these metrics of the run in `dir`. TN_ENOENT: it has no metrics.jsonl; TN_EINVAL: no point
 * has one of the metrics, and the error names those that exist; TN_EIO, TN_ENOMEM. After a failure
 * nothing is owned. */
MUST_CHECK enum tn_status run_series_read(struct run_series *run, const char *dir,
                                          const char *const *metrics, size_t metric_count,
                                          struct error *error);
void run_series_free(struct run_series *run); /* A zeroed one is allowed. */

/* At most `most` points with the extremes of the series: where it has more, the lowest and the
 * highest of each of most / 2 equal parts. malloc'ed; `*count`: how many. NULL: out of memory. */
struct series_point *series_thin(const struct series *series, size_t most, size_t *count);

#endif
