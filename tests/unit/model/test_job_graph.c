/* model/job_graph.h: gradients are slopes, and have the bits of the kernels called one by one. */
#include "model/job_graph.h"

#include <math.h>

#include "kernels/kernels.h"
#include "model/training.h"
#include "tests/unit/support/graphs.h"

enum { ROWS = 20, INPUTS = 40, HIDDEN = 24, OUTPUTS = 7 };

static struct job job_of(const char *type, uint32_t hidden_count)
{
    struct job job;
    job_init(&job);
    strcpy(job.model.type, type);
    job.model.inputs = INPUTS;
    job.model.outputs = OUTPUTS;
    job.model.hidden_count = hidden_count;
    job.model.hidden[0] = HIDDEN;
    job.model.hidden[1] = 11;
    return job;
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    const struct job jobs[] = {job_of("mlp", 2), job_of("softmax", 0), job_of("linear", 0)};
    for (size_t k = 0; k < sizeof jobs / sizeof jobs[0]; k++) {
        struct tn_graph *graph = NULL;
        double worst = 1;
        assert_int_equal(job_graph_create(&jobs[k], &graph, NULL), TN_OK);
        assert_int_equal(tn_check_gradients(graph, 3, 5, 20, &worst, NULL), TN_OK);
        assert_true(worst < 1e-5);
        tn_graph_destroy(graph);
    }
}

/* A network with one hidden layer, by the kernels of "openblas". */
struct by_hand {
    float hidden[ROWS * HIDDEN], logits[ROWS * OUTPUTS], upper[ROWS * HIDDEN];
};

static void gradient_by_hand(const struct fields *fields, const float *values, float scale,
                             float *out)
{
    static struct by_hand m;
    const struct kernels *k = kernels_cpu();
    size_t bias1 = INPUTS * HIDDEN, weights2 = bias1 + HIDDEN, bias2 = weights2 + HIDDEN * OUTPUTS;
    k->multiply(false, false, ROWS, HIDDEN, INPUTS, fields->inputs, values, m.hidden);
    k->add_bias(ROWS, HIDDEN, values + bias1, m.hidden);
    k->relu(ROWS * HIDDEN, m.hidden);
    k->multiply(false, false, ROWS, OUTPUTS, HIDDEN, m.hidden, values + weights2, m.logits);
    k->add_bias(ROWS, OUTPUTS, values + bias2, m.logits);
    for (int r = 0; r < ROWS; r++) {
        k->cross_entropy(OUTPUTS, m.logits + (size_t)r * OUTPUTS, fields->labels[r]);
        k->cross_entropy_backward(OUTPUTS, m.logits + (size_t)r * OUTPUTS, fields->labels[r],
                                  scale);
    }
    k->multiply(true, false, HIDDEN, OUTPUTS, ROWS, m.hidden, m.logits, out + weights2);
    k->sum_rows(ROWS, OUTPUTS, m.logits, out + bias2);
    k->multiply(false, true, ROWS, HIDDEN, OUTPUTS, m.logits, values + weights2, m.upper);
    k->relu_backward(ROWS * HIDDEN, m.hidden, m.upper);
    k->multiply(true, false, INPUTS, HIDDEN, ROWS, fields->inputs, m.upper, out);
    k->sum_rows(ROWS, HIDDEN, m.upper, out + bias1);
}

static void gradients_have_the_bits_of_the_kernels(void **state)
{
    (void)state;
    const struct kernels *kernels = NULL;
    if (kernels_open("cpu", &kernels, NULL) != TN_OK) { skip(); }
    struct job job = job_of("mlp", 1);
    struct model *model = NULL;
    struct training *training = NULL;
    assert_int_equal(model_open(&job, &model, NULL), TN_OK);
    const struct training_config config = {
        .model = model, .kernels = "openblas", .gradient = {ROWS}};
    assert_int_equal(training_open(&config, &training, NULL), TN_OK);
    size_t size = (size_t)model->table.parameter_count;
    float *values = calloc(3 * size, sizeof *values), *expected = values + size;
    struct slice_run run = {.values = values, .count = ROWS, .scale = 1.0F / 512};
    run.gradient = expected + size;
    struct fields fields = training_fields(training, TN_TRAIN, ROWS);
    variables_init_range(&model->table, 5, 0, size, values);
    for (int i = 0; i < ROWS * INPUTS; i++) { fields.inputs[i] = (float)(i % 17) / 8 - 1; }
    for (int i = 0; i < ROWS; i++) { fields.labels[i] = (uint8_t)(i * 5 % OUTPUTS); }
    gradient_by_hand(&fields, values, run.scale, expected);
    assert_int_equal(training_gradient(training, &run, NULL), TN_OK);
    assert_memory_equal(run.gradient, expected, size * sizeof *values);
    free(values);
    training_close(training);
    model_close(model);
}

static void expect_refusal(const struct job *job, const char *text)
{
    struct tn_graph *graph = NULL;
    struct error error;
    assert_int_equal(job_graph_create(job, &graph, &error), TN_EINVAL);
    assert_string_equal(error.text, text);
    assert_null(graph);
}

static void wrong_models_are_refused(void **state)
{
    (void)state;
    struct job job = job_of("forest", 0);
    expect_refusal(&job, "unknown model.type 'forest': one of mlp, softmax, linear, layers, "
                         "onnx, program, library");
    job = job_of("mlp", 1);
    job.model.inputs = 0;
    expect_refusal(&job, "model.inputs is 0: give a number from 1 to 1048576");
    job = job_of("mlp", 1);
    job.model.outputs = 1;
    expect_refusal(&job, "model.outputs is 1: a classifier needs 2 or more, one for each class");
    job = job_of("softmax", 0);
    job.model.outputs = JOB_OUTPUTS_MAX + 1;
    expect_refusal(&job, "model.outputs is 2147483649: give a number from 1 to 2147483648");
    job.model.outputs = JOB_OUTPUTS_MAX;
    job.train.kernels = JOB_KERNELS_OPENBLAS;
    expect_refusal(&job, "model.outputs is 2147483648, but train.kernels \"openblas\" computes at "
                         "most 2147483647: use \"portable\"");
    job = job_of("mlp", 2);
    job.model.hidden[1] = 0;
    expect_refusal(&job, "model.hidden is 0: give a number from 1 to 1048576");
    job = job_of("mlp", 9);
    expect_refusal(&job, "model.hidden has 9 layers: give at most 8");
    job = job_of("softmax", 1);
    expect_refusal(&job, "model.hidden has 1 layers, but model.type 'softmax' has none: remove "
                         "them or use 'mlp'");
    job = job_of("linear", 1);
    expect_refusal(&job, "model.hidden has 1 layers, but model.type 'linear' has none: remove "
                         "them");
}

/* The graph of as many classes as labels can name; it allocates no values. */
static void most_classes_are_accepted(void **state)
{
    (void)state;
    struct job job = job_of("softmax", 0);
    struct tn_graph *graph = NULL;
    job.model.outputs = JOB_OUTPUTS_MAX;
    assert_int_equal(job_graph_create(&job, &graph, NULL), TN_OK);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(gradients_have_the_bits_of_the_kernels),
        cmocka_unit_test(most_classes_are_accepted),
        cmocka_unit_test(wrong_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
