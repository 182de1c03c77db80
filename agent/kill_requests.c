#include "agent/kill_requests.h"

#include <assert.h>

#include "common/base/log.h"

void kill_requests_start(struct kill_requests *orders, const char *cluster,
                         const struct task *tasks, uint32_t count, uint64_t next_op,
                         const struct zk_port *zk, uint64_t now_ms)
{
    char path[256];
    assert(count <= TASKS_MAX);
    orders->count = count;
    orders->next_op = next_op;
    for (uint32_t i = 0; i < count; i++) {
        struct kill_seat *seat = &orders->list[i];
        seat->task = tasks[i];
        seat->delete_op = 0;
        znode_kill_path(path, cluster, tasks[i]);
        mirror_start(&seat->mirror, MIRROR_DATA, path, zk, &orders->next_op, now_ms);
    }
}

/* Whoever wrote it waits for it to go. */
static void remove_order(struct kill_requests *orders, struct kill_seat *seat, int32_t version,
                         const struct zk_port *zk)
{
    const struct zk_write write = {
        .kind = ZK_DELETE, .path = seat->mirror.path, .version = version};
    seat->delete_op = ++orders->next_op;
    zk->write(zk->ctx, seat->delete_op, &write, 1);
}

/* A removal whose answer was lost: told already, but to be removed again. */
static bool take(struct kill_requests *orders, struct kill_seat *seat, const struct zk_event *event,
                 const struct zk_port *zk, struct kill_request *out)
{
    struct error error;
    const bool told = seat->told_zxid == event->stat.created_zxid;
    const int32_t version = event->stat.version;
    const uint64_t created_zxid = event->stat.created_zxid;
    if (kill_request_decode(event->data, event->size, out, &error) != TN_OK) {
        log_warn("%s: %s", seat->mirror.path, error.text);
        return false;
    }
    seat->told_zxid = created_zxid;
    remove_order(orders, seat, version, zk);
    return !told;
}

bool kill_requests_handle(struct kill_requests *orders, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t now_ms, struct task *task,
                          struct kill_request *out)
{
    bool is_new = false;
    for (uint32_t i = 0; i < orders->count; i++) {
        struct kill_seat *seat = &orders->list[i];
        if (event->type == ZK_RESULT && event->op == seat->delete_op && seat->delete_op != 0) {
            seat->delete_op = 0;
            if (event->outcome == ZK_UNKNOWN) {
                mirror_refresh(&seat->mirror, zk, &orders->next_op);
            }
            continue;
        }
        if (mirror_handle(&seat->mirror, event, zk, &orders->next_op, now_ms) != MIRROR_PRESENT) {
            continue;
        }
        if (!take(orders, seat, event, zk, out)) { continue; }
        *task = seat->task;
        is_new = true;
    }
    return is_new;
}

void kill_requests_tick(struct kill_requests *orders, const struct zk_port *zk, uint64_t now_ms)
{
    for (uint32_t i = 0; i < orders->count; i++) {
        mirror_tick(&orders->list[i].mirror, zk, &orders->next_op, now_ms);
    }
}

uint64_t kill_requests_deadline_ms(const struct kill_requests *orders)
{
    uint64_t least_ms = UINT64_MAX;
    for (uint32_t i = 0; i < orders->count; i++) {
        uint64_t deadline_ms = mirror_deadline_ms(&orders->list[i].mirror);
        if (deadline_ms < least_ms) { least_ms = deadline_ms; }
    }
    return least_ms;
}
