/* group/value_labels.h: which values and gradients a member of a group has. */
#include "group/value_labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PS = 4 };

/* The member owns the ps 1 and 3. */
static const bool owns[PS] = {false, true, false, true};
static const struct value_label first = {2, 7}, second = {2, 8}, other_generation = {3, 7};
static const struct slice_node node = {4, 2}, other_node = {4, 1};

static struct value_labels labels;

static int set_up(void **state)
{
    (void)state;
    value_labels_init(&labels, PS, owns);
    return 0;
}

static void receive(struct value_label label)
{
    value_labels_answered(&labels, 1, label);
    value_labels_answered(&labels, 3, label);
    assert_true(value_labels_take(&labels, 1, label));
    assert_true(value_labels_take(&labels, 3, label));
}

static void hold(struct value_label label)
{
    receive(label);
    assert_true(value_labels_swap(&labels, label));
    assert_true(value_labels_are_current(&labels, label));
}

static void compute_node(struct value_label label)
{
    assert_true(value_labels_begin(&labels, label));
    assert_true(value_labels_computed(&labels, node));
}

static bool finds(struct value_label label, struct slice_node wanted)
{
    uint32_t index = 0;
    const bool found = value_labels_find(&labels, label, wanted, &index);
    assert_true(!found || labels.nodes[index].first == wanted.first);
    return found;
}

/* There are no values before the first answer. */
static void new_member_has_nothing(void **state)
{
    (void)state;
    assert_false(value_labels_take(&labels, 1, (struct value_label){0, 0}));
    assert_false(value_labels_swap(&labels, (struct value_label){0, 0}));
    assert_false(value_labels_begin(&labels, (struct value_label){0, 0}));
    assert_false(finds((struct value_label){0, 0}, node));
}

/* Values are taken under their own label, and once. */
static void values_are_taken_once(void **state)
{
    (void)state;
    value_labels_answered(&labels, 1, first);
    assert_false(value_labels_take(&labels, 3, first));
    assert_false(value_labels_take(&labels, 1, second));
    assert_false(value_labels_take(&labels, 1, other_generation));
    assert_true(value_labels_take(&labels, 1, first));
    assert_false(value_labels_take(&labels, 1, first));
}

/* A newer answer replaces one that was not taken. */
static void newest_answer_counts(void **state)
{
    (void)state;
    value_labels_answered(&labels, 1, first);
    value_labels_answered(&labels, 1, second);
    assert_false(value_labels_take(&labels, 1, first));
    assert_true(value_labels_take(&labels, 1, second));
}

/* The next values become the current ones when those of all its own ps are of that step. */
static void swap_needs_all_own_values(void **state)
{
    (void)state;
    const uint64_t version = labels.version;
    value_labels_answered(&labels, 1, first);
    value_labels_answered(&labels, 3, first);
    assert_true(value_labels_take(&labels, 1, first));
    /* The values of ps:3 have arrived, but were not taken. */
    assert_false(value_labels_swap(&labels, first));
    assert_true(value_labels_take(&labels, 3, first));
    assert_false(value_labels_swap(&labels, second));
    assert_false(value_labels_swap(&labels, other_generation));
    assert_int_equal(labels.version, version);
    assert_false(value_labels_are_current(&labels, first));
    assert_true(value_labels_swap(&labels, first));
    assert_true(value_labels_are_current(&labels, first));
    assert_true(labels.version != version);
}

/* Gradients are those of the current values. */
static void gradients_belong_to_the_current_values(void **state)
{
    (void)state;
    hold(first);
    assert_false(value_labels_begin(&labels, second));
    assert_false(value_labels_begin(&labels, other_generation));
    compute_node(first);
    assert_true(finds(first, node));
    assert_false(finds(first, other_node));
    assert_false(finds(second, node));
    assert_false(finds(other_generation, node));
    hold(second);
    assert_false(finds(first, node));
    assert_false(finds(second, node));
}

/* An order whose gradient is not needed any more adds nothing when it is carried out. */
static void forgotten_order_adds_nothing(void **state)
{
    (void)state;
    hold(first);
    assert_true(value_labels_begin(&labels, first));
    value_labels_forget(&labels);
    assert_false(value_labels_computed(&labels, node));
    assert_false(finds(first, node));
    compute_node(first);
    assert_true(finds(first, node));
    value_labels_forget(&labels);
    assert_false(finds(first, node));
}

/* There is room for one gradient of each slice. */
static void gradients_are_bounded(void **state)
{
    (void)state;
    hold(first);
    for (uint32_t i = 0; i < SLICES_MAX; i++) { compute_node(first); }
    assert_false(value_labels_begin(&labels, first));
}

/* G2: neither values, nor answers, nor gradients of an attempt are used in the next one. */
static void nothing_is_kept_over_a_restart(void **state)
{
    (void)state;
    hold(first);
    compute_node(first);
    receive(second);
    value_labels_answered(&labels, 1, second);
    value_labels_reset(&labels);
    assert_false(value_labels_are_current(&labels, first));
    assert_false(value_labels_begin(&labels, first));
    assert_false(finds(first, node));
    assert_false(value_labels_take(&labels, 1, second));
    assert_false(value_labels_swap(&labels, second));
    hold(first);
    assert_false(finds(first, node));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(new_member_has_nothing, set_up),
        cmocka_unit_test_setup(values_are_taken_once, set_up),
        cmocka_unit_test_setup(newest_answer_counts, set_up),
        cmocka_unit_test_setup(swap_needs_all_own_values, set_up),
        cmocka_unit_test_setup(gradients_belong_to_the_current_values, set_up),
        cmocka_unit_test_setup(forgotten_order_adds_nothing, set_up),
        cmocka_unit_test_setup(gradients_are_bounded, set_up),
        cmocka_unit_test_setup(nothing_is_kept_over_a_restart, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
