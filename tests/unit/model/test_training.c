/* model/training.h: gradients of slices of two sizes, and sums over a test set. */
#include "model/training.h"

#include <math.h>

#include "common/base/random.h"
#include "tests/unit/support/graphs.h"

enum { EXAMPLES = 7, FEWER = 3, INPUTS = 5, OUTPUTS = 3, PARAMETERS_MAX = 200 };

static struct model *model;
static struct training *training;
static float values[PARAMETERS_MAX], gradient[PARAMETERS_MAX];

static void open_all(const char *type)
{
    struct job job;
    job_init(&job);
    strcpy(job.model.type, type);
    job.model.inputs = INPUTS;
    job.model.outputs = OUTPUTS;
    job.model.hidden_count = strcmp(type, "mlp") == 0;
    job.model.hidden[0] = 6;
    assert_int_equal(model_open(&job, &model, NULL), TN_OK);
    assert_true(model->table.parameter_count <= PARAMETERS_MAX);
    const struct training_config config = {.model = model,
                                           .kernels = "reference",
                                           .gradient = {EXAMPLES, 1},
                                           .evaluation = {EXAMPLES, FEWER}};
    assert_int_equal(training_open(&config, &training, NULL), TN_OK);
    for (uint64_t i = 0; i < PARAMETERS_MAX; i++) { values[i] = random_unit_at(1, 1, i) - 0.5F; }
}

static int close_all(void **state)
{
    (void)state;
    training_close(training);
    model_close(model);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    open_all("mlp");
    return 0;
}

static int setup_regression(void **state)
{
    (void)state;
    open_all("linear");
    return 0;
}

/* Examples [first, first + count) of an endless data set. */
static void fill(enum tn_mode mode, uint32_t first, uint32_t count)
{
    struct fields fields = training_fields(training, mode, count);
    for (uint64_t i = 0; i < count * INPUTS; i++) {
        fields.inputs[i] = 2.0F * random_unit_at(1, 2, first * INPUTS + i) - 1.0F;
    }
    for (uint32_t i = 0; fields.labels != NULL && i < count; i++) {
        fields.labels[i] = (uint8_t)((first + i) % OUTPUTS);
    }
    for (uint64_t i = 0; fields.targets != NULL && i < count * OUTPUTS; i++) {
        fields.targets[i] = random_unit_at(1, 3, first * OUTPUTS + i);
    }
}

static double compute(uint32_t first, uint32_t count, float *out)
{
    struct slice_run run = {
        .values = values, .first = first, .count = count, .scale = 1, .gradient = out};
    if (count > 0) { fill(TN_TRAIN, first, count); }
    assert_int_equal(training_gradient(training, &run, NULL), TN_OK);
    return run.loss_sum;
}

/* The gradient of a slice is the sum of its examples' gradients. */
static void gradients_add_up(void **state)
{
    (void)state;
    float sum[PARAMETERS_MAX] = {0}, one[PARAMETERS_MAX];
    double loss_sum = 0;
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        loss_sum += compute(i, 1, one);
        for (uint64_t p = 0; p < model->table.parameter_count; p++) { sum[p] += one[p]; }
    }
    assert_true(fabs(compute(0, EXAMPLES, gradient) - loss_sum) < 1e-5);
    for (uint64_t i = 0; i < model->table.parameter_count; i++) {
        assert_true(fabsf(sum[i] - gradient[i]) < 1e-5F);
    }
}

/* A gradient repeats bit for bit after other runs used the memory. */
static void gradients_repeat_bit_for_bit(void **state)
{
    (void)state;
    float again[PARAMETERS_MAX];
    double loss = compute(0, EXAMPLES, gradient);
    (void)compute(3, EXAMPLES, again);
    (void)compute(3, 1, again);
    assert_true(compute(0, EXAMPLES, again) == loss);
    assert_memory_equal(again, gradient, model->table.parameter_count * sizeof *again);
}

/* The gradient of an empty slice is zero, and each float of it is written. */
static void empty_slices_are_zeros(void **state)
{
    (void)state;
    memset(gradient, 0xff, sizeof gradient);
    assert_true(compute(0, 0, gradient) == 0);
    for (uint64_t i = 0; i < model->table.parameter_count; i++) { assert_true(gradient[i] == 0); }
}

static struct evaluation_sum evaluate(uint32_t first, uint32_t count, struct evaluation_sum sum)
{
    fill(TN_EVALUATE, first, count);
    assert_int_equal(training_evaluate(training, values, count, &sum, NULL), TN_OK);
    return sum;
}

/* Both sizes give the same sums. */
static void evaluations_add_up(void **state)
{
    (void)state;
    struct evaluation_sum whole = {0}, parts = {0};
    for (uint32_t first = 0; first < 21; first += EXAMPLES) {
        whole = evaluate(first, EXAMPLES, whole);
    }
    for (uint32_t first = 0; first < 21; first += FEWER) { parts = evaluate(first, FEWER, parts); }
    assert_int_equal(whole.count, 21);
    assert_int_equal(parts.count, 21);
    assert_true(whole.correct > 0 && whole.correct < 21);
    assert_true(parts.correct == whole.correct);
    assert_true(fabs(parts.loss - whole.loss) < 1e-5);
    assert_true(whole.squares == 0);
    assert_true(training_is_classifier(training));
}

/* The loss of a regression is the mean of the squares over its outputs. */
static void regressions_sum_squares(void **state)
{
    (void)state;
    struct evaluation_sum sum = evaluate(0, EXAMPLES, (struct evaluation_sum){0});
    assert_true(sum.squares > 0.1);
    assert_true(fabs(sum.squares - sum.loss * OUTPUTS) < 1e-5);
    assert_true(sum.correct == 0);
    assert_false(training_is_classifier(training));
}

/* A model in C may name any value "outputs"; nothing is read behind the targets. */
static void squares_need_an_output_for_each_target(void **state)
{
    (void)state;
    float outputs[] = {1, 2, 3, 4}, targets[] = {1, 1};
    const struct tn_view equal = {TN_FLOAT32, TN_SHAPE(2), outputs};
    const struct tn_view wider = {TN_FLOAT32, TN_SHAPE(2, 2), outputs};
    const struct tn_view none = {TN_FLOAT32, TN_SHAPE(2), NULL};
    const struct fields fields = {.targets = targets, .targets_each = 1};
    assert_true(training_squares(&equal, &fields, 2) == 1);
    assert_true(isnan(training_squares(&wider, &fields, 2)));
    assert_true(isnan(training_squares(&none, &fields, 2)));
}

/* The field "inputs" of data sets has floats. */
static void fields_of_other_types_are_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    struct model *other = NULL;
    struct training *none = NULL;
    struct error error;
    tn_tensor ids = tn_placeholder(graph, "inputs", TN_INT32, TN_SHAPE(TN_BATCH));
    tn_loss(graph, tn_gather(graph, weights_of(graph, "w", TN_SHAPE(4)), ids), 1);
    assert_int_equal(model_open_graph(graph, &other, NULL), TN_OK);
    const struct training_config config = {
        .model = other, .kernels = "reference", .gradient = {2}, .evaluation = {0}};
    assert_int_equal(training_open(&config, &none, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "field 'inputs' has another type than the data"));
    assert_null(none);
    model_close(other);
}

static void unknown_kernels_are_refused(void **state)
{
    (void)state;
    struct training *none = NULL;
    struct error error;
    const struct training_config config = {
        .model = model, .kernels = "abacus", .gradient = {2}, .evaluation = {0}};
    assert_int_equal(training_open(&config, &none, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "abacus"));
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gradients_add_up, setup, close_all),
        cmocka_unit_test_setup_teardown(gradients_repeat_bit_for_bit, setup, close_all),
        cmocka_unit_test_setup_teardown(empty_slices_are_zeros, setup, close_all),
        cmocka_unit_test_setup_teardown(evaluations_add_up, setup, close_all),
        cmocka_unit_test_setup_teardown(regressions_sum_squares, setup_regression, close_all),
        cmocka_unit_test(squares_need_an_output_for_each_target),
        cmocka_unit_test(fields_of_other_types_are_refused),
        cmocka_unit_test_setup_teardown(unknown_kernels_are_refused, setup, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
