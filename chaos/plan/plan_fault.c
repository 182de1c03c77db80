#include "chaos/plan/plan_fault.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "chaos/plan/target_selector.h"
#include "common/base/json_codec.h"
#include "common/faults/failpoint.h"

enum { DAY_S = 86400 };

static const char *const failpoint_names[] = {
#define FAILPOINT_NAME(name, ...) name,
    FAILPOINT_LIST(FAILPOINT_NAME)
#undef FAILPOINT_NAME
        NULL,
};

#define AT(member) JSON_MEMBER(struct plan_fault, member)
static const struct json_field fields[] = {
    {"fault", FIELD_ENUM, AT(fault), .names = fault_names,
     .wanted = "a fault of `tanist chaos list`"},
    {"selector", FIELD_OTHER, .wanted = "a selector"},
    {"after_s", FIELD_REAL_RANGE, AT(after_s), .most = DAY_S, .wanted = "seconds"},
    {"every_s", FIELD_REAL_RANGE, AT(every_s), .least = 0.01, .most = DAY_S, .wanted = "seconds"},
    {"at_progress", FIELD_REAL_RANGE, AT(progress), .most = 1,
     .wanted = "a share of the job's steps"},
    {"in_phase", FIELD_ENUM, AT(trigger.phase), .names = run_phase_names},
    {"at_point", FIELD_CHOICE, AT(trigger.failpoint), .names = failpoint_names,
     .wanted = "a failpoint of `tanist chaos list`"},
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

/* A line of "faults" while it is read. */
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

static const struct fault_descriptor *descriptor_of(const struct line *line)
{
    return fault_descriptor(line->out->fault);
}

/* ----------------------------------------------------------------- targets */

/* NULL: the line has another trigger. */
static const struct failpoint_info *failpoint_of(const struct line *line)
{
    const struct trigger *trigger = &line->out->trigger;
    return trigger->type == TRIGGER_FAILPOINT ? failpoint_find(trigger->failpoint) : NULL;
}

static bool selects_gpus(const char *selector)
{
    return strcmp(selector, "any") != 0 && selector_passes(selector, "gpu");
}

static enum tn_status add_selector(const struct line *line, const json_t *value)
{
    char why[FAULT_WHY_MAX];
    struct plan_fault *out = line->out;
    const char *selector = json_string_value(value);
    if (selector == NULL || strlen(selector) >= SELECTOR_MAX ||
        out->selector_count == PLAN_SELECTORS_MAX) {
        return json_refuse(line->where, "selector", value, line->error,
                           "give a name like \"ps\", or a list of at most %d", PLAN_SELECTORS_MAX);
    }
    if (!selector_fits_fault(selector, out->fault, why, sizeof why)) {
        return json_refuse(line->where, "selector", NULL, line->error, "%s", why);
    }
    if (descriptor_of(line)->family == FAMILY_GPU && !selects_gpus(selector)) {
        return json_refuse(line->where, "selector", value, line->error,
                           "it has no GPU: give \"gpu\", or a name like \"worker:0\"");
    }
    const struct failpoint_info *failpoint = failpoint_of(line);
    if (failpoint != NULL && strcmp(selector, "gpu") == 0 &&
        !failpoint_is_of_gpu(failpoint->name)) {
        return json_refuse(line->where, "selector", value, line->error,
                           "no GPU is used at %s: give \"%s\", or the name of a node",
                           failpoint->name, failpoint->passed_by);
    }
    if (failpoint != NULL && !selector_passes(selector, failpoint->passed_by)) {
        return json_refuse(line->where, "selector", value, line->error,
                           "it never passes %s: give \"%s\"", failpoint->name,
                           failpoint->passed_by);
    }
    snprintf(out->selectors[out->selector_count++], SELECTOR_MAX, "%s", selector);
    return TN_OK;
}

/* NULL: a selector must be given. */
static const char *default_selector(const struct line *line)
{
    const struct failpoint_info *failpoint = failpoint_of(line);
    if (failpoint != NULL) { return failpoint->passed_by; }
    return descriptor_of(line)->targets == TARGET_CLUSTER ? "cluster" : NULL;
}

static enum tn_status read_selectors(const struct line *line)
{
    const char *usual = default_selector(line);
    json_t *given = json_object_get(line->object, "selector");
    if ((given == NULL && usual == NULL) || (json_is_array(given) && json_array_size(given) == 0)) {
        return json_refuse(line->where, "selector", given, line->error,
                           "give the targets of %s, like \"ps\" or [\"chief\", \"worker\"]",
                           descriptor_of(line)->name);
    }
    json_t *list = given != NULL ? json_incref(given) : json_string(usual);
    enum tn_status status = json_is_array(list) ? TN_OK : add_selector(line, list);
    for (size_t i = 0; status == TN_OK && i < json_array_size(list); i++) {
        status = add_selector(line, json_array_get(list, i));
    }
    json_decref(list);
    return status;
}

/* ----------------------------------------------------------------- when, how long, how much */

static enum tn_status check_trigger(const struct line *line)
{
    const char *where = line->where;
    bool timed = has(line, "after_s") || has(line, "every_s"), failpoint = has(line, "at_point");
    bool step = has(line, "at_progress"), phase = has(line, "in_phase");
    int triggers = step + phase + (failpoint || timed);
    if (triggers != 1) {
        return json_refuse(where, "", NULL, line->error,
                           "%s: give one of after_s and every_s, at_progress, in_phase, at_point",
                           triggers == 0 ? "it has no trigger" : "it has several triggers");
    }
    if (has(line, "pass") && !failpoint && !phase) {
        return json_refuse(where, "pass", NULL, line->error,
                           "it counts passes of in_phase or at_point: give one of them");
    }
    line->out->trigger.type = step        ? TRIGGER_STEP
                              : phase     ? TRIGGER_PHASE
                              : failpoint ? TRIGGER_FAILPOINT
                                          : TRIGGER_TIME;
    return TN_OK;
}

/* A line from which single faults are drawn has no repetition. */
static enum tn_status check_drawn(const struct line *line, bool drawn)
{
    const char *repeated = has(line, "times") ? "times" : has(line, "every_s") ? "every_s" : NULL;
    if (!drawn && line->out->always) {
        return json_refuse(line->where, "always", NULL, line->error,
                           "the plan has no \"draw\", so all lines are used: leave it out");
    }
    if (!drawn || line->out->always || repeated == NULL) { return TN_OK; }
    return json_refuse(line->where, repeated, NULL, line->error,
                       "the plan draws single faults: leave it out, or give \"always\": true");
}

static enum tn_status check_failpoint(const struct line *line)
{
    char why[FAULT_WHY_MAX];
    const struct failpoint_info *failpoint = failpoint_of(line);
    bool needed = (descriptor_of(line)->needs & NEED_FAILPOINTS) != 0 &&
                  descriptor_of(line)->at_failpoint != POINT_NONE;
    if (needed && failpoint == NULL) {
        return json_refuse(line->where, "at_point", NULL, line->error,
                           "%s needs it: name a failpoint, like \"%s\"", descriptor_of(line)->name,
                           line->out->fault == FAULT_GPU_ERROR ? "gpu.wait"
                                                               : "node.before_register");
    }
    if (failpoint == NULL || fault_fits_failpoint(line->out->fault, failpoint, why, sizeof why)) {
        return TN_OK;
    }
    return json_refuse(line->where, "at_point", NULL, line->error, "%s", why);
}

static enum tn_status check_duration(const struct line *line)
{
    const struct fault_descriptor *fault = descriptor_of(line);
    line->out->for_sessions = has(line, "for_sessions");
    bool given = line->out->for_sessions || has(line, "for_s");
    if (line->out->for_sessions && has(line, "for_s")) {
        return json_refuse(line->where, "for_sessions", NULL, line->error,
                           "there is for_s as well: give one of them");
    }
    if (given && fault->duration == DURATION_NONE) {
        return json_refuse(line->where, line->out->for_sessions ? "for_sessions" : "for_s", NULL,
                           line->error, "%s does not last: leave it out", fault->name);
    }
    if (!given && fault->duration == DURATION_REQUIRED) {
        return json_refuse(line->where, "for_s", NULL, line->error,
                           "%s lasts: give for_s or for_sessions", fault->name);
    }
    return TN_OK;
}

static enum tn_status check_value(const struct line *line)
{
    const struct fault_descriptor *fault = descriptor_of(line);
    const struct fault_value *wanted = &fault->value;
    const json_t *value = json_object_get(line->object, "value");
    if (wanted->unit == NULL && value != NULL) {
        return json_refuse(line->where, "value", value, line->error, "%s has none: leave it out",
                           fault->name);
    }
    if (wanted->unit == NULL || (value == NULL && wanted->has_default)) { return TN_OK; }
    if (value == NULL || line->out->value[0] < wanted->least ||
        line->out->value[1] > wanted->most) {
        return json_refuse(line->where, "value", value, line->error,
                           "give %s for %s, from %.15g to %.15g, or a range of them", wanted->unit,
                           fault->name, wanted->least, wanted->most);
    }
    return TN_OK;
}

enum tn_status plan_fault_read(json_t *object, const char *where, bool drawn,
                               struct plan_fault *out, struct error *error)
{
    assert(object != NULL);
    struct line line = {object, where, out, error};
    *out = (struct plan_fault){.trigger = {.type = TRIGGER_TIME}, .count = {1, 1}};
    enum tn_status status = json_codec_read(&table, object, where, out, error);
    if (status == TN_OK && !has(&line, "fault")) {
        status = json_refuse(where, "fault", NULL, error, "it is missing: name a fault");
    }
    if (status == TN_OK) { status = check_trigger(&line); }
    if (status == TN_OK) { status = check_drawn(&line, drawn); }
    if (status == TN_OK) { status = check_failpoint(&line); }
    if (status == TN_OK) { status = read_selectors(&line); }
    if (status == TN_OK) { status = check_duration(&line); }
    if (status == TN_OK) { status = check_value(&line); }
    if (status != TN_OK) { return status; }
    /* With every_s alone, the first fault comes as late as each following one. Without every_s and
     * times there is one fault. */
    if (has(&line, "every_s") && !has(&line, "after_s")) {
        memcpy(out->after_s, out->every_s, sizeof out->after_s);
    }
    if (!has(&line, "every_s") && !has(&line, "times")) { out->times[0] = out->times[1] = 1; }
    return TN_OK;
}
