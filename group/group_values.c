/* The values and gradients of a member, and its connections to its ps. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "group/group_private.h"
#include "kernels/finite.h"
#include "worker/failure.h"
#include "worker/ps_frames.h"

/* ------------------------------------------------------------------ answers */

static void report_to_head(struct group_worker *worker, enum member_frame_kind kind, uint32_t ps,
                           struct buffer *body)
{
    if (!member_is_ready(worker->member)) {
        buffer_release(body);
        return;
    }
    member_send(worker->member, 0, (struct member_frame){.kind = kind, .number = ps}, body);
}

static void link_changed(struct group_worker *worker, uint32_t ps, bool up)
{
    assembly_reset(&worker->answers[ps].assembly);
    if (group_is_head(worker)) {
        group_feed(worker,
                   (struct loop_event){.type = up ? LOOP_EV_LINK_UP : LOOP_EV_LINK_DOWN, .ps = ps});
        return;
    }
    report_to_head(worker, up ? MEMBER_FRAME_LINK_UP : MEMBER_FRAME_LINK_DOWN, ps, NULL);
}

static void answered(struct group_worker *worker, uint32_t ps, const struct frame_header *header)
{
    struct frame_header answer = *header;
    answer.offset = 0;
    answer.body_bytes = 0;
    if (group_is_head(worker)) {
        group_head_answer(worker, ps, &answer);
        return;
    }
    struct buffer *body = buffer_acquire(worker->ports.buffers, WIRE_HEADER_BYTES);
    if (body == NULL) {
        log_error("out of memory for an answer of ps:%" PRIu32 ": exiting", ps);
        group_finish(worker, TN_EXIT_ERROR);
        return;
    }
    wire_encode_header(&answer, body->data);
    body->size = WIRE_HEADER_BYTES;
    report_to_head(worker, MEMBER_FRAME_ANSWER, ps, body);
}

static void refuse_frame(struct group_worker *worker, uint32_t ps,
                         const struct transport_event *event, const char *fault)
{
    ps_frames_log_invalid(ps, event, fault);
    worker->answers[ps].assembly.order.invalid = true;
    worker->ports.transport.close(worker->ports.transport.ctx, event->conn);
}

/* The body of VALUES is complete: it replaces the one before. */
static void keep_values(struct group_worker *worker, uint32_t ps, struct buffer *values,
                        const struct frame_header *header)
{
    struct group_answer *answer = &worker->answers[ps];
    buffer_release(answer->values);
    answer->values = buffer_retain(values);
    value_labels_answered(&worker->labels, ps,
                          (struct value_label){header->generation, header->step});
    answered(worker, ps, header);
}

static void frame(struct group_worker *worker, uint32_t ps, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    struct group_answer *answer = &worker->answers[ps];
    struct buffer *whole = NULL;
    const char *fault = NULL;
    if (answer->assembly.order.invalid) { return; }
    const bool is_values = header->type == FRAME_VALUES;
    if (!is_values && header->type != FRAME_REFUSED) {
        refuse_frame(worker, ps, event, "a worker does not accept this type");
        return;
    }
    const uint64_t bytes = is_values ? worker->layout.places[ps].count * sizeof(float) : 0;
    switch (assembly_add(&answer->assembly, worker->ports.buffers, header, event->body, bytes,
                         worker->ports.transport.chunk_bytes, &whole, &fault)) {
    case ASSEMBLY_INVALID: refuse_frame(worker, ps, event, fault); return;
    case ASSEMBLY_NO_MEMORY:
        log_error("out of memory for the values of ps:%" PRIu32 ": exiting", ps);
        group_finish(worker, TN_EXIT_ERROR);
        return;
    case ASSEMBLY_MORE: links_confirmed(&worker->links, ps); return;
    case ASSEMBLY_COMPLETE: break;
    }
    links_confirmed(&worker->links, ps);
    if (is_values) {
        keep_values(worker, ps, whole, header);
    } else {
        answered(worker, ps, header);
    }
    buffer_release(whole);
}

void group_values_lost(struct group_worker *worker, uint32_t ps)
{
    link_changed(worker, ps, false);
}

void group_values_transport(struct group_worker *worker, uint32_t ps,
                            const struct transport_event *event)
{
    switch (event->type) {
    case TRANSPORT_OPENED:
        links_opened(&worker->links, ps);
        link_changed(worker, ps, true);
        break;
    case TRANSPORT_FRAME: frame(worker, ps, event); break;
    case TRANSPORT_CLOSED:
        if (!links_closed(&worker->links, ps, event->status, worker->now_ms)) { break; }
        log_info("lost the connection to ps:%" PRIu32 " at %s: %s", ps,
                 worker->links.items[ps].address, tanist_strerror(event->status));
        link_changed(worker, ps, false);
        break;
    }
}

/* ---------------------------------------------------------------- questions */

void group_values_send(struct group_worker *worker, uint32_t ps, struct frame_header header)
{
    assert(worker->layout.owns[ps]);
    const struct link *link = &worker->links.items[ps];
    struct buffer *body = NULL;
    uint32_t node;
    const struct value_label label = {header.generation, header.step};
    const struct slice_node slices = {header.first, header.count};
    if (!link->open) { return; } /* The head will learn it. */
    if (header.type == FRAME_PUSH) {
        if (!value_labels_find(&worker->labels, label, slices, &node)) {
            member_fail(worker->member,
                        "a gradient was to be pushed that this member does not have");
            return;
        }
        header.loss = worker->losses[node];
        header.epoch = u64_max(worker->membership.chief.epoch, worker->membership.run.epoch);
        body = gradients_part(&worker->gradients, node, ps, 0, worker->layout.places[ps].count);
        if (body == NULL) {
            log_error("out of memory for a gradient: exiting");
            group_finish(worker, TN_EXIT_ERROR);
            return;
        }
        FAILPOINT("worker.before_push");
    }
    worker->ports.transport.send(worker->ports.transport.ctx, link->conn, &header, body);
}

/* ------------------------------------------------------------------- values */

bool group_values_take(struct group_worker *worker, uint32_t ps, struct value_label label)
{
    struct group_answer *answer = &worker->answers[ps];
    if (!value_labels_take(&worker->labels, ps, label)) { return false; }
    const struct placement *place = &worker->layout.places[ps];
    memcpy((float *)worker->next->data + place->first, answer->values->data,
           place->count * sizeof(float));
    buffer_release(answer->values);
    answer->values = NULL;
    return true;
}

bool group_values_swap(struct group_worker *worker, struct value_label label)
{
    if (!value_labels_swap(&worker->labels, label)) { return false; }
    FAILPOINT("group.before_swap");
    struct buffer *old = worker->current;
    worker->current = worker->next;
    worker->next = old;
    gradients_clear(&worker->gradients);
    return true;
}

void group_values_forget(struct group_worker *worker)
{
    gradients_clear(&worker->gradients);
    value_labels_forget(&worker->labels);
}

void group_values_reset(struct group_worker *worker)
{
    gradients_clear(&worker->gradients);
    links_reset(&worker->links, worker->now_ms);
    value_labels_reset(&worker->labels);
    for (uint32_t p = 0; p < worker->layout.ps; p++) {
        struct group_answer *answer = &worker->answers[p];
        assembly_reset(&answer->assembly);
        buffer_release(answer->values);
        answer->values = NULL;
    }
}

/* ---------------------------------------------------------------- gradients */

enum member_answer group_values_prepare(void *ctx, struct computation_order *order)
{
    struct group_worker *worker = ctx;
    const struct value_label label = {order->generation, order->step};
    if (!value_labels_begin(&worker->labels, label)) { return MEMBER_REFUSES; }
    order->sum = gradients_begin(&worker->gradients, worker->labels.node_count);
    if (order->sum == NULL) {
        log_error("out of memory for the gradients of %" PRIu64 " parameters: exiting",
                  worker->layout.floats);
        group_finish(worker, TN_EXIT_ERROR);
        return MEMBER_REFUSES;
    }
    order->values = worker->current->data;
    order->version = worker->labels.version;
    return MEMBER_BEGINS;
}

void group_values_computed(void *ctx, const struct computation_order *order, double loss)
{
    struct group_worker *worker = ctx;
    FAILPOINT("group.computed");
    const uint32_t index = worker->labels.node_count;
    if (worker->finished || !value_labels_computed(&worker->labels, order->node)) { return; }
    if (!all_finite(order->sum, worker->layout.floats) || !isfinite(loss)) {
        failure_log_divergence(order->step, order->node);
        group_finish(worker, TN_EXIT_INVALID_INPUT);
        return;
    }
    worker->losses[index] = loss;
    if (!group_is_head(worker)) { return; }
    const struct job *job = worker->config.job;
    uint64_t examples = 0;
    for (uint32_t v = order->node.first; v < order->node.first + order->node.count; v++) {
        examples += slices_positions(job->train.slices, job->train.batch, v).count;
    }
    recent_losses_add(&worker->recent, order->step, loss, examples);
}

/* ------------------------------------------------------------------ opening */

enum tn_status group_values_open(struct group_worker *worker, struct error *error)
{
    const size_t bytes = worker->layout.floats * sizeof(float);
    worker->current = buffer_acquire(worker->ports.buffers, bytes);
    worker->next = buffer_acquire(worker->ports.buffers, bytes);
    gradients_open(&worker->gradients, worker->ports.buffers, worker->layout.places,
                   worker->layout.floats);
    value_labels_init(&worker->labels, worker->layout.ps, worker->layout.owns);
    if (worker->current != NULL && worker->next != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for %" PRIu64 " parameters",
                     worker->layout.floats);
}

void group_values_close(struct group_worker *worker)
{
    for (uint32_t p = 0; p < PS_MAX; p++) {
        assembly_reset(&worker->answers[p].assembly);
        buffer_release(worker->answers[p].values);
    }
    gradients_close(&worker->gradients);
    buffer_release(worker->current);
    buffer_release(worker->next);
}
