/* chaos/report/report_facts.c: the results of rounds and of the campaign, as JSON. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/report_private.h"

/* ------------------------------------------------------------- a round */

static json_t *copy_or_null(const json_t *value)
{
    return value != NULL ? json_deep_copy(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_int_t steps_redone(const json_t *recoveries)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < json_array_size(recoveries); i++) {
        sum += json_member_integer(json_array_get(recoveries, i), "steps_redone", 0);
    }
    return sum;
}

/* The number in "round-0009/history.jsonl"; 0: the path has none. */
static json_int_t number_of(const char *path)
{
    const char *digits = strstr(path, "round-");
    return digits != NULL ? strtoll(digits + strlen("round-"), NULL, 10) : 0;
}

static json_t *checks_of(const json_t *verdict, const char *unread)
{
    assert(verdict == NULL || json_is_object(verdict));
    if (unread != NULL) {
        return json_pack("[{s:s, s:b, s:s}]", "name", "history", "ok", 0, "text", unread);
    }
    return verdict != NULL ? copy_or_null(json_object_get(verdict, "checks")) : json_array();
}

json_t *report_round_facts(const struct timeline *timeline, const json_t *recoveries,
                           const char *path, const char *unread)
{
    assert(timeline != NULL);
    assert(path != NULL);
    const json_t *begin = timeline->begin, *end = timeline->end;
    const json_t *result = json_object_get(end, "result");
    size_t terms = timeline->term_count;
    return json_pack(
        "{s:I, s:I, s:s, s:b, s:o, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}",
        "round", json_member_integer(begin, "round", number_of(path)), "seed",
        json_member_integer(begin, "seed", 0), "history", path, "ok",
        json_member_true(timeline->verdict, "ok"), "exit",
        copy_or_null(json_object_get(end, "exit")), "status",
        text_or_null(json_member_text(result, "status", NULL)), "mode",
        text_or_null(json_member_text(result, "mode", NULL)), "seconds",
        json_member_number(end, "seconds", timeline->end_ms / 1000), "faults",
        (json_int_t)timeline->fault_count, "skipped", (json_int_t)timeline->skipped_count,
        "recoveries", (json_int_t)json_array_size(recoveries), "steps_redone",
        steps_redone(recoveries), "epochs", terms > 0 ? timeline->terms[terms - 1].epoch : 0,
        "digest", text_or_null(json_member_text(result, "parameters_digest", NULL)), "accuracy",
        copy_or_null(json_object_get(result, "accuracy")), "goodput",
        begin != NULL ? recovery_goodput(timeline) : json_object(), "checks",
        checks_of(timeline->verdict, unread));
}

/* ------------------------------------------------------------- a campaign */

json_t *report_begin(void)
{
    return json_pack("{s:i, s:{s:i, s:i, s:i, s:i, s:i, s:f, s:{}, s:{}, s:{}, s:[]}, s:[], s:[]}",
                     "version", 2, "campaign", "rounds", 0, "passed", 0, "failed", 0, "faults", 0,
                     "skipped", 0, "seconds", 0.0, "faults_by_kind", "faults_by_moment",
                     "faults_at", "checks", "rounds", "recoveries");
}

static void add_count(json_t *object, const char *key, json_int_t count)
{
    assert(key != NULL);
    json_object_set_new(object, key, json_integer(json_member_integer(object, key, 0) + count));
}

/* The object `key` of `object`, which is made if it is missing. */
static json_t *object_at(json_t *object, const char *key)
{
    assert(key != NULL);
    if (json_object_get(object, key) == NULL) { json_object_set_new(object, key, json_object()); }
    return json_object_get(object, key);
}

static void count_faults(json_t *campaign, const struct timeline *timeline)
{
    json_t *faults_at = json_object_get(campaign, "faults_at");
    for (size_t i = 0; i < timeline->fault_count; i++) {
        const struct timeline_fault *fault = &timeline->faults[i];
        const char *moment = timeline_fault_moment(fault);
        add_count(json_object_get(campaign, "faults_by_kind"), fault->fault, 1);
        add_count(json_object_get(campaign, "faults_by_moment"), moment, 1);
        add_count(object_at(faults_at, fault->fault), moment, 1);
    }
}

/* The facts that all rounds share are read from the first. */
static void set_common(json_t *campaign, const json_t *begin)
{
    static const char *const keys[] = {"seed",    "program",    "started", "baseline",
                                       "machine", "components", "job",     "command"};
    const json_t *plan = json_object_get(begin, "plan");
    const char *name = json_is_string(plan) ? json_string_value(plan) : "?";
    if (begin == NULL || json_object_get(campaign, "plan") != NULL) { return; }
    json_object_set_new(campaign, "plan", json_string(json_member_text(plan, "name", name)));
    json_object_set_new(campaign, "about", copy_or_null(json_object_get(plan, "about")));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_object_set_new(campaign, keys[i], copy_or_null(json_object_get(begin, keys[i])));
    }
}

void report_add(json_t *report, const struct timeline *timeline, json_t *round, json_t *recoveries)
{
    assert(timeline != NULL);
    assert(round != NULL);
    json_t *campaign = json_object_get(report, "campaign");
    double seconds =
        json_member_number(campaign, "seconds", 0) + json_member_number(round, "seconds", 0);
    add_count(campaign, "rounds", 1);
    add_count(campaign, json_member_true(round, "ok") ? "passed" : "failed", 1);
    add_count(campaign, "faults", json_member_integer(round, "faults", 0));
    add_count(campaign, "skipped", json_member_integer(round, "skipped", 0));
    json_object_set_new(campaign, "seconds", json_real(seconds));
    set_common(campaign, timeline->begin);
    count_faults(campaign, timeline);
    for (size_t i = 0; i < json_array_size(recoveries); i++) {
        json_t *recovery = json_array_get(recoveries, i);
        json_object_set(recovery, "round", json_object_get(round, "round"));
        json_array_append(json_object_get(report, "recoveries"), recovery);
    }
    json_decref(recoveries);
    json_array_append_new(json_object_get(report, "rounds"), round);
}

/* ------------------------------------------------------------- sums over rounds */

static json_t *check_named(json_t *checks, const char *name)
{
    for (size_t i = 0; i < json_array_size(checks); i++) {
        json_t *check = json_array_get(checks, i);
        if (strcmp(json_member_text(check, "name", ""), name) == 0) { return check; }
    }
    json_array_append_new(checks, json_pack("{s:s, s:i, s:i, s:s}", "name", name, "passed", 0,
                                            "failed", 0, "text", ""));
    return json_array_get(checks, json_array_size(checks) - 1);
}

/* The text is that of the first round that failed, or else of the last round. */
static void sum_checks(json_t *checks, const json_t *round)
{
    assert(json_is_array(checks));
    const json_t *list = json_object_get(round, "checks");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        json_t *check = check_named(checks, json_member_text(one, "name", "?"));
        bool failed_before = json_member_integer(check, "failed", 0) > 0;
        add_count(check, json_member_true(one, "ok") ? "passed" : "failed", 1);
        if (failed_before) { continue; }
        json_object_set_new(check, "text", json_string(json_member_text(one, "text", "")));
    }
}

/* The number of sync rounds, and of those that ended with the digest of the baseline run. */
static void sum_digests(json_t *campaign, const json_t *rounds)
{
    assert(json_is_object(campaign));
    const char *baseline = json_member_text(json_object_get(campaign, "baseline"), "digest", NULL);
    json_int_t sync = 0, equal = 0;
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *round = json_array_get(rounds, i);
        const char *digest = json_member_text(round, "digest", NULL);
        if (strcmp(json_member_text(round, "mode", "sync"), "sync") != 0) { continue; }
        sync++;
        equal += digest != NULL && baseline != NULL && strcmp(digest, baseline) == 0;
    }
    json_object_set_new(campaign, "digest",
                        json_pack("{s:o, s:I, s:I}", "baseline", text_or_null(baseline),
                                  "sync_rounds", sync, "equal", equal));
}

/* Goodput and availability of all training time together. */
static void sum_goodput(json_t *campaign, const json_t *rounds)
{
    assert(json_is_object(campaign));
    double seconds = 0, steps = 0, baseline_steps = 0, available_s = 0;
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *goodput = json_object_get(json_array_get(rounds, i), "goodput");
        double round_s = json_member_number(goodput, "seconds", 0);
        seconds += round_s;
        steps += json_member_number(goodput, "steps", 0);
        baseline_steps += round_s * json_member_number(goodput, "baseline_steps_per_s", 0);
        available_s += round_s * json_member_number(goodput, "availability", 0);
    }
    json_object_set_new(campaign, "train_seconds", json_real(seconds));
    json_object_set_new(campaign, "goodput",
                        baseline_steps > 0 ? json_real(steps / baseline_steps) : json_null());
    json_object_set_new(campaign, "availability",
                        seconds > 0 ? json_real(available_s / seconds) : json_null());
    json_object_set_new(campaign, "steps", json_integer((json_int_t)steps));
}

/* Faults of a family are neighbours. */
static json_t *order_by_family(const json_t *kinds)
{
    assert(json_is_object(kinds));
    json_t *ordered = json_object(), *count;
    const struct report_family *family;
    const char *name;
    for (size_t i = 0; (family = report_family_at(i)) != NULL; i++) {
        json_object_foreach((json_t *)kinds, name, count)
        {
            if (report_family_of(name) == family) { json_object_set(ordered, name, count); }
        }
    }
    return ordered;
}

/* Phases in their order, then failpoints. */
static json_t *order_by_phase(const json_t *moments)
{
    assert(json_is_object(moments));
    json_t *ordered = json_object(), *count;
    const char *name;
    for (enum run_phase phase = 0; phase < RUN_PHASES; phase++) {
        name = run_phase_name(phase);
        if ((count = json_object_get(moments, name)) != NULL) {
            json_object_set(ordered, name, count);
        }
    }
    json_object_foreach((json_t *)moments, name, count) json_object_set(ordered, name, count);
    return ordered;
}

void report_finish(json_t *report)
{
    json_t *campaign = json_object_get(report, "campaign");
    const json_t *rounds = json_object_get(report, "rounds");
    assert(campaign != NULL);
    assert(rounds != NULL);
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        sum_checks(json_object_get(campaign, "checks"), json_array_get(rounds, i));
    }
    json_object_set_new(campaign, "faults_by_kind",
                        order_by_family(json_object_get(campaign, "faults_by_kind")));
    json_object_set_new(campaign, "faults_by_moment",
                        order_by_phase(json_object_get(campaign, "faults_by_moment")));
    sum_digests(campaign, rounds);
    sum_goodput(campaign, rounds);
    json_object_set_new(report, "percentiles",
                        recovery_percentiles(json_object_get(report, "recoveries")));
}
