#include "common/net/slots.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "counts in shared memory need no lock");

/* Values begin at the line of a page that their header names, so that their pages can replace those
 * of an array that begins there, too. Bodies that a kernel walks in step do not all begin a page,
 * as they would compete for the same sets of the cache. */
static uint8_t *slots_place(uint8_t *bytes, unsigned slot, const struct frame_header *header)
{
    const bool is_values = header->type == FRAME_VALUES;
    const unsigned line = is_values ? header->first % SLOT_PAGE_LINES : 1 + 13 * slot;
    return bytes + (size_t)slot * SLOT_APART_BYTES + (size_t)line * SLOT_LINE_BYTES;
}

unsigned slots_put(struct slots_sender *sender, const struct frame_header *header, const void *body)
{
    const size_t bytes = header->body_bytes;
    assert(sender->shared != NULL);
    if (bytes < SLOT_LEAST_BYTES || bytes > SLOT_BYTES) { return 0; }
    for (unsigned i = 0; i < SLOTS; i++) {
        /* Acquire: the receiver's reads happened before. */
        const uint32_t returned =
            atomic_load_explicit(&sender->shared->slots[i].returned, memory_order_acquire);
        if (returned != sender->lent[i]) { continue; }
        sender->lent[i]++;
        memcpy(slots_place(sender->bytes, i, header), body, bytes);
        return i + 1;
    }
    return 0;
}

void *slots_take(struct slots_receiver *receiver, const struct frame_header *header)
{
    const unsigned number = header->slot;
    const size_t bytes = header->body_bytes;
    assert(receiver->shared != NULL);
    if (number < 1 || number > SLOTS || bytes < SLOT_LEAST_BYTES || bytes > SLOT_BYTES) {
        return NULL;
    }
    const unsigned i = number - 1;
    const uint32_t taken = atomic_load(&receiver->taken[i]);
    if (taken != atomic_load(&receiver->returned[i])) { return NULL; }
    atomic_store(&receiver->taken[i], taken + 1);
    return slots_place(receiver->bytes, i, header);
}

void slots_return(struct slots_receiver *receiver, unsigned number)
{
    assert(number >= 1 && number <= SLOTS);
    const unsigned i = number - 1;
    const uint32_t taken = atomic_load(&receiver->taken[i]);
    assert(taken - atomic_load(&receiver->returned[i]) == 1);
    /* In this order: the sender may lend the slot as soon as it sees the return. */
    atomic_store(&receiver->returned[i], taken);
    atomic_store_explicit(&receiver->shared->slots[i].returned, taken, memory_order_release);
}
