/*
 * model/export/tensors.h: files with the variables and tables of a checkpoint by their names:
 * safetensors and npz.
 *
 * Values come one array of the checkpoint at a time, so that the memory needed is that of the
 * parameters. Threads: the caller's. Blocking: on the disk.
 */
#ifndef MODEL_EXPORT_TENSORS_H
#define MODEL_EXPORT_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/partial_file.h"
#include "common/cluster/variables.h"

enum { EXPORT_NAME_MAX = VARIABLE_NAME_MAX + 32 };

/* A variable, or its part of the optimizer's state, of float32; or a part of a table. */
struct export_tensor {
    char name[EXPORT_NAME_MAX];
    bool keys; /* Elements are int64_t. */
    uint32_t rank;
    uint64_t shape[VARIABLE_RANK_MAX];
    uint32_t array;         /* An array of the source; ascending in a list. */
    uint64_t offset, count; /* In the array, in elements. */
};

static inline size_t export_element(const struct export_tensor *tensor)
{
    return tensor->keys ? sizeof(int64_t) : sizeof(float);
}

/* Facts about the checkpoint, for formats that keep texts. */
struct export_fact {
    const char *key, *value;
};

struct export_source {
    const struct export_tensor *tensors;
    size_t count;
    const struct export_fact *facts; /* Ends with a key NULL. */
    /* Sets `*values` to the whole array, valid until the next call. */
    enum tn_status (*array)(void *ctx, uint32_t array, const void **values, struct error *error);
    void *ctx;
};

/* Errors: those of `source->array`, and TN_ENOMEM. Failures to write stay in `file`. */
MUST_CHECK enum tn_status export_safetensors(const struct export_source *source,
                                             struct partial_file *file, struct error *error);
/* As numpy.savez() does it, with one .npy for each tensor, not compressed. */
MUST_CHECK enum tn_status export_npz(const struct export_source *source, struct partial_file *file,
                                     struct error *error);

#endif
