/* graph/passes/fuse_gradients.c: gradients of pooled convolutions are one operation where there is
 * a kernel for it and nothing else reads the gradient before pooling. */
#include "graph/ops/ops.h"
#include "graph/passes/passes.h"
#include "graph/program.h"
#include "graph/reference/backend.h"
#include "tests/unit/support/graphs.h"

enum { SIDE = 12, CHANNELS = 2, FILTERS = 4 };

static tn_tensor pooled(struct tn_graph *g, const char *name, tn_tensor x, struct tn_window window,
                        uint32_t groups)
{
    int64_t channels = tn_shape_of(g, x).dims[3];
    tn_scope_begin(g, name);
    tn_tensor weights = weights_of(g, "w", TN_SHAPE(3, 3, channels / groups, FILTERS));
    x = tn_conv2d(g, x, weights, (struct tn_window){.same = true}, groups);
    x = tn_activate(g, tn_add(g, x, weights_of(g, "b", TN_SHAPE(FILTERS))), TN_RELU);
    tn_scope_end(g);
    return tn_max_pool(g, x, window);
}

static uint32_t count_of(const struct tn_program *program, const struct op_type *op)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < program->order_count; t++) {
        count += program->graph->nodes[program->order[t]].op == op;
    }
    return count;
}

/* Two layers: the second one's input has a gradient, too. */
static struct tn_program *network(struct tn_window window, uint32_t groups)
{
    struct tn_graph *g = new_graph();
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, SIDE, SIDE, CHANNELS));
    x = pooled(g, "one", x, window, groups);
    x = pooled(g, "two", x, window, groups);
    tn_loss(g, tn_mean(g, x, (uint32_t[]){1, 2, 3}, 3), 1);
    struct tn_program *program = new_program(g, (struct tn_program_options){.mode = TN_TRAIN});
    tn_graph_destroy(g);
    return program;
}

static void expect(struct tn_window window, uint32_t groups, uint32_t fused)
{
    struct tn_program *program = network(window, groups);
    assert_int_equal(count_of(program, &op_conv2d_pool_gradients), fused);
    assert_int_equal(count_of(program, &op_conv2d_pool_all_gradients), fused);
    assert_int_equal(count_of(program, &op_max_pool_gradient), fused == 0 ? 2 : 0);
    assert_int_equal(count_of(program, &op_conv2d_weights_gradient), fused == 0 ? 2 : 0);
    tn_program_destroy(program);
}

static void squares_without_groups_are_fused(void **state)
{
    (void)state;
    const struct tn_window square = {2, 2, .stride_height = 2, .stride_width = 2};
    const struct tn_window flat = {1, 2, .stride_height = 1, .stride_width = 2};
    const struct tn_window overlapping = {3, 3, .stride_height = 2, .stride_width = 2};
    const struct tn_window padded = {2, 2, .stride_height = 2, .stride_width = 2, .top = 1};
    expect(square, 1, 1);
    expect(square, 2, 0);
    expect(flat, 1, 0);
    expect(overlapping, 1, 0);
    expect(padded, 1, 0);
}

/* The gradient before pooling and two of its readers; a third one prevents it. */
static void another_reader_prevents_it(void **state)
{
    (void)state;
    for (uint32_t others = 0; others < 2; others++) {
        struct tn_graph *g = new_graph();
        uint8_t places[SIDE / 2 * SIDE / 2 * FILTERS] = {0};
        tn_tensor x = weights_of(g, "x", TN_SHAPE(1, SIDE, SIDE, CHANNELS));
        tn_tensor dy = weights_of(g, "dy", TN_SHAPE(1, SIDE / 2, SIDE / 2, FILTERS));
        tn_tensor place = tn_constant(
            g, (struct tn_view){TN_UINT8, TN_SHAPE(1, SIDE / 2, SIDE / 2, FILTERS), places});
        struct attributes window = {.integers = {2, 2, 2, 2}};
        window.shape = TN_SHAPE(1, SIDE, SIDE, FILTERS);
        struct attributes conv = {.integers = {3, 3, 1, 1, 1, 1, 1, 1, 1}};
        conv.shape = TN_SHAPE(3, 3, CHANNELS, FILTERS);
        tn_tensor before =
            graph_add(g, &op_max_pool_gradient, (tn_tensor[]){place, dy}, 2, &window);
        tn_tensor roots[] = {
            sum_over(g, before, 7),
            graph_add(g, &op_conv2d_weights_gradient, (tn_tensor[]){x, before}, 2, &conv),
            tn_exp(g, before)};
        assert_int_equal(tn_graph_status(g, NULL), TN_OK);
        uint32_t fused = 0;
        struct pass pass = {g, backend_reference(), roots, 2 + others};
        assert_int_equal(pass_fuse_gradients(&pass, &fused, NULL), TN_OK);
        assert_int_equal(fused, others == 0 ? 2 : 0);
        bool is_fused = node_of(g, roots[0])->op == &op_conv2d_pool_gradients;
        assert_int_equal(is_fused, others == 0);
        assert_int_equal(tensor_output(roots[0]), others == 0 ? 1 : 0);
        assert_int_equal(tensor_output(roots[1]), 0);
        tn_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_without_groups_are_fused),
        cmocka_unit_test(another_reader_prevents_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
