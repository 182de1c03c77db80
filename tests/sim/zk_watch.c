/*
 * The watches of a client: they fire once, when its server applies a change, and are compared at a
 * reconnection. The server forgets a watch when it fires, the client when the event arrives: when
 * the event is lost with its connection, the client sets the watch again at the next one.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/zk_model_private.h"

void zk_client_watch(struct zk_client *client, const char *path, bool children, bool existed)
{
    assert(path[0] == '/');
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

/* The library reports the removal of a znode once, whatever was watched. */
static void fire(struct zk_client *client, size_t index, bool removed)
{
    assert(index < client->watch_count);
    struct zk_watch fired = client->watches[index];
    client->watches[index] = client->watches[--client->watch_count];
    for (size_t i = client->watch_count; removed && i-- > 0;) {
        if (strcmp(client->watches[i].path, fired.path) != 0) { continue; }
        client->watches[i] = client->watches[--client->watch_count];
    }
    zk_client_notify(client, &fired);
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
            bool removed = change->kind == ZK_DELETE;
            fire(client, i, removed && strcmp(client->watches[i].path, change->path) == 0);
        }
    }
    zk_requests_applied(client, txn);
}

/* After a reconnection the server compares, and fires the watches of changed znodes. */
void zk_client_rearm(struct zk_client *client)
{
    assert(client->connected);
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
