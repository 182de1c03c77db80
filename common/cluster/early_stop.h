/*
 * common/cluster/early_stop.h: when a run stops because its evaluations do not improve (rule C8).
 *
 * Evaluations of equal values are equal, so after a recovery a run stops at the same step as an
 * undisturbed one. With an evaluator they are counted as they come. Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_EARLY_STOP_H
#define COMMON_CLUSTER_EARLY_STOP_H

#include "common/cluster/job.h"
#include "common/cluster/run.h"

struct early_stop {
    bool by_accuracy;  /* Greater is better; else the loss, less is better. */
    uint64_t patience; /* Evaluations without an improvement; 0: the run does not stop early. */
    uint64_t evaluate_every; /* Steps between them; 0: an evaluator evaluates checkpoints. */
};

struct early_stop early_stop_of_job(const struct job *job);

/* Note the newest evaluation of `run` if it is the best so far. */
void early_stop_note(const struct early_stop *stop, struct run *run);
/* Note an evaluation of an earlier start. */
void early_stop_note_value(const struct early_stop *stop, struct run *run, uint64_t step,
                           double loss, double accuracy);
/* Whether the newest evaluation is the last one that patience permits. */
bool early_stop_is_due(const struct early_stop *stop, const struct run *run);
/* The steps after `step` are lost: a best one among them will be found again. */
void early_stop_rewind(struct run *run, uint64_t step);

#endif
