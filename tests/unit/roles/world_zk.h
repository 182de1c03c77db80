/*
 * tests/unit/roles/world_zk.h: the model of ZooKeeper: one tree, whose answers and notifications
 * are packets.
 */
#ifndef TESTS_UNIT_ROLES_WORLD_ZK_H
#define TESTS_UNIT_ROLES_WORLD_ZK_H

#include <stdio.h>
#include <string.h>

#include "tests/unit/roles/world_state.h"

static inline struct znode *world_znode(struct world *w, const char *path)
{
    for (uint32_t i = 0; i < w->znode_count; i++) {
        if (strcmp(w->znodes[i].path, path) == 0) { return &w->znodes[i]; }
    }
    return NULL;
}

/* Fires watches that were not set, too; to a watch an event is only a hint. */
static inline void world_changed(struct world *w, const char *path)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (w->nodes[i].session == 0) { continue; }
        struct packet *packet = world_packet(w, PACKET_ZK, i, 0);
        packet->zk.type = ZK_CHANGED;
        snprintf(packet->path, sizeof packet->path, "%s", path);
        packet->zk.path = packet->path;
    }
}

static inline void world_set(struct world *w, const char *path, const void *data, size_t size,
                             uint64_t owner)
{
    struct znode *znode = world_znode(w, path);
    if (znode == NULL) {
        assert(w->znode_count < ZNODES_MAX);
        znode = &w->znodes[w->znode_count++];
        memset(znode, 0, sizeof *znode);
        snprintf(znode->path, sizeof znode->path, "%s", path);
    }
    assert(size <= sizeof znode->data);
    memcpy(znode->data, data, size);
    znode->size = size;
    znode->version++;
    znode->owner = owner;
    world_changed(w, path);
}

static inline struct packet *world_result(struct world_node *node, uint64_t op, const char *path)
{
    struct packet *packet = world_packet(node->world, PACKET_ZK, node->index, 0);
    packet->zk.type = ZK_RESULT;
    packet->zk.op = op;
    snprintf(packet->path, sizeof packet->path, "%s", path);
    packet->zk.path = packet->path;
    return packet;
}

static inline void world_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    (void)watch;
    struct world_node *node = ctx;
    const struct znode *znode = world_znode(node->world, path);
    struct packet *packet = world_result(node, op, path);
    if (znode == NULL) {
        packet->zk.outcome = ZK_REFUSED;
        packet->zk.reason = ZK_REASON_NO_NODE;
        return;
    }
    packet->data = malloc(znode->size + 1);
    memcpy(packet->data, znode->data, znode->size);
    packet->zk.data = packet->data;
    packet->zk.size = znode->size;
    packet->zk.stat.version = znode->version;
    packet->zk.stat.ephemeral_owner = znode->owner;
}

static inline void world_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    (void)watch;
    struct world_node *node = ctx;
    struct world *w = node->world;
    struct packet *packet = world_result(node, op, path);
    size_t length = strlen(path);
    for (uint32_t i = 0; i < w->znode_count; i++) {
        const char *child = w->znodes[i].path;
        if (strncmp(child, path, length) != 0 || child[length] != '/') { continue; }
        size_t n = packet->zk.child_count++;
        snprintf(packet->name[n], sizeof packet->name[n], "%.31s", child + length + 1);
        packet->children[n] = packet->name[n];
    }
    packet->zk.children = packet->children;
}

static inline void world_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    struct world_node *node = ctx;
    assert(count == 1 && writes[0].kind == ZK_CREATE);
    struct packet *packet = world_result(node, op, writes[0].path);
    if (world_znode(node->world, writes[0].path) != NULL) {
        packet->zk.outcome = ZK_REFUSED;
        packet->zk.reason = ZK_REASON_NODE_EXISTS;
        return;
    }
    world_set(node->world, writes[0].path, writes[0].data, writes[0].size, node->session);
}

#endif
