/*
 * chaos/plan/plan_keys.h: objects of a plan, read by tables: each key once, with its bounds and the
 * words for what it wants. Private to chaos/plan*.c. Pure.
 */
#ifndef CHAOS_PLAN_PLAN_KEYS_H
#define CHAOS_PLAN_PLAN_KEYS_H

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum plan_key_type {
    PLAN_TEXT,   /* char[size] */
    PLAN_REAL,   /* double */
    PLAN_FLAG,   /* bool */
    PLAN_COUNT,  /* uint32_t */
    PLAN_RANGE,  /* double[2]: a number, or [least, most]. */
    PLAN_COUNTS, /* uint32_t[2]: the same of whole numbers. */
    PLAN_OTHER,  /* The caller reads it. */
};

struct plan_key {
    const char *name;
    enum plan_key_type type;
    size_t offset, size;
    double least, most; /* Both allowed. */
    const char *wanted; /* "seconds" */
};

enum { WHERE_MAX = 64 };

/* Read what `object` has of `keys` into `record`; what it has not stays. `where`: its place in the
 * plan, "faults[2]", "": the plan itself. TN_EINVAL: a key is unknown, or its value wrong. */
MUST_CHECK enum tn_status plan_keys_read(const struct plan_key *keys, size_t count, json_t *object,
                                         const char *where, void *record, struct error *error);

/* TN_EINVAL with "faults[2].KEY is VALUE: REMEDY". `value` may be NULL. */
enum tn_status plan_refuse(const char *where, const char *key, const json_t *value,
                           struct error *error, const char *remedy, ...)
    __attribute__((format(printf, 5, 6)));

#endif
