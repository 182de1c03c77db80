/*
 * common/cluster/metrics.h: the metrics of an evaluation besides loss and accuracy, by their names:
 * those of a model (tn_metric()) and of classes or numbers. They travel with the result of the
 * evaluation: in reports, in /run and in the history. Pure.
 */
#ifndef COMMON_CLUSTER_METRICS_H
#define COMMON_CLUSTER_METRICS_H

#include <jansson.h>
#include <stdint.h>

#include "common/base/json_codec.h"

enum {
    METRIC_NAME_BYTES = 48, /* With the terminator. */
    METRICS_OWN_MAX = 16,   /* Metrics that a model defines. */
    METRICS_MAX = 24,
};

struct metric {
    char name[METRIC_NAME_BYTES];
    double value; /* Not finite: undefined. */
};

struct metrics {
    uint32_t count;
    struct metric list[METRICS_MAX]; /* Names differ. */
};

/* Add a metric. Nothing changes if `name` exists, is longer than METRIC_NAME_BYTES, or if the list
 * is full. */
void metrics_add(struct metrics *metrics, const char *name, double value);

/* NAN: there is none of this name, or it is undefined. */
double metrics_value(const struct metrics *metrics, const char *name);

/* {NAME: number or null}. A new reference; NULL: out of memory. */
json_t *metrics_json(const struct metrics *metrics);

/* A member `struct metrics` as that object. */
extern const struct json_converter metrics_converter;

#endif
