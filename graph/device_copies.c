/* graph/device_copies.c: the copies of a program that run beside its kernels, and the events that
 * order them. All events and parts are made with the program:
 *
 *   before a kernel       the fields, and the parts of the values that it reads, have arrived
 *   before a copy back    the kernels have computed it
 *   before the host reads the copy back is done
 *   before fields change  their copy to the device is done
 *
 * A run ends when the host has waited for its last copy back, which is behind all kernels, and
 * these are behind the copies to the device. So no copy of the next run meets this one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/device_memory_private.h"
#include "graph/ops/ops.h"

static const struct gpu_queues *queues_of(const struct tn_program *program)
{
    return program->backend->device.queues;
}

static struct device_copies *copies_of(const struct tn_program *program)
{
    assert(program->device != NULL);
    return &program->device->copies;
}

/* ------------------------------------------------------ opening */

static int by_offset(const void *left, const void *right)
{
    const struct program_variable *const *a = left, *const *b = right;
    return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

/* Whole variables: at most VALUE_PARTS_MAX parts of at least a share each. */
static void cut_values(const struct tn_program *program, const struct program_variable **sorted,
                       struct device_copies *copies)
{
    const uint64_t least = (program->parameters + VALUE_PARTS_MAX - 1) / VALUE_PARTS_MAX;
    uint64_t first = 0;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const uint64_t end = sorted[i]->offset + sorted[i]->count;
        if (end - first < least && end < program->parameters) { continue; }
        if (end == first) { continue; }
        assert(copies->value_count < VALUE_PARTS_MAX);
        copies->values[copies->value_count++] = (struct vector_part){.first = first, .end = end};
        first = end;
    }
    assert(first == program->parameters);
}

/* The number of parts up to the one with the last value that an instruction reads. */
static uint32_t parts_read(const struct device_copies *copies,
                           const struct instruction *instruction)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < instruction->call.node->input_count; i++) {
        if (instruction->in[i].space != SPACE_VALUES) { continue; }
        const struct tn_view *view = &instruction->call.in[i];
        const uint64_t end =
            instruction->in[i].offset / sizeof(float) + (uint64_t)shape_elements(&view->shape);
        while (count < copies->value_count && copies->values[count].first < end) { count++; }
    }
    return count;
}

static enum tn_status plan_values(struct tn_program *program, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    const struct program_variable **sorted =
        calloc((size_t)program->variable_count + 1, sizeof(*sorted));
    copies->values = calloc(VALUE_PARTS_MAX, sizeof *copies->values);
    if (sorted == NULL || copies->values == NULL) {
        free(sorted);
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < program->variable_count; i++) { sorted[i] = &program->variables[i]; }
    qsort(sorted, program->variable_count, sizeof(*sorted), by_offset);
    cut_values(program, sorted, copies);
    free(sorted);
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        program->instructions[i].value_parts = parts_read(copies, &program->instructions[i]);
    }
    return TN_OK;
}

/* Whether a part of the gradient ends with this instruction: it is large enough, or the last. */
static bool ends_part(const struct tn_program *program, const struct instruction *instruction,
                      uint64_t from)
{
    if (program->options.mode != TN_TRAIN || instruction->final_from >= from) { return false; }
    return instruction->final_from == 0 ||
           from - instruction->final_from >= program->parameters / GRADIENT_PARTS_MAX;
}

static enum tn_status plan_gradient(struct tn_program *program, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    copies->gradient = calloc((size_t)program->instruction_count + 1, sizeof *copies->gradient);
    if (copies->gradient == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    uint64_t from = program->parameters;
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        const struct instruction *instruction = &program->instructions[i];
        if (!ends_part(program, instruction, from)) { continue; }
        copies->gradient[copies->gradient_count++] =
            (struct vector_part){.first = instruction->final_from, .end = from};
        from = instruction->final_from;
    }
    assert(from == 0 || program->options.mode != TN_TRAIN || program->instruction_count == 0);
    return TN_OK;
}

static bool is_loss(const struct tn_program *program, tn_tensor value)
{
    for (uint32_t i = 0; i < program->graph->mark_count; i++) {
        const struct mark *mark = &program->graph->marks[i];
        if (mark->kind == MARK_LOSS && mark->value.v == value.v) { return true; }
    }
    return false;
}

/* Returns the bytes of all. `copies` NULL: only these. */
static uint64_t list_roots(const struct tn_program *program, struct device_copies *copies)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < program->root_count; i++) {
        const struct place place = program->plan.places[program->roots[i].v - 1];
        if (place.space != SPACE_ARENA) { continue; }
        const struct root_copy root = {
            .place = place,
            .bytes = device_memory_value_bytes(program, program->roots[i]),
            .offset = bytes,
            .is_loss = is_loss(program, program->roots[i]),
        };
        bytes += (root.bytes + PLAN_LINE - 1) / PLAN_LINE * PLAN_LINE;
        if (copies == NULL) { continue; }
        copies->root_list[copies->root_count++] = root;
        copies->rest_count += !root.is_loss;
    }
    return bytes;
}

uint64_t device_copies_fetched(const struct tn_program *program)
{
    return list_roots(program, NULL);
}

uint64_t device_copies_pinned(const struct tn_program *program)
{
    const uint64_t vector = program->parameters * sizeof(float);
    const uint64_t sums = program->options.mode == TN_TRAIN ? vector : 0;
    return list_roots(program, NULL) + sums + device_staging_bytes(vector);
}

static enum tn_status allocate_pinned(const struct tn_program *program, uint64_t bytes,
                                      uint8_t **out, struct error *error)
{
    void *memory = NULL;
    if (bytes == 0) { return TN_OK; }
    enum tn_status status = queues_of(program)->allocate((size_t)bytes, &memory, error);
    *out = memory;
    return status;
}

static enum tn_status plan_roots(struct tn_program *program, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    copies->root_list = calloc((size_t)program->root_count + 1, sizeof *copies->root_list);
    if (copies->root_list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status =
        allocate_pinned(program, list_roots(program, copies), &copies->roots, error);
    if (status != TN_OK || program->options.mode != TN_TRAIN) { return status; }
    return allocate_pinned(program, program->parameters * sizeof(float), &copies->sums, error);
}

static enum tn_status create_events(struct tn_program *program, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    const struct gpu_queues *queues = queues_of(program);
    enum tn_status status = queues->create_event(&copies->fields_sent, error);
    if (status == TN_OK) { status = queues->create_event(&copies->computed, error); }
    if (status == TN_OK) { status = queues->create_event(&copies->finished, error); }
    for (uint32_t i = 0; i < copies->value_count && status == TN_OK; i++) {
        status = queues->create_event(&copies->values[i].copied, error);
    }
    for (uint32_t i = 0; i < copies->gradient_count && status == TN_OK; i++) {
        status = queues->create_event(&copies->gradient[i].copied, error);
    }
    return status;
}

enum tn_status device_copies_open(struct tn_program *program, struct error *error)
{
    enum tn_status status = plan_values(program, error);
    if (status == TN_OK) { status = plan_gradient(program, error); }
    if (status == TN_OK) { status = plan_roots(program, error); }
    if (status == TN_OK) {
        status = device_staging_open(&copies_of(program)->staging, queues_of(program),
                                     (size_t)program->parameters * sizeof(float), error);
    }
    return status == TN_OK ? create_events(program, error) : status;
}

void device_copies_close(struct tn_program *program)
{
    struct device_copies *copies = copies_of(program);
    const struct gpu_queues *queues = queues_of(program);
    for (uint32_t i = 0; i < copies->value_count; i++) {
        queues->destroy_event(copies->values[i].copied);
    }
    for (uint32_t i = 0; i < copies->gradient_count; i++) {
        queues->destroy_event(copies->gradient[i].copied);
    }
    queues->destroy_event(copies->fields_sent);
    queues->destroy_event(copies->computed);
    queues->destroy_event(copies->finished);
    device_staging_close(&copies->staging);
    queues->release(copies->sums);
    queues->release(copies->roots);
    free(copies->values);
    free(copies->gradient);
    free(copies->root_list);
}

/* ------------------------------------------------------ to the device */

/* Queue the fields; their event is behind them. */
static enum tn_status send_fields(const struct tn_program *program, uint8_t *to,
                                  struct error *error)
{
    const struct gpu_queues *queues = queues_of(program);
    enum tn_status status = queues->send(to, program->fields, (size_t)program->field_bytes, error);
    if (status != TN_OK) { return status; }
    return queues->record(copies_of(program)->fields_sent, GPU_TO_DEVICE, error);
}

enum tn_status device_copies_begin(const struct tn_program *program, bool values_changed,
                                   struct error *error)
{
    struct device_copies *copies = copies_of(program);
    struct device_memory *memory = program->device;
    enum tn_status status = TN_OK;
    copies->sent = copies->followed = copies->read = copies->fetched = 0;
    copies->to_send = values_changed ? copies->value_count : 0;
    device_staging_begin(&copies->staging);
    copies->final_from = program->parameters;
    copies->waits_for_fields = false;
    if (program->field_bytes == 0) { return TN_OK; }
    if (copies->has_next && program->uses_next) {
        uint8_t *present = memory->parts[SPACE_FIELDS];
        memory->parts[SPACE_FIELDS] = copies->next_fields;
        copies->next_fields = present;
    } else {
        status = send_fields(program, memory->parts[SPACE_FIELDS], error);
    }
    copies->has_next = false;
    copies->waits_for_fields = true;
    return status;
}

enum tn_status device_copies_send_next(const struct tn_program *program, bool (*fill)(void *user),
                                       void *user, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    assert(!copies->has_next && copies->next_fields != NULL);
    if (program->field_bytes == 0) { return TN_OK; }
    enum tn_status status = queues_of(program)->await(copies->fields_sent, error);
    if (status != TN_OK || !fill(user)) { return status; }
    status = send_fields(program, copies->next_fields, error);
    copies->has_next = status == TN_OK;
    return status;
}

/* Kernels are cut into graphs at the same places in all runs, also if no values are sent. */
static enum tn_status cut_kernels(const struct tn_program *program,
                                  const struct instruction *instruction, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    if (program->device->graphs == NULL || instruction->value_parts <= copies->read) {
        return TN_OK;
    }
    copies->read = instruction->value_parts;
    return program->backend->device.graphs->cut(error);
}

/* The parts are copied while the kernels before compute. */
enum tn_status device_copies_use_values(const struct tn_program *program,
                                        const struct instruction *instruction, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    const struct gpu_queues *queues = queues_of(program);
    const uint32_t needed = u32_min(instruction->value_parts, copies->to_send);
    uint8_t *to = program->device->parts[SPACE_VALUES];
    enum tn_status status = cut_kernels(program, instruction, error);
    for (; copies->sent < needed && status == TN_OK; copies->sent++) {
        const struct vector_part *part = &copies->values[copies->sent];
        const uint64_t offset = part->first * sizeof(float);
        status = device_staging_send(&copies->staging, to + offset,
                                     (const uint8_t *)program->values + offset,
                                     (size_t)(part->end - part->first) * sizeof(float), error);
        if (status == TN_OK) { status = queues->record(part->copied, GPU_TO_DEVICE, error); }
    }
    if (status != TN_OK) { return status; }
    struct gpu_event *last = NULL; /* The queue has fields first, then values. */
    if (copies->waits_for_fields) { last = copies->fields_sent; }
    if (needed > copies->followed) { last = copies->values[needed - 1].copied; }
    copies->followed = u32_max(copies->followed, needed);
    copies->waits_for_fields = false;
    return last != NULL ? queues->follow(GPU_KERNELS, last, error) : TN_OK;
}

/* ------------------------------------------------------ to the host */

/* The copies that follow are of what the kernels so far compute. */
static enum tn_status follow_kernels(const struct tn_program *program, struct error *error)
{
    const struct gpu_queues *queues = queues_of(program);
    struct gpu_event *computed = copies_of(program)->computed;
    enum tn_status status = queues->record(computed, GPU_KERNELS, error);
    return status == TN_OK ? queues->follow(GPU_TO_HOST, computed, error) : status;
}

static enum tn_status fetch_roots(const struct tn_program *program, bool losses, bool others,
                                  struct error *error)
{
    const struct device_copies *copies = copies_of(program);
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < copies->root_count && status == TN_OK; i++) {
        const struct root_copy *root = &copies->root_list[i];
        if (root->is_loss ? !losses : !others) { continue; }
        status = queues_of(program)->fetch(copies->roots + root->offset,
                                           device_memory_address(program, &root->place),
                                           root->bytes, error);
    }
    return status;
}

enum tn_status device_copies_fetch_final(const struct tn_program *program,
                                         const struct instruction *instruction, struct error *error)
{
    struct device_copies *copies = copies_of(program);
    if (!ends_part(program, instruction, copies->final_from)) { return TN_OK; }
    const bool is_first = copies->fetched == 0;
    const struct vector_part *part = &copies->gradient[copies->fetched++];
    const struct place place = {SPACE_GRADIENT, part->first * sizeof(float)};
    assert(part->first == instruction->final_from && part->end == copies->final_from);
    copies->final_from = part->first;
    enum tn_status status = follow_kernels(program, error);
    if (status == TN_OK && is_first) { status = fetch_roots(program, true, false, error); }
    if (status == TN_OK && !program->keeps_gradient) {
        status = queues_of(program)->fetch(
            copies->sums + place.offset, device_memory_address(program, &place),
            (size_t)(part->end - part->first) * sizeof(float), error);
    }
    if (status != TN_OK) { return status; }
    return queues_of(program)->record(part->copied, GPU_TO_HOST, error);
}

/* All kernels are before the last part, but those of other results. */
static bool ends_with_part(const struct tn_program *program)
{
    const struct device_copies *copies = copies_of(program);
    return copies->gradient_count > 0 && copies->rest_count == 0;
}

enum tn_status device_copies_fetch_rest(const struct tn_program *program, struct error *error)
{
    const struct device_copies *copies = copies_of(program);
    assert(copies->fetched == copies->gradient_count);
    if (ends_with_part(program)) { return TN_OK; }
    enum tn_status status = follow_kernels(program, error);
    if (status == TN_OK) {
        status = fetch_roots(program, copies->gradient_count == 0, true, error);
    }
    if (status != TN_OK) { return status; }
    return queues_of(program)->record(copies->finished, GPU_TO_HOST, error);
}

static void take_roots(const struct tn_program *program, bool losses, bool others)
{
    const struct device_copies *copies = copies_of(program);
    for (uint32_t i = 0; i < copies->root_count; i++) {
        const struct root_copy *root = &copies->root_list[i];
        if (root->is_loss ? !losses : !others) { continue; }
        memcpy(program_memory(program, &root->place), copies->roots + root->offset, root->bytes);
    }
}

void *device_copies_gradient(const struct tn_program *program)
{
    return copies_of(program)->sums;
}

uint32_t device_copies_parts(const struct tn_program *program)
{
    return copies_of(program)->gradient_count;
}

enum tn_status device_copies_await_part(const struct tn_program *program, uint32_t number,
                                        uint64_t *first, struct error *error)
{
    const struct device_copies *copies = copies_of(program);
    assert(number < copies->fetched);
    const struct vector_part *part = &copies->gradient[number];
    enum tn_status status = queues_of(program)->await(part->copied, error);
    if (status != TN_OK) { return status; }
    if (number == 0) { take_roots(program, true, false); }
    *first = part->first;
    if (program->keeps_gradient) { return TN_OK; }
    memcpy((float *)program->gradient + part->first,
           (const float *)(void *)copies->sums + part->first,
           (size_t)(part->end - part->first) * sizeof(float));
    return TN_OK;
}

enum tn_status device_copies_await_rest(const struct tn_program *program, struct error *error)
{
    const struct device_copies *copies = copies_of(program);
    if (ends_with_part(program)) { return TN_OK; }
    enum tn_status status = queues_of(program)->await(copies->finished, error);
    if (status == TN_OK) { take_roots(program, copies->gradient_count == 0, true); }
    return status;
}

void device_copies_abandon(const struct tn_program *program)
{
    struct device_copies *copies = copies_of(program);
    const struct gpu_queues *queues = queues_of(program);
    copies->has_next = false;
    if (program->backend->device.wait(NULL) != TN_OK) { return; }
    if (queues->record(copies->finished, GPU_TO_HOST, NULL) != TN_OK ||
        queues->await(copies->finished, NULL) != TN_OK ||
        queues->record(copies->fields_sent, GPU_TO_DEVICE, NULL) != TN_OK) {
        return;
    }
    (void)queues->await(copies->fields_sent, NULL); /* The device has failed. */
}
