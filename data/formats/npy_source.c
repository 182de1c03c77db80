/* Arrays of numpy as a source: a .npy file is one column, a .npz file and a folder of .npy files
 * have one for each array. Rows are read in place. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/utf8.h"
#include "data/formats/formats.h"
#include "data/formats/npy.h"
#include "data/formats/zip.h"
#include "data/source/file.h"

static const char ending[] = ".npy";
enum { ENDING = sizeof ending - 1, ARRAYS_MAX = 4096 };

struct array {
    struct npy npy;
    struct source_file file; /* In a folder; else nothing is mapped. */
};

struct arrays {
    char *path;
    bool folder;
    uint32_t count;
    struct array array[];
};

static void close_arrays(struct source *source)
{
    struct arrays *arrays = source->state;
    if (arrays == NULL) { return; }
    for (uint32_t i = 0; i < arrays->count; i++) { source_file_close(&arrays->array[i].file); }
    free(arrays->path);
    free(arrays);
    source->state = NULL;
}

static enum tn_status begin(const struct source_input *input, bool folder, uint64_t count,
                            struct source *source, struct error *error)
{
    if (count == 0 || count > ARRAYS_MAX) {
        return error_set(error, TN_EINVAL, "%s: %" PRIu64 " arrays: 1 to %d are read", input->path,
                         count, ARRAYS_MAX);
    }
    struct arrays *arrays = calloc(1, sizeof *arrays + (size_t)count * sizeof arrays->array[0]);
    source->columns = calloc((size_t)count, sizeof *source->columns);
    source->state = arrays;
    if (arrays != NULL) { arrays->path = strdup(input->path); }
    if (arrays == NULL || source->columns == NULL || arrays->path == NULL) {
        return error_set(error, TN_ENOMEM, "%s: out of memory", input->path);
    }
    arrays->folder = folder;
    arrays->count = (uint32_t)count;
    source->column_count = (uint32_t)count;
    return TN_OK;
}

/* After a failure nothing is owned. */
static enum tn_status end(enum tn_status status, struct source *source)
{
    if (status == TN_OK) { return status; }
    close_arrays(source);
    free(source->columns);
    source->columns = NULL;
    return status;
}

/* The column's name: the file's without ".npy". */
static enum tn_status set_name(struct source_column *column, const char *name, size_t size,
                               struct error *error)
{
    if (size <= ENDING || memcmp(name + size - ENDING, ending, ENDING) != 0) {
        return error_set(error, TN_EINVAL, "the member '%.*s' is not named NAME.npy", (int)size,
                         name);
    }
    size -= ENDING;
    if (size >= SOURCE_NAME_MAX || memchr(name, '\0', size) != NULL) {
        return error_set(error, TN_EINVAL, "the name '%.*s' has over %d bytes", (int)size, name,
                         SOURCE_NAME_MAX - 1);
    }
    memcpy(column->name, name, size);
    column->name[size] = '\0';
    if (utf8_is_valid(column->name)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "a name is not valid UTF-8");
}

static enum tn_status describe(struct source *source, uint32_t i, struct error *error)
{
    const struct arrays *arrays = source->state;
    const struct npy *npy = &arrays->array[i].npy;
    struct source_column *column = &source->columns[i];
    if (npy->rows > SOURCE_ROWS_MAX || npy->columns > UINT32_MAX) {
        return error_set(error, TN_EINVAL, "the array has too many elements");
    }
    if (i == 0) { source->count = npy->rows; }
    if (npy->rows != source->count) {
        return error_set(error, TN_EINVAL,
                         "'%s' has %" PRIu64 " rows, but '%s' has %" PRIu64
                         ": arrays of one table have equally many",
                         column->name, npy->rows, source->columns[0].name, source->count);
    }
    if (npy->columns == 1) {
        column->kind = SOURCE_NUMBER;
        return TN_OK;
    }
    const bool bytes = npy->kind == NPY_UNSIGNED && npy->item_bytes == 1;
    column->kind = bytes ? SOURCE_BYTES : SOURCE_FLOATS;
    column->rank = npy->rank - 1;
    for (uint32_t d = 0; d < column->rank; d++) {
        column->shape[d] = (uint32_t)npy->dimensions[d + 1];
    }
    return TN_OK;
}

static enum tn_status open_file(const struct source_input *input, struct source *source,
                                struct error *error)
{
    assert(input->bytes != NULL);
    enum tn_status status = begin(input, false, 1, source, error);
    if (status != TN_OK) { return end(status, source); }
    struct arrays *arrays = source->state;
    strcpy(source->columns[0].name, "values");
    status = npy_parse(input->bytes, input->size, &arrays->array[0].npy, error);
    if (status == TN_OK) { status = describe(source, 0, error); }
    return end(formats_wrong_file(status, input->path, error), source);
}

static enum tn_status open_member(struct zip_directory *directory, struct source *source,
                                  uint32_t i, struct error *error)
{
    struct arrays *arrays = source->state;
    struct zip_member member;
    enum tn_status status = zip_next(directory, &member, error);
    if (status != TN_OK) { return status; }
    status = set_name(&source->columns[i], member.name, member.name_size, error);
    if (status != TN_OK) { return status; }
    if (crc32_z(0, member.data, member.size) != member.crc32) {
        return error_set(error, TN_ECORRUPT, "the checksum of '%s' is wrong",
                         source->columns[i].name);
    }
    status = npy_parse(member.data, member.size, &arrays->array[i].npy, error);
    if (status == TN_OK) { return describe(source, i, error); }
    return error != NULL ? error_context(error, "'%s'", source->columns[i].name) : status;
}

static enum tn_status open_archive(const struct source_input *input, struct source *source,
                                   struct error *error)
{
    assert(input->bytes != NULL);
    struct zip_directory directory;
    enum tn_status status = zip_open(input->bytes, input->size, &directory, error);
    if (status != TN_OK) { return formats_wrong_file(status, input->path, error); }
    status = begin(input, false, directory.members, source, error);
    if (status != TN_OK) { return end(status, source); }
    for (uint32_t i = 0; i < source->column_count && status == TN_OK; i++) {
        status = open_member(&directory, source, i, error);
    }
    return end(formats_wrong_file(status, input->path, error), source);
}

static int is_array(const struct dirent *entry)
{
    const size_t size = strlen(entry->d_name);
    return entry->d_name[0] != '.' && size > ENDING &&
           strcmp(entry->d_name + size - ENDING, ending) == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum tn_status open_entry(const struct source_input *input, const char *name,
                                 struct source *source, uint32_t i, struct digest_stream *digest,
                                 struct error *error)
{
    struct array *array = &((struct arrays *)source->state)->array[i];
    char *path;
    if (asprintf(&path, "%s/%s", input->path, name) < 0) {
        return error_set(error, TN_ENOMEM, "%s: out of memory", input->path);
    }
    enum tn_status status = source_file_open(path, &array->file, error);
    if (status == TN_OK) {
        const struct digest contents = digest_of(array->file.bytes, array->file.size);
        digest_add(digest, name, strlen(name) + 1);
        digest_add(digest, &contents, sizeof contents);
        status = set_name(&source->columns[i], name, strlen(name), error);
        if (status == TN_OK) {
            status = npy_parse(array->file.bytes, array->file.size, &array->npy, error);
        }
        if (status == TN_OK) { status = describe(source, i, error); }
        status = formats_wrong_file(status, path, error);
    }
    free(path);
    return status;
}

static enum tn_status open_folder(const struct source_input *input, struct source *source,
                                  struct error *error)
{
    struct dirent **entries = NULL;
    struct digest_stream digest;
    int found = scandir(input->path, &entries, is_array, by_bytes);
    if (found < 0) {
        return error_set(error, TN_EIO, "%s: cannot list: %s", input->path, strerror(errno));
    }
    enum tn_status status =
        found > 0 ? begin(input, true, (uint64_t)found, source, error)
                  : error_set(error, TN_EINVAL, "%s: the folder has no .npy files", input->path);
    digest_begin(&digest);
    for (int i = 0; i < found; i++) {
        if (status == TN_OK) {
            status = open_entry(input, entries[i]->d_name, source, (uint32_t)i, &digest, error);
        }
        free(entries[i]);
    }
    free(entries);
    source->digest = digest_end(&digest);
    return end(status, source);
}

static bool is_aligned(const uint8_t *at)
{
    return (uintptr_t)at % sizeof(float) == 0;
}

static bool read_floats(const struct npy *npy, uint64_t row, struct source_row *out,
                        struct source_cell *cell)
{
    const uint8_t *at = npy->items + row * npy->columns * npy->item_bytes;
    if (npy->kind == NPY_FLOAT && npy->item_bytes == 4 && !npy->big_endian && is_aligned(at)) {
        cell->floats = (const float *)(const void *)at;
        return true;
    }
    float *floats = source_row_take(out, (size_t)npy->columns * sizeof *floats);
    if (floats == NULL) { return false; }
    npy_row(npy, row, floats);
    cell->floats = floats;
    return true;
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct arrays *arrays = source->state;
    for (uint32_t c = 0; c < arrays->count; c++) {
        const struct npy *npy = &arrays->array[c].npy;
        struct source_cell *cell = &row->cells[c];
        cell->size = (size_t)npy->columns;
        switch (source->columns[c].kind) {
        case SOURCE_NUMBER:
            cell->number = npy_number(npy, i, 0);
            cell->missing = isnan(cell->number);
            break;
        case SOURCE_BYTES: cell->bytes = npy->items + i * npy->columns; break;
        default:
            if (!read_floats(npy, i, row, cell)) {
                return error_set(error, TN_ENOMEM, "%s: out of memory", arrays->path);
            }
        }
    }
    return TN_OK;
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct arrays *arrays = source->state;
    const char *name = source->columns[column].name;
    if (arrays->folder) {
        snprintf(place, SOURCE_PLACE_MAX, "%s/%s%s: row %" PRIu64, arrays->path, name, ending, i);
    } else {
        snprintf(place, SOURCE_PLACE_MAX, "%s: row %" PRIu64 " of '%s'", arrays->path, i, name);
    }
}

const struct source_type npy_type = {
    .name = "npy",
    .contents = "an array of numpy, or a folder with one .npy file for each column",
    .version = 1,
    .open = open_file,
    .read = read_row,
    .locate = locate,
    .close = close_arrays,
};

const struct source_type npy_folder_type = {
    .name = "npy",
    .contents = "a folder with one .npy file of numpy for each column",
    .version = 1,
    .folders = true,
    .open = open_folder,
    .read = read_row,
    .locate = locate,
    .close = close_arrays,
};

const struct source_type npz_type = {
    .name = "npz",
    .contents = "arrays of numpy, written by numpy.savez(): one for each column",
    .version = 1,
    .open = open_archive,
    .read = read_row,
    .locate = locate,
    .close = close_arrays,
};
