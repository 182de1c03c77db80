/* The order of the chunks of a body. */
#include "common/net/chunks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CHUNK = 64, TOTAL = 150 };

static struct chunks chunks;
static enum chunk_kind kind;

static int begin(void **state)
{
    (void)state;
    chunks = (struct chunks){0};
    return 0;
}

static struct frame_header header_at(uint64_t offset, uint32_t bytes)
{
    return (struct frame_header){
        .type = FRAME_VALUES,
        .generation = 3,
        .step = 7,
        .sequence = 9,
        .first = 2,
        .count = 2,
        .body_bytes = bytes,
        .offset = offset,
    };
}

static const char *fault_of(struct frame_header header)
{
    return chunks_fault(&chunks, &header, TOTAL, CHUNK, &kind);
}

static void accept_as(struct frame_header header, enum chunk_kind expected)
{
    assert_null(fault_of(header));
    assert_int_equal(kind, expected);
}

/* Bodies of several chunks, and repeated chunks, which a proxy may produce. */
static void chunks_make_up_bodies(void **state)
{
    (void)state;
    for (int body = 0; body < 3; body++) {
        accept_as(header_at(0, CHUNK), CHUNK_MORE);
        accept_as(header_at(0, CHUNK), CHUNK_REPEATED);
        accept_as(header_at(CHUNK, CHUNK), CHUNK_MORE);
        accept_as(header_at(CHUNK, CHUNK), CHUNK_REPEATED);
        assert_true(chunks.incomplete);
        accept_as(header_at(2 * CHUNK, TOTAL - 2 * CHUNK), CHUNK_LAST);
        accept_as(header_at(2 * CHUNK, TOTAL - 2 * CHUNK), CHUNK_REPEATED);
        assert_false(chunks.incomplete);
    }
}

/* A body of one chunk, or none, may come again: it is for the receiver to decide. */
static void whole_bodies_may_come_again(void **state)
{
    (void)state;
    struct frame_header whole = header_at(0, TOTAL), empty = header_at(0, 0);
    for (int i = 0; i < 2; i++) {
        assert_null(chunks_fault(&chunks, &whole, TOTAL, 1024, &kind));
        assert_int_equal(kind, CHUNK_LAST);
        assert_null(chunks_fault(&chunks, &empty, 0, 1024, &kind));
        assert_int_equal(kind, CHUNK_LAST);
    }
}

/* Nothing but the next chunk of the same body, in its size, is accepted within a body. */
static void other_frames_within_a_body_are_refused(void **state)
{
    (void)state;
    accept_as(header_at(0, CHUNK), CHUNK_MORE);
    static const struct {
        uint64_t offset;
        uint32_t bytes;
    } bad[] = {{2 * CHUNK, TOTAL - 2 * CHUNK},
               {CHUNK, CHUNK - 4},
               {CHUNK, CHUNK + 4},
               {CHUNK, 0},
               {CHUNK - 4, CHUNK},
               {TOTAL, 0},
               {3 * CHUNK, CHUNK},
               {UINT64_MAX, CHUNK},
               {UINT64_MAX - CHUNK + 1, CHUNK}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_non_null(fault_of(header_at(bad[i].offset, bad[i].bytes)));
    }
    struct frame_header others[6];
    for (size_t i = 0; i < 6; i++) { others[i] = header_at(CHUNK, CHUNK); }
    others[0].type = FRAME_PULL;
    others[1].generation++;
    others[2].step++;
    others[3].sequence++;
    others[4].first++;
    others[5].count++;
    for (size_t i = 0; i < 6; i++) {
        assert_non_null(fault_of(others[i]));
        others[i].offset = 0;
        assert_non_null(fault_of(others[i]));
    }
    accept_as(header_at(CHUNK, CHUNK), CHUNK_MORE);
}

static struct frame_header push_at(uint64_t offset, uint32_t bytes)
{
    struct frame_header header = header_at(offset, bytes);
    header.type = FRAME_PUSH;
    return header;
}

/* The chunks of a push come from the last one to the first one, and are numbered as they come. */
static void chunks_of_a_push_come_last_first(void **state)
{
    (void)state;
    assert_non_null(fault_of(push_at(0, CHUNK)));
    assert_non_null(fault_of(push_at(CHUNK, CHUNK)));
    for (int body = 0; body < 2; body++) {
        accept_as(push_at(2 * CHUNK, TOTAL - 2 * CHUNK), CHUNK_MORE);
        assert_int_equal(chunks.number, 0);
        accept_as(push_at(2 * CHUNK, TOTAL - 2 * CHUNK), CHUNK_REPEATED);
        assert_non_null(fault_of(push_at(0, CHUNK)));
        accept_as(push_at(CHUNK, CHUNK), CHUNK_MORE);
        accept_as(push_at(2 * CHUNK, TOTAL - 2 * CHUNK), CHUNK_REPEATED);
        assert_non_null(fault_of(push_at(TOTAL, 0)));
        accept_as(push_at(0, CHUNK), CHUNK_LAST);
        assert_int_equal(chunks.number, 2);
        accept_as(push_at(0, CHUNK), CHUNK_REPEATED);
    }
}

static struct frame_header growing_at(uint64_t offset, uint32_t bytes)
{
    struct frame_header header = header_at(offset, bytes);
    header.type = FRAME_VALUES_GROWING;
    return header;
}

/* Values that grow come from the last chunk to the first one. Their sender may give them up: for
 * the same values as a whole, for those of another step, or for a refusal. Then they are not
 * continued. */
static void growing_values_may_be_given_up(void **state)
{
    (void)state;
    const struct frame_header last = growing_at(2 * CHUNK, TOTAL - 2 * CHUNK);
    accept_as(last, CHUNK_MORE);
    accept_as(growing_at(CHUNK, CHUNK), CHUNK_MORE);
    assert_int_equal(chunks.number, 1);
    accept_as(header_at(0, CHUNK), CHUNK_MORE);
    assert_int_equal(chunks.number, 0);
    assert_non_null(fault_of(growing_at(0, CHUNK)));
    assert_non_null(fault_of(last)); /* Other bodies are not given up. */
    (void)begin(state);
    accept_as(last, CHUNK_MORE);
    struct frame_header refused = {.type = FRAME_REFUSED, .generation = 3};
    assert_null(chunks_fault(&chunks, &refused, 0, CHUNK, &kind));
    assert_int_equal(kind, CHUNK_LAST);
    assert_non_null(fault_of(growing_at(CHUNK, CHUNK)));
    accept_as(last, CHUNK_MORE);
    struct frame_header next = last;
    next.step++;
    accept_as(next, CHUNK_MORE);
    assert_int_equal(chunks.number, 0);
    next = growing_at(CHUNK, CHUNK);
    next.step++;
    accept_as(next, CHUNK_MORE);
    next.offset = 0;
    accept_as(next, CHUNK_LAST);
    assert_int_equal(chunks.number, 2);
    /* A body that another one is given up for must begin. */
    accept_as(last, CHUNK_MORE);
    assert_non_null(fault_of(header_at(CHUNK, CHUNK)));
}

/* A body of whole chunks does not begin behind its end. */
static void empty_chunks_are_refused(void **state)
{
    (void)state;
    struct frame_header behind = push_at(2 * CHUNK, 0);
    assert_non_null(chunks_fault(&chunks, &behind, 2 * CHUNK, CHUNK, &kind));
    behind.type = FRAME_VALUES;
    assert_non_null(chunks_fault(&chunks, &behind, 2 * CHUNK, CHUNK, &kind));
}

/* Nothing bounds a body: one of 100 GiB and 4 bytes. */
static void bodies_have_any_size(void **state)
{
    (void)state;
    const uint64_t total = (UINT64_C(100) << 30) + 4;
    for (uint64_t at = 0; at < total; at += WIRE_CHUNK_BYTES) {
        const bool last = total - at == 4;
        struct frame_header header = header_at(at, last ? 4 : WIRE_CHUNK_BYTES);
        assert_null(chunks_fault(&chunks, &header, total, WIRE_CHUNK_BYTES, &kind));
        assert_int_equal(kind, last ? CHUNK_LAST : CHUNK_MORE);
    }
}

/* A connection begins with the first chunk of a body. */
static void body_begins_with_its_first_chunk(void **state)
{
    (void)state;
    assert_non_null(fault_of(header_at(CHUNK, CHUNK)));
    assert_non_null(fault_of(header_at(2 * CHUNK, TOTAL - 2 * CHUNK)));
    accept_as(header_at(0, CHUNK), CHUNK_MORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(chunks_make_up_bodies, begin),
        cmocka_unit_test_setup(whole_bodies_may_come_again, begin),
        cmocka_unit_test_setup(other_frames_within_a_body_are_refused, begin),
        cmocka_unit_test_setup(chunks_of_a_push_come_last_first, begin),
        cmocka_unit_test_setup(growing_values_may_be_given_up, begin),
        cmocka_unit_test_setup(empty_chunks_are_refused, begin),
        cmocka_unit_test_setup(bodies_have_any_size, begin),
        cmocka_unit_test_setup(body_begins_with_its_first_chunk, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
