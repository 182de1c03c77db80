#include "ps/checkpoint_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "kernels/optimizer.h"
#include "ps/checkpoint_retention.h"

enum tn_status checkpoint_client_open(struct checkpoint_client *disk,
                                      const struct checkpoint_client_config *config,
                                      struct error *error)
{
    *disk = (struct checkpoint_client){
        .store = config->store,
        .membership = config->membership,
        .ports = config->ports,
        .shard = config->shard,
        .variables_hash = config->variables_hash,
        .parameters = config->parameters,
        .shards = config->shards,
        .index = config->index,
        .keep = config->keep,
    };
    disk->load.retry_at_ms = disk->keep_state.retry_at_ms = UINT64_MAX;
    disk->manifests = calloc(STORE_LIST_MAX, sizeof *disk->manifests);
    if (disk->manifests != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "no memory for the list of checkpoints");
}

void checkpoint_client_close(struct checkpoint_client *disk)
{
    free(disk->manifests);
    disk->manifests = NULL;
}

uint64_t checkpoint_client_next_store_op(struct checkpoint_client *disk)
{
    return ++disk->next_op;
}

/* ----------------------------------------------------------------- listing */

void checkpoint_client_know(struct checkpoint_client *disk, const struct manifest *manifest)
{
    if (manifest->epoch > disk->highest_epoch) { disk->highest_epoch = manifest->epoch; }
    if (manifest->generation > disk->highest_generation) {
        disk->highest_generation = manifest->generation;
    }
    uint32_t at = 0;
    while (at < disk->manifest_count && disk->manifests[at].id > manifest->id) { at++; }
    if (at == STORE_LIST_MAX) { return; }
    bool known = at < disk->manifest_count && disk->manifests[at].id == manifest->id;
    if (!known) {
        if (disk->manifest_count < STORE_LIST_MAX) { disk->manifest_count++; }
        memmove(&disk->manifests[at + 1], &disk->manifests[at],
                (disk->manifest_count - at - 1) * sizeof *disk->manifests);
    }
    disk->manifests[at] = *manifest;
}

void checkpoint_client_start(struct checkpoint_client *disk, uint64_t now_ms)
{
    disk->now_ms = now_ms;
    disk->list_op = checkpoint_client_next_store_op(disk);
    /* The queue is empty at the start: a refusal is a store that stops. */
    if (disk->store.list(disk->store.ctx, disk->list_op) != TN_OK) {
        log_error("the checkpoint store takes no requests");
    }
}

static enum checkpoint_client_news listed(struct checkpoint_client *disk,
                                          const struct store_event *event)
{
    if (event->status != TN_OK && event->status != TN_ENOENT) {
        log_error("cannot list checkpoints: %s", event->text);
    } else if (event->text[0] != '\0' && event->status == TN_OK) {
        log_warn("checkpoints: %s", event->text);
    }
    for (size_t i = 0; event->status == TN_OK && i < event->count; i++) {
        checkpoint_client_know(disk, &event->manifests[i]);
    }
    disk->list_op = 0;
    if (disk->listed) { return CHECKPOINT_CLIENT_NOTHING; }
    disk->listed = true;
    return CHECKPOINT_CLIENT_LISTED;
}

/* ----------------------------------------------------------------- loading */

uint64_t checkpoint_client_ask_manifest(struct checkpoint_client *disk, uint64_t checkpoint)
{
    char path[256];
    znode_checkpoint_path(path, disk->membership->identity.cluster, checkpoint);
    uint64_t op = membership_next_op(disk->membership);
    disk->ports->zk.read(disk->ports->zk.ctx, op, path, false);
    return op;
}

bool checkpoint_client_take_manifest(const struct zk_event *event, uint64_t checkpoint,
                                     struct manifest *out)
{
    struct error error;
    if (event->data == NULL) {
        log_error("checkpoint %llu: its manifest is empty", (unsigned long long)checkpoint);
        return false;
    }
    if (manifest_decode(event->data, event->size, out, &error) != TN_OK) {
        log_error("checkpoint %llu: %s", (unsigned long long)checkpoint, error.text);
        return false;
    }
    if (out->id == checkpoint) { return true; }
    log_error("checkpoint %llu: the manifest there is of checkpoint %llu",
              (unsigned long long)checkpoint, (unsigned long long)out->id);
    return false;
}

/* Would its arrays be ours? */
static bool fits(const struct checkpoint_client *disk, const struct manifest *manifest)
{
    const char *optimizer = optimizer_name(disk->shard->config.optimizer.kind);
    const char *why = NULL;
    if (manifest->parameter_count != disk->parameters ||
        manifest->variables_hash != disk->variables_hash) {
        why = "it holds another model";
    } else if (manifest->state_arrays != disk->shard->arrays ||
               strcmp(manifest->optimizer, optimizer) != 0) {
        why = "it holds the state of another optimizer";
    }
    if (why == NULL) { return true; }
    log_error("checkpoint %llu cannot be loaded: %s (%llu parameters, %s)",
              (unsigned long long)manifest->id, why, (unsigned long long)manifest->parameter_count,
              manifest->optimizer);
    return false;
}

static enum checkpoint_client_news load_failed(struct checkpoint_client *disk)
{
    disk->load.checkpoint = 0;
    disk->load.manifest_op = disk->load.read_op = 0;
    disk->load.retry_at_ms = UINT64_MAX;
    return CHECKPOINT_CLIENT_LOAD_FAILED;
}

/* Whatever the load lacks is asked for. */
static enum checkpoint_client_news load_proceed(struct checkpoint_client *disk)
{
    disk->load.retry_at_ms = UINT64_MAX;
    if (!disk->load.found) {
        disk->load.manifest_op = checkpoint_client_ask_manifest(disk, disk->load.checkpoint);
        return CHECKPOINT_CLIENT_NOTHING;
    }
    if (!fits(disk, &disk->load.manifest)) { return load_failed(disk); }
    struct store_read_request request = {
        .manifest = &disk->load.manifest,
        .first = disk->shard->config.first,
        .count = disk->shard->config.count,
    };
    for (uint32_t a = 0; a < disk->shard->arrays; a++) {
        request.arrays[a].buffer = disk->shard->incoming[a];
    }
    disk->load.read_op = checkpoint_client_next_store_op(disk);
    if (disk->store.read(disk->store.ctx, disk->load.read_op, &request) == TN_OK) {
        return CHECKPOINT_CLIENT_NOTHING;
    }
    disk->load.read_op = 0;
    disk->load.retry_at_ms = disk->now_ms + CHECKPOINT_CLIENT_RETRY_MS;
    return CHECKPOINT_CLIENT_NOTHING;
}

/* Begun by the next tick, which is due at once: so its answer is always an event. */
void checkpoint_client_load(struct checkpoint_client *disk, uint64_t checkpoint)
{
    assert(checkpoint != 0 && disk->load.checkpoint == 0);
    disk->load.checkpoint = checkpoint;
    disk->load.found = false;
    for (uint32_t i = 0; i < disk->manifest_count; i++) {
        if (disk->manifests[i].id != checkpoint) { continue; }
        disk->load.manifest = disk->manifests[i];
        disk->load.found = true;
    }
    disk->load.retry_at_ms = disk->now_ms;
}

static enum checkpoint_client_news manifest_answered(struct checkpoint_client *disk,
                                                     const struct zk_event *event)
{
    disk->load.manifest_op = 0;
    if (event->outcome == ZK_UNKNOWN) {
        disk->load.retry_at_ms = disk->now_ms + CHECKPOINT_CLIENT_RETRY_MS;
        return CHECKPOINT_CLIENT_NOTHING;
    }
    if (event->outcome == ZK_REFUSED) {
        log_error("checkpoint %llu has no manifest in ZooKeeper, nor on this disk",
                  (unsigned long long)disk->load.checkpoint);
        return load_failed(disk);
    }
    disk->load.found =
        checkpoint_client_take_manifest(event, disk->load.checkpoint, &disk->load.manifest);
    return disk->load.found ? load_proceed(disk) : load_failed(disk);
}

static enum checkpoint_client_news read_answered(struct checkpoint_client *disk,
                                                 const struct store_event *event)
{
    if (event->status != TN_OK) {
        log_error("checkpoint %llu cannot be loaded: %s", (unsigned long long)disk->load.checkpoint,
                  event->text);
        return load_failed(disk);
    }
    disk->load.checkpoint = disk->load.read_op = 0;
    disk->notes = *event->notes;
    return CHECKPOINT_CLIENT_LOADED;
}

/* ------------------------------------------------------------------ saving */

bool checkpoint_client_save(struct checkpoint_client *disk,
                            const struct checkpoint_client_save *save)
{
    const struct shard *shard = disk->shard;
    struct store_write_request request = {
        .id = save->checkpoint,
        .generation = save->generation,
        .step = save->step,
        .epoch = disk->membership->run.epoch,
        .optimizer_steps = shard->updates,
        .first = shard->config.first,
        .count = shard->config.count,
        .shard = disk->index,
        .shards = disk->shards,
        .state_arrays = shard->arrays,
        .blob = save->blob,
        .blob_bytes = save->blob_bytes,
    };
    for (uint32_t a = 0; a < shard->arrays; a++) { request.arrays[a].buffer = shard->current[a]; }
    uint64_t op = checkpoint_client_next_store_op(disk);
    if (disk->saves == CHECKPOINT_CLIENT_SAVES_MAX ||
        disk->store.write(disk->store.ctx, op, &request) != TN_OK) {
        log_warn("checkpoint %llu is not saved: the store is busy",
                 (unsigned long long)save->checkpoint);
        return false;
    }
    disk->saving[disk->saves].op = op;
    disk->saving[disk->saves++].checkpoint = save->checkpoint;
    return true;
}

static enum checkpoint_client_news write_answered(struct checkpoint_client *disk, uint32_t slot,
                                                  const struct store_event *event)
{
    uint64_t checkpoint = disk->saving[slot].checkpoint;
    disk->saving[slot] = disk->saving[--disk->saves];
    disk->news_checkpoint = checkpoint;
    if (event->status != TN_OK) {
        log_error("checkpoint %llu cannot be saved: %s", (unsigned long long)checkpoint,
                  event->text);
        return CHECKPOINT_CLIENT_SAVE_FAILED;
    }
    FAILPOINT("ckpt.before_report");
    if (checkpoint > disk->saved_checkpoint) {
        disk->saved_checkpoint = checkpoint;
        disk->saved_digest = event->digest;
        disk->saved_bytes = event->bytes;
    }
    return CHECKPOINT_CLIENT_SAVED;
}

/* ---------------------------------------------------------------- dispatch */

enum checkpoint_client_news checkpoint_client_handle_store(struct checkpoint_client *disk,
                                                           const struct store_event *event)
{
    if (disk->list_op != 0 && event->op == disk->list_op) { return listed(disk, event); }
    if (disk->load.read_op != 0 && event->op == disk->load.read_op) {
        return read_answered(disk, event);
    }
    for (uint32_t i = 0; i < disk->saves; i++) {
        if (disk->saving[i].op == event->op) { return write_answered(disk, i, event); }
    }
    checkpoint_client_keep_store_event(disk, event);
    return CHECKPOINT_CLIENT_NOTHING;
}

enum checkpoint_client_news checkpoint_client_handle_zk(struct checkpoint_client *disk,
                                                        const struct zk_event *event)
{
    if (event->type != ZK_RESULT) { return CHECKPOINT_CLIENT_NOTHING; }
    if (disk->load.manifest_op != 0 && event->op == disk->load.manifest_op) {
        return manifest_answered(disk, event);
    }
    checkpoint_client_keep_zk_event(disk, event);
    return CHECKPOINT_CLIENT_NOTHING;
}

enum checkpoint_client_news checkpoint_client_tick(struct checkpoint_client *disk, uint64_t now_ms)
{
    disk->now_ms = now_ms;
    if (now_ms >= disk->keep_state.retry_at_ms) { checkpoint_client_keep_proceed(disk); }
    if (now_ms >= disk->load.retry_at_ms) { return load_proceed(disk); }
    return CHECKPOINT_CLIENT_NOTHING;
}

uint64_t checkpoint_client_deadline_ms(const struct checkpoint_client *disk)
{
    uint64_t load = disk->load.retry_at_ms, keep = disk->keep_state.retry_at_ms;
    return load < keep ? load : keep;
}
