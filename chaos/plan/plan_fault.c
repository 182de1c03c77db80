#include "chaos/plan/plan_fault.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "chaos/plan/target_selector.h"
#include "common/base/json_codec.h"
#include "common/base/nearest.h"
#include "common/faults/failpoint.h"

enum { DAY_S = 86400, POINTS_MAX = 128 };

#define AT(member) JSON_MEMBER(struct plan_fault, member)
static const struct json_field fields[] = {
    {"fault", FIELD_OTHER, .wanted = "the name of a fault"},
    {"whom", FIELD_OTHER, .wanted = "whom it strikes"},
    {"after_s", FIELD_REAL_RANGE, AT(after_s), .most = DAY_S, .wanted = "seconds"},
    {"every_s", FIELD_REAL_RANGE, AT(every_s), .least = 0.01, .most = DAY_S, .wanted = "seconds"},
    {"at_progress", FIELD_REAL_RANGE, AT(progress), .most = 1,
     .wanted = "a share of the job's steps"},
    {"in_phase", FIELD_OTHER, .wanted = "a phase"},
    {"at_point", FIELD_OTHER, .wanted = "a failpoint"},
    {"pass", FIELD_UINT_RANGE, AT(count), .least = 1, .most = 1000000, .wanted = "which pass"},
    {"always", FIELD_BOOL, AT(always)},
    {"times", FIELD_UINT_RANGE, AT(times), .least = 1, .most = INJECTIONS_MAX,
     .wanted = "how often"},
    {"for_s", FIELD_REAL_RANGE, AT(for_s), .least = 0.001, .most = DAY_S, .wanted = "seconds"},
    {"for_sessions", FIELD_REAL_RANGE, AT(for_s), .least = 0.001, .most = 1000,
     .wanted = "session timeouts"},
    {"value", FIELD_REAL_RANGE, AT(value), .least = -1e12, .most = 1e12, .wanted = "how much"},
};
#undef AT
static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_UNKNOWN_REFUSED,
    .status = TN_EINVAL,
};

/* What is being read. */
struct line {
    json_t *object;
    const char *where;
    struct plan_fault *out;
    struct error *error;
};

static bool has(const struct line *line, const char *key)
{
    return json_object_get(line->object, key) != NULL;
}

/* ----------------------------------------------------------------- words */

/* One of `names`; `*index` of it. */
static enum tn_status read_word(const struct line *line, const char *key, const char *const *names,
                                size_t count, size_t *index)
{
    const json_t *value = json_object_get(line->object, key);
    const char *word = json_string_value(value);
    if (word == NULL) { return json_refuse(line->where, key, value, line->error, "give a text"); }
    for (*index = 0; *index < count; ++*index) {
        if (strcmp(names[*index], word) == 0) { return TN_OK; }
    }
    const char *near = nearest_word(word, names, count);
    if (near != NULL) {
        return json_refuse(line->where, key, value, line->error, "did you mean \"%s\"?", near);
    }
    return json_refuse(line->where, key, value, line->error,
                       "there is none of that name: `tanist chaos list` names all");
}

static enum tn_status read_fault(const struct line *line)
{
    const char *names[FAULT_COUNT];
    size_t index = 0;
    for (int i = 0; i < FAULT_COUNT; i++) { names[i] = fault_descriptor((enum fault)i)->name; }
    enum tn_status status = read_word(line, "fault", names, FAULT_COUNT, &index);
    if (status == TN_OK) { line->out->fault = (enum fault)index; }
    return status;
}

static enum tn_status read_phase(const struct line *line)
{
    const char *names[RUN_PHASES];
    size_t index = 0;
    for (int i = 0; i < RUN_PHASES; i++) { names[i] = run_phase_name((enum run_phase)i); }
    enum tn_status status = read_word(line, "in_phase", names, RUN_PHASES, &index);
    if (status != TN_OK) { return status; }
    line->out->trigger.type = TRIGGER_PHASE;
    line->out->trigger.phase = (enum run_phase)index;
    return TN_OK;
}

static enum tn_status read_point(const struct line *line)
{
    const char *names[POINTS_MAX];
    char why[200];
    size_t index = 0;
    unsigned count;
    const struct failpoint_info *points = failpoint_list(&count);
    assert(count <= POINTS_MAX);
    for (unsigned i = 0; i < count; i++) { names[i] = points[i].name; }
    enum tn_status status = read_word(line, "at_point", names, count, &index);
    if (status != TN_OK) { return status; }
    if (!fault_fits_failpoint(line->out->fault, &points[index], why, sizeof why)) {
        return json_refuse(line->where, "at_point", NULL, line->error, "%s", why);
    }
    line->out->trigger.type = TRIGGER_POINT;
    snprintf(line->out->trigger.point, POINT_NAME_MAX, "%s", points[index].name);
    return TN_OK;
}

/* ----------------------------------------------------------------- whom */

/* NULL: it is not done at one. */
static const struct failpoint_info *failpoint_of(const struct plan_fault *fault)
{
    return fault->trigger.type == TRIGGER_POINT ? failpoint_find(fault->trigger.point) : NULL;
}

static enum tn_status add_whom(const struct line *line, const json_t *value)
{
    char words[400];
    struct plan_fault *out = line->out;
    const char *whom = json_string_value(value);
    if (whom == NULL || strlen(whom) >= WHOM_MAX || out->whom_count == PLAN_WHOM_MAX) {
        return json_refuse(line->where, "whom", value, line->error,
                           "give a name like \"ps\", or a list of at most %d", PLAN_WHOM_MAX);
    }
    if (whom_is_wrong(whom, out->fault, words, sizeof words)) {
        return json_refuse(line->where, "whom", NULL, line->error, "%s", words);
    }
    const struct failpoint_info *point = failpoint_of(out);
    if (point != NULL && !whom_passes(whom, point->who)) {
        return json_refuse(line->where, "whom", value, line->error,
                           "it never passes %s: give \"%s\"", point->name, point->who);
    }
    snprintf(out->whom[out->whom_count++], WHOM_MAX, "%s", whom);
    return TN_OK;
}

static enum tn_status read_whom(const struct line *line)
{
    json_t *whom = json_object_get(line->object, "whom"), *usual = NULL;
    const struct failpoint_info *point = failpoint_of(line->out);
    enum tn_status status = TN_OK;
    if (whom == NULL && point != NULL) { whom = usual = json_string(point->who); }
    if (whom == NULL && fault_descriptor(line->out->fault)->targets == TARGET_CLUSTER) {
        whom = usual = json_string("cluster");
    }
    if (whom == NULL || (json_is_array(whom) && json_array_size(whom) == 0)) {
        return json_refuse(line->where, "whom", whom, line->error,
                           "say whom %s strikes, like \"ps\" or [\"chief\", \"worker\"]",
                           fault_descriptor(line->out->fault)->name);
    }
    if (!json_is_array(whom)) { status = add_whom(line, whom); }
    for (size_t i = 0; status == TN_OK && i < json_array_size(whom); i++) {
        status = add_whom(line, json_array_get(whom, i));
    }
    json_decref(usual);
    return status;
}

/* ----------------------------------------------------------------- when, how long, how much */

static enum tn_status read_when(const struct line *line)
{
    const char *where = line->where;
    bool timed = has(line, "after_s") || has(line, "every_s"), point = has(line, "at_point");
    int ways = has(line, "at_progress") + has(line, "in_phase") + (point || timed);
    if (ways != 1) {
        return json_refuse(where, "", NULL, line->error,
                           "%s: give one of after_s and every_s, at_progress, in_phase, at_point",
                           ways == 0 ? "it does not say when" : "it says when in several ways");
    }
    if (has(line, "pass") && !point && !has(line, "in_phase")) {
        return json_refuse(where, "pass", NULL, line->error,
                           "it counts passes of in_phase or at_point: give one of them");
    }
    if (has(line, "at_progress")) { line->out->trigger.type = TRIGGER_STEP; }
    if (has(line, "in_phase")) { return read_phase(line); }
    return point ? read_point(line) : TN_OK;
}

/* A line of which single faults are drawn cannot say how often. */
static enum tn_status check_drawn(const struct line *line, bool drawn)
{
    const char *often = has(line, "times") ? "times" : has(line, "every_s") ? "every_s" : NULL;
    if (!drawn && line->out->always) {
        return json_refuse(line->where, "always", NULL, line->error,
                           "the plan draws no lines, so all are done: leave it out");
    }
    if (!drawn || line->out->always || often == NULL) { return TN_OK; }
    return json_refuse(line->where, often, NULL, line->error,
                       "the plan draws single faults: leave it out, or say \"always\": true");
}

/* Those that are done inside a process need to know where. */
static enum tn_status check_point(const struct line *line)
{
    const struct fault_descriptor *fault = fault_descriptor(line->out->fault);
    if ((fault->needs & NEED_FAILPOINTS) == 0 || line->out->trigger.type == TRIGGER_POINT) {
        return TN_OK;
    }
    return json_refuse(line->where, "at_point", NULL, line->error,
                       "%s needs it: name a failpoint, like \"node.before_register\"", fault->name);
}

static enum tn_status check_length(const struct line *line)
{
    const char *name = fault_descriptor(line->out->fault)->name;
    enum fault_duration duration = fault_descriptor(line->out->fault)->duration;
    line->out->for_sessions = has(line, "for_sessions");
    bool given = line->out->for_sessions || has(line, "for_s");
    if (line->out->for_sessions && has(line, "for_s")) {
        return json_refuse(line->where, "for_sessions", NULL, line->error,
                           "there is for_s as well: give one of them");
    }
    if (given && duration == DURATION_NONE) {
        return json_refuse(line->where, line->out->for_sessions ? "for_sessions" : "for_s", NULL,
                           line->error, "%s does not last: leave it out", name);
    }
    if (!given && duration == DURATION_REQUIRED) {
        return json_refuse(line->where, "for_s", NULL, line->error,
                           "say how long %s lasts, by for_s or for_sessions", name);
    }
    return TN_OK;
}

static enum tn_status check_value(const struct line *line)
{
    const char *name = fault_descriptor(line->out->fault)->name;
    const struct fault_value *wanted = &fault_descriptor(line->out->fault)->value;
    const json_t *value = json_object_get(line->object, "value");
    if (wanted->unit == NULL && value != NULL) {
        return json_refuse(line->where, "value", value, line->error, "%s has none: leave it out",
                           name);
    }
    if (wanted->unit == NULL || (value == NULL && wanted->has_default)) { return TN_OK; }
    if (value == NULL || line->out->value[0] < wanted->least ||
        line->out->value[1] > wanted->most) {
        return json_refuse(line->where, "value", value, line->error,
                           "give %s for %s, from %.15g to %.15g, or a range of them", wanted->unit,
                           name, wanted->least, wanted->most);
    }
    return TN_OK;
}

enum tn_status plan_fault_read(json_t *object, const char *where, bool drawn,
                               struct plan_fault *out, struct error *error)
{
    struct line line = {object, where, out, error};
    *out = (struct plan_fault){.trigger = {.type = TRIGGER_TIME}, .count = {1, 1}};
    enum tn_status status = json_codec_read(&table, object, where, out, error);
    if (status == TN_OK) { status = read_fault(&line); }
    if (status == TN_OK) { status = read_when(&line); }
    if (status == TN_OK) { status = check_drawn(&line, drawn); }
    if (status == TN_OK) { status = check_point(&line); }
    if (status == TN_OK) { status = read_whom(&line); }
    if (status == TN_OK) { status = check_length(&line); }
    if (status == TN_OK) { status = check_value(&line); }
    if (status != TN_OK) { return status; }
    /* What repeats may start at once, and goes on until it is told when to end; the rest is once.
     */
    if (has(&line, "every_s") && !has(&line, "after_s")) {
        memcpy(out->after_s, out->every_s, sizeof out->after_s);
    }
    if (!has(&line, "every_s") && !has(&line, "times")) { out->times[0] = out->times[1] = 1; }
    return TN_OK;
}
