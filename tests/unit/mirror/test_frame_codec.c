/* The frames between replicas, as headers and as events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "mirror/frame_codec.h"

enum { PARAMETERS = 100, ARRAYS = 3 };

static const struct placement places[] = {{.first = 0, .count = 64}, {.first = 64, .count = 36}};
static const struct frame_codec_shape shape = {
    .ranges = 2, .slices = 6, .arrays = ARRAYS, .parameters = PARAMETERS, .places = places};

static struct replica_event event;
static uint64_t bytes;

static const char *ask(struct frame_header header)
{
    return frame_codec_read_question(&shape, &header, &event, &bytes);
}

static const char *reply(struct frame_header header)
{
    return frame_codec_read_answer(&shape, &header, &event, &bytes);
}

static struct frame_header written(struct replica_action action, uint32_t array)
{
    const struct slice_node node = {2, 2};
    action.generation = 4;
    action.range = 1;
    return frame_codec_write(&shape, &action, node, array);
}

/* A replica reads the question that the other one asked. */
static void questions_arrive_as_they_were_asked(void **state)
{
    (void)state;
    assert_null(ask(written((struct replica_action){.type = REPLICA_DO_PUSH, .step = 9}, 0)));
    assert_int_equal(event.type, REPLICA_EV_PUSH);
    assert_int_equal(event.node.first, 2);
    assert_int_equal(event.node.count, 2);
    assert_int_equal(event.range, 1);
    assert_int_equal(event.step, 9);
    assert_int_equal(event.generation, 4);
    assert_int_equal(bytes, 36 * sizeof(float));
    assert_null(ask(written((struct replica_action){.type = REPLICA_DO_PULL, .step = 9}, 0)));
    assert_int_equal(event.type, REPLICA_EV_PULL);
    assert_int_equal(event.range, 1);
    assert_int_equal(bytes, 0);
}

/* A replica without values asks for those of any step; others give their own. */
static void questions_for_values_may_have_no_step(void **state)
{
    (void)state;
    struct replica_action action = {.type = REPLICA_DO_PULL_VALUES, .step = STEP_NONE};
    assert_null(ask(written(action, 0)));
    assert_int_equal(event.type, REPLICA_EV_PULL_VALUES);
    assert_true(event.step == STEP_NONE);
    action.step = 7;
    assert_null(ask(written(action, 0)));
    assert_int_equal(event.step, 7);
}

/* Likewise for answers. */
static void answers_arrive_as_they_were_given(void **state)
{
    (void)state;
    assert_null(reply(written((struct replica_action){.type = REPLICA_DO_ANSWER, .step = 9}, 0)));
    assert_int_equal(event.type, REPLICA_EV_SUM);
    assert_int_equal(event.range, 1);
    assert_int_equal(bytes, 36 * sizeof(float));
    assert_null(
        reply(written((struct replica_action){.type = REPLICA_DO_SEND_VALUES, .step = 9}, 2)));
    assert_int_equal(event.type, REPLICA_EV_VALUES);
    assert_int_equal(bytes, PARAMETERS * sizeof(float));
    for (enum replica_refusal why = REPLICA_NOT_HERE; why <= REPLICA_GONE; why++) {
        assert_null(
            reply(written((struct replica_action){.type = REPLICA_DO_REFUSE, .refusal = why}, 0)));
        assert_int_equal(event.type, REPLICA_EV_REFUSED);
        assert_int_equal(event.refusal, why);
    }
}

/* A range, node or step that this job does not have is a fault. */
static void questions_of_another_shape_are_faults(void **state)
{
    (void)state;
    const struct frame_header push = {.type = FRAME_PUSH, .first = 2, .count = 2, .sequence = 1};
    struct frame_header header = push;
    assert_null(ask(push));
    header.sequence = 2;
    assert_non_null(ask(header));
    header = push;
    header.count = 3; /* The tree has no such node. */
    assert_non_null(ask(header));
    header.count = 0;
    assert_non_null(ask(header));
    header = push;
    header.step = COUNTER_MAX + 1;
    assert_non_null(ask(header));
    header.step = STEP_NONE;
    assert_non_null(ask(header));
    assert_non_null(ask((struct frame_header){.type = FRAME_PULL, .sequence = 2}));
    assert_non_null(ask((struct frame_header){.type = FRAME_PULL, .step = STEP_NONE}));
    assert_non_null(ask((struct frame_header){.type = FRAME_SUM}));
}

/* Likewise for answers. */
static void answers_of_another_shape_are_faults(void **state)
{
    (void)state;
    const struct frame_header refused = {.type = FRAME_REFUSED, .first = 1};
    assert_null(reply(refused));
    assert_non_null(reply((struct frame_header){.type = FRAME_REFUSED, .first = 0}));
    assert_non_null(reply((struct frame_header){.type = FRAME_REFUSED, .first = 2 + REPLICA_GONE}));
    assert_non_null(reply((struct frame_header){.type = FRAME_REFUSED, .first = 1, .sequence = 2}));
    assert_non_null(reply((struct frame_header){.type = FRAME_SUM, .sequence = 2}));
    assert_non_null(reply((struct frame_header){.type = FRAME_SUM, .step = STEP_NONE}));
    assert_null(reply((struct frame_header){.type = FRAME_VALUES, .first = 2, .count = ARRAYS}));
    assert_non_null(
        reply((struct frame_header){.type = FRAME_VALUES, .first = ARRAYS, .count = ARRAYS}));
    assert_non_null(reply((struct frame_header){.type = FRAME_VALUES, .count = ARRAYS - 1}));
    assert_non_null(reply((struct frame_header){.type = FRAME_PUSH, .count = 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_arrive_as_they_were_asked),
        cmocka_unit_test(questions_for_values_may_have_no_step),
        cmocka_unit_test(answers_arrive_as_they_were_given),
        cmocka_unit_test(questions_of_another_shape_are_faults),
        cmocka_unit_test(answers_of_another_shape_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
