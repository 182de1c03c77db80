/*
 * common/job/early_stop.h: when a run stops because its evaluations do not improve (rule C8).
 *
 * Evaluations of the same values have the same results, so after a recovery a run stops at the same
 * step as an undisturbed one. Results of an evaluator are counted in the order of their arrival.
 * Pure. Threads: any.
 */
#ifndef COMMON_JOB_EARLY_STOP_H
#define COMMON_JOB_EARLY_STOP_H

#include "common/cluster/run.h"
#include "common/job/job.h"

struct early_stop {
    bool by_accuracy;  /* Greater is better; else the loss, less is better. */
    uint64_t patience; /* Evaluations without an improvement; 0: the run does not stop early. */
    uint64_t evaluate_every; /* Steps between them; 0: an evaluator evaluates checkpoints. */
};

struct early_stop early_stop_of_job(const struct job *job);

/* Note the newest evaluation of `run` if it is the best so far. One that is not finite never is. */
void early_stop_note(const struct early_stop *stop, struct run *run);
/* Note an evaluation of an earlier start. */
void early_stop_note_value(const struct early_stop *stop, struct run *run, uint64_t step,
                           double loss, double accuracy);
/* Whether the newest evaluation is the last one that patience permits. */
bool early_stop_is_due(const struct early_stop *stop, const struct run *run);
/* The steps after `step` are lost. If the best evaluation is one of them, it will be repeated. */
void early_stop_rewind(struct run *run, uint64_t step);

#endif
