#include "worker/worker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "worker/ps_frames.h"
#include "worker/refusal.h"
#include "worker/worker_private.h"

static uint32_t ps_count(const struct worker *worker)
{
    return worker->config.job->cluster.ps;
}

/* In a round without a step, neither the present values nor a part of the next ones are read: the
 * ps may write there. */
static void return_unused(struct worker *worker, uint64_t round_before)
{
    if (worker->core.round == round_before || worker->core.state == LOOP_WHOLE) { return; }
    value_array_return(worker->current);
    value_array_return(worker->next);
}

/* Pass an event to the core and carry out its actions, and those that follow from their results.
 * `body` is only read. */
static void feed(struct worker *worker, struct loop_event event, struct buffer *body)
{
    assert(worker->finished || worker->follow_up_count == 0);
    event.now_ms = worker->now_ms;
    for (;;) {
        const uint64_t round = worker->core.round;
        training_loop_handle(&worker->core, &event, &worker->actions);
        for (uint32_t i = 0; i < worker->actions.count && !worker->finished; i++) {
            worker_carry_out(worker, &worker->actions.items[i], body);
        }
        return_unused(worker, round);
        body = NULL;
        if (worker->finished || worker->follow_up_count == 0) { return; }
        event = worker->follow_ups[0];
        worker->follow_up_count--;
        memmove(&worker->follow_ups[0], &worker->follow_ups[1],
                worker->follow_up_count * sizeof worker->follow_ups[0]);
    }
}

/* ------------------------------------------------------------------ frames */

/* Why the frame is not a valid chunk of values or refusal, or NULL. */
static const char *frame_fault(struct worker *worker, uint32_t ps,
                               const struct frame_header *header, enum chunk_kind *kind)
{
    uint64_t shard = worker->places[ps].count * sizeof(float) * (worker->has_averages ? 2 : 1);
    const bool values = ps_frames_are_values(header);
    if (!values && header->type != FRAME_REFUSED) { return "a worker does not accept this type"; }
    return chunks_fault(&worker->answers[ps], header, values ? shard : 0,
                        worker->ports.transport.chunk_bytes, kind);
}

static void refuse_frame(struct worker *worker, uint32_t ps, const struct transport_event *event,
                         const char *fault)
{
    ps_frames_log_invalid(ps, event, fault);
    worker->answers[ps].invalid = true;
    worker->ports.transport.close(worker->ports.transport.ctx, event->conn);
}

/* Rows of tables: not chunks of values. */
static void rows_frame(struct worker *worker, uint32_t ps, const struct transport_event *event)
{
    bool wanted, more = false;
    const char *fault = worker_rows_take(worker, ps, event, &wanted, &more);
    if (fault != NULL) {
        refuse_frame(worker, ps, event, fault);
        return;
    }
    links_confirmed(&worker->links, ps);
    if (!wanted) { return; }
    feed(worker, (struct loop_event){.type = LOOP_EV_ROWS, .ps = ps, .more = more}, NULL);
}

static void frame(struct worker *worker, uint32_t ps, const struct transport_event *event)
{
    assert(event->type == TRANSPORT_FRAME);
    assert(ps < ps_count(worker));
    const struct frame_header *header = &event->header;
    enum chunk_kind kind;
    if (worker->answers[ps].invalid) { return; }
    if (header->type == FRAME_ROWS) {
        rows_frame(worker, ps, event);
        return;
    }
    const char *fault = frame_fault(worker, ps, header, &kind);
    if (fault != NULL) {
        refuse_frame(worker, ps, event, fault);
        return;
    }
    links_confirmed(&worker->links, ps);
    if (kind == CHUNK_REPEATED) { return; }
    struct loop_event next = ps_frames_answer(ps, header);
    next.chunk = (uint32_t)(header->offset / worker->ports.transport.chunk_bytes);
    next.number = worker->answers[ps].number;
    next.growing = wire_is_last_first(header->type);
    next.more = kind == CHUNK_MORE;
    feed(worker, next, event->body);
}

static void transport(struct worker *worker, const struct transport_event *event)
{
    int ps = links_find(&worker->links, event->conn);
    if (ps >= 0) {
        uint32_t index = (uint32_t)ps;
        switch (event->type) {
        case TRANSPORT_OPENED:
            if (!worker_accepts_lane(worker, index, event->by_lane)) { break; }
            links_opened(&worker->links, index);
            worker->answers[index] = (struct chunks){0};
            feed(worker, (struct loop_event){.type = LOOP_EV_LINK_UP, .ps = index}, NULL);
            break;
        case TRANSPORT_FRAME: frame(worker, index, event); break;
        case TRANSPORT_CLOSED:
            if (!links_closed(&worker->links, index, event->status, worker->now_ms)) { break; }
            log_info("lost the connection to ps:%" PRIu32 " at %s: %s", index,
                     worker->links.items[index].address, tanist_strerror(event->status));
            feed(worker, (struct loop_event){.type = LOOP_EV_LINK_DOWN, .ps = index}, NULL);
            break;
        }
    }
    if (event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
}

/* --------------------------------------------------------------- ZooKeeper */

static void zookeeper(struct worker *worker, const struct zk_event *event)
{
    struct worker_watch *watch = &worker->watch;
    switch (worker_watch_handle(watch, event, worker->now_ms)) {
    case WORKER_WATCH_NOTHING:
    case WORKER_WATCH_WORKER: break;
    case WORKER_WATCH_RESTARTED:
        feed(worker, (struct loop_event){.type = LOOP_EV_LINK_DOWN, .ps = watch->peer}, NULL);
        break;
    case WORKER_WATCH_ASSIGNED:
        feed(worker,
             (struct loop_event){.type = LOOP_EV_ASSIGNMENT, .assignment = &watch->assignment},
             NULL);
        break;
    }
}

static void follow_run(struct worker *worker)
{
    const struct run *run = &worker->membership.run;
    if (!run_is_over(run) &&
        refusal_log(worker->config.job, &run->inputs, &worker->config.inputs)) {
        worker_finish(worker, TN_EXIT_INVALID_INPUT);
        return;
    }
    if (run->generation != worker->core.generation) {
        worker->evaluation = (struct evaluation){.step = STEP_NONE};
        compute_reset(&worker->compute);
    }
    feed(worker, (struct loop_event){.type = LOOP_EV_RUN, .run = run}, NULL);
    if (run->phase == RUN_DONE) { worker_finish(worker, TN_EXIT_OK); }
    if (run->phase == RUN_FAILED) { worker_finish(worker, TN_EXIT_ERROR); }
}

/* ----------------------------------------------------------------- waiting */

/* The first ps whose values the loop waits for, or -1. */
static int awaited_ps(const struct worker *worker)
{
    for (uint32_t p = 0; p < ps_count(worker); p++) {
        if (training_loop_waits_for(&worker->core, p)) { return (int)p; }
    }
    return -1;
}

/* When a line about the present wait is due. */
static uint64_t wait_log_due_ms(const struct worker *worker)
{
    if (awaited_ps(worker) < 0) { return UINT64_MAX; }
    return u64_max(worker->core.progress_ms, worker->wait_logged_at_ms) + WORKER_WAIT_LOG_MS;
}

static void log_wait(struct worker *worker)
{
    if (worker->now_ms < wait_log_due_ms(worker)) { return; }
    uint32_t ps = (uint32_t)awaited_ps(worker);
    assert(worker->now_ms >= worker->core.progress_ms);
    const struct link *link = &worker->links.items[ps];
    const char *how = link->open     ? "connected"
                      : !link->known ? "not registered"
                                     : tanist_strerror(link->last_status);
    uint64_t step = worker->core.step + (worker->core.state == LOOP_WHOLE ? 1 : 0);
    log_info("waiting for ps:%" PRIu32 " (%s, %s) for %" PRIu64 " s: values of step=%" PRIu64
             " generation=%" PRIu64,
             ps, link->address[0] != '\0' ? link->address : "no address yet", how,
             (worker->now_ms - worker->core.progress_ms) / 1000, step, worker->core.generation);
    worker->wait_logged_at_ms = worker->now_ms;
}

/* ----------------------------------------------------------------- reactor */

static void report(struct worker *worker)
{
    struct report report = {
        .generation = worker->core.generation,
        .step = worker->core.step,
        .ready = 1,
        .slice_ns = worker->timer.reported_ns,
        .evaluation_ms = worker->evaluation_timer.reported_ms,
        .leaving = worker->drain_until_ms != 0,
        .evaluation = worker->evaluation,
        .inputs = worker->config.inputs,
    };
    membership_report(&worker->membership, &report);
}

static void tick(struct worker *worker)
{
    worker_watch_tick(&worker->watch, worker->now_ms);
    if (worker->now_ms >= training_loop_deadline_ms(&worker->core)) {
        feed(worker, (struct loop_event){.type = LOOP_EV_TICK}, NULL);
    }
    links_tick(&worker->links, worker->now_ms);
    struct loop_event event;
    while (!worker->finished && worker_rows_follow(worker, &event)) { feed(worker, event, NULL); }
    log_wait(worker);
}

static void leave_if_drained(struct worker *worker)
{
    if (worker->drain_until_ms == 0 || worker->finished) { return; }
    const bool is_awaited = worker_watch_is_awaited(&worker->watch, &worker->core.owned);
    if (is_awaited && worker->now_ms < worker->drain_until_ms) { return; }
    worker_finish(worker, TN_EXIT_OK);
}

static void handle(void *self, const struct node_event *event)
{
    struct worker *worker = self;
    assert(!worker->finished);
    assert(event->now_ms >= worker->now_ms);
    worker->now_ms = event->now_ms;
    unsigned changes = membership_handle(&worker->membership, event);
    if ((changes & MEMBERSHIP_ENDED) != 0) { worker_finish(worker, worker->membership.exit_code); }
    if ((changes & MEMBERSHIP_RUN) != 0) { follow_run(worker); }
    switch (event->type) {
    case NODE_START:
    case NODE_TICK:
    case NODE_ROLE: break;
    case NODE_ZK: zookeeper(worker, event->zk); break;
    case NODE_TRANSPORT: transport(worker, event->transport); break;
    case NODE_LEAVE: worker_finish(worker, TN_EXIT_OK); break;
    case NODE_DRAIN: worker->drain_until_ms = event->now_ms + NODE_DRAIN_MS; break;
    }
    if (worker->finished) { return; }
    tick(worker);
    report(worker);
    leave_if_drained(worker);
}

static uint64_t deadline_ms(const void *self)
{
    const struct worker *worker = self;
    uint64_t first = membership_deadline_ms(&worker->membership);
    first = u64_min(first, training_loop_deadline_ms(&worker->core));
    first = u64_min(first, links_deadline_ms(&worker->links));
    first = u64_min(first, wait_log_due_ms(worker));
    if (worker->drain_until_ms != 0) { first = u64_min(first, worker->drain_until_ms); }
    return u64_min(first, worker_watch_deadline_ms(&worker->watch));
}

static bool is_finished(const void *self, int *exit_code)
{
    const struct worker *worker = self;
    *exit_code = worker->exit_code;
    return worker->finished;
}

struct node worker_node(struct worker *worker)
{
    return (struct node){worker, handle, deadline_ms, is_finished};
}

/* ---------------------------------------------------------- create, destroy */

/* The bodies of answers that may stay in use. With averages they have values and averages. */
static enum value_sharing value_sharing_of(const struct worker *worker)
{
    const uint64_t most = (uint64_t)VALUE_BODIES_MAX * worker->ports.transport.chunk_bytes;
    if (worker->has_averages) { return VALUES_COPIED; }
    for (uint32_t p = 0; p < ps_count(worker); p++) {
        if (worker->places[p].count * sizeof(float) > most) { return VALUES_BY_ANSWER; }
    }
    return VALUES_BY_CHUNK;
}

static enum tn_status open_parts(struct worker *worker, struct error *error)
{
    const struct worker_config *config = &worker->config;
    struct compute_config compute = {
        .job = config->job,
        .model = config->model,
        .programs = config->programs,
        .kernels = config->kernels,
        .train = config->train,
        .test = config->test,
        .pool = worker->ports.buffers,
        .gpus = config->job->train.gpus,
        .first_gpu = config->identity.task.index * config->job->train.gpus,
        .threads = job_worker_threads(config->job),
        .details = worker->config.details,
    };
    enum tn_status status = worker_rows_open(worker, error);
    if (status != TN_OK) { return status; }
    if (worker->lookup != NULL) { compute.rows = row_lookup_source(worker->lookup); }
    status = compute_open(&worker->compute, &compute, error);
    if (status != TN_OK) { return status; }
    size_t bytes = worker->compute.parameters * sizeof(float) * (worker->has_averages ? 2 : 1);
    worker->current = &worker->arrays[0];
    worker->next = &worker->arrays[1];
    bool opened = true;
    for (int i = 0; i < 2 && opened; i++) {
        opened = value_array_open(&worker->arrays[i], &worker->ports.memory,
                                  value_sharing_of(worker), bytes, worker->ports.buffers);
    }
    gradients_open(&worker->gradients, worker->ports.buffers, worker->places,
                   worker->compute.parameters);
    const struct gradient_places places = {worker, worker_reserve};
    gradient_array_open(&worker->gradients.shared, &worker->ports.memory, &places, worker->places,
                        ps_count(worker), config->identity.task.index);
    if (opened) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for %" PRIu64 " parameters",
                     worker->compute.parameters);
}

enum tn_status worker_create(const struct worker_config *config, struct worker **out,
                             struct error *error)
{
    *out = NULL;
    const struct job *job = config->job;
    assert(config->identity.task.role == ROLE_WORKER);
    assert(job->cluster.ps >= 1 && job->cluster.ps <= PS_MAX);
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a worker"); }
    worker->config = *config;
    worker->ports = *config->ports;
    /* Otherwise the rows of a step depend on the time of the question. */
    if (!strategy_of_job(job)->exact_steps) { worker->config.member = (struct row_member){0}; }
    worker->evaluation.step = STEP_NONE;
    worker->has_averages = job->train.ema > 0;
    for (uint32_t p = 0; p < job->cluster.ps; p++) {
        worker->places[p] = variable_table_shard(&config->model->table, job->cluster.ps, p);
    }
    membership_init(&worker->membership, &config->identity, &worker->ports);
    links_init(&worker->links, job->cluster.ps, &worker->ports.transport);
    worker_watch_init(&worker->watch, ROLE_PS, job->train.slices, &worker->links,
                      &worker->membership);
    training_loop_init(&worker->core, &(struct training_loop_config){
                                          .strategy = strategy_of_job(job)->kind,
                                          .slices = job->train.slices,
                                          .ps = job->cluster.ps,
                                          .index = config->identity.task.index,
                                          .evaluate_every = job_evaluate_every(job),
                                          .rows = config->model->table.row_table_count > 0,
                                      });
    enum tn_status status = open_parts(worker, error);
    if (status == TN_OK) {
        *out = worker;
    } else {
        worker_destroy(worker);
    }
    return status;
}

void worker_destroy(struct worker *worker)
{
    if (worker == NULL) { return; }
    gradients_close(&worker->gradients);
    for (int i = 0; i < 2; i++) { value_array_close(&worker->arrays[i]); }
    compute_close(&worker->compute);
    worker_rows_close(worker);
    free(worker);
}
