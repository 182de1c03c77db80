#include "agent/kill_requests.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

static void follow(struct kill_requests *requests, struct kill_entry *entry, const char *cluster,
                   struct task task, const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(cluster != NULL);
    entry->task = task;
    entry->delete_op = 0;
    znode_kill_path(path, cluster, task);
    znode_watch_start(&entry->watch, WATCH_DATA, path, zk, &requests->next_op, now_ms);
}

void kill_requests_start(struct kill_requests *requests, const char *cluster,
                         const struct task *tasks, uint32_t count, uint64_t next_op,
                         const struct zk_port *zk, uint64_t now_ms)
{
    assert(count <= TASKS_MAX);
    assert(tasks != NULL || count == 0);
    requests->count = count;
    requests->next_op = next_op;
    for (uint32_t i = 0; i < count; i++) {
        follow(requests, &requests->list[i], cluster, tasks[i], zk, now_ms);
    }
}

void kill_requests_add(struct kill_requests *requests, const char *cluster, struct task task,
                       const struct zk_port *zk, uint64_t now_ms)
{
    assert(requests->count < TASKS_MAX);
    follow(requests, &requests->list[requests->count++], cluster, task, zk, now_ms);
}

/* The author of a request waits for its deletion. */
static void delete_request(struct kill_requests *requests, struct kill_entry *entry,
                           int32_t version, const struct zk_port *zk)
{
    assert(entry->watch.path[0] != '\0');
    const struct zk_write write = {
        .kind = ZK_DELETE, .path = entry->watch.path, .version = version};
    entry->delete_op = ++requests->next_op;
    zk->write(zk->ctx, entry->delete_op, &write, 1);
}

static bool is_handled(const struct kill_entry *entry, const struct kill_request *request,
                       uint64_t created_zxid)
{
    const struct kill_request *handled = &entry->handled;
    return entry->handled_zxid == created_zxid && handled->incarnation == request->incarnation &&
           handled->signal == request->signal && handled->wall_ms == request->wall_ms &&
           strcmp(handled->by, request->by) == 0;
}

/* True: the request is new. A request whose deletion was not confirmed is read again; then it is
 * only deleted again. */
static bool take(struct kill_requests *requests, struct kill_entry *entry,
                 const struct zk_event *event, const struct zk_port *zk, struct kill_request *out)
{
    struct error error;
    const int32_t version = event->stat.version;
    const uint64_t created_zxid = event->stat.created_zxid;
    assert(out != NULL);
    if (kill_request_decode(event->data, event->size, out, &error) != TN_OK) {
        log_warn("kill request ignored: %s: %s", entry->watch.path, error.text);
        return false;
    }
    const bool handled = is_handled(entry, out, created_zxid);
    entry->handled_zxid = created_zxid;
    entry->handled = *out;
    delete_request(requests, entry, version, zk);
    return !handled;
}

bool kill_requests_handle(struct kill_requests *requests, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t now_ms, struct task *task,
                          struct kill_request *out)
{
    bool is_new = false;
    assert(requests->count <= TASKS_MAX);
    for (uint32_t i = 0; i < requests->count; i++) {
        struct kill_entry *entry = &requests->list[i];
        if (event->type == ZK_RESULT && event->op == entry->delete_op && entry->delete_op != 0) {
            entry->delete_op = 0;
            if (event->outcome == ZK_UNKNOWN) {
                znode_watch_refresh(&entry->watch, zk, &requests->next_op);
            }
            continue;
        }
        if (znode_watch_handle(&entry->watch, event, zk, &requests->next_op, now_ms) !=
            WATCH_PRESENT) {
            continue;
        }
        if (!take(requests, entry, event, zk, out)) { continue; }
        *task = entry->task;
        is_new = true;
    }
    return is_new;
}

void kill_requests_tick(struct kill_requests *requests, const struct zk_port *zk, uint64_t now_ms)
{
    assert(requests->count <= TASKS_MAX);
    for (uint32_t i = 0; i < requests->count; i++) {
        znode_watch_tick(&requests->list[i].watch, zk, &requests->next_op, now_ms);
    }
}

uint64_t kill_requests_deadline_ms(const struct kill_requests *requests)
{
    uint64_t first_ms = UINT64_MAX;
    assert(requests->count <= TASKS_MAX);
    for (uint32_t i = 0; i < requests->count; i++) {
        first_ms = u64_min(first_ms, znode_watch_deadline_ms(&requests->list[i].watch));
    }
    return first_ms;
}
