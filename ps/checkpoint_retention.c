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

static void retry(struct checkpoint_client *disk)
{
    disk->keep_state.op = 0;
    disk->keep_state.retry_at_ms = disk->now_ms + CHECKPOINT_CLIENT_RETRY_MS;
}

static void ask_store(struct checkpoint_client *disk)
{
    const struct store_port *store = &disk->store;
    uint64_t op = checkpoint_client_next_store_op(disk);
    enum tn_status status;
    if (disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_PUT) {
        status = store->put_manifest(store->ctx, op, &disk->keep_state.manifest);
    } else {
        status = store->collect(store->ctx, op, disk->keep_state.ids, disk->keep_state.id_count,
                                disk->keep_state.current);
    }
    disk->keep_state.op = op;
    if (status != TN_OK) { retry(disk); }
}

void checkpoint_client_keep_proceed(struct checkpoint_client *disk)
{
    char path[256];
    disk->keep_state.retry_at_ms = UINT64_MAX;
    switch (disk->keep_state.at) {
    case CHECKPOINT_CLIENT_KEEP_IDLE: return;
    case CHECKPOINT_CLIENT_KEEP_READ:
        disk->keep_state.current = disk->keep_state.wanted;
        disk->keep_state.op = checkpoint_client_ask_manifest(disk, disk->keep_state.current);
        return;
    case CHECKPOINT_CLIENT_KEEP_LIST:
        znode_path(path, disk->membership->identity.cluster, "checkpoints");
        disk->keep_state.op = membership_next_op(disk->membership);
        disk->ports->zk.list(disk->ports->zk.ctx, disk->keep_state.op, path, false);
        return;
    case CHECKPOINT_CLIENT_KEEP_PUT:
    case CHECKPOINT_CLIENT_KEEP_COLLECT: ask_store(disk); return;
    }
}

static void enter(struct checkpoint_client *disk, int at)
{
    disk->keep_state.at = at;
    checkpoint_client_keep_proceed(disk);
}

void checkpoint_client_follow(struct checkpoint_client *disk, const struct run *run)
{
    disk->keep_state.load_checkpoint = run->phase == RUN_LOADING ? run->load_checkpoint : 0;
    if (run->committed_checkpoint != 0) { disk->keep_state.wanted = run->committed_checkpoint; }
    if (disk->keep_state.at != CHECKPOINT_CLIENT_KEEP_IDLE) { return; }
    if (disk->keep_state.wanted == disk->keep_state.done) { return; }
    enter(disk, CHECKPOINT_CLIENT_KEEP_READ);
}

bool checkpoint_client_idle(const struct checkpoint_client *disk)
{
    return disk->saves == 0 && disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_IDLE;
}

/* A commit that came meanwhile is next. */
static void go_on(struct checkpoint_client *disk)
{
    disk->keep_state.done = disk->keep_state.current;
    disk->keep_state.at = CHECKPOINT_CLIENT_KEEP_IDLE;
    disk->keep_state.op = 0;
    if (disk->keep_state.wanted != disk->keep_state.done) {
        enter(disk, CHECKPOINT_CLIENT_KEEP_READ);
    }
}

/* ------------------------------------------------------------------ answers */

static void manifest_read(struct checkpoint_client *disk, const struct zk_event *event)
{
    uint64_t id = disk->keep_state.current;
    if (event->outcome != ZK_OK ||
        !checkpoint_client_take_manifest(event, id, &disk->keep_state.manifest)) {
        log_warn("checkpoint %llu: no copy of its manifest can be made", (unsigned long long)id);
        go_on(disk);
        return;
    }
    enter(disk, CHECKPOINT_CLIENT_KEEP_PUT);
}

static int newest_first(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left < *right) - (*left > *right);
}

/* What is committed, newest first: by the znodes (of other names there, none is ours), and by the
 * manifests on the disk, which know also what a wiped ZooKeeper has forgotten. */
static size_t read_ids(const struct checkpoint_client *disk, const struct zk_event *event,
                       uint64_t *ids)
{
    size_t count = 0, unique = 0;
    for (size_t i = 0; i < event->child_count; i++) {
        char *end = NULL;
        uint64_t id = strtoull(event->children[i], &end, 10);
        if (end != event->children[i] && *end == '\0' && id != 0) { ids[count++] = id; }
    }
    for (uint32_t i = 0; i < disk->manifest_count; i++) { ids[count++] = disk->manifests[i].id; }
    qsort(ids, count, sizeof *ids, newest_first);
    for (size_t i = 0; i < count; i++) {
        if (unique == 0 || ids[unique - 1] != ids[i]) { ids[unique++] = ids[i]; }
    }
    return unique;
}

static void committed_listed(struct checkpoint_client *disk, const struct zk_event *event)
{
    uint64_t ids[ZK_CHILDREN_MAX + STORE_LIST_MAX];
    if (event->outcome != ZK_OK || event->child_count > ZK_CHILDREN_MAX) {
        log_warn("cannot list the committed checkpoints: nothing is collected");
        go_on(disk);
        return;
    }
    size_t count = read_ids(disk, event, ids);
    size_t kept = count < disk->keep ? count : disk->keep;
    if (kept > STORE_KEEP_MAX - 1) { kept = STORE_KEEP_MAX - 1; }
    memcpy(disk->keep_state.ids, ids, kept * sizeof *ids);
    if (disk->keep_state.load_checkpoint != 0) {
        disk->keep_state.ids[kept++] = disk->keep_state.load_checkpoint;
    }
    disk->keep_state.id_count = kept;
    enter(disk, CHECKPOINT_CLIENT_KEEP_COLLECT);
}

static bool is_kept(const struct checkpoint_client *disk, uint64_t id)
{
    for (size_t i = 0; i < disk->keep_state.id_count; i++) {
        if (disk->keep_state.ids[i] == id) { return true; }
    }
    return id >= disk->keep_state.current;
}

static void collected(struct checkpoint_client *disk, const struct store_event *event)
{
    if (event->status != TN_OK) { log_warn("old checkpoints cannot be removed: %s", event->text); }
    uint32_t left = 0;
    for (uint32_t i = 0; i < disk->manifest_count; i++) {
        if (!is_kept(disk, disk->manifests[i].id)) { continue; }
        if (left != i) { disk->manifests[left] = disk->manifests[i]; }
        left++;
    }
    disk->manifest_count = left;
    go_on(disk);
}

void checkpoint_client_keep_store_event(struct checkpoint_client *disk,
                                        const struct store_event *event)
{
    if (disk->keep_state.op == 0 || event->op != disk->keep_state.op) { return; }
    if (disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_COLLECT) {
        collected(disk, event);
    } else if (disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_PUT) {
        if (event->status == TN_OK) { checkpoint_client_know(disk, &disk->keep_state.manifest); }
        if (event->status != TN_OK) { log_warn("no copy of the manifest: %s", event->text); }
        enter(disk, CHECKPOINT_CLIENT_KEEP_LIST);
    }
}

void checkpoint_client_keep_zk_event(struct checkpoint_client *disk, const struct zk_event *event)
{
    bool asked = disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_READ ||
                 disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_LIST;
    if (!asked || disk->keep_state.op == 0 || event->op != disk->keep_state.op) { return; }
    if (event->outcome == ZK_UNKNOWN) {
        retry(disk);
    } else if (disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_READ) {
        manifest_read(disk, event);
    } else if (disk->keep_state.at == CHECKPOINT_CLIENT_KEEP_LIST) {
        committed_listed(disk, event);
    }
}
