#include "tests/sim/disk_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DISK_SHARDS_MAX = 8192, DISK_MANIFESTS_MAX = 2048 };

struct disk_shard {
    uint64_t id;
    uint32_t index, of;
    uint64_t first, count, optimizer_steps;
    uint32_t arrays;
    float *data; /* arrays x count. */
    struct digest digest;
    bool damaged;
    size_t blob_bytes;
    uint8_t blob[STORE_BLOB_MAX];
};

struct disk_model {
    struct world *world;
    struct disk_config config;
    struct disk_shard *shards[DISK_SHARDS_MAX];
    size_t shard_count;
    struct manifest *manifests[DISK_MANIFESTS_MAX];
    size_t manifest_count;
    struct disk_user *users;
    struct manifest listed[STORE_LIST_MAX];
};

struct disk_request {
    struct disk_request *next;
    enum store_request kind;
    uint64_t op;
    struct store_write_request write;
    struct store_read_request read;
    struct manifest *manifest;
    uint64_t keep[STORE_KEEP_MAX];
    size_t keep_count;
    uint64_t id;
    uint32_t shard;
    uint8_t *blob;
};

struct disk_user {
    struct disk_user *next;
    struct disk_model *disk;
    store_sink sink;
    void *ctx;
    bool dead, frozen, busy;
    struct disk_request *queue;
    size_t waiting;
};

/* ------------------------------------------------------------- contents */

static struct disk_shard *find_shard(const struct disk_model *disk, uint64_t id, uint32_t index,
                                     uint32_t of)
{
    for (size_t i = disk->shard_count; i-- > 0;) {
        struct disk_shard *shard = disk->shards[i];
        if (shard->id == id && shard->index == index && shard->of == of) return shard;
    }
    return NULL;
}

static struct manifest *find_manifest(const struct disk_model *disk, uint64_t id)
{
    for (size_t i = disk->manifest_count; i-- > 0;) {
        if (disk->manifests[i]->id == id) return disk->manifests[i];
    }
    return NULL;
}

static void remove_shard(struct disk_model *disk, size_t i)
{
    free(disk->shards[i]->data);
    free(disk->shards[i]);
    disk->shards[i] = disk->shards[--disk->shard_count];
}

static bool is_whole(const struct disk_shard *shard, const struct manifest *manifest, uint32_t i)
{
    return shard != NULL && !shard->damaged &&
           digest_equal(shard->digest, manifest->shards[i].digest);
}

bool disk_model_holds(const struct disk_model *disk, const struct manifest *manifest,
                      uint32_t index, bool *flipped)
{
    const struct disk_shard *shard = find_shard(disk, manifest->id, index, manifest->shard_count);
    *flipped = shard != NULL && shard->damaged;
    return is_whole(shard, manifest, index);
}

const float *disk_model_values(const struct disk_model *disk, const struct manifest *manifest,
                               uint32_t index)
{
    const struct disk_shard *shard = find_shard(disk, manifest->id, index, manifest->shard_count);
    return shard != NULL ? shard->data : NULL;
}

uint64_t disk_model_highest_epoch(const struct disk_model *disk)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < disk->manifest_count; i++) {
        if (disk->manifests[i]->epoch > highest) highest = disk->manifests[i]->epoch;
    }
    return highest;
}

bool disk_model_damage(struct disk_model *disk, uint64_t chance)
{
    if (disk->shard_count == 0) return false;
    struct disk_shard *shard = disk->shards[chance % disk->shard_count];
    shard->damaged = true;
    world_say(disk->world, "disk: a bit flips in shard %u of checkpoint %llu", shard->index,
              (unsigned long long)shard->id);
    return true;
}

/* ------------------------------------------------------------- requests */

static enum tn_status do_write(struct disk_model *disk, const struct disk_request *request,
                               struct store_event *event)
{
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
    if (write->blob_bytes > 0) memcpy(shard->blob, request->blob, write->blob_bytes);
    struct digest_stream stream;
    digest_begin(&stream);
    digest_add(&stream, shard->data, bytes * write->state_arrays);
    digest_add(&stream, &write->step, sizeof write->step);
    digest_add(&stream, &write->generation, sizeof write->generation);
    digest_add(&stream, &write->id, sizeof write->id);
    shard->digest = digest_end(&stream);
    shard->damaged = world_chance(disk->world, disk->config.damage_per_mille);
    event->digest = shard->digest;
    event->bytes = bytes * write->state_arrays + 4096;
    for (size_t i = 0; i < disk->shard_count; i++) {
        struct disk_shard *old = disk->shards[i];
        if (old->id != shard->id || old->index != shard->index || old->of != shard->of) continue;
        if (find_manifest(disk, shard->id) != NULL && !digest_equal(old->digest, shard->digest)) {
            free(shard->data);
            free(shard);
            return TN_EEXIST;
        }
        remove_shard(disk, i);
        break;
    }
    assert(disk->shard_count < DISK_SHARDS_MAX);
    disk->shards[disk->shard_count++] = shard;
    return TN_OK;
}

static enum tn_status do_read(struct disk_model *disk, const struct disk_request *request,
                              struct store_notes *notes)
{
    const struct manifest *manifest = request->manifest;
    uint64_t first = request->read.first, end = first + request->read.count;
    *notes = (struct store_notes){0};
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        const struct manifest_shard *part = &manifest->shards[i];
        uint64_t from = part->first > first ? part->first : first;
        uint64_t to = part->first + part->count < end ? part->first + part->count : end;
        if (from >= to) continue;
        const struct disk_shard *shard = find_shard(disk, manifest->id, i, manifest->shard_count);
        if (shard == NULL) return TN_ENOENT;
        if (!is_whole(shard, manifest, i)) return TN_ECORRUPT;
        for (uint32_t a = 0; a < manifest->state_arrays; a++) {
            const struct store_array *array = &request->read.arrays[a];
            float *out = (float *)(void *)((char *)array->buffer->data + array->offset_bytes);
            memcpy(out + (from - first), shard->data + a * shard->count + (from - part->first),
                   (size_t)(to - from) * sizeof *out);
        }
        if (shard->optimizer_steps > notes->optimizer_steps) {
            notes->optimizer_steps = shard->optimizer_steps;
        }
        if (from == first && to == end && part->first == first && part->count == end - first) {
            notes->blob_bytes = shard->blob_bytes;
            memcpy(notes->blob, shard->blob, shard->blob_bytes);
        }
    }
    return TN_OK;
}

static bool is_kept(const struct disk_request *request, uint64_t id)
{
    if (id >= request->id) return true;
    for (size_t i = 0; i < request->keep_count; i++) {
        if (request->keep[i] == id) return true;
    }
    return false;
}

static size_t do_collect(struct disk_model *disk, const struct disk_request *request)
{
    size_t removed = 0;
    for (size_t i = disk->shard_count; i-- > 0;) {
        if (!is_kept(request, disk->shards[i]->id)) remove_shard(disk, i);
    }
    for (size_t i = disk->manifest_count; i-- > 0;) {
        if (is_kept(request, disk->manifests[i]->id)) continue;
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
            if (manifest->id >= below) continue;
            if (newest == NULL || manifest->id > newest->id) newest = manifest;
        }
        if (newest == NULL) break;
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
    if (find_manifest(disk, request->id) != NULL) return TN_EEXIST;
    for (size_t i = disk->shard_count; i-- > 0;) {
        if (disk->shards[i]->id == request->id) remove_shard(disk, i);
    }
    return TN_OK;
}

static enum tn_status do_verify(struct disk_model *disk, const struct disk_request *request)
{
    for (uint32_t i = 0; i < request->manifest->shard_count; i++) {
        if (request->shard != STORE_ALL_SHARDS && request->shard != i) continue;
        const struct disk_shard *shard =
            find_shard(disk, request->manifest->id, i, request->manifest->shard_count);
        if (shard == NULL) return TN_ENOENT;
        if (!is_whole(shard, request->manifest, i)) return TN_ECORRUPT;
    }
    return TN_OK;
}

/* ------------------------------------------------------------- the queue */

static void free_request(struct disk_request *request)
{
    for (size_t a = 0; a < STORE_ARRAYS_MAX; a++) {
        buffer_release(request->write.arrays[a].buffer);
        buffer_release(request->read.arrays[a].buffer);
    }
    free(request->manifest);
    free(request->blob);
    free(request);
}

static void start_next(struct disk_user *user);

static void on_done(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)data;
    struct disk_user *user = target;
    if (user->dead) return;
    if (user->frozen) {
        world_after(world, 10000, on_done, user, a, b, NULL);
        return;
    }
    struct disk_model *disk = user->disk;
    struct disk_request *request = user->queue;
    struct store_notes notes;
    struct store_event event = {.op = request->op, .request = request->kind, .text = ""};
    switch (request->kind) {
    case STORE_WRITE: event.status = do_write(disk, request, &event); break;
    case STORE_READ:
        event.status = do_read(disk, request, &notes);
        event.notes = event.status == TN_OK ? &notes : NULL;
        break;
    case STORE_VERIFY: event.status = do_verify(disk, request); break;
    case STORE_LIST:
        event.manifests = disk->listed;
        event.count = do_list(disk);
        break;
    case STORE_PUT_MANIFEST: event.status = do_put(disk, request); break;
    case STORE_COLLECT: event.count = do_collect(disk, request); break;
    case STORE_DISCARD: event.status = do_discard(disk, request); break;
    }
    if (event.status != TN_OK) event.text = tanist_strerror(event.status);
    user->queue = request->next;
    user->waiting--;
    user->busy = false;
    free_request(request);
    start_next(user);
    user->sink(user->ctx, &event);
}

static void start_next(struct disk_user *user)
{
    if (user->busy || user->queue == NULL || user->dead) return;
    user->busy = true;
    struct disk_model *disk = user->disk;
    bool slow = user->queue->kind == STORE_WRITE || user->queue->kind == STORE_READ;
    uint64_t usual_us = (uint64_t)disk->config.write_ms * (slow ? 1000 : 100);
    world_after(disk->world, world_between(disk->world, usual_us / 2, usual_us * 2 + 1), on_done,
                user, 0, 0, NULL);
}

static struct disk_request *enqueue(struct disk_user *user, enum store_request kind, uint64_t op)
{
    if (user->waiting == STORE_QUEUE_MAX) return NULL;
    struct disk_request *request = calloc(1, sizeof *request);
    assert(request != NULL && !user->dead);
    request->kind = kind;
    request->op = op;
    struct disk_request **link = &user->queue;
    while (*link != NULL) link = &(*link)->next;
    *link = request;
    user->waiting++;
    start_next(user);
    return request;
}

static struct manifest *copy_manifest(const struct manifest *manifest)
{
    struct manifest *copy = malloc(sizeof *copy);
    assert(copy != NULL);
    *copy = *manifest;
    return copy;
}

static enum tn_status port_write(void *ctx, uint64_t op, const struct store_write_request *write)
{
    struct disk_request *request = enqueue(ctx, STORE_WRITE, op);
    if (request == NULL) return TN_EREFUSED;
    request->write = *write;
    for (size_t a = 0; a < STORE_ARRAYS_MAX; a++) {
        struct buffer *buffer = a < write->state_arrays ? write->arrays[a].buffer : NULL;
        request->write.arrays[a].buffer = buffer != NULL ? buffer_retain(buffer) : NULL;
    }
    request->blob = malloc(write->blob_bytes + 1);
    assert(request->blob != NULL);
    if (write->blob_bytes > 0) memcpy(request->blob, write->blob, write->blob_bytes);
    return TN_OK;
}

static enum tn_status port_read(void *ctx, uint64_t op, const struct store_read_request *read)
{
    struct disk_request *request = enqueue(ctx, STORE_READ, op);
    if (request == NULL) return TN_EREFUSED;
    request->read = *read;
    for (size_t a = 0; a < STORE_ARRAYS_MAX; a++) {
        struct buffer *buffer = a < read->manifest->state_arrays ? read->arrays[a].buffer : NULL;
        request->read.arrays[a].buffer = buffer != NULL ? buffer_retain(buffer) : NULL;
    }
    request->manifest = copy_manifest(read->manifest);
    return TN_OK;
}

static enum tn_status port_verify(void *ctx, uint64_t op, const struct manifest *manifest,
                                  uint32_t shard)
{
    struct disk_request *request = enqueue(ctx, STORE_VERIFY, op);
    if (request == NULL) return TN_EREFUSED;
    request->manifest = copy_manifest(manifest);
    request->shard = shard;
    return TN_OK;
}

static enum tn_status port_list(void *ctx, uint64_t op)
{
    return enqueue(ctx, STORE_LIST, op) != NULL ? TN_OK : TN_EREFUSED;
}

static enum tn_status port_put_manifest(void *ctx, uint64_t op, const struct manifest *manifest)
{
    struct disk_request *request = enqueue(ctx, STORE_PUT_MANIFEST, op);
    if (request == NULL) return TN_EREFUSED;
    request->manifest = copy_manifest(manifest);
    return TN_OK;
}

static enum tn_status port_collect(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                                   uint64_t below_id)
{
    struct disk_request *request = enqueue(ctx, STORE_COLLECT, op);
    if (request == NULL) return TN_EREFUSED;
    assert(count <= STORE_KEEP_MAX);
    if (count > 0) memcpy(request->keep, keep, count * sizeof *keep);
    request->keep_count = count;
    request->id = below_id;
    return TN_OK;
}

static enum tn_status port_discard(void *ctx, uint64_t op, uint64_t id)
{
    struct disk_request *request = enqueue(ctx, STORE_DISCARD, op);
    if (request == NULL) return TN_EREFUSED;
    request->id = id;
    return TN_OK;
}

bool disk_model_writing(const struct disk_model *disk)
{
    for (const struct disk_user *user = disk->users; user != NULL; user = user->next) {
        if (!user->dead && user->busy && user->queue->kind == STORE_WRITE) return true;
    }
    return false;
}

/* ----------------------------------------------------------- life cycle */

struct disk_model *disk_model_create(struct world *world, const struct disk_config *config)
{
    struct disk_model *disk = calloc(1, sizeof *disk);
    assert(disk != NULL);
    disk->world = world;
    disk->config = *config;
    return disk;
}

void disk_model_free(struct disk_model *disk)
{
    if (disk == NULL) return;
    while (disk->users != NULL) {
        struct disk_user *next = disk->users->next;
        disk_user_kill(disk->users);
        free(disk->users);
        disk->users = next;
    }
    while (disk->shard_count > 0) remove_shard(disk, 0);
    for (size_t i = 0; i < disk->manifest_count; i++) free(disk->manifests[i]);
    free(disk);
}

void disk_model_heal(struct disk_model *disk)
{
    disk->config.fail_per_mille = disk->config.damage_per_mille = 0;
}

struct disk_user *disk_user_open(struct disk_model *disk, store_sink sink, void *ctx)
{
    struct disk_user *user = calloc(1, sizeof *user);
    assert(user != NULL);
    *user = (struct disk_user){.next = disk->users, .disk = disk, .sink = sink, .ctx = ctx};
    return disk->users = user;
}

struct store_port disk_user_port(struct disk_user *user)
{
    return (struct store_port){.ctx = user,
                               .write = port_write,
                               .read = port_read,
                               .verify = port_verify,
                               .list = port_list,
                               .put_manifest = port_put_manifest,
                               .collect = port_collect,
                               .discard = port_discard};
}

void disk_user_kill(struct disk_user *user)
{
    if (user->dead) return;
    user->dead = true;
    while (user->queue != NULL) {
        struct disk_request *request = user->queue;
        user->queue = request->next;
        free_request(request);
    }
}

void disk_user_freeze(struct disk_user *user, bool frozen)
{
    user->frozen = frozen;
}
