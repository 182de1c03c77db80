/*
 * cli/model/saved_model.h: the model of a run's folder: its job, and a committed checkpoint of it.
 * No process of the run is needed, and one that trains is not disturbed.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef CLI_MODEL_SAVED_MODEL_H
#define CLI_MODEL_SAVED_MODEL_H

#include "cli/run_folder.h"
#include "common/base/buffer.h"
#include "common/cluster/manifest.h"
#include "common/job/job.h"
#include "local/tables.h"
#include "model/model.h"

struct saved_model {
    char checkpoints[RUN_PATH_MAX]; /* The folder. */
    struct job job;                 /* Without model.warm_start. */
    bool warm_started;              /* The run began with values of a file. */
    char *columns;       /* DIR/columns.json: dataset_columns(); NULL: the data have none. Owned. */
    struct model *model; /* Owned. */
    struct manifest manifest;
    struct buffer_pool *pool; /* Owned. */
    /* The values that evaluations use: the parameters, or with train.ema their moving average. */
    struct buffer *values; /* Owned. */
    struct tables tables;  /* The rows of the model's tables. Owned. */
};

/*
 * Open the run in `dir` and its checkpoint: a number, "best" (C17), or with NULL the newest one.
 * All shards are verified. The rows of tables are loaded as a whole. `saved` does not move while it
 * is open. `error` is not NULL.
 *
 *   TN_EINVAL    the folder has no run or not this checkpoint, or the model has changed
 *   TN_ENOENT    a file of the model does not exist
 *   TN_ECORRUPT  the manifest or a shard is damaged, or a shard is not in the folder: the error has
 *                the place where it was written
 *   TN_EIO, TN_ENOMEM
 * After a failure, too, saved_model_close() is allowed.
 */
MUST_CHECK enum tn_status saved_model_open(struct saved_model *saved, const char *dir,
                                           const char *checkpoint, struct error *error);
void saved_model_close(struct saved_model *saved);

/* For a process of the run: the checkpoints in `dir` of a job whose model is open, which the caller
 * closes and which has no tables. None is loaded. TN_ENOMEM. */
MUST_CHECK enum tn_status saved_model_use(struct saved_model *saved, const char *dir,
                                          const struct job *job, struct model *model,
                                          struct error *error);
/* Load a checkpoint in place of the last one. TN_ENOENT: it, or a shard of it, is not in the
 * folder. Other errors as saved_model_open(). */
MUST_CHECK enum tn_status saved_model_load(struct saved_model *saved, uint64_t checkpoint,
                                           struct error *error);

/* One array of the checkpoint, `parameter_count` floats; the caller releases it before
 * saved_model_close(). Errors as above. */
MUST_CHECK enum tn_status saved_model_read(const struct saved_model *saved, uint32_t array,
                                           struct buffer **out, struct error *error);

/* The rows of the tables, for programs; NULL: the model has none. */
const struct row_source *saved_model_rows(const struct saved_model *saved);

/* The array of `values`. */
uint32_t saved_model_evaluated_array(const struct saved_model *saved);

#endif
