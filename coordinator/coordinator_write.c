/* The chief's transactions: each begins with a check of /chief (C1). After one that was not
 * certainly applied, the znode that it wrote is read again, and the chief gets the result. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "coordinator/coordinator_private.h"

/* A transaction being built. */
struct transaction {
    char paths[ZK_WRITES_MAX][ZK_PATH_MAX];
    struct zk_write writes[ZK_WRITES_MAX];
    uint32_t count;
};

static struct zk_write *add(struct coordinator *c, struct transaction *t, enum zk_write_kind kind,
                            const char *rest)
{
    assert(t->count < ZK_WRITES_MAX);
    char *path = t->paths[t->count];
    znode_path(path, c->identity.cluster, rest);
    struct zk_write *write = &t->writes[t->count++];
    *write = (struct zk_write){.kind = kind, .path = path, .version = ZK_ANY_VERSION};
    return write;
}

static struct zk_write *add_path(struct transaction *t, enum zk_write_kind kind, const char *path)
{
    assert(t->count < ZK_WRITES_MAX);
    snprintf(t->paths[t->count], ZK_PATH_MAX, "%s", path);
    struct zk_write *write = &t->writes[t->count];
    *write = (struct zk_write){.kind = kind, .path = t->paths[t->count], .version = ZK_ANY_VERSION};
    t->count++;
    return write;
}

/* C1: /chief has our version, and our candidate's znode exists: while it does, no other process
 * becomes chief, not even after /chief was deleted and its versions begin again. */
static void begin(struct coordinator *c, struct transaction *t)
{
    assert(c->stage >= LEADERSHIP_ACTIVE);
    t->count = 0;
    add(c, t, ZK_CHECK, "chief")->version = c->fence;
    add_path(t, ZK_CHECK, c->candidate);
}

static uint64_t send(struct coordinator *c, const struct transaction *t)
{
    assert(t->count > 0 && t->count <= ZK_WRITES_MAX);
    uint64_t op = membership_next_op(&c->membership);
    c->ports->zk.write(c->ports->zk.ctx, op, t->writes, t->count);
    return op;
}

/* ----------------------------------------------------------------- writing */

/* The znode as a whole, in the form that it needs; only if `version` is still its version. */
static struct zk_write *add_whole(struct coordinator *c, struct transaction *t,
                                  enum write_form form, const char *rest, int32_t version)
{
    assert(form <= WRITE_REPLACE);
    if (form == WRITE_REPLACE) { add(c, t, ZK_DELETE, rest)->version = version; }
    struct zk_write *write = add(c, t, form == WRITE_SET ? ZK_SET : ZK_CREATE, rest);
    write->version = version;
    return write;
}

static void add_run(struct coordinator *c, struct transaction *t, const struct run *run)
{
    c->writing.run_at = (int32_t)t->count;
    struct zk_write *write = add_whole(c, t, c->run_form, "run", c->run_version);
    write->data = c->run_text;
    write->size = run_encode(run, c->run_text);
}

static void add_assignment(struct coordinator *c, struct transaction *t,
                           const struct assignment *assignment)
{
    c->writing.assignment_at = (int32_t)t->count;
    struct zk_write *write = add_whole(c, t, c->assignment_form, "assignment", ZK_ANY_VERSION);
    write->data = c->assignment_text;
    write->size = assignment_encode(assignment, c->assignment_text);
}

static void add_history(struct coordinator *c, struct transaction *t,
                        const struct chief_write *write)
{
    assert(write->history_count <= CHIEF_HISTORY_MAX);
    c->writing.history_at = (int32_t)t->count;
    for (uint32_t i = 0; i < write->history_count; i++) {
        struct zk_write *entry = add(c, t, ZK_CREATE, "history/" HISTORY_PREFIX);
        entry->flags = ZK_SEQUENTIAL;
        entry->data = c->history_text[i];
        entry->size = history_encode(&write->history[i], c->history_text[i]);
    }
}

/* The manifest as text, owned by the caller until the transaction is sent. NULL: it cannot be
 * encoded; a report was wrong. */
static char *add_manifest(struct coordinator *c, struct transaction *t,
                          const struct manifest *manifest)
{
    struct error error;
    char *text = NULL;
    size_t size = 0;
    assert(manifest->id != 0);
    if (manifest_encode(manifest, &text, &size, &error) != TN_OK) {
        log_error("checkpoint %" PRIu64 ": %s", manifest->id, error.text);
        return NULL;
    }
    char path[ZK_PATH_MAX];
    znode_checkpoint_path(path, c->identity.cluster, manifest->id);
    c->writing.manifest_at = (int32_t)t->count;
    struct zk_write *write = add(c, t, ZK_CREATE, "");
    memcpy(t->paths[t->count - 1], path, sizeof path);
    write->data = text;
    write->size = size;
    restore_keep_manifest(c, manifest->id, text, size);
    return text;
}

void write_start(struct coordinator *c, const struct chief_write *write)
{
    struct transaction t;
    char *manifest = NULL, rest[ZK_PATH_MAX + 16];
    assert(c->stage >= LEADERSHIP_ACTIVE);
    assert(write->run.epoch == c->election.epoch);
    c->writing = (struct writing){.chief_op = write->op,
                                  .write = write,
                                  .assignment_at = -1,
                                  .request_at = -1,
                                  .manifest_at = -1};
    begin(c, &t);
    add_run(c, &t, &write->run);
    if (write->assigns) { add_assignment(c, &t, &write->assignment); }
    if (write->commits && !write->published) {
        manifest = add_manifest(c, &t, &write->manifest);
        if (manifest == NULL) {
            /* Answered as if the id were in use: the chief orders the checkpoint again. */
            coordinator_decide(
                c, (struct chief_event){.type = CHIEF_EV_WRITTEN,
                                        .written = {.op = write->op,
                                                    .outcome = CHIEF_WRITE_CHECKPOINT_EXISTS,
                                                    .run = &c->chief.run}});
            return;
        }
    }
    if (write->answers && c->request_name[0] != '\0') {
        snprintf(rest, sizeof rest, "requests/%s", c->request_name);
        c->writing.request_at = (int32_t)t.count;
        add(c, &t, ZK_DELETE, rest);
    }
    add_history(c, &t, write);
    FAILPOINT("chief.before_write");
    if (write->commits) { FAILPOINT("ckpt.before_commit"); }
    if (write->run.phase == RUN_DONE) { FAILPOINT("chief.before_done"); }
    c->writing.zk_op = send(c, &t);
    free(manifest);
}

void write_raise(struct coordinator *c, uint64_t op, uint64_t epoch)
{
    struct transaction t = {.count = 0};
    char text[ZNODE_JSON_MAX];
    assert(epoch > c->election.epoch);
    log_warn("epoch raised to %" PRIu64 ": a disk holds a checkpoint of epoch %" PRIu64, epoch,
             epoch - 1);
    c->writing = (struct writing){.chief_op = op, .raises = true};
    c->record.epoch = epoch;
    add_path(&t, ZK_CHECK, c->candidate);
    struct zk_write *write = add(c, &t, ZK_SET, "chief");
    write->version = c->fence;
    write->data = text;
    write->size = chief_record_encode(&c->record, text);
    c->writing.zk_op = send(c, &t);
}

void write_manifest(struct coordinator *c, const char *path, const struct kept_text *manifest)
{
    struct transaction t;
    assert(manifest->text != NULL);
    begin(c, &t);
    struct zk_write *write = add_path(&t, ZK_CREATE, path);
    write->data = manifest->text;
    write->size = manifest->size;
    (void)send(c, &t);
}

/* The answers are not awaited: the next chief deletes the rest. */
void write_deletes(struct coordinator *c, const uint64_t *ids, uint32_t count)
{
    assert(count <= CHIEF_DELETE_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct transaction t;
        begin(c, &t);
        struct zk_write *write = add(c, &t, ZK_DELETE, "");
        znode_checkpoint_path(t.paths[t.count - 1], c->identity.cluster, ids[i]);
        write->version = ZK_ANY_VERSION;
        (void)send(c, &t);
    }
}

/* ----------------------------------------------------------------- history */

/* Keeps the history bounded: every TRIM_EVERY entries the oldest ones beyond HISTORY_MAX are
 * deleted.
 */
static void count_entries(struct coordinator *c, uint32_t count)
{
    char path[ZK_PATH_MAX];
    assert(c->entries_until_trim <= TRIM_EVERY);
    if (c->entries_until_trim > count) {
        c->entries_until_trim -= count;
        return;
    }
    c->entries_until_trim = TRIM_EVERY;
    c->trim_op = membership_next_op(&c->membership);
    znode_path(path, c->identity.cluster, "history");
    c->ports->zk.list(c->ports->zk.ctx, c->trim_op, path, false);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether the chief created the entry. Any client can create a child of any name. */
static bool is_entry(const char *name)
{
    const size_t prefix = strlen(HISTORY_PREFIX);
    assert(name != NULL);
    return strncmp(name, HISTORY_PREFIX, prefix) == 0 &&
           strspn(name + prefix, "0123456789") == SEQUENCE_DIGITS &&
           name[prefix + SEQUENCE_DIGITS] == '\0';
}

static void delete_entries(struct coordinator *c, const char *const *names, size_t count)
{
    struct transaction t;
    begin(c, &t);
    for (size_t i = 0; i < count; i++) {
        char rest[64];
        snprintf(rest, sizeof rest, "history/%s", names[i]);
        add(c, &t, ZK_DELETE, rest);
        if (t.count < ZK_WRITES_MAX) { continue; }
        (void)send(c, &t);
        begin(c, &t);
    }
    if (t.count > 2) { (void)send(c, &t); }
}

static void trim_history(struct coordinator *c, const struct zk_event *list)
{
    assert(c->trim_op == list->op);
    c->trim_op = 0;
    if (list->outcome != ZK_OK || list->child_count <= HISTORY_MAX) { return; }
    const char **names = malloc(list->child_count * sizeof *names);
    if (names == NULL) { return; }
    size_t count = 0;
    for (size_t i = 0; i < list->child_count; i++) {
        if (is_entry(list->children[i])) { names[count++] = list->children[i]; }
    }
    qsort(names, count, sizeof *names, by_name);
    if (count > HISTORY_MAX) { delete_entries(c, names, count - HISTORY_MAX); }
    free(names);
}

/* ----------------------------------------------------------------- answers */

/* The write is applied, and no other process has read it yet. */
static void pass_written(const struct coordinator *c, const struct chief_write *write)
{
    assert(write != NULL);
    if (write->commits) { FAILPOINT("ckpt.after_commit"); }
    if (write->run.phase == c->chief.run.phase) { return; }
    if (write->run.phase == RUN_PAUSED) { FAILPOINT("chief.paused"); }
    if (write->run.phase == RUN_LOADING) { FAILPOINT("chief.loading"); }
}

/* Passes the outcome to the chief. `run`: /run as it was read afterwards, or NULL. */
static void finish_write(struct coordinator *c, const struct run *run)
{
    const struct writing writing = c->writing;
    assert(writing.zk_op != 0);
    assert(writing.raises || writing.write != NULL);
    bool done = !writing.raises && (writing.outcome == CHIEF_WRITE_OK ||
                                    (run != NULL && chief_write_is_done(writing.write, run)));
    c->writing.zk_op = 0;
    c->retry_at_ms = UINT64_MAX;
    if (writing.outcome != CHIEF_WRITE_DEPOSED && done) {
        log_written(c, writing.write);
        count_entries(c, writing.write->history_count);
        pass_written(c, writing.write);
        if (writing.write->answers) { requests_next(c); }
    }
    if (writing.outcome == CHIEF_WRITE_REQUEST_GONE) { requests_next(c); }
    coordinator_decide(
        c, (struct chief_event){
               .type = CHIEF_EV_WRITTEN,
               .written = {.op = writing.chief_op, .outcome = writing.outcome, .run = run}});
}

/* Reads the znode that the write was for. */
static void read_back(struct coordinator *c)
{
    assert(c->writing.zk_op != 0);
    c->writing.reads = true;
    c->retry_at_ms = UINT64_MAX;
    c->writing.zk_op = coordinator_read(c, c->writing.raises ? "chief" : "run", false);
}

bool read_is_answered(const struct zk_event *event)
{
    assert(event->type == ZK_RESULT);
    return event->outcome == ZK_OK ||
           (event->outcome == ZK_REFUSED &&
            (event->reason == ZK_REASON_NO_NODE || event->reason == ZK_REASON_NO_AUTH));
}

void write_run_seen(struct coordinator *c, const struct zk_event *event)
{
    assert(read_is_answered(event));
    c->run_version = event->stat.version;
    if (event->outcome == ZK_OK) {
        if (c->run_form == WRITE_CREATE) { c->run_form = WRITE_SET; }
    } else if (event->reason == ZK_REASON_NO_NODE) {
        c->run_form = WRITE_CREATE;
    } else {
        c->run_form = WRITE_REPLACE;
        c->run_version = ZK_ANY_VERSION; /* It cannot be read. */
    }
}

/* C15: the form in which the next attempt writes the znode; false: no other form helps. */
static bool change_form(enum write_form *form, enum zk_reason reason)
{
    assert(form != NULL);
    switch (reason) {
    case ZK_REASON_NO_NODE: *form = WRITE_CREATE; return true;
    case ZK_REASON_NODE_EXISTS: *form = WRITE_SET; return true;
    case ZK_REASON_NO_AUTH:
        if (*form == WRITE_REPLACE) { return false; }
        *form = WRITE_REPLACE;
        return true;
    default: return false;
    }
}

/* C15: prepare the next attempt after a part was refused. */
static void repair(struct coordinator *c, const struct zk_event *event)
{
    const struct writing *writing = &c->writing;
    const int32_t part = event->failed_write;
    const bool missing = event->reason == ZK_REASON_NO_NODE;
    assert(!writing->raises);
    const bool assigns = writing->assignment_at >= 0;
    const bool is_assignment =
        assigns && part >= writing->assignment_at && part <= writing->assignment_at + 1;
    const bool is_history = part >= writing->history_at && writing->history_at > 0;
    const char *name = is_assignment                               ? "/assignment"
                       : part >= 0 && part == writing->manifest_at ? "/checkpoints"
                       : is_history                                ? "/history"
                       : part >= 0 && part < 2                     ? "/chief"
                                                                   : "/run";
    if (is_assignment && change_form(&c->assignment_form, event->reason)) { return; }
    if (missing && part >= 0 && part == writing->manifest_at) {
        coordinator_restore_folder(c, "checkpoints");
    } else if (missing && is_history) {
        coordinator_restore_folder(c, "history");
    } else if (event->reason == ZK_REASON_NO_AUTH) {
        coordinator_denied(c, name);
    } else {
        log_warn("write refused: operation %d (%s), reason %d", part, name, (int)event->reason);
    }
}

static enum chief_outcome outcome_of(struct coordinator *c, const struct zk_event *event)
{
    const struct writing *writing = &c->writing;
    assert(event->op == writing->zk_op && !writing->reads);
    if (event->outcome == ZK_OK) { return CHIEF_WRITE_OK; }
    if (event->outcome == ZK_UNKNOWN) { return CHIEF_WRITE_UNKNOWN; }
    const int32_t part = event->failed_write;
    const bool fence = (part == 0 || part == 1) && (event->reason == ZK_REASON_BAD_VERSION ||
                                                    event->reason == ZK_REASON_NO_NODE);
    if (writing->raises && event->reason == ZK_REASON_NO_AUTH) {
        log_warn("/chief is read-only: leaving, so that the next election replaces it");
        return CHIEF_WRITE_DEPOSED;
    }
    if (writing->raises) { return CHIEF_WRITE_CONFLICT; /* It may be our write: read /chief. */ }
    if (fence) { return CHIEF_WRITE_DEPOSED; }
    if (part >= 0 && part == writing->run_at) {
        if (event->reason == ZK_REASON_NO_AUTH && !change_form(&c->run_form, event->reason)) {
            coordinator_denied(c, "/run");
        }
        return CHIEF_WRITE_CONFLICT;
    }
    if (part >= 0 && part == writing->request_at) {
        if (event->reason != ZK_REASON_NO_NODE) { requests_pass_over(c, "it cannot be deleted"); }
        return CHIEF_WRITE_REQUEST_GONE;
    }
    if (part >= 0 && part == writing->manifest_at && event->reason == ZK_REASON_NODE_EXISTS) {
        return CHIEF_WRITE_CHECKPOINT_EXISTS;
    }
    repair(c, event);
    return CHIEF_WRITE_UNKNOWN;
}

static void write_answered(struct coordinator *c, const struct zk_event *event)
{
    assert(!c->writing.reads);
    c->writing.outcome = outcome_of(c, event);
    switch (c->writing.outcome) {
    case CHIEF_WRITE_OK:
        if (c->writing.raises) {
            c->fence = event->stat.version;
            c->election.epoch = c->record.epoch;
        } else {
            c->run_version = c->run_form == WRITE_SET ? event->stat.version : 0;
            c->run_form = WRITE_SET;
            if (c->writing.assignment_at >= 0) { c->assignment_form = WRITE_SET; }
            if (!c->restore_denied) { membership_set_problem(&c->membership, ""); }
        }
        finish_write(c, NULL);
        break;
    case CHIEF_WRITE_DEPOSED: finish_write(c, NULL); break;
    default: read_back(c);
    }
}

/* /chief after an attempt to raise the epoch: it names us with the old or the new epoch, or another
 * process. */
static void chief_read_back(struct coordinator *c, const struct zk_event *event)
{
    struct chief_record record = {0};
    assert(c->writing.raises);
    bool ours = event->outcome == ZK_OK &&
                chief_record_decode(event->data, event->size, &record, NULL) == TN_OK &&
                record.incarnation == c->identity.incarnation;
    bool raised = ours && record.epoch == c->record.epoch;
    c->fence = event->stat.version;
    if (raised) { c->election.epoch = record.epoch; }
    c->writing.outcome = raised ? CHIEF_WRITE_OK : ours ? CHIEF_WRITE_UNKNOWN : CHIEF_WRITE_DEPOSED;
    finish_write(c, NULL);
}

static void run_read_back(struct coordinator *c, const struct zk_event *event)
{
    struct run run;
    struct error error;
    assert(!c->writing.raises);
    write_run_seen(c, event);
    if (event->outcome != ZK_OK) {
        finish_write(c, NULL);
    } else if (run_decode(event->data, event->size, &run, &error) == TN_OK) {
        finish_write(c, &run);
    } else {
        log_error("unreadable /run is overwritten: %s", error.text);
        finish_write(c, NULL);
    }
}

void write_handle(struct coordinator *c, const struct zk_event *event)
{
    if (event->type != ZK_RESULT) { return; }
    if (c->trim_op != 0 && event->op == c->trim_op) { trim_history(c, event); }
    if (c->writing.zk_op == 0 || event->op != c->writing.zk_op) { return; }
    if (!c->writing.reads) {
        write_answered(c, event);
    } else if (!read_is_answered(event)) {
        c->retry_at_ms = c->now_ms + LEADERSHIP_RETRY_MS;
    } else if (c->writing.raises) {
        chief_read_back(c, event);
    } else {
        run_read_back(c, event);
    }
}

void write_tick(struct coordinator *c)
{
    bool looks = c->writing.zk_op != 0 && c->writing.reads;
    if (looks && c->now_ms >= c->retry_at_ms) { read_back(c); }
}
