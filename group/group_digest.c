/*
 * The digest of an evaluation: the head reads the values of all variables, in the order of their
 * numbers, from the members that have them, because no member has them all.
 */
#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "group/group_private.h"

static const struct variable *variable_of(const struct group_worker *worker, uint32_t number)
{
    const struct variable_table *table = &worker->config.model->table;
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->variables[i].number == number) { return &table->variables[i]; }
    }
    return NULL;
}

/* The values of a variable of this member from float `at` on. */
static const float *values_of(const struct group_worker *worker, const struct variable *variable,
                              uint64_t at)
{
    for (uint32_t i = 0; i < worker->cut.variable_count; i++) {
        const struct cut_variable *own = &worker->cut.variables[i];
        if (strcmp(own->name, variable->name) != 0) { continue; }
        assert(own->task == worker->index);
        return (const float *)worker->current->data + own->task_offset + at;
    }
    assert(!"every variable is in the cut");
    return NULL;
}

/* The number of floats of a variable that one READ asks for, from float `at` on. */
static uint64_t piece_of(const struct group_worker *worker, const struct variable *variable,
                         uint64_t at)
{
    return u64_min(variable->count - at, worker->ports.transport.chunk_bytes / sizeof(float));
}

static void add_own(struct group_worker *worker, const struct variable *variable)
{
    const float *values = values_of(worker, variable, 0);
    digest_add(&worker->evaluating.digest, values, variable->count * sizeof *values);
    worker->evaluating.variable++;
}

void group_digest_continue(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    const struct variable *variable;
    while ((variable = variable_of(worker, evaluating->variable)) != NULL &&
           variable->member == worker->index) {
        add_own(worker, variable);
    }
    evaluating->is_requested = variable != NULL;
    if (variable == NULL) { return; }
    const uint64_t each = worker->ports.transport.chunk_bytes / sizeof(float);
    const struct member_frame message = {
        .kind = MEMBER_FRAME_READ,
        .label = {evaluating->label.generation, evaluating->label.step,
                  (uint32_t)(evaluating->at / each)},
        .number = evaluating->variable,
    };
    member_send(worker->member, variable->member, message, NULL);
}

const char *group_digest_read(struct group_worker *worker, const struct member_frame *message)
{
    const struct variable *variable = variable_of(worker, message->number);
    const uint64_t each = worker->ports.transport.chunk_bytes / sizeof(float);
    const uint64_t at = message->label.slice * each;
    if (variable == NULL || variable->member != worker->index || at >= variable->count) {
        return "values were asked for that this member does not have";
    }
    if (!group_has_values_of(worker, &message->label)) {
        return "values were asked for that this member does not have";
    }
    const uint64_t bytes = piece_of(worker, variable, at) * sizeof(float);
    struct buffer *body = buffer_acquire(worker->ports.buffers, bytes);
    if (body == NULL) {
        (void)error_set(&worker->error, TN_ENOMEM, "out of memory for values that the head reads");
        group_failed(worker, TN_ENOMEM);
        return NULL;
    }
    memcpy(body->data, values_of(worker, variable, at), bytes);
    body->size = bytes;
    const struct member_frame answer = {
        .kind = MEMBER_FRAME_FLOATS, .label = message->label, .number = message->number};
    member_send(worker->member, 0, answer, body);
    return NULL;
}

const char *group_digest_floats(struct group_worker *worker, const struct member_frame *message,
                                const struct buffer *body)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    const struct variable *variable = variable_of(worker, evaluating->variable);
    if (!evaluating->is_active || !evaluating->is_requested || variable == NULL || body == NULL ||
        message->number != evaluating->variable ||
        body->size != piece_of(worker, variable, evaluating->at) * sizeof(float)) {
        return "values were not asked for";
    }
    digest_add(&evaluating->digest, body->data, body->size);
    evaluating->at += body->size / sizeof(float);
    if (evaluating->at == variable->count) {
        evaluating->at = 0;
        evaluating->variable++;
    }
    group_digest_continue(worker);
    return NULL;
}

bool group_digest_is_complete(const struct group_worker *worker)
{
    return variable_of(worker, worker->evaluating.variable) == NULL;
}
