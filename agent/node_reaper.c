#include "agent/node_reaper.h"

#include <stdio.h>
#include <string.h>

static void send(const struct zk_port *zk, uint64_t *next_op, enum zk_write_kind kind,
                 const char *path, const char *text)
{
    const struct zk_write write = {.kind = kind,
                                   .path = path,
                                   .data = text,
                                   .size = text != NULL ? strlen(text) : 0,
                                   .version = ZK_ANY_VERSION};
    zk->write(zk->ctx, ++*next_op, &write, 1);
}

static struct reap *free_reap(struct node_reaper *reaper)
{
    for (int i = 0; i < REAPS_MAX; i++) {
        if (reaper->list[i].last_op == 0) { return &reaper->list[i]; }
    }
    return NULL;
}

/* All goes out at once; ZooKeeper keeps the order of one session's requests. */
static void send_all(const struct dead_node *dead_node, const struct observer *observer,
                     const struct candidates *candidates, const struct zk_port *zk,
                     uint64_t *next_op)
{
    char path[256], text[ZNODE_JSON_MAX];
    uint64_t session = dead_node->has_session ? (uint64_t)dead_node->session.id : 0;
    znode_exit_path(path, dead_node->cluster, dead_node->task);
    (void)exit_note_encode(&dead_node->note, text);
    /* One of the two works, whether there was a note before or not. */
    send(zk, next_op, ZK_CREATE, path, text);
    send(zk, next_op, ZK_SET, path, text);
    const char *candidate = candidates_of_session(candidates, session);
    if (candidate != NULL) { send(zk, next_op, ZK_DELETE, candidate, NULL); }
    const struct observed_task *seat = observer_task(observer, dead_node->task);
    if (seat == NULL || !seat->present || session == 0 || seat->session != session) { return; }
    znode_member_path(path, dead_node->cluster, dead_node->task);
    send(zk, next_op, ZK_DELETE, path, NULL);
}

void node_reaper_begin(struct node_reaper *reaper, const struct dead_node *dead_node,
                       const struct observer *observer, const struct candidates *candidates,
                       const struct zk_port *zk, uint64_t *next_op,
                       struct session_reaper *session_reaper)
{
    char name[TASK_NAME_MAX];
    task_format(dead_node->task, ':', name, sizeof name);
    if (zk != NULL) { send_all(dead_node, observer, candidates, zk, next_op); }
    if (!dead_node->has_session) { return; }
    struct reap *reap = zk != NULL ? free_reap(reaper) : NULL;
    if (reap == NULL) {
        session_reaper_close(session_reaper, name, &dead_node->session);
        return;
    }
    reap->last_op = *next_op;
    reap->session = dead_node->session;
    memcpy(reap->name, name, sizeof name);
}

static void finish(struct reap *reap, struct session_reaper *session_reaper)
{
    reap->last_op = 0;
    session_reaper_close(session_reaper, reap->name, &reap->session);
}

void node_reaper_handle(struct node_reaper *reaper, const struct zk_event *event,
                        struct session_reaper *session_reaper)
{
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
