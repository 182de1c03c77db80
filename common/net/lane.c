#include "common/net/lane.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory_file.h"
#include "common/base/minmax.h"

/* A body in use: what its release needs. */
struct lane_lease {
    struct lane_memory *memory;
    unsigned slot;
};

struct lane_memory {
    void *bytes;     /* LANE_BYTES. */
    uint64_t number; /* In this process, from 1 on; never used again. */
    _Atomic uint32_t references;
    struct slots_sender sent;
    struct slots_receiver bodies;
    struct borrower borrower;
    struct lane_lease leases[SLOTS + LOANS]; /* Loans behind the slots. */
};

/* At the beginning of the memory. The first of each leads from the accepting end to the dialing
 * one. */
struct heads {
    struct ring_shared rings[2];
    struct slots_shared slots[2];
    _Alignas(64) struct loans_shared loans; /* The accepting end lends. */
};

_Static_assert(sizeof(struct heads) <= LANE_HEADS_BYTES, "the heads fit");
_Static_assert((LANE_RING_BYTES & (LANE_RING_BYTES - 1)) == 0, "a power of two");

static _Atomic uint64_t memories; /* Allocated in this process so far. */

static void release(struct lane_memory *memory)
{
    if (atomic_fetch_sub(&memory->references, 1) > 1) { return; }
    borrower_unmap(&memory->borrower);
    (void)munmap(memory->bytes, LANE_BYTES);
    free(memory);
}

static void place_parts(struct lane *lane, bool accepting)
{
    struct lane_memory *memory = lane->memory;
    struct heads *heads = memory->bytes;
    uint8_t *rings = (uint8_t *)memory->bytes + LANE_HEADS_BYTES;
    uint8_t *slots = rings + 2 * (size_t)LANE_RING_BYTES;
    const unsigned out = accepting ? 0 : 1, in = 1 - out;
    lane->out = (struct ring_producer){
        .shared = &heads->rings[out],
        .bytes = rings + (size_t)out * LANE_RING_BYTES,
        .capacity = LANE_RING_BYTES,
    };
    lane->in = (struct ring_consumer){
        .shared = &heads->rings[in],
        .bytes = rings + (size_t)in * LANE_RING_BYTES,
        .capacity = LANE_RING_BYTES,
    };
    memory->sent.shared = &heads->slots[out];
    memory->sent.bytes = slots + (size_t)out * SLOTS_BYTES;
    memory->bodies.shared = &heads->slots[in];
    memory->bodies.bytes = slots + (size_t)in * SLOTS_BYTES;
}

/* The lane's reference to its memory, which is not mapped yet. */
static bool allocate(struct lane *lane)
{
    lane->memory = calloc(1, sizeof *lane->memory);
    if (lane->memory == NULL) { return false; }
    lane->memory->references = 1;
    lane->memory->number = 1 + atomic_fetch_add(&memories, 1);
    for (unsigned i = 0; i < SLOTS + LOANS; i++) {
        lane->memory->leases[i] = (struct lane_lease){lane->memory, i + 1};
    }
    return true;
}

/* Close an incomplete lane; errno stays. */
static void give_up(struct lane *lane)
{
    const int cause = errno;
    if (lane->memory != NULL && lane->memory->bytes == NULL) {
        free(lane->memory);
        lane->memory = NULL;
    }
    lane_close(lane);
    errno = cause;
}

int lane_create(struct lane *lane, int doorbell_fd)
{
    *lane = (struct lane){0};
    int fd = -1;
    lane->peer = memory_file_map(doorbell_fd, DOORBELL_BYTES);
    if (lane->peer != NULL && allocate(lane)) {
        fd = memory_file_create("tanist-lane", LANE_BYTES, &lane->memory->bytes);
    }
    if (fd < 0) {
        give_up(lane);
        return -1;
    }
    place_parts(lane, true);
    return fd;
}

bool lane_open(struct lane *lane, int fd, int doorbell_fd)
{
    *lane = (struct lane){0};
    lane->peer = memory_file_map(doorbell_fd, DOORBELL_BYTES);
    if (lane->peer != NULL && allocate(lane)) {
        lane->memory->bytes = memory_file_map(fd, LANE_BYTES);
    }
    if (lane->memory == NULL || lane->memory->bytes == NULL) {
        give_up(lane);
        return false;
    }
    place_parts(lane, false);
    return true;
}

void lane_close(struct lane *lane)
{
    if (lane->loans != NULL) { loans_leave(lane->loans); }
    if (lane->memory != NULL) { release(lane->memory); }
    if (lane->peer != NULL) { (void)munmap(lane->peer, DOORBELL_BYTES); }
    *lane = (struct lane){0};
}

uint64_t lane_used_bytes(uint64_t bytes)
{
    const uint64_t fixed = LANE_HEADS_BYTES + 2 * (uint64_t)LANE_RING_BYTES;
    if (bytes < SLOT_LEAST_BYTES) { return fixed; }
    return fixed + 2 * u64_min(bytes, (uint64_t)SLOTS * SLOT_BYTES);
}

static size_t total(const struct iovec *pieces, unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) { bytes += pieces[i].iov_len; }
    return bytes;
}

bool lane_send(struct lane *lane, const struct iovec *pieces, unsigned count, size_t *sent)
{
    assert(lane->memory != NULL && lane->peer != NULL);
    const bool valid = ring_write(&lane->out, pieces, count, sent);
    if (valid && *sent > 0) { doorbell_ring(lane->peer, *sent < total(pieces, count)); }
    return valid;
}

bool lane_receive(struct lane *lane, const struct iovec *places, unsigned count, size_t *received)
{
    assert(lane->memory != NULL && lane->peer != NULL);
    const bool valid = ring_read(&lane->in, places, count, received);
    if (valid && ring_takes_space_request(&lane->in)) { doorbell_ring(lane->peer, true); }
    return valid;
}

bool lane_put_body(struct lane *lane, struct frame_header *header, const void *body)
{
    assert(lane->memory != NULL);
    return slots_put(&lane->memory->sent, header, body);
}

static void end_reservation(void *ctx)
{
    struct lane_memory *memory = ctx;
    slots_unreserve(&memory->sent);
    release(memory);
}

struct buffer *lane_reserve_body(struct lane *lane, uint32_t line, size_t bytes)
{
    assert(lane->memory != NULL);
    struct lane_memory *memory = lane->memory;
    void *place = slots_reserve(&memory->sent, line, bytes);
    if (place == NULL) { return NULL; }
    struct buffer *buffer = buffer_wrap(place, bytes, end_reservation, memory);
    if (buffer == NULL) {
        slots_unreserve(&memory->sent);
        return NULL;
    }
    buffer->memory = memory->number;
    atomic_fetch_add(&memory->references, 1);
    return buffer;
}

static void return_body(void *ctx)
{
    const struct lane_lease *lease = ctx;
    struct lane_memory *memory = lease->memory;
    if (lease->slot > SLOTS) {
        borrower_return(&memory->borrower, lease->slot - SLOTS);
    } else {
        slots_return(&memory->bodies, lease->slot);
    }
    release(memory);
}

/* Where the body is that a header names. NULL: the peer cannot have put it there. */
static void *take_place(struct lane_memory *memory, const struct frame_header *header)
{
    if (header->slot <= SLOTS) { return slots_take(&memory->bodies, header); }
    const unsigned number = header->slot - SLOTS;
    return (void *)(uintptr_t)borrower_take(&memory->borrower, number, header->offset,
                                            header->body_bytes);
}

struct buffer *lane_take_body(struct lane *lane, const struct frame_header *header, bool *valid)
{
    assert(lane->memory != NULL);
    struct lane_memory *memory = lane->memory;
    void *body = take_place(memory, header);
    *valid = body != NULL;
    if (body == NULL) { return NULL; }
    struct lane_lease *lease = &memory->leases[header->slot - 1];
    struct buffer *buffer = buffer_wrap(body, header->body_bytes, return_body, lease);
    if (buffer == NULL) { return NULL; }
    buffer->memory = memory->number;
    atomic_fetch_add(&memory->references, 1);
    return buffer;
}

/* ---------------------------------------------------------------------- loans */

static struct loans_shared *loans_of(const struct lane *lane)
{
    return &((struct heads *)lane->memory->bytes)->loans;
}

int lane_offer_loans(struct lane *lane, struct loans *loans)
{
    int fd;
    assert(lane->memory != NULL && lane->loans == NULL);
    lane->loans = loans_join(loans, loans_of(lane), &fd);
    return fd;
}

bool lane_accept_loans(struct lane *lane, int fd, uint64_t offset, uint64_t bytes)
{
    assert(lane->memory != NULL);
    return borrower_map(&lane->memory->borrower, loans_of(lane), fd, offset, bytes);
}

bool lane_can_borrow(const struct lane *lane)
{
    return lane->memory != NULL && lane->memory->borrower.memory != NULL;
}

unsigned lane_lend_body(struct lane *lane, struct buffer *body, size_t from, size_t bytes)
{
    if (!lane->lends) { return 0; }
    assert(lane->loans != NULL);
    const unsigned number = loans_lend(lane->loans, body, from, bytes);
    return number > 0 ? SLOTS + number : 0;
}

void lane_collect_loans(struct lane *lane)
{
    if (lane->loans != NULL) { loans_collect(lane->loans); }
}
