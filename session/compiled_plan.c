#include "session/compiled_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/passes/partition.h"
#include "graph/program.h"
#include "graph/variables.h"

/* The value that an edge has brought. */
struct arrival {
    struct buffer *value; /* One reference; NULL: nothing. */
    uint64_t run;         /* The run that `value` belongs to. */
};

struct port {
    uint32_t edge; /* Index in the plan's edges. */
    struct tn_view view;
};

struct part {
    struct tn_program *program;
    struct port *inputs;
    char (*outputs)[PARTITION_NAME_MAX];
    uint32_t *output_edges;
    uint32_t input_count, output_count;
};

struct compiled_plan {
    struct server_plan plan;
    uint32_t server;
    struct arrival *arrivals; /* By index in the plan's edges. */
    struct part *parts;
    uint64_t bytes;
    uint64_t run; /* 0: none has begun. */
    uint32_t next;
};

/* -------------------------------------------------------------------------- compiling */

struct offsets {
    const struct server_plan *plan;
    uint64_t floats;
    uint64_t *list;
    uint32_t count;
};

static enum tn_status add_offset(void *to, const struct graph_variable *variable,
                                 struct error *error)
{
    struct offsets *offsets = to;
    const uint64_t count = (uint64_t)shape_elements(&variable->shape);
    for (uint32_t i = 0; i < offsets->plan->variable_count; i++) {
        const struct server_plan_variable *known = &offsets->plan->variables[i];
        if (strcmp(known->name, variable->name) != 0) { continue; }
        const bool fits = known->count == count && known->offset <= offsets->floats &&
                          count <= offsets->floats - known->offset;
        if (!fits) { break; }
        assert(offsets->count < TN_VARIABLES_MAX);
        offsets->list[offsets->count++] = known->offset;
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "variable '%s' of a plan has no place of its size in the server's values",
                     variable->name);
}

static enum tn_status create_program(struct compiled_plan *compiled, uint32_t number,
                                     uint64_t floats, uint64_t memory_max, struct error *error)
{
    struct tn_error text = {.text = ""};
    const struct tn_graph *graph = compiled->plan.graphs[number];
    struct offsets offsets = {.plan = &compiled->plan, .floats = floats};
    offsets.list = calloc(TN_VARIABLES_MAX, sizeof *offsets.list);
    if (offsets.list == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    enum tn_status status = graph_variables(graph, add_offset, &offsets, error);
    if (status == TN_OK) {
        const struct tn_program_options options = {
            .struct_size = sizeof options,
            .mode = TN_EVALUATE,
            .examples = compiled->plan.examples,
            .memory_max = memory_max > 0 ? memory_max : 1,
            .variable_offsets = offsets.list,
        };
        status = tn_program_create(graph, &options, &compiled->parts[number].program, &text);
        if (status != TN_OK) { error_set(error, status, "%s", text.text); }
    }
    free(offsets.list);
    return status;
}

static bool is_same_value(const struct server_plan_edge *edge, const struct tn_view *view)
{
    return edge->type == view->type && shape_equal(&edge->shape, &view->shape);
}

/* The edge that a placeholder or output of this name is. */
static enum tn_status find_port(const struct compiled_plan *compiled, const char *name,
                                bool is_input, const struct server_plan_edge **out,
                                struct error *error)
{
    uint32_t number;
    *out = partition_edge_number(name, &number) ? server_plan_find_edge(&compiled->plan, number)
                                                : NULL;
    const bool fits = *out != NULL && (is_input ? (*out)->to : (*out)->from) == compiled->server;
    if (fits) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s '%s' of a plan is not an edge of this server",
                     is_input ? "placeholder" : "output", name);
}

static enum tn_status other_value(const char *name, struct error *error)
{
    return error_set(error, TN_EINVAL, "'%s' of a plan has another type or shape than its edge",
                     name);
}

static enum tn_status list_inputs(struct compiled_plan *compiled, struct part *part,
                                  struct error *error)
{
    const struct tn_graph *graph = part->program->graph;
    part->inputs = calloc((size_t)graph->count + 1, sizeof *part->inputs);
    if (part->inputs == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct server_plan_edge *edge;
        if (graph->nodes[i].op != &op_placeholder) { continue; }
        const char *name = graph->nodes[i].attributes.name;
        enum tn_status status = find_port(compiled, name, true, &edge, error);
        if (status != TN_OK) { return status; }
        struct tn_view view = tn_program_field(part->program, name);
        if (view.data == NULL) { continue; } /* No result depends on it. */
        if (!is_same_value(edge, &view)) { return other_value(name, error); }
        part->inputs[part->input_count++] =
            (struct port){.edge = (uint32_t)(edge - compiled->plan.edges), .view = view};
    }
    return TN_OK;
}

static enum tn_status list_outputs(struct compiled_plan *compiled, struct part *part,
                                   struct error *error)
{
    const struct tn_graph *graph = part->program->graph;
    part->outputs = calloc((size_t)graph->mark_count + 1, sizeof *part->outputs);
    part->output_edges = calloc((size_t)graph->mark_count + 1, sizeof *part->output_edges);
    if (part->outputs == NULL || part->output_edges == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for a plan");
    }
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        const struct server_plan_edge *edge;
        const char *name = graph->marks[i].name;
        enum tn_status status = find_port(compiled, name, false, &edge, error);
        if (status != TN_OK) { return status; }
        const struct tn_view view = {.type = tn_type_of(graph, graph->marks[i].value),
                                     .shape = *shape_of(graph, graph->marks[i].value)};
        if (!is_same_value(edge, &view)) { return other_value(name, error); }
        part->output_edges[part->output_count] = (uint32_t)(edge - compiled->plan.edges);
        partition_edge_name(edge->number, part->outputs[part->output_count++]);
    }
    return TN_OK;
}

static uint64_t program_memory_bytes(const struct tn_program *program)
{
    return program->plan.arena_bytes + program->field_bytes + program->packed_bytes;
}

static enum tn_status compile(struct compiled_plan *compiled, uint64_t floats, uint64_t memory_max,
                              struct error *error)
{
    const struct server_plan *plan = &compiled->plan;
    compiled->arrivals = calloc((size_t)plan->edge_count + 1, sizeof *compiled->arrivals);
    compiled->parts = calloc((size_t)plan->part_count + 1, sizeof *compiled->parts);
    if (compiled->arrivals == NULL || compiled->parts == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for a plan");
    }
    compiled->bytes = plan->bytes;
    for (uint32_t i = 0; i < plan->edge_count; i++) { compiled->bytes += plan->edges[i].bytes; }
    for (uint32_t i = 0; i < plan->part_count; i++) {
        if (compiled->bytes > memory_max) { break; }
        struct part *part = &compiled->parts[i];
        enum tn_status status =
            create_program(compiled, i, floats, memory_max - compiled->bytes, error);
        if (status == TN_OK) { status = list_inputs(compiled, part, error); }
        if (status == TN_OK) { status = list_outputs(compiled, part, error); }
        if (status != TN_OK) { return status; }
        compiled->bytes += program_memory_bytes(part->program);
    }
    if (compiled->bytes <= memory_max) { return TN_OK; }
    return error_set(error, TN_ENOMEM,
                     "a plan needs more than the %" PRIu64
                     " bytes that the server has left: use fewer examples, or raise its --memory",
                     memory_max);
}

enum tn_status compiled_plan_create(struct server_plan *plan, uint32_t server, uint64_t floats,
                                    uint64_t memory_max, struct compiled_plan **out,
                                    struct error *error)
{
    assert(plan != NULL && out != NULL);
    struct compiled_plan *compiled = calloc(1, sizeof *compiled);
    *out = NULL;
    if (compiled == NULL) {
        server_plan_free(plan);
        return error_set(error, TN_ENOMEM, "out of memory for a plan");
    }
    compiled->plan = *plan;
    compiled->server = server;
    *plan = (struct server_plan){.examples = 0};
    enum tn_status status = compile(compiled, floats, memory_max, error);
    if (status == TN_OK) {
        *out = compiled;
    } else {
        compiled_plan_destroy(compiled);
    }
    return status;
}

void compiled_plan_destroy(struct compiled_plan *compiled)
{
    if (compiled == NULL) { return; }
    for (uint32_t i = 0; i < compiled->plan.part_count && compiled->parts != NULL; i++) {
        tn_program_destroy(compiled->parts[i].program);
        free(compiled->parts[i].inputs);
        free(compiled->parts[i].outputs);
        free(compiled->parts[i].output_edges);
    }
    for (uint32_t i = 0; i < compiled->plan.edge_count && compiled->arrivals != NULL; i++) {
        buffer_release(compiled->arrivals[i].value);
    }
    free(compiled->parts);
    free(compiled->arrivals);
    server_plan_free(&compiled->plan);
    free(compiled);
}

uint64_t compiled_plan_bytes(const struct compiled_plan *compiled)
{
    return compiled->bytes;
}

/* ---------------------------------------------------------------------------- running */

uint64_t compiled_plan_expects(const struct compiled_plan *compiled, uint32_t number)
{
    const struct server_plan_edge *edge = server_plan_find_edge(&compiled->plan, number);
    const bool arrives =
        edge != NULL && edge->to == compiled->server && edge->from != compiled->server;
    return arrives ? edge->bytes : 0;
}

static void put(struct compiled_plan *compiled, uint32_t index, uint64_t run, struct buffer *value)
{
    struct arrival *arrival = &compiled->arrivals[index];
    if (run < compiled->run || run < arrival->run) { return; }
    buffer_release(arrival->value);
    *arrival = (struct arrival){.value = buffer_retain(value), .run = run};
}

void compiled_plan_put(struct compiled_plan *compiled, uint32_t number, uint64_t run,
                       struct buffer *value)
{
    const struct server_plan_edge *edge = server_plan_find_edge(&compiled->plan, number);
    assert(edge != NULL && value != NULL && value->size == edge->bytes);
    put(compiled, (uint32_t)(edge - compiled->plan.edges), run, value);
}

void compiled_plan_begin(struct compiled_plan *compiled, uint64_t run)
{
    assert(run > 0);
    compiled->run = run;
    compiled->next = 0;
    for (uint32_t i = 0; i < compiled->plan.edge_count; i++) {
        struct arrival *arrival = &compiled->arrivals[i];
        if (arrival->run >= run) { continue; }
        buffer_release(arrival->value);
        *arrival = (struct arrival){.value = NULL};
    }
}

static bool is_complete(const struct compiled_plan *compiled, const struct part *part)
{
    for (uint32_t i = 0; i < part->input_count; i++) {
        const struct arrival *arrival = &compiled->arrivals[part->inputs[i].edge];
        if (arrival->value == NULL || arrival->run != compiled->run) { return false; }
    }
    return true;
}

/* An output: to a later part of this server, or away. */
static enum tn_status give(struct compiled_plan *compiled, const struct plan_step *step,
                           uint32_t index, const void *data, struct error *error)
{
    const struct server_plan_edge *edge = &compiled->plan.edges[index];
    if (edge->to != compiled->server) { return step->sink(step->ctx, edge, data, error); }
    struct buffer *copy = buffer_acquire(step->pool, (size_t)edge->bytes);
    if (copy == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a value"); }
    memcpy(copy->data, data, (size_t)edge->bytes);
    copy->size = (size_t)edge->bytes;
    put(compiled, index, compiled->run, copy);
    buffer_release(copy);
    return TN_OK;
}

static enum tn_status run_part(struct compiled_plan *compiled, struct part *part,
                               const struct plan_step *step, struct error *error)
{
    struct tn_error text = {.text = ""};
    struct tn_run run = {
        .struct_size = sizeof run, .values = step->values, .scale = 1, .version = step->version};
    for (uint32_t i = 0; i < part->input_count; i++) {
        const struct port *input = &part->inputs[i];
        const struct buffer *value = compiled->arrivals[input->edge].value;
        memcpy(input->view.data, value->data, value->size);
    }
    enum tn_status status = tn_program_run(part->program, &run, &text);
    if (status != TN_OK) { return error_set(error, status, "%s", text.text); }
    for (uint32_t i = 0; i < part->output_count && status == TN_OK; i++) {
        const struct tn_view view = tn_program_output(part->program, part->outputs[i]);
        assert(view.data != NULL);
        status = give(compiled, step, part->output_edges[i], view.data, error);
    }
    return status;
}

enum tn_status compiled_plan_advance(struct compiled_plan *compiled, const struct plan_step *step,
                                     bool *done, struct error *error)
{
    const uint32_t parts = compiled->plan.part_count;
    const uint32_t before = compiled->next;
    *done = false;
    if (compiled->run == 0) { return TN_OK; }
    while (compiled->next < parts && is_complete(compiled, &compiled->parts[compiled->next])) {
        enum tn_status status = run_part(compiled, &compiled->parts[compiled->next], step, error);
        if (status != TN_OK) {
            compiled->run = 0; /* The run has failed; the next one begins at the first part. */
            return status;
        }
        compiled->next++;
    }
    *done = compiled->next == parts && before < parts;
    return TN_OK;
}
