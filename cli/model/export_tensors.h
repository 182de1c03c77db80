/*
 * cli/model/export_tensors.h: a checkpoint as a list of tensors for files of
 * model/export/tensors.h: variables, parts of the optimizer's state, and of each table NAME the
 * tensors NAME/keys (int64), NAME/values and NAME/state.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef CLI_MODEL_EXPORT_TENSORS_H
#define CLI_MODEL_EXPORT_TENSORS_H

#include "cli/model/saved_model.h"
#include "model/export/tensors.h"

/* Zeroed, but for `saved`. */
struct export_tensors {
    struct saved_model *saved;
    struct export_tensor *list; /* Owned. */
    size_t count;
    struct buffer *array; /* One that is not `saved->values`. Owned. */
    void *rows;           /* A part of a table. Owned. */
};

/* List the values, with `state` also those of the optimizer. TN_ENOMEM. */
MUST_CHECK enum tn_status export_tensors_open(struct export_tensors *tensors, bool state,
                                              struct error *error);
void export_tensors_close(struct export_tensors *tensors);

/* A function for struct export_source, with `ctx` the list. */
MUST_CHECK enum tn_status export_tensors_array(void *ctx, uint32_t array, const void **values,
                                               struct error *error);

#endif
