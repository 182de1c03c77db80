/* graph/run.c: running a program, its inputs, outputs and initial values. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "graph/device_memory.h"
#include "graph/joined_slices.h"
#include "graph/ops/ops.h"

/* The first random stream of the initial values; each variable has one. */
#define STREAM_INITIAL UINT64_C(0x696e697469616c00)

uint64_t tn_program_parameters(const struct tn_program *program)
{
    assert(program != NULL);
    return program->parameters;
}

static void fill(float *out, uint64_t count, float value)
{
    for (uint64_t i = 0; i < count; i++) { out[i] = value; }
}

/* Uniform in +-limit. */
static void fill_uniform(float *out, uint64_t count, uint64_t seed, uint64_t stream, float limit)
{
    for (uint64_t i = 0; i < count; i++) {
        out[i] = (2.0F * random_unit_at(seed, stream, i) - 1.0F) * limit;
    }
}

static void fill_normal(float *out, uint64_t count, uint64_t seed, uint64_t stream, float deviation)
{
    for (uint64_t i = 0; i < count; i++) { out[i] = random_normal_at(seed, stream, i) * deviation; }
}

static void initialize(const struct node *node, uint64_t count, uint64_t seed, uint64_t stream,
                       float *out)
{
    const struct tn_variable_options *options = node->attributes.variable;
    const struct tn_shape *shape = &node->shapes[0];
    float fan_out = (float)shape_last(shape);
    float fan_in = shape->rank <= 1 ? fan_out : (float)count / fan_out;
    switch (options->init) {
    case TN_INIT_DEFAULT: /* tn_variable() replaces it. */
    case TN_INIT_ZEROS: fill(out, count, 0); break;
    case TN_INIT_ONES: fill(out, count, 1); break;
    case TN_INIT_GLOROT_UNIFORM:
        fill_uniform(out, count, seed, stream, sqrtf(6.0F / (fan_in + fan_out)));
        break;
    case TN_INIT_HE_NORMAL: fill_normal(out, count, seed, stream, sqrtf(2.0F / fan_in)); break;
    case TN_INIT_NORMAL: fill_normal(out, count, seed, stream, options->scale); break;
    case TN_INIT_UNIFORM: fill_uniform(out, count, seed, stream, options->scale); break;
    case TN_INIT_VALUES:
        assert(node->attributes.initial->count == count);
        memcpy(out, node->attributes.initial->values, (size_t)count * sizeof *out);
        break;
    }
}

void tn_program_initialize(const struct tn_program *program, uint64_t seed, float *values)
{
    assert(program != NULL && (values != NULL || program->parameters == 0));
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct program_variable *variable = &program->variables[i];
        initialize(&program->graph->nodes[variable->node], variable->count, seed,
                   STREAM_INITIAL + i, values + variable->offset);
    }
}

/* Kernels do not write variables and constants. */
static void *constant_data(const struct tn_program *program, uint64_t number)
{
    assert(number < program->graph->count);
    return (void *)(uintptr_t)program->graph->nodes[number].attributes.data;
}

void *program_memory(const struct tn_program *program, const struct place *place)
{
    switch (place->space) {
    case SPACE_ARENA: return program->arena + place->offset;
    case SPACE_VALUES: return (uint8_t *)(uintptr_t)program->values + place->offset;
    case SPACE_GRADIENT: return (uint8_t *)program->gradient + place->offset;
    case SPACE_FIELDS: return program->fields + place->offset;
    case SPACE_CONSTANTS: return constant_data(program, place->offset);
    case SPACE_NONE:
    case SPACES: break;
    }
    return NULL;
}

static struct tn_view value_view(const struct tn_program *program, tn_tensor value)
{
    return (struct tn_view){
        .type = tn_type_of(program->graph, value),
        .shape = *shape_of(program->graph, value),
        .data = program_memory(program, &program->plan.places[value.v - 1]),
    };
}

struct tn_view tn_program_field(const struct tn_program *program, const char *field)
{
    assert(program != NULL && field != NULL);
    for (uint32_t t = 0; t < program->order_count; t++) {
        const struct node *node = &program->graph->nodes[program->order[t]];
        if (node->op == &op_placeholder && strcmp(node->attributes.name, field) == 0) {
            return value_view(program, tensor_of(program->order[t], 0));
        }
    }
    return (struct tn_view){0};
}

struct tn_view tn_program_output(const struct tn_program *program, const char *name)
{
    assert(program != NULL && name != NULL);
    for (uint32_t i = 0; i < program->graph->mark_count; i++) {
        const struct mark *mark = &program->graph->marks[i];
        if (mark->name != NULL && strcmp(mark->name, name) == 0 &&
            program->kept[mark->value.v - 1]) {
            return value_view(program, mark->value);
        }
    }
    return (struct tn_view){0};
}

void tn_program_describe(const struct tn_program *program, struct tn_program_facts *out)
{
    assert(program != NULL && out->struct_size == sizeof *out);
    *out = program->facts;
    out->struct_size = sizeof *out;
}

/* `packs`: the variables have changed since they were packed. */
static void execute_here(const struct tn_program *program, struct instruction *instruction,
                         bool packs)
{
    struct kernel_call *call = &instruction->call;
    const struct node *node = call->node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        call->in[i].data = program_memory(program, &instruction->in[i]);
    }
    for (uint32_t o = 0; o < node->op->outputs; o++) {
        call->out[o].data = program_memory(program, &instruction->out[o]);
    }
    call->workspace = program->arena + instruction->workspace;
    if (instruction->needs.packed > 0) {
        call->packed = program->packed + instruction->packed;
        if (packs) { instruction->backend->pack(call, program->packed + instruction->packed); }
    }
    instruction->kernel(call);
}

static enum tn_status execute(const struct tn_program *program, struct instruction *instruction,
                              const struct tn_run *run, bool packs, struct error *error)
{
    struct kernel_call *call = &instruction->call;
    call->seed = run->seed;
    call->step = run->step;
    call->first_example = run->first;
    call->examples = program->options.examples;
    call->scale = run->scale;
    if (program->device == NULL) {
        execute_here(program, instruction, packs);
        return TN_OK;
    }
    if (instruction->backend == program->backend) {
        enum tn_status sent = device_copies_use_values(program, instruction, error);
        if (sent != TN_OK) { return sent; }
        device_memory_bind(program, instruction);
        instruction->kernel(call);
        return TN_OK;
    }
    enum tn_status status = device_memory_fetch_inputs(program, instruction, error);
    if (status != TN_OK) { return status; }
    execute_here(program, instruction, packs);
    return device_memory_send_outputs(program, instruction, error);
}

/* Variables without a gradient have zeros. */
static void clear_unused_gradients(const struct tn_program *program)
{
    size_t size = type_size(TN_FLOAT32, program->backend->wide);
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct program_variable *variable = &program->variables[i];
        if (variable->gradient.v == 0) {
            memset((uint8_t *)program->gradient + variable->offset * size, 0,
                   (size_t)variable->count * size);
        }
    }
}

/* The examples [first, first + count) in ascending order, loss by loss. */
static double sum_losses(const struct tn_program *program, uint32_t first, uint32_t count)
{
    double total = 0;
    for (uint32_t i = 0; i < program->graph->mark_count; i++) {
        const struct mark *mark = &program->graph->marks[i];
        if (mark->kind != MARK_LOSS) { continue; }
        const void *data = value_view(program, mark->value).data;
        double sum = 0;
        assert(data != NULL);
        for (uint32_t e = first; e < first + count; e++) {
            sum += program->backend->wide ? ((const double *)data)[e]
                                          : (double)((const float *)data)[e];
        }
        total += (double)mark->weight * sum;
    }
    return total;
}

double joined_slices_loss(const struct tn_program *program, uint32_t slice)
{
    assert(slice < program->slices);
    const uint32_t count = program->options.examples / program->slices;
    return sum_losses(program, slice * count, count);
}

/* The sums of slices over their tree: one waits until its right sibling is complete. */
static double sum_all_losses(const struct tn_program *program)
{
    double waiting[CHAR_BIT * sizeof program->slices + 1];
    uint32_t depth = 0;
    if (program->slices == 0) { return sum_losses(program, 0, program->options.examples); }
    for (uint32_t s = 0; s < program->slices; s++) {
        const bool is_last = s + 1 == program->slices;
        waiting[depth] = joined_slices_loss(program, s);
        for (uint32_t bits = s; depth > 0 && (is_last || (bits & 1) != 0); bits >>= 1, depth--) {
            waiting[depth - 1] += waiting[depth];
        }
        depth++;
    }
    return waiting[0];
}

/* Report the elements that the instruction has made final. Those from `*from` on were before. */
static void report_final(const struct tn_program *program, const struct instruction *instruction,
                         struct tn_run *run, uint64_t *from)
{
    if (run->became_final == NULL || instruction->final_from >= *from) { return; }
    if (*from == program->parameters) { run->loss_sum = sum_all_losses(program); }
    *from = instruction->final_from;
    run->became_final(run->user, *from);
}

/* One instruction; its results are checked and reported. */
static enum tn_status execute_one(struct tn_program *program, struct instruction *instruction,
                                  struct tn_run *run, bool packs, uint64_t *final_from,
                                  struct error *error)
{
    enum tn_status status = execute(program, instruction, run, packs, error);
    if (status == TN_OK && program->check_numerics) {
        if (program->device != NULL) {
            status = device_memory_fetch_outputs(program, instruction, error);
        }
        if (status == TN_OK) { status = program_check_numerics(program, instruction, run, error); }
    }
    if (status != TN_OK || program->options.mode != TN_TRAIN) { return status; }
    if (program->device != NULL) { return device_copies_fetch_final(program, instruction, error); }
    report_final(program, instruction, run, final_from);
    return TN_OK;
}

static enum tn_status execute_all(struct tn_program *program, struct tn_run *run, bool packs,
                                  struct error *error)
{
    enum tn_status status = TN_OK;
    uint64_t final_from = program->parameters;
    for (uint32_t i = 0; i < program->instruction_count && status == TN_OK; i++) {
        status = execute_one(program, &program->instructions[i], run, packs, &final_from, error);
    }
    return status;
}

static enum tn_status start_all(struct tn_program *program, struct tn_run *run, bool packs,
                                struct error *error)
{
    device_memory_begin_kernels(program);
    enum tn_status status = execute_all(program, run, packs, error);
    enum tn_status ended = device_memory_end_kernels(program, status == TN_OK ? error : NULL);
    return status == TN_OK ? ended : status;
}

/* Report the parts of the gradient as they arrive from the device. */
static enum tn_status take_parts(const struct tn_program *program, struct tn_run *run,
                                 struct error *error)
{
    const uint32_t count = device_copies_parts(program);
    for (uint32_t part = 0; part < count; part++) {
        uint64_t first = 0;
        enum tn_status status = device_copies_await_part(program, part, &first, error);
        if (status != TN_OK) { return status; }
        if (run->became_final == NULL) { continue; }
        if (part == 0) { run->loss_sum = sum_all_losses(program); }
        run->became_final(run->user, first);
    }
    return TN_OK;
}

/* All work is ordered before the first result is awaited. */
static enum tn_status execute_on_device(struct tn_program *program, struct tn_run *run, bool packs,
                                        struct error *error)
{
    bool (*fill_next)(void *) = program->fill_next;
    enum tn_status status = device_copies_begin(program, packs, error);
    program->fill_next = NULL;
    program->uses_next = false;
    if (status == TN_OK) { status = start_all(program, run, packs, error); }
    if (status == TN_OK) { status = device_copies_fetch_rest(program, error); }
    if (status == TN_OK && fill_next != NULL) {
        status = device_copies_send_next(program, fill_next, program->fill_user, error);
    }
    if (status == TN_OK) { status = take_parts(program, run, error); }
    if (status == TN_OK) { status = device_copies_await_rest(program, error); }
    if (status != TN_OK) { device_copies_abandon(program); }
    return status;
}

enum tn_status program_run(struct tn_program *program, struct tn_run *run, const void *values,
                           void *gradient, struct error *error)
{
    bool train = program->options.mode == TN_TRAIN;
    assert(values != NULL || program->parameters == 0);
    assert(gradient != NULL || program->parameters == 0 || !train || program->keeps_gradient);
    program->values = values;
    program->gradient = program->keeps_gradient ? device_copies_gradient(program) : gradient;
    if (program->check_numerics) {
        enum tn_status status = program_check_numerics(program, NULL, run, error);
        if (status != TN_OK) { return status; }
    }
    if (train) { clear_unused_gradients(program); }
    bool packs = run->version == 0 || run->version != program->packed_version;
    program->packed_version = 0;
    if (program->device != NULL) { device_memory_select(program); }
    enum tn_status status = program->device != NULL ? execute_on_device(program, run, packs, error)
                                                    : execute_all(program, run, packs, error);
    if (status != TN_OK) { return status; }
    program->packed_version = run->version;
    run->loss_sum = sum_all_losses(program);
    return TN_OK;
}

enum tn_status tn_program_run(struct tn_program *program, struct tn_run *run,
                              struct tn_error *error)
{
    assert(program != NULL && run != NULL && run->struct_size == sizeof *run);
    assert(!program->backend->wide);
    struct error text = {.status = TN_OK};
    enum tn_status status = program_run(program, run, run->values, run->gradient, &text);
    return status == TN_OK ? TN_OK : error_export(&text, error);
}
