/* Gradients and sums of a replica: the bits of the tree, and what stays how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "mirror/tensors.h"

enum { V = 6, PARAMETERS = 160, RANGES = 2, STEP = 4 };

static struct buffer_pool *pool;
static struct tensors tensors;

static int set_up(void **state)
{
    (void)state;
    pool = buffer_pool_create(0);
    return tensors_open(&tensors, kernels_reference(), pool, RANGES, V, PARAMETERS, NULL) != TN_OK;
}

static int tear_down(void **state)
{
    (void)state;
    tensors_close(&tensors);
    buffer_pool_destroy(pool); /* Asserts that no reference is left. */
    return 0;
}

/* The gradient of a node, by the definition of A5. */
static float gradient_at(struct slice_node node, uint64_t i)
{
    if (node.count == 1) { return random_unit_at(1, node.first, i) - 0.5f; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return gradient_at(left, i) + gradient_at(right, i);
}

static double loss_of(struct slice_node node)
{
    if (node.count == 1) { return 0.1 * (node.first + 1); }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return loss_of(left) + loss_of(right);
}

/* A peer pushes its gradient of `node`. */
static void hold(struct slice_node node, uint32_t range, uint64_t step)
{
    const struct placement place = tensors.places[range];
    struct buffer *body = buffer_acquire(pool, place.count * sizeof(float));
    body->size = place.count * sizeof(float);
    for (uint64_t i = 0; i < place.count; i++) {
        ((float *)body->data)[i] = gradient_at(node, place.first + i);
    }
    tensors_hold(&tensors, range, step, node, body, loss_of(node));
    buffer_release(body);
}

/* The worker itself computes that of `node`, as its node number `number`. */
static void compute(uint32_t number, struct slice_node node)
{
    float *own = gradients_begin(&tensors.own, number);
    for (uint64_t i = 0; i < PARAMETERS; i++) { own[i] = gradient_at(node, i); }
    tensors.own_losses[number] = loss_of(node);
}

static void check_sum(uint32_t range, uint64_t step)
{
    const struct range_sum *sum = tensors_sum(&tensors, range, step);
    const struct placement place = tensors.places[range];
    const struct slice_node root = {0, V};
    for (uint64_t i = 0; i < place.count; i++) {
        const float expected = gradient_at(root, place.first + i);
        assert_memory_equal(&expected, (const float *)sum->body->data + i, sizeof expected);
    }
    assert_true(sum->loss == loss_of(root));
}

/* Pushed and own gradients, small nodes and large ones, give the bits of the tree. */
static void sums_have_the_bits_of_the_tree(void **state)
{
    (void)state;
    const struct replica_part parts[] = {
        {0, 4, REPLICA_NOT_OWN}, {4, 1, 0}, {5, 1, REPLICA_NOT_OWN}};
    compute(0, (struct slice_node){4, 1});
    for (uint32_t r = 0; r < RANGES; r++) {
        hold((struct slice_node){5, 1}, r, STEP);
        hold((struct slice_node){0, 4}, r, STEP);
        assert_true(tensors_reduce(&tensors, r, STEP, parts, 3));
        check_sum(r, STEP);
        assert_null(tensors.pushes[r][STEP % 2].slots[0].body); /* It was released. */
    }
}

/* A push that nothing else uses becomes the sum of two, on either side. */
static void a_push_becomes_the_sum_of_two(void **state)
{
    (void)state;
    const struct slice_node sides[] = {{0, 4}, {4, 2}};
    for (uint32_t pushed = 0; pushed < 2; pushed++) {
        const struct replica_part parts[] = {{0, 4, pushed == 0 ? REPLICA_NOT_OWN : 0},
                                             {4, 2, pushed == 1 ? REPLICA_NOT_OWN : 0}};
        compute(0, sides[1 - pushed]);
        hold(sides[pushed], 0, STEP);
        const struct buffer *body = tensors.pushes[0][STEP % 2].slots[sides[pushed].first].body;
        assert_true(tensors_reduce(&tensors, 0, STEP, parts, 2));
        check_sum(0, STEP);
        assert_ptr_equal(tensors_sum(&tensors, 0, STEP)->body, body);
        for (uint64_t i = 0; i < tensors.places[0].count; i++) { /* It may still be sent. */
            const float expected = gradient_at(sides[1 - pushed], i);
            assert_memory_equal(&expected, (float *)tensors.own.buffers[0]->data + i,
                                sizeof expected);
        }
    }
}

/* A push that something else uses does not change. */
static void a_push_in_use_stays(void **state)
{
    (void)state;
    const struct replica_part parts[] = {{0, 4, REPLICA_NOT_OWN}, {4, 2, 0}};
    compute(0, (struct slice_node){4, 2});
    hold((struct slice_node){0, 4}, 0, STEP);
    struct buffer *body = buffer_retain(tensors.pushes[0][STEP % 2].slots[0].body);
    assert_true(tensors_reduce(&tensors, 0, STEP, parts, 2));
    check_sum(0, STEP);
    for (uint64_t i = 0; i < tensors.places[0].count; i++) {
        const float expected = gradient_at((struct slice_node){0, 4}, i);
        assert_memory_equal(&expected, (float *)body->data + i, sizeof expected);
    }
    buffer_release(body);
}

/* One push of all slices is the sum. */
static void the_root_is_the_sum(void **state)
{
    (void)state;
    const struct replica_part root = {0, V, REPLICA_NOT_OWN};
    hold((struct slice_node){0, V}, 0, STEP);
    assert_true(tensors_reduce(&tensors, 0, STEP, &root, 1));
    check_sum(0, STEP);
}

/* A larger node replaces the smaller ones that it contains. */
static void a_larger_node_replaces_smaller_ones(void **state)
{
    (void)state;
    const struct replica_part parts[] = {{0, 4, REPLICA_NOT_OWN}, {4, 2, REPLICA_NOT_OWN}};
    hold((struct slice_node){1, 1}, 0, STEP);
    hold((struct slice_node){2, 2}, 0, STEP);
    hold((struct slice_node){0, 4}, 0, STEP);
    assert_null(tensors.pushes[0][STEP % 2].slots[1].body);
    assert_null(tensors.pushes[0][STEP % 2].slots[2].body);
    hold((struct slice_node){4, 2}, 0, STEP);
    assert_true(tensors_reduce(&tensors, 0, STEP, parts, 2));
    check_sum(0, STEP);
}

/* Pushes of the next step are kept apart from those of the present one. */
static void steps_are_held_apart(void **state)
{
    (void)state;
    const struct replica_part root = {0, V, REPLICA_NOT_OWN};
    hold((struct slice_node){0, V}, 0, STEP);
    hold((struct slice_node){0, V}, 0, STEP + 1);
    tensors_applied(&tensors, STEP, STEP);
    assert_null(tensors.pushes[0][STEP % 2].slots[0].body);
    assert_true(tensors_reduce(&tensors, 0, STEP + 1, &root, 1));
    check_sum(0, STEP + 1);
}

/* Sums stay up to the step that the caller names. */
static void sums_are_kept_for_some_steps(void **state)
{
    (void)state;
    const struct replica_part root = {0, V, REPLICA_NOT_OWN};
    for (uint64_t step = STEP; step < STEP + 3; step++) {
        hold((struct slice_node){0, V}, 0, step);
        assert_true(tensors_reduce(&tensors, 0, step, &root, 1));
        tensors_applied(&tensors, step, step);
        check_sum(0, step);
    }
    tensors_applied(&tensors, STEP + 2, STEP + 3);
    for (uint32_t i = 0; i <= REPLICA_KEEP_MAX; i++) {
        assert_null(tensors.sums[i].ranges[0].body);
    }
}

/* A sum from a peer is used as it came. */
static void a_sum_is_taken(void **state)
{
    (void)state;
    struct buffer *body = buffer_acquire(pool, tensors.places[1].count * sizeof(float));
    body->size = tensors.places[1].count * sizeof(float);
    tensors_take(&tensors, 1, STEP, body, 2.5);
    buffer_release(body);
    assert_ptr_equal(tensors_sum(&tensors, 1, STEP)->body, body);
    assert_true(tensors_sum(&tensors, 1, STEP)->loss == 2.5);
}

/* Steps below a limit are dropped; another generation drops all. */
static void what_is_dropped(void **state)
{
    (void)state;
    hold((struct slice_node){0, V}, 0, STEP);
    hold((struct slice_node){0, V}, 0, STEP + 1);
    tensors_drop(&tensors, STEP + 1);
    assert_null(tensors.pushes[0][STEP % 2].slots[0].body);
    assert_non_null(tensors.pushes[0][(STEP + 1) % 2].slots[0].body);
    compute(0, (struct slice_node){0, 1});
    tensors_clear(&tensors);
    assert_null(tensors.pushes[0][(STEP + 1) % 2].slots[0].body);
    assert_null(tensors.own.buffers[0]);
}

static void check_held(struct slice_node node, uint32_t range)
{
    const struct range_sum *held = tensors_held(&tensors, range, STEP, node);
    const struct placement place = tensors.places[range];
    for (uint64_t i = 0; i < place.count; i++) {
        const float expected = gradient_at(node, place.first + i);
        assert_memory_equal(&expected, (const float *)held->body->data + i, sizeof expected);
    }
    assert_true(held->loss == loss_of(node));
}

/* A relay sends the fewest nodes. They are held for another owner, and own gradients stay. */
static void a_relay_joins_nodes(void **state)
{
    (void)state;
    const struct replica_part parts[] = {
        {0, 2, REPLICA_NOT_OWN}, {2, 1, 0}, {3, 1, REPLICA_NOT_OWN}, {5, 1, 1}};
    const struct replica_part later[] = {{4, 1, REPLICA_NOT_OWN}, {5, 1, REPLICA_NOT_OWN}};
    struct slice_node nodes[SLICES_MAX];
    compute(0, (struct slice_node){2, 1});
    compute(1, (struct slice_node){5, 1});
    for (uint32_t r = 0; r < RANGES; r++) {
        hold((struct slice_node){3, 1}, r, STEP);
        hold((struct slice_node){0, 2}, r, STEP);
        assert_int_equal(tensors_join(&tensors, r, STEP, parts, 4, nodes), 2);
        assert_int_equal(nodes[0].count, 4);
        assert_int_equal(nodes[1].first, 5);
        check_held(nodes[0], r);
        check_held(nodes[1], r);
        assert_null(tensors.pushes[r][STEP % 2].slots[2].body);
        hold((struct slice_node){4, 1}, r, STEP);
        assert_int_equal(tensors_join(&tensors, r, STEP, later, 2, nodes), 1);
        check_held((struct slice_node){4, 2}, r);
    }
    for (uint64_t i = 0; i < PARAMETERS; i++) {
        const float expected = gradient_at((struct slice_node){2, 1}, i);
        assert_memory_equal(&expected, (float *)tensors.own.buffers[0]->data + i, sizeof expected);
    }
}

/* A node that is still being sent does not change. */
static void a_node_that_was_sent_stays(void **state)
{
    (void)state;
    const struct replica_part one = {4, 1, REPLICA_NOT_OWN};
    const struct replica_part both[] = {{4, 1, REPLICA_NOT_OWN}, {5, 1, REPLICA_NOT_OWN}};
    struct slice_node nodes[SLICES_MAX];
    hold((struct slice_node){4, 1}, 0, STEP);
    assert_int_equal(tensors_join(&tensors, 0, STEP, &one, 1, nodes), 1);
    struct buffer *sent = buffer_retain(tensors_held(&tensors, 0, STEP, nodes[0])->body);
    hold((struct slice_node){5, 1}, 0, STEP);
    assert_int_equal(tensors_join(&tensors, 0, STEP, both, 2, nodes), 1);
    check_held((struct slice_node){4, 2}, 0);
    for (uint64_t i = 0; i < tensors.places[0].count; i++) {
        const float expected = gradient_at((struct slice_node){4, 1}, i);
        assert_memory_equal(&expected, (float *)sent->data + i, sizeof expected);
    }
    buffer_release(sent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_have_the_bits_of_the_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_push_becomes_the_sum_of_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_push_in_use_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_root_is_the_sum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_larger_node_replaces_smaller_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_relay_joins_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_that_was_sent_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_are_held_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_are_kept_for_some_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sum_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_dropped, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
