#include "agent/candidates.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void candidates_start(struct candidates *candidates, const char *cluster, uint64_t next_op,
                      const struct zk_port *zk, uint64_t now_ms)
{
    assert(cluster != NULL);
    memset(candidates, 0, sizeof *candidates);
    candidates->next_op = next_op;
    znode_path(candidates->folder, cluster, "election");
    znode_watch_start(&candidates->watch, WATCH_CHILDREN, candidates->folder, zk,
                      &candidates->next_op, now_ms);
}

static const struct candidate *find(const struct candidates *candidates, const char *path)
{
    assert(candidates->count <= CANDIDATES_MAX);
    for (uint32_t i = 0; i < candidates->count; i++) {
        if (strcmp(candidates->list[i].path, path) == 0) { return &candidates->list[i]; }
    }
    return NULL;
}

/* Keeps the entries of znodes that are still listed, and reads the owners of the others. */
static void take_listing(struct candidates *candidates, const struct zk_event *event,
                         const struct zk_port *zk)
{
    struct candidate fresh[CANDIDATES_MAX];
    uint32_t count = 0;
    assert(candidates->folder[0] != '\0');
    for (size_t i = 0; i < event->child_count && count < CANDIDATES_MAX; i++) {
        char path[ZK_PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", candidates->folder, event->children[i]);
        if (length < 0 || (size_t)length >= sizeof path) { continue; }
        const struct candidate *known = find(candidates, path);
        if (known != NULL) {
            fresh[count++] = *known;
            continue;
        }
        struct candidate *candidate = &fresh[count++];
        *candidate = (struct candidate){.op = ++candidates->next_op};
        memcpy(candidate->path, path, sizeof path);
    }
    memcpy(candidates->list, fresh, count * sizeof *fresh);
    candidates->count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (candidates->list[i].session == 0) {
            zk->read(zk->ctx, candidates->list[i].op, candidates->list[i].path, false);
        }
    }
}

void candidates_handle(struct candidates *candidates, const struct zk_event *event,
                       const struct zk_port *zk, uint64_t now_ms)
{
    assert(candidates->count <= CANDIDATES_MAX);
    if (znode_watch_handle(&candidates->watch, event, zk, &candidates->next_op, now_ms) ==
        WATCH_PRESENT) {
        take_listing(candidates, event, zk);
    }
    if (event->type != ZK_RESULT || event->outcome != ZK_OK) { return; }
    for (uint32_t i = 0; i < candidates->count; i++) {
        if (candidates->list[i].op == event->op) {
            candidates->list[i].session = event->stat.ephemeral_owner;
        }
    }
}

void candidates_tick(struct candidates *candidates, const struct zk_port *zk, uint64_t now_ms)
{
    znode_watch_tick(&candidates->watch, zk, &candidates->next_op, now_ms);
}

uint64_t candidates_deadline_ms(const struct candidates *candidates)
{
    return znode_watch_deadline_ms(&candidates->watch);
}

const char *candidates_of_session(const struct candidates *candidates, uint64_t session)
{
    assert(candidates->count <= CANDIDATES_MAX);
    for (uint32_t i = 0; i < candidates->count; i++) {
        if (session != 0 && candidates->list[i].session == session) {
            return candidates->list[i].path;
        }
    }
    return NULL;
}
