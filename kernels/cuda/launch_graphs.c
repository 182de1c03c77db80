/* kernels/cuda/launch_graphs.c: kernels that are held back and started as graphs
 * (kernels/gpu/graphs.h). A graph is a chain of kernels, launched in the default stream, so events
 * and copies are ordered with it as with its kernels one by one. */
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "kernels/cuda/launch_private.h"

/* The strictest alignment of arguments. */
enum { ARGUMENT_LINE = 16 };

struct held_kernel {
    struct launch_kernel kernel; /* Its arguments are at `offset`. */
    size_t offset;
    struct gpu_node *node;
    bool has_changed; /* Its arguments, since the graph was last launched. */
};

/* The kernels between two cuts, as they were in the last run. */
struct part {
    struct held_kernel *kernels;
    size_t capacity;
    size_t count; /* The number of known kernels, of this run or of the last one. */
    size_t held;  /* The number of kernels of this run. */
    uint8_t *arguments;
    size_t arguments_capacity;
    bool differs; /* From the graph, in more than arguments. */
    struct gpu_graph *graph;
    struct gpu_graph_exec *exec; /* NULL: not made yet, or discarded. */
};

struct gpu_graphs {
    uint32_t gpu;
    bool is_on;
    struct part *parts;
    size_t count, present; /* Number of the part that is being held back. */
};

/* The graphs that hold back the kernels of this thread; NULL: none. */
static _Thread_local struct gpu_graphs *holding;
static atomic_bool have_failed;

/* ------------------------------------------------------ kernels that are held back */

/* Room for `wanted` elements of this size. False: out of memory. */
static bool grow(void **memory, size_t *capacity, size_t wanted, size_t size)
{
    if (wanted <= *capacity) { return true; }
    const size_t count = size_max(wanted, 2 * *capacity);
    void *more = realloc(*memory, count * size);
    if (more == NULL) { return false; }
    *memory = more;
    *capacity = count;
    return true;
}

static struct part *present_part(struct gpu_graphs *graphs)
{
    if (graphs->present < graphs->count) { return &graphs->parts[graphs->present]; }
    struct part *more = realloc(graphs->parts, (graphs->count + 1) * sizeof *more);
    if (more == NULL) { return NULL; }
    graphs->parts = more;
    more[graphs->count] = (struct part){.count = 0};
    return &more[graphs->count++];
}

static bool is_same(const struct held_kernel *known, const struct launch_kernel *kernel)
{
    return known->kernel.function == kernel->function && known->kernel.blocks == kernel->blocks &&
           known->kernel.threads == kernel->threads && known->kernel.bytes == kernel->bytes;
}

/* Where the arguments behind kernel `number` begin. */
static size_t arguments_end(const struct part *part, size_t number)
{
    if (number == 0) { return 0; }
    const struct held_kernel *last = &part->kernels[number - 1];
    const size_t end = last->offset + last->kernel.bytes;
    return (end + ARGUMENT_LINE - 1) / ARGUMENT_LINE * ARGUMENT_LINE;
}

/* A kernel that the last run did not have here. False: out of memory. */
static bool append(struct part *part, const struct launch_kernel *kernel)
{
    const size_t offset = arguments_end(part, part->held);
    void *kernels = part->kernels, *arguments = part->arguments;
    const bool has_memory =
        grow(&kernels, &part->capacity, part->held + 1, sizeof *part->kernels) &&
        grow(&arguments, &part->arguments_capacity, offset + kernel->bytes, 1);
    part->kernels = kernels;
    part->arguments = arguments;
    if (!has_memory) { return false; }
    assert(part->kernels != NULL && part->arguments != NULL);
    part->kernels[part->held] = (struct held_kernel){.kernel = *kernel, .offset = offset};
    memcpy(part->arguments + offset, kernel->arguments, kernel->bytes);
    part->count = ++part->held;
    part->differs = true;
    return true;
}

bool launch_hold(const struct launch_kernel *kernel)
{
    if (holding == NULL || !holding->is_on) { return false; }
    assert(holding->gpu == launch_number());
    struct part *part = present_part(holding);
    if (part == NULL) { return false; }
    if (part->held == part->count) { return append(part, kernel); }
    struct held_kernel *known = &part->kernels[part->held];
    if (!is_same(known, kernel)) { return append(part, kernel); }
    uint8_t *arguments = part->arguments + known->offset;
    if (memcmp(arguments, kernel->arguments, kernel->bytes) != 0) {
        memcpy(arguments, kernel->arguments, kernel->bytes);
        known->has_changed = true;
    }
    part->held++;
    return true;
}

/* ------------------------------------------------------ graphs */

static void discard(struct part *part)
{
    if (part->exec != NULL) { (void)launch_driver()->graph_exec_destroy(part->exec); }
    if (part->graph != NULL) { (void)launch_driver()->graph_destroy(part->graph); }
    part->exec = NULL;
    part->graph = NULL;
}

static int add_node(struct part *part, size_t number)
{
    struct held_kernel *held = &part->kernels[number];
    void *arguments = part->arguments + held->offset;
    const struct gpu_kernel_node node = launch_node(&held->kernel, &arguments);
    struct gpu_node *const *behind = number > 0 ? &part->kernels[number - 1].node : NULL;
    return launch_driver()->graph_add_kernel(&held->node, part->graph, behind, number > 0, &node);
}

static int build(struct part *part)
{
    const struct gpu_driver *driver = launch_driver();
    int code = driver->graph_create(&part->graph, 0);
    for (size_t i = 0; i < part->held && code == GPU_SUCCESS; i++) {
        part->kernels[i].has_changed = false;
        code = add_node(part, i);
    }
    return code == GPU_SUCCESS ? driver->graph_instantiate(&part->exec, part->graph, 0) : code;
}

static int change_arguments(struct part *part)
{
    int code = GPU_SUCCESS;
    for (size_t i = 0; i < part->held && code == GPU_SUCCESS; i++) {
        struct held_kernel *held = &part->kernels[i];
        if (!held->has_changed) { continue; }
        void *arguments = part->arguments + held->offset;
        const struct gpu_kernel_node node = launch_node(&held->kernel, &arguments);
        code = launch_driver()->graph_set_kernel(part->exec, held->node, &node);
        held->has_changed = false;
    }
    return code;
}

/* The graph of the kernels that are held back. After an error there is none, and nothing was
 * started. */
static enum tn_status prepare(struct part *part, struct error *reason)
{
    if (part->held < part->count) { part->differs = true; }
    if (part->differs) { discard(part); }
    const int code = part->exec == NULL ? build(part) : change_arguments(part);
    part->differs = code != GPU_SUCCESS;
    if (part->differs) { discard(part); }
    return launch_check(code, reason, "making a graph of kernels");
}

static enum tn_status start_each(struct part *part, struct error *text)
{
    enum tn_status status = TN_OK;
    for (size_t i = 0; i < part->held && status == TN_OK; i++) {
        struct launch_kernel kernel = part->kernels[i].kernel;
        kernel.arguments = part->arguments + part->kernels[i].offset;
        status = launch_start(&kernel, text);
    }
    return status;
}

/* If the device has failed, the kernels report it. */
static enum tn_status start(struct part *part, struct error *text)
{
    struct error reason = {.status = TN_OK};
    if (part->held == 1 || atomic_load(&have_failed)) { return start_each(part, text); }
    if (prepare(part, &reason) == TN_OK) {
        return launch_check(launch_driver()->graph_launch(part->exec, NULL), text,
                            "starting a graph of kernels");
    }
    enum tn_status status = start_each(part, text);
    if (status == TN_OK && !atomic_exchange(&have_failed, true)) {
        log_warn("kernels are started one by one, not as graphs, which is slower: %s", reason.text);
    }
    return status;
}

enum tn_status launch_held(struct error *text)
{
    if (holding == NULL || holding->present == holding->count) { return TN_OK; }
    struct part *part = &holding->parts[holding->present];
    if (part->held == 0) { return TN_OK; }
    assert(holding->gpu == launch_number());
    const enum tn_status status = start(part, text);
    part->count = part->held;
    part->held = 0;
    holding->present++;
    return status;
}

/* ------------------------------------------------------ calls */

static enum tn_status create(struct gpu_graphs **out, struct error *error)
{
    const char *wanted = getenv("TANIST_GPU_GRAPHS");
    *out = calloc(1, sizeof **out);
    if (*out == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    (*out)->gpu = launch_number();
    (*out)->is_on =
        gpu_driver_has_graphs(launch_driver()) && (wanted == NULL || strcmp(wanted, "0") != 0);
    return TN_OK;
}

/* After a failure of the GPU, its graphs are destroyed by the end of this process. */
static void destroy(struct gpu_graphs *graphs)
{
    struct error text = {.status = TN_OK};
    if (graphs == NULL) { return; }
    assert(holding != graphs);
    enum tn_status status = launch_begin(&text);
    for (size_t i = 0; i < graphs->count; i++) {
        if (status == TN_OK) { discard(&graphs->parts[i]); }
        free(graphs->parts[i].kernels);
        free(graphs->parts[i].arguments);
    }
    (void)launch_end(status, &text, NULL);
    free(graphs->parts);
    free(graphs);
}

static void begin(struct gpu_graphs *graphs)
{
    assert(graphs != NULL && holding == NULL && graphs->gpu == launch_number());
    graphs->present = 0;
    holding = graphs;
}

static enum tn_status cut(struct error *error)
{
    struct error text = {.status = TN_OK};
    assert(holding != NULL);
    const enum tn_status status = launch_begin(&text);
    return launch_end(status, &text, error);
}

static enum tn_status end(struct error *error)
{
    const enum tn_status status = cut(error);
    if (holding->present < holding->count) { holding->parts[holding->present].held = 0; }
    holding = NULL;
    return status;
}

const struct gpu_graph_functions launch_graphs = {
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .cut = cut,
    .end = end,
};
