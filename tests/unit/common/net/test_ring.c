/* A ring between two ends, of which the other one may write anything into the shared positions. */
#include "common/net/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 128 };

static struct {
    struct ring_shared shared;
    uint8_t before[64], bytes[CAPACITY], after[64];
} memory;
static struct ring_producer producer;
static struct ring_consumer consumer;

static int begin(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof memory);
    memset(memory.before, 0xaa, sizeof memory.before);
    memset(memory.after, 0xaa, sizeof memory.after);
    producer = (struct ring_producer){
        .shared = &memory.shared, .bytes = memory.bytes, .capacity = CAPACITY};
    consumer = (struct ring_consumer){
        .shared = &memory.shared, .bytes = memory.bytes, .capacity = CAPACITY};
    return 0;
}

/* No byte beside the ring was written. */
static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof memory.before; i++) {
        assert_int_equal(memory.before[i], 0xaa);
        assert_int_equal(memory.after[i], 0xaa);
    }
    return 0;
}

static size_t put(const void *bytes, size_t size)
{
    size_t copied;
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    assert_true(ring_write(&producer, &piece, 1, &copied));
    return copied;
}

static size_t take(void *bytes, size_t size)
{
    size_t copied;
    assert_true(
        ring_read(&consumer, &(struct iovec){.iov_base = bytes, .iov_len = size}, 1, &copied));
    return copied;
}

/* An empty ring gives nothing, a full one takes nothing, and both go on afterwards. */
static void empty_and_full(void **state)
{
    (void)state;
    uint8_t bytes[CAPACITY + 1] = {1, 2, 3}, out[CAPACITY + 1];
    assert_false(ring_has_bytes(&consumer));
    assert_int_equal(take(out, sizeof out), 0);
    assert_int_equal(put(bytes, sizeof bytes), CAPACITY);
    assert_true(ring_has_bytes(&consumer));
    assert_int_equal(put(bytes, 1), 0);
    assert_int_equal(take(out, sizeof out), CAPACITY);
    assert_memory_equal(out, bytes, CAPACITY);
    assert_false(ring_has_bytes(&consumer));
    assert_int_equal(put(bytes, 1), 1);
}

/* A stream in pieces of random sizes arrives unchanged, however often it wraps around, also where
 * the positions themselves overflow. */
static void stream_wraps_around(void **state)
{
    (void)state;
    const uint64_t starts[] = {0, UINT64_MAX - 1000};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        (void)begin(state);
        producer.written = producer.read = consumer.read = consumer.written = starts[s];
        atomic_store(&memory.shared.written, starts[s]);
        atomic_store(&memory.shared.read, starts[s]);
        uint8_t sent = 0, expected = 0, bytes[2 * CAPACITY];
        srand(1);
        for (unsigned round = 0; round < 20000; round++) {
            size_t first = (size_t)rand() % CAPACITY, second = (size_t)rand() % CAPACITY, copied;
            for (size_t i = 0; i < first + second; i++) { bytes[i] = (uint8_t)(sent + i); }
            const struct iovec pieces[] = {{bytes, first}, {bytes + first, second}};
            assert_true(ring_write(&producer, pieces, 2, &copied));
            assert_true(copied <= first + second);
            sent = (uint8_t)(sent + copied);
            uint8_t out[CAPACITY];
            const size_t have = take(out, (size_t)rand() % CAPACITY);
            for (size_t i = 0; i < have; i++) { assert_int_equal(out[i], expected++); }
        }
    }
}

/* A full ring asks for space, and half of it must be free before the consumer grants that, once. */
static void space_is_announced(void **state)
{
    (void)state;
    uint8_t bytes[CAPACITY] = {0};
    assert_int_equal(put(bytes, CAPACITY), CAPACITY);
    assert_false(ring_ask_for_space(&producer));
    assert_int_equal(take(bytes, CAPACITY / 2 - 1), CAPACITY / 2 - 1);
    assert_false(ring_takes_space_request(&consumer));
    assert_int_equal(take(bytes, 1), 1);
    assert_true(ring_takes_space_request(&consumer));
    assert_false(ring_takes_space_request(&consumer));
    assert_true(ring_ask_for_space(&producer));
}

/* A producer that claims more than fits, or takes bytes back, is refused before a byte is
 * read. */
static void hostile_producer_is_refused(void **state)
{
    (void)state;
    uint8_t out[CAPACITY];
    const struct iovec place = {out, sizeof out};
    const uint64_t claims[] = {CAPACITY + 1, UINT64_MAX, UINT64_MAX / 2, 1u << 31};
    size_t copied = 7;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        atomic_store(&memory.shared.written, claims[i]);
        assert_false(ring_read(&consumer, &place, 1, &copied));
        assert_int_equal(copied, 0);
    }
    atomic_store(&memory.shared.written, 0);
    assert_int_equal(put(out, 40), 40);
    assert_int_equal(take(out, 10), 10);
    atomic_store(&memory.shared.written, 30); /* It was 40. */
    assert_false(ring_read(&consumer, &place, 1, &copied));
    atomic_store(&memory.shared.written, 5); /* Before the bytes that were read. */
    assert_false(ring_read(&consumer, &place, 1, &copied));
}

/* The same for a consumer that claims to have read more than was written, or goes back. */
static void hostile_consumer_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[CAPACITY] = {0};
    const struct iovec piece = {bytes, sizeof bytes};
    size_t copied = 7;
    assert_int_equal(put(bytes, 50), 50);
    assert_int_equal(take(bytes, 20), 20);
    const uint64_t claims[] = {51, UINT64_MAX, 1u << 31, UINT64_MAX - CAPACITY};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        atomic_store(&memory.shared.read, claims[i]);
        assert_false(ring_write(&producer, &piece, 1, &copied));
        assert_int_equal(copied, 0);
    }
    atomic_store(&memory.shared.read, 20);
    assert_int_equal(put(bytes, 1), 1);
    atomic_store(&memory.shared.read, 19); /* Before what it has read already. */
    assert_false(ring_write(&producer, &piece, 1, &copied));
}

/* A producer that dies while it copies has published nothing of that piece. */
static void torn_piece_is_not_seen(void **state)
{
    (void)state;
    uint8_t out[CAPACITY];
    assert_int_equal(put("whole", 5), 5);
    memcpy(memory.bytes + 5, "torn", 4);
    assert_int_equal(take(out, sizeof out), 5);
    assert_memory_equal(out, "whole", 5);
    assert_int_equal(take(out, sizeof out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(empty_and_full, begin, end),
        cmocka_unit_test_setup_teardown(stream_wraps_around, begin, end),
        cmocka_unit_test_setup_teardown(space_is_announced, begin, end),
        cmocka_unit_test_setup_teardown(hostile_producer_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(hostile_consumer_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(torn_piece_is_not_seen, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
