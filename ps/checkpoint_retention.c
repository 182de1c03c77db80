/*
 * After each commit the manifest of the committed checkpoint is copied beside the shards. Then
 * checkpoints older than the newest `keep` committed ones are removed. Then the gaps are filled:
 * the manifests of listed checkpoints that this disk lacks, because the next commit followed before
 * they were copied, or because a copy was damaged.
 *
 *   IDLE     --a newer commit-->                READ
 *   READ     --manifest read from ZooKeeper-->  PUT      (copy it to the disk)
 *   PUT      --copied-->                        LIST     (which checkpoints are committed?)
 *   PUT      --failed-->                        PUT, or NEXT if there was another commit
 *   LIST     --listed-->                        COLLECT; NEXT if there was another commit and
 *                                               a best checkpoint
 *   COLLECT  --collected, or failed-->          NEXT
 *   READ, LIST --failed-->                      NEXT
 *   NEXT: READ of a newer commit, else READ of the oldest gap that was not tried before (its PUT
 *         leads to NEXT), else LIST if gaps were filled, because there may be more than `keep`
 *         copies now, else IDLE
 *
 * An unknown outcome or a busy store repeats the request CHECKPOINT_RETRY_MS later. Failures are
 * logged; the next commit does everything again. A gap is tried once.
 */
#include "ps/checkpoint_retention.h"
#include "ps/checkpoint_fit.h"
#include "ps/checkpoint_publish.h"

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
static void next(struct checkpoint_client *client);

void checkpoint_retention_proceed(struct checkpoint_client *client)
{
    char path[ZK_PATH_MAX];
    client->retention.retry_at_ms = UINT64_MAX;
    switch (client->retention.state) {
    case RETENTION_IDLE: return;
    case RETENTION_READ:
        client->retention.copy_failed = false;
        client->retention.op = checkpoint_client_read_manifest(client, client->retention.copying);
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
            next(client);
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
    client->retention.held[HELD_LOAD] = run->phase == RUN_LOADING ? run->load_checkpoint : 0;
    client->retention.held[HELD_EVALUATE] = run->evaluate_checkpoint;
    client->retention.held[HELD_BEST] = run->best_checkpoint.checkpoint;
    if (run->committed_checkpoint != 0) { client->retention.wanted = run->committed_checkpoint; }
    if (client->retention.state == RETENTION_IDLE) { next(client); }
}

static bool is_unloadable(const struct checkpoint_client *client, uint64_t id)
{
    for (uint32_t i = 0; i < client->retention.unloadable_count; i++) {
        if (client->retention.unloadable[i] == id) { return true; }
    }
    return false;
}

/* The oldest checkpoint that the last listing had, this disk has no manifest of, and was not tried
 * before; 0: none. Those without a manifest are among the ids that are kept. */
static uint64_t oldest_gap(const struct checkpoint_client *client)
{
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < client->retention.id_count; i++) {
        uint64_t id = client->retention.ids[i];
        if (id > client->retention.tried && id < oldest && checkpoint_copy_of(client, id) == NULL) {
            oldest = id;
        }
    }
    return oldest == UINT64_MAX ? 0 : oldest;
}

/* Begin the work that is due: see above. */
static void next(struct checkpoint_client *client)
{
    client->retention.state = RETENTION_IDLE;
    client->retention.op = 0;
    uint64_t gap = oldest_gap(client);
    if (client->retention.wanted != client->retention.done) {
        client->retention.current = client->retention.copying = client->retention.wanted;
        enter(client, RETENTION_READ);
    } else if (gap != 0) {
        client->retention.copying = client->retention.tried = gap;
        enter(client, RETENTION_READ);
    } else if (client->retention.filled) {
        client->retention.filled = false;
        enter(client, RETENTION_LIST);
    }
}

/* The work after this commit is done. */
static void finish(struct checkpoint_client *client)
{
    assert(client->retention.state != RETENTION_IDLE);
    assert(client->retention.current != 0);
    client->retention.done = client->retention.current;
    next(client);
}

/* ------------------------------------------------------------------ answers */

/* Whether a manifest read from ZooKeeper may count towards `keep`. */
static bool read_ours(struct checkpoint_client *client, const struct zk_event *event)
{
    struct manifest *manifest = &client->retention.manifest;
    return event->outcome == ZK_OK &&
           checkpoint_client_decode_manifest(event, client->retention.copying, manifest) &&
           checkpoint_is_ours(client, manifest);
}

static void manifest_read(struct checkpoint_client *client, const struct zk_event *event)
{
    assert(client->retention.state == RETENTION_READ);
    if (read_ours(client, event)) {
        enter(client, RETENTION_PUT);
        return;
    }
    bool gap = client->retention.copying != client->retention.current;
    if (!gap || event->outcome == ZK_OK || event->reason != ZK_REASON_NO_NODE) {
        log_warn("checkpoint %" PRIu64
                 ": its manifest is not copied to the disk: it cannot be read from ZooKeeper",
                 client->retention.copying);
    }
    finish(client);
}

/* Add `id` to the checkpoints that are kept. False: the list is full. */
static bool keep(struct checkpoint_client *client, uint64_t id)
{
    for (size_t i = 0; i < client->retention.id_count; i++) {
        if (client->retention.ids[i] == id) { return true; }
    }
    if (client->retention.id_count == STORE_KEEP_MAX) { return false; }
    client->retention.ids[client->retention.id_count++] = id;
    return true;
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
        if (is_id && id != 0 && id < client->retention.current &&
            checkpoint_copy_of(client, id) == NULL) {
            fits = keep(client, id);
        }
    }
    for (uint32_t i = 0; i < client->retention.unloadable_count && fits; i++) {
        fits = keep(client, client->retention.unloadable[i]);
    }
    return fits;
}

/* The newest checkpoint that has no file of table rows in common with the newest one; 0: none. */
static uint64_t former_chain(const struct checkpoint_client *client)
{
    uint64_t newest = 0;
    if (!shard_rows_exist(client->rows)) { return 0; }
    for (uint32_t i = 0; i < client->manifest_count; i++) {
        const uint64_t id = client->manifests[i].id;
        if (is_unloadable(client, id)) { continue; }
        if (newest == 0) { newest = id; }
        if (id < manifest_chain_begin(newest)) { return id; }
    }
    return 0;
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
    /* A newer manifest may name a best checkpoint that none of those on this disk names (C17). */
    if (client->retention.wanted != client->retention.current &&
        client->retention.held[HELD_BEST] != 0) {
        finish(client);
        return;
    }
    /* The manifests on this disk prove which checkpoints are committed; newest first. */
    client->retention.id_count = 0;
    bool fits = true;
    for (uint32_t i = 0; i < RETENTION_HELD && fits; i++) {
        const uint64_t held = client->retention.held[i];
        fits = held == 0 || keep(client, held);
    }
    const uint64_t former = former_chain(client);
    fits = fits && (former == 0 || keep(client, former));
    uint32_t proved = 0; /* Checkpoints that could not be loaded stay, and do not count. */
    for (uint32_t i = 0; i < client->manifest_count && proved < client->keep && fits; i++) {
        if (is_unloadable(client, client->manifests[i].id)) { continue; }
        proved++;
        const uint64_t best = client->manifests[i].best.checkpoint; /* As of this one (C17). */
        fits = keep(client, client->manifests[i].id) && (best == 0 || keep(client, best));
    }
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

/* The copy of the last commit is made before anything is collected; a gap may remain. */
static void copy_failed(struct checkpoint_client *client, const char *why)
{
    bool gap = client->retention.copying != client->retention.current;
    log_warn("checkpoint %" PRIu64 ": its manifest is not copied to the disk%s: %s",
             client->retention.copying, gap ? "" : ", trying again", why);
    if (gap) {
        finish(client);
        return;
    }
    retry_later(client);
    client->retention.copy_failed = true;
    client->retention.retry_at_ms = client->now_ms + RETENTION_COPY_RETRY_MS;
}

static void manifest_copied(struct checkpoint_client *client, const struct store_event *event)
{
    assert(event->request == STORE_PUT_MANIFEST);
    if (event->status != TN_OK) {
        copy_failed(client, event->text);
        return;
    }
    checkpoint_client_add_manifest(client, &client->retention.manifest);
    if (client->retention.copying == client->retention.current) {
        enter(client, RETENTION_LIST);
    } else {
        client->retention.filled = true;
        finish(client);
    }
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
