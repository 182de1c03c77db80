/*
 * After each commit: the manifest of the committed checkpoint is copied beside the shards, then
 * what is older than the newest `keep` committed ones is collected.
 *
 *   IDLE --a newer commit--> READ (manifest from ZooKeeper) -> PUT -> LIST (what is committed) ->
 *   COLLECT -> IDLE
 *
 * An unknown outcome, or a busy store, repeats the step a little later; anything else that goes
 * wrong is logged and skips to the end: the next commit does it all again.
 */
#include "ps/checkpoint_retention.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

static void retry(struct checkpoint_client *client)
{
    client->retention.op = 0;
    client->retention.retry_at_ms = client->now_ms + CHECKPOINT_RETRY_MS;
}

static void ask_store(struct checkpoint_client *client)
{
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
    if (status != TN_OK) { retry(client); }
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
    case RETENTION_COLLECT: ask_store(client); return;
    }
}

static void enter(struct checkpoint_client *client, int at)
{
    client->retention.state = at;
    checkpoint_retention_proceed(client);
}

void checkpoint_client_follow(struct checkpoint_client *client, const struct run *run)
{
    client->retention.load_checkpoint = run->phase == RUN_LOADING ? run->load_checkpoint : 0;
    if (run->committed_checkpoint != 0) { client->retention.wanted = run->committed_checkpoint; }
    if (client->retention.state != RETENTION_IDLE) { return; }
    if (client->retention.wanted == client->retention.done) { return; }
    enter(client, RETENTION_READ);
}

bool checkpoint_client_idle(const struct checkpoint_client *client)
{
    return client->saves == 0 && client->retention.state == RETENTION_IDLE;
}

/* A commit that came meanwhile is next. */
static void go_on(struct checkpoint_client *client)
{
    client->retention.done = client->retention.current;
    client->retention.state = RETENTION_IDLE;
    client->retention.op = 0;
    if (client->retention.wanted != client->retention.done) { enter(client, RETENTION_READ); }
}

/* ------------------------------------------------------------------ answers */

static void manifest_read(struct checkpoint_client *client, const struct zk_event *event)
{
    uint64_t id = client->retention.current;
    if (event->outcome != ZK_OK ||
        !checkpoint_client_decode_manifest(event, id, &client->retention.manifest)) {
        log_warn("checkpoint %llu: no copy of its manifest can be made", (unsigned long long)id);
        go_on(client);
        return;
    }
    enter(client, RETENTION_PUT);
}

static int newest_first(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left < *right) - (*left > *right);
}

/* What is committed, newest first: by the znodes (of other names there, none is ours), and by the
 * manifests on the client, which know also what a wiped ZooKeeper has forgotten. */
static size_t read_ids(const struct checkpoint_client *client, const struct zk_event *event,
                       uint64_t *ids)
{
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
    uint64_t ids[ZK_CHILDREN_MAX + STORE_LIST_MAX];
    if (event->outcome != ZK_OK || event->child_count > ZK_CHILDREN_MAX) {
        log_warn("cannot list the committed checkpoints: nothing is collected");
        go_on(client);
        return;
    }
    size_t count = read_ids(client, event, ids);
    size_t kept = count < client->keep ? count : client->keep;
    if (kept > STORE_KEEP_MAX - 1) { kept = STORE_KEEP_MAX - 1; }
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
    if (event->status != TN_OK) { log_warn("old checkpoints cannot be removed: %s", event->text); }
    uint32_t left = 0;
    for (uint32_t i = 0; i < client->manifest_count; i++) {
        if (!is_kept(client, client->manifests[i].id)) { continue; }
        if (left != i) { client->manifests[left] = client->manifests[i]; }
        left++;
    }
    client->manifest_count = left;
    go_on(client);
}

void checkpoint_retention_handle_store(struct checkpoint_client *client,
                                       const struct store_event *event)
{
    if (client->retention.op == 0 || event->op != client->retention.op) { return; }
    if (client->retention.state == RETENTION_COLLECT) {
        collected(client, event);
    } else if (client->retention.state == RETENTION_PUT) {
        if (event->status == TN_OK) {
            checkpoint_client_add_manifest(client, &client->retention.manifest);
        }
        if (event->status != TN_OK) { log_warn("no copy of the manifest: %s", event->text); }
        enter(client, RETENTION_LIST);
    }
}

void checkpoint_retention_handle_zk(struct checkpoint_client *client, const struct zk_event *event)
{
    bool asked =
        client->retention.state == RETENTION_READ || client->retention.state == RETENTION_LIST;
    if (!asked || client->retention.op == 0 || event->op != client->retention.op) { return; }
    if (event->outcome == ZK_UNKNOWN) {
        retry(client);
    } else if (client->retention.state == RETENTION_READ) {
        manifest_read(client, event);
    } else if (client->retention.state == RETENTION_LIST) {
        committed_listed(client, event);
    }
}
