#include "group/part_runner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/core/node.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "graph/variables.h"

struct input {
    uint32_t edge;
    const char *field; /* NULL: it is not an example's. */
    struct tn_view view;
};

struct output {
    uint32_t edge;
    char name[PARTITION_NAME_MAX];
};

/* A part for one number of examples. */
struct part {
    struct tn_program *program;
    struct input *inputs;
    struct output *outputs;
    uint32_t input_count, output_count;
};

struct part_runner {
    struct part_runner_config config;
    uint32_t part_count;
    struct part *parts[PART_RUNNER_SIZES]; /* By size; NULL: there is none. */
    struct part_arrival *arrivals;
    uint32_t arrival_count;
    uint32_t *readers; /* The readers of the arrivals, and memory for the schedule. */
    bool *here;
    struct buffer **values[SCHEDULE_SLOTS]; /* By edge; one reference each, or NULL. */
};

static const struct partition *partition_of(const struct part_runner *runner)
{
    const struct part_runner_config *config = &runner->config;
    return config->evaluation != NULL ? &config->evaluation->partition : &config->cut->partition;
}

/* The graph that was cut. */
static const struct tn_graph *graph_of(const struct part_runner *runner)
{
    const struct part_runner_config *config = &runner->config;
    return config->evaluation != NULL ? config->evaluation->graph : config->cut->graph;
}

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for the parts of a model");
}

/* ------------------------------------------------------------------- programs */

struct offsets {
    const struct training_cut *cut;
    uint32_t task, count;
    uint64_t *list;
};

/* Where a variable of a part is in the values of the task. */
static enum tn_status add_offset(void *to, const struct graph_variable *variable,
                                 struct error *error)
{
    struct offsets *offsets = to;
    (void)error;
    uint32_t i = 0;
    while (strcmp(offsets->cut->variables[i].name, variable->name) != 0) {
        i++;
        assert(i < offsets->cut->variable_count);
    }
    assert(offsets->cut->variables[i].task == offsets->task);
    assert(offsets->count < TN_VARIABLES_MAX);
    offsets->list[offsets->count++] = offsets->cut->variables[i].task_offset;
    return TN_OK;
}

static enum tn_status create_program(const struct part_runner *runner, const struct tn_graph *graph,
                                     uint32_t examples, struct tn_program **out,
                                     struct error *error)
{
    struct offsets offsets = {.cut = runner->config.cut, .task = runner->config.task};
    offsets.list = calloc(TN_VARIABLES_MAX, sizeof *offsets.list);
    if (offsets.list == NULL) { return out_of_memory(error); }
    enum tn_status status = graph_variables(graph, add_offset, &offsets, error);
    if (status == TN_OK) {
        const struct tn_program_options options = {
            .struct_size = sizeof options,
            .mode = TN_EVALUATE,
            .examples = examples,
            .kernels = runner->config.kernels,
            .variable_offsets = offsets.list,
        };
        status = program_create_part(graph, &options, out, error);
    }
    free(offsets.list);
    return status;
}

static enum tn_status list_inputs(const struct part_runner *runner, struct part *part,
                                  struct error *error)
{
    const struct tn_graph *graph = part->program->graph;
    const struct tn_graph *cut = graph_of(runner);
    part->inputs = calloc((size_t)graph->count + 1, sizeof *part->inputs);
    if (part->inputs == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < graph->count; i++) {
        struct input input = {.field = NULL};
        if (graph->nodes[i].op != &op_placeholder) { continue; }
        const char *name = graph->nodes[i].attributes.name;
        const bool is_edge = partition_edge_number(name, &input.edge);
        assert(is_edge);
        input.view = tn_program_field(part->program, name);
        if (input.view.data == NULL) { continue; } /* No result depends on it. */
        const struct partition_edge *edge = &partition_of(runner)->edges[input.edge];
        if (edge->from == PARTITION_CALLER) {
            input.field = node_of(cut, edge->value)->attributes.name;
        }
        part->inputs[part->input_count++] = input;
    }
    return TN_OK;
}

static enum tn_status list_outputs(struct part *part, struct error *error)
{
    const struct tn_graph *graph = part->program->graph;
    part->outputs = calloc((size_t)graph->mark_count + 1, sizeof *part->outputs);
    if (part->outputs == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        struct output *output = &part->outputs[part->output_count++];
        const bool is_edge = partition_edge_number(graph->marks[i].name, &output->edge);
        assert(is_edge);
        partition_edge_name(output->edge, output->name);
    }
    return TN_OK;
}

static enum tn_status create_parts(struct part_runner *runner, uint32_t size, struct error *error)
{
    const struct partition *partition = partition_of(runner);
    enum tn_status status = TN_OK;
    runner->parts[size] = calloc((size_t)runner->part_count + 1, sizeof *runner->parts[size]);
    if (runner->parts[size] == NULL) { return out_of_memory(error); }
    struct part *part = runner->parts[size];
    for (uint32_t p = 0; p < partition->part_count && status == TN_OK; p++) {
        if (partition->parts[p].task != runner->config.task) { continue; }
        status = create_program(runner, partition->parts[p].graph, runner->config.sizes[size],
                                &part->program, error);
        if (status == TN_OK) { status = list_inputs(runner, part, error); }
        if (status == TN_OK) { status = list_outputs(part, error); }
        part++;
    }
    return status;
}

/* ------------------------------------------------------------------- arrivals */

/* The first part that reads an edge. All sizes have the same parts. */
static uint32_t find_reader(const struct part_runner *runner, uint32_t edge)
{
    const uint32_t size = runner->parts[0] != NULL ? 0 : 1;
    for (uint32_t p = 0; p < runner->part_count; p++) {
        const struct part *part = &runner->parts[size][p];
        for (uint32_t i = 0; i < part->input_count; i++) {
            if (part->inputs[i].edge == edge) { return p; }
        }
    }
    return runner->part_count;
}

static int compare_readers(const void *a, const void *b)
{
    const struct part_arrival *left = a, *right = b;
    if (left->reader != right->reader) { return left->reader < right->reader ? -1 : 1; }
    return left->edge < right->edge ? -1 : left->edge > right->edge;
}

static enum tn_status list_arrivals(struct part_runner *runner, struct error *error)
{
    const struct partition *partition = partition_of(runner);
    const uint32_t task = runner->config.task;
    runner->arrivals = calloc((size_t)partition->edge_count + 1, sizeof *runner->arrivals);
    if (runner->arrivals == NULL) { return out_of_memory(error); }
    for (uint32_t e = 0; e < partition->edge_count; e++) {
        const struct partition_edge *edge = &partition->edges[e];
        if (edge->to != task || edge->from == task || edge->from == PARTITION_CALLER) { continue; }
        runner->arrivals[runner->arrival_count++] =
            (struct part_arrival){.edge = e, .reader = find_reader(runner, e)};
    }
    qsort(runner->arrivals, runner->arrival_count, sizeof *runner->arrivals, compare_readers);
    const size_t count = runner->arrival_count;
    runner->readers = calloc(count + 1, sizeof *runner->readers);
    runner->here = calloc(SCHEDULE_SLOTS * count + 1, sizeof *runner->here);
    if (runner->readers == NULL || runner->here == NULL) { return out_of_memory(error); }
    for (size_t i = 0; i < count; i++) { runner->readers[i] = runner->arrivals[i].reader; }
    return TN_OK;
}

/* ----------------------------------------------------------- create, destroy */

static uint32_t count_parts(const struct part_runner *runner)
{
    const struct partition *partition = partition_of(runner);
    uint32_t count = 0;
    for (uint32_t p = 0; p < partition->part_count; p++) {
        count += partition->parts[p].task == runner->config.task;
    }
    return count;
}

static enum tn_status open_runner(struct part_runner *runner, struct error *error)
{
    const uint32_t task = runner->config.task;
    enum tn_status status = TN_OK;
    runner->part_count = count_parts(runner);
    if (runner->part_count == 0 && runner->config.evaluation == NULL) {
        return error_set(error, TN_EINVAL,
                         "/job:worker/task:%" PRIu32
                         " computes nothing of the model: place layers on it, or use fewer members",
                         task);
    }
    for (uint32_t size = 0; size < PART_RUNNER_SIZES && status == TN_OK; size++) {
        if (runner->config.sizes[size] > 0) { status = create_parts(runner, size, error); }
    }
    if (status == TN_OK) { status = list_arrivals(runner, error); }
    for (uint32_t slot = 0; slot < SCHEDULE_SLOTS && status == TN_OK; slot++) {
        runner->values[slot] =
            calloc((size_t)partition_of(runner)->edge_count + 1, sizeof(struct buffer *));
        if (runner->values[slot] == NULL) { status = out_of_memory(error); }
    }
    return status;
}

enum tn_status part_runner_create(const struct part_runner_config *config, struct part_runner **out,
                                  struct error *error)
{
    assert(config->task < config->cut->tasks);
    assert(config->sizes[0] > 0 || config->sizes[1] > 0);
    assert(config->pool != NULL);
    *out = NULL;
    struct part_runner *runner = calloc(1, sizeof *runner);
    if (runner == NULL) { return out_of_memory(error); }
    runner->config = *config;
    enum tn_status status = open_runner(runner, error);
    if (status == TN_OK) {
        *out = runner;
    } else {
        part_runner_destroy(runner);
    }
    return status;
}

static void destroy_parts(struct part_runner *runner, uint32_t size)
{
    for (uint32_t p = 0; p < runner->part_count && runner->parts[size] != NULL; p++) {
        tn_program_destroy(runner->parts[size][p].program);
        free(runner->parts[size][p].inputs);
        free(runner->parts[size][p].outputs);
    }
    free(runner->parts[size]);
}

void part_runner_destroy(struct part_runner *runner)
{
    if (runner == NULL) { return; }
    for (uint32_t size = 0; size < PART_RUNNER_SIZES; size++) { destroy_parts(runner, size); }
    for (uint32_t slot = 0; slot < SCHEDULE_SLOTS; slot++) {
        if (runner->values[slot] != NULL) { part_runner_clear(runner, slot); }
        free((void *)runner->values[slot]);
    }
    free(runner->arrivals);
    free(runner->readers);
    free(runner->here);
    free(runner);
}

/* --------------------------------------------------------------------- values */

uint32_t part_runner_parts(const struct part_runner *runner)
{
    return runner->part_count;
}

void part_runner_schedule(struct part_runner *runner, struct slice_schedule *schedule)
{
    schedule_init(schedule, &(struct schedule_config){
                                .parts = runner->part_count,
                                .readers = runner->readers,
                                .arrivals = runner->arrival_count,
                                .here = runner->here,
                            });
}

const struct part_arrival *part_runner_arrivals(const struct part_runner *runner, uint32_t *count)
{
    *count = runner->arrival_count;
    return runner->arrivals;
}

bool part_runner_find(const struct part_runner *runner, uint32_t edge, uint32_t *arrival)
{
    for (*arrival = 0; *arrival < runner->arrival_count; (*arrival)++) {
        if (runner->arrivals[*arrival].edge == edge) { return true; }
    }
    return false;
}

uint64_t part_runner_bytes(const struct part_runner *runner, uint32_t edge, uint32_t examples)
{
    assert(edge < partition_of(runner)->edge_count);
    return partition_edge_bytes(&partition_of(runner)->edges[edge], examples);
}

static void keep(struct part_runner *runner, uint32_t slot, uint32_t edge, struct buffer *value)
{
    struct buffer **kept = &runner->values[slot][edge];
    buffer_release(*kept);
    *kept = buffer_retain(value);
}

void part_runner_put(struct part_runner *runner, uint32_t slot, uint32_t arrival,
                     struct buffer *value)
{
    assert(slot < SCHEDULE_SLOTS && arrival < runner->arrival_count);
    keep(runner, slot, runner->arrivals[arrival].edge, value);
}

void part_runner_clear(struct part_runner *runner, uint32_t slot)
{
    assert(slot < SCHEDULE_SLOTS);
    for (uint32_t e = 0; e < partition_of(runner)->edge_count; e++) {
        buffer_release(runner->values[slot][e]);
        runner->values[slot][e] = NULL;
    }
}

/* -------------------------------------------------------------------- running */

static enum tn_status fill_inputs(const struct part_runner *runner, uint32_t slot,
                                  const struct part *part, const struct part_run *run,
                                  struct error *error)
{
    for (uint32_t i = 0; i < part->input_count; i++) {
        const struct input *input = &part->inputs[i];
        if (input->field == NULL) {
            const struct buffer *value = runner->values[slot][input->edge];
            assert(value != NULL);
            memcpy(input->view.data, value->data, value->size);
            continue;
        }
        enum tn_status status = run->fill(run->ctx, input->field, input->view, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static enum tn_status give(struct part_runner *runner, uint32_t slot, const struct output *output,
                           const void *data, const struct part_run *run, struct error *error)
{
    const uint32_t to = partition_of(runner)->edges[output->edge].to;
    const uint64_t bytes = part_runner_bytes(runner, output->edge, run->examples);
    struct buffer *value = buffer_acquire(runner->config.pool, bytes);
    if (value == NULL) { return out_of_memory(error); }
    memcpy(value->data, data, bytes);
    value->size = bytes;
    enum tn_status status = TN_OK;
    if (to == runner->config.task) {
        keep(runner, slot, output->edge, value);
    } else {
        status = run->send(run->ctx, to, output->edge, value, error);
    }
    buffer_release(value);
    return status;
}

enum tn_status part_runner_run(struct part_runner *runner, uint32_t slot, uint32_t part,
                               const struct part_run *run, struct error *error)
{
    assert(part < runner->part_count && slot < SCHEDULE_SLOTS);
    const uint32_t size = runner->config.sizes[0] == run->examples ? 0 : 1;
    assert(run->examples > 0 && runner->config.sizes[size] == run->examples);
    const struct part *running = &runner->parts[size][part];
    struct tn_error text = {.text = ""};
    struct tn_run values = {
        .struct_size = sizeof values,
        .values = run->values,
        .version = run->version,
        .seed = run->seed,
        .step = run->step,
        .first = run->first,
        .scale = run->scale,
    };
    enum tn_status status = fill_inputs(runner, slot, running, run, error);
    if (status != TN_OK) { return status; }
    status = tn_program_run(running->program, &values, &text);
    if (status != TN_OK) { return error_set(error, status, "%s", text.text); }
    for (uint32_t i = 0; i < running->output_count && status == TN_OK; i++) {
        const struct output *output = &running->outputs[i];
        const struct tn_view view = tn_program_output(running->program, output->name);
        assert(view.data != NULL);
        status = give(runner, slot, output, view.data, run, error);
    }
    return status;
}

const struct buffer *part_runner_value(const struct part_runner *runner, uint32_t slot,
                                       uint32_t edge)
{
    assert(slot < SCHEDULE_SLOTS && edge < partition_of(runner)->edge_count);
    assert(runner->values[slot][edge] != NULL);
    return runner->values[slot][edge];
}

void part_runner_gradient(const struct part_runner *runner, uint32_t slot, float *gradient)
{
    const struct training_cut *cut = runner->config.cut;
    assert(slot < SCHEDULE_SLOTS && runner->config.evaluation == NULL);
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        const struct cut_variable *variable = &cut->variables[i];
        if (variable->task != runner->config.task) { continue; }
        float *to = gradient + variable->task_offset;
        const size_t bytes = variable->count * sizeof *to;
        if (variable->gradient == CUT_NO_EDGE) {
            memset(to, 0, bytes);
            continue;
        }
        const struct buffer *value = part_runner_value(runner, slot, variable->gradient);
        assert(value->size == bytes);
        memcpy(to, value->data, bytes);
    }
}

double part_runner_loss(const struct part_runner *runner, uint32_t slot, uint32_t examples)
{
    const struct training_cut *cut = runner->config.cut;
    const float *losses[GRAPH_MARKS_MAX];
    assert(cut->loss_count <= GRAPH_MARKS_MAX);
    for (uint32_t i = 0; i < cut->loss_count; i++) {
        const uint32_t edge = cut->losses[i].edges[runner->config.task];
        losses[i] = part_runner_value(runner, slot, edge)->data;
    }
    return training_cut_loss_sum(cut, losses, examples);
}
