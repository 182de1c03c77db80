/* graph/program.c: tn_program_create(): from a graph to instructions and memory. */
#include "graph/program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/canonical.h"
#include "graph/cuda/backend.h"
#include "graph/device_memory.h"
#include "graph/joined_slices.h"
#include "graph/lookups.h"
#include "graph/openblas/backend.h"
#include "graph/ops/ops.h"
#include "graph/portable/backend.h"
#include "graph/reference/backend.h"
#include "graph/roots.h"
#include "graph/schedule.h"

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory: make the model or the slices smaller");
}

static enum tn_status list_variables(struct tn_program *program, struct error *error)
{
    const struct tn_graph *graph = program->graph;
    program->variables = calloc((size_t)graph->variable_count + 1, sizeof *program->variables);
    if (program->variables == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].op != &op_variable) { continue; }
        assert(program->variable_count < graph->variable_count);
        struct program_variable *variable = &program->variables[program->variable_count++];
        variable->node = i;
        const uint64_t *offsets = program->options.variable_offsets;
        const uint32_t number = program->variable_count - 1;
        variable->offset = offsets != NULL ? offsets[number] : program->parameters;
        variable->count = (uint64_t)shape_elements(&graph->nodes[i].shapes[0]);
        program->parameters += variable->count;
    }
    return TN_OK;
}

static void fix_places(struct tn_program *program)
{
    const struct tn_graph *graph = program->graph;
    uint64_t size = type_size(TN_FLOAT32, program->backend->wide);
    for (uint32_t i = 0; i < graph->count; i++) {
        struct place *place = &program->fixed[i * OP_OUTPUTS_MAX];
        if (graph->nodes[i].op == &op_constant) { *place = (struct place){SPACE_CONSTANTS, i}; }
        if (graph->nodes[i].op == &op_placeholder || graph->nodes[i].op == &op_lookup) {
            *place = (struct place){SPACE_FIELDS, program->field_bytes};
            program->field_bytes += plan_bytes(graph, tensor_of(i, 0), program->backend->wide);
        }
    }
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct program_variable *variable = &program->variables[i];
        uint64_t offset = variable->offset * size;
        program->fixed[variable->node * OP_OUTPUTS_MAX] = (struct place){SPACE_VALUES, offset};
        if (variable->gradient.v != 0) {
            tn_tensor root = program_through_views(graph, variable->gradient);
            program->fixed[root.v - 1] = (struct place){SPACE_GRADIENT, offset};
        }
    }
}

static enum tn_status schedule(struct tn_program *program, struct error *error)
{
    const struct tn_graph *graph = program->graph;
    size_t values = (size_t)graph->count * OP_OUTPUTS_MAX;
    program->order = calloc((size_t)graph->count + 1, sizeof *program->order);
    program->fixed = calloc(values + 1, sizeof *program->fixed);
    program->kept = calloc(values + 1, sizeof *program->kept);
    program->workspaces = calloc((size_t)graph->count + 1, sizeof *program->workspaces);
    if (program->order == NULL || program->fixed == NULL || program->kept == NULL ||
        program->workspaces == NULL) {
        return out_of_memory(error);
    }
    program->order_count =
        graph_schedule(graph, program->roots, program->root_count, program->order);
    if (program->order_count == 0) { return out_of_memory(error); }
    program->facts.nodes = graph->count;
    program->facts.pruned = graph->count - program->order_count;
    fix_places(program);
    for (uint32_t i = 0; i < program->root_count; i++) {
        program->kept[program->roots[i].v - 1] = true;
    }
    return TN_OK;
}

static struct tn_view view_of(const struct tn_graph *graph, tn_tensor value)
{
    return (struct tn_view){.type = tn_type_of(graph, value), .shape = *shape_of(graph, value)};
}

static bool is_computed(const struct node *node)
{
    return !node->op->traits.leaf && !node->op->traits.view;
}

static uint64_t round_to_lines(uint64_t bytes)
{
    return (bytes + PLAN_LINE - 1) / PLAN_LINE * PLAN_LINE;
}

/* Packed variables are a second copy of them, in each program. This much of it makes programs
 * faster, because it stays in the caches from slice to slice; a product packs more than that within
 * the call, part by part. */
static bool has_room(const struct tn_program *program, uint64_t packed)
{
    enum { ROOM = 8 << 20, PART_OF_VALUES = 32 };
    const uint64_t room = u64_max(ROOM, program->parameters * sizeof(float) / PART_OF_VALUES);
    return program->packed_bytes + packed <= room;
}

/* The needs of the kernel, and a place for what it packs. */
static void collect_needs(struct tn_program *program, struct instruction *instruction)
{
    struct kernel_call *call = &instruction->call;
    for (uint32_t i = 0; i < call->node->input_count; i++) {
        const struct tn_graph *graph = program->graph;
        bool is_variable =
            node_of(graph, program_through_views(graph, call->node->inputs[i]))->op == &op_variable;
        call->steady |= (uint32_t)is_variable << i;
    }
    if (instruction->backend->needs == NULL) { return; }
    instruction->needs = instruction->backend->needs(call);
    if (!has_room(program, round_to_lines(instruction->needs.packed))) {
        call->steady = 0;
        instruction->needs = instruction->backend->needs(call);
        assert(instruction->needs.packed == 0);
    }
    instruction->packed = program->packed_bytes;
    program->packed_bytes += round_to_lines(instruction->needs.packed);
}

/* The backend of an operation, of which the call has types and shapes. */
static void choose_backend(const struct backend *backend, struct instruction *instruction)
{
    const struct kernel_call *call = &instruction->call;
    const bool on_host = backend_has_device(backend) && !backend->device.fits(call);
    instruction->backend = on_host ? backend->device.host : backend;
    instruction->kernel = instruction->backend->find(call->node->op);
    instruction->call.kernels = instruction->backend->kernels;
}

static enum tn_status add_instruction(struct tn_program *program, uint32_t time,
                                      struct error *error)
{
    const struct tn_graph *graph = program->graph;
    uint32_t number = program->order[time];
    const struct node *node = &graph->nodes[number];
    struct instruction *instruction = &program->instructions[program->instruction_count++];
    instruction->call.node = node;
    instruction->call.slices = program->slices;
    for (uint32_t i = 0; i < node->input_count; i++) {
        instruction->call.in[i] = view_of(graph, node->inputs[i]);
    }
    for (uint32_t o = 0; o < node->op->outputs; o++) {
        instruction->call.out[o] = view_of(graph, tensor_of(number, o));
    }
    choose_backend(program->backend, instruction);
    if (instruction->kernel == NULL) {
        return error_set(error, TN_EINVAL,
                         "scope '%s': %s has no kernel in backend '%s': use another operation or "
                         "backend",
                         node->scope, node->op->name, program->backend->name);
    }
    collect_needs(program, instruction);
    program->workspaces[time] = round_to_lines(instruction->needs.workspace);
    program->facts.flops += node->op->flops != NULL ? node->op->flops(graph, node)
                                                    : (double)shape_elements(&node->shapes[0]);
    return TN_OK;
}

static enum tn_status list_instructions(struct tn_program *program, struct error *error)
{
    program->instructions = calloc((size_t)program->order_count + 1, sizeof *program->instructions);
    if (program->instructions == NULL) { return out_of_memory(error); }
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < program->order_count && status == TN_OK; t++) {
        bool computed = is_computed(&program->graph->nodes[program->order[t]]);
        if (computed) { status = add_instruction(program, t, error); }
    }
    program->facts.instructions = program->instruction_count;
    return status;
}

static uint64_t bytes_of(const struct tn_program *program)
{
    return program->plan.arena_bytes + program->field_bytes + program->packed_bytes;
}

static enum tn_status check_memory(const struct tn_program *program, struct error *error)
{
    const uint64_t bytes = bytes_of(program);
    if (program->options.memory_max == 0 || bytes <= program->options.memory_max) { return TN_OK; }
    return error_set(error, TN_ENOMEM,
                     "the program needs %" PRIu64 " bytes for %" PRIu32
                     " examples, but memory_max is %" PRIu64 ": use fewer examples",
                     bytes, program->options.examples, program->options.memory_max);
}

static enum tn_status plan(struct tn_program *program, struct error *error)
{
    struct plan_request request = {
        .graph = program->graph,
        .order = program->order,
        .count = program->order_count,
        .fixed = program->fixed,
        .kept = program->kept,
        .workspace = program->workspaces,
        .wide = program->backend->wide,
    };
    enum tn_status status = plan_create(&request, &program->plan, error);
    /* The memory of the check itself grows with that of the plan. */
    if (status == TN_OK) { status = check_memory(program, error); }
    if (status == TN_OK) { status = plan_check(&request, &program->plan, error); }
    program->facts.arena_bytes = program->plan.arena_bytes;
    program->facts.lower_bound_bytes = program->plan.lower_bound_bytes;
    program->facts.without_reuse_bytes = program->plan.without_reuse_bytes;
    return status;
}

/* Give each instruction the places of the plan. */
static void bind(struct tn_program *program)
{
    struct instruction *instruction = program->instructions;
    for (uint32_t t = 0; t < program->order_count; t++) {
        uint32_t number = program->order[t];
        const struct node *node = &program->graph->nodes[number];
        if (!is_computed(node)) { continue; }
        for (uint32_t i = 0; i < node->input_count; i++) {
            instruction->in[i] = program->plan.places[node->inputs[i].v - 1];
        }
        for (uint32_t o = 0; o < node->op->outputs; o++) {
            instruction->out[o] = program->plan.places[number * OP_OUTPUTS_MAX + o];
        }
        instruction++->workspace = program->plan.workspaces[t];
    }
}

/* One behind the last instruction that writes bytes [offset, offset + bytes) of the gradient; 0: it
 * is cleared before the first. */
static uint32_t written_until(const struct tn_program *program, uint64_t offset, uint64_t bytes)
{
    for (uint32_t i = program->instruction_count; i > 0; i--) {
        const struct instruction *instruction = &program->instructions[i - 1];
        for (uint32_t o = 0; o < instruction->call.node->op->outputs; o++) {
            const struct place *place = &instruction->out[o];
            if (place->space != SPACE_GRADIENT) { continue; }
            if (place->offset >= offset && place->offset - offset < bytes) { return i; }
        }
    }
    return 0;
}

/* One behind the last instruction that computes a loss. */
static uint32_t losses_until(const struct tn_program *program)
{
    const struct tn_graph *graph = program->graph;
    uint32_t until = 0;
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        for (uint32_t m = 0; m < graph->mark_count; m++) {
            if (graph->marks[m].kind != MARK_LOSS) { continue; }
            const uint32_t node = tensor_node(graph->marks[m].value);
            if (program->instructions[i].call.node == &graph->nodes[node]) { until = i + 1; }
        }
    }
    return until;
}

static int by_offset(const void *left, const void *right)
{
    const struct program_variable *const *a = left, *const *b = right;
    return (*a)->offset > (*b)->offset ? -1 : (*a)->offset < (*b)->offset;
}

/* Which elements of the gradient, up to the end, are final after each instruction. The losses are
 * read with the first ones, so none is before the losses are computed: that of a variable without
 * gradient is cleared before the first instruction. */
static enum tn_status find_final(struct tn_program *program, struct error *error)
{
    const uint64_t size = type_size(TN_FLOAT32, program->backend->wide);
    const struct program_variable **sorted =
        calloc((size_t)program->variable_count + 1, sizeof *sorted);
    if (sorted == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < program->variable_count; i++) { sorted[i] = &program->variables[i]; }
    qsort(sorted, program->variable_count, sizeof *sorted, by_offset);
    const uint32_t least = losses_until(program);
    uint32_t done = 0; /* Instructions whose `final_from` is known. */
    uint64_t from = program->parameters;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        uint32_t until = written_until(program, sorted[i]->offset * size, sorted[i]->count * size);
        if (until < least) { until = least; }
        while (done + 1 < until) { program->instructions[done++].final_from = from; }
        from = sorted[i]->offset;
    }
    while (done < program->instruction_count) { program->instructions[done++].final_from = from; }
    free(sorted);
    return TN_OK;
}

static enum tn_status allocate(struct tn_program *program, struct error *error)
{
    const uint64_t bytes = bytes_of(program);
    enum tn_status status = device_memory_open_fields(program, error);
    if (status != TN_OK) { return status; }
    program->arena = aligned_alloc(PLAN_LINE, (size_t)program->plan.arena_bytes + PLAN_LINE);
    program->packed = aligned_alloc(PLAN_LINE, (size_t)program->packed_bytes + PLAN_LINE);
    if (program->arena == NULL || program->fields == NULL || program->packed == NULL) {
        return error_set(error, TN_ENOMEM,
                         "cannot allocate %" PRIu64 " bytes for %" PRIu32
                         " examples: use fewer examples",
                         bytes, program->options.examples);
    }
    memset(program->fields, 0, (size_t)program->field_bytes);
    return backend_has_device(program->backend) ? device_memory_open(program, error) : TN_OK;
}

static enum tn_status compile(struct tn_program *program, const struct tn_graph *graph,
                              struct error *error)
{
    const struct tn_program_options *options = &program->options;
    const bool evaluates = options->mode == TN_EVALUATE && !program->is_part;
    enum tn_status status = graph_canonical(graph, evaluates, &program->graph, error);
    if (status == TN_OK) { status = list_variables(program, error); }
    if (status == TN_OK) { status = program_list_lookups(program, error); }
    if (status == TN_OK && options->mode == TN_TRAIN) {
        status = program_differentiate(program, error);
    }
    if (status != TN_OK) { return status; }
    graph_specialise(program->graph, options->examples, program->backend->wide);
    if (graph_failed(program->graph)) { return out_of_memory(error); }
    if (!options->without_passes) { status = program_run_passes(program, error); }
    if (status == TN_OK) { status = program_separate_gradients(program, error); }
    if (status == TN_OK) { status = program_list_roots(program, error); }
    if (status == TN_OK) { status = schedule(program, error); }
    if (status == TN_OK) { status = list_instructions(program, error); }
    if (status == TN_OK && program->slices > 0) { status = joined_slices_prepare(program, error); }
    if (status == TN_OK) { status = plan(program, error); }
    if (status != TN_OK) { return status; }
    bind(program);
    return find_final(program, error);
}

enum tn_status program_begin(const struct tn_graph *graph, const struct tn_program_options *options,
                             struct program_variant variant, const struct backend *backend,
                             struct tn_program **out, struct error *error)
{
    assert(graph != NULL && options != NULL && backend != NULL);
    *out = NULL;
    if (options->examples == 0) {
        return error_set(error, TN_EINVAL, "examples is 0: give at least 1");
    }
    struct tn_program *program = calloc(1, sizeof *program);
    if (program == NULL) { return out_of_memory(error); }
    program->options = *options;
    program->slices = variant.slices;
    program->is_part = variant.is_part;
    program->backend = backend;
    const char *check = getenv("TANIST_CHECK_NUMERICS");
    program->check_numerics = check != NULL && strcmp(check, "1") == 0;
    enum tn_status status = compile(program, graph, error);
    if (status == TN_OK) {
        *out = program;
    } else {
        tn_program_destroy(program);
    }
    return status;
}

static enum tn_status create(const struct tn_graph *graph, const struct tn_program_options *options,
                             struct program_variant variant, const struct backend *backend,
                             struct tn_program **out, struct error *error)
{
    enum tn_status status = program_begin(graph, options, variant, backend, out, error);
    if (status == TN_OK) { status = allocate(*out, error); }
    if (status == TN_OK) { return TN_OK; }
    tn_program_destroy(*out);
    *out = NULL;
    return status;
}

enum tn_status program_create(const struct tn_graph *graph,
                              const struct tn_program_options *options,
                              const struct backend *backend, struct tn_program **out,
                              struct error *error)
{
    return create(graph, options, (struct program_variant){0}, backend, out, error);
}

enum tn_status program_create_joined(const struct tn_graph *graph,
                                     const struct tn_program_options *options, uint32_t slices,
                                     const struct backend *backend, struct tn_program **out,
                                     struct error *error)
{
    return create(graph, options, (struct program_variant){.slices = slices}, backend, out, error);
}

enum tn_status program_find_backend(const char *name, const struct backend **out,
                                    struct error *error)
{
    if (name == NULL || strcmp(name, "portable") == 0) {
        return backend_portable(NULL, out, error);
    }
    if (strcmp(name, "openblas") == 0) { return backend_openblas(out, error); }
    if (backend_cuda_knows(name)) { return backend_cuda_named(name, out, error); }
    if (strcmp(name, "reference") == 0) {
        *out = backend_reference();
        return TN_OK;
    }
    return error_set(error, TN_ENOENT,
                     "unknown kernels '%s': one of 'portable', 'cuda', 'cuda:0' to 'cuda:%d', "
                     "'cublas', 'cublas:0' to 'cublas:%d', 'cublas-tf32', 'cublas-bf16', "
                     "'openblas', 'reference'",
                     name, CUDA_GPUS_MAX - 1, CUDA_GPUS_MAX - 1);
}

enum tn_status program_create_part(const struct tn_graph *graph,
                                   const struct tn_program_options *options,
                                   struct tn_program **out, struct error *error)
{
    const struct backend *backend = NULL;
    assert(options->mode == TN_EVALUATE);
    *out = NULL;
    enum tn_status status = program_find_backend(options->kernels, &backend, error);
    if (status != TN_OK) { return status; }
    return create(graph, options, (struct program_variant){.is_part = true}, backend, out, error);
}

enum tn_status tn_program_create(const struct tn_graph *graph,
                                 const struct tn_program_options *options, struct tn_program **out,
                                 struct tn_error *error)
{
    assert(options != NULL && options->struct_size == sizeof *options);
    struct error text = {.status = TN_OK};
    const struct backend *backend = NULL;
    *out = NULL;
    enum tn_status status = program_find_backend(options->kernels, &backend, &text);
    if (status == TN_OK) { status = program_create(graph, options, backend, out, &text); }
    return status == TN_OK ? TN_OK : error_export(&text, error);
}

void tn_program_destroy(struct tn_program *program)
{
    if (program == NULL) { return; }
    device_memory_close(program);
    tn_graph_destroy(program->graph);
    plan_destroy(&program->plan);
    free(program->variables);
    free(program->lookups);
    free(program->lookups_by_table);
    free(program->roots);
    free(program->order);
    free(program->fixed);
    free(program->kept);
    free(program->workspaces);
    free(program->instructions);
    free(program->arena);
    device_memory_close_fields(program);
    free(program->packed);
    free(program);
}
