/* graph/passes/partition.c: the parts of a graph, run in their order in one process, have the bits
 * of the whole graph. */
#include "graph/passes/partition.h"

#include "graph/canonical.h"
#include "graph/passes/place.h"
#include "graph/program.h"
#include "tests/unit/support/graphs.h"

enum { EXAMPLES = 3, TASKS = 3, EDGES_MAX = 128, RESULT_BYTES_MAX = 4096 };

/* The values of the edges, by their numbers. */
struct edges {
    uint8_t data[EDGES_MAX][RESULT_BYTES_MAX];
    size_t bytes[EDGES_MAX];
    bool filled[EDGES_MAX];
};

static size_t bytes_of(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape) * type_size(view->type, false);
}

static void fill_field(const char *field, struct tn_view view)
{
    if (view.data != NULL) { fill_floats(view, (float)field[0] / 100); }
}

/* The values of a program's variables, by their names in the whole program. */
static float *values_for(const struct tn_program *program, const struct tn_program *whole,
                         const float *values)
{
    float *own = calloc((size_t)program->parameters + 1, sizeof *own);
    assert_non_null(own);
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct program_variable *variable = &program->variables[i];
        const char *name = program->graph->nodes[variable->node].attributes.name;
        uint32_t k = 0;
        while (strcmp(whole->graph->nodes[whole->variables[k].node].attributes.name, name) != 0) {
            k++;
        }
        memcpy(own + variable->offset, values + whole->variables[k].offset,
               (size_t)variable->count * sizeof *own);
    }
    return own;
}

static void take_inputs(const struct tn_graph *whole, const struct partition *cut,
                        const struct tn_program *program, struct edges *edges)
{
    char name[PARTITION_NAME_MAX];
    for (uint32_t e = 0; e < cut->edge_count; e++) {
        const struct partition_edge *edge = &cut->edges[e];
        partition_edge_name(e, name);
        struct tn_view view = tn_program_field(program, name);
        if (view.data == NULL) { continue; }
        if (edge->from == PARTITION_CALLER) {
            fill_field(node_of(whole, edge->value)->attributes.name, view);
        } else {
            assert_true(edges->filled[e]); /* By a part before this one. */
            assert_int_equal(edges->bytes[e], bytes_of(&view));
            memcpy(view.data, edges->data[e], edges->bytes[e]);
        }
    }
}

static void give_outputs(const struct partition *cut, const struct tn_program *program,
                         struct edges *edges)
{
    char name[PARTITION_NAME_MAX];
    for (uint32_t e = 0; e < cut->edge_count; e++) {
        partition_edge_name(e, name);
        struct tn_view view = tn_program_output(program, name);
        if (view.data == NULL) { continue; }
        edges->bytes[e] = bytes_of(&view);
        assert_true(edges->bytes[e] <= RESULT_BYTES_MAX);
        memcpy(edges->data[e], view.data, edges->bytes[e]);
        edges->filled[e] = true;
    }
}

static void run_part(const struct tn_graph *whole, const struct partition *cut,
                     const struct partition_part *part, const struct tn_program *reference,
                     const float *values, struct edges *edges)
{
    struct tn_program *program = new_program(
        part->graph, (struct tn_program_options){.mode = TN_EVALUATE, .examples = EXAMPLES});
    float *own = values_for(program, reference, values);
    struct tn_run run = {.struct_size = sizeof run, .values = own, .scale = 1};
    take_inputs(whole, cut, program, edges);
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    give_outputs(cut, program, edges);
    free(own);
    tn_program_destroy(program);
}

/* Cut a graph for its outputs, and compare each with that of the whole. Returns the parts. */
static uint32_t compare(const struct tn_graph *graph)
{
    uint32_t tasks[512];
    struct partition_result results[GRAPH_MARKS_MAX];
    struct tn_graph *whole = NULL;
    struct partition cut;
    struct edges *edges = calloc(1, sizeof *edges);
    assert_non_null(edges);
    assert_int_equal(graph_canonical(graph, true, &whole, NULL), TN_OK);
    assert_true(whole->count <= 512);
    assert_int_equal(pass_place(whole, TASKS, tasks, NULL), TN_OK);
    for (uint32_t i = 0; i < whole->mark_count; i++) {
        results[i] = (struct partition_result){whole->marks[i].value, PARTITION_CALLER};
    }
    assert_int_equal(pass_partition(whole, tasks, results, whole->mark_count, &cut, NULL), TN_OK);
    struct tn_program *reference =
        new_program(graph, (struct tn_program_options){.mode = TN_EVALUATE, .examples = EXAMPLES});
    float *values = calloc((size_t)reference->parameters + 1, sizeof *values);
    assert_non_null(values);
    tn_program_initialize(reference, 7, values);
    for (uint32_t i = 0; i < whole->count; i++) {
        if (whole->nodes[i].op->name[0] != 'p' || whole->nodes[i].input_count > 0) { continue; }
        const char *field = whole->nodes[i].attributes.name;
        fill_field(field, tn_program_field(reference, field));
    }
    struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
    assert_int_equal(tn_program_run(reference, &run, NULL), TN_OK);
    for (uint32_t p = 0; p < cut.part_count; p++) {
        run_part(whole, &cut, &cut.parts[p], reference, values, edges);
    }
    uint32_t compared = 0;
    for (uint32_t i = 0; i < whole->mark_count; i++) {
        const struct tn_view view = tn_program_output(reference, whole->marks[i].name);
        for (uint32_t e = 0; e < cut.edge_count; e++) {
            const struct partition_edge *edge = &cut.edges[e];
            if (edge->to != PARTITION_CALLER || edge->value.v != whole->marks[i].value.v) {
                continue;
            }
            assert_true(edges->filled[e]);
            assert_memory_equal(edges->data[e], view.data, bytes_of(&view));
            compared++;
        }
    }
    assert_int_equal(compared, whole->mark_count);
    const uint32_t parts = cut.part_count;
    partition_free(&cut);
    tn_program_destroy(reference);
    tn_graph_destroy(whole);
    free(values);
    free(edges);
    return parts;
}

static tn_tensor input_field(struct tn_graph *graph, const char *name)
{
    return tn_placeholder(graph, name, TN_FLOAT32, TN_SHAPE(TN_BATCH, 4));
}

static tn_tensor dense_on(struct tn_graph *graph, const char *device, const char *name, tn_tensor x)
{
    tn_device_begin(graph, device);
    tn_tensor y = tn_activate(graph, dense_layer(graph, name, x, 4), TN_RELU);
    tn_device_end(graph);
    return y;
}

/* Two layers on two tasks: two parts and one edge between them. */
static void two_tasks_have_the_bits(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor h = dense_on(graph, "/job:worker/task:0", "a", input_field(graph, "x"));
    tn_output(graph, "y", dense_on(graph, "/job:worker/task:1", "b", h));
    assert_int_equal(compare(graph), 2);
    tn_graph_destroy(graph);
}

/* A task that waits for another one in mid-graph has a part for each wait; values of an early part
 * reach a late one of the same task. */
static void a_task_may_wait_in_mid_graph(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor a = dense_on(graph, "/job:worker/task:0", "a", input_field(graph, "x"));
    tn_tensor b = dense_on(graph, "/job:worker/task:1", "b", a);
    tn_device_begin(graph, "/job:worker/task:0");
    tn_tensor c = tn_add(graph, a, b);
    tn_device_end(graph);
    tn_tensor d = dense_on(graph, "/job:worker/task:1", "d", c);
    tn_output(graph, "c", c);
    tn_output(graph, "y", tn_subtract(graph, d, b));
    assert_int_equal(compare(graph), 4);
    tn_graph_destroy(graph);
}

/* Leaves as results; a variable that another task reads; a field that two tasks read. */
static void leaves_may_cross(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = input_field(graph, "x");
    tn_device_begin(graph, "/job:worker/task:2");
    tn_tensor w = weights_of(graph, "w", TN_SHAPE(4, 4));
    tn_tensor other = tn_matmul(graph, x, w, false, false);
    tn_device_end(graph);
    tn_device_begin(graph, "/job:worker/task:1");
    tn_tensor y = tn_matmul(graph, x, w, false, false);
    tn_device_end(graph);
    tn_output(graph, "field", x);
    tn_output(graph, "variable", w);
    tn_output(graph, "constant", tn_scalar(graph, 3));
    tn_output(graph, "y", y);
    tn_output(graph, "same", y);
    tn_output(graph, "other", other);
    assert_int_equal(compare(graph), 3);
    tn_graph_destroy(graph);
}

/* Operations that evaluation replaces, and those with several outputs. */
static void replaced_operations_have_the_bits(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "image", TN_FLOAT32, TN_SHAPE(TN_BATCH, 4, 4, 2));
    tn_device_begin(graph, "/job:worker/task:1");
    tn_tensor weights = weights_of(graph, "weights", TN_SHAPE(3, 3, 2, 3));
    tn_tensor y = tn_conv2d(graph, x, weights, (struct tn_window){.same = true}, 1);
    tn_device_end(graph);
    tn_tensor gain = weights_of(graph, "gain", TN_SHAPE(3)),
              bias = weights_of(graph, "bias", TN_SHAPE(3));
    y = tn_normalize_batch(graph, "norm", y, gain, bias, 0.9F, 1e-3F);
    tn_device_begin(graph, "/job:worker/task:2");
    y = tn_max_pool(
        graph, tn_dropout(graph, "drop", y, 0.5F),
        (struct tn_window){.height = 2, .width = 2, .stride_height = 2, .stride_width = 2});
    tn_device_end(graph);
    tn_output(graph, "y", tn_normalize_layer(graph, y, gain, bias, 1e-5F));
    assert_int_equal(compare(graph), 2);
    tn_graph_destroy(graph);
}

/* Layers on tasks drawn at random, with inputs from anywhere before them. */
static void random_places_have_the_bits(void **state)
{
    (void)state;
    static const char *const devices[] = {"/job:worker/task:0", "/job:worker/task:1",
                                          "/job:worker/task:2", "/job:worker"};
    uint64_t random = 1;
    for (uint32_t round = 0; round < 60; round++) {
        struct tn_graph *graph = new_graph();
        tn_tensor values[12] = {input_field(graph, "x"), input_field(graph, "z")};
        for (uint32_t i = 2; i < 12; i++) {
            char name[16];
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
            const uint32_t draw = (uint32_t)(random >> 33);
            snprintf(name, sizeof name, "layer%u", i);
            tn_tensor a = values[draw % i], b = values[draw / 16 % i];
            tn_device_begin(graph, devices[draw / 256 % 4]);
            values[i] =
                tn_add(graph, dense_layer(graph, name, a, 4), tn_activate(graph, b, TN_TANH));
            tn_device_end(graph);
        }
        tn_output(graph, "last", values[11]);
        tn_output(graph, "middle", values[6]);
        compare(graph);
        tn_graph_destroy(graph);
    }
}

/* Nodes that the results do not need are in no part. */
static void unneeded_nodes_are_left_out(void **state)
{
    (void)state;
    uint32_t tasks[64];
    struct partition cut;
    struct tn_graph *graph = new_graph();
    tn_tensor a = dense_on(graph, "/job:worker/task:0", "a", input_field(graph, "x"));
    dense_on(graph, "/job:worker/task:1", "b", a);
    const struct partition_result result = {a, PARTITION_CALLER};
    assert_int_equal(pass_place(graph, 2, tasks, NULL), TN_OK);
    assert_int_equal(pass_partition(graph, tasks, &result, 1, &cut, NULL), TN_OK);
    assert_int_equal(cut.part_count, 1);
    assert_int_equal(cut.parts[0].task, 0);
    assert_int_equal(cut.edge_count, 2);
    assert_int_equal(cut.edges[0].from, PARTITION_CALLER);
    assert_int_equal(cut.edges[1].to, PARTITION_CALLER);
    partition_free(&cut);
    tn_graph_destroy(graph);
}

/* The outputs of a part are limited; the error names the task. */
static void too_many_outputs_are_refused(void **state)
{
    (void)state;
    static uint32_t tasks[4096];
    static struct partition_result results[GRAPH_MARKS_MAX + 1];
    struct partition cut;
    struct error error = {.text = ""};
    struct tn_graph *graph = new_graph();
    tn_tensor x = input_field(graph, "x");
    for (uint32_t i = 0; i <= GRAPH_MARKS_MAX; i++) {
        results[i] =
            (struct partition_result){tn_scale(graph, x, (float)(i + 1)), PARTITION_CALLER};
    }
    assert_int_equal(pass_place(graph, 1, tasks, NULL), TN_OK);
    assert_int_equal(pass_partition(graph, tasks, results, GRAPH_MARKS_MAX + 1, &cut, &error),
                     TN_EINVAL);
    assert_non_null(strstr(error.text, "task 0: "));
    partition_free(&cut);
    tn_graph_destroy(graph);
}

/* Names of edges are numbers in one form. */
static void names_of_edges(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",        "edge:",  "edge:01",         "edge:+1",
        "edge:1 ", "edge 1", "edge:4294967296", "edge:99999999999999999999999"};
    char name[PARTITION_NAME_MAX];
    uint32_t edge = 0;
    partition_edge_name(UINT32_MAX, name);
    assert_true(partition_edge_number(name, &edge));
    assert_int_equal(edge, UINT32_MAX);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(partition_edge_number(wrong[i], &edge));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_tasks_have_the_bits),
        cmocka_unit_test(a_task_may_wait_in_mid_graph),
        cmocka_unit_test(leaves_may_cross),
        cmocka_unit_test(replaced_operations_have_the_bits),
        cmocka_unit_test(random_places_have_the_bits),
        cmocka_unit_test(unneeded_nodes_are_left_out),
        cmocka_unit_test(too_many_outputs_are_refused),
        cmocka_unit_test(names_of_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
