/* Gradients of nodes, their sums, the training loss, evaluation and the digest. */
#include "worker/compute.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/digest.h"

static struct job job;
static struct model *model;
static struct dataset *train, *test;
static struct buffer_pool *pool;
static struct compute compute;
static float *values;

static void set(const char *assignment)
{
    assert_int_equal(job_set(&job, assignment, NULL), TN_OK);
}

static int open_all(const char *type, const char *frozen)
{
    job_init(&job);
    job.model.freeze_count = frozen != NULL;
    if (frozen != NULL) { strcpy(job.model.freeze[0], frozen); }
    set("data.type=synthetic");
    set("data.examples=500");
    set("data.test_examples=100");
    set("model.inputs=8");
    set("model.outputs=3");
    set("train.batch=20");
    set("train.slices=6");
    strcpy(job.model.type, type);
    job.model.hidden_count = 0;
    assert_int_equal(model_open(&job, &model, NULL), TN_OK);
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &train, NULL), TN_OK);
    assert_int_equal(dataset_open(&job, DATASET_TEST, &test, NULL), TN_OK);
    pool = buffer_pool_create(0);
    struct compute_config settings = {.job = &job,
                                      .model = model,
                                      .programs = "reference",
                                      .kernels = kernels_reference(),
                                      .train = train,
                                      .test = test,
                                      .pool = pool};
    assert_int_equal(compute_open(&compute, &settings, NULL), TN_OK);
    values = calloc(compute.parameters, sizeof *values);
    variables_init_range(&model->table, 3, 0, compute.parameters, values);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return open_all("softmax", NULL);
}

static int setup_regression(void **state)
{
    (void)state;
    return open_all("linear", NULL);
}

/* The last variable has no gradient, so its zeros are final before anything is computed. */
static int setup_frozen(void **state)
{
    (void)state;
    return open_all("linear", "bias");
}

static int teardown(void **state)
{
    (void)state;
    free(values);
    compute_close(&compute);
    buffer_pool_destroy(pool);
    dataset_close(train);
    dataset_close(test);
    model_close(model);
    return 0;
}

static float *copy_node(uint64_t step, struct slice_node node)
{
    const float *sum = compute_node(&compute, values, step, node, NULL);
    assert_non_null(sum);
    float *copy = malloc(compute.parameters * sizeof *copy);
    memcpy(copy, sum, compute.parameters * sizeof *copy);
    return copy;
}

/* The sum of a node has the bits of the sums of its children, added. */
static void test_node_is_the_sum_of_its_children(void **state)
{
    (void)state;
    float *whole = copy_node(4, (struct slice_node){0, 6});
    float *left = copy_node(4, (struct slice_node){0, 4});
    float *right = copy_node(4, (struct slice_node){4, 2});
    for (uint64_t i = 0; i < compute.parameters; i++) { left[i] += right[i]; }
    assert_memory_equal(whole, left, compute.parameters * sizeof *whole);
    free(whole);
    free(left);
    free(right);
}

/* A node as a watch sees it. */
static struct {
    float *sum, *seen; /* The sum, and its elements when they became final. */
    uint64_t first;    /* Elements from here on were final. */
    uint32_t calls;
    double first_loss, loss; /* At the first call, and at the last one. */
} watched;

static void became_final(void *user, uint64_t first, uint64_t end)
{
    assert_ptr_equal(user, &watched);
    assert_int_equal(end, watched.first);
    assert_true(first < end);
    memcpy(watched.seen + first, watched.sum + first, (end - first) * sizeof *watched.sum);
    watched.first = first;
    watched.loss = compute_node_loss(&compute);
    if (watched.calls++ == 0) { watched.first_loss = watched.loss; }
}

/* Parts of a sum become final from the end while its last slice is computed, layer by layer; they
 * and the loss do not change afterwards, and have the bits of the tree. */
static void test_parts_become_final_from_the_end(void **state)
{
    (void)state;
    static const struct slice_node nodes[] = {{0, 6}, {4, 2}, {0, 4}, {3, 1}};
    const struct compute_watch watch = {became_final, &watched};
    const size_t bytes = compute.parameters * sizeof(float);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        float *whole = copy_node(4, nodes[i]);
        const double loss = compute_node_loss(&compute);
        watched.sum = malloc(bytes);
        watched.seen = malloc(bytes);
        watched.first = compute.parameters;
        watched.calls = 0;
        assert_int_equal(
            compute_node_into(&compute, values, 4, nodes[i], watched.sum, &watch, NULL), TN_OK);
        assert_int_equal(watched.first, 0);
        assert_true(watched.calls >= 2);
        assert_true(watched.loss == loss);
        assert_memory_equal(watched.sum, whole, bytes);
        assert_memory_equal(watched.seen, whole, bytes);
        free(watched.sum);
        free(watched.seen);
        free(whole);
    }
}

/* With the first elements that are final comes the loss of this run of the program, not that of the
 * run before. */
static void test_loss_comes_with_the_first_final_elements(void **state)
{
    (void)state;
    const struct compute_watch watch = {became_final, &watched};
    const struct slice_node node = {3, 1};
    watched.sum = malloc(compute.parameters * sizeof(float));
    watched.seen = malloc(compute.parameters * sizeof(float));
    static const uint64_t steps[] = {0, 1, 0};
    double losses[3];
    for (uint32_t i = 0; i < 3; i++) {
        watched.first = compute.parameters;
        watched.calls = 0;
        assert_int_equal(
            compute_node_into(&compute, values, steps[i], node, watched.sum, &watch, NULL), TN_OK);
        assert_int_equal(watched.first, 0);
        losses[i] = watched.first_loss;
        assert_true(losses[i] == compute_node_loss(&compute));
    }
    assert_true(losses[2] == losses[0] && losses[1] != losses[0]);
    free(watched.sum);
    free(watched.seen);
}

/* The slices of a node, computed as nodes of one slice each and added over the tree. */
static double add_slices(struct compute *single, struct slice_node node, float *out)
{
    if (node.count == 1) {
        const float *sum = compute_node(single, values, 4, node, NULL);
        memcpy(out, sum, single->parameters * sizeof *sum);
        return compute_node_loss(single);
    }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    float *second = calloc(single->parameters, sizeof *second);
    const double first_loss = add_slices(single, left, out);
    const double loss = first_loss + add_slices(single, right, second);
    for (uint64_t i = 0; i < single->parameters; i++) { out[i] += second[i]; }
    free(second);
    return loss;
}

/* Kernels that join slices: a node has the bits of its slices in sum, loss and training loss, and
 * the watch sees them. Slices of 3 and 4 examples are computed one by one. */
static void test_slices_in_one_run_have_the_bits_of_the_tree(void **state)
{
    (void)state;
    static const uint32_t batches[] = {24, 20};
    const struct compute_watch watch = {became_final, &watched};
    struct compute_config settings = compute.config;
    const size_t bytes = compute.parameters * sizeof(float);
    float *expected = malloc(bytes);
    watched.sum = malloc(bytes);
    watched.seen = malloc(bytes);
    settings.programs = "portable";
    for (uint32_t b = 0; b < 2; b++) {
        const struct slice_node node = {0, 6};
        struct compute single, other = compute;
        job.train.batch = batches[b];
        assert_int_equal(compute_open(&compute, &settings, NULL), TN_OK);
        assert_int_equal(compute_open(&single, &settings, NULL), TN_OK);
        watched.first = compute.parameters;
        assert_int_equal(compute_node_into(&compute, values, 4, node, watched.sum, &watch, NULL),
                         TN_OK);
        const double loss = add_slices(&single, node, expected);
        assert_memory_equal(watched.sum, expected, bytes);
        assert_memory_equal(watched.seen, expected, bytes);
        assert_true(watched.first == 0 && watched.loss == loss);
        assert_true(compute_node_loss(&compute) == loss);
        assert_true(compute_train_loss(&compute, 4) == compute_train_loss(&single, 4));
        assert_true((compute.levels[1] == NULL) == (b == 0)); /* No level for partial sums. */
        compute_close(&single), compute_close(&compute);
        compute = other;
    }
    free(watched.sum), free(watched.seen), free(expected);
}

/* The sum of a node repeats for the same step and differs for another. */
static void test_sums_depend_on_the_step_only(void **state)
{
    (void)state;
    float *once = copy_node(4, (struct slice_node){2, 1});
    float *other = copy_node(5, (struct slice_node){2, 1});
    float *again = copy_node(4, (struct slice_node){2, 1});
    assert_memory_equal(once, again, compute.parameters * sizeof *once);
    assert_memory_not_equal(once, other, compute.parameters * sizeof *once);
    free(once);
    free(other);
    free(again);
}

/* Steps along the gradient lower the loss in training and on the test set. */
static void test_steps_along_the_gradient_learn(void **state)
{
    (void)state;
    assert_true(isnan(compute_train_loss(&compute, 0)));
    struct evaluation before = compute_evaluate(&compute, values, values, 0, NULL);
    for (uint64_t step = 0; step < 200; step++) {
        const float *sum = compute_node(&compute, values, step, (struct slice_node){0, 6}, NULL);
        for (uint64_t i = 0; i < compute.parameters; i++) { values[i] -= 0.1f * sum[i]; }
    }
    struct evaluation after = compute_evaluate(&compute, values, values, 200, NULL);
    assert_int_equal(after.step, 200);
    assert_true(after.loss < 0.8 * before.loss);
    assert_true(after.accuracy > before.accuracy);
    assert_true(after.train_loss < before.loss);
    compute_reset(&compute);
    assert_true(isnan(compute_train_loss(&compute, 0)));
}

/* After a gap, in which other workers computed its slices, only the losses since then count. */
static void test_training_loss_forgets_steps_before_a_gap(void **state)
{
    (void)state;
    struct compute fresh;
    const struct slice_node node = {0, 1};
    for (uint64_t step = 0; step < RECENT_LOSSES_STEPS; step++) {
        assert_non_null(compute_node(&compute, values, step, node, NULL));
    }
    for (uint64_t i = 0; i < compute.parameters; i++) { values[i] *= 100; } /* Another loss. */
    assert_int_equal(compute_open(&fresh, &compute.config, NULL), TN_OK);
    for (uint64_t step = 1000; step < 1003; step++) {
        assert_non_null(compute_node(&compute, values, step, node, NULL));
        assert_non_null(compute_node(&fresh, values, step, node, NULL));
    }
    const double loss = compute_evaluate(&compute, values, values, 1003, NULL).train_loss;
    assert_true(loss == compute_evaluate(&fresh, values, values, 1003, NULL).train_loss);
    assert_true(isnan(compute_evaluate(&compute, values, values, 2000, NULL).train_loss));
    compute_close(&fresh);
}

/* The digest is of the bytes of all parameters, low half first. */
static void test_digest_covers_all_parameters(void **state)
{
    (void)state;
    struct digest digest = digest_of(values, compute.parameters * sizeof *values);
    struct evaluation evaluation = compute_evaluate(&compute, values, values, 7, NULL);
    assert_true(evaluation.digest[0] == digest.low && evaluation.digest[1] == digest.high);
    values[compute.parameters - 1] += 1.0f;
    assert_true(compute_evaluate(&compute, values, values, 7, NULL).digest[0] != digest.low);
}

/* Without a test set an evaluation has only a digest. */
static void test_evaluation_without_a_test_set_has_a_digest(void **state)
{
    (void)state;
    compute.config.test = NULL;
    struct evaluation evaluation = compute_evaluate(&compute, values, values, 7, NULL);
    assert_true(isnan(evaluation.loss) && isnan(evaluation.accuracy));
    assert_true(evaluation.digest[0] != 0);
}

/* The accuracy of a regression is R squared, near 1 once it is fitted. */
static void test_regression_has_r_squared(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 2000; step++) {
        const float *sum = compute_node(&compute, values, step, (struct slice_node){0, 6}, NULL);
        for (uint64_t i = 0; i < compute.parameters; i++) { values[i] -= 0.2f * sum[i]; }
    }
    double accuracy = compute_evaluate(&compute, values, values, 2000, NULL).accuracy;
    assert_true(accuracy > 0.8 && accuracy <= 1.0);
}

/* A model whose loss needs labels is refused for data that have targets. */
static void test_other_fields_are_refused(void **state)
{
    (void)state;
    struct error error;
    struct compute other;
    struct compute_config settings = compute.config;
    strcpy(job.model.type, "linear");
    struct model *linear;
    assert_int_equal(model_open(&job, &linear, NULL), TN_OK);
    settings.model = linear;
    assert_int_equal(compute_open(&other, &settings, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "the model reads the field 'targets', which the data do"));
    model_close(linear);
}

/* A batch that is smaller than the number of slices leaves slices without examples: zeros. */
static void test_empty_slices_are_zeros(void **state)
{
    (void)state;
    struct compute other;
    struct compute_config settings = compute.config;
    job.train.batch = 4;
    assert_int_equal(compute_open(&other, &settings, NULL), TN_OK);
    uint32_t empty = 0;
    while (slices_positions(6, 4, empty).count > 0) { empty++; }
    assert_true(empty < 6);
    const float *sum = compute_node(&other, values, 1, (struct slice_node){empty, 1}, NULL);
    for (uint64_t i = 0; i < other.parameters; i++) { assert_true(sum[i] == 0); }
    compute_close(&other);
}

static double norm_of_node(struct slice_node node)
{
    float *sum = copy_node(0, node);
    double squares = 0;
    for (uint64_t i = 0; i < compute.parameters; i++) {
        squares += (double)sum[i] * (double)sum[i];
    }
    free(sum);
    return sqrt(squares);
}

/* In async mode the norm of a slice, which is an update of its own, is at most a V-th of the limit;
 * in sync mode the ps limit that of the sum. */
static void test_norm_of_an_async_slice_is_limited(void **state)
{
    (void)state;
    const struct slice_node slice = {2, 1};
    const double norm = norm_of_node(slice);
    job.train.clip_norm = 6 * norm / 2;
    assert_true(norm_of_node(slice) == norm);
    job.train.mode = TRAIN_ASYNC;
    assert_true(fabs(norm_of_node(slice) - norm / 2) < 1e-6 * norm);
    job.train.clip_norm = 6 * norm * 2;
    assert_true(norm_of_node(slice) == norm);
}

/* Loss and accuracy are those of the averages, the digest that of the values. */
static void test_averages_are_evaluated(void **state)
{
    (void)state;
    float *averages = calloc(compute.parameters, sizeof *averages);
    struct evaluation both = compute_evaluate(&compute, values, averages, 7, NULL);
    struct evaluation first = compute_evaluate(&compute, values, values, 7, NULL);
    struct evaluation second = compute_evaluate(&compute, averages, averages, 7, NULL);
    assert_true(both.loss == second.loss && both.accuracy == second.accuracy);
    assert_true(both.loss != first.loss);
    assert_memory_equal(both.digest, first.digest, sizeof both.digest);
    free(averages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_node_is_the_sum_of_its_children, setup, teardown),
        cmocka_unit_test_setup_teardown(test_norm_of_an_async_slice_is_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(test_averages_are_evaluated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_become_final_from_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loss_comes_with_the_first_final_elements, setup_frozen,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_slices_in_one_run_have_the_bits_of_the_tree, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_sums_depend_on_the_step_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_along_the_gradient_learn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_training_loss_forgets_steps_before_a_gap, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_digest_covers_all_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_evaluation_without_a_test_set_has_a_digest, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_regression_has_r_squared, setup_regression, teardown),
        cmocka_unit_test_setup_teardown(test_other_fields_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_slices_are_zeros, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
