#include "graph/device_memory.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/device_memory_private.h"
#include "graph/ops/ops.h"

/* As the strictest alignment of a device's allocations. */
enum { DEVICE_LINE = 256 };

#define MIB 1048576.0

static const struct backend_device *device_of(const struct tn_program *program)
{
    return &program->backend->device;
}

void device_memory_select(const struct tn_program *program)
{
    const struct backend_device *device = device_of(program);
    if (device->select != NULL) { device->select(device->number); }
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + DEVICE_LINE - 1) / DEVICE_LINE * DEVICE_LINE;
}

/* ------------------------------------------------------ opening */

/* Training has the fields twice: for the present run and for the next one. */
static uint64_t next_bytes(const struct tn_program *program)
{
    return program->options.mode == TN_TRAIN ? round_up(program->field_bytes) : 0;
}

/* `sizes`: by space. `constants`: by node, the offset of its data; NULL: not asked for. */
static void measure(const struct tn_program *program, uint64_t sizes[static SPACES],
                    uint64_t *constants)
{
    const struct tn_graph *graph = program->graph;
    const uint64_t vector = program->parameters * sizeof(float);
    for (int space = 0; space < SPACES; space++) { sizes[space] = 0; }
    sizes[SPACE_ARENA] = program->plan.arena_bytes;
    sizes[SPACE_VALUES] = vector;
    sizes[SPACE_GRADIENT] = program->options.mode == TN_TRAIN ? vector : 0;
    sizes[SPACE_FIELDS] = program->field_bytes;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].op != &op_constant) { continue; }
        if (constants != NULL) { constants[i] = sizes[SPACE_CONSTANTS]; }
        sizes[SPACE_CONSTANTS] += plan_bytes(graph, tensor_of(i, 0), false);
    }
    for (int space = 0; space < SPACES; space++) { sizes[space] = round_up(sizes[space]); }
}

struct device_memory_size device_memory_size(const struct tn_program *program)
{
    uint64_t sizes[SPACES];
    assert(backend_has_device(program->backend));
    measure(program, sizes, NULL);
    return (struct device_memory_size){
        .values = sizes[SPACE_VALUES],
        .gradient = sizes[SPACE_GRADIENT],
        .results = sizes[SPACE_ARENA],
        .rest = sizes[SPACE_FIELDS] + sizes[SPACE_CONSTANTS] + next_bytes(program) + DEVICE_LINE,
        .pinned = program->field_bytes + PLAN_LINE + device_copies_pinned(program),
        .fetched = device_copies_fetched(program),
    };
}

static enum tn_status allocate(const struct tn_program *program, struct device_memory *memory,
                               struct error *error)
{
    void *all = NULL;
    struct error reason = {.status = TN_OK};
    enum tn_status status =
        device_of(program)->allocate((size_t)memory->bytes + DEVICE_LINE, &all, &reason);
    if (status != TN_OK) {
        return error_set(
            error, status,
            "the program for %" PRIu32
            " examples needs %.1f MiB on the device (values and gradient %.1f, results "
            "of operations %.1f): use fewer examples in a slice (a smaller batch, or "
            "more slices), or a smaller model: %s",
            program->options.examples, (double)memory->bytes / MIB,
            (double)(memory->sizes[SPACE_VALUES] + memory->sizes[SPACE_GRADIENT]) / MIB,
            (double)memory->sizes[SPACE_ARENA] / MIB, reason.text);
    }
    memory->all = all;
    uint64_t offset = 0;
    for (int space = 0; space < SPACES; offset += memory->sizes[space++]) {
        memory->parts[space] = memory->all + offset;
    }
    if (next_bytes(program) > 0) { memory->copies.next_fields = memory->all + offset; }
    return TN_OK;
}

size_t device_memory_value_bytes(const struct tn_program *program, tn_tensor value)
{
    const struct tn_graph *graph = program->graph;
    return (size_t)shape_elements(shape_of(graph, value)) *
           type_size(tn_type_of(graph, value), false);
}

static enum tn_status send_constants(const struct tn_program *program, struct error *error)
{
    enum tn_status status = TN_OK;
    const struct device_memory *memory = program->device;
    for (uint32_t i = 0; i < program->graph->count && status == TN_OK; i++) {
        const struct node *node = &program->graph->nodes[i];
        if (node->op != &op_constant || node->attributes.data == NULL) { continue; }
        uint8_t *to = memory->parts[SPACE_CONSTANTS] + memory->constants[i];
        status = device_of(program)->upload(
            to, node->attributes.data, device_memory_value_bytes(program, tensor_of(i, 0)), error);
    }
    return status;
}

enum tn_status device_memory_open(struct tn_program *program, struct error *error)
{
    assert(backend_has_device(program->backend) && !program->backend->wide);
    struct device_memory *memory = calloc(1, sizeof *memory);
    program->device = memory;
    if (memory != NULL) { memory->constants = calloc((size_t)program->graph->count + 1, 8); }
    if (memory == NULL || memory->constants == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory: make the model or the slices smaller");
    }
    measure(program, memory->sizes, memory->constants);
    for (int space = 0; space < SPACES; space++) { memory->bytes += memory->sizes[space]; }
    memory->bytes += next_bytes(program);
    device_memory_select(program);
    enum tn_status status = allocate(program, memory, error);
    if (status == TN_OK) { status = send_constants(program, error); }
    if (status == TN_OK) { status = device_copies_open(program, error); }
    if (status == TN_OK && device_of(program)->graphs != NULL) {
        status = device_of(program)->graphs->create(&memory->graphs, error);
    }
    if (status != TN_OK) { return status; }
    /* Variables without a gradient keep these zeros. */
    return device_of(program)->clear(memory->parts[SPACE_GRADIENT],
                                     (size_t)memory->sizes[SPACE_GRADIENT], error);
}

void device_memory_close(struct tn_program *program)
{
    if (program->device == NULL) { return; }
    device_memory_select(program);
    if (program->device->graphs != NULL) {
        device_of(program)->graphs->destroy(program->device->graphs);
    }
    device_copies_close(program);
    device_of(program)->release(program->device->all);
    free(program->device->constants);
    free(program->device);
    program->device = NULL;
}

enum tn_status device_memory_open_fields(struct tn_program *program, struct error *error)
{
    const size_t bytes = (size_t)program->field_bytes + PLAN_LINE;
    void *memory = NULL;
    if (!backend_has_device(program->backend)) {
        program->fields = aligned_alloc(PLAN_LINE, bytes);
        return TN_OK;
    }
    device_memory_select(program);
    enum tn_status status = device_of(program)->queues->allocate(bytes, &memory, error);
    program->fields = memory;
    return status;
}

void device_memory_close_fields(struct tn_program *program)
{
    if (program->fields == NULL) { return; }
    if (backend_has_device(program->backend)) {
        device_memory_select(program);
        device_of(program)->queues->release(program->fields);
    } else {
        free(program->fields);
    }
}

/* ------------------------------------------------------ kernels */

void device_memory_begin_kernels(const struct tn_program *program)
{
    struct gpu_graphs *graphs = program->device->graphs;
    if (graphs != NULL) { device_of(program)->graphs->begin(graphs); }
}

enum tn_status device_memory_end_kernels(const struct tn_program *program, struct error *error)
{
    if (program->device->graphs == NULL) { return TN_OK; }
    return device_of(program)->graphs->end(error);
}

/* ------------------------------------------------------ copies */

void *device_memory_address(const struct tn_program *program, const struct place *place)
{
    const struct device_memory *memory = program->device;
    if (place->space == SPACE_NONE) { return NULL; }
    if (place->space == SPACE_CONSTANTS) {
        return memory->parts[SPACE_CONSTANTS] + memory->constants[place->offset];
    }
    return memory->parts[place->space] + place->offset;
}

/* Only instructions write these; all others are equal on both sides. */
static bool is_written(const struct place *place)
{
    return place->space == SPACE_ARENA || place->space == SPACE_GRADIENT;
}

static enum tn_status fetch(const struct tn_program *program, const struct place *place,
                            size_t bytes, struct error *error)
{
    if (!is_written(place)) { return TN_OK; }
    return device_of(program)->download(program_memory(program, place),
                                        device_memory_address(program, place), bytes, error);
}

static size_t view_bytes(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape) * type_size(view->type, false);
}

void device_memory_bind(const struct tn_program *program, struct instruction *instruction)
{
    struct kernel_call *call = &instruction->call;
    for (uint32_t i = 0; i < call->node->input_count; i++) {
        call->in[i].data = device_memory_address(program, &instruction->in[i]);
    }
    for (uint32_t o = 0; o < call->node->op->outputs; o++) {
        call->out[o].data = device_memory_address(program, &instruction->out[o]);
    }
    call->workspace = program->device->parts[SPACE_ARENA] + instruction->workspace;
}

enum tn_status device_memory_fetch_inputs(const struct tn_program *program,
                                          const struct instruction *instruction,
                                          struct error *error)
{
    const struct kernel_call *call = &instruction->call;
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < call->node->input_count && status == TN_OK; i++) {
        status = fetch(program, &instruction->in[i], view_bytes(&call->in[i]), error);
    }
    return status;
}

enum tn_status device_memory_fetch_outputs(const struct tn_program *program,
                                           const struct instruction *instruction,
                                           struct error *error)
{
    const struct kernel_call *call = &instruction->call;
    enum tn_status status = TN_OK;
    for (uint32_t o = 0; o < call->node->op->outputs && status == TN_OK; o++) {
        status = fetch(program, &instruction->out[o], view_bytes(&call->out[o]), error);
    }
    return status;
}

enum tn_status device_memory_send_outputs(const struct tn_program *program,
                                          const struct instruction *instruction,
                                          struct error *error)
{
    const struct kernel_call *call = &instruction->call;
    enum tn_status status = TN_OK;
    for (uint32_t o = 0; o < call->node->op->outputs && status == TN_OK; o++) {
        const struct place *place = &instruction->out[o];
        if (!is_written(place)) { continue; }
        status = device_of(program)->upload(device_memory_address(program, place),
                                            program_memory(program, place),
                                            view_bytes(&call->out[o]), error);
    }
    return status;
}
