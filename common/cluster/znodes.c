#include "common/cluster/znodes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/cluster/row_borders.h"
#include "common/cluster/znode_codec.h"

/* ------------------------------------------------------------------- paths */

enum tn_status cluster_name_check(const char *name, struct error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    assert(name != NULL);
    size_t length = strlen(name);
    if (length == 0 || length >= CLUSTER_NAME_MAX) {
        return error_set(error, TN_EINVAL, "the cluster name has %zu characters: give 1 to %d",
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

void znode_path(char path[static ZK_PATH_MAX], const char *cluster, const char *rest)
{
    assert(cluster[0] != '\0');
    int length =
        snprintf(path, ZK_PATH_MAX, "/tanist/%s%s%s", cluster, rest[0] != '\0' ? "/" : "", rest);
    assert(length > 0 && length < ZK_PATH_MAX);
}

static void task_path(char path[static ZK_PATH_MAX], const char *cluster, const char *folder,
                      struct task task)
{
    assert(task.role < ROLE_COUNT);
    char name[TASK_NAME_MAX], rest[2 * TASK_NAME_MAX];
    task_format(task, '-', name, sizeof name);
    snprintf(rest, sizeof rest, "%s/%s", folder, name);
    znode_path(path, cluster, rest);
}

void znode_member_path(char path[static ZK_PATH_MAX], const char *cluster, struct task task)
{
    task_path(path, cluster, "members", task);
}

void znode_exit_path(char path[static ZK_PATH_MAX], const char *cluster, struct task task)
{
    task_path(path, cluster, "exits", task);
}

void znode_kill_path(char path[static ZK_PATH_MAX], const char *cluster, struct task task)
{
    task_path(path, cluster, "kills", task);
}

void znode_drain_path(char path[static ZK_PATH_MAX], const char *cluster, const char *host)
{
    char rest[128];
    snprintf(rest, sizeof rest, "drains/%.100s", host);
    znode_path(path, cluster, rest);
}

/* Zero-padded, so that a listing sorts by age. */
void znode_checkpoint_path(char path[static ZK_PATH_MAX], const char *cluster, uint64_t id)
{
    char rest[64];
    snprintf(rest, sizeof rest, "checkpoints/%010" PRIu64, id);
    znode_path(path, cluster, rest);
}

/* ------------------------------------------------------------------ tables */

static json_t *build_task(const void *member)
{
    char name[TASK_NAME_MAX];
    struct task task;
    memcpy(&task, member, sizeof task);
    task_format(task, ':', name, sizeof name);
    return json_string(name);
}

static bool read_task(const json_t *value, void *member)
{
    return json_is_string(value) && task_parse(json_string_value(value), member);
}

static const struct json_converter task_name = {build_task, read_task, "a task like \"ps:1\""};

/* The table of `struct RECORD`, from RECORD_fields. */
#define TABLE(record)                                                                              \
    static const struct json_table record##_table = {                                              \
        JSON_FIELDS(record##_fields),                                                              \
        .rules = JSON_ALL_REQUIRED | JSON_PLAIN_TEXTS,                                             \
        .status = TN_ECORRUPT,                                                                     \
    }
#define AT(member) JSON_MEMBER(struct RECORD, member)

#define RECORD recovery
static const struct json_field recovery_fields[] = {
    {"kind", FIELD_ENUM, AT(kind), .names = recovery_kind_names},
    {"task", FIELD_CUSTOM, AT(task), .converter = &task_name},
    {"started_ms", FIELD_UINT, AT(started_wall_ms)},
    {"step", FIELD_UINT, AT(step)},
    {"cause", FIELD_TEXT, AT(cause)},
};
TABLE(recovery);
#undef RECORD

#define RECORD evaluation
static const struct json_field evaluation_fields[] = {
    {"step", FIELD_UINT, AT(step), .none = "null"},
    {"loss", FIELD_REAL, AT(loss), .none = "null"},
    {"accuracy", FIELD_REAL, AT(accuracy), .none = "null"},
    {"train_loss", FIELD_REAL, AT(train_loss), .none = "null"},
    {"digest", FIELD_HEX, AT(digest)},
    {"metrics", FIELD_CUSTOM, AT(metrics), .converter = &metrics_converter, .optional = true},
};
TABLE(evaluation);
#undef RECORD

/* A holder of values that lacks a checkpoint; a checkpoint that could not be loaded. */
static const struct json_field missing_holder = {
    .type = FIELD_UINT,
    .size = sizeof(uint16_t),
    .most = HOLDERS_MAX - 1,
};
static const struct json_field unloadable_id = {.type = FIELD_UINT, .size = sizeof(uint64_t)};
static const struct json_field released_worker = {.type = FIELD_HEX, .size = sizeof(uint64_t)};
#define RECORD inputs
static const struct json_field inputs_fields[] = {
    {"fingerprint", FIELD_TEXT, AT(fingerprint)},
    {"data", FIELD_HEX, AT(data)},
    {"from", FIELD_TEXT, AT(from)},
};
TABLE(inputs);
#undef RECORD

#define RECORD best
static const struct json_field best_fields[] = {
    {"checkpoint", FIELD_UINT, AT(checkpoint)},
    {"step", FIELD_UINT, AT(step)},
    {"metric", FIELD_ENUM, AT(metric), .names = best_metric_names},
    {"value", FIELD_REAL, AT(value)},
};
TABLE(best);
#undef RECORD

#define RECORD evaluated
static const struct json_field evaluated_fields[] = {
    {"step", FIELD_UINT, AT(step)},
    {"value", FIELD_REAL, AT(value), .none = "null"},
};
TABLE(evaluated);
#undef RECORD
static const struct json_field evaluated_element = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct evaluated),
    .table = &evaluated_table,
};

#define RECORD run
static const struct json_field run_fields[] = {
    {"phase", FIELD_ENUM, AT(phase), .names = run_phase_names},
    {"epoch", FIELD_UINT, AT(epoch)},
    {"revision", FIELD_UINT, AT(revision)},
    {"generation", FIELD_UINT, AT(generation)},
    {"load_checkpoint", FIELD_UINT, AT(load_checkpoint)},
    {"load_step", FIELD_UINT, AT(load_step)},
    {"committed_checkpoint", FIELD_UINT, AT(committed_checkpoint)},
    {"committed_step", FIELD_UINT, AT(committed_step)},
    {"last_checkpoint", FIELD_UINT, AT(last_checkpoint)},
    {"save_checkpoint", FIELD_UINT, AT(save_checkpoint)},
    {"save_step", FIELD_UINT, AT(save_step)},
    {"save_writer", FIELD_UINT, AT(save_writer), .most = WORKERS_MAX - 1, .optional = true},
    {"save_due", FIELD_UINT, AT(save_due)},
    {"skipped_checkpoints", FIELD_UINT, AT(skipped_checkpoints)},
    {"until", FIELD_UINT, AT(until)},
    {"ending", FIELD_BOOL, AT(ending)},
    {"gate", FIELD_UINT, AT(gate)},
    {"evaluate_step", FIELD_UINT, AT(evaluate_step), .none = "null"},
    {"held", FIELD_BOOL, AT(pause_requested)},
    {"workers", FIELD_UINT, AT(workers), .most = WORKERS_MAX, .optional = true},
    {"released", FIELD_LIST, AT(released), .element = &released_worker,
     .length_offset = offsetof(struct run, released_count), .optional = true},
    {"recovery", FIELD_OBJECT, AT(recovery), .table = &recovery_table},
    {"evaluation", FIELD_OBJECT, AT(evaluation), .table = &evaluation_table},
    {"best_step", FIELD_UINT, AT(best_step), .optional = true},
    {"best", FIELD_REAL, AT(best), .optional = true},
    {"since_best", FIELD_UINT, AT(since_best), .optional = true},
    {"evaluate_checkpoint", FIELD_UINT, AT(evaluate_checkpoint), .optional = true},
    {"evaluate_checkpoint_step", FIELD_UINT, AT(evaluate_checkpoint_step), .optional = true},
    {"evaluated_checkpoint", FIELD_UINT, AT(evaluated_checkpoint), .optional = true},
    {"unevaluated", FIELD_UINT, AT(unevaluated), .optional = true},
    {"passed_over", FIELD_UINT, AT(passed_over), .optional = true},
    {"best_checkpoint", FIELD_OBJECT, AT(best_checkpoint), .table = &best_table, .optional = true},
    {"saved_value", FIELD_OBJECT, AT(saved_value), .table = &evaluated_table, .optional = true},
    {"evaluated", FIELD_LIST, AT(evaluated), .element = &evaluated_element,
     .length_offset = offsetof(struct run, evaluated_count), .optional = true},
    {"inputs", FIELD_OBJECT, AT(inputs), .table = &inputs_table, .optional = true},
    {"started_ms", FIELD_UINT, AT(started_wall_ms)},
    {"changed_ms", FIELD_UINT, AT(changed_wall_ms)},
    {"elections", FIELD_UINT, AT(elections)},
    {"reason", FIELD_TEXT, AT(reason)},
    {"held_checkpoint", FIELD_UINT, AT(held_checkpoint)},
    {"held_step", FIELD_UINT, AT(held_step)},
    {"missing", FIELD_LIST, AT(missing), .element = &missing_holder,
     .length_offset = offsetof(struct run, missing_count)},
    {"unloadable", FIELD_LIST, AT(unloadable), .element = &unloadable_id,
     .length_offset = offsetof(struct run, unloadable_count)},
    {"restore_from", FIELD_TEXT, AT(restore_from)},
};
TABLE(run);
#undef RECORD

#define RECORD chief_record
static const struct json_field chief_record_fields[] = {
    {"epoch", FIELD_UINT, AT(epoch)},
    {"task", FIELD_CUSTOM, AT(task), .converter = &task_name},
    {"incarnation", FIELD_HEX, AT(incarnation)},
    {"pid", FIELD_UINT, AT(pid)},
    {"since_ms", FIELD_UINT, AT(since_wall_ms)},
    {"took_ms", FIELD_UINT, AT(took_ms)},
    {"host", FIELD_TEXT, AT(host)},
    {"address", FIELD_TEXT, AT(address)},
    {"cause", FIELD_TEXT, AT(cause)},
};
TABLE(chief_record);
#undef RECORD

#define RECORD member
static const struct json_field member_fields[] = {
    {"task", FIELD_CUSTOM, AT(task), .converter = &task_name},
    {"incarnation", FIELD_HEX, AT(incarnation)},
    {"pid", FIELD_UINT, AT(pid)},
    {"since_ms", FIELD_UINT, AT(since_wall_ms)},
    {"host", FIELD_TEXT, AT(host)},
    {"address", FIELD_TEXT, AT(address)},
    {"machine", FIELD_TEXT, AT(machine), .optional = true},
    {"problem", FIELD_TEXT, AT(problem)},
};
TABLE(member);
#undef RECORD

#define RECORD exit_note
static const struct json_field exit_note_fields[] = {
    {"incarnation", FIELD_HEX, AT(incarnation)},
    {"at_ms", FIELD_UINT, AT(wall_ms)},
    {"cause", FIELD_TEXT, AT(cause)},
};
TABLE(exit_note);
#undef RECORD

#define RECORD history_entry
static const struct json_field history_entry_fields[] = {
    {"kind", FIELD_ENUM, AT(kind), .names = history_kind_names},
    {"at_ms", FIELD_UINT, AT(wall_ms)},
    {"epoch", FIELD_UINT, AT(epoch)},
    {"generation", FIELD_UINT, AT(generation)},
    {"step", FIELD_UINT, AT(step)},
    {"checkpoint", FIELD_UINT, AT(checkpoint)},
    {"recovery", FIELD_ENUM, AT(recovery), .names = recovery_kind_names},
    {"task", FIELD_CUSTOM, AT(task), .converter = &task_name},
    {"pid", FIELD_UINT, AT(pid)},
    {"took_ms", FIELD_UINT, AT(took_ms)},
    {"steps_redone", FIELD_UINT, AT(steps_redone)},
    {"loss", FIELD_REAL, AT(loss), .none = "null"},
    {"accuracy", FIELD_REAL, AT(accuracy), .none = "null"},
    {"metrics", FIELD_CUSTOM, AT(metrics), .converter = &metrics_converter, .optional = true},
    {"cause", FIELD_TEXT, AT(cause)},
};
TABLE(history_entry);
#undef RECORD

#define RECORD request
static const struct json_field request_fields[] = {
    {"kind", FIELD_ENUM, AT(kind), .names = request_kind_names},
    {"at_ms", FIELD_UINT, AT(wall_ms)},
    {"by", FIELD_TEXT, AT(by)},
    {"step", FIELD_UINT, AT(step)},
    {"path", FIELD_TEXT, AT(path)},
};
TABLE(request);
#undef RECORD

#define RECORD kill_request
static const struct json_field kill_request_fields[] = {
    {"incarnation", FIELD_HEX, AT(incarnation)},
    {"signal", FIELD_ENUM, AT(signal), .names = kill_signal_names},
    {"at_ms", FIELD_UINT, AT(wall_ms)},
    {"by", FIELD_TEXT, AT(by)},
};
TABLE(kill_request);
#undef RECORD

#define RECORD spec
static const struct json_field spec_fields[] = {
    {"key", FIELD_HEX, AT(key)},
    {"job_hash", FIELD_HEX, AT(job_hash)},
    {"variables_hash", FIELD_HEX, AT(variables_hash)},
    {"graph_hash", FIELD_HEX, AT(graph_hash), .optional = true},
    {"coordinators", FIELD_UINT, AT(coordinators)},
    {"ps", FIELD_UINT, AT(ps)},
    {"workers", FIELD_UINT, AT(workers)},
    {"workers_least", FIELD_UINT, AT(workers_least), .optional = true},
    {"evaluators", FIELD_UINT, AT(evaluators), .optional = true},
    {"buckets", FIELD_CUSTOM, AT(rows), .converter = &row_borders_converter, .optional = true},
    {"created_ms", FIELD_UINT, AT(created_wall_ms)},
};
TABLE(spec);
#undef RECORD

/* The worker that owns a slice. */
static const struct json_field slice_owner = {
    .type = FIELD_UINT,
    .size = sizeof(uint16_t),
    .most = WORKERS_MAX - 1,
    .none = "null",
};
#define RECORD assignment
static const struct json_field assignment_fields[] = {
    {"generation", FIELD_UINT, AT(generation)},
    {"workers", FIELD_LIST, AT(worker), .element = &slice_owner,
     .length_offset = offsetof(struct assignment, slice_count)},
    {"late", FIELD_LIST, AT(late), .element = &slice_owner,
     .length_offset = offsetof(struct assignment, late_count), .optional = true},
};
TABLE(assignment);
#undef RECORD

/* ------------------------------------------------------ encode and decode */

#define CODEC(function, record, what)                                                              \
    size_t function##_encode(const struct record *from, char text[static ZNODE_JSON_MAX])          \
    {                                                                                              \
        return znode_encode(&record##_table, from, text);                                          \
    }                                                                                              \
    enum tn_status function##_decode(const void *data, size_t size, struct record *out,            \
                                     struct error *error)                                          \
    {                                                                                              \
        *out = (struct record){0};                                                                 \
        return znode_decode(&record##_table, what, data, size, out, error);                        \
    }

CODEC(chief_record, chief_record, "/chief")
CODEC(member, member, "a member")
CODEC(exit_note, exit_note, "an exit note")
CODEC(run, run, "/run")
CODEC(history, history_entry, "a history entry")
CODEC(request, request, "a request")
CODEC(kill_request, kill_request, "a kill request")
CODEC(assignment, assignment, "/assignment")

char *spec_encode(const struct spec *spec)
{
    assert(spec != NULL);
    json_t *object = znode_build(&spec_table, spec);
    bool whole = object != NULL;
    row_borders_leave_out(&spec->rows, object, "buckets");
    /* The job is JSON itself: stored as an object if possible, which is easier to read. */
    if (whole && spec->job_json != NULL) {
        json_t *job = json_loads(spec->job_json, 0, NULL);
        if (job == NULL) { job = json_text(spec->job_json); }
        whole = json_object_set_new(object, "job", job) == 0;
    }
    char *text = whole ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

enum tn_status spec_decode(const void *data, size_t size, struct spec *out, struct error *error)
{
    json_t *object;
    *out = (struct spec){0};
    const enum tn_status status =
        znode_decode_object(&spec_table, "/spec", data, size, out, &object, error);
    const json_t *job = json_object_get(object, "job");
    if (status == TN_OK && job != NULL) {
        out->job_json = json_dumps(job, JSON_COMPACT | JSON_ENCODE_ANY);
    }
    json_decref(object);
    return status;
}
