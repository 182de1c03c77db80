/* The losses that a ps keeps for observers: the same sum whatever was pushed, and what a load
 * drops. */
#include "ps/losses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLICES = 4, BATCH = 8 };

static struct losses losses;
static double out[LOSSES_MAX];

static int begin(void **state)
{
    (void)state;
    memset(&losses, 0, sizeof losses);
    return 0;
}

/* A step whose pushes are single slices. */
static void apply_slices(uint64_t step, const double sums[SLICES])
{
    struct slice_node parts[SLICES];
    for (uint32_t i = 0; i < SLICES; i++) {
        parts[i] = (struct slice_node){i, 1};
        losses.held[i] = sums[i];
    }
    losses_apply(&losses, step, SLICES, parts, SLICES);
}

static void apply_value(uint64_t step, double value)
{
    losses.held[0] = value * BATCH;
    losses_apply(&losses, step, SLICES, &(struct slice_node){0, SLICES}, 1);
}

/* The order of the tree: nodes and slices lead to the same bits. */
static void sum_is_that_of_the_tree(void **state)
{
    (void)state;
    const double sums[SLICES] = {1e16, 1, -1e16, 1};
    apply_slices(0, sums);
    const struct slice_node parts[] = {{2, 2}, {0, 1}, {1, 1}};
    losses.held[0] = sums[0];
    losses.held[1] = sums[1];
    losses.held[2] = sums[2] + sums[3];
    losses_apply(&losses, 1, SLICES, parts, 3);
    uint64_t from = 0;
    assert_int_equal(losses_copy(&losses, &from, 2, BATCH, out), 2);
    assert_true(out[0] == out[1] && out[0] == ((1e16 + 1) + (-1e16 + 1)) / BATCH);
}

/* Async: the pushes of a step arrive one by one, and those of later steps between them. */
static void single_slices_add_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SLICES; i++) {
        for (uint64_t step = 0; step < 2; step++) {
            losses.held[i] = 2;
            losses_apply(&losses, step, SLICES, &(struct slice_node){i, 1}, 1);
        }
    }
    uint64_t from = 0;
    assert_int_equal(losses_copy(&losses, &from, 1, BATCH, out), 1);
    assert_true(out[0] == 1);
}

/* A load drops the steps from it on, and keeps those before. */
static void load_drops_later_steps(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 10; step++) { apply_value(step, (double)step); }
    losses_load(&losses, 5);
    apply_value(5, 55);
    uint64_t from = 3;
    assert_int_equal(losses_copy(&losses, &from, 6, BATCH, out), 3);
    assert_true(from == 3 && out[0] == 3 && out[1] == 4 && out[2] == 55);
    losses_load(&losses, 100);
    from = 3;
    assert_int_equal(losses_copy(&losses, &from, 100, BATCH, out), 0);
    assert_int_equal(from, 100);
}

/* The newest are kept, and a request for older ones gets the oldest of these. */
static void newest_are_kept(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < LOSSES_MAX + 10; step++) { apply_value(step, (double)step); }
    uint64_t from = 0;
    assert_int_equal(losses_copy(&losses, &from, LOSSES_MAX + 10, BATCH, out), LOSSES_MAX);
    assert_int_equal(from, 10);
    assert_true(out[0] == 10 && out[LOSSES_MAX - 1] == LOSSES_MAX + 9);
    from = LOSSES_MAX + 10;
    assert_int_equal(losses_copy(&losses, &from, LOSSES_MAX + 10, BATCH, out), 0);
}

/* An answer has the losses from the first known one on, and notes the observer, which is waited for
 * while it lacks losses and asked within the time. */
static void answers_note_the_observer(void **state)
{
    (void)state;
    struct losses_observer observer = {0};
    struct buffer body = {.data = out};
    assert_false(losses_observer_waits(&observer, 10, 0));
    losses_load(&losses, 4);
    for (uint64_t step = 4; step < 6; step++) { apply_value(step, (double)step); }
    const struct losses_request request = {
        .generation = 3, .from = 2, .until = 6, .now_ms = 1000, .batch = BATCH};
    const struct frame_header header = losses_answer(&losses, &observer, &request, &body);
    assert_int_equal(header.type, FRAME_LOSSES);
    assert_int_equal(header.generation, 3);
    assert_int_equal(header.step, 4);
    assert_int_equal(header.count, 2);
    assert_int_equal(body.size, 2 * sizeof(double));
    assert_true(out[0] == 4 && out[1] == 5);
    assert_true(losses_observer_waits(&observer, 6, 1000 + OBSERVER_SILENT_MS - 1));
    assert_false(losses_observer_waits(&observer, 6, 1000 + OBSERVER_SILENT_MS));
    assert_false(losses_observer_waits(&observer, 2, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sum_is_that_of_the_tree, begin),
        cmocka_unit_test_setup(single_slices_add_up, begin),
        cmocka_unit_test_setup(load_drops_later_steps, begin),
        cmocka_unit_test_setup(newest_are_kept, begin),
        cmocka_unit_test_setup(answers_note_the_observer, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
