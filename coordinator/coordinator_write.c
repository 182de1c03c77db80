/* The chief's transactions: each begins with a check of /chief (C1). When one did not surely
 * happen, what it was about is read again and the chief is told. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "coordinator/coordinator_private.h"

/* A transaction being put together. */
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

static void begin(struct coordinator *c, struct transaction *t)
{
    t->count = 0;
    add(c, t, ZK_CHECK, "chief")->version = c->fence;
}

static uint64_t send(struct coordinator *c, const struct transaction *t)
{
    uint64_t op = membership_next_op(&c->membership);
    c->ports->zk.write(c->ports->zk.ctx, op, t->writes, t->count);
    return op;
}

/* ----------------------------------------------------------------- writing */

static void add_run(struct coordinator *c, struct transaction *t, const struct run *run)
{
    struct zk_write *write = add(c, t, c->run_exists ? ZK_SET : ZK_CREATE, "run");
    write->data = c->run_text;
    write->size = run_encode(run, c->run_text);
    write->version = c->run_version;
}

static void add_history(struct coordinator *c, struct transaction *t,
                        const struct chief_write *write)
{
    for (uint32_t i = 0; i < write->history_count; i++) {
        struct zk_write *entry = add(c, t, ZK_CREATE, "history/n-");
        entry->flags = ZK_SEQUENTIAL;
        entry->data = c->history_text[i];
        entry->size = history_encode(&write->history[i], c->history_text[i]);
    }
}

/* NULL: the manifest cannot be; what the reports said is wrong. */
static char *add_manifest(struct coordinator *c, struct transaction *t,
                          const struct manifest *manifest)
{
    struct error error;
    char *text = NULL;
    size_t size = 0;
    if (manifest_encode(manifest, &text, &size, &error) != TN_OK) {
        log_error("checkpoint %llu: %s", (unsigned long long)manifest->id, error.text);
        return NULL;
    }
    char path[256];
    znode_checkpoint_path(path, c->identity.cluster, manifest->id);
    c->writing.manifest_at = (int32_t)t->count;
    struct zk_write *write = add(c, t, ZK_CREATE, "");
    memcpy(t->paths[t->count - 1], path, sizeof path);
    write->data = text;
    write->size = size;
    return text;
}

void write_start(struct coordinator *c, const struct chief_write *write)
{
    struct transaction t;
    char *manifest = NULL, rest[ZK_PATH_MAX + 16];
    c->writing = (struct writing){
        .chief_op = write->op, .write = write, .request_at = -1, .manifest_at = -1};
    begin(c, &t);
    add_run(c, &t, &write->run);
    if (write->assigns) {
        struct zk_write *assignment = add(c, &t, ZK_SET, "assignment");
        assignment->data = c->assignment_text;
        assignment->size = assignment_encode(&write->assignment, c->assignment_text);
    }
    if (write->commits) {
        manifest = add_manifest(c, &t, &write->manifest);
        if (manifest == NULL) {
            /* Said to be of an id in use: it is given up and ordered again. */
            coordinator_decide(
                c, (struct chief_event){
                       .type = CHIEF_EV_WRITTEN,
                       .written = {.op = write->op, .outcome = CHIEF_WRITE_CHECKPOINT_EXISTS}});
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
    log_warn("a disk names epoch %llu: ours is raised to %llu", (unsigned long long)epoch - 1,
             (unsigned long long)epoch);
    c->writing = (struct writing){.chief_op = op, .raises = true};
    c->office.epoch = epoch;
    struct zk_write *write = add(c, &t, ZK_SET, "chief");
    write->version = c->fence;
    write->data = text;
    write->size = office_encode(&c->office, text);
    c->writing.zk_op = send(c, &t);
}

/* Not awaited: what stays is deleted under the next chief. */
void write_deletes(struct coordinator *c, const uint64_t *ids, uint32_t count)
{
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

static void log_recovered(const struct history_entry *entry, const char *task)
{
    log_info("recovered from the loss of %s (%s): %s step %llu, %llu steps redone, paused %llu ms",
             task, entry->cause, entry->checkpoint != 0 ? "restored" : "going on at",
             (unsigned long long)(entry->step), (unsigned long long)entry->steps_redone,
             (unsigned long long)entry->took_ms);
}

static void log_entry(const struct history_entry *entry)
{
    char task[TASK_NAME_MAX];
    task_format(entry->task, ':', task, sizeof task);
    unsigned long long step = entry->step, checkpoint = entry->checkpoint;
    switch (entry->kind) {
    case HISTORY_ELECTED: break; /* Said when it happened. */
    case HISTORY_TASK_UP:
        log_info("%s is up, process %llu", task, (unsigned long long)entry->pid);
        break;
    case HISTORY_TASK_LOST:
        log_warn("%s is lost at step %llu: %s", task, step, entry->cause);
        break;
    case HISTORY_PAUSED: log_warn("paused at step %llu: %s: %s", step, task, entry->cause); break;
    case HISTORY_RECOVERED: log_recovered(entry, task); break;
    case HISTORY_RUNNING: log_info("training begins at step %llu", step); break;
    case HISTORY_CHECKPOINT: log_info("checkpoint %llu at step %llu", checkpoint, step); break;
    case HISTORY_FALLBACK:
        log_warn("checkpoint %llu cannot be used: %s", checkpoint, entry->cause);
        break;
    case HISTORY_EVALUATED:
        log_info("step %llu: loss %.4f, accuracy %.4f", step, entry->loss, entry->accuracy);
        break;
    case HISTORY_DONE:
        log_info("done at step %llu: loss %.4f, accuracy %.4f", step, entry->loss, entry->accuracy);
        break;
    case HISTORY_FAILED: log_error("failed: %s", entry->cause); break;
    case HISTORY_KINDS: assert(false);
    }
}

/* Keeps the history bounded: now and then the oldest entries beyond HISTORY_MAX go. */
static void count_entries(struct coordinator *c, uint32_t count)
{
    char path[256];
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

static void trim_history(struct coordinator *c, const struct zk_event *list)
{
    c->trim_op = 0;
    if (list->outcome != ZK_OK || list->child_count <= HISTORY_MAX) { return; }
    const char **names = malloc(list->child_count * sizeof *names);
    if (names == NULL) { return; }
    memcpy(names, list->children, list->child_count * sizeof *names);
    qsort(names, list->child_count, sizeof *names, by_name);
    struct transaction t;
    begin(c, &t);
    for (size_t i = 0; i < list->child_count - HISTORY_MAX; i++) {
        char rest[ZK_PATH_MAX / 2];
        snprintf(rest, sizeof rest, "history/%.100s", names[i]);
        add(c, &t, ZK_DELETE, rest);
        if (t.count < ZK_WRITES_MAX) { continue; }
        (void)send(c, &t);
        begin(c, &t);
    }
    if (t.count > 1) { (void)send(c, &t); }
    free(names);
}

/* ----------------------------------------------------------------- answers */

/* What is written counts from now on, and only we know it. */
static void pass_written(const struct coordinator *c, const struct chief_write *write)
{
    if (write->commits) { FAILPOINT("ckpt.after_commit"); }
    if (write->run.phase == c->chief.run.phase) { return; }
    if (write->run.phase == RUN_PAUSED) { FAILPOINT("chief.paused"); }
    if (write->run.phase == RUN_LOADING) { FAILPOINT("chief.loading"); }
}

static void tell(struct coordinator *c, const struct run *run)
{
    const struct writing writing = c->writing;
    uint64_t revision = writing.raises ? 0 : writing.write->run.revision;
    bool done =
        !writing.raises &&
        (writing.outcome == CHIEF_WRITE_OK ||
         (run != NULL && run->epoch == writing.write->run.epoch && run->revision == revision));
    c->writing.zk_op = 0;
    c->retry_at_ms = UINT64_MAX;
    if (writing.outcome != CHIEF_WRITE_DEPOSED && done) {
        for (uint32_t i = 0; i < writing.write->history_count; i++) {
            log_entry(&writing.write->history[i]);
        }
        count_entries(c, writing.write->history_count);
        pass_written(c, writing.write);
        if (writing.write->answers) { coordinator_request_done(c); }
    }
    if (writing.outcome == CHIEF_WRITE_REQUEST_GONE) { coordinator_request_done(c); }
    coordinator_decide(
        c, (struct chief_event){
               .type = CHIEF_EV_WRITTEN,
               .written = {.op = writing.chief_op, .outcome = writing.outcome, .run = run}});
}

static void look(struct coordinator *c)
{
    c->writing.reads = true;
    c->retry_at_ms = UINT64_MAX;
    c->writing.zk_op = coordinator_read(c, c->writing.raises ? "chief" : "run", false);
}

static enum chief_outcome outcome_of(const struct coordinator *c, const struct zk_event *event)
{
    const struct writing *writing = &c->writing;
    if (event->outcome == ZK_OK) { return CHIEF_WRITE_OK; }
    if (event->outcome == ZK_UNKNOWN) { return CHIEF_WRITE_UNKNOWN; }
    int32_t part = event->failed_write;
    bool fence =
        part == 0 && (event->reason == ZK_REASON_BAD_VERSION || event->reason == ZK_REASON_NO_NODE);
    if (writing->raises) { return CHIEF_WRITE_CONFLICT; /* It may be ours: /chief tells. */ }
    if (fence) { return CHIEF_WRITE_DEPOSED; }
    if (part == 1) { return CHIEF_WRITE_CONFLICT; }
    if (part >= 0 && part == writing->request_at) { return CHIEF_WRITE_REQUEST_GONE; }
    if (part >= 0 && part == writing->manifest_at) { return CHIEF_WRITE_CHECKPOINT_EXISTS; }
    log_warn("the chief's write was refused: part %d of %s, reason %d", part,
             event->path != NULL ? event->path : "it", (int)event->reason);
    return CHIEF_WRITE_UNKNOWN;
}

static void write_answered(struct coordinator *c, const struct zk_event *event)
{
    c->writing.outcome = outcome_of(c, event);
    switch (c->writing.outcome) {
    case CHIEF_WRITE_OK:
        if (c->writing.raises) {
            c->fence = event->stat.version;
            c->election.epoch = c->office.epoch;
        } else {
            c->run_version = c->run_exists ? event->stat.version : 0;
            c->run_exists = true;
        }
        tell(c, NULL);
        break;
    case CHIEF_WRITE_DEPOSED: tell(c, NULL); break;
    default: look(c);
    }
}

/* /chief as it is after a try to raise the epoch: ours in either version, or another's. */
static void chief_looked(struct coordinator *c, const struct zk_event *event)
{
    struct office office = {0};
    bool ours = event->outcome == ZK_OK &&
                office_decode(event->data, event->size, &office, NULL) == TN_OK &&
                office.incarnation == c->identity.incarnation;
    bool raised = ours && office.epoch == c->office.epoch;
    c->fence = event->stat.version;
    if (raised) { c->election.epoch = office.epoch; }
    c->writing.outcome = raised ? CHIEF_WRITE_OK : ours ? CHIEF_WRITE_UNKNOWN : CHIEF_WRITE_DEPOSED;
    tell(c, NULL);
}

static void run_looked(struct coordinator *c, const struct zk_event *event)
{
    struct run run;
    struct error error;
    c->run_exists = event->outcome == ZK_OK;
    c->run_version = event->stat.version;
    if (!c->run_exists) {
        tell(c, NULL);
    } else if (run_decode(event->data, event->size, &run, &error) == TN_OK) {
        tell(c, &run);
    } else {
        log_error("%s; it is written again", error.text);
        tell(c, NULL);
    }
}

void write_handle(struct coordinator *c, const struct zk_event *event)
{
    if (event->type != ZK_RESULT) { return; }
    if (c->trim_op != 0 && event->op == c->trim_op) { trim_history(c, event); }
    if (c->writing.zk_op == 0 || event->op != c->writing.zk_op) { return; }
    if (!c->writing.reads) {
        write_answered(c, event);
    } else if (event->outcome == ZK_UNKNOWN) {
        c->retry_at_ms = c->now_ms + OFFICE_RETRY_MS;
    } else if (c->writing.raises) {
        chief_looked(c, event);
    } else {
        run_looked(c, event);
    }
}

void write_tick(struct coordinator *c)
{
    bool looks = c->writing.zk_op != 0 && c->writing.reads;
    if (looks && c->now_ms >= c->retry_at_ms) { look(c); }
}
