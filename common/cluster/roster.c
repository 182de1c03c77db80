#include "common/cluster/roster.h"

#include <assert.h>

#include "common/base/log.h"

static void add_seats(struct roster *roster, enum role role, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(roster->count < TASKS_MAX);
        roster->seats[roster->count++] = (struct roster_seat){.task = {.role = role, .index = i}};
    }
}

void roster_start(struct roster *roster, const char *cluster, uint32_t ps, uint32_t workers,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    assert(ps <= PS_MAX && workers <= WORKERS_MAX);
    roster->count = 0;
    add_seats(roster, ROLE_PS, ps);
    add_seats(roster, ROLE_WORKER, workers);
    for (uint32_t i = 0; i < roster->count; i++) {
        char path[256];
        znode_member_path(path, cluster, roster->seats[i].task);
        mirror_start(&roster->seats[i].mirror, MIRROR_DATA, path, zk, next_op, now_ms);
    }
}

/* Whether the seat changed by what was read of it. */
static bool seat_read(struct roster_seat *seat, const struct zk_event *event)
{
    struct member member;
    struct error error;
    if (member_decode(event->data, event->size, &member, &error) != TN_OK) {
        log_warn("%s: %s; ignored", event->path, error.text);
        return false;
    }
    if (!task_equal(member.task, seat->task)) {
        log_warn("%s names another task; ignored", event->path);
        return false;
    }
    bool changed = !seat->present || member.incarnation != seat->member.incarnation;
    seat->present = true;
    seat->member = member;
    return changed;
}

int roster_handle(struct roster *roster, const struct zk_event *event, const struct zk_port *zk,
                  uint64_t *next_op, uint64_t now_ms)
{
    int changed = -1;
    for (uint32_t i = 0; i < roster->count; i++) {
        struct roster_seat *seat = &roster->seats[i];
        switch (mirror_handle(&seat->mirror, event, zk, next_op, now_ms)) {
        case MIRROR_NOTHING: break;
        case MIRROR_PRESENT:
            if (seat_read(seat, event)) { changed = (int)i; }
            break;
        case MIRROR_ABSENT:
            if (seat->present) { changed = (int)i; }
            seat->present = false;
            break;
        }
    }
    return changed;
}

void roster_tick(struct roster *roster, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms)
{
    for (uint32_t i = 0; i < roster->count; i++) {
        mirror_tick(&roster->seats[i].mirror, zk, next_op, now_ms);
    }
}

uint64_t roster_deadline_ms(const struct roster *roster)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < roster->count; i++) {
        uint64_t deadline = mirror_deadline_ms(&roster->seats[i].mirror);
        if (deadline < first) { first = deadline; }
    }
    return first;
}
