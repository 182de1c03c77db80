/* chaos/report/report_tables.c: the results of a campaign in rows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"
#include "chaos/report/number.h"
#include "chaos/report/report_private.h"
#include "common/base/minmax.h"

static void duration_cell(struct markup *out, const json_t *object, const char *key)
{
    markup_format(out, "<td class=\"n\">%s", number_duration_member(object, key).at);
}

/* ------------------------------------------------------------- checks */

void report_checks_table(struct markup *out, const json_t *report)
{
    assert(json_is_object(report));
    const json_t *checks = json_object_get(json_object_get(report, "campaign"), "checks");
    markup_add(out, "<table class=\"checks\"><thead><tr><th>check<th class=\"n\">rounds"
                    "<th>result<tbody>");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        json_int_t passed = json_member_integer(check, "passed", 0);
        json_int_t failed = json_member_integer(check, "failed", 0);
        markup_format(out, "<tr class=\"%s\"><td><span class=\"pill %s\">%s</span> ",
                      failed ? "failed" : "passed", failed ? "bad" : "good",
                      failed ? "✕ failed" : "✓ passed");
        markup_wrap(out, "<b>", json_member_text(check, "name", "?"), "</b>");
        markup_format(out, "<td class=\"n\">%s<span class=\"dim\"> of %s</span>",
                      number_count(passed).at, number_count(passed + failed).at);
        markup_wrap(out, "<td class=\"result\">", json_member_text(check, "text", ""), "");
    }
    markup_add(out, "</table>");
}

/* ------------------------------------------------------------- percentiles */

void report_spread_table(struct markup *out, const json_t *report)
{
    assert(json_is_object(report));
    static const char *const about[RECOVERY_PHASES + 1] = {
        "from the fault to its first symptom", "until a new chief is elected",
        "until workers may train again", "until the first new step",
        "from the fault to training again"};
    const json_t *all = json_object_get(json_object_get(report, "percentiles"), "phases");
    markup_add(out, "<table class=\"spread\"><thead><tr><th>phase<th class=\"n\">count<th "
                    "class=\"n\">p50<th class=\"n\">p90<th class=\"n\">p99<th class=\"n\">max"
                    "<tbody>");
    for (size_t i = 0; i <= RECOVERY_PHASES; i++) {
        const char *name = recovery_phases[i].name;
        const json_t *spread = json_object_get(all, name);
        if (spread == NULL) { continue; }
        markup_format(out,
                      "<tr><td><i class=\"key p-%s\"></i><b>%s</b> <span class=\"dim\">%s</span>"
                      "<td class=\"n\">%s",
                      name, name, about[i], number_count_member(spread, "count").at);
        duration_cell(out, spread, "p50");
        duration_cell(out, spread, "p90");
        duration_cell(out, spread, "p99");
        duration_cell(out, spread, "max");
    }
    markup_add(out, "</table>");
}

/* ------------------------------------------------------------- faults and moments */

static json_int_t most_of(const json_t *faults_at)
{
    json_int_t most = 1;
    const char *fault, *moment;
    json_t *row, *count;
    json_object_foreach((json_t *)faults_at, fault, row)
    {
        json_object_foreach(row, moment, count)
        {
            if (json_integer_value(count) > most) { most = json_integer_value(count); }
        }
    }
    return most;
}

static void count_cell(struct markup *out, const char *class, json_int_t count)
{
    markup_format(out, "<td class=\"c %s\">%s", class, number_count(count).at);
}

/* The colour is by the square root of the count, so that rare faults are seen. */
static void heat_cell(struct markup *out, json_int_t count, json_int_t most)
{
    int heat = 0;
    assert(most > 0);
    while (heat < 9 && (json_int_t)heat * heat * most < 81 * count) { heat++; }
    markup_format(out, "<td class=\"c h%d\">%s", heat, count > 0 ? number_count(count).at : "");
}

static void fault_row(struct markup *out, const json_t *campaign, const char *fault,
                      json_int_t most, json_int_t total)
{
    assert(json_is_object(campaign));
    assert(total > 0);
    const struct report_family *family = report_family_of(fault);
    const json_t *row = json_object_get(json_object_get(campaign, "faults_at"), fault);
    const char *moment;
    json_t *ignored;
    markup_format(out, "<tr><th class=\"f-%s\">", family->name);
    report_family_icon(out, family);
    markup_text(out, fault);
    json_object_foreach(json_object_get(campaign, "faults_by_moment"), moment, ignored)
        heat_cell(out, json_member_integer(row, moment, 0), most);
    count_cell(out, "all", total);
}

void report_faults_table(struct markup *out, const json_t *report)
{
    assert(json_is_object(report));
    const json_t *campaign = json_object_get(report, "campaign");
    json_int_t most = most_of(json_object_get(campaign, "faults_at"));
    const char *name;
    json_t *count;
    markup_add(out, "<table class=\"matrix\"><thead><tr><th>fault");
    json_object_foreach(json_object_get(campaign, "faults_by_moment"), name, count)
        markup_wrap(out, "<th class=\"m\"><div>", name, "</div>");
    markup_add(out, "<th class=\"m all\"><div>all</div><tbody>");
    json_object_foreach(json_object_get(campaign, "faults_by_kind"), name, count)
        fault_row(out, campaign, name, most, json_integer_value(count));
    markup_add(out, "<tfoot><tr><th>all");
    json_object_foreach(json_object_get(campaign, "faults_by_moment"), name, count)
        count_cell(out, "all", json_integer_value(count));
    count_cell(out, "all", json_member_integer(campaign, "faults", 0));
    markup_add(out, "</table>");
}

/* ------------------------------------------------------------- recoveries */

static void recovery_cells(struct markup *out, const json_t *recovery)
{
    const json_t *epochs = json_object_get(recovery, "epochs");
    json_int_t before = json_integer_value(json_array_get(epochs, 0));
    json_int_t after = json_integer_value(json_array_get(epochs, 1));
    json_int_t redone = json_member_integer(recovery, "steps_redone", -1);
    for (size_t i = 0; i < RECOVERY_PHASES; i++) {
        duration_cell(out, recovery, recovery_phases[i].key);
    }
    if (json_member_true(recovery, "recovered")) {
        markup_format(out, "<td class=\"n\"><b>%s</b>",
                      number_duration_member(recovery, "total_ms").at);
    } else {
        markup_add(out, "<td class=\"n\"><span class=\"pill bad\">not finished</span>");
    }
    markup_format(out, "<td class=\"n\">%s", redone >= 0 ? number_count(redone).at : "–");
    if (before == after) {
        markup_format(out, "<td class=\"n dim\">%" JSON_INTEGER_FORMAT, after);
    } else {
        markup_format(out, "<td class=\"n\">%" JSON_INTEGER_FORMAT " → %" JSON_INTEGER_FORMAT,
                      before, after);
    }
}

static void recovery_row(struct markup *out, const json_t *recovery, double scale_ms,
                         bool with_round)
{
    assert(scale_ms >= 0);
    enum { WIDTH = 240 };
    const char *fault = json_member_text(recovery, "fault", "?");
    const struct report_family *family = report_family_of(fault);
    json_int_t round = json_member_integer(recovery, "round", 0);
    double phases_ms[RECOVERY_PHASES];
    for (size_t i = 0; i < RECOVERY_PHASES; i++) {
        phases_ms[i] = json_member_number(recovery, recovery_phases[i].key, 0);
    }
    markup_add(out, "<tr>");
    if (with_round) {
        markup_format(out,
                      "<td class=\"n\"><a href=\"#round-%" JSON_INTEGER_FORMAT
                      "\">%" JSON_INTEGER_FORMAT "</a>",
                      round, round);
    }
    markup_format(out, "<td class=\"n\">%.1f s<td class=\"f-%s\">",
                  json_member_number(recovery, "at_ms", 0) / 1000, family->name);
    report_family_icon(out, family);
    markup_wrap(out, "<b>", fault, "</b> <span class=\"dim\">");
    markup_wrap(out, "", json_member_text(recovery, "selector", ""), "</span><td>");
    report_phase_bar(out, phases_ms, scale_ms, WIDTH);
    recovery_cells(out, recovery);
}

void report_recovery_rows(struct markup *out, const json_t *recoveries, size_t most,
                          bool with_round)
{
    assert(most > 0);
    size_t count = json_array_size(recoveries), shown = size_min(count, most);
    double scale_ms = 0;
    for (size_t i = 0; i < shown; i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        scale_ms = double_max(scale_ms, json_member_number(recovery, "total_ms", 0));
    }
    markup_format(out,
                  "<table class=\"recoveries\"><thead><tr>%s<th class=\"n\">at<th>fault"
                  "<th>phases<th class=\"n\">detect<th class=\"n\">elect<th class=\"n\">restore"
                  "<th class=\"n\">resume<th class=\"n\">total<th class=\"n\">redone"
                  "<th class=\"n\">epoch<tbody>",
                  with_round ? "<th class=\"n\">round" : "");
    for (size_t i = 0; i < shown; i++) {
        recovery_row(out, json_array_get(recoveries, i), scale_ms, with_round);
    }
    markup_add(out, "</table>");
    if (shown < count) {
        markup_format(out, "<p class=\"dim\">%zu more are in report.json.</p>", count - shown);
    }
}

static double cost_of(const json_t *recovery)
{
    /* One that is not finished is the slowest of all. */
    return json_member_true(recovery, "recovered") ? json_member_number(recovery, "total_ms", 0)
                                                   : (double)INT64_MAX;
}

static int slowest_first(const void *a, const void *b)
{
    json_t *const *x = a, *const *y = b;
    double s = cost_of(*x), t = cost_of(*y);
    return (s < t) - (s > t);
}

void report_slowest_table(struct markup *out, const json_t *report)
{
    assert(json_is_object(report));
    enum { SLOWEST = 12 };
    const json_t *recoveries = json_object_get(report, "recoveries");
    size_t count = json_array_size(recoveries);
    json_t **ordered = calloc(count + 1, sizeof *ordered), *slowest = json_array();
    if (ordered == NULL || slowest == NULL) { out->failed = true; }
    for (size_t i = 0; ordered != NULL && i < count; i++) {
        ordered[i] = json_array_get(recoveries, i);
    }
    if (ordered != NULL) { qsort(ordered, count, sizeof(json_t *), slowest_first); }
    for (size_t i = 0; ordered != NULL && i < size_min(count, SLOWEST); i++) {
        out->failed |= json_array_append(slowest, ordered[i]) != 0;
    }
    report_recovery_rows(out, slowest, SLOWEST, true);
    json_decref(slowest);
    free(ordered);
}
