#include "agent/node_reaper.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void send(const struct zk_port *zk, uint64_t *next_op, enum zk_write_kind kind,
                 const char *path, const char *text)
{
    assert(zk != NULL);
    const struct zk_write write = {.kind = kind,
                                   .path = path,
                                   .data = text,
                                   .size = text != NULL ? strlen(text) : 0,
                                   .version = ZK_ANY_VERSION};
    zk->write(zk->ctx, ++*next_op, &write, 1);
}

static struct reap *free_entry(struct node_reaper *reaper)
{
    for (int i = 0; i < REAPS_MAX; i++) {
        if (reaper->list[i].last_op == 0) { return &reaper->list[i]; }
    }
    return NULL;
}

/* Steps 1 and 2. All requests are sent at once: ZooKeeper keeps the order of a session's
 * requests. */
static void send_all(const struct dead_node *node, const struct observer *observer,
                     const struct candidates *candidates, const struct zk_port *zk,
                     uint64_t *next_op)
{
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    assert(observer != NULL && candidates != NULL);
    uint64_t session = node->has_session ? (uint64_t)node->session.id : 0;
    znode_exit_path(path, node->cluster, node->task);
    (void)exit_note_encode(&node->note, text);
    /* One of the two succeeds, whether there was a note before or not. */
    send(zk, next_op, ZK_CREATE, path, text);
    send(zk, next_op, ZK_SET, path, text);
    if (node->left) { return; } /* The end of its session removes what it has left. */
    const char *candidate = candidates_of_session(candidates, session);
    if (candidate != NULL) { send(zk, next_op, ZK_DELETE, candidate, NULL); }
    const struct observed_task *task = observer_task(observer, node->task);
    if (task == NULL || !task->present || session == 0 || task->session != session) { return; }
    znode_member_path(path, node->cluster, node->task);
    send(zk, next_op, ZK_DELETE, path, NULL);
}

void node_reaper_begin(struct node_reaper *reaper, const struct dead_node *node,
                       const struct observer *observer, const struct candidates *candidates,
                       const struct zk_port *zk, uint64_t *next_op,
                       struct session_reaper *session_reaper)
{
    char name[TASK_NAME_MAX];
    assert(node->cluster != NULL);
    task_format(node->task, ':', name, sizeof name);
    if (zk != NULL) { send_all(node, observer, candidates, zk, next_op); }
    if (!node->has_session || node->shares_session) { return; }
    struct reap *reap = zk != NULL ? free_entry(reaper) : NULL;
    if (reap == NULL) {
        session_reaper_close(session_reaper, name, &node->session);
        return;
    }
    reap->last_op = *next_op;
    reap->session = node->session;
    memcpy(reap->name, name, sizeof name);
}

static void finish(struct reap *reap, struct session_reaper *session_reaper)
{
    assert(reap->last_op != 0);
    reap->last_op = 0;
    session_reaper_close(session_reaper, reap->name, &reap->session);
}

void node_reaper_handle(struct node_reaper *reaper, const struct zk_event *event,
                        struct session_reaper *session_reaper)
{
    assert(reaper != NULL && event != NULL);
    if (event->type != ZK_RESULT) { return; }
    for (int i = 0; i < REAPS_MAX; i++) {
        if (reaper->list[i].last_op != 0 && reaper->list[i].last_op == event->op) {
            finish(&reaper->list[i], session_reaper);
        }
    }
}

void node_reaper_abandon(struct node_reaper *reaper, struct session_reaper *session_reaper)
{
    for (int i = 0; i < REAPS_MAX; i++) {
        if (reaper->list[i].last_op != 0) { finish(&reaper->list[i], session_reaper); }
    }
}
