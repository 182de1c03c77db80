/* group/part_runner.h and graph/evaluation_cut.h: the parts of a model, each run by the runner of
 * its task, have the results of the whole model, in training and in evaluation. */
#include "group/part_runner.h"

#include <math.h>

#include "common/base/random.h"
#include "graph/canonical.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "tests/unit/support/models.h"

enum { TASKS = 3, EXAMPLES = 4, SEED = 3, STEP = 17, FIRST = 8, SLOT = 1 };

struct tasks {
    struct training_cut cut;
    struct evaluation_cut evaluation;
    bool evaluates;
    struct buffer_pool *pool;
    struct part_runner *runners[TASKS];
    float *values[TASKS];
};

static const struct partition *partition_of(const struct tasks *tasks)
{
    return tasks->evaluates ? &tasks->evaluation.partition : &tasks->cut.partition;
}

static enum tn_status fill(void *ctx, const char *field, struct tn_view view, struct error *error)
{
    (void)ctx;
    (void)error;
    const size_t elements = (size_t)shape_elements(&view.shape);
    for (size_t i = 0; i < elements; i++) {
        const size_t at = i * 7 + (size_t)field[0];
        switch (view.type) {
        case TN_FLOAT32: ((float *)view.data)[i] = sinf((float)at); break;
        case TN_INT32: ((int32_t *)view.data)[i] = (int32_t)(at % 5); break;
        case TN_INT64: ((int64_t *)view.data)[i] = (int64_t)(at % 5); break;
        case TN_UINT8: ((uint8_t *)view.data)[i] = (uint8_t)(at % 5); break;
        }
    }
    return TN_OK;
}

static enum tn_status deliver(void *ctx, uint32_t to, uint32_t edge, struct buffer *value,
                              struct error *error)
{
    uint32_t arrival;
    const struct tasks *tasks = ctx;
    (void)error;
    assert_true(to < TASKS);
    assert_true(part_runner_find(tasks->runners[to], edge, &arrival));
    assert_int_equal(part_runner_bytes(tasks->runners[to], edge, EXAMPLES), value->size);
    part_runner_put(tasks->runners[to], SLOT, arrival, value);
    return TN_OK;
}

static void place_values(struct tasks *tasks, const float *values)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        tasks->values[t] = calloc(tasks->cut.floats[t] + 1, sizeof(float));
        assert_non_null(tasks->values[t]);
    }
    for (uint32_t i = 0; i < tasks->cut.variable_count; i++) {
        const struct cut_variable *variable = &tasks->cut.variables[i];
        memcpy(tasks->values[variable->task] + variable->task_offset, values + variable->offset,
               variable->count * sizeof(float));
    }
}

/* False: a task has no part, which is an error that names it. */
static bool open_tasks(struct tasks *tasks, const struct tn_graph *graph, bool evaluates,
                       const float *values)
{
    struct error error = {.text = ""};
    *tasks = (struct tasks){.evaluates = evaluates, .pool = buffer_pool_create(0)};
    assert_int_equal(training_cut_create(graph, TASKS, &tasks->cut, &error), TN_OK);
    assert_int_equal(evaluation_cut_create(&tasks->cut, &tasks->evaluation, &error), TN_OK);
    place_values(tasks, values);
    for (uint32_t t = 0; t < TASKS; t++) {
        const struct part_runner_config config = {
            .cut = &tasks->cut,
            .evaluation = evaluates ? &tasks->evaluation : NULL,
            .task = t,
            .sizes = {7, EXAMPLES},
            .pool = tasks->pool,
        };
        const enum tn_status status = part_runner_create(&config, &tasks->runners[t], &error);
        if (status == TN_OK) { continue; }
        assert_int_equal(status, TN_EINVAL);
        assert_false(evaluates);
        assert_non_null(strstr(error.text, "computes nothing"));
        return false;
    }
    return true;
}

static void close_tasks(struct tasks *tasks)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        part_runner_destroy(tasks->runners[t]);
        free(tasks->values[t]);
    }
    evaluation_cut_free(&tasks->evaluation);
    training_cut_free(&tasks->cut);
    buffer_pool_destroy(tasks->pool);
}

static void run_parts(struct tasks *tasks)
{
    uint32_t next[TASKS] = {0};
    const struct partition *partition = partition_of(tasks);
    for (uint32_t p = 0; p < partition->part_count; p++) {
        const uint32_t task = partition->parts[p].task;
        const struct part_run run = {
            .examples = EXAMPLES,
            .values = tasks->values[task],
            .seed = SEED,
            .step = STEP,
            .first = FIRST,
            .scale = 0.125F,
            .fill = fill,
            .send = deliver,
            .ctx = tasks,
        };
        assert_int_equal(part_runner_run(tasks->runners[task], SLOT, next[task]++, &run, NULL),
                         TN_OK);
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_int_equal(next[t], part_runner_parts(tasks->runners[t]));
    }
}

/* Arrivals are sorted by their readers. */
static void check_arrivals(const struct tasks *tasks)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        uint32_t count;
        const struct part_arrival *arrivals = part_runner_arrivals(tasks->runners[t], &count);
        for (uint32_t i = 0; i < count; i++) {
            const struct partition_edge *edge = &partition_of(tasks)->edges[arrivals[i].edge];
            assert_true(edge->to == t && edge->from != t && edge->from < TASKS);
            assert_true(i == 0 || arrivals[i - 1].reader <= arrivals[i].reader);
            assert_true(arrivals[i].reader <= part_runner_parts(tasks->runners[t]));
        }
    }
}

static double run_whole(struct tn_program *program, const float *values, float *gradient)
{
    for (uint32_t i = 0; i < program->graph->count; i++) {
        const char *name = program->graph->nodes[i].attributes.name;
        if (program->graph->nodes[i].op != &op_placeholder) { continue; }
        const struct tn_view view = tn_program_field(program, name);
        if (view.data != NULL) { assert_int_equal(fill(NULL, name, view, NULL), TN_OK); }
    }
    struct tn_run run = {.struct_size = sizeof run,
                         .values = values,
                         .seed = SEED,
                         .step = STEP,
                         .first = FIRST,
                         .scale = 0.125F,
                         .gradient = gradient};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    return run.loss_sum;
}

static void compare_training(const struct tasks *tasks, struct tn_program *whole,
                             const float *values)
{
    float *expected = calloc(whole->parameters + 1, sizeof *expected);
    const double loss = run_whole(whole, values, expected);
    for (uint32_t t = 0; t < TASKS; t++) {
        float *found = calloc(tasks->cut.floats[t] + 1, sizeof *found);
        part_runner_gradient(tasks->runners[t], SLOT, found);
        for (uint32_t i = 0; i < tasks->cut.variable_count; i++) {
            const struct cut_variable *variable = &tasks->cut.variables[i];
            if (variable->task != t) { continue; }
            assert_memory_equal(found + variable->task_offset, expected + variable->offset,
                                variable->count * sizeof *found);
        }
        assert_true(part_runner_loss(tasks->runners[t], SLOT, EXAMPLES) == loss);
        free(found);
    }
    free(expected);
}

static void compare_evaluation(const struct tasks *tasks, struct tn_program *whole,
                               const float *values)
{
    const float *losses[8];
    uint32_t loss_count = 0;
    const double loss = run_whole(whole, values, NULL);
    assert_true(tasks->evaluation.result_count >= 1);
    for (uint32_t i = 0; i < tasks->evaluation.result_count; i++) {
        const struct cut_result *result = &tasks->evaluation.results[i];
        const struct buffer *value = part_runner_value(tasks->runners[0], SLOT, result->edge);
        if (result->kind == MARK_LOSS) {
            losses[loss_count++] = value->data;
            continue;
        }
        const struct tn_view view = tn_program_output(whole, result->name);
        assert_memory_equal(view.data, value->data, value->size);
    }
    assert_true(training_cut_loss_sum(&tasks->cut, losses, EXAMPLES) == loss);
}

/* A copy of the canonical graph whose nodes are on tasks by chance. */
static struct tn_graph *placed(const struct tn_graph *graph, uint64_t draw)
{
    static const char *const devices[TASKS] = {"/job:worker/task:0", "/job:worker/task:1",
                                               "/job:worker/task:2"};
    struct tn_graph *copy = NULL;
    struct random random = {draw};
    assert_int_equal(graph_canonical(graph, false, &copy, NULL), TN_OK);
    for (uint32_t i = 0; i < copy->count; i++) {
        copy->nodes[i].device = devices[random_below(&random, TASKS)];
    }
    return copy;
}

/* Returns the number of draws that ran. */
static uint32_t compare(struct tn_graph *graph, bool evaluates, uint32_t draws)
{
    struct tasks tasks;
    uint32_t ran = 0;
    struct tn_program *whole =
        new_program(graph, (struct tn_program_options){.examples = EXAMPLES,
                                                       .mode = evaluates ? TN_EVALUATE : TN_TRAIN});
    float *values = calloc(whole->parameters + 1, sizeof *values);
    assert_non_null(values);
    tn_program_initialize(whole, SEED, values);
    for (uint32_t draw = 0; draw < draws; draw++) {
        struct tn_graph *copy = placed(graph, draw);
        if (open_tasks(&tasks, copy, evaluates, values)) {
            check_arrivals(&tasks);
            run_parts(&tasks);
            (evaluates ? compare_evaluation : compare_training)(&tasks, whole, values);
            ran++;
        }
        close_tasks(&tasks);
        tn_graph_destroy(copy);
    }
    free(values);
    tn_program_destroy(whole);
    tn_graph_destroy(graph);
    return ran;
}

/* The gradients and losses of the whole model, wherever it is cut. */
static void training(void **state)
{
    (void)state;
    assert_int_equal(compare(layered_graph(4), false, 10), 10);
    assert_int_equal(compare(cnn_graph(8, 3), false, 4), 4);
    assert_int_equal(compare(transformer_graph(4, 8, 2, 1, 5), false, 4), 4);
    assert_int_equal(compare(autoencoder_graph(6, 3), false, 4), 4);
}

/* The losses, metrics and outputs: batch norm and dropout as in evaluation. */
static void evaluation(void **state)
{
    (void)state;
    assert_int_equal(compare(layered_graph(4), true, 10), 10);
    assert_int_equal(compare(cnn_graph(8, 3), true, 4), 4);
    assert_int_equal(compare(transformer_graph(4, 8, 2, 1, 5), true, 4), 4);
    assert_int_equal(compare(autoencoder_graph(6, 3), true, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training),
        cmocka_unit_test(evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
