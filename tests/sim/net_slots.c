/* Memory that a ps and a worker share (T10): slots for values and gradients, and pages of slots
 * that are in an array of the worker, too. A slot changes with all its pages as soon as it is
 * neither lent nor reserved, because its owner may fill it again at once. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/net_model_private.h"

enum { PAGE_BYTES = NET_PAGE_BYTES };

struct net_slot {
    struct net_model *net;
    bool lent; /* From the moment at which it is filled until its receiver returns it. */
    bool reserved;
    uint64_t number;
    size_t capacity;
    uint8_t *bytes;
};

struct net_alias {
    struct net_alias *next;
    const struct net_slot *slot;         /* NULL: the pages are lent. */
    const struct net_borrower *borrower; /* To this one. */
    const uint8_t *from;
    size_t bytes;
    uint8_t *to;
    bool writable;
};

static struct net_slot *make_slot(struct net_model *net, size_t size)
{
    const size_t capacity = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    struct net_slot *slot = calloc(1, sizeof *slot);
    net->slots = realloc(net->slots, (net->slot_count + 1) * sizeof(struct net_slot *));
    assert(slot != NULL && net->slots != NULL);
    *slot = (struct net_slot){.net = net,
                              .number = net->slot_count + 1,
                              .capacity = capacity,
                              .bytes = aligned_alloc(PAGE_BYTES, capacity)};
    assert(slot->bytes != NULL);
    net->slots[net->slot_count++] = slot;
    return slot;
}

/* The pages of the slot are in arrays, too. */
static void write_through(const struct net_slot *slot)
{
    for (const struct net_alias *at = slot->net->aliases; at != NULL; at = at->next) {
        if (at->slot == slot) { memcpy(at->to, at->from, at->bytes); }
    }
}

struct net_slot *net_slots_put(struct net_link *link, const struct frame_header *header,
                               const void *body, size_t size)
{
    struct net_model *net = link->net;
    if (!link->lane || header->type != FRAME_VALUES || size < PAGE_BYTES) { return NULL; }
    for (unsigned i = 0; i < SLOTS; i++) {
        struct net_slot **place = &link->slots[i];
        if (*place == NULL) { *place = make_slot(net, size); }
        struct net_slot *slot = *place;
        if (slot->lent || size > slot->capacity) { continue; }
        slot->lent = true;
        memcpy(slot->bytes, body, size);
        write_through(slot);
        return slot;
    }
    return NULL;
}

static void overwrite_free(const struct net_slot *slot)
{
    if (slot->lent || slot->reserved) { return; }
    memset(slot->bytes, 0xff, slot->capacity); /* Not numbers. */
    write_through(slot);
}

static void return_slot(void *ctx)
{
    struct net_slot *slot = ctx;
    assert(slot->lent);
    slot->lent = false;
    overwrite_free(slot);
}

static void unreserve_slot(void *ctx)
{
    struct net_slot *slot = ctx;
    assert(slot->reserved);
    slot->reserved = false;
    overwrite_free(slot);
}

struct buffer *net_slots_reserve(struct net_link *link, size_t size)
{
    if (!link->lane || size < PAGE_BYTES) { return NULL; }
    if (link->reservable == NULL) { link->reservable = make_slot(link->net, size); }
    struct net_slot *slot = link->reservable;
    if (slot->lent || slot->reserved || size > slot->capacity) { return NULL; }
    slot->reserved = true;
    struct buffer *body = buffer_wrap(slot->bytes, size, unreserve_slot, slot);
    assert(body != NULL);
    body->memory = slot->number;
    return body;
}

void net_slots_read_through(struct net_model *net, const struct buffer *body)
{
    if (body == NULL || body->memory == 0 || body->memory >= NET_LENT_MEMORY) { return; }
    struct net_slot *slot = net->slots[body->memory - 1];
    for (const struct net_alias *at = net->aliases; at != NULL; at = at->next) {
        if (at->slot != slot || !at->writable) { continue; }
        memcpy(slot->bytes + (at->from - slot->bytes), at->to, at->bytes);
    }
}

struct net_slot *net_slots_lend(struct net_link *link, const struct buffer *body)
{
    struct net_slot *slot = link->reservable;
    if (slot == NULL || body->memory != slot->number || slot->lent) { return NULL; }
    assert(slot->reserved);
    slot->lent = true;
    return slot;
}

struct buffer *net_slots_take(struct net_slot *slot, size_t size)
{
    assert(slot->lent);
    struct buffer *body = buffer_wrap(slot->bytes, size, return_slot, slot);
    assert(body != NULL);
    body->memory = slot->number;
    return body;
}

/* The pages at `to` no longer belong to a slot. */
static void remove_aliases(struct net_model *net, const uint8_t *to, size_t bytes)
{
    for (struct net_alias **at = &net->aliases; *at != NULL;) {
        struct net_alias *alias = *at;
        if (alias->to + alias->bytes <= to || alias->to >= to + bytes) {
            at = &alias->next;
            continue;
        }
        *at = alias->next;
        free(alias);
    }
}

static bool alias(void *ctx, const struct buffer *body, size_t offset, void *to, size_t bytes,
                  bool writable)
{
    struct net_model *net = ctx;
    const bool lent = body->memory >= NET_LENT_MEMORY;
    assert(lent || (body->memory >= 1 && body->memory <= net->slot_count));
    assert(offset + bytes <= body->size && (uintptr_t)to % PAGE_BYTES == 0);
    struct net_alias *made = calloc(1, sizeof *made);
    assert(made != NULL);
    remove_aliases(net, to, bytes);
    *made = (struct net_alias){.next = net->aliases,
                               .from = (const uint8_t *)body->data + offset,
                               .bytes = bytes,
                               .to = to,
                               .writable = writable};
    if (lent) {
        made->borrower = net->links[(body->memory - NET_LENT_MEMORY - 1) / 2]->borrower;
    } else {
        made->slot = net->slots[body->memory - 1];
    }
    net->aliases = made;
    memcpy(to, made->from, bytes);
    return true;
}

static bool unalias(void *ctx, void *to, size_t bytes)
{
    remove_aliases(ctx, to, bytes);
    return true;
}

/* --------------------------------------------------------- pages of lent memory */

bool net_slots_has_pages(const struct net_model *net, const struct net_borrower *borrower)
{
    for (const struct net_alias *at = net->aliases; at != NULL; at = at->next) {
        if (at->borrower == borrower) { return true; }
    }
    return false;
}

static bool is_part(const struct net_alias *alias, const struct net_borrower *borrower,
                    const uint8_t *body, size_t bytes)
{
    return alias->borrower == borrower && alias->from >= body && alias->from < body + bytes;
}

void net_slots_show_pages(const struct net_model *net, const struct net_borrower *borrower,
                          const uint8_t *body, size_t bytes)
{
    for (const struct net_alias *at = net->aliases; at != NULL; at = at->next) {
        if (is_part(at, borrower, body, bytes)) { memcpy(at->to, at->from, at->bytes); }
    }
}

void net_slots_overwrite_pages(const struct net_model *net, const struct net_borrower *borrower,
                               const uint8_t *body, size_t bytes)
{
    for (const struct net_alias *at = net->aliases; at != NULL; at = at->next) {
        if (is_part(at, borrower, body, bytes)) { memset(at->to, 0xff, at->bytes); }
    }
}

struct memory_port net_endpoint_memory(struct net_endpoint *endpoint)
{
    return (struct memory_port){
        .ctx = endpoint->net, .page_bytes = PAGE_BYTES, .alias = alias, .unalias = unalias};
}

void net_slots_free(struct net_model *net)
{
    for (size_t i = 0; i < net->slot_count; i++) {
        free(net->slots[i]->bytes);
        free(net->slots[i]);
    }
    free(net->slots);
    while (net->aliases != NULL) {
        struct net_alias *alias = net->aliases;
        net->aliases = alias->next;
        free(alias);
    }
}
