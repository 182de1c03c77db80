/* graph/encoding.c: a graph survives the way through bytes, and no other bytes are a graph. */
#include "graph/encoding.h"

#include "graph/canonical.h"
#include "graph/ops/ops.h"
#include "tests/unit/support/graphs.h"

enum { EXAMPLES = 2, ENCODED_MAX = 16384 };

static struct tn_graph *canonical_of(const struct tn_graph *graph)
{
    struct tn_graph *canonical = NULL;
    assert_int_equal(graph_canonical(graph, true, &canonical, NULL), TN_OK);
    return canonical;
}

/* Decode what `graph` encodes to. */
static struct tn_graph *through_bytes(const struct tn_graph *graph)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct tn_graph *decoded = NULL;
    struct error error = {.text = ""};
    if (graph_encode(graph, &bytes, &size, &error) != TN_OK ||
        graph_decode(bytes, size, &decoded, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    free(bytes);
    return decoded;
}

/* Each operation of evaluation once, with attributes other than the defaults. */
static struct tn_graph *rich_graph(void)
{
    struct tn_graph *graph = new_graph();
    tn_tensor image = tn_placeholder(graph, "image", TN_UINT8, TN_SHAPE(TN_BATCH, 6, 6, 2));
    tn_tensor labels = tn_placeholder(graph, "labels", TN_INT32, TN_SHAPE(TN_BATCH));
    tn_tensor x = tn_cast(graph, image, TN_FLOAT32, 1.0F / 255);
    tn_scope_begin(graph, "features");
    tn_tensor weights = weights_of(graph, "weights", TN_SHAPE(3, 3, 1, 4));
    x = tn_conv2d(graph, x, weights, (struct tn_window){.same = true, .stride_width = 2}, 2);
    x = tn_activate(graph, tn_pad(graph, x, 1, 1, 0, -1), TN_LEAKY_RELU);
    x = tn_mean_pool(graph, x, (struct tn_window){.height = 2, .width = 1});
    x = tn_max_pool(graph, x, (struct tn_window){.height = 2, .width = 2, .top = 1});
    tn_scope_end(graph);
    tn_tensor gain = weights_of(graph, "gain", TN_SHAPE(4)),
              bias = weights_of(graph, "bias", TN_SHAPE(4));
    x = tn_normalize_batch(graph, "batch", x, gain, bias, 0.5F, 1e-3F);
    x = tn_dropout(graph, "drop", tn_normalize_layer(graph, x, gain, bias, 1e-4F), 0.5F);
    x = tn_permute(graph, x, (uint32_t[]){0, 3, 1, 2}, 4);
    tn_tensor seen = tn_attention(graph, x, x, x, true, 0.25F);
    x = tn_concat(graph, (tn_tensor[]){seen, x}, 2, 3);
    x = tn_sum(graph, x, (uint32_t[]){2}, 1);
    x = tn_mean(graph, tn_slice(graph, x, 2, 1, 2), (uint32_t[]){2}, 1);
    tn_tensor table = weights_of(graph, "table", TN_SHAPE(5, 4));
    x = tn_add(graph, x, tn_gather(graph, table, labels));
    x = tn_multiply(graph, x, tn_one_hot(graph, labels, 4));
    x = tn_divide(graph, tn_clip(graph, x, -2, 2), tn_scalar(graph, 3));
    x = tn_subtract(graph, tn_erf(graph, x), tn_exp(graph, tn_power(graph, x, 2)));
    x = tn_log(graph, tn_sqrt(graph, tn_scale(graph, tn_activate(graph, x, TN_SIGMOID), 2)));
    for (int i = TN_GELU; i <= TN_TANH; i++) { x = tn_activate(graph, x, (enum tn_activation)i); }
    tn_tensor square = weights_of(graph, "square", TN_SHAPE(4, 4));
    x = tn_activate(graph, tn_matmul(graph, x, square, false, true), TN_RELU);
    tn_output(graph, "probabilities", tn_softmax(graph, tn_stop_gradient(graph, x)));
    tn_output(graph, "reshaped", tn_reshape(graph, x, TN_SHAPE(TN_BATCH, 2, 2)));
    tn_output(graph, "loss", tn_softmax_cross_entropy_smoothed(graph, x, labels, 0.1F));
    tn_output(graph, "correct", tn_is_correct(graph, x, labels));
    tn_output(graph, "squared", tn_squared_error(graph, x, x));
    tn_output(graph, "absolute", tn_absolute_error(graph, x, x));
    tn_output(graph, "huber", tn_huber_error(graph, x, x, 0.5F));
    tn_output(graph, "retrieved", graph_add2(graph, &op_is_retrieved, x, x));
    tn_tensor fits = tn_cast(graph, labels, TN_FLOAT32, 1);
    tn_output(graph, "pairs", tn_slice_softmax_cross_entropy(graph, x, x, fits));
    tn_output(graph, "sigmoid", tn_sigmoid_cross_entropy(graph, x, x));
    struct tn_error error = {.text = ""};
    if (tn_graph_status(graph, &error) != TN_OK) { fail_msg("%s", error.text); }
    return graph;
}

static void fill_image(struct tn_view image, struct tn_view labels)
{
    for (int i = 0; i < EXAMPLES * 6 * 6 * 2; i++) {
        ((uint8_t *)image.data)[i] = (uint8_t)(37 * i + 11);
    }
    for (int i = 0; i < EXAMPLES; i++) { ((int32_t *)labels.data)[i] = i + 1; }
}

/* Run both, and compare the output `name`. */
static void assert_same_output(const struct tn_graph *a, const struct tn_graph *b)
{
    const struct tn_graph *graphs[] = {a, b};
    struct tn_program *programs[2];
    for (int i = 0; i < 2; i++) {
        programs[i] = new_program(
            graphs[i], (struct tn_program_options){.mode = TN_EVALUATE, .examples = EXAMPLES});
        fill_image(tn_program_field(programs[i], "image"), tn_program_field(programs[i], "labels"));
    }
    const uint64_t count = tn_program_parameters(programs[0]);
    assert_int_equal(count, tn_program_parameters(programs[1]));
    float *values = calloc((size_t)count + 1, sizeof *values);
    assert_non_null(values);
    tn_program_initialize(programs[0], 5, values);
    for (int i = 0; i < 2; i++) {
        struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
        assert_int_equal(tn_program_run(programs[i], &run, NULL), TN_OK);
    }
    for (uint32_t i = 0; i < a->mark_count; i++) {
        const struct tn_view x = tn_program_output(programs[0], a->marks[i].name);
        const struct tn_view y = tn_program_output(programs[1], a->marks[i].name);
        assert_non_null(x.data);
        assert_true(shape_equal(&x.shape, &y.shape));
        assert_memory_equal(x.data, y.data,
                            (size_t)shape_elements(&x.shape) * type_size(x.type, false));
    }
    free(values);
    tn_program_destroy(programs[0]);
    tn_program_destroy(programs[1]);
}

/* Operations, attributes, constants, names and outputs arrive; the results have the same bits. */
static void graphs_survive(void **state)
{
    (void)state;
    struct tn_graph *graph = rich_graph(), *whole = canonical_of(graph);
    struct tn_graph *decoded = through_bytes(whole);
    assert_int_equal(decoded->count, whole->count);
    assert_int_equal(decoded->mark_count, whole->mark_count);
    for (uint32_t i = 0; i < whole->count; i++) {
        assert_ptr_equal(decoded->nodes[i].op, whole->nodes[i].op);
        assert_string_equal(decoded->nodes[i].scope, whole->nodes[i].scope);
    }
    assert_same_output(whole, decoded);
    tn_graph_destroy(decoded);
    tn_graph_destroy(whole);
    tn_graph_destroy(graph);
}

/* No beginning of an encoded graph is one, and nothing may follow it. */
static void cut_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t *bytes = NULL, more[ENCODED_MAX];
    size_t size = 0;
    struct tn_graph *graph = rich_graph(), *whole = canonical_of(graph), *decoded = NULL;
    assert_int_equal(graph_encode(whole, &bytes, &size, NULL), TN_OK);
    assert_true(size < ENCODED_MAX);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(graph_decode(bytes, i, &decoded, NULL), TN_EINVAL);
        assert_null(decoded);
    }
    memcpy(more, bytes, size);
    more[size] = 0;
    assert_int_equal(graph_decode(more, size + 1, &decoded, NULL), TN_EINVAL);
    free(bytes);
    tn_graph_destroy(whole);
    tn_graph_destroy(graph);
}

/* Whatever one changed byte makes of a graph: it is refused, or can be computed. */
static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t size = 0;
    uint32_t refused = 0;
    struct tn_graph *graph = layered_graph(2), *whole = canonical_of(graph), *decoded = NULL;
    assert_int_equal(graph_encode(whole, &bytes, &size, NULL), TN_OK);
    for (size_t i = 0; i < size; i++) {
        const uint8_t before = bytes[i];
        bytes[i] ^= (uint8_t)(1U << i % 8);
        const enum tn_status status = graph_decode(bytes, size, &decoded, NULL);
        if (status == TN_OK) {
            struct tn_program *program = NULL;
            const struct tn_program_options options = {.struct_size = sizeof options,
                                                       .mode = TN_EVALUATE,
                                                       .examples = 1,
                                                       .memory_max = 1 << 20};
            const enum tn_status made = tn_program_create(decoded, &options, &program, NULL);
            assert_true(made == TN_OK || made == TN_EINVAL || made == TN_ENOMEM);
            tn_program_destroy(program);
            tn_graph_destroy(decoded);
        }
        refused += status != TN_OK;
        bytes[i] = before;
    }
    assert_true(refused > size / 4);
    free(bytes);
    tn_graph_destroy(whole);
    tn_graph_destroy(graph);
}

/* Operations that only this process can compute have no encoding; the error names them. */
static void gradients_are_not_encoded(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct error error = {.text = ""};
    struct tn_graph *graph = new_graph();
    tn_scope_begin(graph, "end");
    tn_tensor x = weights_of(graph, "x", TN_SHAPE(2));
    graph_add1(graph, &op_loss_seed, x);
    assert_int_equal(graph_encode(graph, &bytes, &size, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "operation 'loss_seed' of 'end'"));
    assert_null(bytes);
    tn_graph_destroy(graph);
}

/* Another version names both. */
static void versions_are_compared(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct error error = {.text = ""};
    struct tn_graph *graph = layered_graph(1), *whole = canonical_of(graph), *decoded = NULL;
    assert_int_equal(graph_encode(whole, &bytes, &size, NULL), TN_OK);
    bytes[4] = 9;
    assert_int_equal(graph_decode(bytes, size, &decoded, &error), TN_EINVAL);
    assert_string_equal(error.text, "the encoded graph has version 9, and this release reads 1: "
                                    "use one release of Tanist");
    free(bytes);
    tn_graph_destroy(whole);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_survive),           cmocka_unit_test(cut_bytes_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm), cmocka_unit_test(gradients_are_not_encoded),
        cmocka_unit_test(versions_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
