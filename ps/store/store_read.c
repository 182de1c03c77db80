/* Reading and verifying shards; store.c writes them. */
#include "ps/store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_layout.h"
#include "ps/store/store_pages.h"
#include "ps/store/store_private.h"
#include "ps/store/store_rows.h"
#include "ps/store/store_scan.h"
#include "ps/store/store_table.h"

enum { FIRST_BYTES = 2 << 20, PROBES = 64 };

/* One shard being read. `arrays` NULL: it is only verified. */
struct reader {
    const struct manifest *manifest;
    const struct store_array *arrays;
    uint64_t first, count;       /* The range of the flat vector to read. */
    struct variable_moves moves; /* To places in the arrays. */
    bool moved;                  /* The range is not one of the checkpoint's vector. */
    const atomic_bool *cancelled;
    const struct store_rows *rows; /* Get those of the shard; NULL: they are only checked. */
    struct rows_chain chain;       /* The files of its rows. */
    struct digest_stream *values;  /* Gets the values, array 0, in their order. NULL: not wanted. */
    uint32_t shard;
    struct store_header header;
    struct table table;
    char path[PATH_MAX];
};

/* Open the file, and check its size: reading beyond the end of a truncated file that is mapped
 * raises SIGBUS. `*fd` is to be closed after TN_OK. */
static enum tn_status open_file(const struct reader *reader, int *fd, struct error *error)
{
    const struct manifest_shard *part = &reader->manifest->shards[reader->shard];
    *fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 && errno == ENOENT) {
        return error_set(error, TN_ENOENT, "%s does not exist; it was written at %s", reader->path,
                         part->place);
    }
    if (*fd < 0) { return files_error(error, errno, "open", reader->path); }
    struct stat info;
    enum tn_status status = TN_OK;
    if (fstat(*fd, &info) != 0) { status = files_error(error, errno, "stat", reader->path); }
    if (status == TN_OK && (!S_ISREG(info.st_mode) || (uint64_t)info.st_size != part->bytes)) {
        status = error_set(error, TN_ECORRUPT, "%s has %jd bytes, the manifest has %" PRIu64,
                           reader->path, (intmax_t)info.st_size, part->bytes);
    }
    (void)posix_fadvise(*fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    /* Small reads come first, behind which the kernel would read little ahead. */
    (void)posix_fadvise(*fd, 0, FIRST_BYTES, POSIX_FADV_WILLNEED);
    if (status != TN_OK) { close(*fd); }
    return status;
}

static enum tn_status read_header(struct reader *reader, struct error *error)
{
    const uint8_t *data;
    size_t size;
    enum tn_status status = table_get(&reader->table, STORE_KEY_HEADER, &data, &size, error);
    if (status != TN_OK) { return status; }
    status = store_header_decode(data, size, &reader->header, error);
    if (status == TN_OK) {
        status = store_header_match(&reader->header, reader->manifest, reader->shard, error);
    }
    if (status != TN_OK) { error_context(error, "%s", reader->path); }
    return status;
}

/* Whether the file is in the page cache, as far as a sample shows. */
static bool is_cached(int fd, uint64_t bytes)
{
    const long page_bytes = sysconf(_SC_PAGESIZE);
    assert(page_bytes > 0);
    uint8_t *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) { return false; }
    bool cached = true;
    for (uint64_t i = 0; i < PROBES && cached; i++) {
        unsigned char resident = 0;
        const uint64_t page = bytes / PROBES * i / (uint64_t)page_bytes;
        uint8_t *at = memory + page * (uint64_t)page_bytes;
        cached = mincore(at, 1, &resident) == 0 && (resident & 1) != 0;
    }
    (void)munmap(memory, bytes);
    return cached;
}

/* Check the bytes of the file against the digest of the manifest, and on the way the chunks that
 * overlap the range, which are copied. `values` NULL: only that digest. */
static enum tn_status scan_file(const struct reader *reader, int fd,
                                const struct store_values *values, struct error *error)
{
    const struct manifest_shard *part = &reader->manifest->shards[reader->shard];
    const struct store_scan scan = {
        .fd = fd,
        .path = reader->path,
        .bytes = part->bytes,
        .values = values,
        .header = &reader->header,
        .moves = reader->moves,
        .arrays = reader->arrays,
        .parameters = reader->values,
        .cancelled = reader->cancelled,
        /* A run waits for a load, while it trains during a verification. */
        .threads = reader->arrays != NULL ? store_scan_threads(part->bytes) : 1,
        .in_turn = !is_cached(fd, part->bytes),
    };
    struct digest digest;
    const enum tn_status status = store_scan_run(&scan, &digest, error);
    if (status != TN_OK || digest_equal(digest, part->digest)) { return status; }
    return error_set(error, TN_ECORRUPT,
                     "%s is damaged, or of another checkpoint: its "
                     "digest differs from the manifest",
                     reader->path);
}

/* A problem was found before the digest of the file was known. If the digest differs too, this is
 * the problem that is reported: the contents of a damaged file are meaningless. */
static enum tn_status explain(const struct reader *reader, int fd, enum tn_status problem,
                              struct error *error)
{
    struct error other = {.text = ""};
    if (problem == TN_ECLOSED || problem == TN_ENOMEM) { return problem; }
    const enum tn_status status = scan_file(reader, fd, NULL, &other);
    if (status == TN_OK) { return problem; }
    if (error != NULL) { *error = other; }
    return status;
}

/* Open the shard of `reader->path` and check it: its table is open after TN_OK, and to be closed in
 * any case. */
static enum tn_status read_file(struct reader *reader, struct error *error)
{
    int fd;
    struct store_values values;
    const struct manifest_shard *part = &reader->manifest->shards[reader->shard];
    enum tn_status status = open_file(reader, &fd, error);
    if (status != TN_OK) { return status; }
    status = store_find_values(fd, reader->path, part->bytes, &values, error);
    if (status == TN_OK) { status = table_open(&reader->table, reader->path, error); }
    if (status == TN_OK) { status = read_header(reader, error); }
    if (status == TN_OK) { status = scan_file(reader, fd, &values, error); }
    if (status != TN_OK) { status = explain(reader, fd, status, error); }
    store_values_free(&values);
    close(fd);
    return status;
}

/* `metadata` may be NULL. */
static enum tn_status read_metadata(const struct reader *reader, struct store_metadata *metadata,
                                    struct error *error)
{
    const uint8_t *data;
    size_t size;
    const struct store_header *header = &reader->header;
    if (metadata == NULL) { return TN_OK; }
    metadata->optimizer_steps = u64_max(metadata->optimizer_steps, header->optimizer_steps);
    const bool whole =
        !reader->moved && reader->first == header->first && reader->count == header->count;
    if (!whole || header->blob_bytes == 0) { return TN_OK; }
    enum tn_status status = table_get(&reader->table, STORE_KEY_BLOB, &data, &size, error);
    if (status != TN_OK) { return status; }
    if (size != header->blob_bytes || size > STORE_BLOB_MAX) {
        return error_set(error, TN_ECORRUPT, "%s: its blob has %zu bytes", reader->path, size);
    }
    memcpy(metadata->blob, data, size);
    metadata->blob_bytes = size;
    return TN_OK;
}

/* The rows of tables that the shard's blob names, if any. */
static enum tn_status read_rows(const char *dir, struct reader *reader, struct error *error)
{
    static const struct store_rows none;
    const uint8_t *blob = NULL;
    size_t size = 0;
    enum tn_status status = TN_OK;
    const bool wanted = reader->rows != NULL && reader->rows->count > 0;
    if (reader->header.blob_bytes > 0) {
        status = table_get(&reader->table, STORE_KEY_BLOB, &blob, &size, error);
    }
    if (status != TN_OK) { return status; }
    if (!store_rows_are_named(blob, size)) {
        return wanted ? error_set(error, TN_EINVAL, "it has no rows of tables") : TN_OK;
    }
    return store_rows_read(dir, reader->manifest, reader->shard, blob, size,
                           reader->rows != NULL ? reader->rows : &none, &reader->chain, error);
}

static enum tn_status read_shard(const char *dir, struct reader *reader,
                                 struct store_metadata *metadata, struct error *error)
{
    const struct manifest *manifest = reader->manifest;
    assert(reader->shard < manifest->shard_count);
    if (!store_path_of_shard(reader->path, dir, manifest->id, reader->shard,
                             manifest->shard_count)) {
        return store_path_too_long(dir, error);
    }
    enum tn_status status = read_file(reader, error);
    if (status == TN_OK) { status = read_metadata(reader, metadata, error); }
    if (status == TN_OK) { status = read_rows(dir, reader, error); }
    table_close(&reader->table);
    if (status != TN_OK) {
        error_context(error, "checkpoint %" PRIu64 ": shard %" PRIu32, manifest->id, reader->shard);
    }
    return status;
}

/* The store's folder lacks the shard: `error` names it. Try the folder of a restore. */
static enum tn_status read_from_fallback(const char *dir, struct reader *reader,
                                         struct store_metadata *metadata, struct error *error)
{
    static const char *const below[] = {"", "/checkpoints"};
    enum tn_status status = TN_ENOENT;
    if (dir == NULL || dir[0] == '\0') { return status; }
    for (size_t i = 0; i < sizeof below / sizeof *below && status == TN_ENOENT; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s%s", dir, below[i]);
        if (length < 0 || (size_t)length >= sizeof path) { return TN_ENOENT; }
        status = read_shard(path, reader, metadata, error);
    }
    return status;
}

/* Whether shard `index` has some of the floats or rows that are wanted. */
static bool is_wanted(const struct store_read_request *request, const struct variable_moves *moves,
                      uint32_t index)
{
    struct variable_move found;
    const struct manifest *manifest = request->manifest;
    const struct manifest_shard *part = &manifest->shards[index];
    const struct row_part rows = row_part_of(&manifest->rows, manifest->shard_count, index);
    const uint32_t at = variable_moves_find(moves, part->first);
    if (at < moves->count &&
        variable_move_cut(&moves->list[at], part->first, part->first + part->count, &found)) {
        return true;
    }
    return request->rows.count > 0 &&
           row_part_meets(&row_table_spec_of(request->rows.tables[0])->part, &rows);
}

/* Whether the rows that are wanted are those of shard `index`. */
static bool is_same_part(const struct store_read_request *request, uint32_t index)
{
    if (request->rows.count == 0 || request->rows.chain == NULL) { return false; }
    const struct manifest *manifest = request->manifest;
    const struct row_part rows = row_part_of(&manifest->rows, manifest->shard_count, index);
    return row_part_equal(&row_table_spec_of(request->rows.tables[0])->part, &rows);
}

static enum tn_status read_from_shards(const char *dir, const struct store_read_request *request,
                                       const struct variable_moves *moves,
                                       const atomic_bool *cancelled,
                                       struct store_metadata *metadata, struct error *error)
{
    const struct manifest *manifest = request->manifest;
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        if (!is_wanted(request, moves, i)) { continue; }
        struct reader reader = {.manifest = manifest,
                                .arrays = request->arrays,
                                .first = request->first,
                                .count = request->count,
                                .moves = *moves,
                                .moved = request->moves.count > 0,
                                .cancelled = cancelled,
                                .rows = &request->rows,
                                .shard = i};
        enum tn_status status = read_shard(dir, &reader, metadata, error);
        if (status == TN_OK && is_same_part(request, i)) { *request->rows.chain = reader.chain; }
        if (status == TN_ENOENT) {
            status = read_from_fallback(request->fallback_dir, &reader, metadata, error);
        }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static enum tn_status read_shards(const char *dir, const struct store_read_request *request,
                                  const atomic_bool *cancelled, struct store_metadata *metadata,
                                  struct error *error)
{
    const struct variable_move range = {.from = request->first, .count = request->count};
    struct variable_moves moves = {.list = &range, .count = range.count > 0};
    if (request->moves.count == 0) {
        return read_from_shards(dir, request, &moves, cancelled, metadata, error);
    }
    struct variable_move *clipped = malloc(request->moves.count * sizeof *clipped);
    if (clipped == NULL) { return error_set(error, TN_ENOMEM, "out of memory to read a shard"); }
    moves.list = clipped;
    moves.count = variable_moves_clip(&request->moves, request->first, request->count, clipped);
    const enum tn_status status =
        read_from_shards(dir, request, &moves, cancelled, metadata, error);
    free(clipped);
    return status;
}

enum tn_status store_read_range(const char *dir, const struct store_read_request *request,
                                const atomic_bool *cancelled, struct store_metadata *metadata,
                                struct error *error)
{
    assert(metadata != NULL);
    assert(request->manifest->shard_count <= MANIFEST_SHARDS_MAX);
    const struct manifest *manifest = request->manifest;
    metadata->optimizer_steps = 0;
    metadata->blob_bytes = 0;
    if (request->first > manifest->parameter_count ||
        request->count > manifest->parameter_count - request->first) {
        return error_set(error, TN_EINVAL,
                         "checkpoint %" PRIu64 " has %" PRIu64 " parameters: %" PRIu64
                         " from %" PRIu64 " cannot be read",
                         manifest->id, manifest->parameter_count, request->count, request->first);
    }
    for (uint32_t t = 0; t < request->rows.count; t++) {
        row_table_begin_load(request->rows.tables[t]);
    }
    if (request->rows.chain != NULL) { request->rows.chain->count = 0; }
    enum tn_status status = read_shards(dir, request, cancelled, metadata, error);
    for (uint32_t t = 0; t < request->rows.count && status == TN_OK; t++) {
        status = row_table_end_load(request->rows.tables[t], manifest->step, error);
    }
    return status;
}

static enum tn_status verify_shards(const char *dir, const struct manifest *manifest,
                                    uint32_t shard, struct digest_stream *values,
                                    const atomic_bool *cancelled, struct error *error)
{
    const struct variable_move all = {.count = manifest->parameter_count};
    assert(shard == STORE_ALL_SHARDS || shard < manifest->shard_count);
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        if (shard != STORE_ALL_SHARDS && shard != i) { continue; }
        struct reader reader = {.manifest = manifest,
                                .count = manifest->parameter_count,
                                .moves = {&all, 1},
                                .cancelled = cancelled,
                                .values = values,
                                .shard = i};
        enum tn_status status = read_shard(dir, &reader, NULL, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

enum tn_status store_verify(const char *dir, const struct manifest *manifest, uint32_t shard,
                            const atomic_bool *cancelled, struct error *error)
{
    return verify_shards(dir, manifest, shard, NULL, cancelled, error);
}

enum tn_status store_digest_values(const char *dir, const struct manifest *manifest,
                                   struct digest *digest, struct error *error)
{
    struct digest_stream values;
    digest_begin(&values);
    enum tn_status status = verify_shards(dir, manifest, STORE_ALL_SHARDS, &values, NULL, error);
    *digest = digest_end(&values);
    return status;
}

/* The shard is open, and its header was read. */
static enum tn_status name_row_files(const char *dir, struct reader *reader,
                                     struct rows_file files[static MANIFEST_CHAIN_MAX],
                                     struct error *error)
{
    const uint8_t *blob = NULL;
    size_t size = 0;
    enum tn_status status = TN_OK;
    if (reader->header.blob_bytes > 0) {
        status = table_get(&reader->table, STORE_KEY_BLOB, &blob, &size, error);
    }
    if (status != TN_OK || !store_rows_are_named(blob, size)) { return status; }
    return store_rows_files(dir, reader->manifest, reader->shard, blob, size, files, &reader->chain,
                            error);
}

enum tn_status store_row_files(const char *dir, const struct manifest *manifest, uint32_t shard,
                               struct rows_file files[static MANIFEST_CHAIN_MAX],
                               struct rows_chain *chain, struct error *error)
{
    struct reader reader = {.manifest = manifest, .shard = shard};
    assert(shard < manifest->shard_count);
    if (!store_path_of_shard(reader.path, dir, manifest->id, shard, manifest->shard_count)) {
        return store_path_too_long(dir, error);
    }
    enum tn_status status = read_file(&reader, error);
    if (status == TN_OK) { status = name_row_files(dir, &reader, files, error); }
    table_close(&reader.table);
    *chain = reader.chain;
    return status;
}
