#include "graph/core/values.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/core/build.h"

/* A link of the list of a graph; the graph keeps its memory. */
struct held_values {
    struct held_values *next;
    struct shared_values *shared;
};

static bool hold(struct tn_graph *graph, struct shared_values *shared)
{
    const struct held_values link = {.next = graph->held, .shared = shared};
    struct held_values *kept = graph_keep(graph, &link, sizeof link);
    if (kept != NULL) { graph->held = kept; }
    return kept != NULL;
}

const struct shared_values *values_copy(struct tn_graph *graph, const float *values, uint64_t count)
{
    assert(graph != NULL && values != NULL && count >= 1);
    const uint64_t most = (SIZE_MAX - sizeof(struct shared_values)) / sizeof *values;
    const size_t bytes = count <= most ? (size_t)count * sizeof *values : 0;
    struct shared_values *shared = bytes > 0 ? malloc(sizeof *shared + bytes) : NULL;
    if (shared == NULL) {
        graph_fail(graph, TN_ENOMEM, "out of memory for initial values: make the model smaller");
        return NULL;
    }
    atomic_init(&shared->holders, 1);
    shared->count = count;
    memcpy(shared->values, values, bytes);
    shared->digest = XXH3_64bits(shared->values, bytes);
    if (hold(graph, shared)) { return shared; }
    free(shared);
    return NULL;
}

const struct shared_values *values_hold(struct tn_graph *graph, const struct shared_values *shared)
{
    struct shared_values *mine = (struct shared_values *)(uintptr_t)shared;
    assert(graph != NULL && shared != NULL);
    if (!hold(graph, mine)) { return NULL; }
    atomic_fetch_add(&mine->holders, 1);
    return shared;
}

void values_release(struct tn_graph *graph)
{
    assert(graph != NULL);
    for (const struct held_values *held = graph->held; held != NULL; held = held->next) {
        assert(atomic_load(&held->shared->holders) >= 1);
        if (atomic_fetch_sub(&held->shared->holders, 1) == 1) { free(held->shared); }
    }
    graph->held = NULL;
}
