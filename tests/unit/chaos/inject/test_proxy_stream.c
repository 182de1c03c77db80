/* One direction of a proxied connection: late, in order, and whole frames twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "chaos/inject/proxy_stream.h"

enum { BODY = 40, FRAME = WIRE_HEADER_BYTES + BODY, OUT_MAX = 4 * 1024 * 1024 };

static struct stream stream;
static uint8_t out[OUT_MAX];

/* All that is due by then, into `out`; its size. */
static size_t drain(uint64_t now_ms)
{
    size_t have = 0, size;
    const uint8_t *bytes;
    while ((size = stream_due(&stream, now_ms, &bytes)) > 0) {
        if (size > 7) { size = 7; /* As a socket that accepts a part. */ }
        memcpy(out + have, bytes, size);
        have += size;
        stream_remove(&stream, size);
    }
    return have;
}

static void make_frame(uint64_t sequence, uint32_t body_bytes, uint8_t *frame)
{
    const struct frame_header header = {
        .type = FRAME_PUSH, .sequence = sequence, .body_bytes = body_bytes};
    wire_encode_header(&header, frame);
    if (body_bytes == BODY) { memset(frame + WIRE_HEADER_BYTES, (int)sequence, BODY); }
}

/* Bytes stay in order; none is due before it was sent, all are due after the largest delay. */
static void delayed_bytes_keep_their_order(void **state)
{
    (void)state;
    stream_init(&stream, 50, 0, 1);
    for (uint8_t i = 0; i < 100; i++) { assert_true(stream_put(&stream, &i, 1, 1000 + i)); }
    size_t have = 0;
    for (uint64_t now_ms = 1000; now_ms <= 1150; now_ms++) {
        uint8_t before = (uint8_t)have;
        size_t came = drain(now_ms);
        for (size_t i = 0; i < came; i++) { assert_int_equal(out[i], before + i); }
        have += came;
        assert_true(have <= now_ms - 1000 + 1); /* Not before it was sent. */
    }
    assert_int_equal(have, 100);
    assert_int_equal(stream.queued, 0);
    assert_true(stream_deadline_ms(&stream) == UINT64_MAX);
    stream_free(&stream);
}

/* Frames that arrive in pieces of any size are recognised, and leave complete: each once or
 * twice. */
static void frames_in_pieces_are_repeated(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 3 * FRAME; piece += 13) {
        uint8_t bytes[20 * FRAME];
        for (uint64_t i = 0; i < 20; i++) { make_frame(i, BODY, bytes + i * FRAME); }
        stream_init(&stream, 0, 50, piece);
        for (size_t at = 0; at < sizeof bytes; at += piece) {
            size_t size = sizeof bytes - at < piece ? sizeof bytes - at : piece;
            assert_true(stream_put(&stream, bytes + at, size, 0));
        }
        size_t have = drain(0), next = 0;
        assert_int_equal(have, (20 + stream.doubled) * FRAME);
        assert_in_range(stream.doubled, 1, 19);
        for (size_t at = 0; at < have; at += FRAME) { /* The next, or the last one again. */
            if (next < 20 && memcmp(out + at, bytes + next * FRAME, FRAME) == 0) {
                next++;
            } else {
                assert_memory_equal(out + at, bytes + (next - 1) * FRAME, FRAME);
            }
        }
        assert_int_equal(next, 20);
        stream_free(&stream);
    }
}

/* The first frame, which identifies the sender, is not repeated. */
static void first_frame_is_not_repeated(void **state)
{
    (void)state;
    uint8_t frame[FRAME];
    make_frame(1, BODY, frame);
    stream_init(&stream, 0, 100, 1);
    assert_true(stream_put(&stream, frame, FRAME, 0));
    assert_int_equal(drain(0), FRAME);
    assert_true(stream_put(&stream, frame, FRAME, 0));
    assert_int_equal(drain(0), 2 * FRAME);
    stream_free(&stream);
}

/* The largest frame, too, is repeated, and the next one is recognised. */
static void largest_frames_are_repeated(void **state)
{
    (void)state;
    static uint8_t block[64 * 1024];
    uint8_t frame[FRAME];
    stream_init(&stream, 0, 100, 1);
    stream.frames = 1;
    make_frame(1, WIRE_CHUNK_BYTES, frame);
    assert_true(stream_put(&stream, frame, WIRE_HEADER_BYTES, 0));
    for (size_t left = WIRE_CHUNK_BYTES; left > 0; left -= sizeof block) {
        assert_int_equal(drain(0), 0);
        assert_true(stream_put(&stream, block, sizeof block, 0));
    }
    assert_int_equal(drain(0), 2 * (WIRE_HEADER_BYTES + WIRE_CHUNK_BYTES));
    make_frame(2, BODY, frame);
    assert_true(stream_put(&stream, frame, FRAME, 0));
    assert_int_equal(drain(0), 2 * FRAME);
    stream_free(&stream);
}

/* Bytes that are not a frame, and an incomplete frame at the end, pass unchanged. */
static void other_bytes_are_not_repeated(void **state)
{
    (void)state;
    uint8_t frame[FRAME];
    stream_init(&stream, 0, 100, 1);
    memset(frame, 'z', sizeof frame);
    assert_true(stream_put(&stream, frame, FRAME, 0));
    assert_int_equal(drain(0), FRAME);
    assert_true(stream.raw);
    stream_free(&stream);
    stream_init(&stream, 0, 100, 1);
    make_frame(1, BODY, frame);
    assert_true(stream_put(&stream, frame, FRAME - 1, 0));
    assert_int_equal(drain(0), 0);
    assert_true(stream_end(&stream, 0));
    assert_int_equal(drain(0), FRAME - 1);
    stream_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delayed_bytes_keep_their_order),
        cmocka_unit_test(frames_in_pieces_are_repeated),
        cmocka_unit_test(first_frame_is_not_repeated),
        cmocka_unit_test(largest_frames_are_repeated),
        cmocka_unit_test(other_bytes_are_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
