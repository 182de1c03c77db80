/* Several threads of a worker compute the bits of one, or with TANIST_TEST_GPU=1 several GPUs of
 * this machine, of which 8 are emulated ones. */
#include "worker/compute_team.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/job_columns.h"
#include "worker/compute_gpus.h"

enum { STEPS = 2 };

static const struct slice_node nodes[] = {{0, 6}, {0, 4}, {4, 2}, {2, 2}, {5, 1}};
static const uint32_t members[] = {1, 2, 3, 4, 5, 8};

static struct job job;
static struct model *model;
static struct dataset *train, *test;
static struct buffer_pool *pool;
static struct compute_config settings;
static float *values;

static bool has_gpus(void)
{
    const char *gpu = getenv("TANIST_TEST_GPU");
    return gpu != NULL && strcmp(gpu, "1") == 0;
}

static void set(const char *assignment)
{
    assert_int_equal(job_set(&job, assignment, NULL), TN_OK);
}

static void open_model(void)
{
    struct error error = {.status = TN_OK};
    if (model_open(&job, &model, &error) != TN_OK) { fail_msg("%s", error.text); }
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &train, NULL), TN_OK);
    assert_int_equal(dataset_open(&job, DATASET_TEST, &test, NULL), TN_OK);
    pool = buffer_pool_create(0);
    settings = (struct compute_config){
        .job = &job,
        .model = model,
        .programs = has_gpus() ? "cuda" : "portable",
        .train = train,
        .test = test,
        .pool = pool,
    };
    assert_int_equal(kernels_open("portable", &settings.kernels, NULL), TN_OK);
    values = calloc(model->table.parameter_count, sizeof *values);
    variables_init_range(&model->table, 3, 0, model->table.parameter_count, values);
}

static void set_data(void)
{
    job_init(&job);
    set("data.type=synthetic");
    set("data.examples=500");
    set("data.test_examples=103");
    set("model.outputs=3");
    set("train.batch=24");
    set("train.slices=6");
}

static int setup(void **state)
{
    (void)state;
    set_data();
    set("model.inputs=8");
    strcpy(job.model.type, "softmax");
    job.model.hidden_count = 0;
    open_model();
    return 0;
}

static int setup_mlp(void **state)
{
    (void)state;
    set_data();
    set("model.inputs=8");
    set("model.type=mlp");
    set("model.hidden=[40]");
    open_model();
    return 0;
}

static int setup_cnn(void **state)
{
    (void)state;
    set_data();
    set("model.type=layers");
    set("model.shape=[6,6,1]");
    set("model.inputs=36");
    set("model.layers=[{\"conv2d\":{\"filters\":4,\"activation\":\"relu\"}},\"flatten\","
        "{\"dropout\":0.5},{\"dense\":3}]");
    open_model();
    return 0;
}

/* A row has numbers that depend on its table and key. */
static void read_rows(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count, float *out)
{
    const uint32_t width = model->table.row_tables[table].width;
    (void)ctx;
    for (uint64_t i = 0; i < count * width; i++) {
        const uint64_t mixed = (keys[i / width] + table + 1) * (2 * (i % width) + 3) * 0x9e3779b9U;
        out[i] = (float)(mixed >> 20 & 0xfff) / 4096.0F - 0.5F;
    }
}

/* Lookups of three tables, of which two have the same keys, in rows that several slices read. */
static int setup_tables(void **state)
{
    static const struct row_source source = {.read = read_rows};
    (void)state;
    set_data();
    set("model.type=layers");
    set("model.layers=[{\"dense\":{\"units\":4,\"activation\":\"relu\"}},{\"dense\":1}]");
    set("model.outputs=1");
    set("model.loss=sigmoid_cross_entropy");
    set("data.type=criteo-like");
    set("data.columns={\"I1..I13\":\"number\","
        "\"C1..C2\":{\"as\":\"category\",\"embed\":3,\"table\":true},"
        "\"wide1\":{\"as\":\"category\",\"from\":\"C1\",\"embed\":1,\"table\":true}}");
    assert_int_equal(job_columns_settle(&job, NULL), TN_OK);
    open_model();
    settings.rows = &source;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(values);
    buffer_pool_destroy(pool);
    dataset_close(test);
    dataset_close(train);
    model_close(model);
    return 0;
}

struct seen {
    uint64_t calls, first, end;
};

static void became_final(void *user, uint64_t first, uint64_t end)
{
    struct seen *seen = user;
    seen->calls++;
    seen->first = first;
    seen->end = end;
}

static void open_with(struct compute *compute, const char *programs, uint32_t count)
{
    struct compute_config config = settings;
    struct error error = {.status = TN_OK};
    config.programs = programs;
    config.gpus = has_gpus() ? count : 1;
    config.threads = has_gpus() ? 1 : count;
    if (compute_open(compute, &config, &error) != TN_OK) { fail_msg("%s", error.text); }
}

/* All that an evaluation gives. */
static void compare_evaluations(const struct compute *one, const struct compute *several)
{
    const struct evaluation expected = compute_evaluate(one, values, values, 1, NULL);
    const struct evaluation found = compute_evaluate(several, values, values, 1, NULL);
    assert_true(found.loss == expected.loss && found.accuracy == expected.accuracy);
    assert_int_equal(found.metrics.count, expected.metrics.count);
    for (uint32_t i = 0; i < found.metrics.count; i++) {
        assert_true(found.metrics.list[i].value == expected.metrics.list[i].value);
    }
}

static void compare_rows(const struct compute *one, const struct compute *several)
{
    if (settings.rows == NULL) { return; }
    const struct row_sums *expected = compute_node_rows(one), *found = compute_node_rows(several);
    assert_int_equal(found->count, 3);
    for (uint32_t t = 0; t < found->count; t++) {
        const struct row_sum *a = &found->tables[t], *b = &expected->tables[t];
        assert_true(b->count > 0);
        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->keys, b->keys, a->count * sizeof *a->keys);
        assert_memory_equal(a->values, b->values, a->count * a->width * sizeof *a->values);
    }
}

/* Keys in the order in which they are listed. */
struct listed {
    uint64_t count, keys[256];
};

static enum tn_status list_keys(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count,
                                struct error *error)
{
    struct listed *listed = ctx;
    (void)error;
    for (uint64_t i = 0; i < count; i++) { listed->keys[listed->count++] = keys[i] + table; }
    return TN_OK;
}

/* Members read the examples of some slices before their keys are listed. */
static void compare_listed(struct compute *one, struct compute *several, uint64_t step)
{
    struct listed expected = {.count = 0}, found = {.count = 0};
    const struct row_sink a = {list_keys, &expected}, b = {list_keys, &found};
    struct slice_set slices = {0};
    if (settings.rows == NULL) { return; }
    slice_set_add(&slices, (struct slice_node){0, 2});
    slice_set_add(&slices, (struct slice_node){3, 3});
    assert_int_equal(compute_list_slices(one, step, &slices, &a, NULL), TN_OK);
    assert_int_equal(compute_list_slices(several, step, &slices, &b, NULL), TN_OK);
    assert_true(expected.count > 0);
    assert_memory_equal(&found, &expected, sizeof found);
}

static void compare(uint32_t count_of_members)
{
    struct compute one, several;
    const uint64_t count = model->table.parameter_count;
    float *expected = malloc(count * sizeof *expected), *sum = malloc(count * sizeof *sum);
    open_with(&one, "portable", 1);
    open_with(&several, settings.programs, count_of_members);
    for (uint64_t step = 0; step < STEPS; step++) {
        several.alone = step % 2 == 1 && !has_gpus(); /* It may change. */
        compare_listed(&one, &several, step);
        for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
            struct seen seen = {.calls = 0};
            const struct compute_watch watch = {became_final, &seen};
            const enum tn_status status =
                compute_node_into(&one, values, step, nodes[i], expected, NULL, NULL);
            assert_int_equal(status, TN_OK);
            struct error error = {.status = TN_OK};
            if (compute_node_into(&several, values, step, nodes[i], sum, &watch, &error) != TN_OK) {
                fail_msg("%s", error.text);
            }
            assert_memory_equal(sum, expected, count * sizeof *sum);
            assert_true(compute_node_loss(&several) == compute_node_loss(&one));
            compare_rows(&one, &several);
            assert_true(seen.calls > 0 && seen.first == 0);
            assert_true(count_of_members == 1 || nodes[i].count == 1 || several.alone ||
                        (seen.calls == 1 && seen.end == count));
        }
        assert_true(compute_train_loss(&several, step) == compute_train_loss(&one, step));
        values[step] += 0.5F; /* The members read the new values. */
    }
    compare_evaluations(&one, &several);
    compute_close(&several), compute_close(&one);
    free(sum), free(expected);
}

/* Slices of 4 examples, which each member computes in one run. */
static void test_slices_in_one_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) { compare(members[i]); }
}

/* Slices of 3 and of 4 examples, one by one. */
static void test_slices_one_by_one(void **state)
{
    (void)state;
    job.train.batch = 20;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) { compare(members[i]); }
}

/* Other models, on CPUs: both ways. */
static void test_model_on_threads(void **state)
{
    if (has_gpus()) { skip(); }
    test_slices_in_one_run(state);
    test_slices_one_by_one(state);
}

/* The threads that read ahead read for all members. */
static void test_reading_ahead(void **state)
{
    job.data.threads = 1;
    test_model_on_threads(state);
}

/* The memory of rows is taken away after each node, as a worker does that sends them. */
static void test_rows_are_taken(void **state)
{
    static const struct slice_node all = {0, 6};
    (void)state;
    if (has_gpus()) { skip(); }
    struct compute several;
    struct row_sums taken = {.count = 0}, first = {.count = 0};
    float *sum = malloc(model->table.parameter_count * sizeof *sum);
    open_with(&several, settings.programs, 3);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(compute_node_into(&several, values, 0, all, sum, NULL, NULL), TN_OK);
        compute_take_node_rows(&several, i == 0 ? &first : &taken);
        if (i == 0) { continue; }
        const struct row_sum *a = &first.tables[0], *b = &taken.tables[0];
        assert_int_equal(b->count, a->count);
        assert_memory_equal(b->values, a->values, a->count * a->width * sizeof *a->values);
    }
    row_sums_close(&taken), row_sums_close(&first);
    compute_close(&several);
    free(sum);
}

/* Fewer threads take part where each would have too little to do. */
static void test_fewer_threads_for_little_work(void **state)
{
    (void)state;
    struct compute compute;
    settings.threads = 8;
    settings.fewer_threads = true;
    assert_int_equal(compute_open(&compute, &settings, NULL), TN_OK);
    assert_null(compute.team);
    compute_close(&compute);
}

/* The number of parts of all members. */
static uint32_t parts_of(uint32_t team, struct slice_node node)
{
    struct slice_node parts[SLICES_MAX];
    uint32_t count = 0;
    for (uint32_t m = 0; m < team; m++) { count += compute_team_parts(team, m, node, parts); }
    return count;
}

/* Two members with neighbouring slices, or more of which some have several subtrees. */
static void test_sums_in_memory(void **state)
{
    static const struct slice_node eight = {0, 8};
    (void)state;
    assert_int_equal(parts_of(1, eight), 1);
    assert_int_equal(parts_of(2, eight), 2);
    assert_int_equal(parts_of(3, eight), 5); /* 0-1 2 | 3 4-5 | 6-7 */
    assert_int_equal(parts_of(8, eight), 8);
    assert_int_equal(parts_of(16, eight), 8);
}

static void set_emulated(const char *more)
{
    char settings_of_gpus[64];
    (void)snprintf(settings_of_gpus, sizeof settings_of_gpus, "devices=8,broken=1,%s", more);
    assert_int_equal(setenv("TANIST_EMULATED_GPU", settings_of_gpus, 1), 0);
}

/* Copies and kernels of all GPUs as early and as late as events allow; the other tests have the
 * order "late". */
static void test_all_orders(void **state)
{
    static const char *const orders[] = {"order=copies", "order=kernels", "order=random,seed=1"};
    static const uint32_t batches[] = {24, 20}; /* Slices in one run, and one by one. */
    (void)state;
    if (!has_gpus()) { skip(); }
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        set_emulated(orders[i]);
        for (size_t j = 0; j < sizeof batches / sizeof batches[0]; j++) {
            job.train.batch = batches[j];
            compare(1), compare(2), compare(3), compare(4), compare(8);
        }
    }
}

/* The error is that of the first slice, whichever member finds one first. */
static void test_divergence_names_the_first_slice(void **state)
{
    (void)state;
    struct compute several;
    struct error error = {.status = TN_OK};
    float *sum = malloc(model->table.parameter_count * sizeof *sum);
    open_with(&several, settings.programs, 4);
    values[0] = NAN;
    const struct slice_node all = {0, 6};
    assert_int_equal(compute_node_into(&several, values, 3, all, sum, NULL, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "step 3, slice 0"));
    compute_close(&several);
    free(sum);
}

/* The first GPU follows the last one. */
static void test_programs_are_on_the_gpus_in_turn(void **state)
{
    (void)state;
    if (!has_gpus()) { skip(); }
    struct compute_config config = settings;
    const char *first = NULL, *second = NULL;
    struct error error = {.status = TN_OK};
    config.gpus = 2;
    config.first_gpu = 7;
    assert_int_equal(compute_gpu_programs(&config, 0, &first, NULL), TN_OK);
    assert_int_equal(compute_gpu_programs(&config, 1, &second, NULL), TN_OK);
    assert_string_equal(first, "cuda:7");
    assert_string_equal(second, "cuda:0");
    config.gpus = 9;
    assert_int_equal(compute_gpu_programs(&config, 0, &first, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "train.gpus is 9, but the driver shows 8 GPUs"));
    assert_non_null(strstr(error.text, "give --set train.gpus=8"));
}

/* GPU 1 fails in the middle of a step: no sum is used, also later; other GPUs compute the same bits
 * as before. This is the last test, as the GPU has failed for the rest of the process. */
static void test_one_gpu_fails_in_a_step(void **state)
{
    static const struct slice_node all = {0, 6};
    (void)state;
    if (!has_gpus()) { skip(); }
    struct compute several;
    float *sum = malloc(model->table.parameter_count * sizeof *sum);
    job.train.batch = 20;
    open_with(&several, settings.programs, 2);
    assert_int_equal(compute_node_into(&several, values, 0, all, sum, NULL, NULL), TN_OK);
    set_emulated("operations=9,error=719");
    for (uint64_t step = 1; step <= 2; step++) {
        struct seen seen = {.calls = 0};
        struct error error = {.status = TN_OK};
        const struct compute_watch watch = {became_final, &seen};
        const enum tn_status status =
            compute_node_into(&several, values, step, all, sum, &watch, &error);
        assert_int_equal(status, TN_EDEVICE);
        assert_non_null(strstr(error.text, "/gpu:1: "));
        assert_non_null(strstr(error.text, "CUDA_ERROR_LAUNCH_FAILED"));
        assert_int_equal(seen.calls, 0);
    }
    compute_close(&several);
    free(sum);
    compare(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slices_in_one_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slices_one_by_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_model_on_threads, setup_mlp, teardown),
        cmocka_unit_test_setup_teardown(test_model_on_threads, setup_cnn, teardown),
        cmocka_unit_test_setup_teardown(test_model_on_threads, setup_tables, teardown),
        cmocka_unit_test_setup_teardown(test_reading_ahead, setup_tables, teardown),
        cmocka_unit_test_setup_teardown(test_rows_are_taken, setup_tables, teardown),
        cmocka_unit_test_setup_teardown(test_fewer_threads_for_little_work, setup, teardown),
        cmocka_unit_test(test_sums_in_memory),
        cmocka_unit_test_setup_teardown(test_all_orders, setup, teardown),
        cmocka_unit_test_setup_teardown(test_divergence_names_the_first_slice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_programs_are_on_the_gpus_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_gpu_fails_in_a_step, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
