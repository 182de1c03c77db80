/*
 * Fuzz target: encoded graphs. A graph that is accepted can be compiled within a limit of memory,
 * runs, and is encoded to bytes that decode again.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "graph/encoding.h"
#include "tanist/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_MAX = 1 << 20, PARAMETERS_MAX = 1 << 16, FLOPS_MAX = 1 << 24 };

static void run(const struct tn_graph *graph)
{
    struct tn_program *program = NULL;
    struct tn_program_facts facts = {.struct_size = sizeof facts};
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_EVALUATE,
                                               .examples = 2,
                                               .memory_max = MEMORY_MAX};
    if (tn_program_create(graph, &options, &program, NULL) != TN_OK) { return; }
    tn_program_describe(program, &facts);
    const uint64_t count = tn_program_parameters(program);
    if (count <= PARAMETERS_MAX && facts.flops <= FLOPS_MAX) {
        float *values = calloc((size_t)count + 1, sizeof *values);
        struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
        enum tn_status status = TN_ENOMEM;
        if (values != NULL) { status = tn_program_run(program, &run, NULL); }
        assert(values == NULL || status == TN_OK);
        free(values);
    }
    tn_program_destroy(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tn_graph *graph = NULL, *again = NULL;
    uint8_t *bytes = NULL;
    size_t encoded = 0;
    if (graph_decode(data, size, &graph, NULL) != TN_OK) { return 0; }
    run(graph);
    enum tn_status status = graph_encode(graph, &bytes, &encoded, NULL);
    assert(status == TN_OK);
    status = graph_decode(bytes, encoded, &again, NULL);
    assert(status == TN_OK);
    free(bytes);
    tn_graph_destroy(again);
    tn_graph_destroy(graph);
    return 0;
}
