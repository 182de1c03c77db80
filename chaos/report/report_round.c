/* chaos/report/report_round.c: one round: a row that unfolds. */
#include <assert.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/number.h"
#include "chaos/report/report_private.h"
#include "common/base/minmax.h"

enum { RECOVERIES_MOST = 40 };

static void plural(struct markup *out, json_int_t count, const char *one, const char *many)
{
    markup_format(out, "<span>%s <span class=\"dim\">%s</span></span>", number_count(count).at,
                  count == 1 ? one : many);
}

static double slowest_ms(const json_t *recoveries)
{
    double slowest = -1;
    for (size_t i = 0; i < json_array_size(recoveries); i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        slowest = double_max(slowest, json_member_number(recovery, "total_ms", -1));
    }
    return slowest;
}

static void add_summary(struct markup *out, const struct timeline *timeline, const json_t *round,
                        const json_t *recoveries)
{
    bool ok = json_member_true(round, "ok");
    double goodput = json_member_number(json_object_get(round, "goodput"), "goodput", -1);
    markup_format(out,
                  "<summary><span class=\"pill %s\">%s</span><b>Round %" JSON_INTEGER_FORMAT
                  "</b><span class=\"sparkbox\">",
                  ok ? "good" : "bad", ok ? "✓ passed" : "✕ failed",
                  json_member_integer(round, "round", 0));
    if (timeline->line_count > 0) { report_sparkline(out, timeline); }
    markup_add(out, "</span>");
    plural(out, json_member_integer(round, "faults", 0), "fault", "faults");
    plural(out, json_member_integer(round, "recoveries", 0), "recovery", "recoveries");
    markup_format(out,
                  "<span><span class=\"dim\">slowest</span> %s</span>"
                  "<span><span class=\"dim\">goodput</span> ",
                  number_duration(slowest_ms(recoveries)).at);
    markup_format(out, goodput >= 0 ? "%.2f" : "–", goodput);
    markup_format(out, "</span><span class=\"n\">%s</span></summary>",
                  number_duration(json_member_number(round, "seconds", 0) * 1000).at);
}

/* The checks that failed, and how to do the round again. */
static void add_failure(struct markup *out, const json_t *round)
{
    assert(!json_member_true(round, "ok"));
    const json_t *checks = json_object_get(round, "checks");
    const char *history = json_member_text(round, "history", "");
    markup_add(out, "<div class=\"failure\"><h3>Failed checks</h3><ul>");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        if (json_member_true(check, "ok")) { continue; }
        markup_wrap(out, "<li><b>", json_member_text(check, "name", "?"), "</b> ");
        markup_text(out, json_member_text(check, "text", ""));
    }
    if (json_array_size(checks) == 0) {
        markup_add(out, "<li>the round has no verdict: the harness ended first");
    }
    markup_wrap(out, "</ul><pre>tanist chaos replay ", history, "\n");
    markup_wrap(out, "tanist chaos shrink ", history, "</pre></div>");
}

static void add_checks(struct markup *out, const json_t *round)
{
    assert(json_is_object(round));
    const json_t *checks = json_object_get(round, "checks");
    const char *digest = json_member_text(round, "digest", NULL);
    markup_add(out, "<p class=\"results\">");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        bool ok = json_member_true(check, "ok");
        markup_wrap(out, "<span title=\"", json_member_text(check, "text", ""), "\"");
        markup_format(out, " class=\"%s\">%s ", ok ? "passed" : "failed", ok ? "✓" : "✕");
        markup_wrap(out, "", json_member_text(check, "name", "?"), "</span>");
    }
    if (digest != NULL) {
        markup_wrap(out, "<span class=\"dim\">parameters <code>", digest, "</code></span>");
    }
    markup_add(out, "</p>");
}

void report_round(struct markup *out, const struct timeline *timeline, const json_t *round,
                  const json_t *recoveries, bool open)
{
    assert(timeline != NULL);
    assert(round != NULL);
    bool ok = json_member_true(round, "ok");
    markup_format(out, "<details class=\"round %s\" id=\"round-%" JSON_INTEGER_FORMAT "\"%s>",
                  ok ? "passed" : "failed", json_member_integer(round, "round", 0),
                  open ? " open" : "");
    add_summary(out, timeline, round, recoveries);
    markup_add(out, "<div class=\"body\">");
    if (!ok) { add_failure(out, round); }
    if (timeline->line_count > 0) {
        markup_add(out, "<div class=\"wide\">");
        report_timeline(out, timeline);
        markup_add(out, "</div>");
    }
    add_checks(out, round);
    if (json_array_size(recoveries) > 0) {
        markup_add(out, "<div class=\"wide\">");
        report_recovery_rows(out, recoveries, RECOVERIES_MOST, false);
        markup_add(out, "</div>");
    }
    markup_add(out, "</div></details>\n");
}
