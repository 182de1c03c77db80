/* chaos/report/report_page.c: the page: verdict on top, then everything that supports it. */
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/report_private.h"

static const json_t *campaign_of(const json_t *report)
{
    return json_object_get(report, "campaign");
}

/* ------------------------------------------------------------- verdict */

static void tile(struct markup *out, const char *name)
{
    markup_wrap(out, "</dd></div><div><dt>", name, "</dt><dd>");
}

/* Failovers after a chief's death; where there are none, those that were seen most often. */
static const json_t *failover_of(const json_t *percentiles, const char **group)
{
    const json_t *all = json_object_get(percentiles, "failover");
    const json_t *best = json_object_get(all, *group);
    const char *name;
    json_t *spread;
    if (best != NULL) { return best; }
    json_object_foreach((json_t *)all, name, spread)
    {
        if (json_member_integer(spread, "count", 0) <= json_member_integer(best, "count", 0)) {
            continue;
        }
        best = spread;
        *group = name;
    }
    return best;
}

static void tiles(struct markup *out, const json_t *report)
{
    const json_t *campaign = campaign_of(report);
    const json_t *percentiles = json_object_get(report, "percentiles");
    const char *group = "kill chief";
    const json_t *failover = failover_of(percentiles, &group);
    const json_t *total = json_object_get(json_object_get(percentiles, "phases"), "total");
    double goodput = json_member_number(campaign, "goodput", -1);
    markup_add(out, "<dl class=\"tiles\"><div><dt>rounds passed</dt><dd>");
    markup_count(out, json_member_integer(campaign, "passed", 0));
    markup_add(out, "<small> of ");
    markup_count(out, json_member_integer(campaign, "rounds", 0));
    markup_add(out, "</small>");
    tile(out, "faults injected");
    markup_count(out, json_member_integer(campaign, "faults", 0));
    tile(out, "recovery, p50 / p99");
    markup_duration(out, json_member_number(total, "p50", -1));
    markup_add(out, "<small> / ");
    markup_duration(out, json_member_number(total, "p99", -1));
    markup_add(out, "</small>");
    markup_wrap(out, "</dd></div><div><dt>", group, " to new chief, p50 / p99</dt><dd>");
    markup_duration(out, json_member_number(failover, "p50", -1));
    markup_add(out, "<small> / ");
    markup_duration(out, json_member_number(failover, "p99", -1));
    markup_add(out, "</small>");
    tile(out, "goodput, of the calm run’s");
    markup_percent(out, goodput);
    tile(out, "of the time workers could work");
    markup_percent(out, json_member_number(campaign, "availability", -1));
    markup_add(out, "</dd></div></dl>");
}

static void sentence(struct markup *out, const json_t *campaign)
{
    const json_t *digest = json_object_get(campaign, "digest");
    json_int_t sync = json_member_integer(digest, "sync_rounds", 0);
    json_int_t equal = json_member_integer(digest, "equal", 0);
    const char *calm = json_member_text(digest, "calm", NULL);
    markup_add(out, "<p class=\"lead\">");
    markup_count(out, json_member_integer(campaign, "faults", 0));
    markup_add(out, " faults in ");
    markup_count(out, json_member_integer(campaign, "rounds", 0));
    markup_format(out, " round%s. ", json_member_integer(campaign, "rounds", 0) == 1 ? "" : "s");
    if (sync > 0 && calm != NULL && equal == sync) {
        markup_wrap(out,
                    "Every synchronous run ended with the calm run’s parameters, bit for bit: "
                    "<code>",
                    calm, "</code>");
    } else if (sync > 0) {
        markup_count(out, equal);
        markup_add(out, " of ");
        markup_count(out, sync);
        markup_add(out, " synchronous runs ended with the calm run’s parameters");
        if (calm != NULL) { markup_wrap(out, ": <code>", calm, "</code>"); }
    }
    markup_add(out, "</p>");
}

/* A square for each round, where there are many. */
static void strip(struct markup *out, const json_t *report)
{
    enum { MANY = 8 };
    const json_t *rounds = json_object_get(report, "rounds");
    if (json_array_size(rounds) < MANY) { return; }
    markup_add(out, "<div class=\"strip\">");
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *round = json_array_get(rounds, i);
        bool ok = json_is_true(json_object_get(round, "ok"));
        long long number = (long long)json_member_integer(round, "round", 0);
        markup_format(out, "<a class=\"%s\" href=\"#round-%lld\" title=\"round %lld: %s\">%s</a>",
                      ok ? "held" : "broke", number, number, ok ? "passed" : "failed",
                      ok ? "" : "✕");
    }
    markup_add(out, "</div>");
}

static void failed_links(struct markup *out, const json_t *report)
{
    const json_t *rounds = json_object_get(report, "rounds");
    if (json_member_integer(campaign_of(report), "failed", 0) == 0) { return; }
    markup_add(out, "<p class=\"links\">Failed:");
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *round = json_array_get(rounds, i);
        if (json_is_true(json_object_get(round, "ok"))) { continue; }
        long long number = (long long)json_member_integer(round, "round", 0);
        markup_format(out, " <a href=\"#round-%lld\">round %lld</a>", number, number);
    }
    markup_add(out, "</p>");
}

static void hero(struct markup *out, const json_t *report)
{
    const json_t *campaign = campaign_of(report);
    json_int_t failed = json_member_integer(campaign, "failed", 0);
    markup_format(out, "<header class=\"hero %s\"><div class=\"verdict\">",
                  failed ? "bad" : "good");
    markup_format(out,
                  "<svg viewBox=\"0 0 48 48\" aria-hidden=\"true\"><circle cx=\"24\" cy=\"24\" "
                  "r=\"22\"/><path d=\"%s\"/></svg><div>",
                  failed ? "M16 16l16 16M32 16L16 32" : "M14 25l7 7 13-15");
    markup_wrap(out, "<p class=\"over\">tanist chaos · ", json_member_text(campaign, "plan", "?"),
                "");
    markup_format(out, " · seed %lld</p>", (long long)json_member_integer(campaign, "seed", 0));
    if (failed) {
        markup_format(out, "<h1>Failed: %lld of %lld rounds</h1>", (long long)failed,
                      (long long)json_member_integer(campaign, "rounds", 0));
    } else {
        markup_add(out, "<h1>Passed</h1>");
    }
    sentence(out, campaign);
    failed_links(out, report);
    markup_add(out, "</div></div>");
    strip(out, report);
    tiles(out, report);
    markup_add(out, "</header>");
}

/* ------------------------------------------------------------- sections */

static void histogram_of(struct markup *out, const json_t *report, const char *title,
                         const char *group, const char *or_group, const char *key)
{
    const json_t *recoveries = json_object_get(report, "recoveries");
    size_t size = json_array_size(recoveries), count = 0;
    double *values = calloc(size + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < size; i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        double value = json_member_number(recovery, key, -1);
        const char *name = json_member_text(recovery, "group", "");
        bool wanted = group == NULL || strcmp(name, group) == 0 || strcmp(name, or_group) == 0;
        if (wanted && value >= 0) { values[count++] = value; }
    }
    if (values != NULL && count > 0) { report_histogram(out, title, values, count); }
    free(values);
}

static void healing(struct markup *out, const json_t *report)
{
    if (json_array_size(json_object_get(report, "recoveries")) == 0) { return; }
    markup_add(out, "<section><h2>How fast it heals</h2><div class=\"plots\">");
    histogram_of(out, report, "Chief killed to new chief", "kill chief", "kill chief",
                 "failover_ms");
    histogram_of(out, report, "Chief frozen to new chief", "freeze chief", "zombie chief",
                 "failover_ms");
    histogram_of(out, report, "Any fault to training again", NULL, NULL, "total_ms");
    markup_add(out, "</div><div class=\"split\"><div class=\"card\">");
    report_phase_chart(out, report);
    markup_add(out, "</div><div class=\"card\">");
    report_spread_table(out, report);
    markup_add(out, "</div></div><details class=\"more\"><summary>The slowest recoveries</summary>"
                    "<div class=\"card wide\">");
    report_slowest_table(out, report);
    markup_add(out, "</div></details></section>");
}

static void legend(struct markup *out)
{
    const struct report_family *family;
    markup_add(out, "<p class=\"legend\"><span><i class=\"k up\"></i>up</span><span><i class=\"k "
                    "frozen\"></i>frozen</span><span><i class=\"k down\"></i>down</span><span><i "
                    "class=\"k reign\">7</i>chief, by epoch</span><span><i class=\"k paused\"></i>"
                    "paused</span><span><i class=\"k loading\"></i>loading</span><span><i "
                    "class=\"k forming\"></i>starting</span><span><i "
                    "class=\"k rate\"></i>steps/s</span><span><i class=\"k redone\"></i>done again"
                    "</span><span><i class=\"k calm\"></i>calm run</span></p><p class=\"legend\">");
    for (size_t i = 0; (family = report_family_at(i)); i++) {
        markup_format(out,
                      "<span class=\"f-%s\"><svg class=\"sign\" viewBox=\"0 0 12 12\"><use "
                      "href=\"#s-%s\"/></svg>%s</span>",
                      family->name, family->name, family->words);
    }
    markup_add(out, "</p>");
}

static void fact(struct markup *out, const char *name, const json_t *value)
{
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

/* Facts of an object, one a row, its numbers and words; what is deeper is left to report.json. */
static void facts_of(struct markup *out, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_object(value) && !json_is_array(value)) { fact(out, key, value); }
    }
}

static void command_of(struct markup *out, const json_t *campaign)
{
    const char *command = json_member_text(campaign, "command", NULL);
    markup_add(out, "<h2>Do it again</h2><pre id=\"command\">");
    if (command != NULL) {
        markup_text(out, command);
    } else {
        markup_wrap(out, "tanist chaos run --plan ", json_member_text(campaign, "plan", "?"), "");
        markup_format(out, " --seed %lld --rounds %lld",
                      (long long)json_member_integer(campaign, "seed", 0),
                      (long long)json_member_integer(campaign, "rounds", 0));
    }
    markup_add(out, "</pre>");
}

static void facts(struct markup *out, const json_t *report)
{
    const json_t *campaign = campaign_of(report);
    static const char *const keys[] = {"plan", "about", "seed", "program", "started"};
    static const char *const calm_keys[] = {"mode",     "steps",  "seconds", "steps_per_s",
                                            "accuracy", "digest", "znodes"};
    markup_add(out, "<section>");
    command_of(out, campaign);
    markup_add(out, "<div class=\"facts\"><div class=\"card\"><h3>Campaign</h3><table>");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        fact(out, keys[i], json_object_get(campaign, keys[i]));
    }
    markup_add(out, "<tr><th>lasted<td>");
    markup_duration(out, json_member_number(campaign, "seconds", 0) * 1000);
    markup_add(out, ", of which training ");
    markup_duration(out, json_member_number(campaign, "train_seconds", 0) * 1000);
    markup_add(out, "<tr><th>faults skipped<td>");
    markup_count(out, json_member_integer(campaign, "skipped", 0));
    markup_add(out, "</table></div><div class=\"card\"><h3>Calm run</h3><table>");
    for (size_t i = 0; i < sizeof calm_keys / sizeof *calm_keys; i++) {
        fact(out, calm_keys[i], json_object_get(json_object_get(campaign, "calm"), calm_keys[i]));
    }
    markup_add(out, "</table></div><div class=\"card\"><h3>What the machine can do</h3><table>");
    facts_of(out, json_object_get(campaign, "machine"));
    markup_add(out, "</table></div></div></section>");
}

/* ------------------------------------------------------------- page */

static void symbols(struct markup *out)
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

static void head(struct markup *out, const json_t *report)
{
    markup_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                    "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta "
                    "name=\"color-scheme\" content=\"light dark\"><title>tanist chaos: ");
    markup_wrap(out, "", json_member_text(campaign_of(report), "plan", "?"), "");
    markup_format(out, " %s</title>\n<style>",
                  json_member_integer(campaign_of(report), "failed", 0) ? "failed" : "passed");
    markup_add(out, embedded_text(report_assets, "style"));
    markup_add(out, "</style></head>\n<body>");
    symbols(out);
}

void report_page(struct markup *out, const json_t *report, const struct markup *rounds)
{
    head(out, report);
    markup_add(out, "<main>");
    hero(out, report);
    markup_add(out, "<section><h2>What was checked</h2><div class=\"card wide\">");
    report_checks_table(out, report);
    markup_add(out, "</div></section>");
    healing(out, report);
    markup_add(out, "<section><h2>What was done to it, and when</h2><div class=\"card wide\">");
    report_faults_table(out, report);
    markup_add(out, "</div></section><section><h2>Rounds</h2>");
    legend(out);
    markup_join(out, rounds);
    markup_add(out, "</section>");
    facts(out, report);
    markup_add(out, "<footer>Written by tanist; the same as data is in report.json.</footer></main>"
                    "<script>");
    markup_add(out, embedded_text(report_assets, "script"));
    markup_add(out, "</script></body></html>\n");
}
