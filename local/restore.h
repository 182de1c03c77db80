/*
 * local/restore.h: where a local run continues: the newest checkpoint of its folder that can be
 * loaded.
 *
 * Threads: the owner's, while no saver writes. Blocking: on the disk.
 */
#ifndef LOCAL_RESTORE_H
#define LOCAL_RESTORE_H

#include "common/base/error.h"
#include "common/cluster/inputs.h"
#include "common/cluster/run.h"
#include "common/cluster/znodes.h"
#include "local/saver.h"
#include "local/trainer.h"

/* All pointers outlive the call. */
struct restore_config {
    const char *dir; /* The folder of the checkpoints; exists. */
    const struct job *job;
    const struct inputs *inputs; /* This machine's arithmetic and data. */
    void (*notify)(void *ctx, const struct history_entry *entry);
    void *ctx;
};

/*
 * Load the newest checkpoint into `trainer`, which stays at step 0 if there is none. A damaged one
 * is reported, kept, and the next older one is loaded. Sets in `run` the committed checkpoint, the
 * highest id, and an epoch and a generation above those of all checkpoints; adds to its unloadable
 * ones, and makes all of them known to `saver`.
 *
 *   TN_EINVAL    the checkpoint is of another model, optimizer, data set or arithmetic
 *   TN_ECORRUPT  there are checkpoints, but all are damaged
 *   TN_EIO, TN_ENOMEM
 */
MUST_CHECK enum tn_status restore_newest(const struct restore_config *config,
                                         struct trainer *trainer, struct saver *saver,
                                         struct run *run, struct error *error);

#endif
