#include "common/node/peer_links.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

void links_init(struct links *links, uint32_t count, const struct transport_port *port)
{
    assert(count >= 1 && count <= LINKS_MAX);
    *links = (struct links){.port = *port, .count = count};
    for (uint32_t i = 0; i < count; i++) { links->items[i].delay_ms = LINK_REDIAL_MS; }
}

void links_ignore(struct links *links, uint32_t index)
{
    assert(index < links->count && links->items[index].conn.v == 0);
    links->items[index].ignored = true;
}

bool links_set_member(struct links *links, uint32_t index, const struct member *member,
                      uint64_t now_ms)
{
    assert(index < links->count);
    struct link *link = &links->items[index];
    if (link->ignored) { return false; }
    link->known = member != NULL;
    if (member == NULL || member->incarnation == link->incarnation) { return false; }
    bool was_open = link->open;
    conn_id old_conn = link->conn;
    *link = (struct link){
        .known = true,
        .incarnation = member->incarnation,
        .redial_at_ms = now_ms,
        .delay_ms = LINK_REDIAL_MS,
    };
    memcpy(link->address, member->address, sizeof link->address);
    if (old_conn.v != 0) { links->port.close(links->port.ctx, old_conn); }
    return was_open;
}

int links_find(const struct links *links, conn_id conn)
{
    for (uint32_t i = 0; i < links->count; i++) {
        if (conn.v != 0 && links->items[i].conn.v == conn.v) { return (int)i; }
    }
    return -1;
}

void links_opened(struct links *links, uint32_t index)
{
    assert(index < links->count);
    assert(links->items[index].conn.v != 0);
    links->items[index].open = true;
}

bool links_closed(struct links *links, uint32_t index, enum tn_status status, uint64_t now_ms)
{
    assert(index < links->count);
    struct link *link = &links->items[index];
    bool was_open = link->open;
    link->open = false;
    link->conn = (conn_id){0};
    link->last_status = status;
    link->redial_at_ms = now_ms + link->delay_ms;
    link->delay_ms = u32_min(2 * link->delay_ms, LINK_REDIAL_MAX_MS);
    return was_open;
}

void links_reset(struct links *links, uint64_t now_ms)
{
    for (uint32_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];
        const conn_id conn = link->conn;
        link->open = false;
        link->conn = (conn_id){0};
        link->redial_at_ms = now_ms;
        link->delay_ms = LINK_REDIAL_MS;
        if (conn.v != 0) { links->port.close(links->port.ctx, conn); }
    }
}

void links_confirmed(struct links *links, uint32_t index)
{
    assert(index < links->count);
    links->items[index].delay_ms = LINK_REDIAL_MS;
}

void links_tick(struct links *links, uint64_t now_ms)
{
    for (uint32_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];
        if (!link->known || link->conn.v != 0 || now_ms < link->redial_at_ms) { continue; }
        assert(!link->open);
        link->conn = links->port.dial(links->port.ctx, link->address);
    }
}

uint64_t links_deadline_ms(const struct links *links)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < links->count; i++) {
        const struct link *link = &links->items[i];
        if (!link->known || link->conn.v != 0) { continue; }
        first = u64_min(first, link->redial_at_ms);
    }
    return first;
}
