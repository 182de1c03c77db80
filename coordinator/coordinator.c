#include "coordinator/coordinator.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/job/job_manifest.h"
#include "common/job/strategy.h"
#include "coordinator/assign.h"
#include "coordinator/coordinator_private.h"
#include "tanist/status.h"

void coordinator_finish(struct coordinator *c, int exit_code)
{
    assert(exit_code >= 0);
    if (c->finished) { return; }
    c->finished = true;
    c->exit_code = exit_code;
}

uint64_t coordinator_read(struct coordinator *c, const char *rest, bool watch)
{
    char path[ZK_PATH_MAX];
    assert(rest != NULL);
    uint64_t op = membership_next_op(&c->membership);
    znode_path(path, c->identity.cluster, rest);
    c->ports->zk.read(c->ports->zk.ctx, op, path, watch);
    return op;
}

/* ------------------------------------------------------------------- chief */

void coordinator_decide(struct coordinator *c, struct chief_event event)
{
    struct chief_actions actions;
    assert(!c->finished);
    event.now_ms = c->now_ms;
    event.wall_ms = c->wall_ms;
    chief_step(&c->chief, &event, &actions);
    if (actions.exits) {
        if (actions.exit_code == TN_EXIT_DEPOSED) {
            log_warn("deposed: /chief no longer names this process; exiting");
        }
        coordinator_finish(c, actions.exit_code);
        return;
    }
    if (actions.resign) {
        if (c->stage == LEADERSHIP_ACTIVE) { leadership_resign(c); }
        return;
    }
    if (actions.restore != 0) { restore_plain(c, actions.restore); }
    if (actions.republish_count > 0) {
        restore_manifests(c, actions.republish, actions.republish_count);
    }
    if (actions.delete_count > 0) { write_deletes(c, actions.deletes, actions.delete_count); }
    if (actions.raise_epoch != 0) { write_raise(c, actions.raise_op, actions.raise_epoch); }
    if (actions.write != NULL) { write_start(c, actions.write); }
}

/* ------------------------------------------------------------------- tasks */

static void report_task(struct coordinator *c, uint32_t index, const char *cause)
{
    assert(index < c->roster.count);
    const struct roster_entry *entry = &c->roster.entries[index];
    struct reported_task *reported = &c->reported[index];
    reported->known = true;
    reported->present = entry->present;
    reported->incarnation = entry->present ? entry->member.incarnation : 0;
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_MEMBER,
                                               .member = {.task = entry->task,
                                                          .present = entry->present,
                                                          .incarnation = entry->member.incarnation,
                                                          .pid = entry->member.pid,
                                                          .cause = cause}});
}

/* Reports a change to the chief; the end of a process only after its exit note was read. */
static void check_task(struct coordinator *c, uint32_t index)
{
    assert(index < c->roster.count);
    const struct roster_entry *entry = &c->roster.entries[index];
    struct reported_task *reported = &c->reported[index];
    bool settled = entry->present || entry->watch.state == WATCH_SET;
    if (!settled || reported->note_op != 0) { return; }
    bool same = reported->known && reported->present == entry->present &&
                (!entry->present || reported->incarnation == entry->member.incarnation);
    if (same) { return; }
    if (!reported->present) {
        report_task(c, index, NULL);
        return;
    }
    char path[ZK_PATH_MAX];
    znode_exit_path(path, c->identity.cluster, entry->task);
    reported->note_op = membership_next_op(&c->membership);
    c->ports->zk.read(c->ports->zk.ctx, reported->note_op, path, false);
}

static void note_answered(struct coordinator *c, uint32_t index, const struct zk_event *event)
{
    struct exit_note note;
    struct reported_task *reported = &c->reported[index];
    assert(reported->note_op != 0 && reported->note_op == event->op);
    reported->note_op = 0;
    bool read = event->outcome == ZK_OK &&
                exit_note_decode(event->data, event->size, &note, NULL) == TN_OK &&
                note.incarnation == reported->incarnation;
    report_task(c, index, read ? note.cause : NULL);
}

static void tasks_handle(struct coordinator *c, const struct zk_event *event)
{
    const struct zk_port *zk = &c->ports->zk;
    if (!c->roster_started) { return; }
    assert(c->roster.count <= TASKS_MAX);
    (void)roster_handle(&c->roster, event, zk, &c->membership.next_op, c->now_ms);
    for (uint32_t i = 0; i < c->roster.count && !c->finished; i++) {
        uint64_t note_op = c->reported[i].note_op;
        if (event->type == ZK_RESULT && note_op != 0 && note_op == event->op) {
            note_answered(c, i, event);
        }
        check_task(c, i);
    }
}

/* ----------------------------------------------------------------- reports */

static uint32_t declared(const struct coordinator *c, enum role role)
{
    const uint32_t counts[ROLE_COUNT] = {[ROLE_PS] = c->config.chief.ps,
                                         [ROLE_WORKER] = c->config.chief.workers,
                                         [ROLE_EVALUATOR] = c->config.chief.evaluators};
    assert(role != ROLE_COORDINATOR);
    return counts[role];
}

static bool is_declared(const struct coordinator *c, struct task task)
{
    return task.role == ROLE_COORDINATOR || task.index < declared(c, task.role);
}

/* No order reaches such a node, and no command shows it: it must be notified, and leave. */
static void refuse_undeclared(struct coordinator *c, const struct transport_event *event,
                              const struct report *report)
{
    char name[TASK_NAME_MAX];
    task_format(report->task, ':', name, sizeof name);
    log_warn("%s is refused: the job has only %" PRIu32 " tasks of that role", name,
             declared(c, report->task.role));
    const struct frame_header header = {.type = FRAME_REPORT_ACK,
                                        .epoch = c->election.epoch,
                                        .sequence = report->sequence,
                                        .first = REPORT_ACK_UNDECLARED,
                                        .count = declared(c, report->task.role)};
    c->ports->transport.send(c->ports->transport.ctx, event->conn, &header, NULL);
}

static void report_handle(struct coordinator *c, const struct transport_event *event)
{
    assert(c->election.phase <= ELECTION_CHIEF);
    struct report report;
    struct error error = {0};
    if (event->type != TRANSPORT_FRAME || event->header.type != FRAME_REPORT) { return; }
    /* Other nodes may learn that we are the chief before we do. Until it is elected, the chief only
     * keeps the reports. */
    if (c->election.phase != ELECTION_CHIEF && c->election.phase != ELECTION_CLAIMING) { return; }
    size_t size = event->body != NULL ? event->body->size : 0;
    const void *bytes = event->body != NULL ? event->body->data : NULL;
    if (report_decode(bytes, size, &report, &error) != TN_OK) {
        log_warn("report ignored: %s", error.text);
        return;
    }
    if (report.incarnation != event->header.sender) {
        log_warn("report ignored: its incarnation is not that of its sender");
        return;
    }
    if (!is_declared(c, report.task)) {
        refuse_undeclared(c, event, &report);
        return;
    }
    const char *refused = chief_refuses_report(&c->chief, &report);
    if (refused != NULL) {
        char name[TASK_NAME_MAX];
        task_format(report.task, ':', name, sizeof name);
        log_warn("report of %s ignored: %s", name, refused);
        return;
    }
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_REPORT, .report = &report});
    const struct frame_header header = {.type = FRAME_REPORT_ACK,
                                        .epoch = c->election.epoch,
                                        .generation = c->chief.run.generation,
                                        .sequence = report.sequence};
    c->ports->transport.send(c->ports->transport.ctx, event->conn, &header, NULL);
}

/* ----------------------------------------------------------------- reactor */

static void membership_changed(struct coordinator *c, unsigned changes)
{
    const struct membership *m = &c->membership;
    assert(!c->finished);
    if (changes & MEMBERSHIP_ENDED) {
        coordinator_finish(c, m->exit_code);
        return;
    }
    bool ours = m->chief.incarnation == c->identity.incarnation;
    if ((changes & MEMBERSHIP_CHIEF) && c->stage != LEADERSHIP_NONE && !ours &&
        m->chief.epoch >= c->election.epoch) {
        log_warn("deposed: another coordinator is the chief; exiting");
        coordinator_finish(c, TN_EXIT_DEPOSED);
        return;
    }
    restore_membership_changed(c, changes);
    if (c->finished) { return; }
    bool over = m->has_run && run_is_over(&m->run);
    if (over && c->stage == LEADERSHIP_NONE && c->election.phase != ELECTION_CLAIMING) {
        coordinator_finish(c, m->run.phase == RUN_DONE ? TN_EXIT_OK : TN_EXIT_ERROR);
    }
}

static void start(struct coordinator *c)
{
    assert(!c->roster_started);
    c->roster_started = true;
    const struct task_counts tasks = {.of = {[ROLE_PS] = c->config.chief.ps,
                                             [ROLE_WORKER] = c->config.chief.workers,
                                             [ROLE_EVALUATOR] = c->config.chief.evaluators}};
    roster_start(&c->roster, c->identity.cluster, &tasks, &c->ports->zk, &c->membership.next_op,
                 c->now_ms);
    leadership_start_election(c);
}

static void zk_handle(struct coordinator *c, const struct zk_event *event)
{
    assert(event != NULL);
    if (!c->finished) { leadership_handle(c, event); }
    if (!c->finished) { write_handle(c, event); }
    if (!c->finished) { restore_handle(c, event); }
    if (!c->finished) { requests_handle(c, event); }
    if (!c->finished) { tasks_handle(c, event); }
}

static void tick(struct coordinator *c)
{
    assert(!c->finished);
    const struct zk_port *zk = &c->ports->zk;
    if (c->roster_started) { roster_tick(&c->roster, zk, &c->membership.next_op, c->now_ms); }
    requests_tick(c);
    leadership_tick(c);
    if (!c->finished) { write_tick(c); }
    if (!c->finished) { restore_tick(c); }
    if (!c->finished && c->now_ms >= chief_deadline_ms(&c->chief)) {
        coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_TICK});
    }
}

/* A chief resigns; a candidate leaves, so that it is not elected. */
static void drain(struct coordinator *c)
{
    if (c->stage == LEADERSHIP_ACTIVE) {
        leadership_resign(c);
    } else if (c->stage != LEADERSHIP_RESIGNING) {
        coordinator_finish(c, TN_EXIT_OK);
    }
}

static void handle(void *self, const struct node_event *event)
{
    struct coordinator *c = self;
    const struct transport_event *transport =
        event->type == NODE_TRANSPORT ? event->transport : NULL;
    assert(event->now_ms >= c->now_ms);
    c->now_ms = event->now_ms;
    c->wall_ms = event->wall_ms;
    if (!c->finished) {
        unsigned changes = membership_handle(&c->membership, event);
        membership_changed(c, changes);
        if (!c->finished && (changes & MEMBERSHIP_REGISTERED)) { start(c); }
        if (!c->finished && event->type == NODE_ZK) { zk_handle(c, event->zk); }
        if (!c->finished && transport != NULL) { report_handle(c, transport); }
        if (!c->finished && event->type == NODE_LEAVE) { coordinator_finish(c, TN_EXIT_OK); }
        if (!c->finished && event->type == NODE_DRAIN) { drain(c); }
        if (!c->finished) { tick(c); }
    }
    if (transport != NULL && transport->type == TRANSPORT_FRAME) {
        buffer_release(transport->body);
    }
}

static uint64_t deadline_ms(const void *self)
{
    const struct coordinator *c = self;
    uint64_t first = u64_min(membership_deadline_ms(&c->membership), leadership_deadline_ms(c));
    if (c->roster_started) { first = u64_min(first, roster_deadline_ms(&c->roster)); }
    first = u64_min(first, restore_deadline_ms(c));
    first = u64_min(first, requests_deadline_ms(c));
    return u64_min(first, chief_deadline_ms(&c->chief));
}

static bool finished(const void *self, int *exit_code)
{
    const struct coordinator *c = self;
    assert(exit_code != NULL);
    if (c->finished) { *exit_code = c->exit_code; }
    return c->finished;
}

/* ------------------------------------------------------------------ create */

/* Each ps, or without ps each worker, takes in its part of a push at about 1 GB/s, wherever the
 * limit is: copies in memory on one host, or a network of 10 Gbit/s between hosts. */
static uint64_t push_ns(const struct job *job, const struct variable_table *variables)
{
    if (strategy_of_job(job)->slice_updates) { return 0; }
    const uint64_t pieces = job->cluster.ps > 0 ? job->cluster.ps : job->cluster.workers;
    return ASSIGN_PUSH_NS + variables->parameter_count * sizeof(float) / pieces;
}

void coordinator_config_init(struct coordinator_config *config, const struct job *job,
                             const struct variable_table *variables, uint32_t state_arrays,
                             const char *kernels)
{
    assert(config != NULL && variables != NULL);
    memset(config, 0, sizeof *config);
    config->chief = (struct chief_config){
        .strategy = strategy_of_job(job)->kind,
        .ps = job->cluster.ps,
        .workers = job->cluster.workers,
        .workers_least = job->cluster.workers_least,
        .evaluators = job->cluster.evaluators,
        .min_workers = job->cluster.min_workers,
        .slices = job->train.slices,
        .steps = job->train.steps,
        .evaluate_every = job_evaluate_every(job),
        .checkpoint_every_steps = job->checkpoint.every_steps,
        .checkpoint_every_ms = job->checkpoint.every_seconds * 1000,
        .checkpoint_keep = job->checkpoint.keep > 0 ? job->checkpoint.keep : 1,
        .has_rows = variables->row_table_count > 0,
        .target_accuracy = job->train.target_accuracy,
        .early_stop = early_stop_of_job(job),
        .best = job->checkpoint.best,
        .push_ns = push_ns(job, variables),
        .same_bits = job->train.same_bits && strategy_of_job(job)->exact_steps,
        .restore_on_failover = job->on_chief_failure == CHIEF_FAILURE_RESTORE,
    };
    struct manifest *manifest = &config->chief.manifest;
    job_manifest_init(manifest, job, variables, state_arrays);
    text_set(manifest->kernels, sizeof manifest->kernels, kernels);
}

struct coordinator *coordinator_create(const struct coordinator_config *config,
                                       const struct node_identity *identity,
                                       const struct node_ports *ports)
{
    assert(identity->task.role == ROLE_COORDINATOR);
    assert(ports != NULL);
    struct coordinator *c = calloc(1, sizeof *c);
    if (c == NULL) { return NULL; }
    c->config = *config;
    c->config.chief.self = identity->task;
    c->config.chief.pid = identity->pid;
    if (config->spec != NULL) { kept_text_set(&c->spec, 0, config->spec, strlen(config->spec)); }
    c->config.spec = NULL; /* c->spec is the copy. */
    c->identity = *identity;
    c->ports = ports;
    c->retry_at_ms = UINT64_MAX;
    membership_init(&c->membership, identity, ports);
    election_init(&c->election, identity->incarnation);
    chief_init(&c->chief, &c->config.chief);
    return c;
}

struct node coordinator_node(struct coordinator *coordinator)
{
    return (struct node){
        .self = coordinator, .handle = handle, .deadline_ms = deadline_ms, .finished = finished};
}

void coordinator_destroy(struct coordinator *coordinator)
{
    if (coordinator != NULL) { restore_free(coordinator); }
    free(coordinator);
}
