/* The actions of the core, carried out. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/time_spent.h"
#include "common/faults/failpoint.h"
#include "common/job/strategy.h"
#include "ps/ps_private.h"
#include "ps/slice_clocks.h"

void ps_finish(struct ps *ps, int exit_code)
{
    assert(exit_code >= 0);
    if (ps->finished) { return; }
    ps->finished = true;
    ps->exit_code = exit_code;
}

static void follow_up(struct ps *ps, struct ps_event event)
{
    assert(ps->follow_up_count < FOLLOW_UPS_MAX);
    ps->follow_ups[ps->follow_up_count++] = event;
}

void ps_send(struct ps *ps, conn_id conn, struct frame_header header, struct buffer *body)
{
    assert(conn.v != 0);
    header.epoch = u64_max(ps->membership.chief.epoch, ps->membership.run.epoch);
    ps->ports.transport.send(ps->ports.transport.ctx, conn, &header, body);
}

void ps_shard_failed(struct ps *ps)
{
    const struct error *failure = &ps->shard.failure;
    if (failure->status != TN_OK) {
        log_error("%s: exiting", failure->text);
        ps_finish(ps, (int)tanist_exit_code(failure->status));
        return;
    }
    log_error("out of memory for the %" PRIu64 " parameters of the next step: exiting",
              ps->shard.config.count);
    ps_finish(ps, TN_EXIT_ERROR);
}

static void answer(struct ps *ps, const struct ps_action *action)
{
    struct buffer *values = ps->shard.answer;
    if (action->values == VALUES_PREVIOUS) { values = ps->shard.previous; }
    if (action->values == VALUES_EVALUATION) { values = ps->shard.kept_answer; }
    assert(values != NULL);
    assert(action->generation == ps->core.generation);
    struct frame_header header = {
        .type = FRAME_VALUES,
        .generation = action->generation,
        .step = action->step,
        .sequence = action->round,
        .first = shard_line(&ps->shard),
    };
    ps_send(ps, action->conn, header, buffer_retain(values));
}

/* Chunks of the values that are, or become, those of the step. */
static void answer_chunks(struct ps *ps, const struct ps_action *action)
{
    const struct shard *shard = &ps->shard;
    struct buffer *values = action->step == ps->core.step ? shard->answer : shard->next.answer;
    const size_t chunk = shard->config.chunk_bytes;
    assert(values != NULL && values->size == shard->config.count * sizeof(float));
    assert(action->first + action->count <= shard_chunks(shard));
    const size_t end = (shard_chunks(shard) - action->first) * chunk;
    const size_t from = end - action->count * chunk;
    struct buffer *part = buffer_part(values, from, size_min(end, values->size) - from);
    if (part == NULL) {
        ps_shard_failed(ps);
        return;
    }
    struct frame_header header = {
        .type = FRAME_VALUES_GROWING,
        .generation = action->generation,
        .step = action->step,
        .sequence = action->round,
        .first = shard_line(shard),
        .offset = from,
    };
    ps_send(ps, action->conn, header, part);
}

static const char *refusal_text(enum refusal refusal)
{
    static const char *const texts[] = {
        [REFUSAL_GENERATION] = "of another generation",
        [REFUSAL_NOT_RUNNING] = "not loaded yet",
        [REFUSAL_STEP_GONE] = "of a step whose values this ps does not have",
    };
    assert(refusal >= REFUSAL_GENERATION && refusal <= REFUSAL_STEP_GONE);
    return texts[refusal];
}

/* Late requests after a restore are many and harmless, so they are counted in one line every
 * PS_REFUSAL_LOG_MS. */
static void refuse(struct ps *ps, const struct ps_action *action)
{
    struct frame_header header = {
        .type = FRAME_REFUSED,
        .generation = ps->core.generation,
        .step = ps->core.step,
        .first = (uint32_t)action->refusal,
        .count = ps->is_probe ? ps_clients_count_lanes(&ps->clients) : 0,
    };
    ps_send(ps, action->conn, header, NULL);
    if (ps->is_probe) { return; }
    ps->refusals++;
    if (ps->now_ms < ps->log_refusals_at_ms) { return; }
    log_info("refused %" PRIu64 " pushes or pulls: %s; this ps is at step=%" PRIu64
             " of generation=%" PRIu64,
             ps->refusals, refusal_text(action->refusal), ps->core.step, ps->core.generation);
    ps->log_refusals_at_ms = ps->now_ms + PS_REFUSAL_LOG_MS;
    ps->refusals = 0;
}

/* Whether a save of the previous values is in progress. */
static bool previous_is_saved(const struct ps_step *core)
{
    bool saved = false;
    for (uint32_t i = 0; i < core->saves; i++) {
        saved = saved || core->saving[i].step + 1 == core->step;
    }
    return saved;
}

/* The record must no longer name the previous values when they are overwritten. Other workers may
 * still read them: they return them before they push, so the last push of the step finds them free.
 * A save does not return them soon. */
static void place(struct ps *ps, conn_id conn)
{
    struct ps_client *client = ps_clients_find(&ps->clients, conn);
    assert(client != NULL && client->sum == NULL);
    const bool waits = !previous_is_saved(&ps->core);
    const bool released =
        waits ? shard_retire_previous(&ps->shard) : shard_release_previous(&ps->shard);
    if (released) { ps_kept_write(ps, ps->core.step); }
    client->sum = shard_begin_push(&ps->shard);
}

/* Append the body to the rows or chunks of `conn`. NULL: the ps has finished. */
static struct ps_client *collect(struct ps *ps, conn_id conn, struct buffer **body)
{
    assert(*body != NULL);
    struct ps_client *client = ps_clients_find(&ps->clients, conn);
    assert(client != NULL);
    if (ps->frame_type == FRAME_PUSH_ROWS) {
        ps_rows_collect(ps, client, *body);
        return ps->finished ? NULL : client;
    }
    if (client->sum == NULL) { client->sum = pushed_gradient_create(shard_chunks(&ps->shard)); }
    if (client->sum == NULL) {
        ps_shard_failed(ps);
        return NULL;
    }
    if (shard_is_updated(&ps->shard, client->sum)) {
        pushed_gradient_skip(client->sum);
        return client;
    }
    pushed_gradient_add(client->sum, *body);
    *body = NULL;
    return client;
}

static void hold(struct ps *ps, const struct ps_action *action, struct buffer **body)
{
    struct ps_client *client = collect(ps, action->conn, body);
    if (client == NULL) { return; }
    shard_hold(&ps->shard, action->first, client->sum);
    if (shard_rows_exist(&ps->rows)) { ps_rows_hold(ps, action->first, client); }
    ps->losses->held[action->first] = ps->frame_loss;
    client->sum = NULL;
    if (!ps->core.applying) { FAILPOINT("ps.mid_step"); }
}

static void answer_lookup(struct ps *ps, const struct ps_action *action, const struct buffer *body)
{
    struct ps_client *client = ps_clients_find(&ps->clients, action->conn);
    assert(client != NULL);
    ps_rows_answer(ps, action, action->waiting ? client->lookup : body);
    if (action->waiting) { ps_client_keep_lookup(client, NULL); }
}

static void measure(struct ps *ps)
{
    assert(ps->core.measuring);
    struct measurement part;
    if (shard_measure(&ps->shard, ps->actions.parts, ps->actions.part_count, &part) &&
        norms_measured(&ps->norms, &part)) {
        follow_up(ps, (struct ps_event){.type = PS_EV_MEASURED});
    } else {
        ps_shard_failed(ps);
    }
}

/* If no connection is open, the core sends it again when one opens. */
static void send_part(struct ps *ps, const struct ps_action *action)
{
    conn_id conn = ps_peers_conn(&ps->peers, action->first);
    struct buffer *part = action->previous ? ps->norms.previous : ps->norms.present;
    assert(part != NULL);
    if (conn.v == 0) { return; }
    struct frame_header header = {
        .type = FRAME_NORM_PART,
        .generation = action->generation,
        .step = action->step,
        .first = ps->norms.index,
    };
    ps_send(ps, conn, header, buffer_retain(part));
}

/* The places of pushes contain values now: the rest of a late push must not be copied there. */
static void end_places(struct ps *ps)
{
    for (uint32_t i = 0; i < ps->clients.count; i++) {
        struct pushed_gradient *sum = ps->clients.items[i].sum;
        if (sum != NULL && sum->array != NULL && sum->array == ps->shard.current[0]) {
            pushed_gradient_end(sum);
        }
    }
}

/* A part of the update. The record shows that it has begun before any value of it is sent. */
static void apply_chunks(struct ps *ps, const struct ps_action *action)
{
    const struct pushed_gradient *sums[SLICES_MAX];
    const struct ps_actions *actions = &ps->actions;
    assert(ps->core.applying && ps->core.begun);
    FAILPOINT("ps.before_apply");
    for (uint32_t i = 0; i < actions->part_count; i++) {
        const conn_id conn = actions->part_conns[i];
        sums[i] = conn.v != 0 ? ps_clients_find(&ps->clients, conn)->sum : NULL;
        assert(conn.v == 0 || sums[i] != NULL);
    }
    if (!shard_begin_update(&ps->shard)) {
        ps_shard_failed(ps);
        return;
    }
    ps_kept_write(ps, action->step);
    const uint64_t begun_ns = clock_monotonic_ns();
    const bool applied =
        shard_apply_chunks(&ps->shard, actions->parts, sums, actions->part_count, action->count);
    time_spent_add(TIME_APPLY, begun_ns);
    if (!applied) {
        ps_shard_failed(ps);
        return;
    }
    FAILPOINT("ps.chunks_applied");
    follow_up(ps, (struct ps_event){.type = PS_EV_APPLIED});
}

static void apply(struct ps *ps, uint64_t step)
{
    assert(ps->core.applying);
    assert(ps->actions.part_count >= 1);
    FAILPOINT("ps.before_apply");
    if (ps->core.config.norms) { norms_finish(&ps->norms, &ps->shard.config.optimizer); }
    if (!shard_begin_update(&ps->shard)) {
        ps_shard_failed(ps);
        return;
    }
    ps_kept_write(ps, step);
    const uint64_t begun_ns = clock_monotonic_ns();
    const bool applied = ps_rows_apply(ps, step) &&
                         shard_apply(&ps->shard, ps->actions.parts, ps->actions.part_count);
    time_spent_add(TIME_APPLY, begun_ns);
    if (ps->finished) { return; }
    if (applied) {
        end_places(ps);
        losses_apply(ps->losses, step, ps->shard.config.slices, ps->actions.parts,
                     ps->actions.part_count);
        FAILPOINT("ps.before_keep");
        ps_kept_write(ps, step + 1);
        FAILPOINT("ps.applied_before_ack");
        follow_up(ps, (struct ps_event){.type = PS_EV_APPLIED});
        return;
    }
    ps_shard_failed(ps);
}

static void load(struct ps *ps, const struct ps_action *action)
{
    assert(ps->core.loading_generation == action->generation);
    ps->load_began_ms = ps->now_ms;
    ps->has_clocks = false;
    struct error error;
    if (shard_rows_begin_load(&ps->rows, &error) != TN_OK || !shard_begin_load(&ps->shard)) {
        log_error("out of memory for %" PRIu64 " parameters: exiting", ps->shard.config.count);
        ps_finish(ps, TN_EXIT_ERROR);
        return;
    }
    if (action->checkpoint != 0) {
        log_info("loading generation %" PRIu64 " from checkpoint %" PRIu64, action->generation,
                 action->checkpoint);
        checkpoint_client_load(&ps->checkpoints, action->checkpoint);
        return;
    }
    shard_load_initial(&ps->shard, ps->config.variables, ps->config.job->seed);
    ps->incoming_updates = 0;
    follow_up(ps, (struct ps_event){.type = PS_EV_LOADED});
}

static void adopt(struct ps *ps)
{
    assert(ps->now_ms >= ps->load_began_ms);
    if (!shard_adopt(&ps->shard, ps->incoming_updates)) {
        ps_shard_failed(ps);
        return;
    }
    shard_rows_adopt(&ps->rows);
    losses_load(ps->losses, ps->core.step);
    ps_kept_write(ps, ps->core.step);
    char source[48] = "initial values";
    if (ps->core.loading_checkpoint != 0) {
        snprintf(source, sizeof source, "checkpoint %" PRIu64, ps->core.loading_checkpoint);
    }
    log_info("loaded generation %" PRIu64 " from %s step=%" PRIu64 " took_ms=%" PRIu64,
             ps->core.generation, source, ps->core.step, ps->now_ms - ps->load_began_ms);
}

static void save(struct ps *ps, const struct ps_action *action)
{
    static_assert((int)SLICE_CLOCKS_BYTES_MAX <= (int)STORE_BLOB_MAX,
                  "the clocks fit the store's blob");
    uint8_t clocks[STORE_BLOB_MAX];
    struct checkpoint_save request = {
        .checkpoint = action->checkpoint,
        .generation = action->generation,
        .step = action->step,
        .kept = action->values == VALUES_CHECKPOINT,
    };
    /* All clocks are at the step of a checkpoint. With tables the blob names the files of rows. */
    if (strategy_of_job(ps->config.job)->slice_updates && !shard_rows_exist(&ps->rows)) {
        request.blob_bytes =
            slice_clocks_encode(ps->core.clock, ps->config.job->train.slices, clocks);
        request.blob = clocks;
    }
    const struct ps_event missed = {.type = PS_EV_SAVE_FAILED, .checkpoint = action->checkpoint};
    const bool has_arrays =
        request.kept ? ps->shard.kept_arrays[0] != NULL : shard_copy_state(&ps->shard);
    if (!has_arrays && ps->shard.failure.status != TN_OK) {
        ps_shard_failed(ps);
        return;
    }
    if (!has_arrays) {
        log_warn("checkpoint %" PRIu64 " is not saved: the host has no memory for the optimizer's "
                 "state, which is on the GPU",
                 action->checkpoint);
        follow_up(ps, missed);
        return;
    }
    log_debug("saving checkpoint %" PRIu64 " step=%" PRIu64, action->checkpoint, action->step);
    ps_kept_write(ps, ps->core.step);
    if (checkpoint_client_save(&ps->checkpoints, &request)) { return; }
    follow_up(ps, missed);
}

/* `*body` is the event's; NULL afterwards if the shard holds it. */
void ps_carry_out(struct ps *ps, const struct ps_action *action, struct buffer **body)
{
    switch (action->type) {
    case PS_DO_PLACE: place(ps, action->conn); break;
    case PS_DO_COLLECT: (void)collect(ps, action->conn, body); break;
    case PS_DO_HOLD: hold(ps, action, body); break;
    case PS_DO_DROP:
        ps_clients_release_push(&ps->clients, action->conn);
        break; /* The caller: the body. */
    case PS_DO_RELEASE:
        shard_release(&ps->shard, action->first);
        shard_rows_release(&ps->rows, action->first);
        break;
    case PS_DO_RELEASE_ALL:
        shard_release_all(&ps->shard);
        shard_rows_release_all(&ps->rows);
        ps_clients_release_all(&ps->clients);
        break;
    case PS_DO_MEASURE: measure(ps); break;
    case PS_DO_SEND_PART: send_part(ps, action); break;
    case PS_DO_HOLD_PART: /* The caller releases the body. */
        norms_hold(&ps->norms, action->first, (*body)->data);
        break;
    case PS_DO_APPLY: apply(ps, action->step); break;
    case PS_DO_APPLY_CHUNKS: apply_chunks(ps, action); break;
    case PS_DO_KEEP: ps_kept_arrays(ps, action->values, action->step); break;
    case PS_DO_UNKEEP: ps_kept_arrays(ps, action->values, 0); break;
    case PS_DO_ANSWER: answer(ps, action); break;
    case PS_DO_ANSWER_CHUNKS: answer_chunks(ps, action); break;
    case PS_DO_KEEP_LOOKUP:
        ps_client_keep_lookup(ps_clients_find(&ps->clients, action->conn), *body);
        *body = NULL;
        break;
    case PS_DO_ANSWER_LOOKUP: answer_lookup(ps, action, *body); break;
    case PS_DO_REFUSE: refuse(ps, action); break;
    case PS_DO_LOAD: load(ps, action); break;
    case PS_DO_ADOPT: adopt(ps); break;
    case PS_DO_DISCARD:
        shard_discard_incoming(&ps->shard);
        shard_rows_discard(&ps->rows);
        break;
    case PS_DO_FORGET:
        ps_kept_clear(ps);
        shard_forget(&ps->shard);
        shard_rows_forget(&ps->rows);
        norms_forget(&ps->norms);
        break;
    case PS_DO_SAVE: save(ps, action); break;
    }
}

void ps_answer_losses(struct ps *ps, const struct transport_event *event)
{
    assert(event->header.type == FRAME_LOSSES);
    const struct losses_request request = {
        .generation = ps->core.generation,
        .from = event->header.step,
        .until = ps->core.step,
        .now_ms = ps->now_ms,
        .batch = ps->config.job->train.batch,
    };
    struct buffer *body = buffer_acquire(ps->ports.buffers, sizeof(double) * LOSSES_MAX);
    if (body == NULL) { return; }
    const struct frame_header header = losses_answer(ps->losses, &ps->observer, &request, body);
    ps_send(ps, event->conn, header, body);
}
