#include "graph/program_memory.h"

#include <assert.h>

#include "graph/cuda/backend.h"
#include "graph/device_memory.h"
#include "graph/ops/ops.h"
#include "graph/program.h"

static bool computes_on_host(const struct tn_program *program)
{
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        if (program->instructions[i].backend != program->backend) { return true; }
    }
    return false;
}

static uint64_t example_bytes(const struct tn_program *program)
{
    const struct tn_graph *graph = program->graph;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].op != &op_placeholder) { continue; }
        bytes += plan_bytes(graph, tensor_of(i, 0), program->backend->wide);
    }
    return bytes;
}

static struct program_memory measure(const struct tn_program *program)
{
    struct program_memory memory = {.host = program->packed_bytes,
                                    .examples = example_bytes(program)};
    if (!backend_has_device(program->backend)) {
        memory.host += program->plan.arena_bytes + program->field_bytes;
        return memory;
    }
    /* The host touches its copy of the results only for operations that it computes, and for losses
     * and outputs. */
    const struct device_memory_size size = device_memory_size(program);
    memory.host += computes_on_host(program) ? program->plan.arena_bytes : size.fetched;
    memory.pinned = size.pinned;
    memory.values = size.values;
    memory.gradient = size.gradient;
    memory.results = size.results;
    memory.rest = size.rest;
    return memory;
}

static enum tn_status plan(const struct tn_graph *graph, const struct tn_program_options *options,
                           struct program_variant variant, struct program_memory *out,
                           struct error *error)
{
    const struct backend *backend = NULL;
    struct tn_program *program = NULL;
    const char *kernels = options->kernels;
    enum tn_status status = kernels != NULL && backend_cuda_knows(kernels)
                                ? backend_cuda_planned(kernels, &backend, error)
                                : program_find_backend(kernels, &backend, error);
    if (status == TN_OK) {
        status = program_begin(graph, options, variant, backend, &program, error);
    }
    if (status != TN_OK) { return status; }
    *out = measure(program);
    tn_program_destroy(program);
    return TN_OK;
}

enum tn_status program_memory_plan(const struct tn_graph *graph,
                                   const struct tn_program_options *options, uint32_t slices,
                                   struct program_memory *out, struct error *error)
{
    return plan(graph, options, (struct program_variant){.slices = slices}, out, error);
}

enum tn_status program_memory_plan_part(const struct tn_graph *graph,
                                        const struct tn_program_options *options,
                                        struct program_memory *out, struct error *error)
{
    assert(options->mode == TN_EVALUATE);
    return plan(graph, options, (struct program_variant){.is_part = true}, out, error);
}
