/* Graphs of ONNX files: their values, variables and refusals. */
#include "model/onnx/import.h"

#include <math.h>

#include "graph/ops/ops.h"
#include "tests/unit/model/onnx/models.h"

enum { EXAMPLES = 3 };

static struct tn_graph *imported(const struct onnx_model *model, const struct job *job)
{
    struct tn_graph *graph = NULL;
    struct error error = {.text = ""};
    if (import_model(model, job, &graph, &error) != TN_OK) { fail_msg("%s", error.text); }
    return graph;
}

/* The output y for inputs value_at(i, 0), with the initial values; free() it. */
static float *forward(struct tn_graph *graph, size_t size)
{
    struct tn_program *program =
        new_program(graph, (struct tn_program_options){.mode = TN_EVALUATE, .examples = EXAMPLES});
    struct tn_view inputs = tn_program_field(program, "inputs");
    size_t count = 1;
    for (uint32_t d = 0; d < inputs.shape.rank; d++) { count *= (size_t)inputs.shape.dims[d]; }
    for (size_t i = 0; i < count; i++) { ((float *)inputs.data)[i] = value_at(i, 0); }
    float *values = calloc((size_t)tn_program_parameters(program) + 1, sizeof *values);
    float *y = calloc(size, sizeof *y);
    tn_program_initialize(program, 1, values);
    struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    memcpy(y, tn_program_output(program, "y").data, size * sizeof *y);
    free(values);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
    return y;
}

static uint32_t count_nodes(const struct tn_graph *graph, const struct op_type *op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->count; i++) { count += graph->nodes[i].op == op; }
    return count;
}

/* ------------------------------------------------------------- values */

enum { CHANNELS = 2, SIZE = 4, FILTERS = 3 };

/* One result of a 3 x 3 convolution with padding 1, in the layout of the file. */
static double convolved(size_t example, int filter, int row, int column)
{
    double sum = (double)value_at((size_t)filter, 0.5F);
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = 0; i < 9; i++) {
            const int y = row + i / 3 - 1, x = column + i % 3 - 1;
            if (y < 0 || x < 0 || y >= SIZE || x >= SIZE) { continue; }
            const size_t at = ((example * CHANNELS + (size_t)c) * SIZE + (size_t)y) * SIZE;
            const size_t weight = ((size_t)filter * CHANNELS + (size_t)c) * 9 + (size_t)i;
            sum += (double)value_at(at + (size_t)x, 0) * (double)value_at(weight, 0.125F);
        }
    }
    return sum;
}

static void add_convolution(struct onnx_model *model, const char *x, const char *y)
{
    char inputs[32];
    snprintf(inputs, sizeof inputs, "%s w b", x);
    Onnx__NodeProto *node = add_node(model, "Conv", inputs, y);
    add_ints(node, "pads", DIMS(1, 1, 1, 1));
    add_floats(model, "w", 0.125F, DIMS(FILTERS, CHANNELS, 3, 3));
    add_floats(model, "b", 0.5F, DIMS(FILTERS));
}

static void convolutions_have_the_layout_of_the_file(void **state)
{
    (void)state;
    struct onnx_model *model = new_model(DIMS(-1, CHANNELS, SIZE, SIZE));
    const struct job job = job_of(CHANNELS * SIZE * SIZE, FILTERS * 4);
    add_convolution(model, "x", "c");
    add_node(model, "Relu", "c", "r");
    Onnx__NodeProto *pool_node = add_node(model, "MaxPool", "r", "p");
    add_ints(pool_node, "kernel_shape", DIMS(2, 2));
    add_ints(pool_node, "strides", DIMS(2, 2));
    add_node(model, "Flatten", "p", "y");
    float *y = forward(imported(model, &job), (size_t)EXAMPLES * FILTERS * 4);
    for (size_t i = 0; i < (size_t)EXAMPLES * FILTERS * 4; i++) {
        const int filter = (int)(i / 4 % FILTERS), row = (int)(i / 2 % 2) * 2;
        const int column = (int)(i % 2) * 2;
        double greatest = 0; /* Relu. */
        for (int k = 0; k < 4; k++) {
            greatest =
                fmax(greatest, convolved(i / 4 / FILTERS, filter, row + k / 2, column + k % 2));
        }
        assert_true(fabs((double)y[i] - greatest) < 1e-4);
    }
    free(y);
}

/* Keras has the channels last, and the file transposes around the convolution. */
static void transpositions_around_a_convolution_cancel(void **state)
{
    (void)state;
    struct onnx_model *model = new_model(DIMS(-1, SIZE, SIZE, CHANNELS));
    const struct job job = job_of(CHANNELS * SIZE * SIZE, FILTERS);
    add_ints(add_node(model, "Transpose", "x", "t"), "perm", DIMS(0, 3, 1, 2));
    add_convolution(model, "t", "c");
    add_node(model, "Sigmoid", "c", "s");
    add_ints(add_node(model, "Transpose", "s", "u"), "perm", DIMS(0, 2, 3, 1));
    add_node(model, "Flatten", "u", "y");
    struct tn_graph *graph = imported(model, &job);
    assert_int_equal(count_nodes(graph, &op_permute), 0);
    tn_graph_destroy(graph);
}

/* (x - mean) / sqrt(variance + epsilon) gain + offset for each channel. */
static void batch_norm_uses_the_statistics_of_the_file(void **state)
{
    (void)state;
    struct onnx_model *model = new_model(DIMS(-1, 2, 2, 2));
    const struct job job = job_of(8, 8);
    add_node(model, "BatchNormalization", "x gain offset mean variance", "n");
    add_node(model, "Flatten", "n", "y");
    const float firsts[] = {1.5F, 0.25F, 0.75F, 2.5F};
    const char *const names[] = {"gain", "offset", "mean", "variance"};
    for (int i = 0; i < 4; i++) { add_floats(model, names[i], firsts[i], DIMS(2)); }
    struct tn_graph *graph = imported(model, &job);
    assert_int_equal(graph->variable_count, 2);
    float *y = forward(graph, (size_t)EXAMPLES * 8);
    for (size_t i = 0; i < (size_t)EXAMPLES * 8; i++) {
        const size_t c = i / 4 % 2;
        double wanted = (double)value_at(i, 0) - (double)value_at(c, firsts[2]);
        wanted /= sqrt((double)value_at(c, firsts[3]) + 1e-5);
        wanted = wanted * (double)value_at(c, firsts[0]) + (double)value_at(c, firsts[1]);
        assert_true(fabs((double)y[i] - wanted) < 1e-5);
    }
    free(y);
}

/* x.view(x.size(0), -1) and shapes that were exported with a batch of 1. */
static void shapes_that_are_computed_are_known(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct onnx_model *model = new_model(DIMS(fixed ? 1 : -1, 3, 4));
        const struct job job = job_of(12, 12);
        add_list(model, "zero", DIMS(0));
        add_list(model, "rest", DIMS(-1));
        add_list(model, "literal", DIMS(1, 12));
        add_node(model, "Shape", "x", "shape");
        add_node(model, "Gather", "shape zero", "batch");
        add_int(add_node(model, "Concat", "batch rest", "wanted"), "axis", 0);
        add_node(model, "Reshape", fixed ? "x literal" : "x wanted", "y");
        struct tn_graph *graph = imported(model, &job);
        struct tn_shape shape = graph->nodes[graph->count - 1].shapes[0];
        assert_true(shape.rank == 2 && shape.dims[0] == TN_BATCH && shape.dims[1] == 12);
        tn_graph_destroy(graph);
    }
}

/* ------------------------------------------------------------- variables */

static struct onnx_model *perceptron(void)
{
    struct onnx_model *model = new_model(DIMS(-1, 4));
    add_int(add_node(model, "Gemm", "x /fc/w:0 fc.b", "g"), "transB", 1);
    add_floats(model, "/fc/w:0", 0, DIMS(3, 4));
    add_floats(model, "fc.b", 1, DIMS(3));
    add_int(add_node(model, "Softmax", "g", "y"), "axis", -1);
    return model;
}

/* Named as in the file as far as possible; those that a pattern names are not trained. */
static void initializers_become_variables(void **state)
{
    (void)state;
    struct job job = job_of(4, 3);
    job.model.freeze_count = 1;
    strcpy(job.model.freeze[0], "fc.w*");
    struct tn_graph *graph = imported(perceptron(), &job);
    uint32_t found = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct attributes *attributes = &graph->nodes[i].attributes;
        if (attributes->variable == NULL) { continue; }
        const bool weights = strcmp(attributes->name, "fc.w_0") == 0;
        assert_true(weights || strcmp(attributes->name, "fc.b") == 0);
        assert_int_equal(attributes->variable->update,
                         weights ? TN_UPDATE_NEVER : TN_UPDATE_OPTIMIZER);
        assert_true(attributes->initial->values[1] == value_at(1, weights ? 0 : 1));
        found++;
    }
    assert_int_equal(found, 2);
    tn_graph_destroy(graph);
}

/* The loss computes the softmax itself; other losses have its result. */
static void softmax_at_the_end_is_part_of_the_loss(void **state)
{
    (void)state;
    for (int cross_entropy = 0; cross_entropy < 2; cross_entropy++) {
        struct job job = job_of(4, 3);
        if (cross_entropy) { job.model.loss = LOSS_SOFTMAX_CROSS_ENTROPY; }
        struct tn_graph *graph = imported(perceptron(), &job);
        const struct op_type *last = node_of(graph, graph->marks[0].value)->op;
        assert_ptr_equal(last, cross_entropy ? &op_add : &op_softmax);
        tn_graph_destroy(graph);
    }
}

/* ------------------------------------------------------------- refusals */

static void expect_refusal(const struct onnx_model *model, const struct job *job, const char *text)
{
    struct tn_graph *graph = NULL;
    struct error error = {.text = ""};
    if (import_model(model, job, &graph, &error) != TN_EINVAL) { fail_msg("not: %s", text); }
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
    tn_graph_destroy(graph);
}

static void what_cannot_be_imported_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *operation, *inputs, *text;
    } cases[] = {
        {"ConvTranspose", "g",
         "node 2 '' (ConvTranspose, opset 17): this operator is not supported: use convolutions"},
        {"Loop", "g", "(Loop, opset 17): this operator is not supported: docs/onnx.md"},
        {"Relu", "nowhere", "input 0 is 'nowhere', which no earlier node"},
        {"Relu", "g g", "its inputs are 2, but the operator has at most 1"},
        {"Gemm", "g", "its inputs are 1, but the operator needs at least 2"},
        {"Reshape", "g g", "is not a short list of constant integers"},
        {"Conv", "g fc.b", "only convolutions of images"},
        {"MaxPool", "g", "only images, of rank 4, are supported"},
        {"Concat", "g g", "axis 0: give one below the rank that is not the batch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct onnx_model *model = perceptron();
        const struct job job = job_of(4, 3);
        add_node(model, cases[i].operation, cases[i].inputs, "z");
        expect_refusal(model, &job, cases[i].text);
    }
}

/* The output z of one more node behind g. */
static struct onnx_model *ends_with(struct onnx_model *model, const char *operation,
                                    const char *inputs)
{
    add_node(model, operation, inputs, "z");
    model->outputs[0] = value_info("z", 0, NULL);
    return model;
}

/* Numbers that an operator cannot have are named, and no case counts as another one. */
static void numbers_of_operators_are_checked(void **state)
{
    (void)state;
    const struct job job = job_of(4, 3);
    struct onnx_model *model = ends_with(perceptron(), "Dropout", "g rate");
    add_tensor(model, "rate", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 0, NULL);
    model->initializers[model->graph.n_initializer - 1]->n_float_data = 1;
    float rate = NAN;
    model->initializers[model->graph.n_initializer - 1]->float_data = &rate;
    expect_refusal(model, &job, "a rate of nan: give one in [0, 1)");
    rate = -1;
    expect_refusal(model, &job, "a rate of -1: give one in [0, 1)");
    model = ends_with(perceptron(), "Gather", "g at");
    add_int(model->nodes[model->graph.n_node - 1], "axis", 1);
    add_tensor(model, "at", ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 0, NULL);
    int64_t at = 100;
    model->initializers[model->graph.n_initializer - 1]->n_int64_data = 1;
    model->initializers[model->graph.n_initializer - 1]->int64_data = &at;
    expect_refusal(model, &job, "the index in input 1 is 100, but the axis has 3 elements");
    model = ends_with(perceptron(), "Unsqueeze", "g axes");
    add_list(model, "axes", DIMS(1, 1));
    expect_refusal(model, &job, "'axes' names an axis twice");
    model = ends_with(perceptron(), "Reshape", "g shape");
    add_list(model, "shape", DIMS(-1, -1));
    expect_refusal(model, &job, "the shape in input 1 has more than one -1");
}

/* The attribute exists since opset 18, and has the number of outputs. */
static void number_of_parts_is_checked(void **state)
{
    (void)state;
    const struct job job = job_of(4, 3);
    static const struct {
        int64_t opset, stated;
        const char *text;
    } cases[] = {
        {17, 3, "attribute 'num_outputs' needs opset 18"},
        {18, 2, "attribute 'num_outputs' is 2, but the node has 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct onnx_model *model = perceptron();
        Onnx__NodeProto *node = add_node(model, "Split", "g", "z u v");
        add_int(node, "axis", 1);
        add_int(node, "num_outputs", cases[i].stated);
        model->set.version = cases[i].opset;
        expect_refusal(model, &job, cases[i].text);
    }
    struct onnx_model *model = perceptron();
    Onnx__NodeProto *node = add_node(model, "Split", "g", "z u v");
    add_int(node, "axis", 1);
    add_int(node, "num_outputs", 3);
    model->set.version = 18;
    tn_graph_destroy(imported(model, &job));
}

/* Sizes whose product or sum overflows do not fit. */
static void huge_sizes_are_refused(void **state)
{
    (void)state;
    const struct job job = job_of(4, 3);
    struct onnx_model *model = perceptron();
    add_list(model, "huge", DIMS(-1, INT64_MAX, 3));
    add_node(model, "Reshape", "g huge", "z");
    expect_refusal(model, &job, "the shape in input 1 does not fit");
    model = perceptron();
    add_list(model, "sizes", DIMS(INT64_MAX, INT64_MAX));
    add_int(add_node(model, "Split", "g sizes", "z u"), "axis", 1);
    expect_refusal(model, &job, "part 0 has the size 9223372036854775807: it does not fit");
}

static void models_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct job job = job_of(5, 3);
    expect_refusal(perceptron(), &job,
                   "input 'x' has 4 numbers per example, but model.inputs is 5");
    job = job_of(4, 3);
    struct onnx_model *model = perceptron();
    model->set.version = 24;
    expect_refusal(model, &job,
                   "opset_import: the model has opset 24: export it with opset 11 to 23");
    model = perceptron();
    model->inputs[0] = value_info("x", DIMS(-1, -1));
    expect_refusal(model, &job, "input 'x': dimension 1 is not a number");
    model = perceptron();
    model->inputs[model->graph.n_input++] = value_info("z", DIMS(-1, 4));
    expect_refusal(model, &job, "the model has the inputs 'x' and 'z'");
    model = perceptron();
    model->outputs[model->graph.n_output++] = value_info("g", 0, NULL);
    expect_refusal(model, &job, "graph.output: the model has 2 outputs");
    model = perceptron();
    model->outputs[0] = value_info("nowhere", 0, NULL);
    expect_refusal(model, &job, "graph.output: no node computes the output 'nowhere'");
    model = ends_with(perceptron(), "Transpose", "g");
    expect_refusal(model, &job, "graph.output 'z': permute");
    model = perceptron();
    model->nodes[0]->domain = text_of("com.microsoft", 13);
    expect_refusal(model, &job, "operators of the domain 'com.microsoft'");
    model = perceptron();
    add_int(model->nodes[1], "magic", 1);
    expect_refusal(model, &job, "attribute 'magic' is not supported");
    model = perceptron();
    model->nodes[1]->output[0] = text_of("g", 1);
    expect_refusal(model, &job, "the value 'g' is defined twice");
    job.model.freeze_count = 1;
    strcpy(job.model.freeze[0], "encoder*");
    expect_refusal(perceptron(), &job, "model.freeze[0] is \"encoder*\", which matches none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_have_the_layout_of_the_file),
        cmocka_unit_test(transpositions_around_a_convolution_cancel),
        cmocka_unit_test(batch_norm_uses_the_statistics_of_the_file),
        cmocka_unit_test(shapes_that_are_computed_are_known),
        cmocka_unit_test(initializers_become_variables),
        cmocka_unit_test(softmax_at_the_end_is_part_of_the_loss),
        cmocka_unit_test(what_cannot_be_imported_is_refused_by_name),
        cmocka_unit_test(numbers_of_operators_are_checked),
        cmocka_unit_test(number_of_parts_is_checked),
        cmocka_unit_test(huge_sizes_are_refused),
        cmocka_unit_test(models_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
