/*
 * chaos/plan/measure.h: how each fault is measured: whether it lasts ("for_s"), and what its
 * "value" counts. Plans are checked against it; docs/chaos.md and `tanist chaos list` show it.
 * Pure.
 */
#ifndef CHAOS_PLAN_MEASURE_H
#define CHAOS_PLAN_MEASURE_H

#include "chaos/plan/fault.h"

enum lasting {
    LASTS_NOT,   /* It is done and over; "for_s" is refused. */
    LASTS_MAYBE, /* It is over by itself, or after "for_s". */
    LASTS,       /* Until it is undone: "for_s" is needed. */
};

struct measure {
    enum lasting lasts;
    const char *unit;   /* What "value" counts: "ms"; NULL: there is no value, it is refused. */
    double least, most; /* Of the value. */
    bool usual;         /* There is a usual value: it may be left out. */
};

const struct measure *fault_measure(enum fault fault);

#endif
