#include "chaos/plan/plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chaos/plan/plan_builtin.h"
#include "chaos/plan/plan_fault.h"
#include "common/base/files.h"
#include "common/base/json_codec.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/job/job.h"

enum { PLAN_FILE_MAX = 1 << 20, BUILTIN_MAX = 64, LIST_BYTES = 400 };

#define AT(member) JSON_MEMBER(struct plan, member)
static const struct json_field fields[] = {
    {"name", FIELD_TEXT, AT(name), .wanted = "a name"},
    {"about", FIELD_TEXT, AT(about), .wanted = "what it does"},
    {"set", FIELD_OTHER, .wanted = "keys of the job"},
    {"seconds", FIELD_REAL, AT(seconds), .most = 86400, .wanted = "seconds"},
    {"recover_within_s", FIELD_REAL, AT(recover_within_s), .least = 0.1, .most = 3600,
     .wanted = "seconds"},
    {"draw", FIELD_UINT, AT(draw), .least = 1, .most = INJECTIONS_MAX,
     .wanted = "how many faults a round"},
    {"faults", FIELD_OTHER, .wanted = "a list"},
};
#undef AT
static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_UNKNOWN_REFUSED,
    .status = TN_EINVAL,
};

static const double RECOVER_WITHIN_S = 30;

/* ----------------------------------------------------------------- reading */

/* "train.steps=500" from a key and its value. */
static bool format_set(const char *key, const json_t *value, char *out, size_t size)
{
    const char *text = json_string_value(value);
    char *dumped = NULL;
    if (text == NULL && !json_is_array(value) && !json_is_object(value) && !json_is_null(value)) {
        text = dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    }
    int length = text != NULL ? snprintf(out, size, "%s=%s", key, text) : -1;
    free(dumped);
    return length > 0 && (size_t)length < size;
}

static enum tn_status read_sets(const json_t *json, struct plan *out, struct error *error)
{
    json_t *set = json_object_get(json, "set"), *value;
    const char *key;
    struct job job;
    job_init(&job);
    if (set != NULL && !json_is_object(set)) {
        return json_refuse("", "set", set, error,
                           "give keys of the job, {\"zookeeper.session_timeout_ms\": 1000}");
    }
    json_object_foreach(set, key, value)
    {
        struct error wrong = {0};
        char *assignment = out->sets[out->set_count];
        if (out->set_count == PLAN_SETS_MAX) {
            return json_refuse("", "set", NULL, error, "it has more than %d keys", PLAN_SETS_MAX);
        }
        if (!format_set(key, value, assignment, sizeof out->sets[0])) {
            return json_refuse("set", "", value, error,
                               "%.80s: give a number, a text, or true or false", key);
        }
        if (job_set(&job, assignment, &wrong) != TN_OK) {
            return json_refuse("set", "", NULL, error, "%s", wrong.text);
        }
        out->set_count++;
    }
    return TN_OK;
}

static enum tn_status read_faults(const json_t *json, struct plan *out, struct error *error)
{
    json_t *faults = json_object_get(json, "faults"), *object;
    assert(out->fault_count == 0);
    size_t index, count = json_array_size(faults);
    if (count == 0 || count > PLAN_FAULTS_MAX) {
        return json_refuse("", "faults", NULL, error, "give a list of 1 to %d objects",
                           PLAN_FAULTS_MAX);
    }
    json_array_foreach(faults, index, object)
    {
        char where[JSON_WHERE_MAX];
        struct plan_fault *fault = &out->faults[out->fault_count++];
        snprintf(where, sizeof where, "faults[%zu]", index);
        enum tn_status status = plan_fault_read(object, where, out->draw > 0, fault, error);
        if (status != TN_OK) { return status; }
        if (!out->draw && fault->times[1] == 0 && out->seconds <= 0) {
            return json_refuse(where, "every_s", NULL, error,
                               "it has no end: give times, or the seconds of the plan");
        }
    }
    return TN_OK;
}

/* The name is part of the name of a folder. */
static enum tn_status check_name(const json_t *json, const struct plan *plan, struct error *error)
{
    const char *name = plan->name;
    if (*name != '\0' && *name != '.' && strchr(name, '/') == NULL) { return TN_OK; }
    return json_refuse("", "name", json_object_get(json, "name"), error,
                       "give a name that does not begin with \".\" and has no \"/\", for it is "
                       "part of the name of a folder");
}

enum tn_status plan_from_json(json_t *json, struct plan *out, struct error *error)
{
    *out = (struct plan){.name = "plan", .recover_within_s = RECOVER_WITHIN_S};
    enum tn_status status = json_codec_read(&table, json, "", out, error);
    if (status == TN_OK) { status = check_name(json, out, error); }
    if (status == TN_OK) { status = read_sets(json, out, error); }
    if (status == TN_OK) { status = read_faults(json, out, error); }
    if (status == TN_OK) { out->json = json_incref(json); }
    return status;
}

void plan_free(struct plan *plan)
{
    json_decref(plan->json);
    plan->json = NULL;
}

static enum tn_status read_text(const char *text, size_t size, const char *source, struct plan *out,
                                struct error *error)
{
    json_error_t where;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    *out = (struct plan){0};
    if (json == NULL) {
        return error_set(error, TN_EINVAL, "%s:%d:%d: %s: repair the JSON", source, where.line,
                         where.column, where.text);
    }
    enum tn_status status = plan_from_json(json, out, error);
    json_decref(json);
    return status == TN_OK ? TN_OK : error_context(error, "%s", source);
}

/* ----------------------------------------------------------------- by name */

const char *plan_builtin_name(uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (plans_builtin[i].name == NULL) { return NULL; }
    }
    return plans_builtin[index].name;
}

const char *plan_builtin_text(const char *name)
{
    return embedded_text(plans_builtin, name);
}

static enum tn_status refuse_name(const char *name, struct error *error)
{
    const char *names[BUILTIN_MAX], *each;
    char text[LIST_BYTES];
    struct text list = text_begin(text, sizeof text);
    size_t count = 0;
    for (; count < BUILTIN_MAX && (each = plan_builtin_name((uint32_t)count)) != NULL; count++) {
        text_add(&list, count > 0 ? ", " : "");
        text_add(&list, each);
        names[count] = each;
    }
    const char *near = nearest_word(name, names, count);
    if (near != NULL) {
        return error_set(error, TN_ENOENT, "unknown plan \"%.200s\": did you mean \"%s\"?", name,
                         near);
    }
    return error_set(error, TN_ENOENT, "unknown plan \"%.200s\": give a file, or one of %s", name,
                     text);
}

enum tn_status plan_read(const char *file_or_name, struct plan *out, struct error *error)
{
    const char *builtin = plan_builtin_text(file_or_name);
    char *text;
    size_t size;
    assert(file_or_name != NULL);
    *out = (struct plan){0};
    if (builtin != NULL) { return read_text(builtin, strlen(builtin), file_or_name, out, error); }
    if (strchr(file_or_name, '/') == NULL && access(file_or_name, F_OK) != 0) {
        return refuse_name(file_or_name, error);
    }
    enum tn_status status = files_read(file_or_name, PLAN_FILE_MAX, &text, &size, error);
    if (status != TN_OK) { return status; }
    status = read_text(text, size, file_or_name, out, error);
    free(text);
    return status;
}
