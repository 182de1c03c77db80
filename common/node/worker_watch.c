#include "common/node/worker_watch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

void worker_watch_init(struct worker_watch *watch, enum role role, uint32_t slices,
                       struct links *links, struct membership *membership)
{
    assert(role == ROLE_PS || role == ROLE_WORKER);
    assert(slices >= 1 && slices <= SLICES_MAX);
    *watch = (struct worker_watch){
        .role = role, .slices = slices, .links = links, .membership = membership};
}

void worker_watch_follow_workers(struct worker_watch *watch, uint32_t workers)
{
    assert(watch->role == ROLE_PS && !watch->is_following);
    watch->workers = workers;
}

const struct member *worker_watch_worker(const struct worker_watch *watch, uint32_t index)
{
    assert(index < watch->workers);
    if (!watch->is_following) { return NULL; }
    const struct roster_entry *entry = &watch->roster.entries[watch->links->count + index];
    assert(entry->task.role == ROLE_WORKER && entry->task.index == index);
    return entry->present ? &entry->member : NULL;
}

bool worker_watch_is_near(const struct worker_watch *watch, uint32_t index)
{
    assert(index < watch->links->count);
    if (!watch->is_following) { return false; }
    const char *machine = watch->membership->identity.machine;
    return *machine != '\0' && strcmp(machine, watch->roster.entries[index].member.machine) == 0;
}

static void start(struct worker_watch *watch, uint64_t now_ms)
{
    struct membership *membership = watch->membership;
    const struct zk_port *zk = &membership->ports->zk;
    const char *cluster = membership->identity.cluster;
    const uint32_t count = watch->links->count;
    char path[ZK_PATH_MAX];
    watch->is_following = true;
    struct task_counts tasks = {.of = {[ROLE_WORKER] = watch->workers}};
    tasks.of[watch->role] = count;
    roster_start(&watch->roster, cluster, &tasks, zk, &membership->next_op, now_ms);
    znode_path(path, cluster, "assignment");
    znode_watch_start(&watch->assignment_watch, WATCH_DATA, path, zk, &membership->next_op, now_ms);
}

/* Whether the connection to the task was closed. */
static bool member_changed(struct worker_watch *watch, uint32_t index, uint64_t now_ms)
{
    const struct roster_entry *entry = &watch->roster.entries[index];
    const struct task *self = &watch->membership->identity.task;
    assert(entry->task.role == watch->role && entry->task.index == index);
    if (self->role == watch->role && self->index == index) { return false; }
    const struct member *member = entry->present ? &entry->member : NULL;
    if (!links_set_member(watch->links, index, member, now_ms)) { return false; }
    log_info("%s:%" PRIu32 " restarted at %s", role_name(watch->role), index,
             entry->member.address);
    watch->peer = index;
    return true;
}

static bool assigned(struct worker_watch *watch, const struct zk_event *event)
{
    struct assignment assignment;
    struct error error;
    if (event->size == 0) { return false; }
    if (assignment_decode(event->data, event->size, &assignment, &error) != TN_OK) {
        log_warn("/assignment is ignored: %s", error.text);
        return false;
    }
    if (assignment.slice_count != watch->slices) {
        log_warn("/assignment is ignored: it has %" PRIu32 " slices, the job has %" PRIu32,
                 assignment.slice_count, watch->slices);
        return false;
    }
    watch->assignment = assignment;
    return true;
}

enum worker_watch_change worker_watch_handle(struct worker_watch *watch,
                                             const struct zk_event *event, uint64_t now_ms)
{
    const struct zk_port *zk = &watch->membership->ports->zk;
    uint64_t *next_op = &watch->membership->next_op;
    if (!watch->is_following) {
        if (watch->membership->session != 0) { start(watch, now_ms); }
        return WORKER_WATCH_NOTHING;
    }
    const int entry = roster_handle(&watch->roster, event, zk, next_op, now_ms);
    if (entry >= 0 && watch->roster.entries[entry].task.role != watch->role) {
        watch->peer = watch->roster.entries[entry].task.index;
        return WORKER_WATCH_WORKER;
    }
    if (entry >= 0) {
        return member_changed(watch, (uint32_t)entry, now_ms) ? WORKER_WATCH_RESTARTED
                                                              : WORKER_WATCH_NOTHING;
    }
    if (znode_watch_handle(&watch->assignment_watch, event, zk, next_op, now_ms) != WATCH_PRESENT) {
        return WORKER_WATCH_NOTHING;
    }
    return assigned(watch, event) ? WORKER_WATCH_ASSIGNED : WORKER_WATCH_NOTHING;
}

void worker_watch_tick(struct worker_watch *watch, uint64_t now_ms)
{
    const struct zk_port *zk = &watch->membership->ports->zk;
    uint64_t *next_op = &watch->membership->next_op;
    if (!watch->is_following) { return; }
    roster_tick(&watch->roster, zk, next_op, now_ms);
    znode_watch_tick(&watch->assignment_watch, zk, next_op, now_ms);
}

uint64_t worker_watch_deadline_ms(const struct worker_watch *watch)
{
    if (!watch->is_following) { return UINT64_MAX; }
    return u64_min(roster_deadline_ms(&watch->roster),
                   znode_watch_deadline_ms(&watch->assignment_watch));
}

bool worker_watch_is_awaited(const struct worker_watch *watch, const struct slice_set *owned)
{
    const struct run *run = &watch->membership->run;
    if (!watch->membership->has_run) { return false; }
    if (run->phase != RUN_RUNNING && run->phase != RUN_STOPPING) { return false; }
    return !watch->is_following || slice_set_count(owned) > 0;
}
