/*
 * model/safetensors.h: files of https://github.com/huggingface/safetensors, read within bounds: the
 * size of a header, the header in JSON with types, shapes and offsets, then the values.
 *
 * Files are not trusted: the header has at most 100 MB, offsets lie inside the file and do not
 * overlap, and sizes fit shapes. Threads: the owner's. Blocking: on the disk.
 */
#ifndef MODEL_SAFETENSORS_H
#define MODEL_SAFETENSORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { SAFETENSORS_RANK_MAX = 8 };
#define SAFETENSORS_HEADER_MAX ((size_t)100 * 1000 * 1000)

struct safetensors {
    json_t *header;   /* Owned. */
    int fd;           /* -1: none. */
    uint64_t begin;   /* Where the values begin in the file. */
    const char *path; /* For errors. */
};

struct safetensors_tensor {
    bool floats; /* Its type is float32; others cannot be read. */
    char type[8];
    uint32_t rank;
    uint64_t shape[SAFETENSORS_RANK_MAX];
    uint64_t offset, bytes; /* From `begin`. */
};

/* Check a header of `size` bytes, before `data_bytes` of values. TN_EINVAL: it is not valid;
 * TN_ENOMEM. The caller releases `*out`. */
MUST_CHECK enum tn_status safetensors_parse(const char *text, size_t size, uint64_t data_bytes,
                                            json_t **out, struct error *error);

/* `path` outlives the file. TN_ENOENT, TN_EIO; TN_EINVAL: it is not a safetensors file. */
MUST_CHECK enum tn_status safetensors_open(const char *path, struct safetensors *out,
                                           struct error *error);
void safetensors_close(struct safetensors *file); /* A zeroed one with fd -1 is allowed. */

/* False: there is no tensor of this name. */
bool safetensors_find(const struct safetensors *file, const char *name,
                      struct safetensors_tensor *out);

/* Read a tensor of floats. TN_EIO. */
MUST_CHECK enum tn_status safetensors_read(const struct safetensors *file,
                                           const struct safetensors_tensor *tensor, float *out,
                                           struct error *error);

#endif
