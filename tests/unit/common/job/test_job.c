/* The job file: defaults, keys, --set, errors, hash. */
#include "common/job/job.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum tn_status read_text(struct job *job, const char *text, struct error *error)
{
    return job_read_text(job, text, strlen(text), "job.json", error);
}

/* The text is refused with `expected` in the error, and the job does not change. */
static void refused(const char *text, const char *expected)
{
    struct job job, before;
    struct error error = {0};
    job_init(&job);
    before = job;
    assert_int_equal(read_text(&job, text, &error), TN_EINVAL);
    if (strstr(error.text, expected) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error.text, expected);
    }
    assert_memory_equal(&job, &before, sizeof job);
}

static void set_refused(const char *assignment, const char *expected)
{
    struct job job;
    struct error error = {0};
    job_init(&job);
    assert_int_equal(job_set(&job, assignment, &error), TN_EINVAL);
    if (strstr(error.text, expected) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error.text, expected);
    }
}

/* Keys in sections set their members; other members keep their defaults. */
static void sections_are_read(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(read_text(&job,
                               "{\"name\": \"n\", \"seed\": 7, \"model\": {\"hidden\": [32, 16]},"
                               " \"train\": {\"steps\": 50, \"mode\": \"async\"},"
                               " \"on_chief_failure\": \"restore\"}",
                               &error),
                     TN_OK);
    assert_string_equal(job.name, "n");
    assert_int_equal(job.seed, 7);
    assert_int_equal(job.model.hidden_count, 2);
    assert_int_equal(job.model.hidden[1], 16);
    assert_int_equal(job.train.steps, 50);
    assert_int_equal(job.train.mode, TRAIN_ASYNC);
    assert_int_equal(job.on_chief_failure, CHIEF_FAILURE_RESTORE);
    assert_int_equal(job.train.batch, 64);
}

/* The error names the place of each mistake and what is expected. */
static void wrong_file_is_named(void **state)
{
    (void)state;
    refused("{\n  \"seed\": 1,,\n}", "line 2, column 13");
    refused("[]", "give an object");
    refused("{\"train\": {\"stepz\": 5}}", "did you mean \"train.steps\"?");
    refused("{\"steps\": 5}", "did you mean \"train.steps\"?");
    refused("{\"zzzzzzzzzz\": 5}", "tanist help job");
    refused("{\"train\": 5}", "section");
    refused("{\"train\": {\"steps\": 0}}", "train.steps is 0: give a whole number from 1");
    refused("{\"train\": {\"steps\": \"many\"}}", "train.steps is \"many\"");
    refused("{\"train\": {\"batch\": 1.5}}", "whole number");
    refused("{\"train\": {\"mode\": \"semi\"}}", "\"sync\" or \"async\"");
    refused("{\"model\": {\"hidden\": [1,1,1,1,1,1,1,1,1]}}", "at most 8");
    refused("{\"seed\": 1, \"seed\": 2}", "duplicate");
    refused("{\"seed\": 7, \"name\": 3}", "a text");
    refused("{\"seed\": 7, \"name\": \"\"}", "name: the cluster name has 0 characters");
    refused("{\"seed\": 7, \"name\": \"a/b\"}", "character 2 is not a letter");
    refused("{\"model\": {\"hidden\": 128}}", "give a list of at most 8 whole numbers");
    refused("{\"data\": {\"type\": \"csv\"}}", "give data.format instead");
}

/* --set has the same keys; texts need no quotes and lists no brackets. */
static void assignments_are_read(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    const char *good[] = {"train.steps=1e3",          "train.mode=async",
                          "model.hidden=64,32",       "train.max_staleness=none",
                          "train.learning_rate=0.25", "name=x"};
    job_init(&job);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(job_set(&job, good[i], &error), TN_OK);
    }
    assert_int_equal(job.train.steps, 1000);
    assert_int_equal(job.model.hidden_count, 2);
    assert_true(job.train.max_staleness == STALENESS_FREE);
    assert_true(job.train.learning_rate == 0.25);
    set_refused("train.steps", "key=value");
    set_refused("=5", "key=value");
    set_refused("train.step=5", "did you mean \"train.steps\"?");
    set_refused("train.steps=", "train.steps is \"\"");
    set_refused("train=5",
                "\"train\" is a section, not a key: name one of its keys, such as train.mode");
    set_refused("name=", "give 1 to");
}

/* The kernels of a job are portable, but those of an existing run that does not name them were
 * not. */
static void default_kernels_are_portable(void **state)
{
    (void)state;
    struct job job;
    job_init(&job);
    assert_int_equal(job.train.kernels, JOB_KERNELS_PORTABLE);
    job_init_existing(&job);
    assert_int_equal(read_text(&job, "{\"train\": {\"steps\": 5}}", NULL), TN_OK);
    assert_int_equal(job.train.kernels, JOB_KERNELS_OPENBLAS);
    assert_int_equal(read_text(&job, "{\"train\": {\"kernels\": \"portable\"}}", NULL), TN_OK);
    assert_int_equal(job.train.kernels, JOB_KERNELS_PORTABLE);
}

/* Wrong combinations of keys are refused with a valid value. */
static void combinations_are_checked(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(job_check(&job, &error), TN_OK);
    job.train.batch = 65;
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "give 72"));
    job_init(&job);
    job.cluster.min_workers = 3;
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    job_init(&job);
    job.model.hidden_count = 0;
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
}

/* The canonical JSON reads back to the same job. */
static void canonical_json_comes_back(void **state)
{
    (void)state;
    struct job job, again;
    struct error error;
    job_init(&job);
    job.train.learning_rate = 0.1;
    job.model.hidden_count = 0;
    char *text = job_to_json(&job);
    assert_non_null(text);
    job_init(&again);
    assert_int_equal(read_text(&again, text, &error), TN_OK);
    char *text_again = job_to_json(&again);
    assert_string_equal(text, text_again);
    free(text);
    free(text_again);
}

/* Runs that earlier builds began can be continued: a key with its default does not count. */
static void hash_of_the_defaults_is_that_of_earlier_builds(void **state)
{
    (void)state;
    struct job job;
    job_init(&job);
    assert_int_equal(job_hash(&job), UINT64_C(0x5cd1dd5c3c1c245e));
    job.train.kernels = JOB_KERNELS_CUBLAS;
    const uint64_t float32 = job_hash(&job);
    job.train.precision = JOB_PRECISION_BF16;
    assert_int_not_equal(job_hash(&job), float32);
}

/* Steps may change while a cluster exists, the batch may not; the difference is named. */
static void hash_covers_fixed_keys(void **state)
{
    (void)state;
    struct job a, b;
    char text[JOB_DIFFERENCE_MAX];
    job_init(&a);
    job_init(&b);
    b.train.steps = 5;
    b.cluster.workers = 1;
    assert_int_equal(job_hash(&a), job_hash(&b));
    assert_false(job_difference(&a, &b, text));
    b.train.batch = 128;
    assert_int_not_equal(job_hash(&a), job_hash(&b));
    assert_true(job_difference(&a, &b, text));
    assert_string_equal(text, "train.batch is 64 there and 128 here");
}

/* A long value is cut, and nothing but the value is shown. */
static void differences_cut_long_values(void **state)
{
    (void)state;
    struct job a, b;
    char text[JOB_DIFFERENCE_MAX];
    job_init(&a);
    memset(a.data.path, 'p', sizeof a.data.path - 1);
    a.data.path[sizeof a.data.path - 1] = '\0';
    b = a;
    b.data.path[0] = 'q';
    assert_true(job_difference(&a, &b, text));
    assert_non_null(strstr(text, "data.path is \"ppp"));
    assert_non_null(strstr(text, "ppp... there and \"qpp"));
}

/* Every key that differs is named; a list that does not fit ends with "and others". */
static void difference_names_all_keys(void **state)
{
    (void)state;
    struct job a, b;
    char text[JOB_DIFFERENCE_MAX];
    job_init(&a);
    job_init(&b);
    b.seed = 2;
    b.train.batch = 128;
    b.cluster.ps = 3;
    assert_true(job_difference(&a, &b, text));
    assert_string_equal(text, "seed is 1 there and 2 here, train.batch is 64 there and 128 here, "
                              "cluster.ps is 2 there and 3 here");
    memset(b.data.path, 'x', sizeof b.data.path - 1);
    b.data.path[sizeof b.data.path - 1] = '\0';
    b.model.inputs = b.model.outputs = b.data.examples = b.data.test_examples = 123456;
    b.data.noise = b.train.learning_rate = b.train.momentum = b.train.beta1 = 0.123456789012345;
    b.train.beta2 = b.train.epsilon = b.train.final_learning_rate = 0.123456789012345;
    assert_true(job_difference(&a, &b, text));
    assert_true(strlen(text) < sizeof text);
    assert_string_equal(text + strlen(text) - strlen(", and others"), ", and others");
}

/* Without model.hidden, softmax and linear have no hidden layer, and an mlp has one. */
static void hidden_layers_follow_the_type(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(read_text(&job, "{\"model\": {\"type\": \"softmax\"}}", &error), TN_OK);
    assert_int_equal(job.model.hidden_count, 0);
    assert_int_equal(job_set(&job, "model.type=linear", &error), TN_OK);
    assert_int_equal(job.model.hidden_count, 0);
    assert_int_equal(job_set(&job, "model.type=mlp", &error), TN_OK);
    assert_int_equal(job.model.hidden_count, 1);
    assert_int_equal(job.model.hidden[0], 128);
    assert_int_equal(job_set(&job, "model.hidden=64", &error), TN_OK);
    assert_int_equal(job_set(&job, "model.type=softmax", &error), TN_OK);
    assert_int_equal(job.model.hidden_count, 1); /* Given, so that model_describe() refuses it. */
    job_init(&job);
    assert_int_equal(
        read_text(&job, "{\"model\": {\"type\": \"linear\", \"hidden\": [3]}}", &error), TN_OK);
    assert_int_equal(job.model.hidden_count, 1);
    job_init(&job);
    assert_int_equal(read_text(&job, "{\"model.hidden\": [3]}", &error), TN_OK);
    assert_int_equal(job.model.hidden[0], 3);
}

/* A section in a section, in a file and by --set. */
static void schedule_is_read(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(
        read_text(&job,
                  "{\"train\": {\"schedule\": {\"type\": \"piecewise\", \"warmup_steps\": 7,"
                  " \"boundaries\": [10, 20], \"rates\": [0.5, 0.25]}}}",
                  &error),
        TN_OK);
    assert_int_equal(job.train.schedule.type, SCHEDULE_PIECEWISE);
    assert_int_equal(job.train.schedule.boundaries[1], 20);
    assert_true(job.train.schedule.rates[1] == 0.25);
    assert_int_equal(job_check(&job, &error), TN_OK);
    assert_int_equal(job_set(&job, "train.schedule.rates=0.5,0.125", &error), TN_OK);
    assert_true(job.train.schedule.rates[1] == 0.125);
    refused("{\"train\": {\"schedule\": {\"typ\": 1}}}", "mean \"train.schedule.type\"?");
    refused("{\"train\": {\"schedule\": \"cosine\"}}",
            "train.schedule is \"cosine\": give a section");
    refused("{\"train\": {\"schedule\": {\"rates\": [-1]}}}", "train.schedule.rates[0] is -1");
    set_refused("train.schedule.type=cosin", "did you mean \"cosine\"?");
}

/* Rules of variables: absent factors have their defaults, and are written again. */
static void variable_rules_are_read(void **state)
{
    (void)state;
    struct job job, again;
    struct error error;
    job_init(&job);
    assert_int_equal(job_set(&job,
                             "train.variables={\"match\": \"a*\"}, {\"match\": \"b\","
                             " \"learning_rate_factor\": 0, \"weight_decay_factor\": 2}",
                             &error),
                     TN_OK);
    assert_int_equal(job.train.rule_count, 2);
    assert_true(job.train.rules[0].learning_rate_factor == 1);
    assert_true(isnan(job.train.rules[0].weight_decay_factor));
    assert_true(job.train.rules[1].learning_rate_factor == 0);
    assert_true(job.train.rules[1].weight_decay_factor == 2);
    char *text = job_to_json(&job);
    job_init(&again);
    assert_int_equal(read_text(&again, text, &error), TN_OK);
    assert_int_equal(job_hash(&job), job_hash(&again));
    job.train.rules[1].weight_decay_factor = 3;
    assert_int_not_equal(job_hash(&job), job_hash(&again));
    free(text);
    set_refused("train.variables=[{}]", "train.variables[0].match is missing");
    set_refused("train.variables=[{\"match\": \"a\", \"rate\": 2}]", "unknown key \"rate\"");
    set_refused("train.variables=[{\"match\": \"a\", \"weight_decay_factor\": -1}]",
                "weight_decay_factor is -1");
}

/* The job of these assignments is refused with `expected` in the error; NULL: it is not. */
static void checked(const char *const *assignments, const char *expected)
{
    struct job job;
    struct error error = {0};
    job_init(&job);
    for (; *assignments != NULL; assignments++) {
        assert_int_equal(job_set(&job, *assignments, &error), TN_OK);
    }
    enum tn_status status = job_check(&job, &error);
    if (expected == NULL) {
        assert_int_equal(status, TN_OK);
    } else if (status != TN_EINVAL || strstr(error.text, expected) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error.text, expected);
    }
}

#define CHECKED(expected, ...) checked((const char *const[]){__VA_ARGS__, NULL}, expected)

/* Keys that a schedule needs are required, and those that it does not use are refused. */
static void schedules_are_checked(void **state)
{
    (void)state;
    CHECKED(NULL, "train.schedule.warmup_steps=10");
    CHECKED(NULL, "train.decay_steps=10", "train.schedule.warmup_steps=9");
    CHECKED("train.schedule.warmup_steps is 10, but train.decay_steps only 10",
            "train.decay_steps=10", "train.schedule.warmup_steps=10");
    CHECKED("a cosine schedule needs an end", "train.schedule.type=cosine");
    CHECKED(NULL, "train.schedule.type=cosine", "train.decay_steps=10");
    CHECKED("train.decay_steps is 5, but a schedule of type \"constant\"",
            "train.schedule.type=constant", "train.decay_steps=5");
    CHECKED("train.schedule.every_steps is 0", "train.schedule.type=step",
            "train.schedule.factor=0.5");
    CHECKED("train.schedule.factor is 0", "train.schedule.type=exponential",
            "train.schedule.every_steps=5");
    CHECKED("train.schedule.factor is given", "train.schedule.factor=0.5");
    CHECKED(NULL, "train.schedule.type=exponential", "train.schedule.every_steps=5",
            "train.schedule.factor=1e-300");
    CHECKED("train.schedule.factor is 9e-301, which is too small: give at least 1e-300",
            "train.schedule.type=exponential", "train.schedule.every_steps=5",
            "train.schedule.factor=9e-301");
    CHECKED("train.schedule.rates is given", "train.schedule.rates=0.5");
    CHECKED("has 1 steps and train.schedule.rates 2", "train.schedule.type=piecewise",
            "train.schedule.boundaries=10", "train.schedule.rates=0.5,0.25");
    CHECKED("train.schedule.boundaries[1] is 10, not more than the one before (10)",
            "train.schedule.type=piecewise", "train.schedule.boundaries=10,10",
            "train.schedule.rates=0.5,0.25");
    CHECKED("not more than train.schedule.warmup_steps (10)", "train.schedule.type=piecewise",
            "train.schedule.boundaries=10", "train.schedule.rates=0.5",
            "train.schedule.warmup_steps=10");
}

static void read_layers(struct job *job, const char *text)
{
    struct error error;
    job_init(job);
    if (job_read_text(job, text, strlen(text), "test", &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
}

/* Layers are kept as canonical text, and written as they were read. */
static void layers_are_kept(void **state)
{
    (void)state;
    static struct job a, b;
    char text[JOB_DIFFERENCE_MAX];
    read_layers(&a, "{\"model\": {\"type\": \"layers\", \"shape\": [28, 28], \"layers\":"
                    " [ {\"dropout\": 0.10}, {\"b\": {\"y\": 1, \"x\": 2}} ]}}");
    assert_string_equal(a.model.layers, "[{\"dropout\":0.1},{\"b\":{\"x\":2,\"y\":1}}]");
    assert_int_equal(a.model.shape_count, 2);
    assert_int_equal(job_check(&a, NULL), TN_OK);
    char *json = job_to_json(&a);
    read_layers(&b, json);
    free(json);
    assert_string_equal(a.model.layers, b.model.layers);
    assert_int_equal(job_hash(&a), job_hash(&b));
    assert_false(job_difference(&a, &b, text));
    assert_int_equal(job_set(&b, "model.layers=[{\"dropout\": 0.2}]", NULL), TN_OK);
    assert_int_not_equal(job_hash(&a), job_hash(&b));
    assert_true(job_difference(&a, &b, text));
    assert_string_equal(text, "model.layers is [{\"dropout\":0.1},{\"b\":{\"x\":2,\"y\":1}}] there "
                              "and [{\"dropout\":0.2}] here");
    assert_int_equal(job_set(&b, "model.layers=[]", NULL), TN_OK);
    assert_string_equal(b.model.layers, "");
}

/* A difference behind the part of a value that is shown is found, and shown from there. */
static void late_differences_are_found(void **state)
{
    (void)state;
    static struct job a, b;
    char text[JOB_DIFFERENCE_MAX];
    job_init(&a);
    memset(a.data.path, 'p', 200);
    b = a;
    b.data.path[199] = 'q';
    assert_true(job_difference(&a, &b, text));
    assert_non_null(strstr(text, "ppp\" there and ...ppp"));
    assert_non_null(strstr(text, "pppq\" here"));
}

static void expect_wrong(const char *text, const char *wanted)
{
    static struct job job;
    struct error error;
    read_layers(&job, text);
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    if (strstr(error.text, wanted) == NULL) { fail_msg("%s", error.text); }
}

static void keys_of_layers_are_checked(void **state)
{
    (void)state;
    static struct job job;
    static char long_list[JOB_LAYERS_MAX + 64];
    struct error error;
    expect_wrong("{\"model\": {\"type\": \"layers\"}}", "model.layers is empty");
    expect_wrong("{\"model\": {\"layers\": [1]}}",
                 "model.layers is given, but model.type is \"mlp\"");
    expect_wrong("{\"model\": {\"shape\": [1]}}", "model.shape is given");
    expect_wrong("{\"model\": {\"loss\": \"huber_error\"}}", "model.loss is given");
    expect_wrong("{\"model\": {\"label_smoothing\": 0.1}}", "model.label_smoothing is given");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1], \"shape\": [28, 27]}}",
                 "model.inputs is 784, but the product of model.shape is 756");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1], \"hidden\": [5]}}",
                 "use {\"dense\": {\"units\": 5, \"activation\": \"relu\"}}");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1], \"loss\": \"squared_error\","
                 " \"label_smoothing\": 0.1}}",
                 "model.label_smoothing is 0.1, but model.loss has no labels");
    expect_wrong("{\"model\": {\"targets\": \"inputs\"}}", "model.targets is given");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1], \"targets\": \"inputs\"}}",
                 "needs labels: give model.loss \"squared_error\"");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1], \"targets\": \"inputs\","
                 " \"loss\": \"huber_error\"}}",
                 "but model.outputs is 10: give model.outputs 784");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1], \"outputs\": 784,"
                 " \"targets\": \"inputs\", \"loss\": \"sigmoid_cross_entropy\"},"
                 " \"data\": {\"type\": \"synthetic\"}}",
                 "needs targets from 0 to 1");
    expect_wrong("{\"model\": {\"type\": \"layers\", \"layers\": [1],"
                 " \"loss\": \"sigmoid_cross_entropy\"}}",
                 "separates two classes by one number: give model.outputs 1");
    expect_wrong("{\"data\": {\"type\": \"text\", \"path\": \"\"}}",
                 "data.path is empty: give the name of a text file");
    job_init(&job);
    assert_int_equal(job_set(&job, "model.layers={}", &error), TN_EINVAL);
    assert_string_equal(error.text, "model.layers is {}: give a list of layers, [...], with a text "
                                    "of less than 8192 bytes");
    snprintf(long_list, sizeof long_list, "model.layers=[\"%0*d\"]", JOB_LAYERS_MAX - 4, 0);
    assert_int_equal(job_set(&job, long_list, &error), TN_EINVAL);
    snprintf(long_list, sizeof long_list, "model.layers=[\"%0*d\"]", JOB_LAYERS_MAX - 5, 0);
    assert_int_equal(job_set(&job, long_list, &error), TN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_read),
        cmocka_unit_test(wrong_file_is_named),
        cmocka_unit_test(assignments_are_read),
        cmocka_unit_test(default_kernels_are_portable),
        cmocka_unit_test(combinations_are_checked),
        cmocka_unit_test(canonical_json_comes_back),
        cmocka_unit_test(hash_of_the_defaults_is_that_of_earlier_builds),
        cmocka_unit_test(hash_covers_fixed_keys),
        cmocka_unit_test(differences_cut_long_values),
        cmocka_unit_test(difference_names_all_keys),
        cmocka_unit_test(hidden_layers_follow_the_type),
        cmocka_unit_test(schedule_is_read),
        cmocka_unit_test(variable_rules_are_read),
        cmocka_unit_test(schedules_are_checked),
        cmocka_unit_test(layers_are_kept),
        cmocka_unit_test(late_differences_are_found),
        cmocka_unit_test(keys_of_layers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
