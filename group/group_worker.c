#include "group/group_worker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"
#include "group/attempt.h"
#include "group/group_private.h"
#include "group/member_message.h"
#include "worker/failure.h"
#include "worker/refusal.h"

void group_finish(struct group_worker *worker, int exit_code)
{
    assert(exit_code >= 0);
    if (worker->finished) { return; }
    worker->finished = true;
    worker->exit_code = exit_code;
}

void group_failed(struct group_worker *worker, enum tn_status status)
{
    log_error("%s", worker->error.text);
    group_finish(worker, failure_exit_code(status));
}

uint32_t group_owner_of(const struct group_worker *worker, uint32_t ps)
{
    return strategy_member_of_ps(worker->config.job, ps);
}

/* ------------------------------------------------------- calls of the member */

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    const struct group_worker *worker = ctx;
    return group_examples_slice(&worker->examples, label, field, view, error);
}

static void done(void *ctx, const struct schedule_label *label)
{
    struct group_worker *worker = ctx;
    (void)label;
    worker->orders.is_done = true;
}

static void reset(void *ctx)
{
    struct group_worker *worker = ctx;
    group_values_reset(worker);
    group_evaluate_reset(worker);
    worker->orders = (struct group_orders){.is_active = false};
    worker->wait_since_ms = worker->now_ms;
    log_info("the group is not complete: a connection between its members was lost");
    if (group_is_head(worker)) { group_feed(worker, (struct loop_event){.type = LOOP_EV_RESET}); }
}

static void ready(void *ctx)
{
    struct group_worker *worker = ctx;
    worker->wait_since_ms = worker->now_ms;
    log_info("member %" PRIu32 " of %" PRIu32 " is ready", worker->index, worker->members);
}

/* LINK_UP, LINK_DOWN, ANSWER: from the owner of the ps. */
static const char *from_ps(struct group_worker *worker, const struct member_frame *message,
                           const struct buffer *body)
{
    struct frame_header header;
    if (message->kind != MEMBER_FRAME_ANSWER) {
        const bool up = message->kind == MEMBER_FRAME_LINK_UP;
        group_feed(worker, (struct loop_event){.type = up ? LOOP_EV_LINK_UP : LOOP_EV_LINK_DOWN,
                                               .ps = message->number});
        return NULL;
    }
    if (wire_decode_header(body->data, WIRE_CHUNK_BYTES, &header, NULL) != TN_OK ||
        (header.type != FRAME_VALUES && header.type != FRAME_REFUSED)) {
        return "an answer of a ps is not valid";
    }
    group_head_answer(worker, message->number, &header);
    return NULL;
}

/* RELAY, TAKE: to a ps of this member. */
static const char *to_ps(struct group_worker *worker, const struct member_frame *message,
                         const struct buffer *body)
{
    struct frame_header header;
    const struct value_label label = {message->label.generation, message->label.step};
    if (message->kind == MEMBER_FRAME_TAKE) {
        return group_values_take(worker, message->number, label)
                   ? NULL
                   : "values were to be taken that this member does not have";
    }
    if (wire_decode_header(body->data, WIRE_CHUNK_BYTES, &header, NULL) != TN_OK ||
        (header.type != FRAME_PUSH && header.type != FRAME_PULL)) {
        return "a question to a ps is not valid";
    }
    group_values_send(worker, message->number, header);
    return NULL;
}

static const char *take_message(void *ctx, uint32_t peer, const struct member_frame *message,
                                struct buffer *body)
{
    struct group_worker *worker = ctx;
    const uint32_t ps = message->number;
    const uint32_t owner =
        ps < worker->layout.ps ? group_owner_of(worker, ps) : (uint32_t)GROUP_MEMBERS_MAX;
    if (!member_message_is_for(worker->index, peer, message->kind, owner)) {
        return "a message is not for this member";
    }
    switch (message->kind) {
    case MEMBER_FRAME_LINK_UP:
    case MEMBER_FRAME_LINK_DOWN:
    case MEMBER_FRAME_ANSWER: return from_ps(worker, message, body);
    case MEMBER_FRAME_RELAY:
    case MEMBER_FRAME_TAKE: return to_ps(worker, message, body);
    case MEMBER_FRAME_SWAP:
        return group_values_swap(
                   worker, (struct value_label){message->label.generation, message->label.step})
                   ? NULL
                   : "the next values are not complete";
    default: return group_evaluate_message(worker, message, body);
    }
}

/* ------------------------------------------------------------------ transport */

static void transport(struct group_worker *worker, const struct transport_event *event)
{
    const int ps = links_find(&worker->links, event->conn);
    bool taken = false;
    if (ps >= 0) {
        group_values_transport(worker, (uint32_t)ps, event);
    } else {
        const enum tn_status status =
            member_handle(worker->member, event, worker->now_ms, &taken, &worker->error);
        if (status != TN_OK) { group_failed(worker, status); }
    }
    if (!taken && event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
}

/* ------------------------------------------------------------------ ZooKeeper */

/* A worker of this group is another process, or left. */
static void locate(struct group_worker *worker, uint32_t task)
{
    if (task < worker->first_task || task >= worker->first_task + worker->members) { return; }
    const uint32_t peer = task - worker->first_task;
    if (peer == worker->index) { return; }
    const struct member *member = worker_watch_worker(&worker->watch, task);
    member_locate(worker->member, peer, member != NULL ? member->address : NULL);
}

static void zookeeper(struct group_worker *worker, const struct zk_event *event)
{
    struct worker_watch *watch = &worker->watch;
    switch (worker_watch_handle(watch, event, worker->now_ms)) {
    case WORKER_WATCH_NOTHING: break;
    case WORKER_WATCH_RESTARTED: group_values_lost(worker, watch->peer); break;
    case WORKER_WATCH_WORKER: locate(worker, watch->peer); break;
    case WORKER_WATCH_ASSIGNED:
        if (!group_is_head(worker)) { break; }
        group_feed(worker, (struct loop_event){.type = LOOP_EV_ASSIGNMENT,
                                               .assignment = &watch->assignment});
        break;
    }
}

static void follow_run(struct group_worker *worker)
{
    const struct run *run = &worker->membership.run;
    if (!run_is_over(run) &&
        refusal_log(worker->config.job, &run->inputs, &worker->config.inputs)) {
        group_finish(worker, TN_EXIT_INVALID_INPUT);
        return;
    }
    if (run->generation != worker->core.generation) {
        worker->evaluation = (struct evaluation){.step = STEP_NONE};
        worker->recent = (struct recent_losses){0};
    }
    if (group_is_head(worker)) {
        group_feed(worker, (struct loop_event){.type = LOOP_EV_RUN, .run = run});
    }
    if (run->phase == RUN_DONE) { group_finish(worker, TN_EXIT_OK); }
    if (run->phase == RUN_FAILED) { group_finish(worker, TN_EXIT_ERROR); }
}

/* -------------------------------------------------------------------- waiting */

static bool is_complete(const struct group_worker *worker)
{
    return group_is_head(worker) ? member_is_complete(worker->member)
                                 : member_is_ready(worker->member);
}

/* The first ps whose values the head waits for, or -1. */
static int awaited_ps(const struct group_worker *worker)
{
    for (uint32_t p = 0; p < worker->layout.ps && group_is_head(worker); p++) {
        if (training_loop_waits_for(&worker->core, p)) { return (int)p; }
    }
    return -1;
}

static uint64_t wait_log_due_ms(const struct group_worker *worker)
{
    uint64_t since_ms = worker->wait_since_ms;
    if (is_complete(worker)) {
        if (awaited_ps(worker) < 0) { return UINT64_MAX; }
        since_ms = u64_max(since_ms, worker->core.progress_ms);
    }
    return u64_max(since_ms, worker->wait_logged_at_ms) + WORKER_WAIT_LOG_MS;
}

static void log_wait(struct group_worker *worker)
{
    if (worker->now_ms < wait_log_due_ms(worker)) { return; }
    worker->wait_logged_at_ms = worker->now_ms;
    if (is_complete(worker)) {
        log_info("waiting for ps:%d for %" PRIu64 " s: values after step=%" PRIu64
                 " generation=%" PRIu64,
                 awaited_ps(worker), (worker->now_ms - worker->core.progress_ms) / 1000,
                 worker->core.step, worker->core.generation);
        return;
    }
    uint32_t peer = 0;
    assert(worker->members > 0);
    while (peer < worker->members && member_is_connected(worker->member, peer)) { peer++; }
    log_info("waiting for worker:%" PRIu32 " (%s) for %" PRIu64 " s: the group is not complete",
             worker->first_task + peer % worker->members,
             peer < worker->members ? "not connected" : "connected, not ready",
             (worker->now_ms - worker->wait_since_ms) / 1000);
}

/* -------------------------------------------------------------------- reactor */

/* G7: for the chief, the head of a complete group is a worker, and no other member is ready. */
static void report(struct group_worker *worker)
{
    struct report report = {
        .generation = worker->membership.run.generation,
        .leaving = worker->drain_until_ms != 0,
        .evaluation = {.step = STEP_NONE},
        .inputs = worker->config.inputs,
    };
    if (group_is_head(worker)) {
        report.generation = worker->core.generation;
        report.step = worker->core.step;
        report.ready = member_is_complete(worker->member);
        report.slice_ns = worker->timer.reported_ns;
        report.evaluation_ms = worker->evaluation_timer.reported_ms;
        report.evaluation = worker->evaluation;
    }
    membership_report(&worker->membership, &report);
}

/* Continue with orders and evaluations that an event has completed. */
static void proceed(struct group_worker *worker)
{
    if (!group_is_head(worker)) { return; }
    group_head_continue(worker);
    if (worker->finished || !group_evaluate_is_over(worker)) { return; }
    group_evaluate_end(worker);
    group_feed(worker, (struct loop_event){.type = LOOP_EV_EVALUATED});
    group_head_continue(worker);
}

static void tick(struct group_worker *worker)
{
    worker_watch_tick(&worker->watch, worker->now_ms);
    if (group_is_head(worker) && worker->now_ms >= training_loop_deadline_ms(&worker->core)) {
        group_feed(worker, (struct loop_event){.type = LOOP_EV_TICK});
    }
    member_tick(worker->member, worker->now_ms);
    if (member_is_ready(worker->member)) { links_tick(&worker->links, worker->now_ms); }
    proceed(worker);
    log_wait(worker);
}

/* G8: a member that is not the head leaves at once: the group is then not ready. */
static void leave_if_drained(struct group_worker *worker)
{
    if (worker->drain_until_ms == 0 || worker->finished) { return; }
    const bool is_awaited =
        group_is_head(worker) && worker_watch_is_awaited(&worker->watch, &worker->core.owned);
    if (is_awaited && worker->now_ms < worker->drain_until_ms) { return; }
    group_finish(worker, TN_EXIT_OK);
}

static void handle(void *self, const struct node_event *event)
{
    struct group_worker *worker = self;
    assert(!worker->finished);
    assert(event->now_ms >= worker->now_ms);
    worker->now_ms = event->now_ms;
    unsigned changes = membership_handle(&worker->membership, event);
    if ((changes & MEMBERSHIP_ENDED) != 0) { group_finish(worker, worker->membership.exit_code); }
    if ((changes & MEMBERSHIP_RUN) != 0) { follow_run(worker); }
    switch (event->type) {
    case NODE_START: worker->wait_since_ms = event->now_ms; break;
    case NODE_TICK:
    case NODE_ROLE: break;
    case NODE_ZK: zookeeper(worker, event->zk); break;
    case NODE_TRANSPORT: transport(worker, event->transport); break;
    case NODE_LEAVE: group_finish(worker, TN_EXIT_OK); break;
    case NODE_DRAIN: worker->drain_until_ms = event->now_ms + NODE_DRAIN_MS; break;
    }
    if (worker->finished) { return; }
    tick(worker);
    report(worker);
    leave_if_drained(worker);
}

static uint64_t deadline_ms(const void *self)
{
    const struct group_worker *worker = self;
    uint64_t first = membership_deadline_ms(&worker->membership);
    if (group_is_head(worker)) { first = u64_min(first, training_loop_deadline_ms(&worker->core)); }
    if (member_is_ready(worker->member)) {
        first = u64_min(first, links_deadline_ms(&worker->links));
    }
    first = u64_min(first, member_deadline_ms(worker->member));
    first = u64_min(first, wait_log_due_ms(worker));
    if (worker->drain_until_ms != 0) { first = u64_min(first, worker->drain_until_ms); }
    return u64_min(first, worker_watch_deadline_ms(&worker->watch));
}

static bool is_finished(const void *self, int *exit_code)
{
    const struct group_worker *worker = self;
    *exit_code = worker->exit_code;
    return worker->finished;
}

struct node group_worker_node(struct group_worker *worker)
{
    return (struct node){worker, handle, deadline_ms, is_finished};
}

/* ------------------------------------------------------------ create, destroy */

static enum tn_status create_member(struct group_worker *worker, struct error *error)
{
    const struct member_calls calls = {.fill = fill,
                                       .prepare = group_values_prepare,
                                       .computed = group_values_computed,
                                       .done = done,
                                       .reset = reset,
                                       .ready = ready,
                                       .expects = group_evaluate_expects,
                                       .message = take_message,
                                       .ctx = worker};
    const struct member_config config = member_config_of(&worker->config, &worker->cut, &calls);
    return member_create(&config, &worker->member, error);
}

static enum tn_status open_parts(struct group_worker *worker, struct error *error)
{
    const struct worker_config *config = &worker->config;
    const struct variable_table *table = &config->model->table;
    enum tn_status status =
        training_cut_create(config->model->graph, worker->members, &worker->cut, error);
    if (status != TN_OK) { return status; }
    group_layout_set(&worker->layout, config->job, table, worker->index);
    group_layout_apply(&worker->layout, table, worker->index, &worker->cut);
    status =
        group_examples_open(&worker->examples, config->job, config->train, config->test, error);
    if (status == TN_OK) { status = group_values_open(worker, error); }
    if (status == TN_OK) { status = create_member(worker, error); }
    return status == TN_OK ? group_evaluate_open(worker, error) : status;
}

static void init_links(struct group_worker *worker)
{
    const struct job *job = worker->config.job;
    links_init(&worker->links, job->cluster.ps, &worker->ports.transport);
    for (uint32_t p = 0; p < job->cluster.ps; p++) {
        if (!worker->layout.owns[p]) { links_ignore(&worker->links, p); }
    }
    worker_watch_init(&worker->watch, ROLE_PS, job->train.slices, &worker->links,
                      &worker->membership);
    worker_watch_follow_workers(&worker->watch, job->cluster.workers);
}

/* calloc() does not align the digest of an evaluation. */
static struct group_worker *allocate(void)
{
    struct group_worker *worker = aligned_alloc(alignof(struct group_worker), sizeof *worker);
    if (worker != NULL) { memset(worker, 0, sizeof *worker); }
    return worker;
}

enum tn_status group_worker_create(const struct worker_config *config, struct group_worker **out,
                                   struct error *error)
{
    *out = NULL;
    const struct job *job = config->job;
    const uint32_t task = config->identity.task.index, members = strategy_members(job);
    assert(config->identity.task.role == ROLE_WORKER && members > 1);
    struct group_worker *worker = allocate();
    if (worker == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a worker"); }
    worker->config = *config;
    worker->ports = *config->ports;
    worker->members = members;
    worker->index = task % members;
    worker->first_task = task - worker->index;
    worker->evaluation.step = STEP_NONE;
    const enum tn_status status = open_parts(worker, error);
    if (status != TN_OK) {
        group_worker_destroy(worker);
        return status;
    }
    membership_init(&worker->membership, &config->identity, &worker->ports);
    init_links(worker);
    training_loop_init(&worker->core, &(struct training_loop_config){
                                          .strategy = strategy_of_job(job)->kind,
                                          .slices = job->train.slices,
                                          .ps = job->cluster.ps,
                                          .index = task,
                                          .evaluate_every = job_evaluate_every(job),
                                          .whole_pushes = true,
                                      });
    *out = worker;
    return TN_OK;
}

void group_worker_destroy(struct group_worker *worker)
{
    if (worker == NULL) { return; }
    member_destroy(worker->member);
    group_evaluate_close(worker);
    group_values_close(worker);
    group_examples_close(&worker->examples);
    training_cut_free(&worker->cut);
    free(worker);
}
