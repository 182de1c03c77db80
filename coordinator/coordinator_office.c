/* The way into office and out of it: the election's requests to ZooKeeper, then the state that the
 * former chief left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "coordinator/coordinator_private.h"
#include "tanist/status.h"

static void carry_out(struct coordinator *c, struct election_action action);

/* ---------------------------------------------------------------- election */

static void election_show(struct coordinator *c, struct election_event event)
{
    event.now_ms = c->now_ms;
    carry_out(c, election_step(&c->election, &event));
}

static void join(struct coordinator *c, uint64_t zk_op)
{
    char path[256], rest[64], name[TASK_NAME_MAX];
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

static void describe_office(struct coordinator *c, uint64_t epoch, uint64_t took_ms)
{
    struct office *office = &c->office;
    const struct office *former = &c->membership.office;
    *office = (struct office){
        .epoch = epoch,
        .task = c->identity.task,
        .incarnation = c->identity.incarnation,
        .pid = c->identity.pid,
        .since_wall_ms = c->wall_ms,
        .took_ms = took_ms,
    };
    memcpy(office->host, c->identity.host, sizeof office->host);
    memcpy(office->address, c->identity.address, sizeof office->address);
    if (!c->membership.has_office) {
        snprintf(office->cause, sizeof office->cause, "first chief");
        return;
    }
    char name[TASK_NAME_MAX];
    task_format(former->task, ':', name, sizeof name);
    snprintf(office->cause, sizeof office->cause, "%s: %.100s", name,
             c->cause[0] != '\0' ? c->cause : "session lost");
}

static void take_office(struct coordinator *c, const struct election_action *action, uint64_t zk_op)
{
    char ours[256], chief[256], rest[ELECTION_NAME_MAX + 16], text[ZNODE_JSON_MAX];
    snprintf(rest, sizeof rest, "election/%s", action->name);
    znode_path(ours, c->identity.cluster, rest);
    znode_path(chief, c->identity.cluster, "chief");
    describe_office(c, action->epoch, action->took_ms);
    const struct zk_write writes[] = {
        {.kind = ZK_CHECK, .path = ours, .version = ZK_ANY_VERSION},
        {.kind = ZK_SET,
         .path = chief,
         .version = action->version,
         .data = text,
         .size = office_encode(&c->office, text)},
    };
    FAILPOINT("office.before_multi");
    c->ports->zk.write(c->ports->zk.ctx, zk_op, writes, 2);
}

/* Why the former chief is gone: his agent's note. Asked for beside the election, never waited for.
 */
static void ask_cause(struct coordinator *c)
{
    char path[256];
    c->cause[0] = '\0';
    if (!c->membership.has_office) { return; }
    znode_exit_path(path, c->identity.cluster, c->membership.office.task);
    c->cause_op = membership_next_op(&c->membership);
    c->ports->zk.read(c->ports->zk.ctx, c->cause_op, path, false);
}

static void cause_answered(struct coordinator *c, const struct zk_event *event)
{
    struct exit_note note;
    c->cause_op = 0;
    if (event->outcome != ZK_OK) { return; }
    if (exit_note_decode(event->data, event->size, &note, NULL) != TN_OK) { return; }
    if (note.incarnation != c->membership.office.incarnation) { return; }
    snprintf(c->cause, sizeof c->cause, "%s", note.cause);
}

static void carry_out(struct coordinator *c, struct election_action action)
{
    char path[256], rest[ELECTION_NAME_MAX + 16];
    const struct zk_port *zk = &c->ports->zk;
    if (action.type == ELECTION_DO_NOTHING) { return; }
    uint64_t zk_op = membership_next_op(&c->membership);
    c->election_zk_op = zk_op;
    c->election_op = action.op;
    c->election_asked = action.type;
    switch (action.type) {
    case ELECTION_DO_NOTHING: break;
    case ELECTION_DO_JOIN: join(c, zk_op); break;
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
    case ELECTION_DO_TAKE_OFFICE: take_office(c, &action, zk_op); break;
    }
}

/* What /chief says, for the core. */
static void read_office(struct coordinator *c, const struct zk_event *event,
                        struct election_event *answer)
{
    struct office office = {0};
    struct error error;
    answer->version = event->stat.version;
    if (event->outcome != ZK_OK || event->size == 0) { return; }
    if (office_decode(event->data, event->size, &office, &error) != TN_OK) {
        /* Nobody can say what the epoch was: disks will (C11). */
        log_error("%s; it is taken for empty", error.text);
        return;
    }
    answer->epoch = office.epoch;
    answer->incarnation = office.incarnation;
    c->membership.office = office;
    c->membership.has_office = true;
}

static void election_answered(struct coordinator *c, const struct zk_event *event)
{
    static const enum election_event_type types[] = {
        [ELECTION_DO_JOIN] = ELECTION_EV_JOINED,       [ELECTION_DO_LIST] = ELECTION_EV_LISTED,
        [ELECTION_DO_WATCH] = ELECTION_EV_WATCHED,     [ELECTION_DO_READ_CHIEF] = ELECTION_EV_CHIEF,
        [ELECTION_DO_TAKE_OFFICE] = ELECTION_EV_TAKEN,
    };
    struct election_event answer = {
        .type = types[c->election_asked],
        .op = c->election_op,
        .outcome = event->outcome == ZK_OK        ? ELECTION_OK
                   : event->outcome == ZK_REFUSED ? ELECTION_REFUSED
                                                  : ELECTION_UNKNOWN,
        .names = event->children,
        .count = event->child_count,
        .version = event->stat.version,
    };
    c->election_zk_op = 0;
    if (event->outcome == ZK_OK && c->election_asked == ELECTION_DO_JOIN) {
        FAILPOINT("election.standing");
    }
    if (c->election_asked == ELECTION_DO_READ_CHIEF) { read_office(c, event, &answer); }
    election_show(c, answer);
}

/* ------------------------------------------------------------------ office */

static void read_tree(struct coordinator *c)
{
    struct office_reading *r = &c->reading;
    char path[256];
    memset(r, 0, sizeof *r);
    c->stage = OFFICE_READING_TREE;
    c->retry_at_ms = UINT64_MAX;
    r->run_op = coordinator_read(c, "run", false);
    r->assignment_op = coordinator_read(c, "assignment", false);
    r->list_op = membership_next_op(&c->membership);
    znode_path(path, c->identity.cluster, "checkpoints");
    c->ports->zk.list(c->ports->zk.ctx, r->list_op, path, false);
}

static void office_taken(struct coordinator *c)
{
    FAILPOINT("office.after_multi");
    c->fence = c->election.version;
    c->took_ms = c->now_ms - c->election.since_ms;
    log_info("in office, epoch %llu, %llu ms after %s (%s)", (unsigned long long)c->election.epoch,
             (unsigned long long)c->took_ms,
             c->election.waited ? "the one before was seen gone" : "standing", c->office.cause);
    read_tree(c);
}

static void hold_office(struct coordinator *c)
{
    struct office_reading *r = &c->reading;
    char path[256];
    FAILPOINT("office.before_run");
    c->stage = OFFICE_HELD;
    c->run_exists = r->has_run;
    znode_path(path, c->identity.cluster, "requests");
    mirror_start(&c->requests, MIRROR_CHILDREN, path, &c->ports->zk, &c->membership.next_op,
                 c->now_ms);
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_OFFICE,
                                               .office = {.epoch = c->election.epoch,
                                                          .took_ms = c->took_ms,
                                                          .cause = c->office.cause,
                                                          .has_run = r->has_run,
                                                          .run = &r->run,
                                                          .has_assignment = r->has_assignment,
                                                          .assignment = &r->assignment,
                                                          .checkpoints = r->checkpoints,
                                                          .checkpoint_count = r->found}});
}

static int newest_first(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* All at once: the answers come in order. */
static void read_checkpoints(struct coordinator *c, const struct zk_event *list)
{
    static const size_t most = CHIEF_CHECKPOINTS_MAX;
    struct office_reading *r = &c->reading;
    uint64_t ids[ZK_CHILDREN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < list->child_count && i < ZK_CHILDREN_MAX; i++) {
        ids[count] = strtoull(list->children[i], NULL, 10);
        count += ids[count] != 0;
    }
    qsort(ids, count, sizeof ids[0], newest_first);
    r->expected = (uint32_t)(count < most ? count : most);
    for (uint32_t i = 0; i < r->expected; i++) {
        char path[256];
        uint64_t op = membership_next_op(&c->membership);
        if (i == 0) { r->first_op = op; }
        znode_checkpoint_path(path, c->identity.cluster, ids[i]);
        c->ports->zk.read(c->ports->zk.ctx, op, path, false);
    }
}

static void checkpoint_answered(struct coordinator *c, const struct zk_event *event)
{
    struct office_reading *r = &c->reading;
    struct manifest manifest;
    struct error error;
    r->answered++;
    if (event->outcome == ZK_OK) {
        if (manifest_decode(event->data, event->size, &manifest, &error) == TN_OK) {
            r->checkpoints[r->found++] = (struct chief_checkpoint){
                manifest.id, manifest.step, manifest.generation, manifest.epoch};
        } else {
            log_warn("%s: %s; it is no checkpoint", event->path, error.text);
        }
    }
}

/* A record that cannot be read is as good as absent: the chief writes a new one. */
static void run_answered(struct coordinator *c, const struct zk_event *event)
{
    struct office_reading *r = &c->reading;
    struct error error;
    r->run_op = 0;
    c->run_version = event->stat.version;
    c->run_exists = event->outcome == ZK_OK;
    if (!c->run_exists) { return; }
    r->has_run = run_decode(event->data, event->size, &r->run, &error) == TN_OK;
    if (!r->has_run) { log_error("%s; it is taken for absent", error.text); }
}

static void reading_answered(struct coordinator *c, const struct zk_event *event)
{
    struct office_reading *r = &c->reading;
    bool manifest =
        r->expected > 0 && event->op >= r->first_op && event->op < r->first_op + r->expected;
    bool ours = manifest || event->op == r->run_op || event->op == r->assignment_op ||
                event->op == r->list_op;
    if (!ours) { return; }
    if (event->outcome == ZK_UNKNOWN) {
        c->retry_at_ms = c->now_ms + OFFICE_RETRY_MS;
        return;
    }
    if (manifest) {
        checkpoint_answered(c, event);
    } else if (event->op == r->run_op) {
        run_answered(c, event);
    } else if (event->op == r->list_op) {
        r->list_op = 0;
        if (event->outcome == ZK_OK) { read_checkpoints(c, event); }
    } else {
        r->assignment_op = 0;
        r->has_assignment =
            event->outcome == ZK_OK &&
            assignment_decode(event->data, event->size, &r->assignment, NULL) == TN_OK;
    }
    bool read = r->run_op == 0 && r->assignment_op == 0 && r->list_op == 0;
    if (read && r->answered == r->expected && c->retry_at_ms == UINT64_MAX) { hold_office(c); }
}

/* ----------------------------------------------------------------- leaving */

/* Our own note, so that the successor knows why; then out of the line, then out of the process. */
static void write_note(struct coordinator *c, enum zk_write_kind kind)
{
    char path[256], text[ZNODE_JSON_MAX];
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

void office_resign(struct coordinator *c)
{
    c->stage = OFFICE_LEAVING;
    write_note(c, ZK_CREATE);
}

static void leaving_answered(struct coordinator *c, const struct zk_event *event)
{
    if (event->reason == ZK_REASON_NODE_EXISTS) {
        write_note(c, ZK_SET);
        return;
    }
    log_info("resigned");
    coordinator_finish(c, TN_EXIT_RESIGNED); /* The session ends, our znodes go. */
}

/* ----------------------------------------------------------------- reactor */

void office_stand(struct coordinator *c)
{
    election_show(c, (struct election_event){.type = ELECTION_EV_START});
}

void office_handle(struct coordinator *c, const struct zk_event *event)
{
    bool result = event->type == ZK_RESULT;
    if (result && c->cause_op != 0 && event->op == c->cause_op) { cause_answered(c, event); }
    if (result && c->election_zk_op != 0 && event->op == c->election_zk_op) {
        election_answered(c, event);
    }
    bool watch = event->type == ZK_CHANGED && strcmp(event->path, c->watched) == 0;
    if ((watch || event->type == ZK_CONNECTED) && c->roster_started) {
        election_show(c, (struct election_event){.type = ELECTION_EV_CHANGED});
    }
    if (c->election.phase == ELECTION_OFFICE && c->stage == OFFICE_NONE) { office_taken(c); }
    if (result && c->stage == OFFICE_READING_TREE) { reading_answered(c, event); }
    if (result && c->stage == OFFICE_LEAVING && event->op == c->leave_op) {
        leaving_answered(c, event);
    }
}

void office_tick(struct coordinator *c)
{
    if (c->roster_started && c->now_ms >= election_deadline_ms(&c->election)) {
        election_show(c, (struct election_event){.type = ELECTION_EV_TICK});
    }
    if (c->stage == OFFICE_READING_TREE && c->now_ms >= c->retry_at_ms) { read_tree(c); }
}

uint64_t office_deadline_ms(const struct coordinator *c)
{
    uint64_t first = c->retry_at_ms, election = election_deadline_ms(&c->election);
    return election < first ? election : first;
}
