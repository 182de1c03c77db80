/* cli/plan/graph.c: `tanist graph`: the model of a job as the graph that is executed for one slice:
 * simplified, scheduled, with the place of each value in memory. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/plan/validate.h"
#include "cli/table.h"
#include "graph/openblas/backend.h"
#include "graph/portable/backend.h"
#include "graph/program.h"
#include "model/job_graph.h"
#include "model/model.h"
#include "worker/compute.h"

static const char *const formats[] = {"table", "json", "dot", NULL};

struct view {
    struct job job;
    struct tn_graph *graph;
    struct tn_program *program;
    struct tn_program_facts facts;
};

static const char *space_name(enum space space)
{
    switch (space) {
    case SPACE_ARENA: return "arena";
    case SPACE_VALUES: return "values";
    case SPACE_GRADIENT: return "gradient";
    case SPACE_FIELDS: return "fields";
    case SPACE_CONSTANTS: return "constants";
    case SPACE_NONE:
    case SPACES: break;
    }
    return "-";
}

/* A value as it is in the program. */
struct value {
    const struct node *node;
    const struct place *place;
    uint64_t bytes;
    char shape[SHAPE_TEXT_MAX];
};

static struct value value_at(const struct view *view, uint32_t time)
{
    const struct tn_program *program = view->program;
    uint32_t number = program->order[time];
    struct value value = {
        .node = &program->graph->nodes[number],
        .place = &program->plan.places[number * OP_OUTPUTS_MAX],
    };
    const struct tn_shape *shape = &value.node->shapes[0];
    value.bytes = (uint64_t)shape_elements(shape) * type_size(value.node->types[0], false);
    shape_format(value.node->types[0], shape, value.shape);
    return value;
}

static double flops_of(const struct view *view, const struct node *node)
{
    if (node->op->traits.leaf || node->op->traits.view) { return 0; }
    return node->op->flops != NULL ? node->op->flops(view->program->graph, node)
                                   : (double)shape_elements(&node->shapes[0]);
}

/* The node's path, or its scope. */
static const char *label_of(const struct node *node)
{
    return node->attributes.name != NULL ? node->attributes.name : node->scope;
}

static int print_table(const struct view *view)
{
    static const struct table_column columns[] = {
        {"NODE", TABLE_RIGHT},  {"NAME", TABLE_LEFT},   {"OPERATION", TABLE_LEFT},
        {"OUTPUT", TABLE_LEFT}, {"DEVICE", TABLE_LEFT}, {"MEMORY", TABLE_LEFT},
        {"AT", TABLE_RIGHT},    {"BYTES", TABLE_RIGHT}, {"FLOPS", TABLE_RIGHT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t t = 0; t < view->program->order_count; t++) {
        struct value value = value_at(view, t);
        bool has_offset = value.place->space != SPACE_CONSTANTS;
        table_cell(&table, "%" PRIu32, view->program->order[t]);
        table_cell(&table, "%s", label_of(value.node));
        table_cell(&table, "%s", value.node->op->name);
        table_cell(&table, "%s", value.shape);
        table_cell(&table, "%s", value.node->device[0] == '\0' ? "-" : value.node->device);
        table_cell(&table, "%s", space_name(value.place->space));
        table_number(&table, value.place->offset, has_offset);
        table_cell(&table, "%" PRIu64, value.bytes);
        table_cell(&table, "%.0f", flops_of(view, value.node));
    }
    if (!table_print(&table, stdout)) { return TN_EXIT_IO; }
    const struct tn_program_facts *facts = &view->facts;
    int written =
        printf("\n%" PRIu64 " parameters, %" PRIu32 " examples a slice, %.0f FLOPs a slice\n"
               "%" PRIu32 " nodes: %" PRIu32 " folded, %" PRIu32 " shared, %" PRIu32
               " fused, %" PRIu32 " not needed, %" PRIu32 " instructions\n"
               "memory: %" PRIu64 " bytes; lower bound %" PRIu64 "; without reuse %" PRIu64 "\n",
               tn_program_parameters(view->program), view->program->options.examples, facts->flops,
               facts->nodes, facts->folded, facts->shared, facts->fused, facts->pruned,
               facts->instructions, facts->arena_bytes, facts->lower_bound_bytes,
               facts->without_reuse_bytes);
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static json_t *node_json(const struct view *view, uint32_t time)
{
    struct value value = value_at(view, time);
    json_t *inputs = json_array(), *shape = json_array();
    for (uint32_t k = 0; k < value.node->input_count; k++) {
        json_array_append_new(inputs, json_integer(tensor_node(value.node->inputs[k])));
    }
    for (uint32_t i = 0; i < value.node->shapes[0].rank; i++) {
        json_array_append_new(shape, json_integer(value.node->shapes[0].dims[i]));
    }
    return json_pack("{s:I, s:s, s:s, s:o, s:s, s:o, s:s, s:s, s:I, s:I, s:f}", "node",
                     (json_int_t)view->program->order[time], "name", label_of(value.node),
                     "operation", value.node->op->name, "inputs", inputs, "type",
                     type_name(value.node->types[0]), "shape", shape, "device", value.node->device,
                     "memory", space_name(value.place->space), "offset",
                     (json_int_t)value.place->offset, "bytes", (json_int_t)value.bytes, "flops",
                     flops_of(view, value.node));
}

static json_t *variables_json(const struct view *view)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < view->program->variable_count; i++) {
        const struct program_variable *variable = &view->program->variables[i];
        const struct node *node = &view->program->graph->nodes[variable->node];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", node->attributes.name,
                                              "first", (json_int_t)variable->offset, "parameters",
                                              (json_int_t)variable->count));
    }
    return list;
}

static int print_json(const struct view *view)
{
    const struct tn_program_facts *facts = &view->facts;
    json_t *nodes = json_array();
    char hash[32] = "";
    if (snprintf(hash, sizeof hash, "%016" PRIx64, tn_graph_hash(view->graph)) < 0) {
        return TN_EXIT_ERROR;
    }
    for (uint32_t t = 0; t < view->program->order_count; t++) {
        json_array_append_new(nodes, node_json(view, t));
    }
    return output_json(
        json_pack(
            "{s:i, s:s, s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
            "version", 1, "job", view->job.name, "hash", hash, "parameters",
            (json_int_t)tn_program_parameters(view->program), "examples",
            (json_int_t)view->program->options.examples, "flops", facts->flops, "arena_bytes",
            (json_int_t)facts->arena_bytes, "lower_bound_bytes",
            (json_int_t)facts->lower_bound_bytes, "without_reuse_bytes",
            (json_int_t)facts->without_reuse_bytes, "instructions", (json_int_t)facts->instructions,
            "folded", (json_int_t)facts->folded, "shared", (json_int_t)facts->shared, "fused",
            (json_int_t)facts->fused, "pruned", (json_int_t)facts->pruned, "variables",
            variables_json(view), "nodes", nodes),
        JSON_INDENT(2));
}

/* Names consist of letters, digits and "/_-."; fields of a job's model do too. */
static int print_dot(const struct view *view)
{
    bool written = printf("digraph \"%s\" {\n  node [shape=box];\n", view->job.name) > 0;
    for (uint32_t t = 0; t < view->program->order_count; t++) {
        struct value value = value_at(view, t);
        uint32_t number = view->program->order[t];
        const char *style = value.node->op->traits.leaf ? ", style=filled" : "";
        written &= printf("  n%" PRIu32 " [label=\"%s\\n%s\\n%s\"%s];\n", number,
                          value.node->op->name, label_of(value.node), value.shape, style) > 0;
        for (uint32_t k = 0; k < value.node->input_count; k++) {
            written &= printf("  n%" PRIu32 " -> n%" PRIu32 ";\n",
                              tensor_node(value.node->inputs[k]), number) > 0;
        }
    }
    written &= puts("}") >= 0;
    return written ? TN_EXIT_OK : TN_EXIT_IO;
}

/* The backend of the job. The one here has a kernel for the same operations as "openblas", which
 * need not be installed. */
static enum tn_status find_backend(const struct job *job, const struct backend **out,
                                   struct error *error)
{
    if (job->train.kernels != JOB_KERNELS_OPENBLAS) { return backend_portable(NULL, out, error); }
    *out = backend_kernels_reference();
    return TN_OK;
}

static enum tn_status compile(struct view *view, struct error *error)
{
    const struct backend *backend = NULL;
    struct tn_program_options options = {
        .struct_size = sizeof options,
        .mode = TN_TRAIN,
        .examples = compute_slice_examples(&view->job),
    };
    enum tn_status status = job_graph_create(&view->job, &view->graph, error);
    if (status == TN_OK) { status = find_backend(&view->job, &backend, error); }
    if (status != TN_OK) { return status; }
    status = program_create(view->graph, &options, backend, &view->program, error);
    if (status != TN_OK) { return status; }
    view->facts.struct_size = sizeof view->facts;
    tn_program_describe(view->program, &view->facts);
    return TN_OK;
}

static enum tn_status read_job(struct job *job, const char *path,
                               const struct option_texts *settings, struct error *error)
{
    struct variable_table *variables = calloc(1, sizeof *variables);
    if (variables == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = load_job(job, path, settings, error);
    if (status == TN_OK) { status = model_describe(job, variables, error); }
    free(variables);
    return status;
}

int command_graph(int argc, char **argv)
{
    struct option_texts settings = {0};
    const char *format = formats[0];
    int exit_code = 0;
    struct error error = {0};
    struct view view = {0};
    struct options options = {
        .command = "graph",
        .synopsis = "JOB.json [OPTION]...",
        .about = "Show a job's model as the graph that a worker would execute for one slice: each "
                 "operation with its\nresult, its place in memory and its cost, then the sums. "
                 "Nothing is trained.",
        .examples = "  tanist graph examples/fashion-mnist.json\n"
                    "  tanist graph examples/fashion-mnist.json -o dot | dot -Tsvg > model.svg\n",
        .arguments_least = job_has_program() ? 0 : 1,
        .arguments_most = 1};
    options_settings(&options, &settings);
    options_choice(&options, 'o', "output", &format, formats, "Output format; default table.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    enum tn_status status = read_job(&view.job, options.arguments[0], &settings, &error);
    if (status == TN_OK) { status = compile(&view, &error); }
    exit_code = status != TN_OK               ? command_failed(&error)
                : strcmp(format, "json") == 0 ? print_json(&view)
                : strcmp(format, "dot") == 0  ? print_dot(&view)
                                              : print_table(&view);
    tn_program_destroy(view.program);
    tn_graph_destroy(view.graph);
    return exit_code;
}
