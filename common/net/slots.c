#include "common/net/slots.h"

#include <assert.h>
#include <string.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "counts in shared memory need no lock");

static uint8_t *slots_place(uint8_t *bytes, unsigned slot, unsigned line)
{
    return bytes + (size_t)slot * SLOT_APART_BYTES +
           (size_t)(line % SLOT_PAGE_LINES) * SLOT_LINE_BYTES;
}

/* Where a body that is copied begins. Values begin at the line that their header names, so that
 * their pages can replace those of an array that begins there, too. Bodies that a kernel walks in
 * step do not all begin a page, as they would compete for the same sets of the cache. */
static unsigned line_of(const struct frame_header *header, unsigned slot)
{
    const bool is_values = header->type == FRAME_VALUES;
    return is_values ? header->first % SLOT_PAGE_LINES : 1 + 13 * slot;
}

static bool fits(size_t bytes)
{
    return bytes >= SLOT_LEAST_BYTES && bytes <= SLOT_BYTES;
}

/* Whether the receiver uses no body in the slot. */
static bool is_returned(const struct slots_sender *sender, unsigned slot)
{
    return take_count_is_free(&sender->shared->slots[slot].returned, sender->lent[slot]);
}

/* Acquire: so did the reads of the sender's own body. */
static bool is_reserved(const struct slots_sender *sender)
{
    return atomic_load_explicit(&sender->reserved, memory_order_acquire);
}

/* Whether the body begins where slots_reserve() has placed one; `*line` of a page. */
static bool is_in_place(const struct slots_sender *sender, const void *body, unsigned *line)
{
    const uintptr_t offset =
        (uintptr_t)body - (uintptr_t)slots_place(sender->bytes, SLOT_RESERVABLE, 0);
    *line = (unsigned)(offset / SLOT_LINE_BYTES);
    return is_reserved(sender) && offset < (uintptr_t)SLOT_PAGE_LINES * SLOT_LINE_BYTES &&
           offset % SLOT_LINE_BYTES == 0;
}

static void lend(struct slots_sender *sender, unsigned slot, unsigned line,
                 struct frame_header *header)
{
    sender->lent[slot]++;
    header->slot = (uint8_t)(slot + 1);
    header->line = (uint8_t)line;
}

bool slots_put(struct slots_sender *sender, struct frame_header *header, const void *body)
{
    unsigned line;
    assert(sender->shared != NULL);
    if (!fits(header->body_bytes)) { return false; }
    if (header->type == FRAME_PUSH && is_in_place(sender, body, &line) &&
        is_returned(sender, SLOT_RESERVABLE)) {
        lend(sender, SLOT_RESERVABLE, line, header);
        return true;
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        if (!is_returned(sender, i) || (i == SLOT_RESERVABLE && is_reserved(sender))) { continue; }
        line = line_of(header, i);
        lend(sender, i, line, header);
        memcpy(slots_place(sender->bytes, i, line), body, header->body_bytes);
        return true;
    }
    return false;
}

void *slots_reserve(struct slots_sender *sender, uint32_t line, size_t bytes)
{
    assert(sender->shared != NULL);
    assert(line < SLOT_PAGE_LINES);
    if (!fits(bytes) || is_reserved(sender) || !is_returned(sender, SLOT_RESERVABLE)) {
        return NULL;
    }
    atomic_store_explicit(&sender->reserved, true, memory_order_relaxed);
    return slots_place(sender->bytes, SLOT_RESERVABLE, line);
}

void slots_unreserve(struct slots_sender *sender)
{
    assert(atomic_load_explicit(&sender->reserved, memory_order_relaxed));
    atomic_store_explicit(&sender->reserved, false, memory_order_release);
}

void *slots_take(struct slots_receiver *receiver, const struct frame_header *header)
{
    const unsigned number = header->slot;
    const size_t bytes = header->body_bytes;
    assert(receiver->shared != NULL);
    if (number < 1 || number > SLOTS || !fits(bytes)) { return NULL; }
    const unsigned i = number - 1;
    if (!take_count_take(&receiver->counts[i])) { return NULL; }
    return slots_place(receiver->bytes, i, header->line);
}

void slots_return(struct slots_receiver *receiver, unsigned number)
{
    assert(number >= 1 && number <= SLOTS);
    const unsigned i = number - 1;
    take_count_return(&receiver->counts[i], &receiver->shared->slots[i].returned);
}
