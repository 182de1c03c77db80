#include "common/net/lane.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory_file.h"

_Static_assert(2 * sizeof(struct ring_shared) <= LANE_HEADS_BYTES, "the heads fit");
_Static_assert((LANE_RING_BYTES & (LANE_RING_BYTES - 1)) == 0, "a power of two");

/* The first ring leads from the accepting end to the dialing one. */
static void place_rings(struct lane *lane, bool accepting)
{
    struct ring_shared *heads = lane->memory;
    uint8_t *bytes = (uint8_t *)lane->memory + LANE_HEADS_BYTES;
    const unsigned out = accepting ? 0 : 1, in = 1 - out;
    lane->out = (struct ring_producer){
        .shared = &heads[out],
        .bytes = bytes + (size_t)out * LANE_RING_BYTES,
        .capacity = LANE_RING_BYTES,
    };
    lane->in = (struct ring_consumer){
        .shared = &heads[in],
        .bytes = bytes + (size_t)in * LANE_RING_BYTES,
        .capacity = LANE_RING_BYTES,
    };
}

int lane_create(struct lane *lane, int bell_fd)
{
    *lane = (struct lane){0};
    lane->peer = memory_file_map(bell_fd, BELL_BYTES);
    if (lane->peer == NULL) { return -1; }
    int fd = memory_file_create("tanist-lane", LANE_BYTES, &lane->memory);
    if (fd < 0) {
        const int cause = errno;
        lane_close(lane);
        errno = cause;
        return -1;
    }
    place_rings(lane, true);
    return fd;
}

bool lane_open(struct lane *lane, int fd, int bell_fd)
{
    *lane = (struct lane){0};
    lane->peer = memory_file_map(bell_fd, BELL_BYTES);
    if (lane->peer != NULL) { lane->memory = memory_file_map(fd, LANE_BYTES); }
    if (lane->memory == NULL) {
        const int cause = errno;
        lane_close(lane);
        errno = cause;
        return false;
    }
    place_rings(lane, false);
    return true;
}

void lane_close(struct lane *lane)
{
    if (lane->memory != NULL) { (void)munmap(lane->memory, LANE_BYTES); }
    if (lane->peer != NULL) { (void)munmap(lane->peer, BELL_BYTES); }
    *lane = (struct lane){0};
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
    if (valid && *sent > 0) { bell_ring(lane->peer, *sent < total(pieces, count)); }
    return valid;
}

bool lane_receive(struct lane *lane, const struct iovec *places, unsigned count, size_t *received)
{
    assert(lane->memory != NULL && lane->peer != NULL);
    const bool valid = ring_read(&lane->in, places, count, received);
    if (valid && ring_takes_space_request(&lane->in)) { bell_ring(lane->peer, true); }
    return valid;
}
