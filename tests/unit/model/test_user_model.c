/* model/user_model.h: the members of a user's model, its fields, and the defaults of its job. */
#include "model/user_model.h"

#include <string.h>

#include "model/model.h"
#include "tanist/layers.h"
#include "tests/unit/support/graphs.h"

static void assert_contains(const struct error *error, const char *text)
{
    if (strstr(error->text, text) == NULL) { fail_msg("\"%s\" is not in: %s", text, error->text); }
}

enum { CASE_GOOD, CASE_FIELD, CASE_SIZE, CASE_LABELS, CASE_GRAPH };

static int wanted;
static struct tn_build seen;
static char seen_options[64];

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    assert_ptr_equal(user, &wanted);
    seen = *b;
    snprintf(seen_options, sizeof seen_options, "%s", b->options);
    const char *field = wanted == CASE_FIELD ? "pixels" : "inputs";
    uint32_t width = b->inputs + (wanted == CASE_SIZE);
    tn_tensor x = tn_placeholder(g, field, TN_FLOAT32, TN_SHAPE(TN_BATCH, width));
    tn_tensor out = tn_dense(g, "line", x, b->outputs, TN_LINEAR);
    if (wanted == CASE_GRAPH) { (void)tn_graph_fail(g, "a remedy of the model"); }
    if (wanted == CASE_LABELS) {
        tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
        tn_loss(g, tn_softmax_cross_entropy(g, out, labels), 1);
        return;
    }
    tn_tensor y = tn_placeholder(g, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->outputs));
    tn_loss(g, tn_squared_error(g, out, y), 1);
}

static const struct tn_model line = {
    .struct_size = sizeof line,
    .api_version = TN_API_VERSION,
    .name = "line",
    .build = build,
    .job = "{\"model\": {\"inputs\": 3, \"outputs\": 2, \"loss\": \"squared_error\", "
           "\"options\": {\"b\": 2, \"a\": 1}}, \"train\": {\"steps\": 7}}",
    .user = &wanted,
};

static void expect_refusal(const struct tn_model *model, const char *text)
{
    struct error error = {0};
    assert_int_equal(user_model_set_program(model, &error), TN_EINVAL);
    assert_contains(&error, text);
    assert_false(job_has_program());
}

/* Each member is checked, and nothing is kept of a model that is refused. */
static void test_members(void **state)
{
    (void)state;
    struct tn_model model = line;
    model.api_version += 1;
    expect_refusal(&model, "interface 1.1 of libtanist, but this is 1.0");
    model.api_version = (TN_API_MAJOR + 1) << 16;
    expect_refusal(&model, "interface 2.0 of libtanist, but this is 1.0");
    model = line;
    model.struct_size -= 1;
    expect_refusal(&model, "struct_size of the model is");
    const struct tn_hooks hooks = {.struct_size = sizeof hooks - 1};
    model = line;
    model.hooks = &hooks;
    expect_refusal(&model, "struct_size of the hooks is");
    model = line;
    model.name = NULL;
    expect_refusal(&model, "the model has no name");
    model.name = "two names";
    expect_refusal(&model, "model \"two names\"");
    model = line;
    model.build = NULL;
    expect_refusal(&model, "the model has no build");
    model = line;
    model.job = "{\"train\": {\"step\": 7}}";
    expect_refusal(&model, "train.step");
}

/* Without a program, the type "program" has no model. */
static void test_no_program(void **state)
{
    (void)state;
    struct job job;
    struct model *model = NULL;
    struct error error = {0};
    job_init(&job);
    assert_int_equal(job_set(&job, "model.type=program", &error), TN_OK);
    assert_int_equal(model_open(&job, &model, &error), TN_EINVAL);
    assert_contains(&error, "this program has no model of its own");
}

static void expect_no_model(int number, const char *text)
{
    struct job job;
    struct model *model = NULL;
    struct error error = {0};
    wanted = number;
    job_init(&job);
    assert_int_equal(model_open(&job, &model, &error), TN_EINVAL);
    assert_null(model);
    assert_contains(&error, text);
}

/* The program's model replaces the defaults of every job, and its graph is that of the job. */
static void test_program(void **state)
{
    (void)state;
    struct job job;
    struct model *model = NULL;
    struct error error = {0};
    assert_int_equal(user_model_set_program(&line, &error), TN_OK);
    job_init(&job);
    assert_string_equal(job.name, "line");
    assert_int_equal(job.train.steps, 7);
    assert_int_equal(job_check(&job, &error), TN_OK);
    wanted = CASE_GOOD;
    assert_int_equal(model_open(&job, &model, &error), TN_OK);
    assert_int_equal(model->table.parameter_count, 3 * 2 + 2);
    assert_string_equal(seen_options, "{\"a\":1,\"b\":2}");
    assert_int_equal(seen.inputs, 3);
    assert_int_equal(seen.batch, job.train.batch);
    model_close(model);
    expect_no_model(CASE_FIELD, "the field \"pixels\" does not exist");
    expect_no_model(CASE_SIZE, "\"inputs\" has 4 numbers per example, but model.inputs is 3");
    expect_no_model(CASE_LABELS, "the field \"labels\" does not exist: by model.loss and "
                                 "model.targets of the job, the data have \"inputs\" and "
                                 "\"targets\"");
    expect_no_model(CASE_GRAPH, "a remedy of the model");
}

/* A job of another model, and keys that the code would ignore, are refused. */
static void test_other_keys(void **state)
{
    (void)state;
    struct job job;
    struct error error = {0};
    job_init(&job);
    assert_int_equal(job_set(&job, "model.type=mlp", &error), TN_OK);
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    assert_contains(&error, "model.type is \"mlp\", but this program brings a model of its own");
    job_init(&job);
    assert_int_equal(job_set(&job, "model.hidden=[4]", &error), TN_OK);
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    assert_contains(&error, "model.hidden is given, but a model of type \"program\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_other_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
