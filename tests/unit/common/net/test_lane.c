/* The memory of a lane, seen from both of its ends, and frames whose bodies are in its slots. */
#include "common/net/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory_file.h"
#include "common/net/frame_reader.h"
#include "common/net/frame_writer.h"

enum { CLUSTER = 3, BODY = 40000 };

static struct doorbell doorbells[2];
static struct lane ends[2]; /* The accepting end, the dialing end. */
static struct buffer_pool *pool;
static struct frame_writer writer; /* Sends through the accepting end. */
static struct frame_reader reader; /* Receives at the dialing end. */

static int begin(void **state)
{
    (void)state;
    assert_true(doorbell_open(&doorbells[0], true) && doorbell_open(&doorbells[1], true));
    int fd = lane_create(&ends[0], doorbells[1].fd);
    assert_true(fd >= 0);
    assert_true(lane_open(&ends[1], fd, doorbells[0].fd));
    close(fd);
    pool = buffer_pool_create(0);
    writer = (struct frame_writer){.lane = &ends[0]};
    assert_int_equal(frame_reader_init(&reader, pool, CLUSTER, WIRE_CHUNK_BYTES), TN_OK);
    reader.lane = &ends[1];
    return 0;
}

static int end(void **state)
{
    (void)state;
    frame_writer_destroy(&writer);
    frame_reader_destroy(&reader);
    lane_close(&ends[0]);
    lane_close(&ends[1]);
    doorbell_close(&doorbells[0]);
    doorbell_close(&doorbells[1]);
    buffer_pool_destroy(pool); /* Asserts that no buffer is missing. */
    return 0;
}

static void queue(enum frame_type type, size_t bytes, int contents)
{
    struct buffer *body = buffer_acquire(pool, bytes);
    memset(body->data, contents, bytes);
    const struct frame_header header = {.type = (uint8_t)type, .cluster = CLUSTER};
    assert_int_equal(frame_writer_push(&writer, &header, body), TN_OK);
}

/* Send all that waits. Returns the bytes that travelled through the ring. */
static size_t send_all(void)
{
    struct iovec pieces[FRAME_WRITER_PIECES];
    unsigned count;
    size_t sent, all = 0;
    while ((count = frame_writer_gather(&writer, pieces)) > 0) {
        assert_true(lane_send(&ends[0], pieces, count, &sent));
        frame_writer_sent(&writer, sent);
        all += sent;
    }
    return all;
}

/* The next frame at the other end. NULL: there is none. */
static struct buffer *receive(void)
{
    for (;;) {
        bool complete;
        struct frame_header header;
        struct buffer *body = NULL;
        assert_int_equal(frame_reader_next(&reader, &complete, &header, &body, NULL), TN_OK);
        if (complete) { return body; }
        struct iovec places[FRAME_READER_SPACES];
        const unsigned count = frame_reader_space(&reader, places);
        size_t received;
        assert_true(lane_receive(&ends[1], places, count, &received));
        if (received == 0) { return NULL; }
        frame_reader_received(&reader, received);
    }
}

static void assert_contents(const struct buffer *body, size_t bytes, int contents)
{
    assert_non_null(body);
    assert_int_equal(body->size, bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (((const uint8_t *)body->data)[i] != contents) { fail_msg("byte %zu differs", i); }
    }
}

/* A gradient and values are used where the sender has put them; only headers go through the
 * ring. */
static void large_bodies_do_not_pass_the_ring(void **state)
{
    (void)state;
    queue(FRAME_PUSH, BODY, 1);
    queue(FRAME_VALUES, BODY, 2);
    assert_int_equal(send_all(), 2 * WIRE_HEADER_BYTES);
    struct buffer *first = receive(), *second = receive();
    assert_contents(first, BODY, 1);
    assert_contents(second, BODY, 2);
    buffer_release(first);
    buffer_release(second);
}

/* Bodies that something decodes are copied before, and small ones as well. */
static void other_bodies_pass_the_ring(void **state)
{
    (void)state;
    queue(FRAME_LOSSES, BODY, 1);
    queue(FRAME_PUSH, SLOT_LEAST_BYTES - 4, 2);
    assert_int_equal(send_all(), 2 * WIRE_HEADER_BYTES + BODY + SLOT_LEAST_BYTES - 4);
    struct buffer *first = receive(), *second = receive();
    assert_contents(first, BODY, 1);
    assert_contents(second, SLOT_LEAST_BYTES - 4, 2);
    buffer_release(first);
    buffer_release(second);
}

/* While the receiver holds all slots, further bodies arrive through the ring, in order. */
static void bodies_beyond_the_slots_pass_the_ring(void **state)
{
    (void)state;
    struct buffer *bodies[SLOTS + 2];
    for (int i = 0; i < SLOTS + 2; i++) {
        queue(FRAME_PUSH, BODY, i);
        assert_int_equal(send_all(), WIRE_HEADER_BYTES + (i < SLOTS ? 0 : BODY));
        bodies[i] = receive();
    }
    for (int i = 0; i < SLOTS + 2; i++) { assert_contents(bodies[i], BODY, i); }
    buffer_release(bodies[1]);
    queue(FRAME_PUSH, BODY, 77);
    assert_int_equal(send_all(), WIRE_HEADER_BYTES);
    bodies[1] = receive();
    assert_contents(bodies[1], BODY, 77);
    for (int i = 0; i < SLOTS + 2; i++) { buffer_release(bodies[i]); }
}

/* The chunks of a long body are in slots of their own, and the last one releases the body. */
static void chunks_of_a_body_have_slots(void **state)
{
    (void)state;
    queue(FRAME_PUSH, (size_t)WIRE_CHUNK_BYTES + BODY, 5);
    assert_int_equal(send_all(), 2 * WIRE_HEADER_BYTES);
    struct buffer *first = receive(), *second = receive();
    assert_contents(first, BODY, 5); /* T9: the last chunk comes first. */
    assert_contents(second, WIRE_CHUNK_BYTES, 5);
    buffer_release(first);
    buffer_release(second);
}

/* A body stays as it was when both ends have closed, as if the sender had died. */
static void body_outlives_the_lane(void **state)
{
    (void)state;
    queue(FRAME_PUSH, BODY, 9);
    (void)send_all();
    struct buffer *body = receive();
    frame_reader_reset(&reader);
    lane_close(&ends[0]);
    lane_close(&ends[1]);
    assert_contents(body, BODY, 9);
    buffer_release(body);
}

/* A frame whose body was copied but whose header was not sent does not exist. */
static void body_without_a_header_is_not_seen(void **state)
{
    (void)state;
    const uint8_t bytes[BODY] = {1};
    struct frame_header header = {.type = FRAME_PUSH, .body_bytes = sizeof bytes};
    assert_true(lane_put_body(&ends[0], &header, bytes));
    assert_int_equal(header.slot, 1);
    assert_null(receive());
}

static void send_again(struct buffer *body)
{
    const struct frame_header header = {.type = FRAME_PUSH, .cluster = CLUSTER};
    assert_int_equal(frame_writer_push(&writer, &header, buffer_retain(body)), TN_OK);
    assert_int_equal(send_all(), WIRE_HEADER_BYTES);
}

/* A gradient is received where it was written, and can be sent again: in place once it was
 * returned, from a copy before. */
static void gradient_is_sent_in_place(void **state)
{
    (void)state;
    struct buffer *place = lane_reserve_body(&ends[0], 5, BODY);
    assert_non_null(place);
    assert_int_equal((uintptr_t)place->data % 4096, 5 * 64);
    assert_int_not_equal(place->memory, 0);
    assert_null(lane_reserve_body(&ends[0], 5, BODY));
    memset(place->data, 1, BODY);
    send_again(place);
    struct buffer *first = receive();
    assert_contents(first, BODY, 1);
    send_again(place);
    struct buffer *second = receive();
    assert_contents(second, BODY, 1);
    memset(place->data, 2, BODY); /* Only to see which one is in place. */
    assert_contents(first, BODY, 2);
    assert_contents(second, BODY, 1);
    buffer_release(first);
    buffer_release(second);
    send_again(place);
    first = receive();
    assert_contents(first, BODY, 2);
    buffer_release(first);
    buffer_release(place);
}

/* The gradient stays as it is until both ends use it no longer, also when the lane has closed. */
static void place_is_kept_for_both_ends(void **state)
{
    (void)state;
    struct buffer *place = lane_reserve_body(&ends[0], 0, BODY);
    memset(place->data, 3, BODY);
    send_again(place);
    struct buffer *body = receive();
    buffer_release(place);
    assert_null(lane_reserve_body(&ends[0], 0, BODY)); /* The receiver uses it. */
    buffer_release(body);
    place = lane_reserve_body(&ends[0], 0, BODY);
    assert_non_null(place);
    memset(place->data, 4, BODY);
    for (int i = 0; i < SLOTS + 1; i++) {
        queue(FRAME_PUSH, BODY, 9);
        (void)send_all();
        buffer_release(receive());
    }
    frame_reader_reset(&reader);
    lane_close(&ends[0]);
    lane_close(&ends[1]);
    assert_contents(place, BODY, 4);
    buffer_release(place);
}

static void receive_fault(struct frame_header header)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct iovec piece = {bytes, sizeof bytes}, places[FRAME_READER_SPACES];
    struct error error;
    struct buffer *body;
    bool complete;
    size_t sent, received;
    header.type = FRAME_PUSH;
    header.cluster = CLUSTER;
    wire_encode_header(&header, bytes);
    assert_true(lane_send(&ends[0], &piece, 1, &sent));
    const unsigned count = frame_reader_space(&reader, places);
    assert_true(lane_receive(&ends[1], places, count, &received));
    frame_reader_received(&reader, received);
    assert_int_equal(frame_reader_next(&reader, &complete, &header, &body, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, "slot"));
    frame_reader_reset(&reader);
    reader.lane = &ends[1];
}

/* A header that names a slot that does not exist, is too small, or is in use is an error; so is one
 * that names a slot on a stream without any. */
static void impossible_slots_are_errors(void **state)
{
    (void)state;
    receive_fault((struct frame_header){.slot = SLOTS + 1, .body_bytes = BODY});
    receive_fault((struct frame_header){.slot = 1, .body_bytes = 0});
    queue(FRAME_PUSH, BODY, 1);
    (void)send_all();
    struct buffer *body = receive();
    assert_null(receive()); /* Nothing is left in the stage. */
    receive_fault((struct frame_header){.slot = 1, .body_bytes = BODY});
    buffer_release(body);
    reader.lane = NULL;
    receive_fault((struct frame_header){.slot = 1, .body_bytes = BODY});
}

/* Values in memory that both ends have are used there: only the header travels. Others, and
 * gradients, are put into slots. */
static void values_are_lent(void **state)
{
    (void)state;
    static _Atomic uint64_t lent;
    const size_t bytes = 4 * buffer_slot_bytes(BODY);
    void *memory;
    uint64_t offset, size;
    struct loan_memory offered = {.bytes = bytes, .lent = &lent};
    offered.fd = memory_file_create("test-lane", bytes, &memory);
    offered.memory = memory;
    offered.pool = buffer_pool_of_slots(memory, BODY, 4);
    struct loans *loans = loans_open(&offered);
    int fd = lane_offer_loans(&ends[0], loans);
    loans_range(loans, &offset, &size);
    assert_true(lane_accept_loans(&ends[1], fd, offset, size) && lane_can_borrow(&ends[1]));
    close(fd);
    ends[0].lends = true;
    struct buffer *values = buffer_acquire_line(offered.pool, BODY, 5);
    memset(values->data, 4, BODY);
    const struct frame_header header = {.type = FRAME_VALUES, .cluster = CLUSTER};
    assert_int_equal(frame_writer_push(&writer, &header, buffer_retain(values)), TN_OK);
    queue(FRAME_VALUES, BODY, 2);
    queue(FRAME_PUSH, BODY, 3);
    assert_int_equal(send_all(), 3 * WIRE_HEADER_BYTES);
    struct buffer *bodies[3] = {receive(), receive(), receive()};
    assert_contents(bodies[0], BODY, 4);
    ((uint8_t *)values->data)[7] = 9;
    assert_int_equal(((uint8_t *)bodies[0]->data)[7], 9);
    assert_int_equal((uintptr_t)bodies[0]->data % 4096, 5 * 64);
    assert_contents(bodies[1], BODY, 2);
    assert_contents(bodies[2], BODY, 3);
    for (int i = 0; i < 3; i++) { buffer_release(bodies[i]); }
    assert_false(buffer_is_exclusive(values));
    lane_collect_loans(&ends[0]);
    assert_true(buffer_is_exclusive(values));
    buffer_release(values);
    lane_close(&ends[0]);
    loans_close(loans);
    buffer_pool_destroy(offered.pool);
    (void)munmap(memory, bytes);
    close(offered.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_bodies_do_not_pass_the_ring, begin, end),
        cmocka_unit_test_setup_teardown(other_bodies_pass_the_ring, begin, end),
        cmocka_unit_test_setup_teardown(bodies_beyond_the_slots_pass_the_ring, begin, end),
        cmocka_unit_test_setup_teardown(chunks_of_a_body_have_slots, begin, end),
        cmocka_unit_test_setup_teardown(body_outlives_the_lane, begin, end),
        cmocka_unit_test_setup_teardown(gradient_is_sent_in_place, begin, end),
        cmocka_unit_test_setup_teardown(place_is_kept_for_both_ends, begin, end),
        cmocka_unit_test_setup_teardown(body_without_a_header_is_not_seen, begin, end),
        cmocka_unit_test_setup_teardown(impossible_slots_are_errors, begin, end),
        cmocka_unit_test_setup_teardown(values_are_lent, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
