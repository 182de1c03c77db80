#include "ps/ps_peers.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

void ps_peers_init(struct ps_peers *peers, bool needed, uint32_t index, uint32_t count,
                   const struct transport_port *transport)
{
    assert(index < count);
    peers->needed = needed && count > 1;
    peers->index = index;
    links_init(&peers->links, count, transport);
}

/* Start watching the roster, once there is a session. */
static void follow(struct ps_peers *peers, struct membership *membership, uint64_t now_ms)
{
    if (membership->session == 0) { return; }
    peers->is_following = true;
    const struct task_counts tasks = {.of = {[ROLE_PS] = peers->links.count}};
    roster_start(&peers->roster, membership->identity.cluster, &tasks, &membership->ports->zk,
                 &membership->next_op, now_ms);
}

void ps_peers_handle_zk(struct ps_peers *peers, const struct zk_event *event,
                        struct membership *membership, uint64_t now_ms)
{
    if (!peers->needed) { return; }
    if (!peers->is_following) {
        follow(peers, membership, now_ms);
        return;
    }
    int ps =
        roster_handle(&peers->roster, event, &membership->ports->zk, &membership->next_op, now_ms);
    if (ps < 0 || (uint32_t)ps == peers->index) { return; }
    const struct roster_entry *entry = &peers->roster.entries[ps];
    (void)links_set_member(&peers->links, (uint32_t)ps, entry->present ? &entry->member : NULL,
                           now_ms);
}

int ps_peers_handle_transport(struct ps_peers *peers, const struct transport_event *event,
                              uint64_t now_ms)
{
    int ps = peers->needed ? links_find(&peers->links, event->conn) : -1;
    if (ps < 0) { return -1; }
    uint32_t index = (uint32_t)ps;
    if (event->type == TRANSPORT_OPENED) {
        links_opened(&peers->links, index);
        links_confirmed(&peers->links, index);
        return ps;
    }
    if (event->type == TRANSPORT_CLOSED) {
        if (links_closed(&peers->links, index, event->status, now_ms)) {
            log_info("lost the connection to ps:%" PRIu32 " at %s: %s", index,
                     peers->links.items[index].address, tanist_strerror(event->status));
        }
    }
    return -1;
}

void ps_peers_tick(struct ps_peers *peers, struct membership *membership, uint64_t now_ms)
{
    if (!peers->needed || !peers->is_following) { return; }
    roster_tick(&peers->roster, &membership->ports->zk, &membership->next_op, now_ms);
    links_tick(&peers->links, now_ms);
}

/* When a line about the present wait is due. */
static uint64_t log_due_ms(const struct ps_peers *peers)
{
    if (peers->waiting_since_ms == 0) { return UINT64_MAX; }
    return u64_max(peers->waiting_since_ms, peers->logged_at_ms) + PS_PEERS_WAIT_LOG_MS;
}

uint64_t ps_peers_deadline_ms(const struct ps_peers *peers)
{
    if (!peers->needed || !peers->is_following) { return UINT64_MAX; }
    uint64_t first = u64_min(roster_deadline_ms(&peers->roster), log_due_ms(peers));
    return u64_min(first, links_deadline_ms(&peers->links));
}

conn_id ps_peers_conn(const struct ps_peers *peers, uint32_t index)
{
    assert(index < peers->links.count && index != peers->index);
    const struct link *link = &peers->links.items[index];
    return link->open ? link->conn : (conn_id){0};
}

void ps_peers_await(struct ps_peers *peers, uint64_t awaited, uint64_t step, uint64_t now_ms)
{
    if (awaited == 0) {
        peers->waiting_since_ms = 0;
        return;
    }
    if (peers->waiting_since_ms == 0) { peers->waiting_since_ms = now_ms; }
    if (now_ms < log_due_ms(peers)) { return; }
    uint32_t ps = (uint32_t)__builtin_ctzll(awaited);
    log_info("waiting for ps:%" PRIu32 " for %" PRIu64
             " s: its part of the norm of the gradient of step=%" PRIu64,
             ps, (now_ms - peers->waiting_since_ms) / 1000, step);
    peers->logged_at_ms = now_ms;
}
