/* chaos/report/report_page.c: the page: the verdict on top, then everything that supports it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/number.h"
#include "chaos/report/report_private.h"
#include "common/base/text.h"

static const json_t *campaign_of(const json_t *report)
{
    return json_object_get(report, "campaign");
}

/* ------------------------------------------------------------- verdict */

static void add_tile(struct markup *out, const char *name, const char *value)
{
    markup_wrap(out, "<div><dt>", name, "</dt>");
    markup_format(out, "<dd>%s</dd></div>", value);
}

static void add_pair_tile(struct markup *out, const char *name, const char *value,
                          const char *joint, const char *other)
{
    markup_wrap(out, "<div><dt>", name, "</dt>");
    markup_format(out, "<dd>%s<small> %s %s</small></dd></div>", value, joint, other);
}

static void add_percentiles_tile(struct markup *out, const char *name, const json_t *spread)
{
    add_pair_tile(out, name, number_duration_member(spread, "p50").at, "/",
                  number_duration_member(spread, "p99").at);
}

/* Failovers after a kill of the chief; without one, those of the most frequent group. */
static void add_failover_tile(struct markup *out, const json_t *percentiles)
{
    json_t *failovers = json_object_get(percentiles, "failover"), *spread;
    const char *group = "kill chief", *name;
    const json_t *best = json_object_get(failovers, group);
    char title[128];
    bool killed = best != NULL;
    json_object_foreach(failovers, name, spread)
    {
        if (killed ||
            json_member_integer(spread, "count", 0) <= json_member_integer(best, "count", 0)) {
            continue;
        }
        best = spread;
        group = name;
    }
    (void)snprintf(title, sizeof title, "failover after %s, p50 / p99", group);
    add_percentiles_tile(out, title, best);
}

static void add_tiles(struct markup *out, const json_t *report)
{
    const json_t *campaign = campaign_of(report);
    const json_t *percentiles = json_object_get(report, "percentiles");
    markup_add(out, "<dl class=\"tiles\">");
    add_pair_tile(out, "rounds passed", number_count_member(campaign, "passed").at, "of",
                  number_count_member(campaign, "rounds").at);
    add_tile(out, "faults injected", number_count_member(campaign, "faults").at);
    add_percentiles_tile(out, "recovery, p50 / p99",
                         json_object_get(json_object_get(percentiles, "phases"), "total"));
    add_failover_tile(out, percentiles);
    add_tile(out, "goodput, relative to the baseline run",
             number_percent(json_member_number(campaign, "goodput", -1)).at);
    add_tile(out, "availability of training",
             number_percent(json_member_number(campaign, "availability", -1)).at);
    markup_add(out, "</dl>");
}

static void add_lead(struct markup *out, const json_t *campaign)
{
    assert(json_is_object(campaign));
    const json_t *digest = json_object_get(campaign, "digest");
    json_int_t rounds = json_member_integer(campaign, "rounds", 0);
    json_int_t sync = json_member_integer(digest, "sync_rounds", 0);
    json_int_t equal = json_member_integer(digest, "equal", 0);
    const char *baseline = json_member_text(digest, "baseline", NULL);
    markup_format(out, "<p class=\"lead\">%s faults in %s round%s. ",
                  number_count_member(campaign, "faults").at, number_count(rounds).at,
                  text_plural((uint64_t)rounds));
    if (sync > 0 && baseline != NULL && equal == sync) {
        markup_add(
            out,
            "Every synchronous run ended with the parameters of the baseline run, bit for bit");
    } else if (sync > 0) {
        markup_format(out,
                      "%s of %s synchronous runs ended with the parameters of the baseline run",
                      number_count(equal).at, number_count(sync).at);
    }
    if (sync > 0 && baseline != NULL) { markup_wrap(out, ": <code>", baseline, "</code>"); }
    markup_add(out, "</p>");
}

/* A square for each round, for campaigns of many rounds. */
static void add_strip(struct markup *out, const json_t *rounds)
{
    assert(json_is_array(rounds));
    enum { MANY = 8 };
    if (json_array_size(rounds) < MANY) { return; }
    markup_add(out, "<div class=\"strip\">");
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *round = json_array_get(rounds, i);
        bool ok = json_member_true(round, "ok");
        json_int_t number = json_member_integer(round, "round", 0);
        markup_format(out,
                      "<a class=\"%s\" href=\"#round-%" JSON_INTEGER_FORMAT
                      "\" title=\"round %" JSON_INTEGER_FORMAT ": %s\">%s</a>",
                      ok ? "passed" : "failed", number, number, ok ? "passed" : "failed",
                      ok ? "" : "✕");
    }
    markup_add(out, "</div>");
}

static void add_failed_links(struct markup *out, const json_t *rounds)
{
    assert(json_is_array(rounds));
    markup_add(out, "<p class=\"links\">Failed:");
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *round = json_array_get(rounds, i);
        json_int_t number = json_member_integer(round, "round", 0);
        if (json_member_true(round, "ok")) { continue; }
        markup_format(
            out, " <a href=\"#round-%" JSON_INTEGER_FORMAT "\">round %" JSON_INTEGER_FORMAT "</a>",
            number, number);
    }
    markup_add(out, "</p>");
}

static void add_verdict(struct markup *out, const json_t *report)
{
    const json_t *campaign = campaign_of(report), *rounds = json_object_get(report, "rounds");
    json_int_t failed = json_member_integer(campaign, "failed", 0);
    markup_format(out,
                  "<header class=\"hero %s\"><div class=\"verdict\"><svg viewBox=\"0 0 48 48\" "
                  "aria-hidden=\"true\"><circle cx=\"24\" cy=\"24\" r=\"22\"/><path d=\"%s\"/>"
                  "</svg><div>",
                  failed ? "bad" : "good",
                  failed ? "M16 16l16 16M32 16L16 32" : "M14 25l7 7 13-15");
    markup_wrap(out, "<p class=\"over\">tanist chaos · ", json_member_text(campaign, "plan", "?"),
                "");
    markup_format(out, " · seed %" JSON_INTEGER_FORMAT "</p>",
                  json_member_integer(campaign, "seed", 0));
    if (failed) {
        markup_format(
            out, "<h1>Failed: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " rounds</h1>",
            failed, json_member_integer(campaign, "rounds", 0));
    } else {
        markup_add(out, "<h1>Passed</h1>");
    }
    add_lead(out, campaign);
    if (failed) { add_failed_links(out, rounds); }
    markup_add(out, "</div></div>");
    add_strip(out, rounds);
    add_tiles(out, report);
    markup_add(out, "</header>");
}

/* ------------------------------------------------------------- recoveries */

/* A histogram of `key` over the recoveries of both groups; NULL: over all. */
static void add_histogram(struct markup *out, const json_t *report, const char *title,
                          const char *group, const char *other_group, const char *key)
{
    assert(key != NULL);
    assert(group == NULL || other_group != NULL);
    const json_t *recoveries = json_object_get(report, "recoveries");
    size_t size = json_array_size(recoveries), count = 0;
    double *values = calloc(size + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < size; i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        double value = json_member_number(recovery, key, -1);
        const char *name = json_member_text(recovery, "group", "");
        bool wanted = group == NULL || strcmp(name, group) == 0 || strcmp(name, other_group) == 0;
        if (wanted && value >= 0) { values[count++] = value; }
    }
    if (count > 0) { report_histogram(out, title, values, count); }
    free(values);
}

static void add_recoveries(struct markup *out, const json_t *report)
{
    if (json_array_size(json_object_get(report, "recoveries")) == 0) { return; }
    markup_add(out, "<section><h2>Recovery times</h2><div class=\"plots\">");
    add_histogram(out, report, "Failover, chief killed", "kill chief", "kill chief", "failover_ms");
    add_histogram(out, report, "Failover, chief frozen", "freeze chief", "zombie chief",
                  "failover_ms");
    add_histogram(out, report, "Recovery, any fault", NULL, NULL, "total_ms");
    markup_add(out, "</div><div class=\"split\"><div class=\"card\">");
    report_phase_chart(out, report);
    markup_add(out, "</div><div class=\"card\">");
    report_spread_table(out, report);
    markup_add(out, "</div></div><details class=\"more\"><summary>The slowest recoveries</summary>"
                    "<div class=\"card wide\">");
    report_slowest_table(out, report);
    markup_add(out, "</div></details></section>");
}

/* ------------------------------------------------------------- facts */

static void add_legend(struct markup *out)
{
    static const char *const keys[][3] = {
        {"up", "", "up"},
        {"frozen", "", "frozen"},
        {"down", "", "down"},
        {"term", "7", "chief, with its epoch"},
        {"paused", "", "paused"},
        {"loading", "", "loading"},
        {"forming", "", "forming"},
        {"rate", "", "steps/s"},
        {"redone", "", "steps done again"},
        {"baseline", "", "baseline run"},
    };
    const struct report_family *family;
    markup_add(out, "<p class=\"legend\">");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        markup_format(out, "<span><i class=\"k %s\">%s</i>%s</span>", keys[i][0], keys[i][1],
                      keys[i][2]);
    }
    markup_add(out, "</p><p class=\"legend\">");
    for (size_t i = 0; (family = report_family_at(i)); i++) {
        markup_format(out, "<span class=\"f-%s\">", family->name);
        report_family_icon(out, family);
        markup_wrap(out, "", family->title, "</span>");
    }
    markup_add(out, "</p>");
}

static void add_fact(struct markup *out, const char *name, const json_t *value)
{
    assert(name != NULL);
    if (value == NULL || json_is_null(value)) { return; }
    markup_wrap(out, "<tr><th>", name, "<td>");
    if (json_is_string(value)) {
        markup_text(out, json_string_value(value));
        return;
    }
    char *text =
        json_is_true(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    markup_text(out, text != NULL ? text : "yes");
    free(text);
}

static void add_command(struct markup *out, const json_t *campaign)
{
    assert(json_is_object(campaign));
    const char *command = json_member_text(campaign, "command", NULL);
    markup_add(out, "<h2>Run it again</h2><pre id=\"command\">");
    if (command != NULL) {
        markup_text(out, command);
    } else {
        markup_wrap(out, "tanist chaos run --plan ", json_member_text(campaign, "plan", "?"), "");
        markup_format(out, " --seed %" JSON_INTEGER_FORMAT " --rounds %" JSON_INTEGER_FORMAT,
                      json_member_integer(campaign, "seed", 0),
                      json_member_integer(campaign, "rounds", 0));
    }
    markup_add(out, "</pre>");
}

static void add_facts(struct markup *out, const json_t *report)
{
    static const char *const keys[] = {"plan", "about", "seed", "program", "started"};
    static const char *const baseline_keys[] = {"mode",     "steps",  "seconds", "steps_per_s",
                                                "accuracy", "digest", "znodes"};
    const json_t *campaign = campaign_of(report);
    const char *key;
    json_t *value;
    markup_add(out, "<section>");
    add_command(out, campaign);
    markup_add(out, "<div class=\"facts\"><div class=\"card\"><h3>Campaign</h3><table>");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        add_fact(out, keys[i], json_object_get(campaign, keys[i]));
    }
    markup_format(out,
                  "<tr><th>duration<td>%s, of which %s training<tr><th>faults skipped<td>%s"
                  "</table></div>",
                  number_duration(json_member_number(campaign, "seconds", 0) * 1000).at,
                  number_duration(json_member_number(campaign, "train_seconds", 0) * 1000).at,
                  number_count_member(campaign, "skipped").at);
    markup_add(out, "<div class=\"card\"><h3>Baseline run</h3><table>");
    for (size_t i = 0; i < sizeof baseline_keys / sizeof *baseline_keys; i++) {
        value = json_object_get(json_object_get(campaign, "baseline"), baseline_keys[i]);
        add_fact(out, baseline_keys[i], value);
    }
    markup_add(out, "</table></div><div class=\"card\"><h3>Machine capabilities</h3><table>");
    json_object_foreach(json_object_get(campaign, "machine"), key, value)
    {
        if (!json_is_object(value) && !json_is_array(value)) { add_fact(out, key, value); }
    }
    markup_add(out, "</table></div></div></section>");
}

/* ------------------------------------------------------------- page */

/* The icon and the hatching of each family, to which the pictures refer. */
static void add_symbols(struct markup *out)
{
    const struct report_family *family;
    markup_add(out, "<svg class=\"defs\" aria-hidden=\"true\"><defs>");
    for (size_t i = 0; (family = report_family_at(i)); i++) {
        markup_format(out, "<symbol id=\"s-%s\" viewBox=\"0 0 12 12\">%s</symbol>", family->name,
                      family->symbol);
    }
    for (size_t i = 0; (family = report_family_at(i)); i++) {
        markup_format(out,
                      "<pattern id=\"h-%s\" width=\"6\" height=\"6\" "
                      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path "
                      "class=\"f-%s\" d=\"M0 0V6\"/></pattern>",
                      family->name, family->name);
    }
    markup_add(out, "<pattern id=\"h-frozen\" width=\"5\" height=\"5\" "
                    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path "
                    "class=\"frost\" d=\"M0 0V5\"/></pattern></defs></svg>");
}

static void add_head(struct markup *out, const json_t *campaign)
{
    assert(json_is_object(campaign));
    markup_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                    "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta "
                    "name=\"color-scheme\" content=\"light dark\"><title>tanist chaos: ");
    markup_text(out, json_member_text(campaign, "plan", "?"));
    markup_add(out, json_member_integer(campaign, "failed", 0) ? " failed" : " passed");
    markup_add(out, "</title>\n<style>");
    markup_add(out, embedded_text(report_assets, "style"));
    markup_add(out, "</style></head>\n");
}

void report_page(struct markup *out, const json_t *report, const struct markup *rounds)
{
    assert(json_is_object(report));
    add_head(out, campaign_of(report));
    markup_add(out, "<body>");
    add_symbols(out);
    markup_add(out, "<main>");
    add_verdict(out, report);
    markup_add(out, "<section><h2>Checks</h2><div class=\"card wide\">");
    report_checks_table(out, report);
    markup_add(out, "</div></section>");
    add_recoveries(out, report);
    markup_add(out, "<section><h2>Injected faults, by moment</h2><div class=\"card wide\">");
    report_faults_table(out, report);
    markup_add(out, "</div></section><section><h2>Rounds</h2>");
    add_legend(out);
    markup_join(out, rounds);
    markup_add(out, "</section>");
    add_facts(out, report);
    markup_add(out,
               "<footer>Written by tanist chaos. The same data is in report.json.</footer></main>"
               "<script>");
    markup_add(out, embedded_text(report_assets, "script"));
    markup_add(out, "</script></body></html>\n");
}
