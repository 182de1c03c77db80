/* kernels/cuda/emulated_graphs.c: the emulated driver's graphs of kernels. A launch queues the
 * kernels one by one in its stream, in an order that the dependencies allow, the last added first:
 * without a dependency, kernels run in the wrong order. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulated_driver.h"
#include "kernels/cuda/emulated_private.h"
#include "kernels/cuda/emulation.h"

struct gpu_node {
    const struct emulation_kernel *kernel;
    unsigned blocks, threads;
    uint8_t *arguments;       /* Owned. */
    struct gpu_node **behind; /* Owned. */
    size_t behind_count;
    bool is_queued; /* By the launch that is being made. */
};

struct gpu_graph {
    struct gpu_graph *next;
    struct gpu_node **nodes; /* In the order of the calls. */
    size_t count;
};

/* With nodes of its own, whose `behind` are its own, too. */
struct gpu_graph_exec {
    struct gpu_graph_exec *next;
    const struct gpu_graph *origin;
    struct gpu_graph own;
    struct gpu_stream *stream; /* The stream of the last launch. */
    uint64_t number;           /* The last kernel in the queue. */
};

static struct gpu_graph *graphs;
static struct gpu_graph_exec *execs;
static struct emulated_graph_counts counts;

struct emulated_graph_counts emulated_graph_counts(void)
{
    (void)emulated_enter(NEEDS_NOTHING);
    struct emulated_graph_counts result = counts;
    for (const struct gpu_graph *at = graphs; at != NULL; at = at->next) { result.graphs++; }
    for (const struct gpu_graph_exec *at = execs; at != NULL; at = at->next) { result.execs++; }
    (void)emulated_leave(GPU_SUCCESS);
    return result;
}

/* ------------------------------------------------------ handles */

/* A handle that was destroyed is not one. */
static bool is_graph(const struct gpu_graph *graph)
{
    const struct gpu_graph *at = graphs;
    while (at != NULL && at != graph) { at = at->next; }
    return at != NULL;
}

static bool is_exec(const struct gpu_graph_exec *exec)
{
    const struct gpu_graph_exec *at = execs;
    while (at != NULL && at != exec) { at = at->next; }
    return at != NULL;
}

/* The number of the node in its graph; `count`: it is of another one. */
static size_t find_node(const struct gpu_graph *graph, const struct gpu_node *node)
{
    size_t i = 0;
    while (i < graph->count && graph->nodes[i] != node) { i++; }
    return i;
}

static void free_nodes(struct gpu_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        free(graph->nodes[i]->arguments);
        free(graph->nodes[i]->behind);
        free(graph->nodes[i]);
    }
    free(graph->nodes);
}

/* ------------------------------------------------------ nodes */

/* The rules are those of a launch. */
static bool is_valid(const struct gpu_kernel_node *kernel)
{
    return kernel != NULL && kernel->function != NULL && kernel->arguments != NULL &&
           kernel->extra == NULL && kernel->kernel == NULL && kernel->context == NULL &&
           kernel->blocks_x > 0 && kernel->threads_x > 0 &&
           (size_t)kernel->blocks_y * kernel->blocks_z * kernel->threads_y * kernel->threads_z ==
               1 &&
           kernel->shared_bytes == 0;
}

/* A function is an entry of the emulation's list (emulated_streams.c). */
static bool set_node(struct gpu_node *node, const struct gpu_kernel_node *kernel)
{
    const struct emulation_kernel *entry = (const struct emulation_kernel *)kernel->function;
    uint8_t *arguments = malloc(entry->bytes + 1);
    if (arguments == NULL) { return false; }
    memcpy(arguments, kernel->arguments[0], entry->bytes);
    free(node->arguments);
    node->arguments = arguments;
    node->kernel = entry;
    node->blocks = kernel->blocks_x;
    node->threads = kernel->threads_x;
    return true;
}

/* A node without dependencies. */
static struct gpu_node *append(struct gpu_graph *graph, const struct gpu_kernel_node *kernel,
                               size_t behind_count)
{
    struct gpu_node **nodes = realloc(graph->nodes, (graph->count + 1) * sizeof(*nodes));
    if (nodes != NULL) { graph->nodes = nodes; }
    struct gpu_node *node = calloc(1, sizeof *node);
    if (node != NULL) { node->behind = calloc(behind_count + 1, sizeof(*node->behind)); }
    if (nodes == NULL || node == NULL || node->behind == NULL || !set_node(node, kernel)) {
        if (node != NULL) { free(node->behind); }
        free(node);
        return NULL;
    }
    graph->nodes[graph->count++] = node;
    return node;
}

/* ------------------------------------------------------ graphs */

int emulated_graph_create(struct gpu_graph **graph, unsigned flags)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS && flags != 0) { code = GPU_INVALID_VALUE; }
    *graph = code == GPU_SUCCESS ? calloc(1, sizeof **graph) : NULL;
    if (*graph == NULL) { return emulated_leave(code == GPU_SUCCESS ? GPU_OUT_OF_MEMORY : code); }
    (*graph)->next = graphs;
    graphs = *graph;
    return emulated_leave(GPU_SUCCESS);
}

int emulated_graph_add_kernel(struct gpu_node **node, struct gpu_graph *graph,
                              struct gpu_node *const *behind, size_t behind_count,
                              const struct gpu_kernel_node *kernel)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    const bool is_known = code == GPU_SUCCESS && is_graph(graph);
    bool are_valid = is_known && is_valid(kernel);
    for (size_t i = 0; i < behind_count && are_valid; i++) {
        are_valid = find_node(graph, behind[i]) < graph->count;
    }
    if (!are_valid) { return emulated_leave(code == GPU_SUCCESS ? GPU_INVALID_VALUE : code); }
    *node = append(graph, kernel, behind_count);
    if (*node == NULL) { return emulated_leave(GPU_OUT_OF_MEMORY); }
    for (size_t i = 0; i < behind_count; i++) { (*node)->behind[i] = behind[i]; }
    (*node)->behind_count = behind_count;
    return emulated_leave(GPU_SUCCESS);
}

int emulated_graph_destroy(struct gpu_graph *graph)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    if (!is_graph(graph)) { return emulated_leave(GPU_INVALID_VALUE); }
    struct gpu_graph **link = &graphs;
    while (*link != graph) { link = &(*link)->next; }
    *link = graph->next;
    free_nodes(graph);
    free(graph);
    return emulated_leave(GPU_SUCCESS);
}

/* ------------------------------------------------------ graphs that can be launched */

static bool copy_nodes(const struct gpu_graph *graph, struct gpu_graph *own)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct gpu_node *from = graph->nodes[i];
        void *arguments = from->arguments;
        const struct gpu_kernel_node kernel = {.function =
                                                   (struct gpu_function *)(uintptr_t)from->kernel,
                                               .blocks_x = from->blocks,
                                               .threads_x = from->threads,
                                               .arguments = &arguments};
        struct gpu_node *node = append(own, &kernel, from->behind_count);
        if (node == NULL) { return false; }
        for (size_t k = 0; k < from->behind_count; k++) {
            node->behind[k] = own->nodes[find_node(graph, from->behind[k])];
        }
        node->behind_count = from->behind_count;
    }
    return true;
}

int emulated_graph_instantiate(struct gpu_graph_exec **exec, struct gpu_graph *graph,
                               unsigned long long flags)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    *exec = NULL;
    if (code == GPU_SUCCESS && (flags != 0 || !is_graph(graph))) { code = GPU_INVALID_VALUE; }
    if (code == GPU_SUCCESS) {
        code = (int)emulated_setting(getenv("TANIST_EMULATED_GPU"), "graphs=", GPU_SUCCESS);
    }
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    struct gpu_graph_exec *made = calloc(1, sizeof *made);
    if (made == NULL || !copy_nodes(graph, &made->own)) {
        if (made != NULL) { free_nodes(&made->own); }
        free(made);
        return emulated_leave(GPU_OUT_OF_MEMORY);
    }
    made->origin = graph;
    made->next = execs;
    execs = made;
    counts.made++;
    *exec = made;
    return emulated_leave(GPU_SUCCESS);
}

/* Kernels that are queued have copies of their arguments. */
int emulated_graph_set_kernel(struct gpu_graph_exec *exec, struct gpu_node *node,
                              const struct gpu_kernel_node *kernel)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    if (!is_exec(exec) || !is_graph(exec->origin) || !is_valid(kernel)) {
        return emulated_leave(GPU_INVALID_VALUE);
    }
    const size_t number = find_node(exec->origin, node);
    if (number >= exec->own.count) { return emulated_leave(GPU_INVALID_VALUE); }
    if (!set_node(exec->own.nodes[number], kernel)) { code = GPU_OUT_OF_MEMORY; }
    counts.changed++;
    return emulated_leave(code);
}

static bool may_queue(const struct gpu_node *node)
{
    bool may = !node->is_queued;
    for (size_t i = 0; i < node->behind_count; i++) { may = may && node->behind[i]->is_queued; }
    return may;
}

/* NULL: all are queued, as dependencies have no cycles. */
static struct gpu_node *next_node(const struct gpu_graph *graph)
{
    for (size_t i = graph->count; i > 0; i--) {
        if (may_queue(graph->nodes[i - 1])) { return graph->nodes[i - 1]; }
    }
    return NULL;
}

static uint64_t queue_node(struct gpu_node *node, struct gpu_stream *stream)
{
    const struct emulated_work work = {.kind = WORK_LAUNCH,
                                       .kernel = node->kernel,
                                       .from = node->arguments,
                                       .bytes = node->kernel->bytes,
                                       .is_staged = true,
                                       .blocks = node->blocks,
                                       .threads = node->threads};
    node->is_queued = true;
    return emulated_queue_add(stream, &work);
}

static int queue_all(struct gpu_graph_exec *exec, struct gpu_stream *stream)
{
    for (size_t i = 0; i < exec->own.count; i++) { exec->own.nodes[i]->is_queued = false; }
    struct gpu_node *node = next_node(&exec->own);
    for (; node != NULL; node = next_node(&exec->own)) {
        exec->number = queue_node(node, stream);
        if (exec->number == 0) { return GPU_OUT_OF_MEMORY; }
    }
    exec->stream = stream;
    counts.launched++;
    return GPU_SUCCESS;
}

/* Stricter than CUDA: a launch is in the stream of the last one, until that one is done. */
int emulated_graph_launch(struct gpu_graph_exec *exec, struct gpu_stream *stream)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    stream = emulated_stream_of(stream);
    if (!is_exec(exec)) { return emulated_leave(GPU_INVALID_VALUE); }
    const bool is_elsewhere = exec->stream != stream && emulated_queue_is_pending(exec->number);
    if (is_elsewhere || !emulated_is_current(stream->home)) {
        return emulated_leave(GPU_INVALID_HANDLE);
    }
    return emulated_leave(queue_all(exec, stream));
}

/* Kernels that are queued are done all the same. */
int emulated_graph_exec_destroy(struct gpu_graph_exec *exec)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    if (!is_exec(exec)) { return emulated_leave(GPU_INVALID_VALUE); }
    struct gpu_graph_exec **link = &execs;
    while (*link != exec) { link = &(*link)->next; }
    *link = exec->next;
    free_nodes(&exec->own);
    free(exec);
    return emulated_leave(GPU_SUCCESS);
}
