/* chaos/report/report_tables.c: what a campaign came to, in rows. */
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/report_private.h"
#include "common/cluster/run.h"

/* ------------------------------------------------------------- checks */

void report_checks_table(struct markup *out, const json_t *report)
{
    const json_t *checks = json_object_get(json_object_get(report, "campaign"), "checks");
    markup_add(out,
               "<table class=\"checks\"><thead><tr><th>check<th class=\"n\">rounds<th>what was "
               "found<tbody>");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        json_int_t passed = json_member_integer(check, "passed", 0);
        json_int_t failed = json_member_integer(check, "failed", 0);
        markup_format(out, "<tr class=\"%s\"><td><span class=\"pill %s\">%s</span> ",
                      failed ? "broke" : "held", failed ? "bad" : "good",
                      failed ? "✕ broken" : "✓ kept");
        markup_wrap(out, "<b>", json_member_text(check, "name", "?"), "</b><td class=\"n\">");
        markup_count(out, passed);
        markup_add(out, "<span class=\"dim\"> of ");
        markup_count(out, passed + failed);
        markup_wrap(out, "</span><td class=\"words\">", json_member_text(check, "text", ""), "");
    }
    markup_add(out, "</table>");
}

/* ------------------------------------------------------------- percentiles */

static void spread_row(struct markup *out, const char *class, const char *name, const char *about,
                       const json_t *spread)
{
    static const char *const keys[] = {"p50", "p90", "p99", "max"};
    if (spread == NULL) { return; }
    markup_format(out, "<tr><td><i class=\"key %s\"></i><b>", class);
    markup_wrap(out, "", name, "</b> ");
    markup_wrap(out, "<span class=\"dim\">", about, "</span><td class=\"n\">");
    markup_count(out, json_member_integer(spread, "count", 0));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        markup_add(out, "<td class=\"n\">");
        markup_duration(out, json_member_number(spread, keys[i], -1));
    }
}

void report_spread_table(struct markup *out, const json_t *report)
{
    static const struct {
        const char *name, *class, *about;
    } phases[] = {{"detect", "p-detect", "fault to its first sign"},
                  {"elect", "p-elect", "to a new chief in office"},
                  {"restore", "p-restore", "to workers let go on"},
                  {"resume", "p-resume", "to the first step beyond"},
                  {"total", "p-total", "fault to training again"}};
    const json_t *all = json_object_get(json_object_get(report, "percentiles"), "phases");
    markup_add(out, "<table class=\"spread\"><thead><tr><th>phase<th class=\"n\">times<th "
                    "class=\"n\">p50<th class=\"n\">p90<th class=\"n\">p99<th class=\"n\">max"
                    "<tbody>");
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        spread_row(out, phases[i].class, phases[i].name, phases[i].about,
                   json_object_get(all, phases[i].name));
    }
    markup_add(out, "</table>");
}

/* ------------------------------------------------------------- faults and moments */

static json_int_t most_of(const json_t *both)
{
    json_int_t most = 1;
    const char *fault, *moment;
    json_t *row, *count;
    json_object_foreach((json_t *)both, fault, row)
    {
        json_object_foreach(row, moment, count)
        {
            if (json_integer_value(count) > most) { most = json_integer_value(count); }
        }
    }
    return most;
}

static void fault_cells(struct markup *out, const json_t *moments, const json_t *row,
                        json_int_t most)
{
    const char *moment;
    json_t *ignored;
    json_object_foreach((json_t *)moments, moment, ignored)
    {
        json_int_t count = json_member_integer(row, moment, 0);
        /* The square root shows what is rare. */
        int heat = 0;
        while (heat < 9 && (json_int_t)heat * heat * most < 81 * count) { heat++; }
        markup_format(out, "<td class=\"c h%d\">", heat);
        if (count > 0) { markup_count(out, count); }
    }
}

void report_faults_table(struct markup *out, const json_t *report)
{
    const json_t *campaign = json_object_get(report, "campaign");
    const json_t *kinds = json_object_get(campaign, "faults_by_kind");
    const json_t *moments = json_object_get(campaign, "faults_by_moment");
    const json_t *both = json_object_get(campaign, "faults_at");
    const char *name;
    json_t *count;
    markup_add(out, "<table class=\"matrix\"><thead><tr><th>fault");
    json_object_foreach((json_t *)moments, name, count)
        markup_wrap(out, "<th class=\"m\"><div>", name, "</div>");
    markup_add(out, "<th class=\"m all\"><div>all</div><tbody>");
    json_object_foreach((json_t *)kinds, name, count)
    {
        const struct report_family *family = report_family_of(name);
        markup_format(out,
                      "<tr><th class=\"f-%s\"><svg class=\"sign\" viewBox=\"0 0 12 12\"><use "
                      "href=\"#s-%s\"/></svg>",
                      family->name, family->name);
        markup_text(out, name);
        fault_cells(out, moments, json_object_get(both, name), most_of(both));
        markup_add(out, "<td class=\"c all\">");
        markup_count(out, json_integer_value(count));
    }
    markup_add(out, "<tfoot><tr><th>all");
    json_object_foreach((json_t *)moments, name, count)
    {
        markup_add(out, "<td class=\"c all\">");
        markup_count(out, json_integer_value(count));
    }
    markup_add(out, "<td class=\"c all\">");
    markup_count(out, json_member_integer(campaign, "faults", 0));
    markup_add(out, "</table>");
}

/* ------------------------------------------------------------- recoveries */

static void duration_cell(struct markup *out, const json_t *recovery, const char *key)
{
    markup_add(out, "<td class=\"n\">");
    markup_duration(out, json_member_number(recovery, key, -1));
}

static void recovery_row(struct markup *out, const json_t *recovery, double scale_ms,
                         bool with_round)
{
    const char *fault = json_member_text(recovery, "fault", "?");
    const json_t *epochs = json_object_get(recovery, "epochs");
    json_int_t before = json_integer_value(json_array_get(epochs, 0));
    json_int_t after = json_integer_value(json_array_get(epochs, 1));
    json_int_t redone = json_member_integer(recovery, "steps_redone", -1);
    markup_add(out, "<tr>");
    if (with_round) {
        markup_format(out, "<td class=\"n\"><a href=\"#round-%lld\">%lld</a>",
                      (long long)json_member_integer(recovery, "round", 0),
                      (long long)json_member_integer(recovery, "round", 0));
    }
    markup_format(out, "<td class=\"n\">%.1f s", json_member_number(recovery, "at_ms", 0) / 1000);
    markup_format(out,
                  "<td class=\"f-%s\"><svg class=\"sign\" viewBox=\"0 0 12 12\"><use "
                  "href=\"#s-%s\"/></svg><b>",
                  report_family_of(fault)->name, report_family_of(fault)->name);
    markup_wrap(out, "", fault, "</b> <span class=\"dim\">");
    markup_wrap(out, "", json_member_text(recovery, "whom", ""), "</span><td>");
    report_phase_bar(out, recovery, scale_ms, 240);
    duration_cell(out, recovery, "detect_ms");
    duration_cell(out, recovery, "elect_ms");
    duration_cell(out, recovery, "restore_ms");
    duration_cell(out, recovery, "resume_ms");
    if (json_is_true(json_object_get(recovery, "recovered"))) {
        markup_add(out, "<td class=\"n\"><b>");
        markup_duration(out, json_member_number(recovery, "total_ms", -1));
        markup_add(out, "</b>");
    } else {
        markup_add(out, "<td class=\"n\"><span class=\"pill bad\">not over</span>");
    }
    markup_add(out, "<td class=\"n\">");
    if (redone >= 0) {
        markup_count(out, redone);
    } else {
        markup_add(out, "–");
    }
    markup_format(out, before == after ? "<td class=\"n dim\">%lld" : "<td class=\"n\">%lld → %lld",
                  (long long)before, (long long)after);
}

void report_recovery_rows(struct markup *out, const json_t *recoveries, size_t most,
                          bool with_round)
{
    size_t count = json_array_size(recoveries), shown = count < most ? count : most;
    double scale_ms = 0;
    for (size_t i = 0; i < shown; i++) {
        double total_ms = json_member_number(json_array_get(recoveries, i), "total_ms", 0);
        if (total_ms > scale_ms) { scale_ms = total_ms; }
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
        markup_format(out, "<p class=\"dim\">… and %zu more: all are in report.json.</p>",
                      count - shown);
    }
}

static double cost_of(const json_t *recovery)
{
    /* What is not over is the slowest of all. */
    return json_is_true(json_object_get(recovery, "recovered"))
               ? json_member_number(recovery, "total_ms", 0)
               : (double)INT64_MAX;
}

static int compare_costs(const void *a, const void *b)
{
    json_t *const *x = a, *const *y = b;
    double s = cost_of(*x), t = cost_of(*y);
    return (s < t) - (s > t);
}

void report_slowest_table(struct markup *out, const json_t *report)
{
    enum { SLOWEST = 12 };
    const json_t *recoveries = json_object_get(report, "recoveries");
    size_t count = json_array_size(recoveries);
    json_t **ordered = calloc(count + 1, sizeof *ordered);
    json_t *slowest = json_array();
    if (ordered == NULL || slowest == NULL) { out->failed = true; }
    for (size_t i = 0; ordered != NULL && i < count; i++) {
        ordered[i] = json_array_get(recoveries, i);
    }
    if (ordered != NULL) { qsort(ordered, count, sizeof(json_t *), compare_costs); }
    for (size_t i = 0; ordered != NULL && slowest != NULL && i < count && i < SLOWEST; i++) {
        json_array_append(slowest, ordered[i]);
    }
    report_recovery_rows(out, slowest, SLOWEST, true);
    json_decref(slowest);
    free(ordered);
}
