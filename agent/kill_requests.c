#include "agent/kill_requests.h"

#include <assert.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

static void follow(struct kill_requests *requests, struct kill_entry *entry, const char *cluster,
                   struct task task, const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(cluster != NULL);
    entry->task = task;
    znode_kill_path(path, cluster, task);
    request_watch_start(&entry->watch, path, zk, &requests->next_op, now_ms);
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

bool kill_requests_handle(struct kill_requests *requests, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t now_ms, struct task *task,
                          struct kill_request *out)
{
    struct error error;
    bool is_new = false;
    assert(requests->count <= TASKS_MAX);
    for (uint32_t i = 0; i < requests->count; i++) {
        struct kill_entry *entry = &requests->list[i];
        if (!request_watch_handle(&entry->watch, event, zk, &requests->next_op, now_ms)) {
            continue;
        }
        if (kill_request_decode(event->data, event->size, out, &error) != TN_OK) {
            log_warn("kill request ignored: %s: %s", entry->watch.watch.path, error.text);
            continue;
        }
        if (!request_watch_accept(&entry->watch, event, zk, &requests->next_op)) { continue; }
        *task = entry->task;
        is_new = true;
    }
    return is_new;
}

void kill_requests_tick(struct kill_requests *requests, const struct zk_port *zk, uint64_t now_ms)
{
    assert(requests->count <= TASKS_MAX);
    for (uint32_t i = 0; i < requests->count; i++) {
        znode_watch_tick(&requests->list[i].watch.watch, zk, &requests->next_op, now_ms);
    }
}

uint64_t kill_requests_deadline_ms(const struct kill_requests *requests)
{
    uint64_t first_ms = UINT64_MAX;
    assert(requests->count <= TASKS_MAX);
    for (uint32_t i = 0; i < requests->count; i++) {
        first_ms = u64_min(first_ms, znode_watch_deadline_ms(&requests->list[i].watch.watch));
    }
    return first_ms;
}
