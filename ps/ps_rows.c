/* Frames with rows of tables: P14. */
#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/cluster/row_loads.h"
#include "common/cluster/slices.h"
#include "ps/ps_private.h"

static struct row_body_rules rules_of(const struct ps *ps, bool gradients)
{
    return (struct row_body_rules){
        .variables = ps->config.variables,
        .gradients = gradients,
        .part = ps->rows.part,
    };
}

static uint64_t examples_of(const struct ps *ps, struct slice_node node)
{
    const struct job *job = ps->config.job;
    uint64_t examples = 0;
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        examples += slices_positions(job->train.slices, job->train.batch, v).count;
    }
    return examples;
}

const char *ps_rows_order_fault(const struct ps_client *client, const struct frame_header *header)
{
    const struct frame_header *first = &client->row_header;
    if (client->row_frames == 0) { return NULL; }
    const bool pushes = header->type == FRAME_PUSH || header->type == FRAME_PUSH_ROWS;
    if (pushes && first->generation == header->generation && first->step == header->step &&
        first->sequence == header->sequence && first->first == header->first &&
        first->count == header->count) {
        return NULL;
    }
    return "the rows before it are of another push";
}

static const char *lookup_fault(const struct ps *ps, const struct transport_event *event)
{
    const struct row_body_rules rules = rules_of(ps, false);
    struct row_body_order order = {.begun = false};
    uint64_t floats;
    const char *fault =
        row_body_fault(&rules, event->body->data, event->body->size, &order, &floats);
    if (fault != NULL) { return fault; }
    return floats * sizeof(float) <= ps->ports.transport.chunk_bytes
               ? NULL
               : "its rows do not fit in a frame";
}

static const char *push_fault(struct ps *ps, const struct transport_event *event,
                              struct ps_client *client)
{
    const struct frame_header *header = &event->header;
    struct row_body_rules rules = rules_of(ps, true);
    uint64_t floats;
    if (!slices_is_node(ps->config.job->train.slices, header->first, header->count)) {
        return "its slices are not a node of the tree";
    }
    const char *fault = ps_rows_order_fault(client, header);
    if (fault != NULL) { return fault; }
    if (client->row_frames == 0) {
        client->row_order = (struct row_body_order){.begun = false};
        client->row_header = *header;
    }
    rules.examples = examples_of(ps, (struct slice_node){header->first, header->count});
    fault =
        row_body_fault(&rules, event->body->data, event->body->size, &client->row_order, &floats);
    if (fault == NULL) { client->row_frames++; }
    return fault;
}

const char *ps_rows_fault(struct ps *ps, const struct transport_event *event,
                          struct ps_client *client)
{
    if (!shard_rows_exist(&ps->rows)) { return "the model has no tables"; }
    if (event->header.offset != 0 || event->body == NULL) { return "it is not a whole body"; }
    /* Its sender could change it after it was checked. */
    if (event->header.slot != 0) { return "rows do not travel in slots"; }
    if (event->header.type == FRAME_PUSH_ROWS) { return push_fault(ps, event, client); }
    const char *fault = ps_rows_order_fault(client, &event->header);
    return fault != NULL ? fault : lookup_fault(ps, event);
}

static void out_of_memory(struct ps *ps, const struct error *error)
{
    log_error("%s: exiting", error->text);
    ps_finish(ps, TN_EXIT_ERROR);
}

void ps_rows_collect(struct ps *ps, struct ps_client *client, const struct buffer *body)
{
    const struct row_body_rules rules = rules_of(ps, true);
    struct error error;
    struct row_body_row row;
    enum tn_status status = TN_OK;
    if (client->rows.tables == NULL) {
        status = row_sums_open(ps->config.variables, &client->rows, &error);
    }
    struct row_body_reader reader = row_body_read(&rules, body->data, body->size);
    while (status == TN_OK && row_body_next(&reader, &row)) {
        status = row_sum_append(&client->rows.tables[row.table], row.key, row.values, &error);
    }
    if (status != TN_OK) { out_of_memory(ps, &error); }
}

void ps_rows_hold(struct ps *ps, uint32_t first, struct ps_client *client)
{
    if (client->rows.tables == NULL) {
        shard_rows_release(&ps->rows, first); /* A push without rows of this ps. */
    } else {
        shard_rows_hold(&ps->rows, first, &client->rows);
    }
}

void ps_rows_answer(struct ps *ps, const struct ps_action *action, const struct buffer *body)
{
    const struct row_body_rules rules = rules_of(ps, false);
    const size_t bytes = row_body_floats(&rules, body->data, body->size) * sizeof(float);
    struct buffer *rows = buffer_acquire(ps->ports.buffers, bytes);
    if (rows == NULL) {
        out_of_memory(ps, &(struct error){.text = "out of memory for the answer of a lookup"});
        return;
    }
    rows->size = bytes;
    shard_rows_read(&ps->rows, action->step, &rules, body, rows->data);
    const struct frame_header header = {
        .type = FRAME_ROWS,
        .generation = action->generation,
        .step = action->step,
        .sequence = action->round,
        .first = action->first,
    };
    ps_send(ps, action->conn, header, rows);
}

/* The lowest step whose rows are still needed once `step` + 1 exists: those that answers, an
 * evaluation or a late checkpoint may be asked of. */
static uint64_t floor_after(const struct ps *ps, uint64_t step)
{
    uint64_t floor = step;
    if (ps->kept_evaluation != 0) { floor = u64_min(floor, ps->kept_evaluation); }
    if (ps->kept_checkpoint != 0) { floor = u64_min(floor, ps->kept_checkpoint); }
    return floor;
}

bool ps_rows_apply(struct ps *ps, uint64_t step)
{
    struct error error;
    if (!shard_rows_exist(&ps->rows)) { return true; }
    if (shard_rows_apply(&ps->rows, step, floor_after(ps, step), ps->actions.parts,
                         ps->actions.part_count, &error) == TN_OK) {
        return true;
    }
    if (error.status == TN_EINVAL) { /* A restart would reach the limit again. */
        log_error("%s", error.text);
        ps_finish(ps, TN_EXIT_INVALID_INPUT);
        return false;
    }
    out_of_memory(ps, &error);
    return false;
}

void ps_rows_answer_tables(struct ps *ps, const struct transport_event *event)
{
    const bool has_rows = shard_rows_exist(&ps->rows) && ps->rows.current != NULL;
    const uint32_t count = has_rows ? ps->config.variables->row_table_count : 0;
    assert(event->header.type == FRAME_TABLES);
    struct buffer *body = NULL;
    if (count > 0) {
        body = buffer_acquire(ps->ports.buffers, (size_t)count * TABLE_STATS_BYTES);
        if (body == NULL) { return; } /* The observer asks again. */
        body->size = (size_t)count * TABLE_STATS_BYTES;
    }
    for (uint32_t t = 0; t < count; t++) {
        const struct table_stats stats = shard_rows_stats(&ps->rows, t);
        table_stats_encode(&stats, (uint8_t *)body->data + (size_t)t * TABLE_STATS_BYTES);
    }
    const struct frame_header header = {
        .type = FRAME_TABLES,
        .generation = ps->core.generation,
        .step = ps->core.step,
        .sequence = ps->rows.updates,
        .first = count > 0 ? ps->rows.part.end - ps->rows.part.first : 0,
        .count = count,
    };
    ps_send(ps, event->conn, header, body);
}

void ps_rows_answer_buckets(struct ps *ps, const struct transport_event *event)
{
    const bool has_rows = shard_rows_exist(&ps->rows);
    const struct row_part part = ps->rows.part;
    const uint32_t count = has_rows ? part.end - part.first : 0;
    assert(event->header.type == FRAME_BUCKETS);
    struct buffer *body = NULL;
    if (count > 0) {
        body = buffer_acquire(ps->ports.buffers, count * sizeof(uint64_t));
        if (body == NULL) { return; } /* The observer asks again. */
        body->size = count * sizeof(uint64_t);
        row_loads_encode(ps->rows.loads + part.first, count, body->data);
    }
    const struct frame_header header = {
        .type = FRAME_BUCKETS,
        .generation = ps->core.generation,
        .step = ps->core.step,
        .sequence = ps->rows.updates,
        .first = part.first,
        .count = count,
    };
    ps_send(ps, event->conn, header, body);
}
