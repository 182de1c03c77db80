/*
 * agent/observe/training_curve.h: the training curve of a run: from the losses of single steps, as
 * they become known, to one point per interval. The points of a sync run depend on the losses
 * alone, so a step that is done again after a recovery leads to the same point again. Pure.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_OBSERVE_TRAINING_CURVE_H
#define AGENT_OBSERVE_TRAINING_CURVE_H

#include <stdint.h>

enum { TRAINING_CURVE_KEPT = 1 << 16 };

struct training_curve_point {
    uint64_t step;           /* The losses are of the steps before it: updates 1 to `step`. */
    double at_ms;            /* When it was reached, on the clock of training_curve_add(). */
    double loss;             /* Their mean, since the point before; NAN: none is known. */
    uint32_t loss_steps;     /* How many are known. */
    uint32_t interval_steps; /* Out of how many. */
    double steps_per_second; /* Since the point before, or since training began or continued. */
};

struct training_curve {
    uint64_t every_steps, every_ms; /* A point at each multiple, and as often as this; 0: not. */
    uint64_t next;                  /* The first step whose loss is not known. */
    /* Private: */
    uint64_t first;      /* Losses from this step on are kept; at most TRAINING_CURVE_KEPT. */
    uint64_t point_step; /* The step of the last point. */
    double point_ms;
    uint64_t rate_step; /* Since when the rate counts. */
    double rate_ms, reached_ms;
    double losses[TRAINING_CURVE_KEPT]; /* By step modulo TRAINING_CURVE_KEPT. */
};

typedef void training_curve_emit(void *ctx, const struct training_curve_point *point);

/* Zero `curve` before the first call. Training begins or continues at `step` now: later points do
 * no longer count. */
void training_curve_load(struct training_curve *curve, uint64_t step, double now_ms);

/* Training is paused until now: the next steps end later. */
void training_curve_wait(struct training_curve *curve, double now_ms);

/* The losses of `count` steps from `first` on are known, and training has just reached the end of
 * them. Steps before curve.next are ignored, and steps between it and `first` remain unknown. */
void training_curve_add(struct training_curve *curve, uint64_t first, const double *losses,
                        uint32_t count, double now_ms, training_curve_emit *emit, void *ctx);

/* Training has ended: a last point, unless there is one at this step. */
void training_curve_end(struct training_curve *curve, training_curve_emit *emit, void *ctx);

#endif
