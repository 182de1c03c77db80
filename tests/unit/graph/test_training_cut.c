/* graph/training_cut.h: the parts of a model, run in their order in one process, have the gradients
 * and the losses of the whole, wherever it is cut. */
#include "graph/training_cut.h"

#include <math.h>

#include "graph/canonical.h"
#include "graph/joined_slices.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "tests/unit/support/models.h"

enum { EXAMPLES = 3, SEED = 11, STEP = 5, FIRST = 6, SLICES = 5, TASKS = 3 };

#define SCALE 0.0625F

/* A model cut, with a program for each part; the values of the edges, by their numbers. */
struct group {
    struct training_cut cut;
    struct tn_program **programs;
    float *values[TASKS]; /* The values of the variables of a task, and no others. */
    uint8_t **edges;      /* NULL: not computed. */
};

struct result {
    float *gradient; /* All variables; zeros where none flows. */
    double loss;
};

static size_t bytes_of(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape) * type_size(view->type, false);
}

/* The examples from position `first` on. */
static void fill_field(const char *field, uint32_t first, uint32_t examples, struct tn_view view)
{
    const size_t bytes = bytes_of(&view), elements = bytes / type_size(view.type, false);
    const size_t each = elements / examples;
    for (size_t i = 0; i < elements; i++) {
        const size_t at = (first * each + i) * 7 + (size_t)field[0];
        switch (view.type) {
        case TN_FLOAT32: ((float *)view.data)[i] = sinf((float)at); break;
        case TN_INT32: ((int32_t *)view.data)[i] = (int32_t)(at % 5); break;
        case TN_INT64: ((int64_t *)view.data)[i] = (int64_t)(at % 5); break;
        case TN_UINT8: ((uint8_t *)view.data)[i] = (uint8_t)(at % 5); break;
        }
    }
}

/* ------------------------------------------------------------------------- whole */

static void fill_fields(const struct tn_program *program, uint32_t first, uint32_t examples)
{
    for (uint32_t i = 0; i < program->graph->count; i++) {
        const struct node *node = &program->graph->nodes[i];
        if (node->op != &op_placeholder) { continue; }
        struct tn_view view = tn_program_field(program, node->attributes.name);
        if (view.data != NULL) { fill_field(node->attributes.name, first, examples, view); }
    }
}

static struct result run_whole(struct tn_program *program, const float *values, uint32_t first)
{
    struct result result = {calloc(program->parameters + 1, sizeof(float)), 0};
    assert_non_null(result.gradient);
    fill_fields(program, first, EXAMPLES);
    struct tn_run run = {.struct_size = sizeof run,
                         .values = values,
                         .seed = SEED,
                         .step = STEP,
                         .first = first,
                         .scale = SCALE,
                         .gradient = result.gradient};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    result.loss = run.loss_sum;
    return result;
}

/* ------------------------------------------------------------------------- parts */

/* Where the variables of a part are in the values of its task. */
static void list_offsets(const struct group *group, const struct tn_graph *part, uint32_t task,
                         uint64_t *offsets)
{
    struct tn_graph *canonical = NULL;
    uint32_t count = 0;
    assert_int_equal(graph_canonical(part, false, &canonical, NULL), TN_OK);
    for (uint32_t i = 0; i < canonical->count; i++) {
        if (canonical->nodes[i].op != &op_variable) { continue; }
        uint32_t v = 0;
        while (strcmp(group->cut.variables[v].name, canonical->nodes[i].attributes.name) != 0) {
            v++;
            assert_true(v < group->cut.variable_count);
        }
        assert_int_equal(group->cut.variables[v].task, task); /* It holds no other one. */
        offsets[count++] = group->cut.variables[v].task_offset;
    }
    tn_graph_destroy(canonical);
}

static struct tn_program *part_program(const struct group *group, const struct partition_part *part)
{
    static uint64_t offsets[TN_VARIABLES_MAX];
    struct tn_program *program = NULL;
    struct error error = {.text = ""};
    list_offsets(group, part->graph, part->task, offsets);
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_EVALUATE,
                                               .examples = EXAMPLES,
                                               .variable_offsets = offsets};
    if (program_create_part(part->graph, &options, &program, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    return program;
}

static void open_group(struct group *group, const struct tn_graph *graph, uint32_t tasks,
                       const float *values)
{
    struct error error = {.text = ""};
    *group = (struct group){.programs = NULL};
    if (training_cut_create(graph, tasks, &group->cut, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    const struct partition *partition = &group->cut.partition;
    group->programs = calloc(partition->part_count, sizeof(struct tn_program *));
    group->edges = calloc(partition->edge_count, sizeof(uint8_t *));
    assert_true(group->programs != NULL && group->edges != NULL);
    for (uint32_t t = 0; t < tasks; t++) {
        group->values[t] = calloc(group->cut.floats[t] + 1, sizeof(float));
        assert_non_null(group->values[t]);
    }
    for (uint32_t i = 0; i < group->cut.variable_count; i++) {
        const struct cut_variable *variable = &group->cut.variables[i];
        memcpy(group->values[variable->task] + variable->task_offset, values + variable->offset,
               variable->count * sizeof(float));
    }
    for (uint32_t p = 0; p < partition->part_count; p++) {
        group->programs[p] = part_program(group, &partition->parts[p]);
    }
}

static void forget_edges(struct group *group)
{
    for (uint32_t e = 0; e < group->cut.partition.edge_count; e++) {
        free(group->edges[e]);
        group->edges[e] = NULL;
    }
}

static void close_group(struct group *group)
{
    forget_edges(group);
    for (uint32_t p = 0; p < group->cut.partition.part_count; p++) {
        tn_program_destroy(group->programs[p]);
    }
    for (uint32_t t = 0; t < TASKS; t++) { free(group->values[t]); }
    free(group->programs);
    free((void *)group->edges);
    training_cut_free(&group->cut);
}

static void take_inputs(const struct group *group, const struct tn_program *program, uint32_t task,
                        uint32_t first)
{
    char name[PARTITION_NAME_MAX];
    for (uint32_t e = 0; e < group->cut.partition.edge_count; e++) {
        const struct partition_edge *edge = &group->cut.partition.edges[e];
        partition_edge_name(e, name);
        struct tn_view view = tn_program_field(program, name);
        if (view.data == NULL) { continue; }
        assert_int_equal(edge->to, task);
        if (edge->from == PARTITION_CALLER) {
            fill_field(node_of(group->cut.graph, edge->value)->attributes.name, first, EXAMPLES,
                       view);
        } else {
            assert_non_null(group->edges[e]); /* By a part before this one. */
            memcpy(view.data, group->edges[e], bytes_of(&view));
        }
    }
}

static void give_outputs(struct group *group, const struct tn_program *program)
{
    char name[PARTITION_NAME_MAX];
    for (uint32_t e = 0; e < group->cut.partition.edge_count; e++) {
        partition_edge_name(e, name);
        struct tn_view view = tn_program_output(program, name);
        if (view.data == NULL) { continue; }
        assert_null(group->edges[e]);
        group->edges[e] = malloc(bytes_of(&view));
        assert_non_null(group->edges[e]);
        memcpy(group->edges[e], view.data, bytes_of(&view));
    }
}

/* The gradients as their tasks have them, and the loss as `task` has it. */
static struct result collect(const struct group *group, uint32_t task)
{
    const float *losses[8];
    const struct training_cut *cut = &group->cut;
    uint64_t count = 0;
    for (uint32_t t = 0; t < cut->tasks; t++) { count += cut->floats[t]; }
    struct result result = {calloc(count + 1, sizeof(float)), 0};
    assert_non_null(result.gradient);
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        const struct cut_variable *variable = &cut->variables[i];
        if (variable->gradient == CUT_NO_EDGE) { continue; }
        assert_int_equal(cut->partition.edges[variable->gradient].to, variable->task);
        memcpy(result.gradient + variable->offset, group->edges[variable->gradient],
               variable->count * sizeof(float));
    }
    assert_true(cut->loss_count <= 8);
    for (uint32_t i = 0; i < cut->loss_count; i++) {
        losses[i] = (const float *)group->edges[cut->losses[i].edges[task]];
    }
    result.loss = training_cut_loss_sum(cut, losses, EXAMPLES);
    return result;
}

static struct result run_group(struct group *group, uint32_t first)
{
    struct result result = {NULL, 0};
    const struct partition *partition = &group->cut.partition;
    forget_edges(group);
    for (uint32_t p = 0; p < partition->part_count; p++) {
        const uint32_t task = partition->parts[p].task;
        struct tn_run run = {.struct_size = sizeof run,
                             .values = group->values[task],
                             .seed = SEED,
                             .step = STEP,
                             .first = first,
                             .scale = SCALE};
        take_inputs(group, group->programs[p], task, first);
        assert_int_equal(tn_program_run(group->programs[p], &run, NULL), TN_OK);
        give_outputs(group, group->programs[p]);
    }
    for (uint32_t t = 0; t < group->cut.tasks; t++) {
        const double loss = result.loss;
        free(result.gradient);
        result = collect(group, t);
        assert_true(t == 0 || result.loss == loss); /* Each task has the same. */
    }
    return result;
}

/* ------------------------------------------------------------------------- compare */

static float *initial_values(const struct tn_program *program)
{
    float *values = calloc(program->parameters + 1, sizeof *values);
    assert_non_null(values);
    tn_program_initialize(program, SEED, values);
    return values;
}

static uint32_t count_differences(const struct result *a, const struct result *b, uint64_t count)
{
    uint32_t differences = a->loss != b->loss;
    for (uint64_t i = 0; i < count; i++) {
        differences += memcmp(&a->gradient[i], &b->gradient[i], sizeof(float)) != 0;
    }
    return differences;
}

/* Cut a graph by its devices. Returns the number of parts. */
static uint32_t compare(const struct tn_graph *graph, uint32_t tasks, struct tn_program *whole,
                        const float *values)
{
    struct group group;
    open_group(&group, graph, tasks, values);
    struct result expected = run_whole(whole, values, FIRST), found = run_group(&group, FIRST);
    assert_true(expected.loss != 0);
    assert_int_equal(count_differences(&expected, &found, whole->parameters), 0);
    const uint32_t parts = group.cut.partition.part_count;
    free(expected.gradient);
    free(found.gradient);
    close_group(&group);
    return parts;
}

/* A copy of the canonical graph with a device for each node. */
static struct tn_graph *placed(const struct tn_graph *graph,
                               uint32_t (*task)(uint32_t node, uint64_t choice), uint64_t choice)
{
    static const char *const devices[TASKS] = {"/job:worker/task:0", "/job:worker/task:1",
                                               "/job:worker/task:2"};
    struct tn_graph *copy = NULL;
    assert_int_equal(graph_canonical(graph, false, &copy, NULL), TN_OK);
    for (uint32_t i = 0; i < copy->count; i++) { copy->nodes[i].device = devices[task(i, choice)]; }
    return copy;
}

static uint32_t before_and_behind(uint32_t node, uint64_t choice)
{
    return node >= choice;
}

static uint32_t at_random(uint32_t node, uint64_t choice)
{
    uint64_t random =
        (choice * 1000003 + node) * UINT64_C(6364136223846793005) + 1442695040888963407U;
    random ^= random >> 29;
    return (uint32_t)((random * UINT64_C(0x9e3779b97f4a7c15)) >> 33) % TASKS;
}

/* Cut behind each node, so at each border of layers; then with each node on a random task. */
static void cut_everywhere(struct tn_graph *graph, uint32_t draws)
{
    struct tn_program *whole =
        new_program(graph, (struct tn_program_options){.examples = EXAMPLES});
    float *values = initial_values(whole);
    struct tn_graph *canonical = NULL;
    uint32_t most = 0;
    assert_int_equal(graph_canonical(graph, false, &canonical, NULL), TN_OK);
    for (uint32_t i = 0; i <= canonical->count; i++) {
        struct tn_graph *copy = placed(graph, before_and_behind, i);
        const uint32_t parts = compare(copy, 2, whole, values);
        if (parts > most) { most = parts; }
        tn_graph_destroy(copy);
    }
    assert_true(most >= 3); /* Forward, the other task, backward. */
    for (uint32_t draw = 0; draw < draws; draw++) {
        struct tn_graph *copy = placed(graph, at_random, draw);
        assert_true(compare(copy, TASKS, whole, values) > 3);
        tn_graph_destroy(copy);
    }
    tn_graph_destroy(canonical);
    tn_program_destroy(whole);
    free(values);
    tn_graph_destroy(graph);
}

static void dense_layers(void **state)
{
    (void)state;
    cut_everywhere(layered_graph(4), 20);
}

/* Convolutions, pooling, dropout, and the moments of batch norm, which are emitted as gradients. */
static void a_network_of_images(void **state)
{
    (void)state;
    cut_everywhere(cnn_graph(8, 3), 6);
}

/* Attention, dropout, and a variable with two readers. */
static void a_transformer(void **state)
{
    (void)state;
    cut_everywhere(transformer_graph(4, 8, 2, 1, 5), 6);
}

static void two_losses(void **state)
{
    (void)state;
    cut_everywhere(autoencoder_graph(6, 3), 10);
}

/* Devices in the author's code: nodes without one follow their inputs, variables their readers. A
 * frozen variable, and one that no loss reaches, have no gradient. */
static void devices_of_the_author(void **state)
{
    (void)state;
    const struct tn_variable_options frozen = {.init = TN_INIT_ONES, .update = TN_UPDATE_NEVER};
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 4));
    x = tn_multiply(graph, x, tn_variable(graph, "frozen", TN_SHAPE(4), &frozen));
    tn_device_begin(graph, "/job:worker/task:0");
    x = tn_activate(graph, dense_layer(graph, "first", x, 6), TN_TANH);
    tn_device_end(graph);
    tn_device_begin(graph, "/job:worker/task:1");
    x = dense_layer(graph, "second", tn_dropout(graph, "drop", x, 0.5F), 5);
    tn_device_end(graph);
    tn_output(graph, "unused", tn_stop_gradient(graph, dense_layer(graph, "unused", x, 2)));
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, labels_field(graph)), 1);
    struct tn_program *whole =
        new_program(graph, (struct tn_program_options){.examples = EXAMPLES});
    float *values = initial_values(whole);
    assert_int_equal(compare(graph, 2, whole, values), 3);
    struct training_cut cut;
    assert_int_equal(training_cut_create(graph, 2, &cut, NULL), TN_OK);
    uint32_t without = 0;
    for (uint32_t i = 0; i < cut.variable_count; i++) {
        without += cut.variables[i].gradient == CUT_NO_EDGE;
    }
    for (uint32_t i = 0; i < cut.graph->count;
         i++) { /* Gradients are where their operations are. */
        const struct node *node = &cut.graph->nodes[i];
        const bool is_anywhere = node->op == &op_placeholder || node->op == &op_constant;
        assert_true(is_anywhere || node->device[0] != '\0');
    }
    assert_int_equal(cut.variable_count, 7);
    assert_int_equal(without, 3);
    training_cut_free(&cut);
    tn_program_destroy(whole);
    free(values);
    tn_graph_destroy(graph);
}

/* Gradients of slices that a group computes one by one, added over their tree, are those that one
 * program computes for all slices at once. */
static void slices_have_the_bits_of_joined_ones(void **state)
{
    (void)state;
    struct group group;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 6));
    tn_device_begin(graph, "/job:worker/task:0");
    x = tn_activate(graph, dense_layer(graph, "first", x, 9), TN_RELU);
    tn_device_end(graph);
    tn_device_begin(graph, "/job:worker/task:1");
    x = dense_layer(graph, "second", tn_dropout(graph, "drop", x, 0.25F), 5);
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, labels_field(graph)), 1);
    tn_device_end(graph);
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .examples = EXAMPLES * SLICES};
    struct tn_program *joined = NULL;
    assert_int_equal(joined_slices_create(graph, &options, SLICES, &joined, NULL), TN_OK);
    float *values = initial_values(joined);
    open_group(&group, graph, 2, values);
    fill_fields(joined, 0, EXAMPLES * SLICES);
    float *gradient = calloc(joined->parameters, sizeof *gradient);
    struct tn_run run = {.struct_size = sizeof run,
                         .values = values,
                         .seed = SEED,
                         .step = STEP,
                         .scale = SCALE,
                         .gradient = gradient};
    assert_int_equal(tn_program_run(joined, &run, NULL), TN_OK);
    /* ((0 1) (2 3)) 4 */
    struct result slices[SLICES];
    for (uint32_t s = 0; s < SLICES; s++) { slices[s] = run_group(&group, s * EXAMPLES); }
    for (uint64_t i = 0; i < joined->parameters; i++) {
        const float left = slices[0].gradient[i] + slices[1].gradient[i];
        const float right = slices[2].gradient[i] + slices[3].gradient[i];
        const float sum = (left + right) + slices[4].gradient[i];
        assert_memory_equal(&sum, &gradient[i], sizeof sum);
    }
    for (uint32_t s = 0; s < SLICES; s++) { free(slices[s].gradient); }
    close_group(&group);
    tn_program_destroy(joined);
    free(gradient);
    free(values);
    tn_graph_destroy(graph);
}

/* Errors name the device or the table that cannot be cut. */
static void errors(void **state)
{
    (void)state;
    struct training_cut cut;
    struct error error = {.text = ""};
    struct tn_graph *graph = new_graph();
    tn_device_begin(graph, "/job:worker/task:2");
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3));
    x = dense_layer(graph, "layer", x, 2);
    tn_device_end(graph);
    tn_output(graph, "y", x);
    assert_int_equal(training_cut_create(graph, 2, &cut, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "/job:worker/task:2"));
    training_cut_free(&cut);
    assert_int_equal(training_cut_create(graph, 3, &cut, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "no loss"));
    training_cut_free(&cut);
    tn_graph_destroy(graph);
    graph = new_graph();
    tn_tensor keys = tn_placeholder(graph, "keys", TN_INT64, TN_SHAPE(TN_BATCH, 2));
    tn_table table = tn_table_create(graph, "rows", 4, NULL);
    x = tn_lookup(graph, table, keys, 0, 2, TN_POOL_SUM);
    tn_loss(graph, tn_mean(graph, x, (uint32_t[]){1}, 1), 1);
    assert_int_equal(training_cut_create(graph, 2, &cut, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "table 'rows'"));
    training_cut_free(&cut);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_layers),
        cmocka_unit_test(a_network_of_images),
        cmocka_unit_test(a_transformer),
        cmocka_unit_test(two_losses),
        cmocka_unit_test(devices_of_the_author),
        cmocka_unit_test(slices_have_the_bits_of_joined_ones),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
