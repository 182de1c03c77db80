/* The contents of the modelled disk, and the effect of each request. disk_model.c has the queue. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "ps/table/row_table.h"
#include "tests/sim/disk_model_private.h"
#include "tests/sim/disk_rows.h"

static struct disk_shard *find_shard(const struct disk_model *disk, uint64_t id, uint32_t index,
                                     uint32_t of)
{
    for (size_t i = disk->shard_count; i-- > 0;) {
        struct disk_shard *shard = disk->shards[i];
        if (shard->id == id && shard->index == index && shard->of == of) { return shard; }
    }
    return NULL;
}

static struct manifest *find_manifest(const struct disk_model *disk, uint64_t id)
{
    for (size_t i = disk->manifest_count; i-- > 0;) {
        if (disk->manifests[i]->id == id) { return disk->manifests[i]; }
    }
    return NULL;
}

static void free_shard(struct disk_shard *shard)
{
    disk_rows_remove(shard);
    free(shard->data);
    free(shard);
}

static void remove_shard(struct disk_model *disk, size_t i)
{
    assert(i < disk->shard_count);
    free_shard(disk->shards[i]);
    disk->shards[i] = disk->shards[--disk->shard_count];
}

static bool is_whole(const struct disk_shard *shard, const struct manifest *manifest, uint32_t i)
{
    return shard != NULL && !shard->damaged && disk_rows_are_whole(shard) &&
           digest_equal(shard->digest, manifest->shards[i].digest);
}

/* Whether the shard is on another host than its ps. */
static bool is_away(const struct disk_model *disk, const struct disk_shard *shard)
{
    return ((disk->away >> shard->index & 1) != 0) != shard->elsewhere;
}

bool disk_model_holds(const struct disk_model *disk, const struct manifest *manifest,
                      uint32_t index, bool *flipped)
{
    const struct disk_shard *shard = find_shard(disk, manifest->id, index, manifest->shard_count);
    bool away = shard != NULL && is_away(disk, shard);
    *flipped = shard != NULL && (shard->damaged || !disk_rows_are_whole(shard) || away);
    return !away && is_whole(shard, manifest, index);
}

void disk_model_away(struct disk_model *disk, uint32_t ps, bool away)
{
    assert(ps < 64);
    disk->away = away ? disk->away | UINT64_C(1) << ps : disk->away & ~(UINT64_C(1) << ps);
}

bool disk_model_is_away(const struct disk_model *disk)
{
    return disk->away != 0;
}

const float *disk_model_values(const struct disk_model *disk, const struct manifest *manifest,
                               uint32_t index)
{
    const struct disk_shard *shard = find_shard(disk, manifest->id, index, manifest->shard_count);
    return shard != NULL ? shard->data : NULL;
}

bool disk_model_find_row(const struct disk_model *disk, uint64_t id, uint32_t table, uint64_t key,
                         const float **numbers)
{
    bool found = false;
    *numbers = NULL;
    for (size_t i = 0; i < disk->shard_count; i++) {
        const struct disk_shard *shard = disk->shards[i];
        if (shard->id != id) { continue; }
        if (shard->damaged || !disk_rows_are_whole(shard)) { return false; }
        const float *row = disk_rows_find(shard, table, key);
        if (row != NULL) { *numbers = row; }
        found = true;
    }
    return found;
}

uint64_t disk_model_highest_epoch(const struct disk_model *disk)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < disk->manifest_count; i++) {
        if (disk->manifests[i]->epoch > highest) { highest = disk->manifests[i]->epoch; }
    }
    return highest;
}

uint64_t disk_model_highest_id(const struct disk_model *disk)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < disk->manifest_count; i++) {
        highest = u64_max(highest, disk->manifests[i]->id);
    }
    for (size_t i = 0; i < disk->shard_count; i++) {
        highest = u64_max(highest, disk->shards[i]->id);
    }
    return highest;
}

bool disk_model_damage(struct disk_model *disk, uint64_t chance)
{
    if (disk->shard_count == 0) { return false; }
    struct disk_shard *shard = disk->shards[chance % disk->shard_count];
    const bool in_rows = (chance >> 32 & 1) != 0 && disk_rows_damage(shard, chance >> 33);
    shard->damaged = shard->damaged || !in_rows;
    world_log(disk->world, "disk: a bit flips in shard %u of checkpoint %" PRIu64, shard->index,
              shard->id);
    return true;
}

/* ------------------------------------------------------------- requests */

/* The shard whose files of rows a write continues; NULL: this disk does not have it. */
static const struct disk_shard *row_shard_before(const struct disk_model *disk,
                                                 const struct store_write_request *write)
{
    const struct rows_chain *chain = write->rows.chain;
    if (write->rows.count == 0 || chain->count == 0) { return NULL; }
    const struct disk_shard *shard =
        find_shard(disk, chain->files[chain->count - 1].checkpoint, write->shard, write->shards);
    return shard == NULL || is_away(disk, shard) ? NULL : shard;
}

/* The shard of a committed checkpoint stays; its rows may be in other files than those of a write
 * by another process. */
static bool stays(const struct disk_shard *old, const struct disk_shard *shard,
                  const struct store_write_request *write, struct store_event *event)
{
    if (write->rows.count == 0 || old->step != shard->step ||
        old->generation != shard->generation || old->damaged || !disk_rows_are_whole(old)) {
        return false;
    }
    event->digest = old->digest;
    write->rows.chain->count = 0;
    return true;
}

static enum tn_status do_write(struct disk_model *disk, const struct disk_request *request,
                               struct store_event *event)
{
    assert(request->write.state_arrays > 0);
    const struct store_write_request *write = &request->write;
    if (world_chance(disk->world, disk->config.fail_per_mille)) {
        return world_chance(disk->world, 500) ? TN_EIO : TN_ENOSPC;
    }
    struct disk_shard *shard = calloc(1, sizeof *shard);
    assert(shard != NULL);
    size_t bytes = (size_t)write->count * sizeof(float);
    shard->id = write->id;
    shard->index = write->shard;
    shard->of = write->shards;
    shard->step = write->step;
    shard->generation = write->generation;
    shard->elsewhere = (disk->away >> write->shard & 1) != 0;
    shard->first = write->first;
    shard->count = write->count;
    shard->optimizer_steps = write->optimizer_steps;
    shard->arrays = write->state_arrays;
    shard->data = malloc(bytes * write->state_arrays + 1);
    assert(shard->data != NULL);
    for (uint32_t a = 0; a < write->state_arrays; a++) {
        const struct store_array *array = &write->arrays[a];
        memcpy((char *)shard->data + a * bytes,
               (const char *)array->buffer->data + array->offset_bytes, bytes);
    }
    shard->blob_bytes = write->blob_bytes;
    if (write->blob_bytes > 0) { memcpy(shard->blob, request->blob, write->blob_bytes); }
    struct digest_stream stream;
    digest_begin(&stream);
    digest_add(&stream, shard->data, bytes * write->state_arrays);
    if (!disk_rows_write(shard, row_shard_before(disk, write), write, &stream)) {
        free_shard(shard);
        return TN_EIO;
    }
    digest_add(&stream, &write->step, sizeof write->step);
    digest_add(&stream, &write->generation, sizeof write->generation);
    digest_add(&stream, &write->id, sizeof write->id);
    shard->digest = digest_end(&stream);
    shard->damaged = world_chance(disk->world, disk->config.damage_per_mille);
    event->digest = shard->digest;
    event->bytes = bytes * write->state_arrays + 4096;
    for (size_t i = 0; i < disk->shard_count; i++) {
        struct disk_shard *old = disk->shards[i];
        if (old->id != shard->id || old->index != shard->index || old->of != shard->of) {
            continue;
        }
        if (find_manifest(disk, shard->id) != NULL && !digest_equal(old->digest, shard->digest)) {
            const bool same = stays(old, shard, write, event);
            free_shard(shard);
            return same ? TN_OK : TN_EEXIST;
        }
        remove_shard(disk, i);
        break;
    }
    assert(disk->shard_count < DISK_SHARDS_MAX);
    disk->shards[disk->shard_count++] = shard;
    return TN_OK;
}

static void load_rows(const struct disk_model *disk, const struct disk_shard *shard,
                      const struct manifest *manifest, const struct store_rows *rows)
{
    const struct row_part *part = &row_table_spec_of(rows->tables[0])->part;
    const struct row_part stored =
        row_part_of(&manifest->rows, manifest->shard_count, shard->index);
    disk_rows_load(shard, rows);
    if (row_part_equal(part, &stored) && !is_away(disk, shard)) {
        disk_rows_chain(shard, rows->chain);
    }
}

static enum tn_status do_read(struct disk_model *disk, const struct disk_request *request,
                              struct store_metadata *metadata)
{
    const struct manifest *manifest = request->manifest;
    uint64_t first = request->read.first, end = first + request->read.count;
    *metadata = (struct store_metadata){0};
    const struct store_rows *rows = &request->read.rows;
    for (uint32_t t = 0; t < rows->count; t++) { row_table_begin_load(rows->tables[t]); }
    if (rows->chain != NULL) { rows->chain->count = 0; }
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        const struct manifest_shard *part = &manifest->shards[i];
        uint64_t from = u64_max(part->first, first);
        uint64_t to = u64_min(part->first + part->count, end);
        if (from >= to && rows->count == 0) { continue; }
        const struct disk_shard *shard = find_shard(disk, manifest->id, i, manifest->shard_count);
        if (shard == NULL || (is_away(disk, shard) && !request->has_fallback)) { return TN_ENOENT; }
        if (!is_whole(shard, manifest, i)) { return TN_ECORRUPT; }
        for (uint32_t a = 0; from < to && a < manifest->state_arrays; a++) {
            const struct store_array *array = &request->read.arrays[a];
            float *out = (float *)(void *)((char *)array->buffer->data + array->offset_bytes);
            memcpy(out + (from - first), shard->data + a * shard->count + (from - part->first),
                   (size_t)(to - from) * sizeof *out);
        }
        if (rows->count > 0) { load_rows(disk, shard, manifest, rows); }
        if (shard->optimizer_steps > metadata->optimizer_steps) {
            metadata->optimizer_steps = shard->optimizer_steps;
        }
        if (from == first && to == end && part->first == first && part->count == end - first) {
            metadata->blob_bytes = shard->blob_bytes;
            memcpy(metadata->blob, shard->blob, shard->blob_bytes);
        }
    }
    for (uint32_t t = 0; t < rows->count; t++) {
        const enum tn_status status = row_table_end_load(rows->tables[t], manifest->step, NULL);
        assert(status == TN_OK);
    }
    return TN_OK;
}

static bool is_kept(const struct disk_request *request, uint64_t id)
{
    if (id >= request->id) { return true; }
    for (size_t i = 0; i < request->keep_count; i++) {
        if (request->keep[i] == id) { return true; }
    }
    return false;
}

static size_t do_collect(struct disk_model *disk, const struct disk_request *request)
{
    size_t removed = 0;
    for (size_t i = disk->shard_count; i-- > 0;) {
        if (!is_kept(request, disk->shards[i]->id)) { remove_shard(disk, i); }
    }
    for (size_t i = disk->manifest_count; i-- > 0;) {
        if (is_kept(request, disk->manifests[i]->id)) { continue; }
        free(disk->manifests[i]);
        disk->manifests[i] = disk->manifests[--disk->manifest_count];
        removed++;
    }
    return removed;
}

static size_t do_list(struct disk_model *disk)
{
    size_t count = 0;
    uint64_t below = UINT64_MAX;
    while (count < STORE_LIST_MAX) {
        const struct manifest *newest = NULL;
        for (size_t i = 0; i < disk->manifest_count; i++) {
            const struct manifest *manifest = disk->manifests[i];
            if (manifest->id >= below) { continue; }
            if (newest == NULL || manifest->id > newest->id) { newest = manifest; }
        }
        if (newest == NULL) { break; }
        disk->listed[count++] = *newest;
        below = newest->id;
    }
    return count;
}

static enum tn_status do_put(struct disk_model *disk, const struct disk_request *request)
{
    struct manifest *manifest = find_manifest(disk, request->manifest->id);
    if (manifest == NULL) {
        assert(disk->manifest_count < DISK_MANIFESTS_MAX);
        manifest = malloc(sizeof *manifest);
        assert(manifest != NULL);
        disk->manifests[disk->manifest_count++] = manifest;
    }
    *manifest = *request->manifest;
    return TN_OK;
}

static enum tn_status do_discard(struct disk_model *disk, const struct disk_request *request)
{
    if (find_manifest(disk, request->id) != NULL) { return TN_EEXIST; }
    for (size_t i = disk->shard_count; i-- > 0;) {
        if (disk->shards[i]->id == request->id) { remove_shard(disk, i); }
    }
    return TN_OK;
}

static enum tn_status do_verify(struct disk_model *disk, const struct disk_request *request)
{
    for (uint32_t i = 0; i < request->manifest->shard_count; i++) {
        if (request->shard != STORE_ALL_SHARDS && request->shard != i) { continue; }
        const struct disk_shard *shard =
            find_shard(disk, request->manifest->id, i, request->manifest->shard_count);
        if (shard == NULL) { return TN_ENOENT; }
        if (!is_whole(shard, request->manifest, i)) { return TN_ECORRUPT; }
    }
    return TN_OK;
}

void disk_execute(struct disk_model *disk, const struct disk_request *request,
                  struct store_event *event, struct store_metadata *metadata)
{
    switch (request->kind) {
    case STORE_WRITE: event->status = do_write(disk, request, event); break;
    case STORE_READ:
        event->status = do_read(disk, request, metadata);
        event->metadata = event->status == TN_OK ? metadata : NULL;
        break;
    case STORE_VERIFY: event->status = do_verify(disk, request); break;
    case STORE_LIST:
        event->manifests = disk->listed;
        event->highest_id = disk_model_highest_id(disk);
        event->count = do_list(disk);
        break;
    case STORE_PUT_MANIFEST: event->status = do_put(disk, request); break;
    case STORE_COLLECT: event->count = do_collect(disk, request); break;
    case STORE_DISCARD: event->status = do_discard(disk, request); break;
    }
    if (event->status != TN_OK) { event->text = tanist_strerror(event->status); }
}

void disk_forget_all(struct disk_model *disk)
{
    while (disk->shard_count > 0) { remove_shard(disk, 0); }
    for (size_t i = 0; i < disk->manifest_count; i++) { free(disk->manifests[i]); }
    disk->manifest_count = 0;
}
