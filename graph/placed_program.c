#include "graph/placed_program.h"

#include <stdlib.h>
#include <string.h>

#include "graph/evaluation_cut.h"
#include "graph/gpu_placement.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "graph/variables.h"

/* Where the value of an edge is on the host: in a field, or where a part has computed it, until
 * that part runs again. */
struct source {
    const struct tn_program *program; /* NULL: `field` has it. */
    tn_tensor value;                  /* The number in its graph. */
    uint32_t field;
};

/* A field of a part, which is copied before the part runs. */
struct input {
    struct source from;
    void *to;
    size_t bytes;
};

/* A variable of a part; in floats. */
struct segment {
    uint64_t from, to, count; /* `from` in the values of a run, `to` in those of the part. */
};

struct part {
    struct tn_program *program;
    float *values; /* Its variables, one after another. */
    struct segment *segments;
    struct input *inputs;
    uint32_t segment_count, input_count;
};

/* A field of the model. */
struct field {
    const char *name;
    struct tn_view view;
};

struct placed_program {
    struct tn_program_options options;
    struct training_cut cut;
    struct evaluation_cut evaluation; /* With TN_EVALUATE. */
    const struct partition *partition;
    struct part *parts;     /* As those of the partition. */
    struct source *sources; /* By edge. */
    struct field *fields;   /* At most one for each edge. */
    uint64_t *offsets;      /* By variable: where it begins in the values of a run. */
    const float **losses;   /* They belong to the last run. */
    uint32_t field_count;
    uint64_t version; /* The version that the values of the parts have; 0: not known. */
};

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for the parts of a model");
}

static bool trains(const struct placed_program *placed)
{
    return placed->options.mode == TN_TRAIN;
}

/* The graph that was cut. */
static const struct tn_graph *graph_of(const struct placed_program *placed)
{
    return trains(placed) ? placed->cut.graph : placed->evaluation.graph;
}

/* ------------------------------------------------------------------------- cutting */

static enum tn_status cut_graph(struct placed_program *placed, const struct tn_graph *graph,
                                struct error *error)
{
    struct tn_graph *tasks = NULL;
    struct gpu_placement placement;
    enum tn_status status = gpu_placement_of(graph, &placement, error);
    if (status != TN_OK) { return status; }
    const uint32_t count = gpu_placement_tasks(placement);
    if (count > PLACE_TASKS_MAX) {
        return error_set(error, TN_EINVAL, "the model names more than %d GPUs: use the first ones",
                         PLACE_TASKS_MAX - 1);
    }
    status = gpu_placement_as_tasks(graph, &tasks, error);
    if (status != TN_OK) { return status; }
    status = training_cut_create(tasks, count, &placed->cut, error);
    tn_graph_destroy(tasks);
    placed->partition = &placed->cut.partition;
    if (status != TN_OK || trains(placed)) { return status; }
    placed->partition = &placed->evaluation.partition;
    return evaluation_cut_create(&placed->cut, &placed->evaluation, error);
}

static bool allocate(struct placed_program *placed)
{
    const struct partition *partition = placed->partition;
    const size_t edges = partition->edge_count, variables = placed->cut.variable_count;
    placed->parts = calloc((size_t)partition->part_count + 1, sizeof *placed->parts);
    placed->sources = calloc(edges + 1, sizeof *placed->sources);
    placed->fields = calloc(edges + 1, sizeof *placed->fields);
    placed->offsets = calloc(variables + 1, sizeof *placed->offsets);
    placed->losses = calloc((size_t)placed->cut.loss_count + 1, sizeof *placed->losses);
    if (placed->parts == NULL || placed->sources == NULL || placed->fields == NULL ||
        placed->offsets == NULL || placed->losses == NULL) {
        return false;
    }
    memcpy(placed->offsets, placed->options.variable_offsets, variables * sizeof(uint64_t));
    return true;
}

/* ------------------------------------------------------------------------- fields */

static uint32_t find_field(const struct placed_program *placed, const char *name)
{
    uint32_t i = 0;
    while (i < placed->field_count && strcmp(placed->fields[i].name, name) != 0) { i++; }
    return i;
}

static enum tn_status add_field(struct placed_program *placed, const struct partition_edge *edge,
                                const char *name, struct error *error)
{
    const uint32_t examples = placed->options.examples;
    const size_t bytes = (size_t)partition_edge_bytes(edge, examples);
    struct field *field = &placed->fields[placed->field_count++];
    *field = (struct field){
        .name = name,
        .view = {.type = edge->type,
                 .shape = shape_with_batch(edge->shape, examples),
                 .data = calloc(bytes + 1, 1)},
    };
    return field->view.data != NULL ? TN_OK : out_of_memory(error);
}

/* The fields that the parts read, and the edges that bring them. */
static enum tn_status list_fields(struct placed_program *placed, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t e = 0; e < placed->partition->edge_count && status == TN_OK; e++) {
        const struct partition_edge *edge = &placed->partition->edges[e];
        if (edge->from != PARTITION_CALLER) { continue; }
        const char *name = node_of(graph_of(placed), edge->value)->attributes.name;
        placed->sources[e].field = find_field(placed, name);
        if (placed->sources[e].field == placed->field_count) {
            status = add_field(placed, edge, name, error);
        }
    }
    return status;
}

/* ------------------------------------------------------------------------- parts */

/* While the variables of a part are listed. */
struct listing {
    const struct placed_program *placed;
    struct part *part;
    uint64_t floats;
};

static enum tn_status add_segment(void *to, const struct graph_variable *variable,
                                  struct error *error)
{
    struct listing *listing = to;
    const struct training_cut *cut = &listing->placed->cut;
    uint32_t i = 0;
    (void)error;
    while (strcmp(cut->variables[i].name, variable->name) != 0) {
        i++;
        assert(i < cut->variable_count);
    }
    const uint64_t count = cut->variables[i].count;
    listing->part->segments[listing->part->segment_count++] = (struct segment){
        .from = listing->placed->offsets[i], .to = listing->floats, .count = count};
    listing->floats += count;
    return TN_OK;
}

static enum tn_status list_segments(const struct placed_program *placed, struct part *part,
                                    const struct tn_graph *graph, struct error *error)
{
    struct listing listing = {.placed = placed, .part = part};
    part->segments = calloc((size_t)graph->variable_count + 1, sizeof *part->segments);
    if (part->segments == NULL) { return out_of_memory(error); }
    enum tn_status status = graph_variables(graph, add_segment, &listing, error);
    if (status != TN_OK) { return status; }
    assert(listing.floats == part->program->parameters);
    part->values = calloc((size_t)listing.floats + 1, sizeof *part->values);
    return part->values != NULL ? TN_OK : out_of_memory(error);
}

/* Earlier parts have listed their outputs. */
static enum tn_status list_inputs(const struct placed_program *placed, struct part *part,
                                  struct error *error)
{
    const struct tn_graph *graph = part->program->graph;
    part->inputs = calloc((size_t)graph->count + 1, sizeof *part->inputs);
    if (part->inputs == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t edge = 0;
        if (graph->nodes[i].op != &op_placeholder) { continue; }
        const char *name = graph->nodes[i].attributes.name;
        const bool is_edge = partition_edge_number(name, &edge);
        const struct tn_view view = tn_program_field(part->program, name);
        assert(is_edge && edge < placed->partition->edge_count);
        if (view.data == NULL) { continue; } /* No result depends on it. */
        part->inputs[part->input_count++] = (struct input){
            .from = placed->sources[edge],
            .to = view.data,
            .bytes = (size_t)partition_edge_bytes(&placed->partition->edges[edge],
                                                  placed->options.examples),
        };
    }
    return TN_OK;
}

static void list_outputs(struct placed_program *placed, const struct part *part)
{
    const struct tn_graph *graph = part->program->graph;
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        uint32_t edge = 0;
        const bool is_edge = partition_edge_number(graph->marks[i].name, &edge);
        assert(is_edge && edge < placed->partition->edge_count);
        placed->sources[edge] =
            (struct source){.program = part->program, .value = graph->marks[i].value};
    }
}

static struct tn_program_options part_options(const struct placed_program *placed,
                                              const char *kernels)
{
    struct tn_program_options options = placed->options;
    options.mode = TN_EVALUATE;
    options.kernels = kernels;
    options.variable_offsets = NULL;
    return options;
}

static enum tn_status open_part(struct placed_program *placed, uint32_t number, const char *kernels,
                                struct error *error)
{
    const struct partition_part *of = &placed->partition->parts[number];
    struct part *part = &placed->parts[number];
    const struct tn_program_options options = part_options(placed, kernels);
    enum tn_status status = program_create_part(of->graph, &options, &part->program, error);
    if (status == TN_OK) { status = list_segments(placed, part, of->graph, error); }
    if (status == TN_OK) { status = list_inputs(placed, part, error); }
    if (status == TN_OK) { list_outputs(placed, part); }
    return status;
}

/* ------------------------------------------------------------------------- create, destroy */

/* Without parts. */
static enum tn_status begin(const struct tn_graph *graph, const struct tn_program_options *options,
                            struct placed_program **out, struct error *error)
{
    assert(options->examples >= 1 && options->variable_offsets != NULL);
    struct placed_program *placed = calloc(1, sizeof *placed);
    *out = placed;
    if (placed == NULL) { return out_of_memory(error); }
    placed->options = *options;
    return cut_graph(placed, graph, error);
}

enum tn_status placed_program_create(const struct tn_graph *graph,
                                     const struct tn_program_options *options,
                                     const char *const *kernels, struct placed_program **out,
                                     struct error *error)
{
    struct placed_program *placed = NULL;
    enum tn_status status = begin(graph, options, &placed, error);
    if (status == TN_OK && !allocate(placed)) { status = out_of_memory(error); }
    if (status == TN_OK) { status = list_fields(placed, error); }
    for (uint32_t p = 0; status == TN_OK && p < placed->partition->part_count; p++) {
        status = open_part(placed, p, kernels[placed->partition->parts[p].task], error);
    }
    *out = status == TN_OK ? placed : NULL;
    if (status != TN_OK) { placed_program_destroy(placed); }
    return status;
}

void placed_program_destroy(struct placed_program *placed)
{
    if (placed == NULL) { return; }
    const uint32_t parts = placed->parts != NULL ? placed->partition->part_count : 0;
    for (uint32_t p = 0; p < parts; p++) {
        tn_program_destroy(placed->parts[p].program);
        free(placed->parts[p].values);
        free(placed->parts[p].segments);
        free(placed->parts[p].inputs);
    }
    for (uint32_t i = 0; i < placed->field_count; i++) { free(placed->fields[i].view.data); }
    free(placed->parts);
    free(placed->sources);
    free(placed->fields);
    free(placed->offsets);
    free(placed->losses);
    evaluation_cut_free(&placed->evaluation);
    training_cut_free(&placed->cut);
    free(placed);
}

static uint64_t values_bytes(const struct tn_graph *graph)
{
    uint64_t floats = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op == &op_variable) { floats += (uint64_t)shape_elements(&node->shapes[0]); }
    }
    return floats * sizeof(float);
}

static void add_memory(struct program_memory *into, const struct program_memory *from)
{
    into->host += from->host;
    into->pinned += from->pinned;
    into->examples += from->examples;
    into->values += from->values;
    into->gradient += from->gradient;
    into->results += from->results;
    into->rest += from->rest;
}

/* The fields of the model, which have memory of their own: a part that reads one has a copy. */
static uint64_t fields_bytes(const struct placed_program *placed)
{
    const struct partition *partition = placed->partition;
    uint64_t bytes = 0;
    for (uint32_t e = 0; e < partition->edge_count; e++) {
        const struct partition_edge *edge = &partition->edges[e];
        uint32_t first = 0;
        if (edge->from != PARTITION_CALLER) { continue; }
        while (partition->edges[first].value.v != edge->value.v) { first++; }
        if (first == e) { bytes += partition_edge_bytes(edge, placed->options.examples); }
    }
    return bytes;
}

enum tn_status placed_program_plan(const struct tn_graph *graph,
                                   const struct tn_program_options *options,
                                   struct program_memory *parts, struct error *error)
{
    struct placed_program *placed = NULL;
    struct gpu_placement placement;
    enum tn_status status = gpu_placement_of(graph, &placement, error);
    if (status != TN_OK) { return status; }
    memset(parts, 0, gpu_placement_tasks(placement) * sizeof *parts);
    status = begin(graph, options, &placed, error);
    if (status == TN_OK) { parts[0].host = fields_bytes(placed); }
    for (uint32_t p = 0; status == TN_OK && p < placed->partition->part_count; p++) {
        const struct partition_part *part = &placed->partition->parts[p];
        const bool on_cpu = part->task >= placement.gpus;
        const struct tn_program_options own =
            part_options(placed, on_cpu ? "portable" : options->kernels);
        struct program_memory memory;
        status = program_memory_plan_part(part->graph, &own, &memory, error);
        if (status != TN_OK) { break; }
        memory.host += values_bytes(part->graph);
        add_memory(&parts[part->task], &memory);
    }
    placed_program_destroy(placed);
    return status;
}

/* ------------------------------------------------------------------------- running */

static const void *data_of(const struct placed_program *placed, const struct source *source)
{
    if (source->program == NULL) { return placed->fields[source->field].view.data; }
    return program_memory(source->program, &source->program->plan.places[source->value.v - 1]);
}

static enum tn_status run_part(const struct placed_program *placed, struct part *part,
                               const struct tn_run *run, bool values_changed, struct error *error)
{
    for (uint32_t i = 0; i < part->segment_count && values_changed; i++) {
        const struct segment *segment = &part->segments[i];
        memcpy(part->values + segment->to, run->values + segment->from,
               (size_t)segment->count * sizeof(float));
    }
    for (uint32_t i = 0; i < part->input_count; i++) {
        const struct input *input = &part->inputs[i];
        memcpy(input->to, data_of(placed, &input->from), input->bytes);
    }
    struct tn_run own = *run;
    own.became_final = NULL;
    return program_run(part->program, &own, part->values, NULL, error);
}

static void take_gradient(const struct placed_program *placed, float *gradient)
{
    for (uint32_t i = 0; i < placed->cut.variable_count; i++) {
        const struct cut_variable *variable = &placed->cut.variables[i];
        const size_t bytes = (size_t)variable->count * sizeof(float);
        float *to = gradient + placed->offsets[i];
        if (variable->gradient == CUT_NO_EDGE) {
            memset(to, 0, bytes);
        } else {
            memcpy(to, data_of(placed, &placed->sources[variable->gradient]), bytes);
        }
    }
}

/* Losses are in the same order in both cuts, and every task has them. */
static double take_loss(const struct placed_program *placed)
{
    uint32_t count = 0;
    for (uint32_t i = 0; trains(placed) && i < placed->cut.loss_count; i++) {
        const uint32_t edge = placed->cut.losses[i].edges[0];
        placed->losses[count++] = data_of(placed, &placed->sources[edge]);
    }
    for (uint32_t i = 0; i < placed->evaluation.result_count; i++) {
        const struct cut_result *result = &placed->evaluation.results[i];
        if (result->kind != MARK_LOSS) { continue; }
        placed->losses[count++] = data_of(placed, &placed->sources[result->edge]);
    }
    assert(count == placed->cut.loss_count);
    return training_cut_loss_sum(&placed->cut, placed->losses, placed->options.examples);
}

enum tn_status placed_program_run(struct placed_program *placed, struct tn_run *run,
                                  struct error *error)
{
    const bool values_changed = run->version == 0 || run->version != placed->version;
    enum tn_status status = TN_OK;
    assert(run->values != NULL && (run->gradient != NULL || !trains(placed)));
    placed->version = 0;
    for (uint32_t p = 0; p < placed->partition->part_count && status == TN_OK; p++) {
        status = run_part(placed, &placed->parts[p], run, values_changed, error);
    }
    if (status != TN_OK) { return status; }
    placed->version = run->version;
    run->loss_sum = take_loss(placed);
    if (!trains(placed)) { return TN_OK; }
    take_gradient(placed, run->gradient);
    if (run->became_final != NULL) { run->became_final(run->user, 0); }
    return TN_OK;
}

struct tn_view placed_program_field(const struct placed_program *placed, const char *field)
{
    const uint32_t found = find_field(placed, field);
    return found < placed->field_count ? placed->fields[found].view : (struct tn_view){0};
}

struct tn_view placed_program_output(const struct placed_program *placed, const char *name)
{
    for (uint32_t i = 0; i < placed->evaluation.result_count; i++) {
        const struct cut_result *result = &placed->evaluation.results[i];
        if (result->name == NULL || strcmp(result->name, name) != 0) { continue; }
        const struct partition_edge *edge = &placed->partition->edges[result->edge];
        return (struct tn_view){
            .type = edge->type,
            .shape = shape_with_batch(edge->shape, placed->options.examples),
            .data = (void *)(uintptr_t)data_of(placed, &placed->sources[result->edge]),
        };
    }
    return (struct tn_view){0};
}

double placed_program_flops(const struct placed_program *placed)
{
    double flops = 0;
    for (uint32_t p = 0; p < placed->partition->part_count; p++) {
        flops += placed->parts[p].program->facts.flops;
    }
    return flops;
}
