/*
 * The watches of a client: fired once by what its server applies, and compared at a reconnection.
 * The server forgets a watch as it fires, the client when it hears of it: one that is lost with its
 * connection is still the client's, and fires at the next.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/zk_model_private.h"

void zk_client_watch(struct zk_client *client, const char *path, bool children, bool existed)
{
    for (size_t i = 0; i < client->watch_count; i++) {
        struct zk_watch *watch = &client->watches[i];
        if (watch->children == children && strcmp(watch->path, path) == 0) {
            watch->existed = existed;
            return;
        }
    }
    assert(client->watch_count < ZK_WATCHES_MAX);
    struct zk_watch *watch = &client->watches[client->watch_count++];
    *watch = (struct zk_watch){.children = children, .existed = existed};
    (void)snprintf(watch->path, sizeof watch->path, "%s", path);
}

/* The library tells the end of a znode once, whatever was watched of it. */
static void fire(struct zk_client *client, size_t index, bool gone)
{
    struct zk_watch fired = client->watches[index];
    client->watches[index] = client->watches[--client->watch_count];
    for (size_t i = client->watch_count; gone && i-- > 0;) {
        if (strcmp(client->watches[i].path, fired.path) != 0) { continue; }
        client->watches[i] = client->watches[--client->watch_count];
    }
    zk_client_tell(client, &fired);
}

static bool concerns(const struct zk_watch *watch, const struct zk_change *change)
{
    if (strcmp(watch->path, change->path) == 0) {
        return !watch->children || change->kind == ZK_DELETE;
    }
    if (!watch->children || change->kind == ZK_SET) { return false; }
    char parent[ZK_PATH_MAX];
    zk_parent_of(change->path, parent);
    return strcmp(watch->path, parent) == 0;
}

void zk_client_applied(struct zk_client *client, const struct zk_txn *txn)
{
    for (size_t c = 0; c < txn->count; c++) {
        const struct zk_change *change = &txn->changes[c];
        for (size_t i = client->watch_count; i-- > 0;) {
            if (i >= client->watch_count || !concerns(&client->watches[i], change)) { continue; }
            bool gone = change->kind == ZK_DELETE;
            fire(client, i, gone && strcmp(client->watches[i].path, change->path) == 0);
        }
    }
    zk_requests_applied(client, txn);
}

/* After a reconnection the server compares: what changed unseen fires now. */
void zk_client_rearm(struct zk_client *client)
{
    const struct zk_tree *tree = &client->model->servers[client->server].tree;
    for (size_t i = client->watch_count; i-- > 0;) {
        if (i >= client->watch_count) { continue; }
        const struct zk_watch *watch = &client->watches[i];
        const struct zk_node *node = zk_tree_find(tree, watch->path);
        bool changed = (node != NULL) != watch->existed;
        if (node != NULL) {
            uint64_t zxid = watch->children ? node->children_zxid : node->stat.modified_zxid;
            changed = changed || zxid > client->last_zxid;
        }
        if (changed) { fire(client, i, node == NULL); }
    }
}
