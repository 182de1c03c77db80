#include "coordinator/coordinator.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "coordinator/coordinator_private.h"
#include "tanist/status.h"

void coordinator_finish(struct coordinator *c, int exit_code)
{
    if (c->finished) { return; }
    c->finished = true;
    c->exit_code = exit_code;
}

uint64_t coordinator_read(struct coordinator *c, const char *rest, bool watch)
{
    char path[256];
    uint64_t op = membership_next_op(&c->membership);
    znode_path(path, c->identity.cluster, rest);
    c->ports->zk.read(c->ports->zk.ctx, op, path, watch);
    return op;
}

/* ------------------------------------------------------------------- chief */

void coordinator_decide(struct coordinator *c, struct chief_event event)
{
    struct chief_actions actions;
    event.now_ms = c->now_ms;
    event.wall_ms = c->wall_ms;
    chief_step(&c->chief, &event, &actions);
    if (actions.exits) {
        if (actions.exit_code == TN_EXIT_DEPOSED) { log_warn("a later chief rules: leaving"); }
        coordinator_finish(c, actions.exit_code);
        return;
    }
    if (actions.resign) {
        office_resign(c);
        return;
    }
    if (actions.delete_count > 0) { write_deletes(c, actions.deletes, actions.delete_count); }
    if (actions.raise_epoch != 0) { write_raise(c, actions.raise_op, actions.raise_epoch); }
    if (actions.write != NULL) { write_start(c, actions.write); }
}

/* ------------------------------------------------------------------- seats */

static void tell_seat(struct coordinator *c, uint32_t index, const char *cause)
{
    const struct roster_seat *seat = &c->roster.seats[index];
    struct seat_told *told = &c->told[index];
    told->known = true;
    told->present = seat->present;
    told->incarnation = seat->present ? seat->member.incarnation : 0;
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_MEMBER,
                                               .member = {.task = seat->task,
                                                          .present = seat->present,
                                                          .incarnation = seat->member.incarnation,
                                                          .pid = seat->member.pid,
                                                          .cause = cause}});
}

/* Tells the chief what changed; of an end, after its agent's note was read. */
static void look_at_seat(struct coordinator *c, uint32_t index)
{
    const struct roster_seat *seat = &c->roster.seats[index];
    struct seat_told *told = &c->told[index];
    bool settled = seat->present || seat->mirror.state == MIRROR_WATCHING;
    if (!settled || told->note_op != 0) { return; }
    bool same = told->known && told->present == seat->present &&
                (!seat->present || told->incarnation == seat->member.incarnation);
    if (same) { return; }
    if (!told->present) {
        tell_seat(c, index, NULL);
        return;
    }
    char path[256];
    znode_exit_path(path, c->identity.cluster, seat->task);
    told->note_op = membership_next_op(&c->membership);
    c->ports->zk.read(c->ports->zk.ctx, told->note_op, path, false);
}

static void note_answered(struct coordinator *c, uint32_t index, const struct zk_event *event)
{
    struct exit_note note;
    struct seat_told *told = &c->told[index];
    told->note_op = 0;
    bool read = event->outcome == ZK_OK &&
                exit_note_decode(event->data, event->size, &note, NULL) == TN_OK &&
                note.incarnation == told->incarnation;
    tell_seat(c, index, read ? note.cause : NULL);
}

static void seats_handle(struct coordinator *c, const struct zk_event *event)
{
    const struct zk_port *zk = &c->ports->zk;
    if (!c->roster_started) { return; }
    (void)roster_handle(&c->roster, event, zk, &c->membership.next_op, c->now_ms);
    for (uint32_t i = 0; i < c->roster.count && !c->finished; i++) {
        if (event->type == ZK_RESULT && c->told[i].note_op != 0 &&
            c->told[i].note_op == event->op) {
            note_answered(c, i, event);
        }
        look_at_seat(c, i);
    }
}

/* ---------------------------------------------------------------- requests */

static const char *by_number(const struct zk_event *event)
{
    const char *first = NULL;
    for (size_t i = 0; i < event->child_count; i++) {
        const char *name = event->children[i];
        if (strlen(name) < 10 || strlen(name) + 64 > ZK_PATH_MAX) { continue; }
        bool before =
            first == NULL || strcmp(name + strlen(name) - 10, first + strlen(first) - 10) < 0;
        if (before) { first = name; }
    }
    return first;
}

static void read_request(struct coordinator *c, const char *name)
{
    char rest[ZK_PATH_MAX + 16];
    if (c->request_op != 0) { return; }
    snprintf(c->request_name, sizeof c->request_name, "%s", name);
    snprintf(rest, sizeof rest, "requests/%s", name);
    c->request_id = strtoull(name + strlen(name) - 10, NULL, 10);
    c->request_op = coordinator_read(c, rest, false);
}

void coordinator_request_done(struct coordinator *c)
{
    c->request_name[0] = '\0';
    mirror_refresh(&c->requests, &c->ports->zk, &c->membership.next_op);
}

static void drop_request(struct coordinator *c)
{
    char path[256], rest[ZK_PATH_MAX + 16];
    snprintf(rest, sizeof rest, "requests/%s", c->request_name);
    znode_path(path, c->identity.cluster, rest);
    const struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    c->ports->zk.write(c->ports->zk.ctx, membership_next_op(&c->membership), &write, 1);
    c->request_name[0] = '\0';
}

/* Read just before it is granted: one that is in an old listing only is gone. */
static void request_answered(struct coordinator *c, const struct zk_event *event)
{
    struct request request;
    struct error error;
    c->request_op = 0;
    if (event->outcome != ZK_OK) {
        coordinator_request_done(c);
        return;
    }
    if (request_decode(event->data, event->size, &request, &error) != TN_OK) {
        log_warn("%s; dropped", error.text);
        drop_request(c);
        return;
    }
    log_info("%s asks to %s", request.by, request_kind_name(request.kind));
    coordinator_decide(
        c, (struct chief_event){
               .type = CHIEF_EV_REQUEST,
               .request = {.id = c->request_id, .kind = request.kind, .by = request.by}});
}

static void requests_handle(struct coordinator *c, const struct zk_event *event)
{
    if (c->stage != OFFICE_HELD) { return; }
    if (event->type == ZK_RESULT && c->request_op != 0 && event->op == c->request_op) {
        request_answered(c, event);
        return;
    }
    enum mirror_news news =
        mirror_handle(&c->requests, event, &c->ports->zk, &c->membership.next_op, c->now_ms);
    if (news != MIRROR_PRESENT || c->request_name[0] != '\0') { return; }
    const char *oldest = by_number(event);
    if (oldest != NULL) { read_request(c, oldest); }
}

/* ----------------------------------------------------------------- reports */

static void report_handle(struct coordinator *c, const struct transport_event *event)
{
    struct report report;
    struct error error = {0};
    if (event->type != TRANSPORT_FRAME || event->header.type != FRAME_REPORT) { return; }
    /* Others may hear that we are chief before we do; and while the office is being read, the chief
     * keeps what it hears. */
    if (c->election.phase != ELECTION_OFFICE && c->election.phase != ELECTION_TAKING) { return; }
    size_t size = event->body != NULL ? event->body->size : 0;
    const void *bytes = event->body != NULL ? event->body->data : NULL;
    if (report_decode(bytes, size, &report, &error) != TN_OK) {
        log_warn("%s; ignored", error.text);
        return;
    }
    if (report.incarnation != event->header.sender) {
        log_warn("a report under a false name; ignored");
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

static void news_handle(struct coordinator *c, unsigned news)
{
    const struct membership *m = &c->membership;
    if (news & MEMBERSHIP_ENDED) {
        coordinator_finish(c, m->exit_code);
        return;
    }
    bool ours = m->office.incarnation == c->identity.incarnation;
    if ((news & MEMBERSHIP_CHIEF) && c->stage != OFFICE_NONE && !ours &&
        m->office.epoch >= c->election.epoch) {
        log_warn("a later chief rules: leaving");
        coordinator_finish(c, TN_EXIT_DEPOSED);
    }
    bool over = m->has_run && (m->run.phase == RUN_DONE || m->run.phase == RUN_FAILED);
    if (over && c->stage == OFFICE_NONE && c->election.phase != ELECTION_TAKING) {
        coordinator_finish(c, m->run.phase == RUN_DONE ? TN_EXIT_OK : TN_EXIT_ERROR);
    }
}

static void start(struct coordinator *c)
{
    c->roster_started = true;
    roster_start(&c->roster, c->identity.cluster, c->config.chief.ps, c->config.chief.workers,
                 &c->ports->zk, &c->membership.next_op, c->now_ms);
    office_stand(c);
}

static void zk_handle(struct coordinator *c, const struct zk_event *event)
{
    if (!c->finished) { office_handle(c, event); }
    if (!c->finished) { write_handle(c, event); }
    if (!c->finished) { requests_handle(c, event); }
    if (!c->finished) { seats_handle(c, event); }
}

static void tick(struct coordinator *c)
{
    const struct zk_port *zk = &c->ports->zk;
    if (c->roster_started) { roster_tick(&c->roster, zk, &c->membership.next_op, c->now_ms); }
    if (c->stage == OFFICE_HELD) {
        mirror_tick(&c->requests, zk, &c->membership.next_op, c->now_ms);
    }
    office_tick(c);
    if (!c->finished) { write_tick(c); }
    if (!c->finished && c->now_ms >= chief_deadline_ms(&c->chief)) {
        coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_TICK});
    }
}

static void handle(void *self, const struct node_event *event)
{
    struct coordinator *c = self;
    const struct transport_event *transport =
        event->type == NODE_TRANSPORT ? event->transport : NULL;
    c->now_ms = event->now_ms;
    c->wall_ms = event->wall_ms;
    if (!c->finished) {
        unsigned news = membership_handle(&c->membership, event);
        news_handle(c, news);
        if (!c->finished && (news & MEMBERSHIP_REGISTERED)) { start(c); }
        if (!c->finished && event->type == NODE_ZK) { zk_handle(c, event->zk); }
        if (!c->finished && transport != NULL) { report_handle(c, transport); }
        if (!c->finished && event->type == NODE_LEAVE) { coordinator_finish(c, TN_EXIT_OK); }
        if (!c->finished) { tick(c); }
    }
    if (transport != NULL && transport->type == TRANSPORT_FRAME) {
        buffer_release(transport->body);
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t deadline_ms(const void *self)
{
    const struct coordinator *c = self;
    uint64_t first = earlier(membership_deadline_ms(&c->membership), office_deadline_ms(c));
    if (c->roster_started) { first = earlier(first, roster_deadline_ms(&c->roster)); }
    if (c->stage == OFFICE_HELD) { first = earlier(first, mirror_deadline_ms(&c->requests)); }
    return earlier(first, chief_deadline_ms(&c->chief));
}

static bool finished(const void *self, int *exit_code)
{
    const struct coordinator *c = self;
    if (c->finished) { *exit_code = c->exit_code; }
    return c->finished;
}

/* ------------------------------------------------------------------ create */

void coordinator_config_init(struct coordinator_config *config, const struct job *job,
                             const struct variable_table *variables, uint32_t state_arrays,
                             const char *kernels)
{
    static const char *const optimizers[] = {
        [OPTIMIZER_SGD] = "sgd", [OPTIMIZER_MOMENTUM] = "momentum", [OPTIMIZER_ADAM] = "adam"};
    memset(config, 0, sizeof *config);
    config->chief = (struct chief_config){
        .ps = job->cluster.ps,
        .workers = job->cluster.workers,
        .min_workers = job->cluster.min_workers,
        .slices = job->train.slices,
        .steps = job->train.steps,
        .evaluate_every = job->evaluate.every_steps,
        .checkpoint_every_steps = job->checkpoint.every_steps,
        .checkpoint_every_ms = job->checkpoint.every_seconds * 1000,
        .checkpoint_keep = job->checkpoint.keep > 0 ? job->checkpoint.keep : 1,
        .target_accuracy = job->train.target_accuracy,
        .restore_on_failover = job->on_chief_failure == CHIEF_FAILURE_RESTORE,
        .manifest = {.variables_hash = variable_table_hash(variables),
                     .parameter_count = variables->parameter_count,
                     .seed = job->seed,
                     .slices = job->train.slices,
                     .state_arrays = state_arrays},
    };
    struct manifest *manifest = &config->chief.manifest;
    snprintf(manifest->optimizer, sizeof manifest->optimizer, "%s",
             optimizers[job->train.optimizer]);
    snprintf(manifest->mode, sizeof manifest->mode, "%s",
             job->train.mode == TRAIN_SYNC ? "sync" : "async");
    snprintf(manifest->kernels, sizeof manifest->kernels, "%s", kernels);
}

struct coordinator *coordinator_create(const struct coordinator_config *config,
                                       const struct node_identity *identity,
                                       const struct node_ports *ports)
{
    struct coordinator *c = calloc(1, sizeof *c);
    if (c == NULL) { return NULL; }
    c->config = *config;
    c->config.chief.self = identity->task;
    c->config.chief.pid = identity->pid;
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
    free(coordinator);
}

bool coordinator_in_office(const struct coordinator *coordinator, uint64_t *epoch)
{
    *epoch = coordinator->election.epoch;
    return coordinator->stage != OFFICE_NONE && !coordinator->finished;
}

const struct chief *coordinator_chief(const struct coordinator *coordinator)
{
    return &coordinator->chief;
}
