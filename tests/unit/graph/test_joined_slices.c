/* graph/joined_slices.h: several slices in one run have the bits of one run for each, added over
 * the tree.
 */
#include "graph/joined_slices.h"

#include <math.h>

#include "tests/unit/support/graphs.h"

enum { INPUTS = 6, CLASSES = 7, SLICE = 5, SLICES_MOST = 9, EXAMPLES_MOST = SLICE * SLICES_MOST };

static float inputs[EXAMPLES_MOST * INPUTS], targets[EXAMPLES_MOST * CLASSES];
static uint8_t labels[EXAMPLES_MOST];

static int make_examples(void **state)
{
    (void)state;
    for (int i = 0; i < EXAMPLES_MOST * INPUTS; i++) { inputs[i] = sinf((float)i * 1.7F); }
    for (int i = 0; i < EXAMPLES_MOST * CLASSES; i++) { targets[i] = cosf((float)i * 2.3F); }
    for (int i = 0; i < EXAMPLES_MOST; i++) { labels[i] = (uint8_t)(i * 7 % CLASSES); }
    return 0;
}

static tn_tensor placeholder(struct tn_graph *graph)
{
    return tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, INPUTS));
}

static void classify(struct tn_graph *graph, tn_tensor logits)
{
    tn_tensor wanted = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_loss(graph, tn_softmax_cross_entropy(graph, logits, wanted), 1);
}

/* Dense layers of every activation with dropout between them. */
static void add_dense(struct tn_graph *graph)
{
    tn_tensor x = placeholder(graph);
    x = tn_activate(graph, dense_layer(graph, "first", x, 17), TN_RELU);
    x = tn_dropout(graph, "drop", x, 0.25F);
    x = tn_activate(graph, dense_layer(graph, "second", x, 4), TN_TANH);
    x = tn_activate(graph, dense_layer(graph, "third", x, SLICE), TN_GELU);
    classify(graph, dense_layer(graph, "logits", x, CLASSES));
}

/* Two losses, of which one is a regression. */
static void add_two_losses(struct tn_graph *graph)
{
    tn_tensor x =
        tn_activate(graph, dense_layer(graph, "hidden", placeholder(graph), 8), TN_SIGMOID);
    tn_tensor wanted = tn_placeholder(graph, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, CLASSES));
    tn_tensor outputs = dense_layer(graph, "outputs", x, CLASSES);
    tn_loss(graph, tn_squared_error(graph, outputs, wanted), 0.5F);
    classify(graph, dense_layer(graph, "logits", x, CLASSES));
}

/* A single output: the gradient of its bias has one element. */
static void add_single_output(struct tn_graph *graph)
{
    tn_tensor wanted = tn_placeholder(graph, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_tensor outputs = dense_layer(graph, "outputs", placeholder(graph), 1);
    tn_loss(graph, tn_squared_error(graph, outputs, wanted), 1);
}

/* No layer has as many rows as examples, and one has as many columns. */
static void add_one_layer(struct tn_graph *graph)
{
    classify(graph, dense_layer(graph, "logits", placeholder(graph), CLASSES));
}

static void fill(struct tn_program *program, uint32_t first, uint32_t count)
{
    struct tn_view x = tn_program_field(program, "x"), y = tn_program_field(program, "targets"),
                   label = tn_program_field(program, "labels");
    memcpy(x.data, inputs + (size_t)first * INPUTS, (size_t)count * INPUTS * sizeof *inputs);
    if (y.data != NULL) {
        const size_t width = (size_t)y.shape.dims[1];
        memcpy(y.data, targets + first * width, count * width * sizeof *targets);
    }
    if (label.data != NULL) { memcpy(label.data, labels + first, count); }
}

struct result {
    float *gradient;
    double loss;
};

static struct result run(struct tn_program *program, const float *values, uint32_t first,
                         uint32_t count)
{
    struct result result = {calloc(tn_program_parameters(program), sizeof(float)), 0};
    struct tn_run task = {sizeof task,    .values = values, .gradient = result.gradient,
                          .seed = 3,      .step = 5,        .first = first,
                          .scale = 0.125F};
    fill(program, first, count);
    assert_int_equal(tn_program_run(program, &task, NULL), TN_OK);
    result.loss = task.loss_sum;
    return result;
}

/* The slices [first, first + count), one by one, split at the largest power of two below
 * `count`. */
static struct result sum_slices(struct tn_program *one, const float *values, uint32_t first,
                                uint32_t count)
{
    if (count == 1) { return run(one, values, first * SLICE, SLICE); }
    uint32_t half = 1;
    while (2 * half < count) { half *= 2; }
    struct result left = sum_slices(one, values, first, half);
    struct result right = sum_slices(one, values, first + half, count - half);
    for (uint64_t i = 0; i < tn_program_parameters(one); i++) {
        left.gradient[i] += right.gradient[i];
    }
    left.loss += right.loss;
    free(right.gradient);
    return left;
}

static const struct tn_program_options *options_of(uint32_t examples)
{
    static struct tn_program_options options;
    options = (struct tn_program_options){.struct_size = sizeof options, .examples = examples};
    return &options;
}

static void check_bits(void (*add)(struct tn_graph *graph), bool *differs)
{
    struct tn_graph *graph = new_graph();
    add(graph);
    struct tn_program *one = new_program(graph, *options_of(SLICE)), *joined = NULL, *plain;
    const uint64_t parameters = tn_program_parameters(one);
    float *values = calloc(parameters, sizeof *values);
    tn_program_initialize(one, 7, values);
    for (uint32_t slices = 1; slices <= SLICES_MOST; slices++) {
        struct tn_error error = {.text = ""};
        const uint32_t examples = slices * SLICE;
        if (joined_slices_create(graph, options_of(examples), slices, &joined, &error) != TN_OK) {
            fail_msg("%s", error.text);
        }
        plain = new_program(graph, *options_of(examples));
        struct result expected = sum_slices(one, values, 0, slices);
        struct result found = run(joined, values, 0, examples);
        struct result mixed = run(plain, values, 0, examples);
        assert_memory_equal(found.gradient, expected.gradient, parameters * sizeof(float));
        assert_true(found.loss == expected.loss);
        *differs |= memcmp(mixed.gradient, expected.gradient, parameters * sizeof(float)) != 0;
        for (uint32_t s = 0; s < slices; s++) {
            struct result slice = run(one, values, s * SLICE, SLICE);
            assert_true(joined_slices_loss(joined, s) == slice.loss);
            free(slice.gradient);
        }
        free(expected.gradient), free(found.gradient), free(mixed.gradient);
        tn_program_destroy(joined), tn_program_destroy(plain);
    }
    free(values);
    tn_program_destroy(one);
    tn_graph_destroy(graph);
}

/* One run over all examples has other bits, so the test can fail. */
static void slices_in_one_run_have_the_bits_of_the_tree(void **state)
{
    (void)state;
    static void (*const models[])(struct tn_graph *) = {add_dense, add_two_losses,
                                                        add_single_output, add_one_layer};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        bool differs = false;
        check_bits(models[i], &differs);
        assert_true(differs);
    }
}

/* ------------------------------------------------------------------- refused */

static void add_batch_norm(struct tn_graph *graph)
{
    struct tn_variable_options ones = {.init = TN_INIT_ONES};
    tn_tensor x = dense_layer(graph, "first", placeholder(graph), 4);
    x = tn_normalize_batch(graph, "norm", x, tn_variable(graph, "gain", TN_SHAPE(4), &ones),
                           tn_variable(graph, "shift", TN_SHAPE(4), NULL), 0.9F, 1e-6F);
    classify(graph, dense_layer(graph, "logits", x, CLASSES));
}

/* The two parts of the gradient are added before slices are. */
static void add_shared_weights(struct tn_graph *graph)
{
    tn_tensor x = placeholder(graph);
    tn_tensor weights = weights_of(graph, "weights", TN_SHAPE(INPUTS, INPUTS));
    x = tn_activate(graph, tn_matmul(graph, x, weights, false, false), TN_RELU);
    x = tn_activate(graph, tn_matmul(graph, x, weights, false, false), TN_RELU);
    classify(graph, dense_layer(graph, "logits", x, CLASSES));
}

/* A gradient that each slice adds although it depends on no example. */
static void add_penalty(struct tn_graph *graph)
{
    tn_tensor x = placeholder(graph);
    tn_tensor weights = weights_of(graph, "weights", TN_SHAPE(INPUTS));
    tn_tensor y = tn_multiply(graph, x, tn_multiply(graph, weights, weights));
    tn_loss(graph, tn_sum(graph, y, (uint32_t[]){1}, 1), 1);
}

static void other_models_are_refused(void **state)
{
    (void)state;
    static void (*const models[])(struct tn_graph *) = {add_batch_norm, add_shared_weights,
                                                        add_penalty};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct tn_graph *graph = new_graph();
        struct tn_program *joined = NULL;
        struct tn_error error = {.text = ""};
        models[i](graph);
        assert_int_equal(joined_slices_create(graph, options_of(2 * SLICE), 2, &joined, &error),
                         TN_EINVAL);
        assert_null(joined);
        assert_non_null(strstr(error.text, "one by one"));
        tn_graph_destroy(graph);
    }
}

static void other_kernels_are_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    struct tn_program *joined = NULL;
    struct tn_program_options options = *options_of(2 * SLICE);
    options.kernels = "reference";
    add_one_layer(graph);
    assert_int_equal(joined_slices_create(graph, &options, 2, &joined, NULL), TN_EINVAL);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_in_one_run_have_the_bits_of_the_tree),
        cmocka_unit_test(other_models_are_refused),
        cmocka_unit_test(other_kernels_are_refused),
    };
    return cmocka_run_group_tests(tests, make_examples, NULL);
}
