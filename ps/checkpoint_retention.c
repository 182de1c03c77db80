/*
 * After each commit the manifest of the committed checkpoint is copied beside the shards. Then
 * checkpoints older than the newest `keep` committed ones are removed.
 *
 *   IDLE     --a newer commit-->                READ
 *   READ     --manifest read from ZooKeeper-->  PUT      (copy it to the disk)
 *   PUT      --copied-->                        LIST     (which checkpoints are committed?)
 *   PUT      --failed-->                        PUT, or READ if there was another commit
 *   LIST     --listed-->                        COLLECT
 *   COLLECT  --collected, or failed-->          IDLE, or READ if there was another commit
 *   READ, LIST --failed-->                      IDLE, or READ if there was another commit
 *
 * An unknown outcome or a busy store repeats the request CHECKPOINT_RETRY_MS later. Failures are
 * logged; the next commit does everything again.
 */
#include "ps/checkpoint_retention.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

static void retry_later(struct checkpoint_client *client)
{
    assert(client->retention.state != RETENTION_IDLE);
    client->retention.op = 0;
    client->retention.retry_at_ms = client->now_ms + CHECKPOINT_RETRY_MS;
}

static void send_to_store(struct checkpoint_client *client)
{
    assert(client->retention.current != 0);
    assert(client->retention.id_count <= STORE_KEEP_MAX);
    const struct store_port *store = &client->store;
    uint64_t op = checkpoint_client_next_store_op(client);
    enum tn_status status;
    if (client->retention.state == RETENTION_PUT) {
        status = store->put_manifest(store->ctx, op, &client->retention.manifest);
    } else {
        status = store->collect(store->ctx, op, client->retention.ids, client->retention.id_count,
                                client->retention.current);
    }
    client->retention.op = op;
    if (status != TN_OK) { retry_later(client); }
}

static void enter(struct checkpoint_client *client, int state);

void checkpoint_retention_proceed(struct checkpoint_client *client)
{
    char path[256];
    client->retention.retry_at_ms = UINT64_MAX;
    switch (client->retention.state) {
    case RETENTION_IDLE: return;
    case RETENTION_READ:
        client->retention.current = client->retention.wanted;
        client->retention.copy_failed = false;
        client->retention.op = checkpoint_client_read_manifest(client, client->retention.current);
        return;
    case RETENTION_LIST:
        znode_path(path, client->membership->identity.cluster, "checkpoints");
        client->retention.op = membership_next_op(client->membership);
        client->ports->zk.list(client->ports->zk.ctx, client->retention.op, path, false);
        return;
    case RETENTION_PUT:
        /* A copy that failed is not needed once a newer checkpoint is committed. */
        if (client->retention.copy_failed &&
            client->retention.wanted != client->retention.current) {
            enter(client, RETENTION_READ);
            return;
        }
        send_to_store(client);
        return;
    case RETENTION_COLLECT: send_to_store(client); return;
    }
}

static void enter(struct checkpoint_client *client, int state)
{
    assert(state != RETENTION_IDLE);
    client->retention.state = state;
    checkpoint_retention_proceed(client);
}

void checkpoint_retention_follow(struct checkpoint_client *client, const struct run *run)
{
    assert(run != NULL);
    client->retention.unloadable_count = run->unloadable_count;
    memcpy(client->retention.unloadable, run->unloadable, sizeof client->retention.unloadable);
    client->retention.load_checkpoint = run->phase == RUN_LOADING ? run->load_checkpoint : 0;
    if (run->committed_checkpoint != 0) { client->retention.wanted = run->committed_checkpoint; }
    if (client->retention.state != RETENTION_IDLE) { return; }
    if (client->retention.wanted == client->retention.done) { return; }
    enter(client, RETENTION_READ);
}

/* The work after this commit is done. A commit made in the meantime is next. */
static void finish(struct checkpoint_client *client)
{
    assert(client->retention.state != RETENTION_IDLE);
    assert(client->retention.current != 0);
    client->retention.done = client->retention.current;
    client->retention.state = RETENTION_IDLE;
    client->retention.op = 0;
    if (client->retention.wanted != client->retention.done) { enter(client, RETENTION_READ); }
}

/* ------------------------------------------------------------------ answers */

static void manifest_read(struct checkpoint_client *client, const struct zk_event *event)
{
    assert(client->retention.state == RETENTION_READ);
    uint64_t id = client->retention.current;
    if (event->outcome != ZK_OK ||
        !checkpoint_client_decode_manifest(event, id, &client->retention.manifest)) {
        log_warn("checkpoint %" PRIu64
                 ": its manifest is not copied to the disk: it cannot be read from ZooKeeper",
                 id);
        finish(client);
        return;
    }
    enter(client, RETENTION_PUT);
}

/* Add `id` to the checkpoints that are kept. False: there is no room. */
static bool keep(struct checkpoint_client *client, uint64_t id)
{
    for (size_t i = 0; i < client->retention.id_count; i++) {
        if (client->retention.ids[i] == id) { return true; }
    }
    if (client->retention.id_count == STORE_KEEP_MAX) { return false; }
    client->retention.ids[client->retention.id_count++] = id;
    return true;
}

static bool has_manifest(const struct checkpoint_client *client, uint64_t id)
{
    for (uint32_t i = 0; i < client->manifest_count; i++) {
        if (client->manifests[i].id == id) { return true; }
    }
    return false;
}

/* Checkpoints that no manifest on this disk proves to be superseded: those that are only known by
 * the name of a znode, and those that could not be loaded. A name proves nothing about other
 * checkpoints, so it does not count towards `keep`. */
static bool keep_unproved(struct checkpoint_client *client, const struct zk_event *event)
{
    bool fits = true;
    for (size_t i = 0; i < event->child_count && fits; i++) {
        char *end = NULL;
        uint64_t id = strtoull(event->children[i], &end, 10);
        bool is_id = end != event->children[i] && *end == '\0';
        if (is_id && id != 0 && id < client->retention.current && !has_manifest(client, id)) {
            fits = keep(client, id);
        }
    }
    for (uint32_t i = 0; i < client->retention.unloadable_count && fits; i++) {
        fits = keep(client, client->retention.unloadable[i]);
    }
    return fits;
}

static void committed_listed(struct checkpoint_client *client, const struct zk_event *event)
{
    assert(client->retention.state == RETENTION_LIST);
    assert(client->manifest_count <= STORE_LIST_MAX);
    if (event->outcome != ZK_OK) {
        log_warn("old checkpoints are not removed: the committed ones cannot be listed");
        finish(client);
        return;
    }
    /* The manifests on this disk prove which checkpoints are committed; newest first. */
    client->retention.id_count = 0;
    bool fits =
        client->retention.load_checkpoint == 0 || keep(client, client->retention.load_checkpoint);
    uint32_t proved = u32_min(client->manifest_count, client->keep);
    for (uint32_t i = 0; i < proved && fits; i++) { fits = keep(client, client->manifests[i].id); }
    if (!fits || !keep_unproved(client, event)) {
        log_warn("old checkpoints are not removed: /checkpoints lists more than %d",
                 STORE_KEEP_MAX);
        finish(client);
        return;
    }
    enter(client, RETENTION_COLLECT);
}

static bool is_kept(const struct checkpoint_client *client, uint64_t id)
{
    for (size_t i = 0; i < client->retention.id_count; i++) {
        if (client->retention.ids[i] == id) { return true; }
    }
    return id >= client->retention.current;
}

static void collected(struct checkpoint_client *client, const struct store_event *event)
{
    assert(event->request == STORE_COLLECT);
    if (event->status != TN_OK) { log_warn("old checkpoints cannot be removed: %s", event->text); }
    uint32_t left = 0;
    for (uint32_t i = 0; i < client->manifest_count; i++) {
        if (!is_kept(client, client->manifests[i].id)) { continue; }
        if (left != i) { client->manifests[left] = client->manifests[i]; }
        left++;
    }
    client->manifest_count = left;
    finish(client);
}

static void manifest_copied(struct checkpoint_client *client, const struct store_event *event)
{
    assert(event->request == STORE_PUT_MANIFEST);
    if (event->status == TN_OK) {
        checkpoint_client_add_manifest(client, &client->retention.manifest);
    } else {
        log_warn("checkpoint %" PRIu64 ": its manifest is not copied to the disk, trying again: %s",
                 client->retention.current, event->text);
        retry_later(client);
        client->retention.copy_failed = true;
        client->retention.retry_at_ms = client->now_ms + RETENTION_COPY_RETRY_MS;
        return;
    }
    enter(client, RETENTION_LIST);
}

void checkpoint_retention_handle_store(struct checkpoint_client *client,
                                       const struct store_event *event)
{
    if (client->retention.op == 0 || event->op != client->retention.op) { return; }
    if (client->retention.state == RETENTION_COLLECT) {
        collected(client, event);
    } else if (client->retention.state == RETENTION_PUT) {
        manifest_copied(client, event);
    }
}

void checkpoint_retention_handle_zk(struct checkpoint_client *client, const struct zk_event *event)
{
    /* Numbers of store requests and of ZooKeeper requests overlap; the state tells them apart. */
    bool asked =
        client->retention.state == RETENTION_READ || client->retention.state == RETENTION_LIST;
    if (!asked || client->retention.op == 0 || event->op != client->retention.op) { return; }
    if (event->outcome == ZK_UNKNOWN) {
        retry_later(client);
    } else if (client->retention.state == RETENTION_READ) {
        manifest_read(client, event);
    } else {
        committed_listed(client, event);
    }
}
