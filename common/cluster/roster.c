#include "common/cluster/roster.h"

#include <assert.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

static void add_entries(struct roster *roster, enum role role, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(roster->count < TASKS_MAX);
        roster->entries[roster->count++] =
            (struct roster_entry){.task = {.role = role, .index = i}};
    }
}

void roster_start(struct roster *roster, const char *cluster, const struct task_counts *tasks,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    roster->count = 0;
    for (int role = 0; role < ROLE_COUNT; role++) {
        assert(tasks->of[role] <= role_limit((enum role)role));
        add_entries(roster, (enum role)role, tasks->of[role]);
    }
    for (uint32_t i = 0; i < roster->count; i++) {
        char path[ZK_PATH_MAX];
        znode_member_path(path, cluster, roster->entries[i].task);
        znode_watch_start(&roster->entries[i].watch, WATCH_DATA, path, zk, next_op, now_ms);
    }
}

/* Whether the read changed the entry. */
static bool entry_read(struct roster_entry *entry, const struct zk_event *event)
{
    struct member member;
    struct error error;
    if (member_decode(event->data, event->size, &member, &error) != TN_OK) {
        log_warn("%s: %s; ignored", event->path, error.text);
        return false;
    }
    if (!task_equal(member.task, entry->task)) {
        log_warn("%s has another task; ignored", event->path);
        return false;
    }
    bool changed = !entry->present || member.incarnation != entry->member.incarnation;
    entry->present = true;
    entry->member = member;
    return changed;
}

int roster_handle(struct roster *roster, const struct zk_event *event, const struct zk_port *zk,
                  uint64_t *next_op, uint64_t now_ms)
{
    assert(roster->count <= TASKS_MAX);
    int changed = -1;
    for (uint32_t i = 0; i < roster->count; i++) {
        struct roster_entry *entry = &roster->entries[i];
        switch (znode_watch_handle(&entry->watch, event, zk, next_op, now_ms)) {
        case WATCH_NOTHING: break;
        case WATCH_PRESENT:
            if (entry_read(entry, event)) { changed = (int)i; }
            break;
        case WATCH_ABSENT:
            if (entry->present) { changed = (int)i; }
            entry->present = false;
            break;
        }
    }
    return changed;
}

void roster_tick(struct roster *roster, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms)
{
    assert(roster->count <= TASKS_MAX);
    for (uint32_t i = 0; i < roster->count; i++) {
        znode_watch_tick(&roster->entries[i].watch, zk, next_op, now_ms);
    }
}

uint64_t roster_deadline_ms(const struct roster *roster)
{
    assert(roster->count <= TASKS_MAX);
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < roster->count; i++) {
        first = u64_min(first, znode_watch_deadline_ms(&roster->entries[i].watch));
    }
    return first;
}
