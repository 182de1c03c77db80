#include "data/text_windows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum tn_status refuse_file(const char *path, struct error *error)
{
    enum tn_status status = errno == ENOENT ? TN_ENOENT : errno == EIO ? TN_EIO : TN_EINVAL;
    return error_set(error, status, "data.path: cannot read %s: %s: give the name of a text file",
                     path, strerror(errno));
}

static enum tn_status check_size(const char *path, uint64_t size, uint32_t inputs,
                                 struct error *error)
{
    const uint64_t least = UINT64_C(10) * ((uint64_t)inputs + 1);
    if (size < least) {
        return error_set(error, TN_EINVAL,
                         "data.path: %s has %" PRIu64 " bytes, but windows of %" PRIu32
                         " need at least %" PRIu64 ": give a longer text or a smaller model.inputs",
                         path, size, inputs, least);
    }
    if (size <= TEXT_WINDOWS_BYTES_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "data.path: %s has %" PRIu64 " bytes, more than 1 GiB: give a part of it",
                     path, size);
}

/* The bytes of the open `file`, malloc'ed. */
static enum tn_status read_all(FILE *file, const char *path, uint32_t inputs, uint8_t **out,
                               uint64_t *size, struct error *error)
{
    struct stat about;
    if (fstat(fileno(file), &about) != 0) { return refuse_file(path, error); }
    if (!S_ISREG(about.st_mode)) {
        return error_set(error, TN_EINVAL, "data.path: %s is not a file: give a text file", path);
    }
    *size = (uint64_t)about.st_size;
    enum tn_status status = check_size(path, *size, inputs, error);
    if (status != TN_OK) { return status; }
    *out = malloc(*size);
    if (*out == NULL) {
        return error_set(error, TN_ENOMEM,
                         "data.path: out of memory for the %" PRIu64 " bytes of %s", *size, path);
    }
    errno = EIO; /* The file became shorter. */
    return fread(*out, 1, *size, file) == *size ? TN_OK : refuse_file(path, error);
}

static enum tn_status check_bytes(const char *path, const uint8_t *bytes, uint64_t size,
                                  uint32_t classes, struct error *error)
{
    for (uint64_t i = 0; i < size; i++) {
        if (bytes[i] >= classes) {
            return error_set(error, TN_EINVAL,
                             "data.path: byte %" PRIu64
                             " of %s is %u, but model.outputs is %" PRIu32
                             ": set it, and the rows of the embedding, to 256",
                             i, path, bytes[i], classes);
        }
    }
    return TN_OK;
}

/* Copies of the bytes [first, first + count) and of those behind each of them. */
static enum tn_status take_windows(const uint8_t *bytes, uint64_t first, uint64_t count,
                                   struct dataset *dataset, struct error *error)
{
    dataset->input_bytes = malloc(count - 1);
    dataset->labels = malloc(count - 1);
    if (dataset->input_bytes == NULL || dataset->labels == NULL) {
        return error_set(error, TN_ENOMEM, "data.path: out of memory for %" PRIu64 " bytes", count);
    }
    memcpy(dataset->input_bytes, bytes + first, count - 1);
    memcpy(dataset->labels, bytes + first + 1, count - 1);
    return TN_OK;
}

enum tn_status text_windows_fill(const struct job *job, enum dataset_split split,
                                 struct dataset *dataset, struct error *error)
{
    const char *path = job->data.path;
    const uint32_t inputs = dataset->inputs;
    const bool train = split == DATASET_TRAIN;
    uint8_t *bytes = NULL;
    uint64_t size = 0;
    assert(inputs >= 1);
    FILE *file = fopen(path, "re");
    if (file == NULL) { return refuse_file(path, error); }
    enum tn_status status = read_all(file, path, inputs, &bytes, &size, error);
    fclose(file);
    if (status == TN_OK) { status = check_bytes(path, bytes, size, job_classes(job), error); }
    if (status == TN_OK) {
        const uint64_t tested = size / 10, first = train ? 0 : size - tested;
        const uint64_t count = train ? size - tested : tested;
        dataset->labels_each = inputs;
        dataset->input_step = dataset->label_step = train ? 1 : inputs;
        dataset->examples = ((count - 1 - inputs) / dataset->input_step + 1);
        status = take_windows(bytes, first, count, dataset, error);
    }
    free(bytes);
    return status;
}
