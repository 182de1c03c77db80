/* A queue of frames for a stream that accepts any number of bytes at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/net/frame_writer.h"

struct bench {
    struct buffer_pool *pool;
    struct frame_writer writer;
};

static int set_up(void **state)
{
    static struct bench bench;
    bench = (struct bench){.pool = buffer_pool_create(0)};
    *state = &bench;
    return bench.pool == NULL;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    frame_writer_destroy(&bench->writer);
    buffer_pool_destroy(bench->pool); /* Asserts that every body was released. */
    return 0;
}

static enum tn_status push(struct bench *bench, uint64_t sequence, uint32_t body_bytes)
{
    struct buffer *body = NULL;
    if (body_bytes > 0) {
        body = buffer_acquire(bench->pool, body_bytes);
        memset(body->data, (int)sequence, body_bytes);
    }
    struct frame_header header = {
        .type = FRAME_PUSH, .sequence = sequence, .body_bytes = body_bytes};
    enum tn_status status = frame_writer_push(&bench->writer, &header, body);
    if (status != TN_OK) { buffer_release(body); }
    return status;
}

/* Send at most `limit` bytes, as a stream would. */
static size_t drain(struct frame_writer *writer, uint8_t *out, size_t limit)
{
    struct iovec pieces[FRAME_WRITER_PIECES];
    unsigned count = frame_writer_gather(writer, pieces);
    size_t sent = 0;
    for (unsigned i = 0; i < count && sent < limit; i++) {
        size_t taken = pieces[i].iov_len < limit - sent ? pieces[i].iov_len : limit - sent;
        memcpy(out + sent, pieces[i].iov_base, taken);
        sent += taken;
    }
    frame_writer_sent(writer, sent);
    return sent;
}

/* The bytes are those of the frames in order, however few the stream accepts at a time. */
static void pieces_of_any_size_are_the_frames(void **state)
{
    struct bench *bench = *state;
    static const uint32_t bodies[] = {0, 1, 80, 5000, 0, 0, 7000, 3};
    enum { COUNT = sizeof bodies / sizeof *bodies, TOTAL = 8 * WIRE_HEADER_BYTES + 12084 };
    static const size_t pieces[] = {1, 79, 88, 89, 176, 4096, TOTAL};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        uint8_t out[TOTAL];
        size_t total = 0;
        for (uint64_t i = 0; i < COUNT; i++) { assert_int_equal(push(bench, i, bodies[i]), TN_OK); }
        while (!frame_writer_empty(&bench->writer)) {
            total += drain(&bench->writer, out + total, pieces[p]);
        }
        assert_int_equal(total, TOTAL);
        const uint8_t *at = out;
        for (uint64_t i = 0; i < COUNT; i++) {
            struct frame_header header;
            assert_int_equal(wire_decode_header(at, 7000, &header, NULL), TN_OK);
            assert_int_equal(header.sequence, i);
            at += WIRE_HEADER_BYTES;
            for (uint32_t b = 0; b < bodies[i]; b++) { assert_int_equal(*at++, i); }
        }
    }
}

/* A long body is sent as chunks, each with its offset, before the frames queued behind it. It
 * takes one place of the queue and is released after its last chunk. */
static void long_bodies_are_sent_in_chunks(void **state)
{
    enum { BODY = 2 * WIRE_CHUNK_BYTES + 100, CHUNKS = 3, FRAMES = CHUNKS + 1 };
    enum { TOTAL = FRAMES * WIRE_HEADER_BYTES + BODY };
    struct bench *bench = *state;
    static uint8_t out[TOTAL];
    struct buffer *body = buffer_acquire(bench->pool, BODY);
    for (size_t i = 0; i < BODY; i++) { ((uint8_t *)body->data)[i] = (uint8_t)(i % 251); }
    struct frame_header header = {.type = FRAME_VALUES, .sequence = 7, .offset = 64};
    assert_int_equal(frame_writer_push(&bench->writer, &header, body), TN_OK);
    assert_int_equal(bench->writer.count, 1);
    assert_int_equal(push(bench, 8, 0), TN_OK);
    size_t total = 0;
    while (!frame_writer_empty(&bench->writer)) {
        total += drain(&bench->writer, out + total, 300007);
    }
    assert_int_equal(total, TOTAL);
    const uint8_t *at = out;
    for (size_t from = 0; from < BODY; from += header.body_bytes) {
        assert_int_equal(wire_decode_header(at, WIRE_CHUNK_BYTES, &header, NULL), TN_OK);
        assert_int_equal(header.sequence, 7);
        assert_int_equal(header.offset, 64 + from);
        at += WIRE_HEADER_BYTES;
        for (size_t i = 0; i < header.body_bytes; i++) {
            assert_int_equal(*at++, (from + i) % 251);
        }
    }
    assert_int_equal(wire_decode_header(at, 0, &header, NULL), TN_OK);
    assert_int_equal(header.sequence, 8);
}

/* The chunks of a push are sent from the last one to the first one, with their offsets. */
static void chunks_of_pushes_are_sent_last_first(void **state)
{
    enum { BODY = 2 * WIRE_CHUNK_BYTES + 100, TOTAL = 3 * WIRE_HEADER_BYTES + BODY };
    static const size_t offsets[] = {2 * WIRE_CHUNK_BYTES, WIRE_CHUNK_BYTES, 0};
    struct bench *bench = *state;
    static uint8_t out[TOTAL];
    struct buffer *body = buffer_acquire(bench->pool, BODY);
    for (size_t i = 0; i < BODY; i++) { ((uint8_t *)body->data)[i] = (uint8_t)(i % 251); }
    struct frame_header header = {.type = FRAME_PUSH, .offset = 5 * WIRE_CHUNK_BYTES};
    assert_int_equal(frame_writer_push(&bench->writer, &header, body), TN_OK);
    size_t total = 0;
    while (!frame_writer_empty(&bench->writer)) {
        total += drain(&bench->writer, out + total, 300007);
    }
    assert_int_equal(total, TOTAL);
    const uint8_t *at = out;
    for (size_t c = 0; c < 3; c++) {
        assert_int_equal(wire_decode_header(at, WIRE_CHUNK_BYTES, &header, NULL), TN_OK);
        assert_int_equal(header.offset, 5 * WIRE_CHUNK_BYTES + offsets[c]);
        assert_int_equal(header.body_bytes, c == 0 ? 100 : WIRE_CHUNK_BYTES);
        at += WIRE_HEADER_BYTES;
        for (size_t i = 0; i < header.body_bytes; i++) {
            assert_int_equal(*at++, (offsets[c] + i) % 251);
        }
    }
}

/* The waiting chunks of a long body are dropped; those in flight stay valid. */
static void long_body_may_be_dropped_within(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(push(bench, 1, 6 * WIRE_CHUNK_BYTES), TN_OK);
    struct iovec pieces[FRAME_WRITER_PIECES];
    assert_int_equal(frame_writer_gather(&bench->writer, pieces), FRAME_WRITER_PIECES);
    frame_writer_drop_waiting(&bench->writer);
    assert_int_equal(((uint8_t *)pieces[7].iov_base)[WIRE_CHUNK_BYTES - 1], 1);
    frame_writer_clear(&bench->writer);
    assert_true(frame_writer_empty(&bench->writer));
}

/* A body is released as soon as its last byte is sent, not after the whole burst. */
static void bodies_are_released_early(void **state)
{
    struct bench *bench = *state;
    uint8_t out[1000];
    assert_int_equal(push(bench, 1, 100), TN_OK);
    assert_int_equal(push(bench, 2, 100), TN_OK);
    size_t bytes = buffer_pool_bytes(bench->pool);
    drain(&bench->writer, out, WIRE_HEADER_BYTES + 100);
    buffer_release(buffer_acquire(bench->pool, 100));
    assert_int_equal(buffer_pool_bytes(bench->pool), bytes);
    assert_int_equal(bench->writer.flight_count, 1);
}

/* Several frames are sent in one piece; the queue is bounded. */
static void queue_is_bounded(void **state)
{
    struct bench *bench = *state;
    for (uint64_t i = 0; i < FRAME_WRITER_FRAMES_MAX; i++) {
        assert_int_equal(push(bench, i, i % 3 == 0 ? 8 : 0), TN_OK);
    }
    assert_int_equal(push(bench, 0, 8), TN_ETIMEDOUT);
    struct iovec pieces[FRAME_WRITER_PIECES];
    assert_int_equal(frame_writer_gather(&bench->writer, pieces), 6);
    assert_int_equal(push(bench, 0, 8), TN_OK);
}

/* Frames in flight stay when the others are dropped, as the stream may be reading them. */
static void drop_keeps_frames_in_flight(void **state)
{
    struct bench *bench = *state;
    for (uint64_t i = 0; i < 10; i++) { assert_int_equal(push(bench, i, 64), TN_OK); }
    struct iovec pieces[FRAME_WRITER_PIECES];
    frame_writer_gather(&bench->writer, pieces);
    frame_writer_drop_waiting(&bench->writer);
    assert_false(frame_writer_empty(&bench->writer));
    assert_int_equal(*(uint8_t *)pieces[7].iov_base, 3);
    frame_writer_clear(&bench->writer);
    assert_true(frame_writer_empty(&bench->writer));
    assert_int_equal(frame_writer_gather(&bench->writer, pieces), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_of_any_size_are_the_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_bodies_are_sent_in_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks_of_pushes_are_sent_last_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_body_may_be_dropped_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bodies_are_released_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queue_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(drop_keeps_frames_in_flight, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
