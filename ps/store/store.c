/* Writing shards; store_read.c reads them. */
#include "ps/store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/base/time_spent.h"
#include "common/faults/failpoint.h"
#include "ps/store/store_file.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_layout.h"
#include "ps/store/store_private.h"
#include "ps/store/store_rows.h"
#include "ps/store/store_tree.h"

struct writer {
    const struct store_write_request *request;
    const atomic_bool *cancelled;
    struct save_pace *pace; /* Or NULL. */
    struct store_header header;
    const uint8_t *blob; /* The blob of the request, or the one that names its rows. */
    uint8_t rows_blob[STORE_BLOB_MAX];
    struct store_tree tree;
    uint64_t records, pages; /* Written so far. */
    struct store_file file;
    char path[PATH_MAX];    /* The finished shard. */
    char partial[PATH_MAX]; /* The file being written. */
};

static size_t blob_bytes_of(const struct store_write_request *request)
{
    if (request->rows.count == 0) { return request->blob_bytes; }
    return store_rows_blob_bytes(request->rows.chain->count + 1);
}

static struct store_header header_of(const struct store_write_request *request)
{
    return (struct store_header){
        .id = request->id,
        .generation = request->generation,
        .step = request->step,
        .epoch = request->epoch,
        .optimizer_steps = request->optimizer_steps,
        .first = request->first,
        .count = request->count,
        .blob_bytes = blob_bytes_of(request),
        .shard = request->shard,
        .shards = request->shards,
        .state_arrays = request->state_arrays,
        .chunk_floats = STORE_CHUNK_FLOATS,
    };
}

/* Write the next record: `digest` (may be NULL), and the bytes, in pages of their own. */
static enum tn_status write_record(struct writer *writer, const uint8_t *digest,
                                   const uint8_t *bytes, size_t size, struct error *error)
{
    static const uint8_t zeros[1 << 16]; /* Pages are smaller. */
    const struct store_record record = store_tree_record(&writer->tree, writer->records);
    const size_t digest_bytes = digest != NULL ? DIGEST_BYTES : 0;
    const size_t page_bytes = writer->tree.page_bytes;
    const size_t padding =
        (size_t)record.pages * page_bytes - STORE_PAGE_HEADER_BYTES - digest_bytes - size;
    uint8_t head[STORE_PAGE_HEADER_BYTES + DIGEST_BYTES];
    assert(record.bytes == digest_bytes + size);
    assert(padding < page_bytes && page_bytes <= sizeof zeros);
    store_tree_encode_value_header(writer->pages, record.pages, head);
    if (digest != NULL) { memcpy(head + STORE_PAGE_HEADER_BYTES, digest, DIGEST_BYTES); }
    const struct iovec pieces[] = {
        {.iov_base = head, .iov_len = STORE_PAGE_HEADER_BYTES + digest_bytes},
        {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size},
        {.iov_base = (void *)(uintptr_t)zeros, .iov_len = padding},
    };
    writer->records++;
    writer->pages += record.pages;
    return store_file_add(&writer->file, pieces, sizeof pieces / sizeof pieces[0], error);
}

static enum tn_status keep_pace(struct writer *writer, uint64_t bytes, struct error *error)
{
    if (writer->pace == NULL) { return TN_OK; }
    save_pace_wrote(writer->pace, bytes);
    if (!save_pace_is_hurried(writer->pace)) { return TN_OK; }
    return store_file_use_cache(&writer->file, error);
}

/* The digest of a chunk reads it from memory; that of the file and the write find it in the
 * processor's cache. */
static enum tn_status write_array(struct writer *writer, uint32_t array, struct error *error)
{
    assert(array < writer->request->state_arrays);
    const uint8_t *floats = store_array_bytes(&writer->request->arrays[array]);
    uint64_t count = writer->header.count;
    uint64_t chunks = store_chunks(count, STORE_CHUNK_FLOATS);
    assert(chunks <= UINT32_MAX); /* See store_key_of_chunk(). */
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
        if (store_is_cancelled(writer->cancelled)) { return store_cancelled_error(error); }
        size_t bytes = (size_t)store_chunk_length(count, STORE_CHUNK_FLOATS, chunk) * 4;
        uint8_t digest[DIGEST_BYTES];
        digest_encode(digest_of(floats, bytes), digest);
        enum tn_status status = write_record(writer, digest, floats, bytes, error);
        if (status == TN_OK) { status = keep_pace(writer, bytes, error); }
        if (status != TN_OK) { return status; }
        floats += bytes;
    }
    return TN_OK;
}

/* Write the pages in front of the values. */
static enum tn_status write_tree(struct writer *writer, struct error *error)
{
    const struct store_tree *tree = &writer->tree;
    uint8_t *pages = calloc(tree->first_value, tree->page_bytes);
    if (pages == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory to write %s", writer->partial);
    }
    store_tree_encode(tree, pages);
    const struct iovec piece = {.iov_base = pages, .iov_len = tree->first_value * tree->page_bytes};
    const enum tn_status status = store_file_add(&writer->file, &piece, 1, error);
    writer->pages = tree->first_value;
    free(pages);
    return status;
}

static enum tn_status write_records(struct writer *writer, struct error *error)
{
    const struct store_write_request *request = writer->request;
    uint8_t header[STORE_HEADER_BYTES];
    store_header_encode(&writer->header, header);
    enum tn_status status = write_tree(writer, error);
    if (status == TN_OK) { status = write_record(writer, NULL, header, sizeof header, error); }
    const size_t blob_bytes = (size_t)writer->header.blob_bytes;
    if (status == TN_OK && blob_bytes > 0) {
        status = write_record(writer, NULL, writer->blob, blob_bytes, error);
    }
    for (uint32_t i = 0; status == TN_OK && i < request->state_arrays; i++) {
        status = write_array(writer, i, error);
    }
    return status;
}

static enum tn_status write_file(struct writer *writer, struct digest *digest, struct error *error)
{
    struct store_file *file = &writer->file;
    const uint64_t bytes = writer->tree.pages * writer->tree.page_bytes;
    const bool direct = writer->pace != NULL && !save_pace_is_hurried(writer->pace);
    enum tn_status status = store_file_create(file, writer->partial, bytes, direct, error);
    if (status == TN_OK) { status = write_records(writer, error); }
    if (writer->pace != NULL) { save_pace_be_normal(writer->pace); }
    if (status == TN_OK) { status = FAILPOINT_STATUS("ckpt.before_sync", error); }
    if (status == TN_OK) { status = store_file_sync(file, digest, error); }
    store_file_close(file);
    if (status == TN_OK) { status = FAILPOINT_STATUS("ckpt.before_rename", error); }
    if (status == TN_OK && rename(writer->partial, writer->path) != 0) {
        status = files_error(error, errno, "rename", writer->partial);
    }
    if (status != TN_OK) { (void)unlink(writer->partial); }
    return status;
}

/* Check that the manifest in the folder of this id is of the checkpoint that `request` is part
 * of. */
static enum tn_status check_committed(const struct store_write_request *request,
                                      const struct manifest *manifest, struct error *error)
{
    assert(manifest->id == request->id);
    struct store_header header = header_of(request);
    if (request->shard < manifest->shard_count &&
        store_header_match(&header, manifest, request->shard, NULL) == TN_OK) {
        return TN_OK;
    }
    return error_set(error, TN_EEXIST,
                     "already committed with step %" PRIu64 " of generation %" PRIu64 " in %" PRIu32
                     " shards: use a new id",
                     manifest->step, manifest->generation, manifest->shard_count);
}

/* Sets `*done` if the shard exists already and matches its committed manifest: after a lost report
 * or a restart of the node the same save is ordered again. */
static enum tn_status find_committed(const char *dir, const struct writer *writer, bool *done,
                                     struct digest *digest, uint64_t *bytes, struct error *error)
{
    const struct store_write_request *request = writer->request;
    *done = false;
    struct manifest *manifest = malloc(sizeof *manifest);
    if (manifest == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a manifest"); }
    enum tn_status status = store_get_manifest(dir, request->id, manifest, error);
    bool absent = status == TN_ENOENT;
    if (status == TN_OK) { status = check_committed(request, manifest, error); }
    if (status == TN_OK &&
        store_verify(dir, manifest, request->shard, writer->cancelled, NULL) == TN_OK) {
        *done = true;
        if (request->rows.count > 0) { request->rows.chain->count = 0; }
        *digest = manifest->shards[request->shard].digest;
        *bytes = manifest->shards[request->shard].bytes;
    }
    free(manifest);
    return absent ? TN_OK : status;
}

static enum tn_status prepare(const char *dir, struct writer *writer, struct error *error)
{
    static atomic_uint counter;
    const struct store_write_request *request = writer->request;
    char folder[PATH_MAX];
    long page_bytes = sysconf(_SC_PAGESIZE);
    assert(page_bytes > 0);
    writer->header = header_of(request);
    store_tree_plan(&writer->tree, &writer->header, (size_t)page_bytes);
    if (!store_path_of_shard_folder(folder, dir, request->id, request->shard, request->shards) ||
        !store_path_of_shard(writer->path, dir, request->id, request->shard, request->shards)) {
        return store_path_too_long(dir, error);
    }
    /* The name is unique: a frozen writer that wakes up must not rename the file of another one. */
    int length =
        snprintf(writer->partial, sizeof writer->partial, "%s/" STORE_PARTIAL_PREFIX "%ld-%u",
                 folder, (long)getpid(), atomic_fetch_add(&counter, 1));
    if (length < 0 || (size_t)length >= sizeof writer->partial) {
        return store_path_too_long(dir, error);
    }
    enum tn_status status =
        store_make_folder(dir, request->id, request->shard, request->shards, error);
    if (status == TN_OK) { store_remove_partials(folder); }
    return status;
}

uint64_t store_write_bytes(const struct store_write_request *request)
{
    const uint64_t rows = request->rows.count > 0 ? store_rows_bytes(request) : 0;
    return rows + request->count * sizeof(float) * request->state_arrays;
}

static void check_request(const struct store_write_request *request)
{
    assert(request->id > 0);
    assert(request->shard < request->shards && request->shards <= MANIFEST_SHARDS_MAX);
    assert(request->state_arrays > 0 && request->state_arrays <= STORE_ARRAYS_MAX);
    assert(request->blob_bytes <= STORE_BLOB_MAX);
    assert(request->rows.count == 0 || (request->blob_bytes == 0 && request->rows.chain != NULL));
}

enum tn_status store_write(const char *dir, const struct store_write_request *request,
                           const atomic_bool *cancelled, struct save_pace *pace,
                           struct digest *digest, uint64_t *bytes, struct error *error)
{
    check_request(request);
    const uint64_t begun_ns = clock_monotonic_ns();
    struct writer writer = {
        .request = request, .cancelled = cancelled, .pace = pace, .blob = request->blob};
    bool done = false;
    enum tn_status status = prepare(dir, &writer, error);
    if (status == TN_OK) { status = find_committed(dir, &writer, &done, digest, bytes, error); }
    if (status == TN_OK && !done && request->rows.count > 0) {
        writer.blob = writer.rows_blob;
        status = store_rows_write(dir, request, pace, writer.rows_blob, error);
    }
    if (status == TN_OK && !done) {
        *bytes = writer.tree.pages * writer.tree.page_bytes;
        status = write_file(&writer, digest, error);
    }
    if (status == TN_OK) {
        status = store_sync_folders(dir, request->id, request->shard, request->shards, error);
    }
    time_spent_add(TIME_SAVE, begun_ns);
    if (status != TN_OK) {
        error_context(error, "checkpoint %" PRIu64 ": shard %" PRIu32, request->id, request->shard);
    }
    return status;
}
