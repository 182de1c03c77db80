/* Rows of tables: which ones are listed and looked up, and their gradients on the way to the ps. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/cluster/row_body.h"
#include "common/cluster/row_owner.h"
#include "worker/worker_private.h"

/* ------------------------------------------------------------------- lookups */

static enum tn_status list(struct worker *worker, const struct loop_action *action,
                           uint64_t *ps_set, struct error *error)
{
    const struct row_sink *sink = row_lookup_sink(worker->lookup);
    enum tn_status status;
    row_lookup_begin(worker->lookup, worker->core.generation, action->step);
    memset(worker->lookup_asked, 0, sizeof worker->lookup_asked);
    if (action->test) {
        status = compute_list_test(&worker->compute, sink, error);
    } else {
        const struct slice_set *slices = &worker->core.sought;
        status = compute_list_slices(&worker->compute, action->step, slices, sink, error);
    }
    return status == TN_OK ? row_lookup_settle(worker->lookup, ps_set, error) : status;
}

void worker_rows_list(struct worker *worker, const struct loop_action *action)
{
    struct error error = {.status = TN_OK};
    struct loop_event event = {.type = LOOP_EV_LISTED, .now_ms = worker->now_ms};
    enum tn_status status = list(worker, action, &event.ps_set, &error);
    if (status != TN_OK) {
        log_error("%s", error.text);
        worker_finish(worker, status == TN_EINVAL ? TN_EXIT_INVALID_INPUT : TN_EXIT_ERROR);
        return;
    }
    worker_follow_up(worker, event);
}

void worker_rows_look_up(struct worker *worker, const struct loop_action *action)
{
    assert(worker->core.ps[action->ps].up);
    struct buffer *body =
        buffer_acquire(worker->ports.buffers, worker->ports.transport.chunk_bytes);
    if (body == NULL) {
        worker_out_of_memory(worker);
        return;
    }
    body->size = row_lookup_ask(worker->lookup, action->ps, body->data);
    /* An answer to an earlier question is not one to this, even if nothing is asked now. */
    const uint32_t number = ++worker->lookup_numbers[action->ps];
    worker->lookup_asked[action->ps] = body->size > 0;
    if (body->size == 0) {
        buffer_release(body);
        return;
    }
    const struct frame_header header = {
        .type = FRAME_LOOKUP,
        .generation = action->generation,
        .step = action->step,
        .sequence = action->round,
        .first = number,
    };
    worker_send(worker, action->ps, header, body);
}

const char *worker_rows_take(struct worker *worker, uint32_t ps,
                             const struct transport_event *event, bool *wanted, bool *more)
{
    const struct frame_header *header = &event->header;
    const struct training_loop *core = &worker->core;
    *wanted = false;
    if (worker->lookup == NULL) { return "the model has no tables"; }
    if (worker->answers[ps].incomplete) { return "the body before it is incomplete"; }
    if (!core->ps[ps].lookup_sent || header->generation != core->generation ||
        header->step != core->lookup_step || header->first != worker->lookup_numbers[ps]) {
        return NULL;
    }
    *wanted = header->offset == 0 && event->body != NULL &&
              row_lookup_take(worker->lookup, ps, event->body->data, event->body->size, more);
    if (!*wanted) { return "it has not the rows that were asked for"; }
    worker->lookup_asked[ps] = false;
    return NULL;
}

bool worker_rows_follow(struct worker *worker, struct loop_event *event)
{
    const struct training_loop *core = &worker->core;
    if (worker->config.member.sharing == NULL || worker->lookup == NULL) { return false; }
    for (uint32_t p = 0; p < worker->config.job->cluster.ps; p++) {
        const bool waits = core->lookup != LOOKUP_NONE && core->ps[p].lookup_sent;
        if (worker->lookup_asked[p] && !waits) {
            row_lookup_abandon(worker->lookup, p);
            worker->lookup_asked[p] = false;
        }
        if (!waits || worker->lookup_asked[p]) { continue; }
        const enum row_lookup_state state = row_lookup_state(worker->lookup, p);
        if (state == ROWS_ASKED) { continue; }
        *event = (struct loop_event){.type = LOOP_EV_ROWS, .ps = p, .more = state == ROWS_MISSING};
        return true;
    }
    return false;
}

/* ----------------------------------------------------------------- gradients */

/* The bytes of bodies with all rows of a node. */
static size_t body_bytes(const struct row_sums *sums)
{
    size_t bytes = 0;
    for (uint32_t t = 0; t < sums->count; t++) {
        const struct row_sum *sum = &sums->tables[t];
        const size_t row = sizeof(uint64_t) + sum->width * sizeof(float);
        if (sum->count > 0) { bytes += 2 * sizeof(uint32_t) + sum->count * row; }
    }
    return bytes;
}

/* The frames with the rows of one node for one ps. */
struct rows_push {
    struct worker *worker;
    uint32_t ps;
    struct frame_header header;
    struct row_body body;
    struct buffer *buffer; /* Has the body; NULL: none has begun. */
    size_t room;
};

static void send_body(struct rows_push *push)
{
    if (push->buffer == NULL) { return; }
    push->buffer->size = push->body.size;
    worker_send(push->worker, push->ps, push->header, push->buffer);
    push->buffer = NULL;
}

static bool begin_body(struct rows_push *push)
{
    push->buffer = buffer_acquire(push->worker->ports.buffers, push->room);
    if (push->buffer == NULL) {
        worker_out_of_memory(push->worker);
        return false;
    }
    push->body = (struct row_body){.data = push->buffer->data, .room = push->room};
    return true;
}

/* False: out of memory. */
static bool push_row(struct rows_push *push, uint32_t table, const struct row_sum *sum, uint64_t i)
{
    const float *values = sum->values + i * sum->width;
    if (push->buffer != NULL &&
        row_body_add(&push->body, table, sum->keys[i], values, sum->width)) {
        return true;
    }
    send_body(push);
    if (!begin_body(push)) { return false; }
    const bool added = row_body_add(&push->body, table, sum->keys[i], values, sum->width);
    assert(added);
    return added;
}

enum { GROUP = 256 }; /* Rows of a table that are pushed together. */

/* The rows of the group [first, first + GROUP) that are of the part, without a branch for each: it
 * could not be predicted. */
static uint32_t choose_rows(const struct row_part *part, struct row_hash hash,
                            const struct row_sum *sum, uint64_t first, uint64_t rows[static GROUP])
{
    const uint64_t end = u64_min(first + GROUP, sum->count);
    uint32_t count = 0;
    for (uint64_t i = first; i < end; i++) {
        rows[count] = i;
        count += row_part_has_bucket(part, row_hash_bucket(hash, sum->keys[i]));
    }
    return count;
}

/* False: out of memory. */
static bool push_table(struct rows_push *push, const struct row_part *part, uint32_t table,
                       const struct row_sum *sum)
{
    const struct row_hash hash = row_hash_of(table);
    uint64_t rows[GROUP];
    for (uint64_t first = 0; first < sum->count; first += GROUP) {
        const uint32_t count = choose_rows(part, hash, sum, first, rows);
        for (uint32_t i = 0; i < count; i++) {
            if (!push_row(push, table, sum, rows[i])) { return false; }
        }
    }
    return true;
}

void worker_rows_push(struct worker *worker, uint32_t ps, uint32_t node,
                      const struct frame_header *header)
{
    const struct job *job = worker->config.job;
    if (worker->lookup == NULL) { return; }
    const struct row_sums *sums = &worker->node_rows[node];
    const struct row_part part = row_part_of(&job->placement.rows, job->cluster.ps, ps);
    struct rows_push push = {.worker = worker, .ps = ps, .header = *header};
    push.header.type = FRAME_PUSH_ROWS;
    push.header.offset = 0;
    push.room = size_min(body_bytes(sums), worker->ports.transport.chunk_bytes);
    for (uint32_t t = 0; t < sums->count; t++) {
        if (!push_table(&push, &part, t, &sums->tables[t])) { return; }
    }
    send_body(&push);
}

bool worker_rows_computed(struct worker *worker, uint32_t node)
{
    if (worker->lookup == NULL) { return true; }
    compute_take_node_rows(&worker->compute, &worker->node_rows[node]);
    return row_sums_are_finite(&worker->node_rows[node]);
}

/* ------------------------------------------------------------------- opening */

enum tn_status worker_rows_open(struct worker *worker, struct error *error)
{
    const struct variable_table *variables = &worker->config.model->table;
    if (variables->row_table_count == 0) { return TN_OK; }
    const struct job *job = worker->config.job;
    const struct row_lookup_config config = {
        .variables = variables,
        .borders = &job->placement.rows,
        .ps = job->cluster.ps,
        .frame_bytes = worker->ports.transport.chunk_bytes,
        .member = worker->config.member,
    };
    return row_lookup_open(&config, &worker->lookup, error);
}

void worker_rows_close(struct worker *worker)
{
    for (uint32_t node = 0; node < SLICES_MAX; node++) { row_sums_close(&worker->node_rows[node]); }
    row_lookup_close(worker->lookup);
}
