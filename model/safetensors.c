#include "model/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"

enum { LENGTH_BYTES = 8, PIECE = 1 << 30 };

/* ------------------------------------------------------------------ the header */

static bool read_shape(const json_t *shape, struct safetensors_tensor *out)
{
    size_t d;
    json_t *size;
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_RANK_MAX) { return false; }
    json_array_foreach(shape, d, size)
    {
        if (!json_is_integer(size) || json_integer_value(size) < 0) { return false; }
        out->shape[out->rank++] = (uint64_t)json_integer_value(size);
    }
    return true;
}

/* The bytes of float32 values; UINT64_MAX: too many. */
static uint64_t bytes_of_shape(const struct safetensors_tensor *tensor)
{
    uint64_t bytes = sizeof(float);
    for (uint32_t d = 0; d < tensor->rank; d++) {
        if (tensor->shape[d] != 0 && bytes > UINT64_MAX / tensor->shape[d]) { return UINT64_MAX; }
        bytes *= tensor->shape[d];
    }
    return bytes;
}

static bool read_entry(const json_t *entry, struct safetensors_tensor *out)
{
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    *out = (struct safetensors_tensor){.floats = false};
    if (type == NULL || strlen(type) >= sizeof out->type || json_array_size(offsets) != 2) {
        return false;
    }
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (!json_is_integer(first) || !json_is_integer(last) || json_integer_value(first) < 0 ||
        json_integer_value(last) < json_integer_value(first)) {
        return false;
    }
    memcpy(out->type, type, strlen(type) + 1);
    out->floats = strcmp(type, "F32") == 0;
    out->offset = (uint64_t)json_integer_value(first);
    out->bytes = (uint64_t)json_integer_value(last) - out->offset;
    if (!read_shape(json_object_get(entry, "shape"), out)) { return false; }
    return !out->floats || bytes_of_shape(out) == out->bytes;
}

struct range {
    uint64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

static bool overlaps(struct range *ranges, size_t count)
{
    if (count > 0) { qsort(ranges, count, sizeof *ranges, by_begin); }
    for (size_t i = 1; i < count; i++) {
        if (ranges[i].begin < ranges[i - 1].end) { return true; }
    }
    return false;
}

static enum tn_status check_entries(json_t *header, uint64_t data_bytes, struct error *error)
{
    const char *name;
    json_t *entry;
    size_t count = 0;
    struct range *ranges = malloc((json_object_size(header) + 1) * sizeof *ranges);
    if (ranges == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a header"); }
    enum tn_status status = TN_OK;
    json_object_foreach(header, name, entry)
    {
        struct safetensors_tensor tensor;
        if (strcmp(name, "__metadata__") == 0) { continue; }
        if (!read_entry(entry, &tensor) || tensor.offset > data_bytes ||
            tensor.bytes > data_bytes - tensor.offset) {
            status = error_set(error, TN_EINVAL,
                               "tensor \"%.80s\": its dtype, shape or data_offsets are not valid: "
                               "the file is damaged",
                               name);
            break;
        }
        if (tensor.bytes == 0) { continue; }
        ranges[count++] =
            (struct range){.begin = tensor.offset, .end = tensor.offset + tensor.bytes};
    }
    if (status == TN_OK && overlaps(ranges, count)) {
        status = error_set(error, TN_EINVAL, "tensors overlap: the file is damaged");
    }
    free(ranges);
    return status;
}

enum tn_status safetensors_parse(const char *text, size_t size, uint64_t data_bytes, json_t **out,
                                 struct error *error)
{
    json_error_t why;
    assert(text != NULL && out != NULL);
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return error_set(error, TN_EINVAL, "the header is not a JSON object: %.200s", why.text);
    }
    enum tn_status status = check_entries(*out, data_bytes, error);
    if (status == TN_OK) { return TN_OK; }
    json_decref(*out);
    *out = NULL;
    return status;
}

/* -------------------------------------------------------------------- the file */

static enum tn_status read_at(const struct safetensors *file, uint64_t at, void *out, size_t size,
                              struct error *error)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got =
            pread(file->fd, (char *)out + done, u64_min(size - done, PIECE), (off_t)(at + done));
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) { return files_error(error, errno, "read", file->path); }
        if (got == 0) { return error_set(error, TN_EINVAL, "%s: it ends too early", file->path); }
        done += (size_t)got;
    }
    return TN_OK;
}

static enum tn_status read_header(struct safetensors *file, uint64_t file_bytes,
                                  struct error *error)
{
    uint64_t size = 0;
    enum tn_status status = TN_EINVAL;
    if (file_bytes >= LENGTH_BYTES) { status = read_at(file, 0, &size, sizeof size, error); }
    if (status == TN_EINVAL || size > SAFETENSORS_HEADER_MAX || size > file_bytes - LENGTH_BYTES) {
        return error_set(error, TN_EINVAL,
                         "%s is not a safetensors file: give one, as `tanist export` writes it",
                         file->path);
    }
    if (status != TN_OK) { return status; }
    char *text = malloc(size + 1);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a header"); }
    file->begin = LENGTH_BYTES + size;
    status = read_at(file, LENGTH_BYTES, text, size, error);
    if (status == TN_OK) {
        status = safetensors_parse(text, size, file_bytes - file->begin, &file->header, error);
        if (status != TN_OK) { (void)error_context(error, "%s", file->path); }
    }
    free(text);
    return status;
}

enum tn_status safetensors_open(const char *path, struct safetensors *out, struct error *error)
{
    struct stat info;
    assert(path != NULL && out != NULL);
    *out = (struct safetensors){.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};
    if (out->fd < 0) { return files_error(error, errno, "open", path); }
    enum tn_status status = TN_OK;
    if (fstat(out->fd, &info) != 0) { status = files_error(error, errno, "stat", path); }
    if (status == TN_OK && !S_ISREG(info.st_mode)) {
        status = error_set(error, TN_EINVAL, "%s is not a file: give a safetensors file", path);
    }
    if (status == TN_OK) { status = read_header(out, (uint64_t)info.st_size, error); }
    if (status != TN_OK) { safetensors_close(out); }
    return status;
}

void safetensors_close(struct safetensors *file)
{
    if (file->fd >= 0) { (void)close(file->fd); }
    json_decref(file->header);
    *file = (struct safetensors){.fd = -1};
}

bool safetensors_find(const struct safetensors *file, const char *name,
                      struct safetensors_tensor *out)
{
    assert(file->header != NULL && name != NULL);
    if (strcmp(name, "__metadata__") == 0) { return false; }
    const json_t *entry = json_object_get(file->header, name);
    return entry != NULL && read_entry(entry, out);
}

enum tn_status safetensors_read(const struct safetensors *file,
                                const struct safetensors_tensor *tensor, float *out,
                                struct error *error)
{
    assert(tensor->floats && out != NULL);
    return read_at(file, file->begin + tensor->offset, out, tensor->bytes, error);
}
