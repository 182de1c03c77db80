/* model/model.h: the table of a model is that of its graph. */
#include "model/model.h"

#include "tanist/layers.h"
#include "tests/unit/support/graphs.h"

/* Names, order and shapes, and the initial values that a program would give. */
static void compare_table(struct tn_graph *graph)
{
    struct tn_program *program = NULL;
    struct tn_program_options options = {sizeof options, TN_TRAIN, .examples = 2};
    struct model *model = NULL;
    assert_int_equal(tn_program_create(graph, &options, &program, NULL), TN_OK);
    assert_int_equal(model_open_graph(graph, &model, NULL), TN_OK);
    size_t size = (size_t)model->table.parameter_count;
    assert_int_equal(tn_program_parameters(program), size);
    float *expected = calloc(2 * size, sizeof *expected);
    tn_program_initialize(program, 9, expected);
    variables_init_range(&model->table, 9, 0, size, expected + size);
    assert_memory_equal(expected, expected + size, size * sizeof *expected);
    free(expected);
    model_close(model);
    tn_program_destroy(program);
}

static void tables_have_the_initial_values_of_programs(void **state)
{
    (void)state;
    static const enum tn_init inits[] = {TN_INIT_ZEROS,     TN_INIT_ONES,   TN_INIT_GLOROT_UNIFORM,
                                         TN_INIT_HE_NORMAL, TN_INIT_NORMAL, TN_INIT_UNIFORM,
                                         TN_INIT_VALUES};
    float given[36];
    for (int i = 0; i < 36; i++) { given[i] = 0.5F - 0.25F * (float)i; }
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 6));
    for (size_t i = 0; i < sizeof inits / sizeof inits[0]; i++) {
        char name[16];
        struct tn_variable_options options = {.init = inits[i], .scale = 0.25F, .values = given};
        snprintf(name, sizeof name, "w%zu", i);
        tn_tensor w = tn_variable(graph, name, TN_SHAPE(6, 6), &options);
        x = tn_matmul(graph, x, w, false, false);
    }
    tn_loss(graph, tn_mean(graph, x, (uint32_t[]){1}, 1), 1);
    compare_table(graph);
    compare_table(layered_graph(3));
}

/* The table of an MLP has the weights and the bias of each layer, in order. */
static void tables_list_the_layers(void **state)
{
    (void)state;
    struct variable_table table;
    struct job job;
    job_init(&job); /* An MLP 784-128-10. */
    assert_int_equal(model_describe(&job, &table, NULL), TN_OK);
    assert_int_equal(table.parameter_count, 101770);
    assert_int_equal(table.count, 4);
    assert_string_equal(table.variables[0].name, "hidden1/weights");
    assert_string_equal(table.variables[3].name, "output/bias");
    job.model.hidden_count = 0;
    assert_int_equal(model_describe(&job, &table, NULL), TN_OK);
    assert_int_equal(table.parameter_count, 7850);
}

/* Frozen variables and those without weight decay are marked; others of two dimensions are not. */
static void tables_have_the_marks_of_variables(void **state)
{
    (void)state;
    static const struct tn_variable_options options[] = {
        {.init = TN_INIT_ONES},
        {.init = TN_INIT_ONES, .no_weight_decay = true},
        {.init = TN_INIT_ONES, .update = TN_UPDATE_NEVER},
    };
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 6));
    for (uint32_t i = 0; i < 3; i++) {
        const char *const names[] = {"plain", "spared", "frozen"};
        tn_tensor w = tn_variable(graph, names[i], TN_SHAPE(6, 6), &options[i]);
        x = tn_matmul(graph, x, w, false, false);
    }
    tn_loss(graph, tn_mean(graph, x, (uint32_t[]){1}, 1), 1);
    struct model *model = NULL;
    assert_int_equal(model_open_graph(graph, &model, NULL), TN_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const struct variable *variable = &model->table.variables[i];
        assert_true((variable->update == VARIABLE_FROZEN) ==
                    (strcmp(variable->name, "frozen") == 0));
        assert_true(variable->no_weight_decay == (strcmp(variable->name, "spared") == 0));
    }
    model_close(model);
}

/* The moments of batch norm are averages, and a variable may have its own optimizer. */
static void tables_have_averages(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    struct tn_variable_options own = {.init = TN_INIT_ONES, .optimizer = "adagrad"};
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 6));
    x = tn_matmul(graph, x, tn_variable(graph, "w", TN_SHAPE(6, 6), &own), false, false);
    x = tn_batch_norm(graph, "norm", x);
    tn_loss(graph, tn_mean(graph, x, (uint32_t[]){1}, 1), 1);
    struct model *model = NULL;
    uint32_t averages = 0;
    assert_int_equal(model_open_graph(graph, &model, NULL), TN_OK);
    for (uint32_t i = 0; i < model->table.count; i++) {
        const struct variable *variable = &model->table.variables[i];
        bool moment = strstr(variable->name, "norm/moments/") == variable->name;
        assert_true((variable->update == VARIABLE_AVERAGED) == moment);
        assert_true(variable->momentum == (moment ? 0.99F : 0.0F));
        assert_string_equal(variable->optimizer, strcmp(variable->name, "w") == 0 ? "adagrad" : "");
        averages += moment;
    }
    assert_int_equal(averages, 2);
    model_close(model);
}

/* Other given values are another model; a table without its model knows their digest. */
static void tables_identify_given_values(void **state)
{
    (void)state;
    uint64_t hashes[3];
    for (int i = 0; i < 3; i++) {
        struct tn_graph *graph = new_graph();
        const float given[] = {1, i == 1 ? 2.5F : 2};
        const struct tn_variable_options options = {.init = TN_INIT_VALUES, .values = given};
        tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 2));
        x = tn_multiply(graph, x, tn_variable(graph, "w", TN_SHAPE(2), &options));
        tn_loss(graph, tn_mean(graph, x, (uint32_t[]){1}, 1), 1);
        struct model *model = NULL;
        float values[2] = {0};
        assert_int_equal(model_open_graph(graph, &model, NULL), TN_OK);
        variables_init_range(&model->table, 1, 1, 1, values);
        assert_true(values[0] == given[1]);
        hashes[i] = variable_table_hash(&model->table);
        model->table.variables[0].values = NULL;
        assert_true(variable_table_hash(&model->table) == hashes[i]);
        model_close(model);
    }
    assert_true(hashes[0] != hashes[1] && hashes[0] == hashes[2]);
}

static void expect_refusal(struct tn_graph *graph, const char *text)
{
    struct model *model = NULL;
    struct error error;
    assert_int_equal(model_open_graph(graph, &model, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, text));
    assert_null(model);
}

static void models_that_ps_cannot_hold_are_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_loss(graph, x, 1);
    expect_refusal(graph, "the model has no variables, so nothing can be trained");
    graph = new_graph();
    x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    struct tn_variable_options other = {.init = TN_INIT_ONES, .optimizer = "adom"};
    tn_loss(graph, tn_multiply(graph, x, tn_variable(graph, "w", TN_SCALAR, &other)), 1);
    expect_refusal(graph, "variable 'w': there is no optimizer called \"adom\"");
    graph = new_graph();
    (void)tn_graph_fail(graph, "broken on purpose");
    expect_refusal(graph, "broken on purpose");
}

/* Tables are listed in canonical order, each once. */
static void models_list_their_tables(void **state)
{
    (void)state;
    struct model *model = NULL;
    struct tn_graph *graph = new_graph();
    const uint32_t columns = 1;
    const struct tn_variable_options ones = {.init = TN_INIT_ONES};
    const struct tn_table_options options = {.rows = 1000, .scale = 0.25F};
    tn_tensor keys = tn_placeholder(graph, "keys", TN_INT64, TN_SHAPE(TN_BATCH, 2));
    const tn_table items = tn_table_create(graph, "items", 4, NULL);
    tn_scope_begin(graph, "wide");
    const tn_table users = tn_table_create(graph, "users", 4, &options);
    tn_scope_end(graph);
    tn_tensor row = tn_lookup(graph, users, keys, 0, 2, TN_POOL_SUM);
    row = tn_add(graph, row, tn_lookup(graph, items, keys, 0, 1, TN_POOL_SUM));
    row = tn_add(graph, row, tn_lookup(graph, users, keys, 1, 1, TN_POOL_SUM));
    row = tn_multiply(graph, row, tn_variable(graph, "w", TN_SHAPE(4), &ones));
    tn_loss(graph, tn_sum(graph, row, &columns, 1), 1);
    assert_int_equal(model_open_graph(graph, &model, NULL), TN_OK);
    assert_int_equal(model->table.row_table_count, 2);
    assert_string_equal(model->table.row_tables[0].name, "wide/users");
    assert_string_equal(model->table.row_tables[1].name, "items");
    assert_int_equal(model->table.row_tables[0].rows, 1000);
    assert_true(model->table.row_tables[0].scale == 0.25F &&
                model->table.row_tables[1].scale == 0.5F);
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_have_the_initial_values_of_programs),
        cmocka_unit_test(tables_list_the_layers),
        cmocka_unit_test(tables_have_the_marks_of_variables),
        cmocka_unit_test(tables_have_averages),
        cmocka_unit_test(tables_identify_given_values),
        cmocka_unit_test(models_that_ps_cannot_hold_are_refused),
        cmocka_unit_test(models_list_their_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
