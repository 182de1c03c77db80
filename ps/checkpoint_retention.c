/*
 * After each commit the manifest of the committed checkpoint is copied beside the shards. Then
 * checkpoints older than the newest `keep` committed ones are removed.
 *
 *   IDLE     --a newer commit-->                READ
 *   READ     --manifest read from ZooKeeper-->  PUT      (copy it to the disk)
 *   PUT      --copied, or failed-->             LIST     (which checkpoints are committed?)
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

void checkpoint_retention_proceed(struct checkpoint_client *client)
{
    char path[256];
    client->retention.retry_at_ms = UINT64_MAX;
    switch (client->retention.state) {
    case RETENTION_IDLE: return;
    case RETENTION_READ:
        client->retention.current = client->retention.wanted;
        client->retention.op = checkpoint_client_read_manifest(client, client->retention.current);
        return;
    case RETENTION_LIST:
        znode_path(path, client->membership->identity.cluster, "checkpoints");
        client->retention.op = membership_next_op(client->membership);
        client->ports->zk.list(client->ports->zk.ctx, client->retention.op, path, false);
        return;
    case RETENTION_PUT:
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

static int newest_first(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left < *right) - (*left > *right);
}

/* The ids of the committed checkpoints, newest first and each once: those with a znode, and those
 * with a manifest on the disk, which includes checkpoints that a wiped ZooKeeper has lost. Znodes
 * with other names are ignored. */
static size_t committed_ids(const struct checkpoint_client *client, const struct zk_event *event,
                            uint64_t ids[static ZK_CHILDREN_MAX + STORE_LIST_MAX])
{
    assert(event->child_count <= ZK_CHILDREN_MAX);
    assert(client->manifest_count <= STORE_LIST_MAX);
    size_t count = 0, unique = 0;
    for (size_t i = 0; i < event->child_count; i++) {
        char *end = NULL;
        uint64_t id = strtoull(event->children[i], &end, 10);
        if (end != event->children[i] && *end == '\0' && id != 0) { ids[count++] = id; }
    }
    for (uint32_t i = 0; i < client->manifest_count; i++) {
        ids[count++] = client->manifests[i].id;
    }
    qsort(ids, count, sizeof *ids, newest_first);
    for (size_t i = 0; i < count; i++) {
        if (unique == 0 || ids[unique - 1] != ids[i]) { ids[unique++] = ids[i]; }
    }
    return unique;
}

static void committed_listed(struct checkpoint_client *client, const struct zk_event *event)
{
    assert(client->retention.state == RETENTION_LIST);
    uint64_t ids[ZK_CHILDREN_MAX + STORE_LIST_MAX];
    if (event->outcome != ZK_OK || event->child_count > ZK_CHILDREN_MAX) {
        log_warn("old checkpoints are not removed: the committed ones cannot be listed");
        finish(client);
        return;
    }
    size_t kept = size_min(committed_ids(client, event, ids), client->keep);
    kept = size_min(kept, STORE_KEEP_MAX - 1);
    memcpy(client->retention.ids, ids, kept * sizeof *ids);
    if (client->retention.load_checkpoint != 0) {
        client->retention.ids[kept++] = client->retention.load_checkpoint;
    }
    client->retention.id_count = kept;
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
        log_warn("checkpoint %" PRIu64 ": its manifest is not copied to the disk: %s",
                 client->retention.current, event->text);
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
