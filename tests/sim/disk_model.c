/* The queue of requests to the modelled disk. disk_contents.c executes them. */
#include "tests/sim/disk_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/disk_model_private.h"

/* A write that is not hurried takes this many times as long. */
enum { PACED_TIMES = 8 };

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
    if (user->dead || a != user->turn) { return; }
    if (user->frozen) {
        world_after(world, 10000, on_done, user, a, b, NULL);
        return;
    }
    struct disk_model *disk = user->disk;
    struct disk_request *request = user->queue;
    struct store_metadata metadata;
    struct store_event event = {.op = request->op, .request = request->kind, .text = ""};
    disk_execute(disk, request, &event, &metadata);
    user->queue = request->next;
    user->waiting--;
    user->busy = false;
    free_request(request);
    start_next(user);
    user->sink(user->ctx, &event);
}

/* The request in progress is done later, in place of when it would have been before. */
static void schedule(struct disk_user *user, uint64_t usual_us)
{
    struct world *world = user->disk->world;
    world_after(world, world_between(world, usual_us / 2, usual_us * 2 + 1), on_done, user,
                ++user->turn, 0, NULL);
}

static void start_next(struct disk_user *user)
{
    if (user->busy || user->queue == NULL || user->dead) { return; }
    user->busy = true;
    const struct disk_request *request = user->queue;
    const bool slow = request->kind == STORE_WRITE || request->kind == STORE_READ;
    const bool paced = request->kind == STORE_WRITE && !request->hurried && request->next == NULL;
    const uint64_t usual_us = (uint64_t)user->disk->config.write_ms * (slow ? 1000 : 100);
    schedule(user, paced ? PACED_TIMES * usual_us : usual_us);
}

/* Hurry the write in progress, if one is. */
static void hurry_writing(struct disk_user *user)
{
    struct disk_request *request = user->queue;
    if (!user->busy || request->kind != STORE_WRITE || request->hurried) { return; }
    request->hurried = true;
    schedule(user, (uint64_t)user->disk->config.write_ms * 1000);
}

static struct disk_request *enqueue(struct disk_user *user, enum store_request kind, uint64_t op)
{
    if (user->waiting == STORE_QUEUE_MAX) { return NULL; }
    struct disk_request *request = calloc(1, sizeof *request);
    assert(request != NULL && !user->dead);
    request->kind = kind;
    request->op = op;
    struct disk_request **link = &user->queue;
    while (*link != NULL) { link = &(*link)->next; }
    *link = request;
    user->waiting++;
    if (user->waiting > 1) { hurry_writing(user); }
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
    if (request == NULL) { return TN_EREFUSED; }
    request->write = *write;
    for (size_t a = 0; a < STORE_ARRAYS_MAX; a++) {
        struct buffer *buffer = a < write->state_arrays ? write->arrays[a].buffer : NULL;
        request->write.arrays[a].buffer = buffer != NULL ? buffer_retain(buffer) : NULL;
    }
    request->blob = malloc(write->blob_bytes + 1);
    assert(request->blob != NULL);
    if (write->blob_bytes > 0) { memcpy(request->blob, write->blob, write->blob_bytes); }
    return TN_OK;
}

static enum tn_status port_read(void *ctx, uint64_t op, const struct store_read_request *read)
{
    struct disk_request *request = enqueue(ctx, STORE_READ, op);
    if (request == NULL) { return TN_EREFUSED; }
    request->read = *read;
    request->has_fallback = read->fallback_dir != NULL && read->fallback_dir[0] != '\0';
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
    if (request == NULL) { return TN_EREFUSED; }
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
    if (request == NULL) { return TN_EREFUSED; }
    request->manifest = copy_manifest(manifest);
    return TN_OK;
}

static enum tn_status port_collect(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                                   uint64_t below_id)
{
    struct disk_request *request = enqueue(ctx, STORE_COLLECT, op);
    if (request == NULL) { return TN_EREFUSED; }
    assert(count <= STORE_KEEP_MAX);
    if (count > 0) { memcpy(request->keep, keep, count * sizeof *keep); }
    request->keep_count = count;
    request->id = below_id;
    return TN_OK;
}

static enum tn_status port_discard(void *ctx, uint64_t op, uint64_t id)
{
    struct disk_request *request = enqueue(ctx, STORE_DISCARD, op);
    if (request == NULL) { return TN_EREFUSED; }
    request->id = id;
    return TN_OK;
}

static void port_hurry(void *ctx)
{
    struct disk_user *user = ctx;
    hurry_writing(user);
    for (struct disk_request *r = user->queue; r != NULL; r = r->next) { r->hurried = true; }
}

bool disk_model_writing(const struct disk_model *disk)
{
    for (const struct disk_user *user = disk->users; user != NULL; user = user->next) {
        if (!user->dead && user->busy && user->queue->kind == STORE_WRITE) { return true; }
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
    if (disk == NULL) { return; }
    while (disk->users != NULL) {
        struct disk_user *next = disk->users->next;
        disk_user_kill(disk->users);
        free(disk->users);
        disk->users = next;
    }
    disk_forget_all(disk);
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
                               .discard = port_discard,
                               .hurry = port_hurry};
}

void disk_user_kill(struct disk_user *user)
{
    if (user->dead) { return; }
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
