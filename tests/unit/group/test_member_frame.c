/* group/member_frame.h: frames between members, as they are written and read. */
#include "group/member_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/minmax.h"

enum { SLICES = 6 };

static const struct member_frame order = {
    .kind = MEMBER_FRAME_ORDER,
    .attempt = 12,
    .label = {3, 70, 4},
    .number = 2,
};

/* All kinds are read as they were written. */
static void written_and_read(void **state)
{
    (void)state;
    for (int kind = MEMBER_FRAME_HELLO; kind < MEMBER_FRAME_KINDS; kind++) {
        struct member_frame frame = order, found;
        frame.kind = (enum member_frame_kind)kind;
        struct frame_header header = member_frame_write(&frame);
        const bool wraps = kind == MEMBER_FRAME_RELAY || kind == MEMBER_FRAME_ANSWER;
        header.body_bytes = wraps ? WIRE_HEADER_BYTES : 0;
        assert_true(member_frame_read(&header, SLICES, &found));
        assert_int_equal(found.kind, frame.kind);
        assert_int_equal(found.attempt, frame.attempt);
        assert_int_equal(found.label.generation, frame.label.generation);
        assert_int_equal(found.label.step, frame.label.step);
        assert_int_equal(found.label.slice, frame.label.slice);
        assert_int_equal(found.number, frame.number);
    }
}

static bool is_read(struct frame_header header)
{
    struct member_frame found;
    return member_frame_read(&header, SLICES, &found);
}

/* Each field has limits. */
static void limits(void **state)
{
    (void)state;
    struct frame_header header = member_frame_write(&order);
    assert_true(is_read(header));
    header.type = FRAME_SESSION;
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.epoch = 0;
    assert_false(is_read(header));
    header.epoch = MEMBER_FRAME_KINDS;
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.sequence = COUNTER_MAX + 1;
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.generation = COUNTER_MAX + 1;
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.step = COUNTER_MAX + 1;
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.first = SLICES;
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.count = 3; /* Slices 4 to 6 of 6. */
    assert_false(is_read(header));
    header = member_frame_write(&order);
    header.body_bytes = 4;
    assert_false(is_read(header));
    header.epoch = MEMBER_FRAME_TENSOR;
    assert_true(is_read(header));
}

/* A message has a body only if its kind has one; chunks are numbered beyond the slices. */
static void bodies(void **state)
{
    (void)state;
    struct member_frame take = {.kind = MEMBER_FRAME_TAKE, .attempt = 1};
    struct frame_header header = member_frame_write(&take);
    assert_true(is_read(header));
    header.body_bytes = WIRE_HEADER_BYTES;
    assert_false(is_read(header));
    take.kind = MEMBER_FRAME_RELAY;
    header = member_frame_write(&take);
    assert_false(is_read(header));
    header.body_bytes = WIRE_HEADER_BYTES;
    assert_true(is_read(header));
    take.kind = MEMBER_FRAME_EVALUATE;
    take.label.slice = SLICES;
    header = member_frame_write(&take);
    assert_true(is_read(header));
    take.kind = MEMBER_FRAME_TENSOR;
    header = member_frame_write(&take);
    assert_false(is_read(header));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(limits),
        cmocka_unit_test(bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
