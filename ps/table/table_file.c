#include "ps/table/table_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/base/partial_file.h"

/* A header, then chunks: keys, if rows expire the step of each, the numbers of their rows, zeros up
 * to a multiple of 8, a digest. Numbers are little-endian. */
/* Counts of keys are as rows that expire. */
enum { FORMAT_PLAIN = 1, FORMAT_STEPS, FORMAT_COUNTS, FORMAT_LAST = FORMAT_COUNTS };
enum { CHUNK_BYTES = 1 << 20, ALIGNMENT = 8 };

static const char magic[8] = "tanisttb";

struct header {
    char magic[8];
    uint32_t format, width, numbers, optimizer;
    uint64_t rows, step, since; /* `since`: FULL, or that of a delta. */
    char name[ROW_TABLE_NAME_MAX];
    uint8_t digest[DIGEST_BYTES]; /* Covers all fields above. */
};

_Static_assert(sizeof(struct header) == 128, "the header has no gaps");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

#define FULL UINT64_MAX

static uint32_t format_of(const struct row_table *table)
{
    const struct row_table_spec *spec = row_table_spec_of(table);
    if (spec->counts) { return FORMAT_COUNTS; }
    return spec->expire_after > 0 ? FORMAT_STEPS : FORMAT_PLAIN;
}

/* The contents of a file of this format, for messages. */
static const char *contents_of(uint32_t format)
{
    static const char *const contents[] = {
        [FORMAT_PLAIN] = "rows that do not expire",
        [FORMAT_STEPS] = "rows that expire",
        [FORMAT_COUNTS] = "counts of keys",
    };
    assert(format >= FORMAT_PLAIN && format <= FORMAT_LAST);
    return contents[format];
}

static bool has_steps(const struct header *header)
{
    return header->format != FORMAT_PLAIN;
}

static uint64_t row_bytes(const struct header *header)
{
    const uint64_t steps = has_steps(header) ? sizeof(uint64_t) : 0;
    return sizeof(uint64_t) + steps + header->numbers * sizeof(float);
}

static uint64_t chunk_rows(const struct header *header)
{
    return u64_max(1, CHUNK_BYTES / row_bytes(header));
}

/* Keys, steps, numbers and padding. */
static uint64_t content_bytes(const struct header *header, uint64_t rows)
{
    return (rows * row_bytes(header) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ------------------------------------------------------------------------ writing */

static struct header header_of(const struct row_table *table, const struct table_file_info *info)
{
    const struct row_table_spec *spec = row_table_spec_of(table);
    struct header header = {
        .format = format_of(table),
        .width = spec->width,
        .numbers = row_table_numbers(table),
        .optimizer = spec->optimizer,
        .rows = info->rows,
        .step = info->step,
        .since = info->full ? FULL : info->since,
    };
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.name, spec->name, strnlen(spec->name, sizeof header.name - 1));
    digest_encode(digest_of(&header, offsetof(struct header, digest)), header.digest);
    return header;
}

/* A file with the digest of its bytes. */
struct output {
    struct partial_file *file;
    struct digest_stream *digest;
};

static void write_bytes(const struct output *out, const void *bytes, size_t size)
{
    partial_file_write(out->file, bytes, size);
    digest_add(out->digest, bytes, size);
}

static void write_piece(const struct output *out, struct digest_stream *digest, const void *piece,
                        size_t size)
{
    write_bytes(out, piece, size);
    digest_add(digest, piece, size);
}

static void write_chunk(const struct output *out, const struct row_table *table,
                        const struct header *header, uint64_t first, uint64_t rows)
{
    static const uint8_t zeros[ALIGNMENT];
    uint8_t encoded[DIGEST_BYTES];
    struct digest_stream digest;
    const size_t numbers = header->numbers * sizeof(float), used = rows * row_bytes(header);
    digest_begin(&digest);
    for (uint64_t i = first; i < first + rows; i++) {
        const uint64_t key = row_table_saved_row(table, i).key;
        write_piece(out, &digest, &key, sizeof key);
    }
    for (uint64_t i = first; i < first + rows && has_steps(header); i++) {
        const uint64_t step = row_table_saved_row(table, i).step;
        write_piece(out, &digest, &step, sizeof step);
    }
    for (uint64_t i = first; i < first + rows; i++) {
        write_piece(out, &digest, row_table_saved_row(table, i).numbers, numbers);
    }
    write_piece(out, &digest, zeros, content_bytes(header, rows) - used);
    digest_encode(digest_end(&digest), encoded);
    write_bytes(out, encoded, sizeof encoded);
}

enum tn_status table_file_add(struct partial_file *file, struct digest_stream *digest,
                              const struct row_table *table, const struct table_file_info *info,
                              const struct table_progress *progress, struct error *error)
{
    const struct output out = {.file = file, .digest = digest};
    const struct header header = header_of(table, info);
    const uint64_t most = chunk_rows(&header);
    enum tn_status status = row_table_sort_save(table, error);
    if (status != TN_OK) { return status; }
    write_bytes(&out, &header, sizeof header);
    for (uint64_t first = 0; first < info->rows && file->failed == 0; first += most) {
        const uint64_t before = file->bytes;
        write_chunk(&out, table, &header, first, u64_min(most, info->rows - first));
        if (progress != NULL) { progress->wrote(progress->ctx, file->bytes - before); }
    }
    return TN_OK;
}

enum tn_status table_file_write(const char *path, const struct row_table *table,
                                const struct table_file_info *info, uint64_t *bytes,
                                struct error *error)
{
    struct partial_file file;
    struct digest_stream digest;
    enum tn_status status = partial_file_open(&file, path, error);
    if (status != TN_OK) { return status; }
    digest_begin(&digest);
    status = table_file_add(&file, &digest, table, info, NULL, error);
    *bytes = file.bytes;
    return partial_file_close(&file, status, error);
}

/* ------------------------------------------------------------------------ reading */

static enum tn_status damaged(const char *path, const char *problem, struct error *error)
{
    return error_set(error, TN_ECORRUPT, "%s: %s: the file is damaged", path, problem);
}

static enum tn_status check_header(const struct header *header, const char *path,
                                   const struct row_table *table, struct error *error)
{
    const struct row_table_spec *spec = row_table_spec_of(table);
    const struct digest digest = digest_of(header, offsetof(struct header, digest));
    if (memcmp(header->magic, magic, sizeof magic) != 0) {
        return damaged(path, "it does not begin as the rows of a table do", error);
    }
    if (!digest_equal(digest, digest_decode(header->digest))) {
        return damaged(path, "the digest of its header differs", error);
    }
    if (header->format < FORMAT_PLAIN || header->format > FORMAT_LAST) {
        return error_set(error, TN_EINVAL,
                         "%s has format %" PRIu32 ", but this program knows %d to %d", path,
                         header->format, FORMAT_PLAIN, FORMAT_LAST);
    }
    if (strncmp(header->name, spec->name, sizeof header->name) != 0 ||
        header->width != spec->width || header->optimizer != spec->optimizer) {
        return error_set(
            error, TN_EINVAL,
            "%s has rows of the table '%.*s' with width %" PRIu32
            " and another optimizer or shape than '%s' of the job, with width %" PRIu32,
            path, ROW_TABLE_NAME_MAX, header->name, header->width, spec->name, spec->width);
    }
    if (header->format != format_of(table)) {
        return error_set(error, TN_EINVAL,
                         "%s has %s for the table '%s', but the job needs %s: give the "
                         "expire_after_steps and admit_after of train.tables with which the file "
                         "was written",
                         path, contents_of(header->format), spec->name,
                         contents_of(format_of(table)));
    }
    return TN_OK;
}

/* The exact size of a file; 0: no file can have this number of rows. */
static uint64_t size_of(const struct header *header)
{
    const uint64_t most = chunk_rows(header), rows = header->rows;
    if (rows > UINT32_MAX) { return 0; }
    const uint64_t whole = rows / most * (content_bytes(header, most) + DIGEST_BYTES);
    const uint64_t rest = rows % most;
    return sizeof *header + whole + (rest > 0 ? content_bytes(header, rest) + DIGEST_BYTES : 0);
}

uint64_t table_file_bytes(const struct row_table *table, const struct table_file_info *info)
{
    const struct header header = header_of(table, info);
    return size_of(&header);
}

size_t table_file_extent(const void *bytes, size_t size)
{
    struct header header;
    if (size < sizeof header) { return 0; }
    memcpy(&header, bytes, sizeof header);
    const uint64_t extent = header.numbers > 0 ? size_of(&header) : 0;
    return extent <= size ? (size_t)extent : 0;
}

static struct table_file_info info_of(const struct header *header)
{
    const bool full = header->since == FULL;
    return (struct table_file_info){
        .full = full,
        .step = header->step,
        .since = full ? 0 : header->since,
        .rows = header->rows,
        .counts = header->format == FORMAT_COUNTS,
    };
}

size_t table_file_peek(const void *bytes, size_t size, struct table_file_info *info)
{
    struct header header;
    const size_t extent = table_file_extent(bytes, size);
    if (extent == 0) { return 0; }
    memcpy(&header, bytes, sizeof header);
    *info = info_of(&header);
    return extent;
}

static bool ascends(const uint64_t *keys, uint64_t rows, uint64_t *least)
{
    for (uint64_t i = 0; i < rows; i++) {
        if (keys[i] < *least || keys[i] > SPARSE_KEY_MOST) { return false; }
        *least = keys[i] + 1;
    }
    return true;
}

/* No row was trained after the step of the file. */
static bool are_past(const uint64_t *steps, uint64_t rows, uint64_t step)
{
    for (uint64_t i = 0; i < rows; i++) {
        if (steps[i] > step) { return false; }
    }
    return true;
}

/* A chunk at `at`, which has all its bytes. `into` gets its rows; NULL: they are only checked.
 * `least`: no key is smaller. */
static enum tn_status decode_chunk(const uint8_t *at, uint64_t rows, const struct header *header,
                                   const char *path, struct row_table *into, uint64_t *least,
                                   struct error *error)
{
    const uint64_t bytes = content_bytes(header, rows);
    const uint64_t *keys = (const uint64_t *)(const void *)at;
    const uint64_t *steps = has_steps(header) ? keys + rows : NULL;
    const float *values = (const float *)(const void *)((steps != NULL ? steps : keys) + rows);
    if (!digest_equal(digest_of(at, bytes), digest_decode(at + bytes))) {
        return damaged(path, "the digest of a chunk differs", error);
    }
    if (!ascends(keys, rows, least)) { return damaged(path, "its keys do not ascend", error); }
    if (steps != NULL && !are_past(steps, rows, header->step)) {
        return damaged(path, "a row is of a later step", error);
    }
    if (into == NULL) { return TN_OK; }
    const struct sparse_rows loaded = {.count = rows, .keys = keys, .values = values};
    return row_table_load(into, loaded, steps, error);
}

/* A file for `table`. `into` gets its rows; NULL: they are only checked. */
static enum tn_status decode(const void *bytes, size_t size, const char *path,
                             const struct row_table *table, struct row_table *into,
                             struct table_file_info *info, struct error *error)
{
    const struct header *header = bytes;
    uint64_t least = 0;
    assert((uintptr_t)bytes % ALIGNMENT == 0);
    if (size < sizeof *header) { return damaged(path, "it is too short", error); }
    enum tn_status status = check_header(header, path, table, error);
    if (status != TN_OK) { return status; }
    if (header->numbers != row_table_numbers(table) || size != size_of(header)) {
        return damaged(path, "its size is not that of its rows", error);
    }
    const uint64_t most = chunk_rows(header);
    const uint8_t *at = (const uint8_t *)bytes + sizeof *header;
    for (uint64_t first = 0; first < header->rows && status == TN_OK; first += most) {
        const uint64_t rows = u64_min(most, header->rows - first);
        status = decode_chunk(at, rows, header, path, into, &least, error);
        at += content_bytes(header, rows) + DIGEST_BYTES;
    }
    *info = info_of(header);
    return status;
}

enum tn_status table_file_check(const void *bytes, size_t size, const char *path,
                                const struct row_table *table, struct table_file_info *info,
                                struct error *error)
{
    return decode(bytes, size, path, table, NULL, info, error);
}

enum tn_status table_file_decode(const void *bytes, size_t size, const char *path,
                                 struct row_table *table, struct table_file_info *info,
                                 struct error *error)
{
    return decode(bytes, size, path, table, table, info, error);
}

struct mapped {
    void *bytes;
    size_t size;
};

static enum tn_status map(const char *path, struct mapped *out, struct error *error)
{
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) { return files_error(error, errno, "open", path); }
    enum tn_status status = TN_OK;
    if (fstat(file, &about) != 0) {
        status = files_error(error, errno, "stat", path);
    } else if (about.st_size <= 0) {
        status = damaged(path, "it is empty", error);
    } else {
        out->size = (size_t)about.st_size;
        out->bytes = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, file, 0);
        if (out->bytes == MAP_FAILED) { status = files_error(error, errno, "map", path); }
    }
    (void)close(file);
    if (status == TN_OK) { (void)madvise(out->bytes, out->size, MADV_SEQUENTIAL); }
    return status;
}

enum tn_status table_file_check_chain(const struct table_file_info *last,
                                      const struct table_file_info *info, const char *path,
                                      struct error *error)
{
    if (last == NULL) {
        return info->full ? TN_OK
                          : error_set(error, TN_ECORRUPT,
                                      "%s is a delta, but no full file is before it", path);
    }
    if (!info->full && info->since == last->step && info->step >= last->step) { return TN_OK; }
    return error_set(error, TN_ECORRUPT,
                     "%s is not the delta that follows step %" PRIu64 ": a file is missing", path,
                     last->step);
}

enum tn_status table_file_load(const char *const *paths, uint32_t count, struct row_table *table,
                               struct error *error)
{
    struct table_file_info last = {0};
    enum tn_status status = TN_OK;
    assert(count >= 1);
    row_table_begin_load(table);
    for (uint32_t f = 0; f < count && status == TN_OK; f++) {
        struct table_file_info info;
        struct mapped mapped = {0};
        status = map(paths[f], &mapped, error);
        if (status != TN_OK) { return status; }
        status = table_file_decode(mapped.bytes, mapped.size, paths[f], table, &info, error);
        (void)munmap(mapped.bytes, mapped.size);
        if (status == TN_OK) {
            status = table_file_check_chain(f > 0 ? &last : NULL, &info, paths[f], error);
        }
        last = info;
    }
    return status == TN_OK ? row_table_end_load(table, last.step, error) : status;
}
