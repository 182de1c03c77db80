/*
 * common/cluster/best.h: the checkpoint with the best evaluation, by the metric of the job's
 * `checkpoint.best` (rule C17).
 *
 * Each manifest has the best checkpoint as of its own commit, itself included. So whatever a run
 * continues from also has the best checkpoint up to there, and collection keeps both. Pure.
 * Threads: any.
 */
#ifndef COMMON_CLUSTER_BEST_H
#define COMMON_CLUSTER_BEST_H

#include <stdbool.h>
#include <stdint.h>

enum best_metric { BEST_NONE, BEST_LOSS, BEST_ACCURACY };

struct best {
    uint64_t checkpoint, step; /* 0: none is known. */
    enum best_metric metric;
    double value;
};

/* The value of an evaluation; NAN without a metric. */
double best_value(enum best_metric metric, double loss, double accuracy);
/* Whether `value` is better than `than`; NAN is neither better nor worse than a number. */
bool best_is_better(enum best_metric metric, double value, double than);
/* Whether a checkpoint with `value` is the best one. The first of equals stays. */
bool best_improves(const struct best *best, enum best_metric metric, double value);
/* `best` if it is of this metric; else none. */
struct best best_of_metric(const struct best *best, enum best_metric metric);

/* In job files and manifests: all names, NULL-ended. */
extern const char *const best_metric_names[];

#endif
