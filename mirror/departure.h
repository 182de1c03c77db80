/*
 * mirror/departure.h: when a worker of a run without ps that was asked to leave may go (C24). A
 * pure function of what the worker knows. Threads: any. Nothing fails.
 *
 * A worker stays as long as training may need it: it owns slices, or the values that it has may
 * become the only ones. Only the chief knows that others have them, and releases the worker in
 * /run. If all workers leave, none is released: the run pauses at a gate (C16), and until the
 * checkpoint of the gate is committed each of them may be the last one that has the values.
 */
#ifndef MIRROR_DEPARTURE_H
#define MIRROR_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/run.h"

struct departure {
    uint64_t incarnation;  /* The incarnation of the worker. */
    const struct run *run; /* As read last; NULL: not yet. */
    bool holds;            /* The worker has the values of the run's generation. */
    bool owns;             /* Slices; also true while it has not read /assignment. */
    bool saves;            /* A checkpoint is being saved, or its manifest copied. */
    uint64_t asked_ms;     /* When it was asked to leave. */
};

bool departure_may_go(const struct departure *departure, uint64_t now_ms);
/* When to call again, although nothing else has changed. */
uint64_t departure_deadline_ms(const struct departure *departure);

#endif
