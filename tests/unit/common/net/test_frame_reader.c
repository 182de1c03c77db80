/* Decoding frames from a stream that arrives in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/net/frame_reader.h"

enum { CLUSTER = 9, BODY_MAX = WIRE_CHUNK_BYTES / 2, STREAM_MAX = 256 * 1024 };

struct bench {
    struct buffer_pool *pool;
    struct frame_reader reader;
    uint8_t stream[STREAM_MAX];
    size_t stream_bytes;
};

static int set_up(void **state)
{
    static struct bench bench;
    bench = (struct bench){.pool = buffer_pool_create(1 << 21)};
    *state = &bench;
    return frame_reader_init(&bench.reader, bench.pool, CLUSTER, BODY_MAX) != TN_OK;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    frame_reader_destroy(&bench->reader);
    buffer_pool_destroy(bench->pool); /* Asserts that no buffer is missing. */
    return 0;
}

static void append(struct bench *bench, uint64_t sequence, uint32_t body_bytes)
{
    struct frame_header header = {
        .type = FRAME_PUSH, .cluster = CLUSTER, .sequence = sequence, .body_bytes = body_bytes};
    wire_encode_header(&header, bench->stream + bench->stream_bytes);
    bench->stream_bytes += WIRE_HEADER_BYTES;
    memset(bench->stream + bench->stream_bytes, (int)sequence, body_bytes);
    bench->stream_bytes += body_bytes;
}

/* Store up to `limit` bytes where the reader wants them, as a read would. */
static size_t feed(struct frame_reader *reader, const uint8_t *data, size_t limit)
{
    struct iovec places[FRAME_READER_SPACES];
    unsigned count = frame_reader_space(reader, places);
    size_t came = 0;
    for (unsigned i = 0; i < count && came < limit; i++) {
        size_t room = places[i].iov_len < limit - came ? places[i].iov_len : limit - came;
        memcpy(places[i].iov_base, data + came, room);
        came += room;
    }
    frame_reader_received(reader, came);
    return came;
}

/* Take all complete frames out and check their bodies and order. */
static uint64_t take(struct frame_reader *reader, uint64_t last)
{
    for (;;) {
        bool whole;
        struct frame_header header;
        struct buffer *body;
        assert_int_equal(frame_reader_next(reader, &whole, &header, &body, NULL), TN_OK);
        if (!whole) { return last; }
        assert_int_equal(header.sequence, last + 1);
        last++;
        assert_true((body == NULL) == (header.body_bytes == 0));
        for (uint32_t i = 0; i < header.body_bytes; i++) {
            if (((uint8_t *)body->data)[i] != (uint8_t)last) { fail_msg("byte %u differs", i); }
        }
        buffer_release(body);
    }
}

/* The frames are the same however the stream is divided. */
static void pieces_of_any_size_give_the_frames(void **state)
{
    struct bench *bench = *state;
    static const uint32_t bodies[] = {0, 1, 80, 5000, 0, 0, 40000, 32768, 32688, 3};
    enum { COUNT = sizeof bodies / sizeof *bodies };
    for (uint64_t i = 0; i < COUNT; i++) { append(bench, i + 1, bodies[i]); }
    static const size_t pieces[] = {1, 7, 79, 80, 81, 4096, 32768, STREAM_MAX};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        uint64_t last = 0;
        for (size_t at = 0; at < bench->stream_bytes;) {
            size_t left = bench->stream_bytes - at;
            at += feed(&bench->reader, bench->stream + at, size_min(pieces[p], left));
            last = take(&bench->reader, last);
        }
        assert_int_equal(last, COUNT);
    }
}

/* A large body is read straight into its buffer; only what fits the stage is copied. */
static void large_body_is_not_copied(void **state)
{
    struct bench *bench = *state;
    append(bench, 1, 200000);
    feed(&bench->reader, bench->stream, WIRE_HEADER_BYTES);
    assert_int_equal(take(&bench->reader, 0), 0);
    struct iovec places[FRAME_READER_SPACES];
    assert_int_equal(frame_reader_space(&bench->reader, places), 2);
    assert_int_equal(places[0].iov_len, 200000);
    size_t came = feed(&bench->reader, bench->stream + WIRE_HEADER_BYTES, 200000);
    assert_int_equal(came, 200000);
    assert_int_equal(take(&bench->reader, 0), 1);
}

static void assert_refused(struct bench *bench, enum tn_status status, const char *word)
{
    bool whole;
    struct frame_header header;
    struct buffer *body;
    struct error error;
    feed(&bench->reader, bench->stream, WIRE_HEADER_BYTES);
    assert_int_equal(frame_reader_next(&bench->reader, &whole, &header, &body, &error), status);
    assert_non_null(strstr(error.text, word));
    frame_reader_reset(&bench->reader);
}

/* Another cluster, too large a body and a full pool are refused with a message. */
static void wrong_frames_are_refused(void **state)
{
    struct bench *bench = *state;
    struct frame_header header = {.type = FRAME_PUSH, .cluster = CLUSTER + 1};
    wire_encode_header(&header, bench->stream);
    assert_refused(bench, TN_EPROTO, "cluster");
    header =
        (struct frame_header){.type = FRAME_PUSH, .cluster = CLUSTER, .body_bytes = BODY_MAX + 1};
    wire_encode_header(&header, bench->stream);
    assert_refused(bench, TN_EPROTO, "body_bytes");
    struct buffer *all = buffer_acquire(bench->pool, 1 << 21);
    header.body_bytes = BODY_MAX;
    wire_encode_header(&header, bench->stream);
    assert_refused(bench, TN_ENOMEM, "524288");
    buffer_release(all);
}

/* The header of a peer that has delivered no large body allocates a small buffer, which grows only
 * with the bytes that arrive; after its first large body, bodies are allocated as a whole. */
static void header_of_an_unproven_peer_allocates_little(void **state)
{
    enum { LARGE = 150000 };
    struct bench *bench = *state;
    bench->reader.unproven = true;
    append(bench, 1, LARGE);
    size_t at = feed(&bench->reader, bench->stream, WIRE_HEADER_BYTES);
    assert_int_equal(take(&bench->reader, 0), 0);
    assert_in_range(buffer_pool_bytes(bench->pool), 1, 2 * FRAME_READER_FIRST_BYTES);
    uint64_t last = 0;
    while (at < bench->stream_bytes) {
        at += feed(&bench->reader, bench->stream + at, size_min(9999, bench->stream_bytes - at));
        last = take(&bench->reader, last);
        if (at < FRAME_READER_FIRST_BYTES) {
            assert_in_range(buffer_pool_bytes(bench->pool), 1, 2 * FRAME_READER_FIRST_BYTES);
        }
    }
    assert_int_equal(last, 1);
    bench->stream_bytes = 0;
    append(bench, 2, LARGE);
    feed(&bench->reader, bench->stream, WIRE_HEADER_BYTES);
    assert_int_equal(take(&bench->reader, 1), 1);
    struct iovec places[FRAME_READER_SPACES];
    assert_int_equal(frame_reader_space(&bench->reader, places), 2);
    assert_int_equal(places[0].iov_len, LARGE);
}

/* The frames of an unproven peer are the same, too, however the stream is divided. */
static void pieces_of_an_unproven_peer_give_the_frames(void **state)
{
    struct bench *bench = *state;
    static const uint32_t bodies[] = {3, FRAME_READER_FIRST_BYTES, 100000, 5};
    enum { COUNT = sizeof bodies / sizeof *bodies };
    for (uint64_t i = 0; i < COUNT; i++) { append(bench, i + 1, bodies[i]); }
    static const size_t pieces[] = {79, 81, 4096, 32768, 65536, STREAM_MAX};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        uint64_t last = 0;
        bench->reader.unproven = true;
        for (size_t at = 0; at < bench->stream_bytes;) {
            size_t left = bench->stream_bytes - at;
            at += feed(&bench->reader, bench->stream + at, size_min(pieces[p], left));
            last = take(&bench->reader, last);
        }
        assert_int_equal(last, COUNT);
        assert_false(bench->reader.unproven);
    }
}

/* A stream that ends within a body releases the buffer, and the next stream works. */
static void reset_releases_an_incomplete_body(void **state)
{
    struct bench *bench = *state;
    append(bench, 1, 100000);
    feed(&bench->reader, bench->stream, 50000);
    assert_int_equal(take(&bench->reader, 0), 0);
    frame_reader_reset(&bench->reader);
    bench->stream_bytes = 0;
    append(bench, 1, 10);
    feed(&bench->reader, bench->stream, bench->stream_bytes);
    assert_int_equal(take(&bench->reader, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_of_any_size_give_the_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_body_is_not_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(header_of_an_unproven_peer_allocates_little, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(pieces_of_an_unproven_peer_give_the_frames, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(wrong_frames_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reset_releases_an_incomplete_body, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
