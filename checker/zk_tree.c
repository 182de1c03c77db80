#include "checker/zk_tree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t path_hash(const char *path)
{
    assert(path != NULL);
    uint32_t hash = 2166136261u;
    for (; *path != '\0'; path++) { hash = (hash ^ (uint8_t)*path) * 16777619u; }
    return hash;
}

static struct zk_blob *blob_create(const void *data, size_t size)
{
    struct zk_blob *blob = malloc(sizeof *blob + size);
    assert(blob != NULL);
    blob->references = 1;
    blob->size = size;
    if (size > 0) { memcpy(blob->data, data, size); }
    return blob;
}

static struct zk_blob *blob_retain(struct zk_blob *blob)
{
    if (blob != NULL) { blob->references++; }
    return blob;
}

static void blob_release(struct zk_blob *blob)
{
    assert(blob == NULL || blob->references > 0);
    if (blob != NULL && --blob->references == 0) { free(blob); }
}

static struct zk_node *node_add(struct zk_tree *tree, const char *path)
{
    assert(tree->count <= tree->capacity);
    if (tree->count == tree->capacity) {
        tree->capacity = tree->capacity ? tree->capacity * 2 : 64;
        tree->nodes = realloc(tree->nodes, tree->capacity * sizeof *tree->nodes);
        assert(tree->nodes != NULL);
    }
    struct zk_node *node = &tree->nodes[tree->count++];
    *node = (struct zk_node){.hash = path_hash(path)};
    (void)snprintf(node->path, sizeof node->path, "%s", path);
    return node;
}

static void node_remove(struct zk_tree *tree, struct zk_node *node)
{
    assert(tree->count > 0);
    blob_release(node->blob);
    *node = tree->nodes[--tree->count];
}

void zk_tree_init(struct zk_tree *tree)
{
    *tree = (struct zk_tree){0};
    node_add(tree, "/");
}

void zk_tree_free(struct zk_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) { blob_release(tree->nodes[i].blob); }
    free(tree->nodes);
    *tree = (struct zk_tree){0};
}

struct zk_node *zk_tree_find(const struct zk_tree *tree, const char *path)
{
    assert(tree->count <= tree->capacity);
    uint32_t hash = path_hash(path);
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].hash == hash && strcmp(tree->nodes[i].path, path) == 0) {
            return &tree->nodes[i];
        }
    }
    return NULL;
}

void zk_parent_of(const char *path, char parent[static ZK_PATH_MAX])
{
    (void)snprintf(parent, ZK_PATH_MAX, "%s", path);
    char *slash = strrchr(parent, '/');
    assert(slash != NULL);
    if (slash == parent) { slash++; }
    *slash = '\0';
}

static bool has_children(const struct zk_tree *tree, const char *path)
{
    assert(path[0] == '/');
    size_t length = strlen(path);
    for (size_t i = 0; i < tree->count; i++) {
        if (strncmp(tree->nodes[i].path, path, length) == 0 && tree->nodes[i].path[length] == '/') {
            return true;
        }
    }
    return false;
}

/* Changes one znode; used by the leader and by the followers. */
static void apply_change(struct zk_tree *tree, const struct zk_change *change, uint64_t zxid,
                         uint64_t wall_ms)
{
    char parent_path[ZK_PATH_MAX];
    zk_parent_of(change->path, parent_path);
    if (change->kind == ZK_CREATE) {
        struct zk_node *node = node_add(tree, change->path);
        node->blob = blob_retain(change->blob);
        node->children_zxid = zxid;
        node->stat = (struct zk_stat){.created_zxid = zxid,
                                      .modified_zxid = zxid,
                                      .ephemeral_owner = change->owner,
                                      .modified_wall_ms = wall_ms};
    } else {
        struct zk_node *node = zk_tree_find(tree, change->path);
        assert(node != NULL);
        if (change->kind == ZK_SET) {
            blob_release(node->blob);
            node->blob = blob_retain(change->blob);
            node->stat.version++;
            node->stat.modified_zxid = zxid;
            node->stat.modified_wall_ms = wall_ms;
            return;
        }
        node_remove(tree, node);
    }
    struct zk_node *parent = zk_tree_find(tree, parent_path);
    assert(parent != NULL);
    parent->stat.children_version++;
    if (change->kind == ZK_CREATE) { parent->next_sequence++; }
    parent->children_zxid = zxid;
}

/* A session may change a znode unless it is read-only, and create or delete children unless their
 * parent is. */
static bool is_denied(const struct zk_node *node, uint64_t session)
{
    return node != NULL && node->read_only && session != 0;
}

static enum zk_reason validate(const struct zk_tree *tree, uint64_t session,
                               const struct zk_write *write, struct zk_change *change)
{
    assert(write->path != NULL);
    *change = (struct zk_change){.kind = write->kind};
    (void)snprintf(change->path, sizeof change->path, "%s", write->path);
    char parent_path[ZK_PATH_MAX];
    zk_parent_of(write->path, parent_path);
    const struct zk_node *parent = zk_tree_find(tree, parent_path);
    if (write->kind == ZK_CREATE) {
        if (parent == NULL) { return ZK_REASON_NO_NODE; }
        if (is_denied(parent, session)) { return ZK_REASON_NO_AUTH; }
        if (parent->stat.ephemeral_owner != 0) { return ZK_REASON_OTHER; }
        if (write->flags & ZK_SEQUENTIAL) {
            /* Callers keep paths short: one that does not fit is a programming error. */
            int length = snprintf(change->path, sizeof change->path, "%.200s%010u", write->path,
                                  parent->next_sequence);
            assert(length > 0);
        }
        if (zk_tree_find(tree, change->path) != NULL) { return ZK_REASON_NODE_EXISTS; }
        change->owner = write->flags & ZK_EPHEMERAL ? session : 0;
    } else {
        const struct zk_node *node = zk_tree_find(tree, write->path);
        if (node == NULL) { return ZK_REASON_NO_NODE; }
        if (write->kind == ZK_SET && is_denied(node, session)) { return ZK_REASON_NO_AUTH; }
        if (write->kind == ZK_DELETE && is_denied(parent, session)) { return ZK_REASON_NO_AUTH; }
        if (write->version != ZK_ANY_VERSION && write->version != node->stat.version) {
            return ZK_REASON_BAD_VERSION;
        }
        if (write->kind == ZK_DELETE && has_children(tree, write->path)) {
            return ZK_REASON_NOT_EMPTY;
        }
    }
    if (write->kind == ZK_SET) {
        change->version = zk_tree_find(tree, write->path)->stat.version + 1;
    }
    return ZK_REASON_NONE;
}

static struct zk_txn *txn_create(size_t capacity, uint64_t session, uint64_t wall_ms)
{
    struct zk_txn *txn = calloc(1, sizeof *txn + capacity * sizeof txn->changes[0]);
    assert(txn != NULL);
    txn->references = 1;
    txn->session = session;
    txn->wall_ms = wall_ms;
    return txn;
}

/* A deep copy, to be restored if a later part of a transaction fails. */
static struct zk_tree tree_copy(const struct zk_tree *tree)
{
    struct zk_tree copy = *tree;
    copy.nodes = calloc(tree->capacity, sizeof *tree->nodes);
    assert(copy.nodes != NULL);
    memcpy(copy.nodes, tree->nodes, tree->count * sizeof *tree->nodes);
    for (size_t i = 0; i < copy.count; i++) { blob_retain(copy.nodes[i].blob); }
    return copy;
}

struct zk_txn *zk_tree_prepare(struct zk_tree *tree, uint64_t session, uint64_t wall_ms,
                               const struct zk_write *writes, size_t count, enum zk_reason *reason,
                               int32_t *failed)
{
    assert(count > 0 && reason != NULL);
    struct zk_txn *txn = txn_create(count, session, wall_ms);
    txn->zxid = tree->zxid + 1;
    struct zk_tree before = {0};
    *reason = ZK_REASON_NONE;
    for (size_t i = 0; i < count; i++) {
        struct zk_change change;
        *reason = validate(tree, session, &writes[i], &change);
        if (*reason != ZK_REASON_NONE) {
            *failed = (int32_t)i;
            break;
        }
        if (change.kind == ZK_CHECK) { continue; }
        if (txn->count == 0 && count > 1) { before = tree_copy(tree); }
        if (change.kind != ZK_DELETE) { change.blob = blob_create(writes[i].data, writes[i].size); }
        txn->changes[txn->count++] = change;
        apply_change(tree, &change, txn->zxid, wall_ms);
    }
    if (*reason == ZK_REASON_NONE) {
        zk_tree_free(&before);
        tree->zxid = txn->zxid;
        return txn;
    }
    if (txn->count > 0) {
        zk_tree_free(tree);
        *tree = before;
    }
    zk_txn_release(txn);
    return NULL;
}

struct zk_txn *zk_tree_close_session(struct zk_tree *tree, uint64_t session, uint64_t wall_ms)
{
    assert(tree->count > 0);
    struct zk_txn *txn = txn_create(tree->count, session, wall_ms);
    txn->zxid = ++tree->zxid;
    txn->closes_session = true;
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].stat.ephemeral_owner != session || session == 0) { continue; }
        struct zk_change *change = &txn->changes[txn->count++];
        change->kind = ZK_DELETE;
        memcpy(change->path, tree->nodes[i].path, sizeof change->path);
    }
    for (size_t i = 0; i < txn->count; i++) {
        apply_change(tree, &txn->changes[i], txn->zxid, wall_ms);
    }
    return txn;
}

void zk_tree_apply(struct zk_tree *tree, const struct zk_txn *txn)
{
    assert(txn->zxid == tree->zxid + 1);
    for (size_t i = 0; i < txn->count; i++) {
        apply_change(tree, &txn->changes[i], txn->zxid, txn->wall_ms);
    }
    tree->zxid = txn->zxid;
}

void zk_txn_release(struct zk_txn *txn)
{
    assert(txn == NULL || txn->references > 0);
    if (txn == NULL || --txn->references > 0) { return; }
    for (size_t i = 0; i < txn->count; i++) { blob_release(txn->changes[i].blob); }
    free(txn);
}
