/* model/layers.c: shapes, variables, gradients and errors of layers. */
#include "tanist/layers.h"

#include "graph/ops/ops.h"
#include "graph/program.h"
#include "tests/unit/support/graphs.h"

static void expect_right_gradients(struct tn_graph *graph)
{
    struct tn_error error = {.text = ""};
    double worst = 1;
    if (tn_check_gradients(graph, 3, 3, 24, &worst, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    assert_true(worst < 1e-5);
}

static const char *names_of(struct tn_graph *graph, char *out, size_t size)
{
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 1});
    out[0] = '\0';
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct node *node = &program->graph->nodes[program->variables[i].node];
        size_t length = strlen(out);
        snprintf(out + length, size - length, "%s ", node->attributes.name);
    }
    tn_program_destroy(program);
    return out;
}

static void an_image_network_is_built_from_layers(void **state)
{
    (void)state;
    char names[1024];
    struct tn_graph *graph = new_graph();
    struct tn_window kernel = {.height = 3, .width = 3, .same = true};
    tn_tensor x = tn_placeholder(graph, "image", TN_FLOAT32, TN_SHAPE(TN_BATCH, 4, 4, 2));
    tn_tensor labels = tn_placeholder(graph, "label", TN_UINT8, TN_SHAPE(TN_BATCH));
    x = tn_conv(graph, "conv", x, 3, kernel, TN_RELU);
    assert_int_equal(tn_shape_of(graph, x).dims[3], 3);
    x = tn_global_mean_pool(graph, tn_batch_norm(graph, "norm", x));
    x = tn_dense(graph, "output", x, 4, TN_LINEAR);
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, labels), 1);
    expect_right_gradients(graph);
    assert_string_equal(names_of(graph, names, sizeof names),
                        "conv/weights conv/bias norm/gain norm/bias norm/moments/mean "
                        "norm/moments/variance output/weights output/bias ");
    tn_graph_destroy(graph);
}

static void a_transformer_is_built_from_layers(void **state)
{
    (void)state;
    char names[1024];
    struct tn_graph *graph = new_graph();
    tn_tensor ids = tn_placeholder(graph, "tokens", TN_INT32, TN_SHAPE(TN_BATCH, 5));
    tn_tensor x = tn_embed(graph, "embed", ids, 6, 8);
    x = tn_transformer_block(graph, "block0", x, 2, 12, true, 0.1F);
    x = tn_transformer_block(graph, "block1", x, 4, 12, false, 0);
    assert_int_equal(tn_shape_of(graph, x).dims[2], 8);
    x = tn_dense(graph, "output", tn_layer_norm(graph, "norm", x), 6, TN_LINEAR);
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, ids), 1);
    expect_right_gradients(graph);
    names_of(graph, names, sizeof names);
    assert_non_null(strstr(names, "embed/rows "));
    assert_non_null(strstr(names, "block1/attention/query/weights "));
    assert_non_null(strstr(names, "block0/norm2/gain "));
    tn_graph_destroy(graph);
}

static void errors_name_the_layer(void **state)
{
    (void)state;
    struct tn_error error = {.text = ""};
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 5, 6));
    assert_int_equal(tn_self_attention(graph, "attention", x, 4, true, 0).v, 0);
    assert_int_equal(tn_graph_status(graph, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "attention 'attention'"));
    assert_int_equal(tn_transformer_block(graph, "block", x, 4, 8, true, 0).v, 0);
    tn_graph_destroy(graph);
    graph = new_graph();
    tn_tensor ids = tn_placeholder(graph, "ids", TN_INT32, TN_SHAPE(TN_BATCH, 5));
    tn_scope_begin(graph, "head");
    assert_int_equal(tn_dense(graph, "dense", ids, 3, TN_RELU).v, 0);
    tn_graph_status(graph, &error);
    assert_non_null(strstr(error.text, "scope 'head/dense': matmul(int32 [batch, 5]"));
    tn_graph_destroy(graph);
}

/* Three features of width 2: 1*3 + 2*4 = 11, 1*5 + 2*6 = 17 and 3*5 + 4*6 = 39 are the dot products
 * of features 1 and 0, 2 and 0, 2 and 1. */
static void interactions_are_dot_products_of_pairs(void **state)
{
    static const float values[] = {1, 2, 3, 4, 5, 6}, dots[] = {11, 17, 39};
    static const char *const kernels[] = {"reference", "portable"};
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3, 2));
    tn_output(graph, "sum", tn_factorization_machine(graph, x));
    tn_output(graph, "dots", tn_dot_interaction(graph, x));
    for (int k = 0; k < 2; k++) {
        struct tn_run run = {.struct_size = sizeof run, .values = values};
        struct tn_program *program = new_program(
            graph,
            (struct tn_program_options){.mode = TN_EVALUATE, .examples = 1, .kernels = kernels[k]});
        memcpy(tn_program_field(program, "x").data, values, sizeof values);
        assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
        assert_true(*(const float *)tn_program_output(program, "sum").data == 67);
        assert_memory_equal(tn_program_output(program, "dots").data, dots, sizeof dots);
        tn_program_destroy(program);
    }
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_network_is_built_from_layers),
        cmocka_unit_test(a_transformer_is_built_from_layers),
        cmocka_unit_test(interactions_are_dot_products_of_pairs),
        cmocka_unit_test(errors_name_the_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
