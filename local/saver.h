/*
 * local/saver.h: writes checkpoints on a thread of its own while training continues: the shard,
 * the changed rows of tables, then the manifest, which commits it, then the removal of superseded
 * checkpoints.
 *
 * Threads: the owner's, one at a time; the disk is used on the saver's thread, which blocks all
 * signals. Blocking: saver_finish() and saver_stop() until the disk has answered.
 */
#ifndef LOCAL_SAVER_H
#define LOCAL_SAVER_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/cluster/manifest.h"
#include "common/cluster/run.h"
#include "local/trainer.h"
#include "ps/store/store_port.h"

struct saver;

struct saver_config {
    const char *dir;      /* The folder of the checkpoints; exists. Outlives the saver. */
    uint32_t keep;        /* Committed checkpoints that stay, at least 1. */
    uint64_t interval_ms; /* Between two checkpoints, as configured; 0: unknown. */
};

/* The outcome of the checkpoint that saver_begin() was given. */
struct saver_result {
    uint64_t checkpoint, step;
    enum tn_status status;
    struct error error; /* Unless TN_OK. */
};

/* TN_ENOMEM; TN_EIO: no thread can be started. */
MUST_CHECK enum tn_status saver_start(const struct saver_config *config, struct saver **out,
                                      struct error *error);
/* Finish the checkpoint being written, and free everything. NULL is allowed. */
void saver_stop(struct saver *saver);

/* `checkpoint` is committed on the disk, and `best` is the best one as of it; 0: unknown. Call it
 * for each one found, in ascending order, before the first saver_begin(). */
void saver_know(struct saver *saver, uint64_t checkpoint, uint64_t best);
/* The checkpoint could not be loaded; it is never removed. */
void saver_know_unloadable(struct saver *saver, uint64_t checkpoint);

/*
 * Write the present state of `trainer` as the checkpoint `manifest->id`; the shards of `manifest`
 * and the chain of its tables are filled in, the rest is given. No other may be in progress. Keeps
 * references on the arrays until it is written. The tables of `trainer` save until saver_finish()
 * has reported the end.
 */
void saver_begin(struct saver *saver, const struct manifest *manifest, const char *place,
                 struct trainer *trainer);

/* The checkpoint in progress has ended: report it, once. False: none has. With `wait`, waits for
 * one in progress, which is hurried; otherwise it leaves the machine to training
 * (ps/store/save_pace.h). */
bool saver_finish(struct saver *saver, bool wait, struct saver_result *result);

/* A checkpoint is in progress, or its result was not reported. */
bool saver_is_busy(const struct saver *saver);

#endif
