/* Models: their tables, and their gradients compared with finite differences. */
#include "worker/models/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

enum { EXAMPLES = 7, INPUTS = 5, OUTPUTS = 3, PARAMETERS_MAX = 200 };

static const struct model_config softmax = {"softmax", INPUTS, OUTPUTS, {0}, 0};
static const struct model_config mlp = {"mlp", INPUTS, OUTPUTS, {6, 4}, 2};
static const struct model_config linear = {"linear", INPUTS, OUTPUTS, {0}, 0};

struct fixture {
    struct model *model;
    float values[PARAMETERS_MAX], gradient[PARAMETERS_MAX];
    float inputs[EXAMPLES * INPUTS], targets[EXAMPLES * OUTPUTS];
    uint8_t labels[EXAMPLES];
    struct examples examples;
};

static void set_up(struct fixture *f, const struct model_config *config)
{
    struct error error;
    assert_int_equal(model_open(config, kernels_cpu(), EXAMPLES, &f->model, &error), TN_OK);
    assert_true(f->model->table.parameter_count <= PARAMETERS_MAX);
    for (uint64_t i = 0; i < PARAMETERS_MAX; i++) { f->values[i] = random_unit_at(1, 1, i) - 0.5F; }
    for (uint64_t i = 0; i < EXAMPLES * INPUTS; i++) {
        f->inputs[i] = 2.0F * random_unit_at(1, 2, i) - 1.0F;
    }
    for (uint64_t i = 0; i < EXAMPLES * OUTPUTS; i++) { f->targets[i] = random_unit_at(1, 3, i); }
    for (int i = 0; i < EXAMPLES; i++) { f->labels[i] = (uint8_t)(i % OUTPUTS); }
    f->examples = (struct examples){f->inputs, f->labels, f->targets, EXAMPLES};
}

static double loss_at(struct fixture *f, uint64_t parameter, float move)
{
    struct evaluation_sum sum = {0};
    float was = f->values[parameter];
    f->values[parameter] += move;
    model_evaluate(f->model, f->values, &f->examples, &sum);
    f->values[parameter] = was;
    return sum.loss_sum;
}

static void check_gradient(const struct model_config *config)
{
    struct fixture f;
    double loss;
    set_up(&f, config);
    model_gradient(f.model, f.values, &f.examples, 0.25F, f.gradient, &loss);
    assert_true(fabs(loss - loss_at(&f, 0, 0)) < 1e-5);
    for (uint64_t i = 0; i < f.model->table.parameter_count; i++) {
        const float move = 1.0F / 256;
        double slope = (loss_at(&f, i, move) - loss_at(&f, i, -move)) / (2.0 * (double)move);
        double error = fabs((double)f.gradient[i] - 0.25 * slope);
        if (error > 2e-3) {
            fail_msg("%s: parameter %zu is off by %g", config->type, (size_t)i, error);
        }
    }
    model_close(f.model);
}

/* Gradients are the slopes of the loss times the scale. */
static void test_gradients_are_slopes(void **state)
{
    (void)state;
    check_gradient(&softmax);
    check_gradient(&linear);
    check_gradient(&mlp);
}

/* The gradient of a slice is the sum of its examples' gradients. */
static void test_gradients_add_up(void **state)
{
    (void)state;
    const struct model_config *const configs[] = {&softmax, &mlp, &linear};
    for (int c = 0; c < 3; c++) {
        struct fixture f;
        float sum[PARAMETERS_MAX] = {0}, one[PARAMETERS_MAX];
        double loss, loss_sum = 0;
        set_up(&f, configs[c]);
        for (uint32_t i = 0; i < EXAMPLES; i++) {
            struct examples single = {f.inputs + i * INPUTS, f.labels + i, f.targets + i * OUTPUTS,
                                      1};
            model_gradient(f.model, f.values, &single, 1.0F, one, &loss);
            kernels_cpu()->add(f.model->table.parameter_count, one, sum);
            loss_sum += loss;
        }
        model_gradient(f.model, f.values, &f.examples, 1.0F, f.gradient, &loss);
        assert_true(fabs(loss - loss_sum) < 1e-5);
        for (uint64_t i = 0; i < f.model->table.parameter_count; i++) {
            assert_true(fabsf(sum[i] - f.gradient[i]) < 1e-5F);
        }
        model_close(f.model);
    }
}

/* The gradient of a slice repeats bit for bit after other slices used the scratch memory. */
static void test_gradients_repeat_bit_for_bit(void **state)
{
    (void)state;
    struct fixture f;
    float again[PARAMETERS_MAX];
    double loss, loss_again;
    set_up(&f, &mlp);
    struct examples fewer = f.examples;
    fewer.count = 3;
    model_gradient(f.model, f.values, &f.examples, 0.125F, f.gradient, &loss);
    model_gradient(f.model, f.values, &fewer, 1.0F, again, &loss_again);
    model_gradient(f.model, f.values, &f.examples, 0.125F, again, &loss_again);
    assert_memory_equal(again, f.gradient, f.model->table.parameter_count * sizeof *again);
    assert_memory_equal(&loss, &loss_again, sizeof loss);
    model_close(f.model);
}

/* The gradient of an empty slice is zero, and each float of it is written. */
static void test_empty_slice_is_zero(void **state)
{
    (void)state;
    struct fixture f;
    double loss = 1;
    set_up(&f, &mlp);
    f.examples.count = 0;
    memset(f.gradient, 0xff, sizeof f.gradient);
    model_gradient(f.model, f.values, &f.examples, 1.0F, f.gradient, &loss);
    assert_true(loss == 0.0);
    for (uint64_t i = 0; i < f.model->table.parameter_count; i++) {
        assert_true(f.gradient[i] == 0.0F);
    }
    model_close(f.model);
}

/* Evaluation accepts more examples than fit at once, and counts correct answers. */
static void test_evaluation_works_in_parts(void **state)
{
    (void)state;
    struct fixture f;
    struct error error;
    struct evaluation_sum whole = {0}, parts = {0};
    set_up(&f, &mlp);
    model_evaluate(f.model, f.values, &f.examples, &whole);
    model_close(f.model);
    assert_int_equal(model_open(&mlp, kernels_cpu(), 2, &f.model, &error), TN_OK);
    model_evaluate(f.model, f.values, &f.examples, &parts);
    assert_int_equal(parts.count, EXAMPLES);
    assert_int_equal(parts.correct, whole.correct);
    assert_true(fabs(parts.loss_sum - whole.loss_sum) < 1e-5);
    model_close(f.model);
}

/* The table of an MLP has the weights and the bias of each layer, in order. */
static void test_tables_list_the_layers(void **state)
{
    (void)state;
    struct variable_table table;
    struct error error;
    struct model_config config = {"mlp", 784, 10, {128}, 1};
    assert_int_equal(model_describe(&config, &table, &error), TN_OK);
    assert_int_equal(table.parameter_count, 101770);
    assert_int_equal(table.count, 4);
    assert_string_equal(table.variables[0].name, "hidden1/weights");
    assert_string_equal(table.variables[3].name, "output/bias");
    config.hidden_count = 0;
    assert_int_equal(model_describe(&config, &table, &error), TN_OK);
    assert_int_equal(table.parameter_count, 7850);
}

static void expect_refusal(struct model_config config, const char *text)
{
    struct variable_table table;
    struct model *model;
    struct error error;
    assert_int_equal(model_describe(&config, &table, &error), TN_EINVAL);
    assert_string_equal(error.text, text);
    assert_int_equal(model_open(&config, kernels_cpu(), 1, &model, &error), TN_EINVAL);
    assert_null(model);
}

/* Invalid configurations are refused with field, value and remedy. */
static void test_invalid_configurations_are_refused(void **state)
{
    (void)state;
    expect_refusal((struct model_config){"cnn", 5, 3, {0}, 0},
                   "unknown model.type 'cnn': one of mlp, softmax, linear");
    expect_refusal((struct model_config){"mlp", 0, 3, {0}, 0},
                   "model.inputs is 0: give a number from 1 to 1048576");
    expect_refusal((struct model_config){"mlp", 5, 1, {0}, 0},
                   "model.outputs is 1: a classifier needs 2 to 256, one for each class");
    expect_refusal((struct model_config){"mlp", 5, 3, {4, 0}, 2},
                   "model.hidden is 0: give a number from 1 to 1048576");
    expect_refusal((struct model_config){"mlp", 5, 3, {0}, 9},
                   "model.hidden has 9 layers: give at most 8");
    expect_refusal((struct model_config){"softmax", 5, 3, {4}, 1},
                   "model.hidden has 1 layers, but model.type 'softmax' has none: remove them or "
                   "use 'mlp'");
    expect_refusal((struct model_config){"linear", 5, 3, {4}, 1},
                   "model.hidden has 1 layers, but model.type 'linear' has none: remove them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_slopes),
        cmocka_unit_test(test_gradients_add_up),
        cmocka_unit_test(test_gradients_repeat_bit_for_bit),
        cmocka_unit_test(test_empty_slice_is_zero),
        cmocka_unit_test(test_evaluation_works_in_parts),
        cmocka_unit_test(test_tables_list_the_layers),
        cmocka_unit_test(test_invalid_configurations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
