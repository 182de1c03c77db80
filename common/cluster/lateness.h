/*
 * common/cluster/lateness.h: whether the slices of a step that are lacking are late, as the node
 * that collects the gradients of all slices sees it (C23). Pure.
 *
 * A step of a healthy cluster takes about as long as the ones before it. The time until half of the
 * slices have arrived is measured, because it does not depend on the slowest worker, and averaged.
 * Slices are late when the first gradient of the step has been here for LATENESS_FACTOR times as
 * long, and for LATENESS_LEAST_MS: a busy host delays a process by this much now and then. Nothing
 * is late before a step was measured, nor in a step that follows a load or a restart, when workers
 * begin at different times.
 *
 * Threads: the owner's. Nothing fails.
 */
#ifndef COMMON_CLUSTER_LATENESS_H
#define COMMON_CLUSTER_LATENESS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LATENESS_FACTOR = 4,
    LATENESS_LEAST_MS = 200,
    LATENESS_WEIGHT = 8, /* A step is an eighth of the new average. */
};

/* Zero at first. */
struct lateness {
    /* Private. */
    bool timed;           /* The current step began at `begun_ms`. */
    bool arrived, halved; /* The first gradient of the step has arrived; half of the slices have. */
    uint64_t begun_ms, first_ms;
    uint64_t average_us; /* Until half of the slices have arrived; 0: not measured yet. */
};

/* A step begins now: the values that it is computed from are being sent. */
void lateness_begin(struct lateness *it, uint64_t now_ms);
/* No slice can be late until another step begins. */
void lateness_stop(struct lateness *it);
/* Also without a gradient of another node, the others are awaited from now on: without ps, a worker
 * has computed its own slices. */
void lateness_await(struct lateness *it, uint64_t now_ms);
/* The gradients of `covered` of `slices` slices have arrived. */
void lateness_arrived(struct lateness *it, uint32_t covered, uint32_t slices, uint64_t now_ms);

/* How long after the first gradient the others are late; 0: not known yet. */
uint64_t lateness_limit_ms(const struct lateness *it);
/* How many times this limit has passed since the first gradient; 0: nothing is late. */
uint64_t lateness_periods(const struct lateness *it, uint64_t now_ms);
/* When there will be one more; UINT64_MAX: not in this step. */
uint64_t lateness_due_ms(const struct lateness *it, uint64_t now_ms);

#endif
