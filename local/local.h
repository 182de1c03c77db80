/*
 * local/local.h: a whole run in one process: training, evaluations and checkpoints, without
 * ZooKeeper and without nodes. It decides by the job alone what a chief would order: an evaluation
 * at every multiple of evaluate.every_steps, a checkpoint at every multiple of
 * checkpoint.every_steps, and both at the end.
 *
 * A checkpoint is written while training continues. The next one waits for it, so none is skipped
 * because the disk is slow. One that cannot be written is skipped, counted and reported; at the end
 * that is an error.
 *
 * Threads: the caller's, and that of the saver. Blocking: until the run has ended.
 */
#ifndef LOCAL_LOCAL_H
#define LOCAL_LOCAL_H

#include "common/base/error.h"
#include "common/cluster/inputs.h"
#include "common/cluster/run.h"
#include "common/cluster/znodes.h"
#include "local/trainer.h"

/* All pointers outlive the run. */
struct local_config {
    struct compute_config compute; /* Its pool is not used. */
    const struct inputs *inputs;   /* The data and kernels in `compute`. */
    const char *dir;               /* The folder of the checkpoints; exists. */
    const char *place;             /* "host:folder", for manifests. */
    /* Not 0: end after the current step. Set by a signal handler. */
    const volatile int *leave;
    void (*loaded)(void *ctx, const struct run *run); /* Training begins or continues now. */
    /* After every step, with the mean loss of its batch. */
    void (*stepped)(void *ctx, const struct run *run, uint64_t step, double loss);
    /* After every step: whether the run ends here. */
    bool (*should_stop)(void *ctx);
    void (*noted)(void *ctx, const struct run *run, const struct history_entry *entry);
    /* At the end, for each table: its rows that were trained, and their bytes in memory. */
    void (*counted)(void *ctx, const char *table, uint64_t rows, uint64_t bytes);
    void *ctx;
};

/*
 * Run the job to its end, or until `leave`. `run` brings the values of earlier starts of this run
 * (skipped_checkpoints and unloadable ones; else zeros) and is kept up to date: at the end it is as
 * /run of a cluster, RUN_DONE, or still RUN_RUNNING if it left, with the checkpoint of its last
 * step committed.
 *
 *   TN_EINVAL             training diverged: see trainer_step(); the last checkpoint stays
 *   TN_ENOSPC, TN_EIO     the last checkpoint cannot be written
 *   others                those of trainer_open() and restore_newest()
 */
MUST_CHECK enum tn_status local_run_job(const struct local_config *config, struct run *run,
                                        struct error *error);

#endif
