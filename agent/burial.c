#include "agent/burial.h"

#include <stdio.h>
#include <string.h>

static void send(const struct zk_port *zk, uint64_t *next_op, enum zk_write_kind kind,
                 const char *path, const char *text)
{
    const struct zk_write write = {.kind = kind,
                                   .path = path,
                                   .data = text,
                                   .size = text ? strlen(text) : 0,
                                   .version = ZK_ANY_VERSION};
    zk->write(zk->ctx, ++*next_op, &write, 1);
}

static struct burial *free_burial(struct burials *burials)
{
    for (int i = 0; i < BURIALS_MAX; i++)
        if (burials->list[i].last_op == 0) return &burials->list[i];
    return NULL;
}

/* All goes out at once; ZooKeeper keeps the order of one session's requests. */
static void send_all(const struct obituary *obituary, const struct observer *observer,
                     const struct candidates *candidates, const struct zk_port *zk,
                     uint64_t *next_op)
{
    char path[256], text[TREE_JSON_MAX];
    uint64_t session = obituary->has_session ? (uint64_t)obituary->session.id : 0;
    tree_exit_path(path, obituary->cluster, obituary->task);
    (void)exit_note_encode(&obituary->note, text);
    /* One of the two works, whether there was a note before or not. */
    send(zk, next_op, ZK_CREATE, path, text);
    send(zk, next_op, ZK_SET, path, text);
    const char *candidate = candidates_of_session(candidates, session);
    if (candidate) send(zk, next_op, ZK_DELETE, candidate, NULL);
    const struct observed_seat *seat = observer_seat(observer, obituary->task);
    if (!seat || !seat->present || session == 0 || seat->session != session) return;
    tree_member_path(path, obituary->cluster, obituary->task);
    send(zk, next_op, ZK_DELETE, path, NULL);
}

void burial_begin(struct burials *burials, const struct obituary *obituary,
                  const struct observer *observer, const struct candidates *candidates,
                  const struct zk_port *zk, uint64_t *next_op, struct undertaker *undertaker)
{
    char name[TASK_NAME_MAX];
    task_format(obituary->task, ':', name, sizeof name);
    if (zk) send_all(obituary, observer, candidates, zk, next_op);
    if (!obituary->has_session) return;
    struct burial *burial = zk ? free_burial(burials) : NULL;
    if (!burial) {
        undertaker_bury(undertaker, name, &obituary->session);
        return;
    }
    burial->last_op = *next_op;
    burial->session = obituary->session;
    memcpy(burial->name, name, sizeof name);
}

static void finish(struct burial *burial, struct undertaker *undertaker)
{
    burial->last_op = 0;
    undertaker_bury(undertaker, burial->name, &burial->session);
}

void burial_handle(struct burials *burials, const struct zk_event *event,
                   struct undertaker *undertaker)
{
    if (event->type != ZK_RESULT) return;
    for (int i = 0; i < BURIALS_MAX; i++)
        if (burials->list[i].last_op != 0 && burials->list[i].last_op == event->op)
            finish(&burials->list[i], undertaker);
}

void burial_hurry(struct burials *burials, struct undertaker *undertaker)
{
    for (int i = 0; i < BURIALS_MAX; i++)
        if (burials->list[i].last_op != 0) finish(&burials->list[i], undertaker);
}
