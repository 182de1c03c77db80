#include "ps/checkpoint_client.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "ps/checkpoint_fit.h"
#include "ps/checkpoint_publish.h"
#include "ps/checkpoint_retention.h"
#include "ps/store/save_rate.h"
#include "ps/store/store.h"

enum tn_status checkpoint_client_open(struct checkpoint_client *client,
                                      const struct checkpoint_client_config *config,
                                      struct error *error)
{
    assert(config->membership != NULL);
    assert(config->ports != NULL);
    assert(config->shard != NULL);
    assert(config->index < config->shards);
    assert(config->keep >= 1);
    *client = (struct checkpoint_client){
        .store = config->store,
        .membership = config->membership,
        .ports = config->ports,
        .shard = config->shard,
        .rows = config->rows,
        .job = config->job,
        .variables = config->variables,
        .variables_hash = config->variables_hash,
        .graph_hash = config->graph_hash,
        .parameters = config->parameters,
        .shards = config->shards,
        .index = config->index,
        .keep = config->keep,
        .interval_ms = config->interval_ms,
    };
    client->load.retry_at_ms = client->retention.retry_at_ms = UINT64_MAX;
    client->publication.retry_at_ms = UINT64_MAX;
    client->manifests = malloc(STORE_LIST_MAX * sizeof *client->manifests);
    client->moves = malloc(VARIABLES_MAX * sizeof *client->moves);
    if (client->manifests != NULL && client->moves != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "no memory for the list of checkpoints");
}

void checkpoint_client_close(struct checkpoint_client *client)
{
    free(client->manifests);
    free(client->moves);
    client->manifests = NULL;
    client->moves = NULL;
}

uint64_t checkpoint_client_next_store_op(struct checkpoint_client *client)
{
    return ++client->next_op;
}

/* ----------------------------------------------------------------- listing */

void checkpoint_client_add_manifest(struct checkpoint_client *client,
                                    const struct manifest *manifest)
{
    assert(manifest->id != 0);
    assert(client->manifest_count <= STORE_LIST_MAX);
    client->highest_epoch = u64_max(client->highest_epoch, manifest->epoch);
    client->highest_generation = u64_max(client->highest_generation, manifest->generation);
    client->highest_id = u64_max(client->highest_id, manifest->id);
    uint32_t at = 0;
    while (at < client->manifest_count && client->manifests[at].id > manifest->id) { at++; }
    if (at == STORE_LIST_MAX) { return; }
    bool known = at < client->manifest_count && client->manifests[at].id == manifest->id;
    if (!known) {
        if (client->manifest_count < STORE_LIST_MAX) { client->manifest_count++; }
        memmove(&client->manifests[at + 1], &client->manifests[at],
                (client->manifest_count - at - 1) * sizeof *client->manifests);
    }
    client->manifests[at] = *manifest;
}

void checkpoint_client_start(struct checkpoint_client *client, uint64_t now_ms)
{
    assert(!client->listed);
    assert(client->list_op == 0);
    client->now_ms = now_ms;
    client->list_op = checkpoint_client_next_store_op(client);
    /* The queue is empty at the start, so only a store that is stopping refuses. */
    if (client->store.list(client->store.ctx, client->list_op) != TN_OK) {
        log_error("the checkpoint store accepts no requests");
    }
}

static enum checkpoint_event listed(struct checkpoint_client *client,
                                    const struct store_event *event)
{
    assert(event->request == STORE_LIST);
    assert(event->text != NULL);
    if (event->status != TN_OK && event->status != TN_ENOENT) {
        log_error("checkpoints cannot be listed: %s", event->text);
    } else if (event->text[0] != '\0' && event->status == TN_OK) {
        log_warn("checkpoints skipped in the listing: %s", event->text);
    }
    for (size_t i = 0; event->status == TN_OK && i < event->count; i++) {
        checkpoint_client_add_manifest(client, &event->manifests[i]);
    }
    client->listed_all = event->text[0] == '\0';
    client->highest_id = u64_max(client->highest_id, event->highest_id);
    client->list_op = 0;
    client->listed = true;
    return CHECKPOINT_LISTED;
}

/* --------------------------------------------------- manifests in ZooKeeper */

uint64_t checkpoint_client_read_manifest(struct checkpoint_client *client, uint64_t checkpoint)
{
    assert(checkpoint != 0);
    char path[ZK_PATH_MAX];
    znode_checkpoint_path(path, client->membership->identity.cluster, checkpoint);
    uint64_t op = membership_next_op(client->membership);
    client->ports->zk.read(client->ports->zk.ctx, op, path, false);
    return op;
}

bool checkpoint_client_decode_manifest(const struct zk_event *event, uint64_t checkpoint,
                                       struct manifest *out)
{
    assert(event->outcome == ZK_OK);
    struct error error;
    if (event->data == NULL) {
        log_error("checkpoint %" PRIu64 ": its manifest in ZooKeeper is empty", checkpoint);
        return false;
    }
    if (manifest_decode(event->data, event->size, out, &error) != TN_OK) {
        log_error("checkpoint %" PRIu64 ": its manifest in ZooKeeper is invalid: %s", checkpoint,
                  error.text);
        return false;
    }
    if (out->id == checkpoint) { return true; }
    log_error("checkpoint %" PRIu64 ": ZooKeeper has the manifest of checkpoint %" PRIu64
              " in its place",
              checkpoint, out->id);
    return false;
}

/* ----------------------------------------------------------------- loading */

static enum checkpoint_event load_failed(struct checkpoint_client *client,
                                         enum load_missing missing)
{
    assert(client->load.checkpoint != 0);
    client->load_missing = missing;
    client->load.checkpoint = 0;
    client->load.manifest_op = client->load.read_op = 0;
    client->load.retry_at_ms = UINT64_MAX;
    return CHECKPOINT_LOAD_FAILED;
}

/* Send the next request of the load: for the manifest, or for the arrays. */
static enum checkpoint_event load_proceed(struct checkpoint_client *client)
{
    assert(client->load.checkpoint != 0);
    assert(client->load.manifest_op == 0);
    assert(client->load.read_op == 0);
    client->load.retry_at_ms = UINT64_MAX;
    if (!client->load.found) {
        client->load.manifest_op = checkpoint_client_read_manifest(client, client->load.checkpoint);
        return CHECKPOINT_NO_EVENT;
    }
    if (!checkpoint_fits(client, &client->load.manifest)) {
        return load_failed(client, MISSING_NOTHING);
    }
    struct store_read_request request = {
        .manifest = &client->load.manifest,
        .first = client->shard->config.first,
        .count = client->shard->config.count,
        .moves = {client->moves, client->move_count},
        .fallback_dir = client->membership->run.restore_from,
        .rows = shard_rows_incoming(client->rows),
    };
    for (uint32_t a = 0; a < client->shard->arrays; a++) {
        assert(client->shard->incoming[a] != NULL);
        request.arrays[a].buffer = client->shard->incoming[a];
    }
    client->load.read_op = checkpoint_client_next_store_op(client);
    if (client->store.read(client->store.ctx, client->load.read_op, &request) == TN_OK) {
        return CHECKPOINT_NO_EVENT;
    }
    client->load.read_op = 0;
    client->load.retry_at_ms = client->now_ms + CHECKPOINT_RETRY_MS;
    return CHECKPOINT_NO_EVENT;
}

/* The load itself begins with the next tick, which is due at once, so that its result is always
 * the answer to an event and never comes from within this call. */
void checkpoint_client_load(struct checkpoint_client *client, uint64_t checkpoint)
{
    assert(checkpoint != 0);
    assert(client->load.checkpoint == 0);
    client->load.checkpoint = checkpoint;
    client->load.lost_since_ms = 0;
    const struct manifest *copy = checkpoint_copy_of(client, checkpoint);
    client->load.found = copy != NULL;
    if (copy != NULL) {
        client->load.manifest = *copy;
        checkpoint_publish(client, checkpoint);
    }
    client->load.retry_at_ms = client->now_ms;
}

/* The manifest may be published again: by the chief that remembers it, or by a ps that has a copy
 * (checkpoint_client_load()). */
static bool awaits_manifest(struct checkpoint_client *client, const struct zk_event *event)
{
    if (event->outcome != ZK_REFUSED || event->reason != ZK_REASON_NO_NODE) { return false; }
    if (client->load.lost_since_ms == 0) { client->load.lost_since_ms = client->now_ms; }
    if (client->now_ms >= client->load.lost_since_ms + CHECKPOINT_MANIFEST_WAIT_MS) {
        return false;
    }
    client->load.retry_at_ms = client->now_ms + CHECKPOINT_MANIFEST_RETRY_MS;
    return true;
}

/* On a disk that the checkpoint was saved to, nothing but the manifest is missing. */
static enum load_missing without_manifest(const struct checkpoint_client *client,
                                          const struct zk_event *event)
{
    if (event->reason != ZK_REASON_NO_NODE) { return MISSING_NOTHING; }
    const bool was_saved = client->highest_id >= client->load.checkpoint;
    return client->listed_all && was_saved ? MISSING_MANIFEST : MISSING_FILES;
}

static enum checkpoint_event manifest_answered(struct checkpoint_client *client,
                                               const struct zk_event *event)
{
    assert(!client->load.found);
    client->load.manifest_op = 0;
    if (awaits_manifest(client, event)) { return CHECKPOINT_NO_EVENT; }
    if (event->outcome == ZK_UNKNOWN) {
        client->load.retry_at_ms = client->now_ms + CHECKPOINT_RETRY_MS;
        return CHECKPOINT_NO_EVENT;
    }
    if (event->outcome == ZK_REFUSED) {
        log_error("checkpoint %" PRIu64
                  " cannot be loaded: neither ZooKeeper nor this disk has its manifest",
                  client->load.checkpoint);
        return load_failed(client, without_manifest(client, event));
    }
    client->load.found =
        checkpoint_client_decode_manifest(event, client->load.checkpoint, &client->load.manifest);
    return client->load.found ? load_proceed(client) : load_failed(client, MISSING_NOTHING);
}

static enum checkpoint_event read_answered(struct checkpoint_client *client,
                                           const struct store_event *event)
{
    assert(event->request == STORE_READ);
    if (event->status != TN_OK) {
        log_error("checkpoint %" PRIu64 " cannot be loaded: %s", client->load.checkpoint,
                  event->text);
        return load_failed(client, event->status == TN_ENOENT ? MISSING_FILES : MISSING_NOTHING);
    }
    assert(event->metadata != NULL);
    client->load.checkpoint = client->load.read_op = 0;
    client->metadata = *event->metadata;
    return CHECKPOINT_LOADED;
}

/* ------------------------------------------------------------------ saving */

/* Begin to save the rows of tables. */
static bool begin_rows(struct checkpoint_client *client, const struct checkpoint_save *save,
                       struct store_rows *out)
{
    struct error error;
    if (!shard_rows_exist(client->rows)) { return true; }
    if (shard_rows_begin_save(client->rows, save->step, save->checkpoint, out, &error) == TN_OK) {
        return true;
    }
    log_warn("checkpoint %" PRIu64 " is not saved: %s", save->checkpoint, error.text);
    return false;
}

static uint64_t spread_of(const struct checkpoint_client *client,
                          const struct store_write_request *request)
{
    const uint64_t seen_ms = client->begun_ms != 0 ? client->now_ms - client->begun_ms : 0;
    return save_rate_spread_ms(store_write_bytes(request), client->interval_ms, seen_ms);
}

bool checkpoint_client_save(struct checkpoint_client *client, const struct checkpoint_save *save)
{
    assert(save->checkpoint != 0);
    assert(save->blob_bytes <= STORE_BLOB_MAX);
    assert(client->saves <= CHECKPOINT_SAVES_MAX);
    const struct shard *shard = client->shard;
    struct store_write_request request = {
        .id = save->checkpoint,
        .generation = save->generation,
        .step = save->step,
        .epoch = client->membership->run.epoch,
        .optimizer_steps = save->kept ? shard->kept_updates : shard->updates,
        .first = shard->config.first,
        .count = shard->config.count,
        .shard = client->index,
        .shards = client->shards,
        .state_arrays = shard->arrays,
        .blob = save->blob,
        .blob_bytes = save->blob_bytes,
    };
    for (uint32_t a = 0; a < shard->arrays; a++) {
        request.arrays[a].buffer = save->kept ? shard->kept_arrays[a] : shard->current[a];
        assert(request.arrays[a].buffer != NULL);
    }
    uint64_t op = checkpoint_client_next_store_op(client);
    if (!begin_rows(client, save, &request.rows)) { return false; }
    request.spread_ms = spread_of(client, &request);
    if (client->saves == CHECKPOINT_SAVES_MAX ||
        client->store.write(client->store.ctx, op, &request) != TN_OK) {
        shard_rows_end_save(client->rows, false);
        log_warn("checkpoint %" PRIu64 " is not saved: the store is busy", save->checkpoint);
        return false;
    }
    client->highest_id = u64_max(client->highest_id, save->checkpoint);
    client->saving[client->saves].op = op;
    client->saving[client->saves++].checkpoint = save->checkpoint;
    client->begun_ms = client->now_ms;
    client->hurried = false;
    return true;
}

void checkpoint_client_hurry(struct checkpoint_client *client)
{
    if (client->saves == 0 || client->hurried) { return; }
    client->hurried = true;
    client->store.hurry(client->store.ctx);
}

static enum checkpoint_event write_answered(struct checkpoint_client *client, uint32_t slot,
                                            const struct store_event *event)
{
    assert(event->request == STORE_WRITE);
    assert(slot < client->saves);
    shard_rows_end_save(client->rows, event->status == TN_OK);
    uint64_t checkpoint = client->saving[slot].checkpoint;
    client->saving[slot] = client->saving[--client->saves];
    client->event_checkpoint = checkpoint;
    if (event->status != TN_OK) {
        log_error("checkpoint %" PRIu64 " cannot be saved: %s", checkpoint, event->text);
        return CHECKPOINT_SAVE_FAILED;
    }
    log_debug("checkpoint %" PRIu64 " is saved bytes=%" PRIu64 " waited_ms=%" PRIu64, checkpoint,
              event->bytes, event->waited_ms);
    FAILPOINT("ckpt.before_report");
    if (checkpoint > client->saved_checkpoint) {
        client->saved_checkpoint = checkpoint;
        client->saved_digest = event->digest;
        client->saved_bytes = event->bytes;
    }
    return CHECKPOINT_SAVED;
}

/* --------------------------------------------------------------- retention */

void checkpoint_client_follow(struct checkpoint_client *client, const struct run *run)
{
    checkpoint_retention_follow(client, run);
}

bool checkpoint_client_idle(const struct checkpoint_client *client)
{
    return client->saves == 0 && client->retention.state == RETENTION_IDLE;
}

/* ---------------------------------------------------------------- dispatch */

void checkpoint_client_report(const struct checkpoint_client *client, struct report *report)
{
    assert(client->listed);
    report->disk_epoch = client->highest_epoch;
    report->disk_generation = client->highest_generation;
    report->disk_last_checkpoint = client->highest_id;
    if (client->manifest_count > 0) {
        const struct manifest *newest = &client->manifests[0];
        report->disk_checkpoint = newest->id;
        report->disk_step = newest->step;
        report->disk_best = newest->best;
    }
    if (client->saved_checkpoint != report->saved_checkpoint) { return; }
    report->saved_digest[0] = client->saved_digest.low;
    report->saved_digest[1] = client->saved_digest.high;
    report->saved_bytes = client->saved_bytes;
}

enum checkpoint_event checkpoint_client_handle_store(struct checkpoint_client *client,
                                                     const struct store_event *event)
{
    assert(event->op != 0 && event->op <= client->next_op);
    if (event->op == client->list_op) { return listed(client, event); }
    if (event->op == client->load.read_op) { return read_answered(client, event); }
    for (uint32_t i = 0; i < client->saves; i++) {
        if (client->saving[i].op == event->op) { return write_answered(client, i, event); }
    }
    checkpoint_retention_handle_store(client, event);
    return CHECKPOINT_NO_EVENT;
}

enum checkpoint_event checkpoint_client_handle_zk(struct checkpoint_client *client,
                                                  const struct zk_event *event)
{
    if (event->type != ZK_RESULT) { return CHECKPOINT_NO_EVENT; }
    if (client->load.manifest_op != 0 && event->op == client->load.manifest_op) {
        return manifest_answered(client, event);
    }
    if (client->publication.op != 0 && event->op == client->publication.op) {
        checkpoint_published(client, event);
        return CHECKPOINT_NO_EVENT;
    }
    checkpoint_retention_handle_zk(client, event);
    return CHECKPOINT_NO_EVENT;
}

enum checkpoint_event checkpoint_client_tick(struct checkpoint_client *client, uint64_t now_ms)
{
    assert(now_ms >= client->now_ms);
    client->now_ms = now_ms;
    if (now_ms >= client->retention.retry_at_ms) { checkpoint_retention_proceed(client); }
    if (now_ms >= client->publication.retry_at_ms) { checkpoint_publish_again(client); }
    if (now_ms >= client->load.retry_at_ms) { return load_proceed(client); }
    return CHECKPOINT_NO_EVENT;
}

uint64_t checkpoint_client_deadline_ms(const struct checkpoint_client *client)
{
    uint64_t deadline = u64_min(client->load.retry_at_ms, client->retention.retry_at_ms);
    return u64_min(deadline, client->publication.retry_at_ms);
}
