/* Becoming chief and resigning: the election's requests to ZooKeeper, then the reads of the state
 * that the previous chief left. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "coordinator/coordinator_private.h"
#include "tanist/status.h"

static void carry_out(struct coordinator *c, struct election_action action);

/* ---------------------------------------------------------------- election */

static void election_feed(struct coordinator *c, struct election_event event)
{
    assert(!c->finished);
    event.now_ms = c->now_ms;
    carry_out(c, election_step(&c->election, &event));
}

static void join_election(struct coordinator *c, uint64_t zk_op)
{
    char path[ZK_PATH_MAX], rest[64], name[TASK_NAME_MAX];
    assert(c->election.phase == ELECTION_JOINING);
    snprintf(rest, sizeof rest, "election/%s", c->election.guid);
    znode_path(path, c->identity.cluster, rest);
    task_format(c->identity.task, ':', name, sizeof name);
    const struct zk_write write = {.kind = ZK_CREATE,
                                   .path = path,
                                   .data = name,
                                   .size = strlen(name),
                                   .flags = ZK_EPHEMERAL | ZK_SEQUENTIAL};
    c->ports->zk.write(c->ports->zk.ctx, zk_op, &write, 1);
}

/* Fills in the new contents of /chief. */
static void make_record(struct coordinator *c, uint64_t epoch, uint64_t took_ms)
{
    struct chief_record *record = &c->record;
    const struct chief_record *previous = &c->membership.chief;
    assert(c->stage == LEADERSHIP_NONE);
    *record = (struct chief_record){
        .epoch = epoch,
        .task = c->identity.task,
        .incarnation = c->identity.incarnation,
        .pid = c->identity.pid,
        .since_wall_ms = c->wall_ms,
        .took_ms = took_ms,
    };
    memcpy(record->host, c->identity.host, sizeof record->host);
    memcpy(record->address, c->identity.address, sizeof record->address);
    if (!c->membership.has_chief) {
        snprintf(record->cause, sizeof record->cause, "first chief");
        return;
    }
    char name[TASK_NAME_MAX];
    task_format(previous->task, ':', name, sizeof name);
    snprintf(record->cause, sizeof record->cause, "%s: %.100s", name,
             c->cause[0] != '\0' ? c->cause : "session lost");
}

static void claim(struct coordinator *c, const struct election_action *action, uint64_t zk_op)
{
    char chief[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    assert(action->type == ELECTION_DO_CLAIM);
    assert(action->name != NULL);
    char rest[ELECTION_NAME_MAX + 16];
    snprintf(rest, sizeof rest, "election/%s", action->name);
    znode_path(c->candidate, c->identity.cluster, rest);
    znode_path(chief, c->identity.cluster, "chief");
    make_record(c, action->epoch, action->took_ms);
    struct zk_write writes[3] = {
        {.kind = ZK_CHECK, .path = c->candidate, .version = ZK_ANY_VERSION},
        {.kind = ZK_DELETE, .path = chief, .version = action->version},
    };
    const bool creates = action->form != ELECTION_SET;
    size_t count = action->form == ELECTION_REPLACE ? 2 : 1;
    writes[count++] = (struct zk_write){.kind = creates ? ZK_CREATE : ZK_SET,
                                        .path = chief,
                                        .version = action->version,
                                        .data = text,
                                        .size = chief_record_encode(&c->record, text)};
    if (creates) { log_warn("/chief is created again, epoch %" PRIu64, action->epoch); }
    FAILPOINT("office.before_multi");
    c->ports->zk.write(c->ports->zk.ctx, zk_op, writes, count);
}

/* Asks for the exit note of the previous chief, which has the cause of its end. The election does
 * not wait for the answer. */
static void ask_cause(struct coordinator *c)
{
    assert(c->stage == LEADERSHIP_NONE);
    char path[ZK_PATH_MAX];
    c->cause[0] = '\0';
    if (!c->membership.has_chief) { return; }
    znode_exit_path(path, c->identity.cluster, c->membership.chief.task);
    c->cause_op = membership_next_op(&c->membership);
    c->ports->zk.read(c->ports->zk.ctx, c->cause_op, path, false);
}

static void cause_answered(struct coordinator *c, const struct zk_event *event)
{
    struct exit_note note;
    assert(c->cause_op == event->op);
    c->cause_op = 0;
    if (event->outcome != ZK_OK) { return; }
    if (exit_note_decode(event->data, event->size, &note, NULL) != TN_OK) { return; }
    if (note.incarnation != c->membership.chief.incarnation) { return; }
    snprintf(c->cause, sizeof c->cause, "%s", note.cause);
}

static void carry_out(struct coordinator *c, struct election_action action)
{
    char path[ZK_PATH_MAX], rest[ELECTION_NAME_MAX + 16];
    const struct zk_port *zk = &c->ports->zk;
    if (action.type == ELECTION_DO_NOTHING) { return; }
    assert(c->roster_started);
    uint64_t zk_op = membership_next_op(&c->membership);
    c->election_zk_op = zk_op;
    c->election_op = action.op;
    c->election_asked = action.type;
    switch (action.type) {
    case ELECTION_DO_NOTHING: break;
    case ELECTION_DO_JOIN: join_election(c, zk_op); break;
    case ELECTION_DO_LIST:
        znode_path(path, c->identity.cluster, "election");
        zk->list(zk->ctx, zk_op, path, false);
        break;
    case ELECTION_DO_WATCH:
        snprintf(rest, sizeof rest, "election/%s", action.name);
        znode_path(path, c->identity.cluster, rest);
        snprintf(c->watched, sizeof c->watched, "%s", path);
        zk->read(zk->ctx, zk_op, path, true);
        break;
    case ELECTION_DO_READ_CHIEF:
        znode_path(path, c->identity.cluster, "chief");
        ask_cause(c);
        zk->read(zk->ctx, zk_op, path, false);
        break;
    case ELECTION_DO_READ_RUN:
        znode_path(path, c->identity.cluster, "run");
        zk->read(zk->ctx, zk_op, path, false);
        break;
    case ELECTION_DO_CLAIM: claim(c, &action, zk_op); break;
    }
}

/* Adds the epoch of /run to `answer`. */
static void read_run_epoch(const struct zk_event *event, struct election_event *answer)
{
    struct run run;
    assert(answer->type == ELECTION_EV_RUN_READ);
    bool read =
        event->outcome == ZK_OK && run_decode(event->data, event->size, &run, NULL) == TN_OK;
    if (read) { answer->epoch = run.epoch; }
}

/* Adds the contents of /chief to `answer`. */
static void read_record(struct coordinator *c, const struct zk_event *event,
                        struct election_event *answer)
{
    struct chief_record record = {0};
    struct error error;
    assert(answer->type == ELECTION_EV_CHIEF_READ);
    answer->version = event->stat.version;
    answer->floor = u64_max(c->membership.chief.epoch, c->membership.run.epoch);
    if (event->outcome != ZK_OK || event->size == 0) { return; }
    if (chief_record_decode(event->data, event->size, &record, &error) != TN_OK) {
        answer->damaged = true;
        log_error("unreadable /chief is overwritten: %s", error.text);
        return;
    }
    answer->epoch = record.epoch;
    answer->incarnation = record.incarnation;
    c->membership.chief = record;
    c->membership.has_chief = true;
}

static enum election_outcome outcome_of(const struct zk_event *event)
{
    if (event->outcome == ZK_OK) { return ELECTION_OK; }
    if (event->outcome == ZK_UNKNOWN) { return ELECTION_UNKNOWN; }
    return event->reason == ZK_REASON_NO_NODE   ? ELECTION_ABSENT
           : event->reason == ZK_REASON_NO_AUTH ? ELECTION_DENIED
                                                : ELECTION_REFUSED;
}

static void note_denied(struct coordinator *c)
{
    const enum election_action_type asked = c->election_asked;
    const bool candidate = asked == ELECTION_DO_JOIN || asked == ELECTION_DO_LIST;
    /* E5: the next claim replaces /chief. */
    if (asked == ELECTION_DO_CLAIM && !c->election.denied) { return; }
    coordinator_denied(c, candidate                       ? "/election"
                          : asked == ELECTION_DO_READ_RUN ? "/run"
                                                          : "/chief");
}

static void election_answered(struct coordinator *c, const struct zk_event *event)
{
    static const enum election_event_type answers[] = {
        [ELECTION_DO_JOIN] = ELECTION_EV_JOINED,
        [ELECTION_DO_LIST] = ELECTION_EV_LISTED,
        [ELECTION_DO_WATCH] = ELECTION_EV_WATCHED,
        [ELECTION_DO_READ_CHIEF] = ELECTION_EV_CHIEF_READ,
        [ELECTION_DO_READ_RUN] = ELECTION_EV_RUN_READ,
        [ELECTION_DO_CLAIM] = ELECTION_EV_CLAIMED,
    };
    assert(c->election_asked != ELECTION_DO_NOTHING);
    struct election_event answer = {
        .type = answers[c->election_asked],
        .op = c->election_op,
        .outcome = outcome_of(event),
        .names = event->children,
        .count = event->child_count,
        .version = event->stat.version,
    };
    c->election_zk_op = 0;
    if (event->outcome == ZK_OK && c->election_asked == ELECTION_DO_JOIN) {
        FAILPOINT("election.standing");
    }
    if (c->election_asked == ELECTION_DO_JOIN && answer.outcome == ELECTION_ABSENT) {
        coordinator_restore_folder(c, "election"); /* The core joins again a little later. */
    }
    if (c->election_asked != ELECTION_DO_WATCH && answer.outcome == ELECTION_DENIED) {
        note_denied(c);
    }
    if (c->election_asked == ELECTION_DO_READ_CHIEF) { read_record(c, event, &answer); }
    if (c->election_asked == ELECTION_DO_READ_RUN) { read_run_epoch(event, &answer); }
    election_feed(c, answer);
}

/* ------------------------------------------------------------- becoming chief */

static void read_tree(struct coordinator *c)
{
    struct leadership_reading *r = &c->reading;
    char path[ZK_PATH_MAX];
    assert(c->election.phase == ELECTION_CHIEF);
    memset(r, 0, sizeof *r);
    c->stage = LEADERSHIP_READING;
    c->retry_at_ms = UINT64_MAX;
    r->run_op = coordinator_read(c, "run", false);
    r->assignment_op = coordinator_read(c, "assignment", false);
    r->spec_op = coordinator_read(c, "spec", false);
    r->list_op = membership_next_op(&c->membership);
    znode_path(path, c->identity.cluster, "checkpoints");
    c->ports->zk.list(c->ports->zk.ctx, r->list_op, path, false);
}

static void became_chief(struct coordinator *c)
{
    assert(c->election.phase == ELECTION_CHIEF && c->stage == LEADERSHIP_NONE);
    FAILPOINT("office.after_multi");
    c->fence = c->election.version;
    c->took_ms = c->now_ms - c->election.since_ms;
    log_info("became chief epoch=%" PRIu64 ", %" PRIu64 " ms after %s (%s)", c->election.epoch,
             c->took_ms, c->election.waited ? "the predecessor was lost" : "joining the election",
             c->record.cause);
    read_tree(c);
}

static void start_leading(struct coordinator *c)
{
    struct leadership_reading *r = &c->reading;
    assert(c->stage == LEADERSHIP_READING);
    FAILPOINT("office.before_run");
    if (r->run_lost) {
        log_error("/run was lost (%s): restoring it%s", r->run_error.text,
                  r->has_run ? " as this process saw it last" : "");
    }
    c->stage = LEADERSHIP_ACTIVE;
    c->assignment_form = r->has_assignment ? WRITE_SET : WRITE_CREATE;
    membership_set_problem(&c->membership, "");
    requests_start(c);
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_ELECTED,
                                               .elected = {.epoch = c->election.epoch,
                                                           .took_ms = c->took_ms,
                                                           .cause = c->record.cause,
                                                           .has_run = r->has_run,
                                                           .run_lost = r->run_lost,
                                                           .run = &r->run,
                                                           .has_assignment = r->has_assignment,
                                                           .assignment = &r->assignment,
                                                           .checkpoints = r->checkpoints,
                                                           .checkpoint_count = r->found}});
    if (!c->finished) { restore_start(c); }
}

/* Adds `id` to the newest `limit` ones, which are in descending order. */
static size_t add_newest(uint64_t *ids, size_t count, size_t limit, uint64_t id)
{
    assert(count <= limit);
    size_t at = count;
    while (at > 0 && ids[at - 1] < id) { at--; }
    if (id == 0 || at == limit) { return count; }
    size_t after = size_min(count, limit - 1) - at;
    memmove(ids + at + 1, ids + at, after * sizeof ids[0]);
    ids[at] = id;
    return size_min(count + 1, limit);
}

/* All reads are sent at once; the answers arrive in order. */
static void read_checkpoints(struct coordinator *c, const struct zk_event *list)
{
    struct leadership_reading *r = &c->reading;
    assert(r->expected == 0);
    uint64_t ids[CHIEF_CHECKPOINTS_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; i < list->child_count; i++) {
        uint64_t id = strtoull(list->children[i], NULL, 10);
        count = add_newest(ids, count, CHIEF_CHECKPOINTS_MAX, id);
    }
    r->expected = (uint32_t)count;
    for (uint32_t i = 0; i < r->expected; i++) {
        char path[ZK_PATH_MAX];
        uint64_t op = membership_next_op(&c->membership);
        if (i == 0) { r->first_op = op; }
        znode_checkpoint_path(path, c->identity.cluster, ids[i]);
        c->ports->zk.read(c->ports->zk.ctx, op, path, false);
    }
}

static void checkpoint_answered(struct coordinator *c, const struct zk_event *event)
{
    struct leadership_reading *r = &c->reading;
    struct manifest manifest;
    struct error error;
    assert(r->answered < r->expected && r->found < CHIEF_CHECKPOINTS_MAX);
    r->answered++;
    if (event->outcome == ZK_OK) {
        if (manifest_decode(event->data, event->size, &manifest, &error) == TN_OK) {
            struct chief_checkpoint *found = &r->checkpoints[r->found++];
            *found = (struct chief_checkpoint){
                .id = manifest.id,
                .step = manifest.step,
                .inputs.data = {manifest.data.low, manifest.data.high},
                .best = manifest.best,
            };
            memcpy(found->inputs.fingerprint, manifest.kernels, sizeof manifest.kernels);
            restore_keep_manifest(c, manifest.id, event->data, event->size);
        } else {
            log_warn("checkpoint ignored: %s: %s", event->path, error.text);
        }
    }
}

/* C15: without a readable /run, use the last one that this process has read. */
static void run_answered(struct coordinator *c, const struct zk_event *event)
{
    struct leadership_reading *r = &c->reading;
    assert(r->run_op == event->op);
    r->run_op = 0;
    write_run_seen(c, event);
    if (event->outcome == ZK_OK) {
        r->run_lost = run_decode(event->data, event->size, &r->run, &r->run_error) != TN_OK;
    } else {
        r->run_lost = true;
        error_set(&r->run_error, TN_ECORRUPT, "%s",
                  event->reason == ZK_REASON_NO_AUTH ? "an ACL forbids reading it"
                                                     : "it does not exist");
    }
    r->has_run = !r->run_lost || c->membership.has_run;
    if (r->run_lost) { r->run = c->membership.run; }
}

static void reading_answered(struct coordinator *c, const struct zk_event *event)
{
    struct leadership_reading *r = &c->reading;
    assert(c->stage == LEADERSHIP_READING);
    bool manifest =
        r->expected > 0 && event->op >= r->first_op && event->op < r->first_op + r->expected;
    bool ours = manifest || event->op == r->run_op || event->op == r->assignment_op ||
                event->op == r->list_op || event->op == r->spec_op;
    if (!ours) { return; }
    if (!read_is_answered(event)) {
        c->retry_at_ms = c->now_ms + LEADERSHIP_RETRY_MS;
        return;
    }
    if (manifest) {
        checkpoint_answered(c, event);
    } else if (event->op == r->run_op) {
        run_answered(c, event);
    } else if (event->op == r->spec_op) {
        r->spec_op = 0;
        if (event->outcome == ZK_OK) { kept_text_set(&c->spec, 0, event->data, event->size); }
    } else if (event->op == r->list_op) {
        r->list_op = 0;
        if (event->outcome == ZK_OK) { read_checkpoints(c, event); }
    } else {
        r->assignment_op = 0;
        r->has_assignment =
            event->outcome == ZK_OK &&
            assignment_decode(event->data, event->size, &r->assignment, NULL) == TN_OK;
    }
    bool read = r->run_op == 0 && r->assignment_op == 0 && r->list_op == 0 && r->spec_op == 0;
    if (read && r->answered == r->expected && c->retry_at_ms == UINT64_MAX) { start_leading(c); }
}

/* ---------------------------------------------------------------- resigning */

/* The successor reads the cause of our end in our own exit note. */
static void write_note(struct coordinator *c, enum zk_write_kind kind)
{
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    assert(c->stage == LEADERSHIP_RESIGNING);
    const struct exit_note note = {
        .incarnation = c->identity.incarnation, .wall_ms = c->wall_ms, .cause = "resigned"};
    znode_exit_path(path, c->identity.cluster, c->identity.task);
    const struct zk_write write = {.kind = kind,
                                   .path = path,
                                   .data = text,
                                   .size = exit_note_encode(&note, text),
                                   .version = ZK_ANY_VERSION};
    c->leave_op = membership_next_op(&c->membership);
    c->ports->zk.write(c->ports->zk.ctx, c->leave_op, &write, 1);
}

void leadership_resign(struct coordinator *c)
{
    assert(c->stage == LEADERSHIP_ACTIVE);
    c->stage = LEADERSHIP_RESIGNING;
    write_note(c, ZK_CREATE);
}

static void note_written(struct coordinator *c, const struct zk_event *event)
{
    assert(event->op == c->leave_op);
    if (event->reason == ZK_REASON_NODE_EXISTS) {
        write_note(c, ZK_SET);
        return;
    }
    log_info("resigned");
    coordinator_finish(c, TN_EXIT_RESIGNED); /* Our session ends, and our znodes with it. */
}

/* ----------------------------------------------------------------- reactor */

void leadership_start_election(struct coordinator *c)
{
    election_feed(c, (struct election_event){.type = ELECTION_EV_START});
}

void leadership_handle(struct coordinator *c, const struct zk_event *event)
{
    bool result = event->type == ZK_RESULT;
    assert(!c->finished);
    if (result && c->cause_op != 0 && event->op == c->cause_op) { cause_answered(c, event); }
    if (result && c->election_zk_op != 0 && event->op == c->election_zk_op) {
        election_answered(c, event);
    }
    bool watch = event->type == ZK_CHANGED && strcmp(event->path, c->watched) == 0;
    if ((watch || event->type == ZK_CONNECTED) && c->roster_started) {
        election_feed(c, (struct election_event){.type = ELECTION_EV_CHANGED});
    }
    if (c->election.phase == ELECTION_CHIEF && c->stage == LEADERSHIP_NONE) { became_chief(c); }
    if (result && c->stage == LEADERSHIP_READING) { reading_answered(c, event); }
    if (result && c->stage == LEADERSHIP_RESIGNING && event->op == c->leave_op) {
        note_written(c, event);
    }
}

void leadership_tick(struct coordinator *c)
{
    assert(!c->finished);
    if (c->roster_started && c->now_ms >= election_deadline_ms(&c->election)) {
        election_feed(c, (struct election_event){.type = ELECTION_EV_TICK});
    }
    if (c->stage == LEADERSHIP_READING && c->now_ms >= c->retry_at_ms) { read_tree(c); }
}

uint64_t leadership_deadline_ms(const struct coordinator *c)
{
    return u64_min(c->retry_at_ms, election_deadline_ms(&c->election));
}
