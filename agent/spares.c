#include "agent/spares.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RETRY_MS = 500 };

void spares_init(struct spares *spares, const char *cluster, uint64_t next_op)
{
    assert(*cluster != '\0');
    memset(spares, 0, sizeof *spares);
    spares->next_op = next_op;
    snprintf(spares->cluster, sizeof spares->cluster, "%s", cluster);
}

void spares_add(struct spares *spares, uint32_t index, const struct member *member)
{
    char task[TASK_NAME_MAX], rest[64 + TASK_NAME_MAX];
    assert(index < SUPERVISOR_CHILDREN_MAX);
    struct spare *spare = &spares->list[index];
    if (spare->wanted || spare->exists) { return; }
    *spare = (struct spare){.wanted = true, .member = *member};
    task_format(member->task, '-', task, sizeof task);
    snprintf(rest, sizeof rest, "spares/%s-%016" PRIx64, task, member->incarnation);
    znode_path(spare->path, spares->cluster, rest);
}

void spares_remove(struct spares *spares, uint32_t index)
{
    assert(index < SUPERVISOR_CHILDREN_MAX);
    spares->list[index].wanted = false;
}

void spares_restart(struct spares *spares)
{
    for (uint32_t i = 0; i < SUPERVISOR_CHILDREN_MAX; i++) {
        spares->list[i].exists = false;
        spares->list[i].op = 0;
    }
}

static void answered(struct spare *spare, const struct zk_event *event, uint64_t now_ms)
{
    const bool refused = event->outcome == ZK_REFUSED;
    const bool done = event->outcome == ZK_OK;
    assert(spare->op == event->op);
    spare->op = 0;
    spare->retry_at_ms = now_ms + RETRY_MS;
    if (spare->folder) {
        if (done || (refused && event->reason == ZK_REASON_NODE_EXISTS)) {
            spare->lacks_folder = false;
            spare->retry_at_ms = 0;
        }
    } else if (spare->creates) {
        if (done || (refused && event->reason == ZK_REASON_NODE_EXISTS)) { spare->exists = true; }
        if (refused && event->reason == ZK_REASON_NO_NODE) {
            spare->lacks_folder = true;
            spare->retry_at_ms = 0;
        }
    } else if (done || (refused && event->reason == ZK_REASON_NO_NODE)) {
        spare->exists = false;
    }
}

void spares_handle(struct spares *spares, const struct zk_event *event, uint64_t now_ms)
{
    if (event->type != ZK_RESULT) { return; }
    for (uint32_t i = 0; i < SUPERVISOR_CHILDREN_MAX; i++) {
        struct spare *spare = &spares->list[i];
        if (spare->op != 0 && spare->op == event->op) { answered(spare, event, now_ms); }
    }
}

static void send(struct spares *spares, struct spare *spare, const struct zk_port *zk)
{
    char folder[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    struct zk_write write = {.kind = ZK_CREATE, .path = spare->path};
    assert(spare->op == 0);
    spare->creates = spare->wanted;
    spare->folder = spare->wanted && spare->lacks_folder;
    if (spare->folder) {
        znode_path(folder, spares->cluster, "spares");
        write.path = folder;
    } else if (spare->creates) {
        write.size = member_encode(&spare->member, text);
        write.data = text;
        write.flags = ZK_EPHEMERAL;
    } else {
        write.kind = ZK_DELETE;
        write.version = ZK_ANY_VERSION;
    }
    spare->op = ++spares->next_op;
    zk->write(zk->ctx, spare->op, &write, 1);
}

void spares_drive(struct spares *spares, const struct zk_port *zk, uint64_t now_ms)
{
    for (uint32_t i = 0; i < SUPERVISOR_CHILDREN_MAX; i++) {
        struct spare *spare = &spares->list[i];
        const bool due = spare->op == 0 && now_ms >= spare->retry_at_ms;
        if (due && spare->wanted != spare->exists) { send(spares, spare, zk); }
    }
}
