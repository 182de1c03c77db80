#include "ps/table/rows_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"

/* ------------------------------------------------------------------------ writing */

struct rows_save rows_save_behind(const struct rows_chain *chain, uint64_t step,
                                  const uint64_t *row_counts)
{
    return (struct rows_save){
        .full = chain->count == 0,
        .step = step,
        .since = chain->count == 0 ? 0 : chain->step,
        .row_counts = row_counts,
    };
}

static struct table_file_info info_of(const struct rows_save *save, uint32_t table)
{
    return (struct table_file_info){
        .full = save->full,
        .step = save->step,
        .since = save->since,
        .rows = save->row_counts[table],
    };
}

uint64_t rows_file_bytes(const struct row_table *const *tables, uint32_t count,
                         const struct rows_save *save)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < count; t++) {
        const struct table_file_info info = info_of(save, t);
        bytes += table_file_bytes(tables[t], &info);
    }
    return bytes;
}

enum tn_status rows_file_write(struct rows_file *file, const struct row_table *const *tables,
                               uint32_t count, const struct rows_save *save, struct error *error)
{
    struct partial_file partial;
    struct digest_stream digest;
    assert(count >= 1);
    enum tn_status status = partial_file_open(&partial, file->path, error);
    if (status != TN_OK) { return status; }
    digest_begin(&digest);
    for (uint32_t t = 0; t < count && status == TN_OK; t++) {
        const struct table_file_info info = info_of(save, t);
        status = table_file_add(&partial, &digest, tables[t], &info, save->progress, error);
    }
    if (save->progress != NULL) { save->progress->end(save->progress->ctx); }
    file->bytes = partial.bytes;
    file->digest = digest_end(&digest);
    return partial_file_close(&partial, status, error);
}

/* ------------------------------------------------------------------------ reading */

static enum tn_status map(const struct rows_file *file, void **bytes, struct error *error)
{
    struct stat about;
    *bytes = MAP_FAILED;
    const int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) { return files_error(error, errno, "open", file->path); }
    enum tn_status status = TN_OK;
    if (fstat(descriptor, &about) != 0) {
        status = files_error(error, errno, "stat", file->path);
    } else if ((uint64_t)about.st_size != file->bytes || about.st_size <= 0) {
        status = error_set(error, TN_ECORRUPT,
                           "%s has %" PRId64 " bytes, but its checkpoint wrote %" PRIu64,
                           file->path, (int64_t)about.st_size, file->bytes);
    } else {
        *bytes = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (*bytes == MAP_FAILED) { status = files_error(error, errno, "map", file->path); }
    }
    (void)close(descriptor);
    return status;
}

/* The bytes of a file whose digest is right, to be unmapped. */
static enum tn_status map_checked(const struct rows_file *file, void **bytes, struct error *error)
{
    enum tn_status status = map(file, bytes, error);
    if (status != TN_OK) { return status; }
    if (digest_equal(digest_of(*bytes, file->bytes), file->digest)) { return TN_OK; }
    (void)munmap(*bytes, file->bytes);
    return error_set(error, TN_ECORRUPT,
                     "%s: its digest is not that of its checkpoint: the file is damaged, or of "
                     "another run",
                     file->path);
}

enum tn_status rows_file_verify(const struct rows_file *file, struct error *error)
{
    void *bytes;
    enum tn_status status = map_checked(file, &bytes, error);
    if (status == TN_OK) { (void)munmap(bytes, file->bytes); }
    return status;
}

enum tn_status rows_file_inspect(const struct rows_file *file, struct table_file_info *info,
                                 struct error *error)
{
    void *bytes;
    struct table_file_info table;
    size_t at = 0, extent = 1;
    uint64_t rows = 0;
    enum tn_status status = map_checked(file, &bytes, error);
    if (status != TN_OK) { return status; }
    for (; at < file->bytes && extent > 0; at += extent) {
        extent = table_file_peek((const uint8_t *)bytes + at, file->bytes - at, &table);
        if (extent > 0 && !table.counts) { rows += table.rows; }
        if (at == 0) { *info = table; }
    }
    (void)munmap(bytes, file->bytes);
    info->rows = rows;
    if (extent > 0) { return TN_OK; }
    return error_set(error, TN_ECORRUPT, "%s has not whole tables at byte %zu", file->path, at);
}

/* The tables of a checkpoint are of one step: with others, A12 would not hold. */
static enum tn_status check_step(const struct rows_file *file, uint64_t first,
                                 const struct row_table *table, uint64_t step, struct error *error)
{
    if (step == first) { return TN_OK; }
    return error_set(error, TN_ECORRUPT,
                     "%s has rows of step %" PRIu64 " in its first table, and of step %" PRIu64
                     " in '%s': the file is damaged",
                     file->path, first, step, row_table_spec_of(table)->name);
}

/* Put the rows of a file into all tables. `last`: the file before, NULL: none. Sets `*info`. */
static enum tn_status load_mapped(const struct rows_file *file, const uint8_t *bytes,
                                  struct row_table *const *tables, uint32_t count,
                                  const struct table_file_info *last, struct table_file_info *info,
                                  struct error *error)
{
    size_t at = 0;
    uint64_t step = 0;
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < count && status == TN_OK; t++) {
        const size_t extent = table_file_extent(bytes + at, file->bytes - at);
        if (extent == 0) {
            return error_set(error, TN_ECORRUPT, "%s has no rows of table %" PRIu32 " of %" PRIu32,
                             file->path, t + 1, count);
        }
        status = table_file_decode(bytes + at, extent, file->path, tables[t], info, error);
        if (status == TN_OK) { status = table_file_check_chain(last, info, file->path, error); }
        if (t == 0) { step = info->step; }
        if (status == TN_OK) { status = check_step(file, step, tables[t], info->step, error); }
        at += extent;
    }
    if (status != TN_OK || at == file->bytes) { return status; }
    return error_set(error, TN_EINVAL, "%s has rows of more tables than the %" PRIu32 " of the job",
                     file->path, count);
}

/* Put a chain into tables whose load has begun. `*step`: that of its last file. */
static enum tn_status load_chain(const struct rows_file *files, uint32_t file_count,
                                 struct row_table *const *tables, uint32_t count, uint64_t *step,
                                 struct error *error)
{
    struct table_file_info last = {0};
    enum tn_status status = TN_OK;
    assert(file_count >= 1 && count >= 1);
    for (uint32_t f = 0; f < file_count && status == TN_OK; f++) {
        void *bytes;
        struct table_file_info info = {0};
        status = map_checked(&files[f], &bytes, error);
        if (status != TN_OK) { return status; }
        status = load_mapped(&files[f], bytes, tables, count, f > 0 ? &last : NULL, &info, error);
        (void)munmap(bytes, files[f].bytes);
        last = info;
    }
    *step = last.step;
    return status;
}

enum tn_status rows_file_load(const struct rows_file *files, uint32_t file_count,
                              struct row_table *const *tables, uint32_t count, struct error *error)
{
    uint64_t step = 0;
    for (uint32_t t = 0; t < count; t++) { row_table_begin_load(tables[t]); }
    enum tn_status status = load_chain(files, file_count, tables, count, &step, error);
    for (uint32_t t = 0; t < count && status == TN_OK; t++) {
        status = row_table_end_load(tables[t], step, error);
    }
    return status;
}

enum tn_status rows_file_append(const struct rows_file *files, uint32_t file_count,
                                struct row_table *const *tables, uint32_t count, uint64_t step,
                                struct error *error)
{
    uint64_t found = 0;
    enum tn_status status = load_chain(files, file_count, tables, count, &found, error);
    if (status != TN_OK || found == step) { return status; }
    return error_set(error, TN_ECORRUPT, "%s is of step %" PRIu64 ", its shard of step %" PRIu64,
                     files[file_count - 1].path, found, step);
}
