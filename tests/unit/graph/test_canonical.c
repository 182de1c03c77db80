/* graph/canonical.h: the order of the API calls has no influence (rule A9). */
#include "graph/canonical.h"

#include "common/base/random.h"
#include "graph/ops/ops.h"
#include "tests/unit/support/graphs.h"

/*
 * Builds one model whose independent nodes are created in an order that `random` selects: as
 * compilers do with tn_add(g, f(g), h(g)), but also across layers.
 */
enum { LEAVES = 6 };

static struct tn_graph *permuted_graph(struct random *random)
{
    struct tn_graph *graph = new_graph();
    tn_tensor leaves[LEAVES] = {TN_NONE}, squares[LEAVES] = {TN_NONE};
    for (uint32_t made = 0; made < 2 * LEAVES;) {
        uint32_t pick = (uint32_t)random_below(random, 2 * LEAVES), i = pick % LEAVES;
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        if (pick < LEAVES && leaves[i].v == 0) {
            leaves[i] = weights_of(graph, name, TN_SHAPE(2 + i % 2, 3));
            made++;
        } else if (pick >= LEAVES && leaves[i].v != 0 && squares[i].v == 0) {
            squares[i] = tn_multiply(graph, leaves[i], leaves[i]);
            weights_of(graph, "unused", TN_SHAPE(7)); /* Nothing depends on it. */
            made++;
        }
    }
    tn_tensor sum = tn_scalar(graph, 1);
    for (uint32_t i = 0; i < LEAVES; i++) {
        sum = tn_add(graph, sum, tn_sum(graph, squares[i], (uint32_t[]){0, 1}, 2));
    }
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_loss(graph, tn_multiply(graph, x, sum), 1);
    return graph;
}

static void permuted_builds_have_one_hash(void **state)
{
    (void)state;
    struct random random = {7};
    uint64_t first = 0;
    uint32_t orders = 0;
    for (int round = 0; round < 50; round++) {
        struct tn_graph *graph = permuted_graph(&random);
        uint64_t hash = tn_graph_hash(graph);
        assert_int_not_equal(hash, 0);
        if (round == 0) { first = hash; }
        assert_int_equal(hash, first);
        orders += strcmp(graph->nodes[0].attributes.name, "w0") != 0;
        tn_graph_destroy(graph);
    }
    assert_true(orders > 10); /* They were built in different orders. */
}

/* Two programs from permuted builds train to the same bits: the flat vectors are equal. */
static void permuted_builds_have_one_gradient(void **state)
{
    (void)state;
    struct random random = {9};
    float first[64];
    for (int round = 0; round < 10; round++) {
        struct tn_graph *graph = permuted_graph(&random);
        struct tn_program *program = new_program(graph, (struct tn_program_options){0});
        uint64_t count = tn_program_parameters(program);
        float values[64] = {0}, gradient[64] = {0};
        assert_int_equal(count, 3 * 6 + 3 * 9);
        tn_program_initialize(program, 4, values);
        fill_floats(tn_program_field(program, "x"), 0.5F);
        struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .scale = 1};
        assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
        if (round == 0) { memcpy(first, gradient, sizeof first); }
        assert_memory_equal(first, gradient, sizeof first);
        tn_program_destroy(program);
        tn_graph_destroy(graph);
    }
}

static struct tn_graph *one_difference(int which)
{
    struct tn_graph *graph = new_graph();
    if (which == 1) { tn_device_begin(graph, "/job:ps/task:1"); }
    struct tn_variable_options options = {.init = which == 2 ? TN_INIT_ONES : TN_INIT_ZEROS};
    tn_tensor w =
        tn_variable(graph, which == 3 ? "v" : "w", TN_SHAPE(which == 4 ? 3 : 2), &options);
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_tensor y = tn_scale(graph, tn_multiply(graph, x, w), which == 5 ? 2 : 3);
    if (which == 6) { y = tn_stop_gradient(graph, y); }
    if (which == 7) { y = tn_add(graph, y, tn_scalar(graph, 1)); }
    tn_tensor loss = tn_sum(graph, y, (uint32_t[]){1}, 1);
    tn_loss(graph, loss, which == 8 ? 0.5F : 1);
    if (which == 9) { tn_output(graph, "y", y); }
    if (which == 10) { tn_metric(graph, "y", loss); }
    return graph;
}

/* Anything that the result depends on changes the hash. */
static void every_difference_changes_the_hash(void **state)
{
    (void)state;
    uint64_t hashes[11];
    for (int which = 0; which < 11; which++) {
        struct tn_graph *graph = one_difference(which);
        assert_int_equal(tn_graph_status(graph, NULL), TN_OK);
        hashes[which] = tn_graph_hash(graph);
        for (int other = 0; other < which; other++) {
            assert_int_not_equal(hashes[which], hashes[other]);
        }
        tn_graph_destroy(graph);
    }
}

/* The copy holds its own texts and data: the original may go first. */
static void the_copy_is_independent(void **state)
{
    (void)state;
    struct tn_graph *graph = layered_graph(3), *copy = NULL;
    assert_int_equal(graph_canonical(graph, false, &copy, NULL), TN_OK);
    uint64_t hash = tn_graph_hash(graph);
    tn_graph_destroy(graph);
    assert_int_equal(tn_graph_hash(copy), hash);
    for (uint32_t i = 0; i < copy->count; i++) {
        for (uint32_t k = 0; k < copy->nodes[i].input_count; k++) {
            assert_true(tensor_node(copy->nodes[i].inputs[k]) < i);
        }
    }
    assert_int_equal(copy->variable_count, 6);
    tn_graph_destroy(copy);
}

static void specialising_replaces_the_batch(void **state)
{
    (void)state;
    struct tn_graph *graph = layered_graph(2), *copy = NULL;
    tn_output(graph, "c", tn_scalar(graph, 1.5F));
    assert_int_equal(graph_canonical(graph, false, &copy, NULL), TN_OK);
    graph_specialise(copy, 9, true);
    uint32_t constants = 0;
    for (uint32_t i = 0; i < copy->count; i++) {
        const struct node *node = &copy->nodes[i];
        assert_false(shape_has_batch(&node->shapes[0]));
        if (node->op == &op_placeholder) { assert_int_equal(node->shapes[0].dims[0], 9); }
        if (node->op != &op_constant) { continue; }
        assert_true(*(const double *)node->attributes.data == 1.5);
        constants++;
    }
    assert_int_equal(constants, 1);
    tn_graph_destroy(copy);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permuted_builds_have_one_hash),
        cmocka_unit_test(permuted_builds_have_one_gradient),
        cmocka_unit_test(every_difference_changes_the_hash),
        cmocka_unit_test(the_copy_is_independent),
        cmocka_unit_test(specialising_replaces_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
