#include "common/cluster/znodes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cluster/fields.h"

/* ------------------------------------------------------------------- paths */

enum tn_status cluster_name_check(const char *name, struct error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(name);
    if (length == 0 || length >= CLUSTER_NAME_MAX) {
        return error_set(error, TN_EINVAL, "a cluster's name of %zu characters: give 1 to %d",
                         length, CLUSTER_NAME_MAX - 1);
    }
    size_t good = strspn(name, allowed);
    if (good != length) {
        return error_set(
            error, TN_EINVAL,
            "cluster name \"%s\": character %zu is not a letter, digit, '-', '_' or '.'", name,
            good + 1);
    }
    if (name[0] == '.') {
        return error_set(error, TN_EINVAL, "cluster name \"%s\" starts with '.'", name);
    }
    return TN_OK;
}

void znode_path(char path[static 256], const char *cluster, const char *rest)
{
    int length = snprintf(path, 256, "/tanist/%s%s%s", cluster, rest[0] != '\0' ? "/" : "", rest);
    assert(length > 0 && length < 256);
}

static void seat_path(char path[static 256], const char *cluster, const char *folder,
                      struct task task)
{
    char name[TASK_NAME_MAX], rest[2 * TASK_NAME_MAX];
    task_format(task, '-', name, sizeof name);
    snprintf(rest, sizeof rest, "%s/%s", folder, name);
    znode_path(path, cluster, rest);
}

void znode_member_path(char path[static 256], const char *cluster, struct task task)
{
    seat_path(path, cluster, "members", task);
}

void znode_exit_path(char path[static 256], const char *cluster, struct task task)
{
    seat_path(path, cluster, "exits", task);
}

void znode_kill_path(char path[static 256], const char *cluster, struct task task)
{
    seat_path(path, cluster, "kills", task);
}

/* Zero-padded, so that a listing sorts by age. */
void znode_checkpoint_path(char path[static 256], const char *cluster, uint64_t id)
{
    char rest[64];
    snprintf(rest, sizeof rest, "checkpoints/%010" PRIu64, id);
    znode_path(path, cluster, rest);
}

/* ------------------------------------------------------------------- words */

const char *history_kind_name(enum history_kind kind)
{
    static const char *const names[HISTORY_KINDS] = {
        [HISTORY_ELECTED] = "elected",       [HISTORY_TASK_UP] = "task-up",
        [HISTORY_TASK_LOST] = "task-lost",   [HISTORY_PAUSED] = "paused",
        [HISTORY_RECOVERED] = "recovered",   [HISTORY_RUNNING] = "running",
        [HISTORY_CHECKPOINT] = "checkpoint", [HISTORY_FALLBACK] = "fallback",
        [HISTORY_EVALUATED] = "evaluated",   [HISTORY_DONE] = "done",
        [HISTORY_FAILED] = "failed",
    };
    assert(kind < HISTORY_KINDS);
    return names[kind];
}

const char *request_kind_name(enum request_kind kind)
{
    static const char *const names[REQUEST_KINDS] = {
        [REQUEST_STOP] = "stop",     [REQUEST_RESIGN] = "resign",         [REQUEST_PAUSE] = "pause",
        [REQUEST_RESUME] = "resume", [REQUEST_CHECKPOINT] = "checkpoint",
    };
    assert(kind < REQUEST_KINDS);
    return names[kind];
}

const char *kill_signal_name(enum kill_signal signal)
{
    static const char *const names[KILL_SIGNALS] = {
        [KILL_SIGKILL] = "KILL",
        [KILL_SIGTERM] = "TERM",
        [KILL_SIGSTOP] = "STOP",
        [KILL_SIGCONT] = "CONT",
    };
    assert(signal < KILL_SIGNALS);
    return names[signal];
}

bool kill_signal_parse(const char *name, enum kill_signal *out)
{
    for (int i = 0; i < KILL_SIGNALS; i++) {
        if (strcmp(name, kill_signal_name((enum kill_signal)i)) != 0) { continue; }
        *out = (enum kill_signal)i;
        return true;
    }
    return false;
}

static const char *phase_word(int value)
{
    return run_phase_name((enum run_phase)value);
}

static const char *recovery_word(int value)
{
    return recovery_kind_name((enum recovery_kind)value);
}

static const char *history_word(int value)
{
    return history_kind_name((enum history_kind)value);
}

static const char *request_word(int value)
{
    return request_kind_name((enum request_kind)value);
}

static const char *kill_word(int value)
{
    return kill_signal_name((enum kill_signal)value);
}

/* ------------------------------------------------------------------ tables */

#define AT(member) .offset = offsetof(struct RECORD, member)
#define NUMBER(key, member)                                                                        \
    {                                                                                              \
        .name = key, .type = FIELD_NUMBER, AT(member)                                              \
    }
#define STEP(key, member)                                                                          \
    {                                                                                              \
        .name = key, .type = FIELD_STEP, AT(member)                                                \
    }
#define WIDE(key, member)                                                                          \
    {                                                                                              \
        .name = key, .type = FIELD_WIDE, AT(member)                                                \
    }
#define REAL(key, member)                                                                          \
    {                                                                                              \
        .name = key, .type = FIELD_REAL, AT(member)                                                \
    }
#define FLAG(key, member)                                                                          \
    {                                                                                              \
        .name = key, .type = FIELD_FLAG, AT(member)                                                \
    }
#define TASK(key, member)                                                                          \
    {                                                                                              \
        .name = key, .type = FIELD_TASK, AT(member)                                                \
    }
#define SMALL(key, member)                                                                         \
    {                                                                                              \
        .name = key, .type = FIELD_SMALL, AT(member)                                               \
    }
#define DIGEST(key, member)                                                                        \
    {                                                                                              \
        .name = key, .type = FIELD_DIGEST, AT(member)                                              \
    }
#define WORD(key, member, names, count)                                                            \
    {                                                                                              \
        .name = key, .type = FIELD_ENUM, AT(member), .size = count, .word = names                  \
    }
#define TEXT(key, member)                                                                          \
    {                                                                                              \
        .name = key, .type = FIELD_TEXT, AT(member), .size = sizeof((struct RECORD *)0)->member    \
    }
#define OBJECT(key, member, table)                                                                 \
    {                                                                                              \
        .name = key, .type = FIELD_OBJECT, AT(member), .members = table                            \
    }

#define RECORD recovery
static const struct field recovery_fields[] = {
    WORD("kind", kind, recovery_word, RECOVERY_OPERATOR + 1),
    TASK("task", task),
    NUMBER("started_ms", started_wall_ms),
    NUMBER("step", step),
    TEXT("cause", cause),
    FIELD_END,
};
#undef RECORD
#define RECORD evaluation
static const struct field evaluation_fields[] = {
    STEP("step", step),         REAL("loss", loss),
    REAL("accuracy", accuracy), REAL("train_loss", train_loss),
    DIGEST("digest", digest),   FIELD_END,
};
#undef RECORD
#define RECORD run
static const struct field run_fields[] = {
    WORD("phase", phase, phase_word, RUN_PHASES),
    NUMBER("epoch", epoch),
    NUMBER("revision", revision),
    NUMBER("generation", generation),
    NUMBER("load_checkpoint", load_checkpoint),
    NUMBER("load_step", load_step),
    NUMBER("committed_checkpoint", committed_checkpoint),
    NUMBER("committed_step", committed_step),
    NUMBER("last_checkpoint", last_checkpoint),
    NUMBER("save_checkpoint", save_checkpoint),
    NUMBER("save_step", save_step),
    NUMBER("until", until),
    FLAG("ending", ending),
    STEP("evaluate_step", evaluate_step),
    FLAG("held", held),
    OBJECT("recovery", recovery, recovery_fields),
    OBJECT("evaluation", evaluation, evaluation_fields),
    NUMBER("started_ms", started_wall_ms),
    NUMBER("changed_ms", changed_wall_ms),
    NUMBER("elections", elections),
    TEXT("reason", reason),
    FIELD_END,
};
#undef RECORD
#define RECORD office
static const struct field office_fields[] = {
    NUMBER("epoch", epoch),
    TASK("task", task),
    WIDE("incarnation", incarnation),
    NUMBER("pid", pid),
    NUMBER("since_ms", since_wall_ms),
    NUMBER("took_ms", took_ms),
    TEXT("host", host),
    TEXT("address", address),
    TEXT("cause", cause),
    FIELD_END,
};
#undef RECORD
#define RECORD member
static const struct field member_fields[] = {
    TASK("task", task), WIDE("incarnation", incarnation),
    NUMBER("pid", pid), NUMBER("since_ms", since_wall_ms),
    TEXT("host", host), TEXT("address", address),
    FIELD_END,
};
#undef RECORD
#define RECORD exit_note
static const struct field exit_note_fields[] = {
    WIDE("incarnation", incarnation),
    NUMBER("at_ms", wall_ms),
    TEXT("cause", cause),
    FIELD_END,
};
#undef RECORD
#define RECORD history_entry
static const struct field history_entry_fields[] = {
    WORD("kind", kind, history_word, HISTORY_KINDS),
    NUMBER("at_ms", wall_ms),
    NUMBER("epoch", epoch),
    NUMBER("generation", generation),
    NUMBER("step", step),
    NUMBER("checkpoint", checkpoint),
    WORD("recovery", recovery, recovery_word, RECOVERY_OPERATOR + 1),
    TASK("task", task),
    NUMBER("pid", pid),
    NUMBER("took_ms", took_ms),
    NUMBER("steps_redone", steps_redone),
    REAL("loss", loss),
    REAL("accuracy", accuracy),
    TEXT("cause", cause),
    FIELD_END,
};
#undef RECORD
#define RECORD request
static const struct field request_fields[] = {
    WORD("kind", kind, request_word, REQUEST_KINDS),
    NUMBER("at_ms", wall_ms),
    TEXT("by", by),
    FIELD_END,
};
#undef RECORD
#define RECORD kill_request
static const struct field kill_request_fields[] = {
    WIDE("incarnation", incarnation),
    WORD("signal", signal, kill_word, KILL_SIGNALS),
    NUMBER("at_ms", wall_ms),
    TEXT("by", by),
    FIELD_END,
};
#undef RECORD
#define RECORD spec
static const struct field spec_fields[] = {
    WIDE("key", key),
    WIDE("job_hash", job_hash),
    WIDE("variables_hash", variables_hash),
    SMALL("coordinators", coordinators),
    SMALL("ps", ps),
    SMALL("workers", workers),
    NUMBER("created_ms", created_wall_ms),
    FIELD_END,
};
#undef RECORD

/* ------------------------------------------------------ encode and decode */

enum { TREE_VERSION = 1 };

static bool put_version(json_t *object)
{
    return object != NULL &&
           json_object_set_new(object, "version", json_integer(TREE_VERSION)) == 0;
}

/* Takes `object`. Bounded by the tables, so that running out of memory is the only failure: then
 * nothing sensible can be said to ZooKeeper any more. */
static size_t finish(json_t *object, char text[static ZNODE_JSON_MAX])
{
    bool versioned = put_version(object);
    assert(versioned);
    size_t length = json_dumpb(object, text, ZNODE_JSON_MAX - 1, JSON_COMPACT);
    assert(length > 0 && length < ZNODE_JSON_MAX);
    text[length] = '\0';
    json_decref(object);
    return length;
}

/* A JSON object of our version, or NULL. */
static json_t *open_object(const void *data, size_t size, struct error *error)
{
    json_error_t where;
    json_t *object = size > 0 ? json_loadb(data, size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (object == NULL) {
        error_set(error, TN_ECORRUPT, "not JSON: %s", size > 0 ? where.text : "empty");
        return NULL;
    }
    const json_t *version = json_object_get(object, "version");
    if (json_is_integer(version) && json_integer_value(version) == TREE_VERSION) { return object; }
    error_set(error, TN_ECORRUPT, "version is %lld, this program reads %d",
              (long long)json_integer_value(version), TREE_VERSION);
    json_decref(object);
    return NULL;
}

static enum tn_status decode(const struct field *table, const char *what, const void *data,
                             size_t size, void *out, struct error *error)
{
    json_t *object = open_object(data, size, error);
    enum tn_status status = object != NULL ? fields_read(table, object, out, error) : TN_ECORRUPT;
    if (status != TN_OK) { error_context(error, "%s", what); }
    json_decref(object);
    return status;
}

#define CODEC(function, record, words)                                                             \
    size_t function##_encode(const struct record *from, char text[static ZNODE_JSON_MAX])          \
    {                                                                                              \
        return finish(fields_build(record##_fields, from), text);                                  \
    }                                                                                              \
    enum tn_status function##_decode(const void *data, size_t size, struct record *out,            \
                                     struct error *error)                                          \
    {                                                                                              \
        *out = (struct record){0};                                                                 \
        return decode(record##_fields, words, data, size, out, error);                             \
    }

CODEC(office, office, "/chief")
CODEC(member, member, "a member")
CODEC(exit_note, exit_note, "an exit note")
CODEC(run, run, "/run")
CODEC(history, history_entry, "a history entry")
CODEC(request, request, "a request")
CODEC(kill_request, kill_request, "an order to kill")

/* Slices as a list: the worker's index, or null. */
size_t assignment_encode(const struct assignment *assignment, char text[static ZNODE_JSON_MAX])
{
    assert(assignment->slice_count <= SLICES_MAX);
    json_t *object = json_object(), *workers = json_array();
    for (uint32_t i = 0; i < assignment->slice_count; i++) {
        uint16_t worker = assignment->worker[i];
        json_array_append_new(workers, worker == UINT16_MAX ? json_null() : json_integer(worker));
    }
    assert(assignment->generation <= INT64_MAX);
    json_object_set_new(object, "generation", json_integer((json_int_t)assignment->generation));
    int put = json_object_set_new(object, "workers", workers);
    assert(put == 0);
    return finish(object, text);
}

static enum tn_status read_workers(const json_t *workers, struct assignment *out,
                                   struct error *error)
{
    if (!json_is_array(workers) || json_array_size(workers) > SLICES_MAX) {
        return error_set(error, TN_ECORRUPT, "workers is not a list of at most %d", SLICES_MAX);
    }
    out->slice_count = (uint32_t)json_array_size(workers);
    for (uint32_t i = 0; i < out->slice_count; i++) {
        const json_t *worker = json_array_get(workers, i);
        json_int_t index = json_is_null(worker) ? UINT16_MAX : json_integer_value(worker);
        bool known =
            json_is_null(worker) || (json_is_integer(worker) && index >= 0 && index < WORKERS_MAX);
        if (!known) {
            return error_set(error, TN_ECORRUPT, "workers[%" PRIu32 "] is no worker", i);
        }
        out->worker[i] = (uint16_t)index;
    }
    return TN_OK;
}

enum tn_status assignment_decode(const void *data, size_t size, struct assignment *out,
                                 struct error *error)
{
    static const struct field fields[] = {
        {.name = "generation",
         .type = FIELD_NUMBER,
         .offset = offsetof(struct assignment, generation)},
        FIELD_END,
    };
    *out = (struct assignment){0};
    json_t *object = open_object(data, size, error);
    enum tn_status status = object != NULL ? fields_read(fields, object, out, error) : TN_ECORRUPT;
    if (status == TN_OK) { status = read_workers(json_object_get(object, "workers"), out, error); }
    if (status != TN_OK) { error_context(error, "/assignment"); }
    json_decref(object);
    return status;
}

char *spec_encode(const struct spec *spec)
{
    json_t *object = fields_build(spec_fields, spec);
    bool whole = put_version(object);
    /* The job is JSON itself: kept as an object where it can be, for people who look. */
    if (whole && spec->job_json != NULL) {
        json_t *job = json_loads(spec->job_json, 0, NULL);
        if (job == NULL) { job = json_string(spec->job_json); }
        whole = json_object_set_new(object, "job", job) == 0;
    }
    char *text = whole ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

enum tn_status spec_decode(const void *data, size_t size, struct spec *out, struct error *error)
{
    *out = (struct spec){0};
    json_t *object = open_object(data, size, error);
    enum tn_status status =
        object != NULL ? fields_read(spec_fields, object, out, error) : TN_ECORRUPT;
    if (status != TN_OK) { error_context(error, "/spec"); }
    const json_t *job = json_object_get(object, "job");
    if (status == TN_OK && job != NULL) {
        out->job_json = json_dumps(job, JSON_COMPACT | JSON_ENCODE_ANY);
    }
    json_decref(object);
    return status;
}
