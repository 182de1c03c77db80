/* model/job_layers.h: every layer of the table builds, gradients are slopes, and errors name the
 * place, the value and the remedy. */
#include "model/job_layers.h"

#include <dirent.h>

#include "common/job/strategy.h"
#include "model/job_graph.h"
#include "model/training.h"
#include "tests/unit/support/graphs.h"

static void set(struct job *job, const char *key, const char *value)
{
    char text[JOB_LAYERS_MAX];
    struct error error;
    assert_true(snprintf(text, sizeof text, "%s=%s", key, value) > 0);
    if (job_set(job, text, &error) != TN_OK) { fail_msg("%s", error.text); }
}

static struct job job_of(const char *shape, const char *inputs, const char *layers)
{
    struct job job;
    job_init(&job);
    set(&job, "model.type", "layers");
    set(&job, "model.shape", shape);
    set(&job, "model.inputs", inputs);
    set(&job, "model.outputs", "3");
    set(&job, "model.layers", layers);
    assert_int_equal(job_check(&job, NULL), TN_OK);
    return job;
}

static void expect_slopes(const struct job *job)
{
    struct model *model = NULL;
    struct error error;
    double worst = 1;
    if (model_open(job, &model, &error) != TN_OK) { fail_msg("%s", error.text); }
    assert_int_equal(tn_check_gradients(model->graph, 3, 3, 20, &worst, NULL), TN_OK);
    assert_true(worst < 1e-5);
    model_close(model);
}

static void images(void **state)
{
    (void)state;
    struct job job = job_of(
        "[6, 6, 2]", "72",
        "[{\"conv2d\": {\"filters\": 3, \"kernel\": 3, \"stride\": 1, \"padding\": \"none\"}},"
        " \"gelu\", {\"residual\": [{\"conv2d\": 3}, {\"activation\": \"tanh\"}]},"
        " {\"mean_pool\": {\"size\": 2, \"stride\": 1}}, \"layer_norm\", \"silu\","
        " {\"dropout\": 0.25}, \"flatten\", {\"dense\": {\"units\": 5, \"activation\":"
        " \"sigmoid\"}}, {\"reshape\": [5, 1]}, \"flatten\", {\"dense\": 3}]");
    expect_slopes(&job);
    set(&job, "model.layers",
        "[{\"max_pool\": 2}, {\"conv2d\": 4}, \"global_max_pool\","
        " {\"dense\": 4}, \"leaky_relu\", {\"dense\": 3}]");
    expect_slopes(&job);
    set(&job, "model.label_smoothing", "0.1");
    set(&job, "model.layers", "[{\"conv2d\": 4}, \"global_mean_pool\", {\"dense\": 3}]");
    expect_slopes(&job);
}

static void sequences(void **state)
{
    (void)state;
    struct job job = job_of(
        "[4, 6]", "24",
        "[\"positions\", {\"transformer_block\": {\"heads\": 2, \"causal\": true, \"mlp_width\":"
        " 5}}, {\"self_attention\": 3}, {\"transformer_block\": {\"heads\": 1, \"dropout\": 0.1}},"
        " \"global_mean_pool\", {\"dense\": 3}]");
    expect_slopes(&job);
}

/* An embedding first: the field "inputs" has bytes. */
static void ids(void **state)
{
    (void)state;
    struct job job = job_of("[4]", "4",
                            "[{\"embedding\": {\"rows\": 9, \"width\": 6}}, \"global_mean_pool\","
                            " \"relu\", {\"dense\": 3}]");
    struct model *model = NULL;
    struct training *training = NULL;
    expect_slopes(&job);
    assert_true(job_layers_read_ids(&job));
    assert_int_equal(model_open(&job, &model, NULL), TN_OK);
    const struct training_config config = {
        .model = model, .kernels = "reference", .gradient = {2}, .evaluation = {0}};
    assert_int_equal(training_open(&config, &training, NULL), TN_OK);
    struct fields fields = training_fields(training, TN_TRAIN, 2);
    assert_non_null(fields.input_bytes);
    assert_null(fields.inputs);
    training_close(training);
    model_close(model);
}

/* Branches read the same value; each has variables of its own. */
static void branches(void **state)
{
    (void)state;
    struct variable_table table;
    struct job job = job_of(
        "[4, 4, 2]", "32",
        "[{\"add\": [[{\"conv2d\": 4}, \"tanh\"], [{\"conv2d\": {\"filters\": 4, \"kernel\": "
        "1}}]]},"
        " {\"concat\": [[], [{\"conv2d\": 1}], [{\"multiply\": [[], [\"sigmoid\"]]}]]}, "
        "\"flatten\","
        " {\"slice\": {\"first\": 3, \"count\": 40}}, {\"concat\": [[{\"dot\": [[], [\"tanh\"]]}],"
        " [{\"dense\": 4}]]}, {\"dense\": 3}]");
    expect_slopes(&job);
    assert_int_equal(model_describe(&job, &table, NULL), TN_OK);
    assert_string_equal(table.variables[0].name, "add1/branch1/conv2d1/weights");
    assert_string_equal(table.variables[2].name, "add1/branch2/conv2d1/weights");
}

/* Features with a vector each: the sum over pairs, and each pair. */
static void interactions(void **state)
{
    (void)state;
    struct variable_table table;
    struct job job =
        job_of("[5, 4]", "20",
               "[{\"concat\": [[{\"dense\": 4}, \"factorization_machine\"], [{\"dense\": 6}, "
               "\"dot_interaction\"]]}, {\"dense\": 3}]");
    expect_slopes(&job);
    assert_int_equal(model_describe(&job, &table, NULL), TN_OK);
    assert_string_equal(table.variables[4].name, "dense2/weights");
    assert_int_equal(table.variables[4].shape[0], 1 + 5 * 4 / 2);
}

/* Two towers: the mean of some ids' embeddings, and that of the last id. */
static void bags_of_ids(void **state)
{
    (void)state;
    struct job job =
        job_of("[]", "4",
               "[{\"dot\": [[{\"slice\": 3}, {\"embedding\": {\"rows\": 9, \"width\": 4}},"
               " \"global_mean_pool\", {\"dense\": 3}], [{\"slice\": {\"first\": 3, \"count\": 1}},"
               " {\"embedding\": {\"rows\": 9, \"width\": 3}}, \"flatten\"]]}]");
    set(&job, "model.outputs", "1");
    set(&job, "model.loss", "sigmoid_cross_entropy");
    assert_int_equal(job_check(&job, NULL), TN_OK);
    assert_true(job_layers_read_ids(&job));
    expect_slopes(&job);
}

/* The first half of the features is the query's vector. */
static void towers_are_compared_within_a_slice(void **state)
{
    (void)state;
    struct tn_graph *graph = NULL;
    struct error error;
    struct job job = job_of("[]", "6",
                            "[{\"concat\": [[{\"slice\": 4}, {\"dense\": 3}],"
                            " [{\"slice\": {\"first\": 4, \"count\": 2}}, {\"dense\": 3}]]}]");
    set(&job, "model.outputs", "1");
    set(&job, "model.loss", "slice_softmax_cross_entropy");
    assert_int_equal(job_check(&job, NULL), TN_OK);
    expect_slopes(&job);
    set(&job, "model.layers", "[{\"dense\": 5}]");
    assert_int_equal(job_graph_create(&job, &graph, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "model.layers end with [batch, 5]"));
    assert_non_null(strstr(error.text, "{\"concat\": [[...], [...]]} of two towers"));
}

/* A softmax within a slice has conditions on other keys. */
static void towers_without_a_slice_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"model.outputs", "2", "model.outputs is 2, but with model.loss \"slice_softmax_cross_"},
        {"model.targets", "inputs", "needs labels, 1 where query and item belong together"},
        {"train.slices", "64", "train.slices is 64 and train.batch 64"},
        {"model.label_smoothing", "0.1", "model.label_smoothing is 0.1"},
        {"model.type", "onnx", "compares two towers, which model.type \"onnx\" does not have"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const bool onnx = strcmp(wrong[i][1], "onnx") == 0;
        struct job job = job_of("[]", "6", "[{\"dense\": 4}]");
        struct error error;
        if (onnx) { job_init(&job); }
        set(&job, "model.outputs", "1");
        set(&job, "model.loss", "slice_softmax_cross_entropy");
        set(&job, "train.batch", "64");
        if (onnx) { set(&job, "model.path", "model.onnx"); }
        set(&job, wrong[i][0], wrong[i][1]);
        assert_int_equal(job_check(&job, &error), TN_EINVAL);
        if (strstr(error.text, wrong[i][2]) == NULL) { fail_msg("%s", error.text); }
    }
}

/* A label for each element of a sequence. */
static void labels_of_sequences(void **state)
{
    (void)state;
    struct model *model = NULL;
    struct training *training = NULL;
    struct job job = job_of("[4]", "4",
                            "[{\"embedding\": {\"rows\": 9, \"width\": 6}}, {\"self_attention\":"
                            " {\"heads\": 2, \"causal\": true}}, {\"dense\": 3}]");
    expect_slopes(&job);
    assert_int_equal(model_open(&job, &model, NULL), TN_OK);
    const struct training_config config = {
        .model = model, .kernels = "reference", .gradient = {2}, .evaluation = {0}};
    assert_int_equal(training_open(&config, &training, NULL), TN_OK);
    assert_int_equal(training_fields(training, TN_TRAIN, 2).labels_each, 4);
    training_close(training);
    model_close(model);
}

/* Targets that are the inputs: probabilities, or numbers. */
static void autoencoders(void **state)
{
    (void)state;
    static const char *const losses[] = {"squared_error", "sigmoid_cross_entropy"};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        struct job job = job_of("[]", "5", "[{\"dense\": 2}, \"tanh\", {\"dense\": 5}]");
        set(&job, "model.outputs", "5");
        set(&job, "model.loss", losses[i]);
        set(&job, "model.targets", "inputs");
        assert_int_equal(job_check(&job, NULL), TN_OK);
        expect_slopes(&job);
    }
}

static void regressions(void **state)
{
    (void)state;
    static const char *const losses[] = {"squared_error", "absolute_error", "huber_error"};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        struct job job = job_of("[]", "5", "[{\"dense\": 4}, \"tanh\", {\"dense\": 3}]");
        set(&job, "model.loss", losses[i]);
        assert_int_equal(job_check(&job, NULL), TN_OK);
        expect_slopes(&job);
    }
}

/* The variables are named by the layer's type and number. */
static void variables_have_names(void **state)
{
    (void)state;
    struct variable_table table;
    struct job job =
        job_of("[]", "3", "[{\"dense\": 3}, {\"residual\": [\"tanh\", {\"dense\": 3}]}]");
    assert_int_equal(model_describe(&job, &table, NULL), TN_OK);
    assert_int_equal(table.count, 4);
    assert_string_equal(table.variables[0].name, "dense1/weights");
    assert_string_equal(table.variables[3].name, "residual2/dense2/bias");
}

/* "mlp" and the same layers have the same parameters and the same gradient. */
static void an_mlp_is_a_list_of_layers(void **state)
{
    (void)state;
    struct job mlp, layers = job_of("[]", "5",
                                    "[{\"dense\": {\"units\": 4, \"activation\": \"relu\"}},"
                                    " {\"dense\": 3}]");
    struct model *models[2];
    float gradients[2][64];
    job_init(&mlp);
    set(&mlp, "model.inputs", "5");
    set(&mlp, "model.outputs", "3");
    set(&mlp, "model.hidden", "[4]");
    assert_int_equal(model_open(&mlp, &models[0], NULL), TN_OK);
    assert_int_equal(model_open(&layers, &models[1], NULL), TN_OK);
    for (int m = 0; m < 2; m++) {
        struct training *training = NULL;
        float values[64];
        const struct training_config config = {
            .model = models[m], .kernels = "reference", .gradient = {4}, .evaluation = {0}};
        assert_int_equal(training_open(&config, &training, NULL), TN_OK);
        assert_int_equal(models[m]->table.parameter_count, 39);
        variables_init_range(&models[m]->table, 1, 0, 39, values);
        struct fields fields = training_fields(training, TN_TRAIN, 4);
        for (int i = 0; i < 20; i++) { fields.inputs[i] = (float)(i % 7) - 3; }
        struct slice_run run = {
            .values = values, .count = 4, .scale = 0.25F, .gradient = gradients[m]};
        assert_int_equal(training_gradient(training, &run, NULL), TN_OK);
        training_close(training);
        model_close(models[m]);
    }
    assert_memory_equal(gradients[0], gradients[1], 39 * sizeof(float));
}

enum { EXAMPLES_LEAST = 9 };

/* Returns false for a file that is not a job. */
static bool check_example(const char *name)
{
    struct job job;
    struct model *model = NULL;
    struct error error;
    char path[300];
    double worst = 1;
    const char *ending = strrchr(name, '.');
    if (ending == NULL || strcmp(ending, ".json") != 0) { return false; }
    assert_true(snprintf(path, sizeof path, "examples/%s", name) > 0);
    job_init(&job);
    if (job_read_file(&job, path, &error) != TN_OK) { fail_msg("%s", error.text); }
    strategy_settle(&job);
    if (job_check(&job, &error) != TN_OK) { fail_msg("%s: %s", name, error.text); }
    if (model_open(&job, &model, &error) != TN_OK) { fail_msg("%s: %s", name, error.text); }
    assert_int_equal(tn_check_gradients(model->graph, 5, 1, 2, &worst, NULL), TN_OK);
    printf("%-24s %4u variables, worst relative error %.1e\n", name, model->table.count, worst);
    if (!(worst < 1e-5)) { fail_msg("%s: a gradient is wrong by %g", name, worst); }
    model_close(model);
    return true;
}

/* The models of examples/: every variable, in its own shape. */
static void examples_have_slopes(void **state)
{
    (void)state;
    DIR *folder = opendir("examples");
    uint32_t checked = 0;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        checked += check_example(entry->d_name);
    }
    closedir(folder);
    assert_true(checked >= EXAMPLES_LEAST);
}

static void expect_refusal(const char *layers, const char *text)
{
    struct job job = job_of("[4, 4, 1]", "16", layers);
    struct model *model = NULL;
    struct error error;
    assert_int_equal(model_open(&job, &model, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
}

static void wrong_layers_are_refused(void **state)
{
    (void)state;
    expect_refusal("[\"flatten\", {\"dense\": {\"unit\": 3}}]",
                   "model.layers[1].dense: unknown key \"unit\": did you mean \"units\"?");
    expect_refusal("[\"dense\"]", "model.layers[0].dense.units is missing: give a whole number");
    expect_refusal("[{\"dropout\": 2}]",
                   "model.layers[0].dropout.rate is 2: give a number from 0 to 0.99");
    expect_refusal("[{\"conv2d\": {\"filters\": 2, \"activation\": \"rleu\"}}]",
                   "model.layers[0].conv2d.activation is \"rleu\": did you mean \"relu\"?");
    expect_refusal("[{\"dens\": 3}]",
                   "model.layers[0]: unknown layer 'dens': did you mean \"dense\"?");
    expect_refusal("[\"cauliflower\"]",
                   "model.layers[0]: unknown layer 'cauliflower': one of dense,");
    expect_refusal("[{\"flatten\": 3}]", "model.layers[0].flatten is 3: this layer has no keys");
    expect_refusal("[3]", "model.layers[0] is 3: give the name of a layer, or an object");
    expect_refusal("[{\"dense\": 3, \"relu\": {}}]", "give the name of a layer, or an object");
    expect_refusal("[{\"residual\": 3}]", "model.layers[0].residual is 3: give a list of layers");
    expect_refusal("[{\"residual\": [{\"dense\": 5}]}]",
                   "model.layers[0].residual: its layers make [batch, 4, 4, 5] of [batch, 4, 4, "
                   "1], so their result cannot be added to it: end with as many filters or units");
    expect_refusal("[{\"add\": [[], [{\"dense\": 5}]]}]",
                   "model.layers[0].add: branch 0 ends with [batch, 4, 4, 1], but branch 1 with "
                   "[batch, 4, 4, 5]: end each");
    expect_refusal("[{\"concat\": [[], [\"relu\"], [{\"max_pool\": 2}]]}]",
                   "model.layers[0].concat: branch 0 ends with [batch, 4, 4, 1], but branch 2 with "
                   "[batch, 2, 2, 1]: they may differ only in the last dimension");
    expect_refusal("[{\"dot\": [[]]}]", "model.layers[0].dot is [[]]: give a list of 2 to 8 lists");
    expect_refusal("[{\"multiply\": [[], 3]}]",
                   "model.layers[0].multiply[1] is 3: give a list of layers");
    expect_refusal("[{\"slice\": 0}]", "model.layers[0].slice.count is 0");
    expect_refusal("[{\"slice\": {\"first\": 1, \"count\": 1}}]", "model.layers[0].slice: ");
    expect_refusal("[{\"residual\": [\"relu\", {\"dense\": 0}]}]",
                   "model.layers[0].residual[1].dense.units is 0");
    expect_refusal("[\"positions\"]", "model.layers[0].positions: of [batch, 4, 4, 1]: ");
    expect_refusal("[\"flatten\", \"factorization_machine\"]",
                   "model.layers[1].factorization_machine: of [batch, 16]: ");
    expect_refusal("[\"flatten\", {\"reshape\": [1, 16]}, \"dot_interaction\"]",
                   "dot_interaction: x must be numbers [batch, features, width] with at least 2 "
                   "features: reshape it");
    expect_refusal("[\"flatten\", {\"conv2d\": 3}]",
                   "model.layers[1].conv2d: of [batch, 16]: scope 'conv2d2': conv2d: the images");
    expect_refusal("[\"relu\", {\"embedding\": {\"rows\": 3, \"width\": 2}}]",
                   "embedding 'embedding2': x has numbers, not ids: put it first");
    expect_refusal(
        "[\"flatten\", {\"dense\": 4}]",
        "model.layers end with [batch, 4], but model.outputs is 3: end with {\"dense\": 3}");
    expect_refusal("[\"relu\"]",
                   "model.layers end with [batch, 4, 4, 1], but the loss needs [batch, 3]");
}

static void residuals_have_a_limit_of_depth(void **state)
{
    (void)state;
    expect_refusal("[{\"residual\":[{\"residual\":[{\"residual\":[{\"residual\":[{\"residual\":["
                   "{\"residual\":[{\"residual\":[{\"residual\":[{\"residual\":[\"relu\"]}]}]}]}]}"
                   "]}]}]}]}]",
                   "lists of layers are more than 8 deep");
}

/* "task" names the member of a group that computes a layer, and has its variables. */
static void layers_have_tasks(void **state)
{
    (void)state;
    struct model *model = NULL;
    struct error error;
    struct job job =
        job_of("[8]", "8",
               "[{\"dense\": 4, \"task\": 1}, {\"residual\": [{\"dense\": 4}], \"task\": 0},"
               " {\"task\": 1, \"dense\": {\"units\": 3}}]");
    set(&job, "placement.strategy", "greedy");
    job.strategy.type = STRATEGY_TYPE_GROUP;
    if (model_open(&job, &model, &error) != TN_OK) { fail_msg("%s", error.text); }
    for (uint32_t i = 0; i < model->table.count; i++) {
        const struct variable *variable = &model->table.variables[i];
        const bool is_second = strncmp(variable->name, "residual2", 9) == 0;
        assert_int_equal(variable->member, is_second ? 0 : 1);
    }
    model_close(model);
    expect_refusal("[{\"dense\": 3, \"task\": 64}]", "model.layers[0].task is 64");
    expect_refusal("[{\"dense\": 3, \"task\": \"a\"}]", "give a whole number from 0 to 63");
    expect_refusal("[{\"task\": 1}]", "give the name of a layer, or an object");
}

/* A layer on a member that the group does not have is an error. */
static void tasks_beyond_the_members_are_refused(void **state)
{
    (void)state;
    struct model *model = NULL;
    struct error error;
    struct job job = job_of("[8]", "8", "[{\"dense\": 3, \"task\": 5}]");
    set(&job, "placement.strategy", "greedy");
    job.strategy.type = STRATEGY_TYPE_GROUP;
    assert_int_equal(model_open(&job, &model, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "strategy.members is 2"));
    assert_non_null(strstr(error.text, "task:5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images),
        cmocka_unit_test(sequences),
        cmocka_unit_test(ids),
        cmocka_unit_test(branches),
        cmocka_unit_test(interactions),
        cmocka_unit_test(bags_of_ids),
        cmocka_unit_test(towers_are_compared_within_a_slice),
        cmocka_unit_test(towers_without_a_slice_are_refused),
        cmocka_unit_test(labels_of_sequences),
        cmocka_unit_test(autoencoders),
        cmocka_unit_test(regressions),
        cmocka_unit_test(examples_have_slopes),
        cmocka_unit_test(variables_have_names),
        cmocka_unit_test(an_mlp_is_a_list_of_layers),
        cmocka_unit_test(wrong_layers_are_refused),
        cmocka_unit_test(residuals_have_a_limit_of_depth),
        cmocka_unit_test(layers_have_tasks),
        cmocka_unit_test(tasks_beyond_the_members_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
