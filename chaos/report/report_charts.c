/* chaos/report/report_charts.c: how long recoveries took, as pictures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"
#include "chaos/report/report_private.h"

static const char *const phase_names[] = {"detect", "elect", "restore", "resume"};
static const char *const phase_keys[] = {"detect_ms", "elect_ms", "restore_ms", "resume_ms"};
enum { PHASES = 4, BINS = 36, SHOWN = 16 /* Groups: those seen most often. */ };

/* ------------------------------------------------------------- phases */

static void segment(struct markup *out, const char *phase, double x, double width, double ms)
{
    markup_format(out, "<g><title>%s ", phase);
    markup_duration(out, ms);
    markup_format(out,
                  "</title><rect class=\"p-%s\" x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"12\"/>"
                  "</g>",
                  phase, x, width < 0.8 ? 0.8 : width);
}

void report_phase_bar(struct markup *out, const json_t *recovery, double scale_ms, double width)
{
    double x = 0;
    markup_format(out, "<svg class=\"bar\" viewBox=\"0 0 %.0f 14\" width=\"%.0f\" height=\"14\">",
                  width, width);
    for (size_t i = 0; i < PHASES; i++) {
        double ms = json_member_number(recovery, phase_keys[i], 0);
        double part = scale_ms > 0 ? ms / scale_ms * width : 0;
        if (ms <= 0) { continue; }
        if (part > width - x) { part = width - x; }
        segment(out, phase_names[i], x, part, ms);
        x += part;
    }
    markup_add(out, "</svg>");
}

/* The means of the phases of a group add up to the mean of the whole. */
static json_t *means_of(const json_t *recoveries, const char *group)
{
    double sums[PHASES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(recoveries); i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        if (strcmp(json_member_text(recovery, "group", ""), group) != 0) { continue; }
        if (!json_is_true(json_object_get(recovery, "recovered"))) { continue; }
        count++;
        for (size_t p = 0; p < PHASES; p++) {
            sums[p] += json_member_number(recovery, phase_keys[p], 0);
        }
    }
    json_t *means = json_object();
    for (size_t p = 0; means != NULL && p < PHASES && count > 0; p++) {
        json_object_set_new(means, phase_keys[p], json_real(sums[p] / (double)count));
    }
    return means;
}

static double whole_of(const json_t *means)
{
    double whole = 0;
    for (size_t p = 0; p < PHASES; p++) { whole += json_member_number(means, phase_keys[p], 0); }
    return whole;
}

struct group {
    const char *name;
    const json_t *spread;
    json_t *means;
    double whole_ms;
};

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return (x->whole_ms < y->whole_ms) - (x->whole_ms > y->whole_ms);
}

static int compare_counts(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    json_int_t s = json_member_integer(x->spread, "count", 0),
               t = json_member_integer(y->spread, "count", 0);
    return s != t ? (s < t) - (s > t) : compare_groups(a, b);
}

/* The slowest first. NULL: out of memory. */
static struct group *groups_of(const json_t *report, size_t *count)
{
    const json_t *recoveries = json_object_get(report, "recoveries");
    const json_t *spreads = json_object_get(json_object_get(report, "percentiles"), "by_group");
    struct group *groups = calloc(json_object_size(spreads) + 1, sizeof *groups);
    const char *name;
    json_t *spread;
    *count = 0;
    json_object_foreach((json_t *)spreads, name, spread)
    {
        json_t *means = groups != NULL ? means_of(recoveries, name) : NULL;
        if (groups != NULL) {
            groups[(*count)++] = (struct group){name, spread, means, whole_of(means)};
        }
    }
    if (groups != NULL) { qsort(groups, *count, sizeof *groups, compare_counts); }
    if (groups != NULL) {
        qsort(groups, *count < SHOWN ? *count : SHOWN, sizeof *groups, compare_groups);
    }
    return groups;
}

static void group_row(struct markup *out, const struct group *group, double scale_ms)
{
    enum { WIDTH = 150 };
    markup_wrap(out, "<tr><td><b>", group->name, "</b><td class=\"n\">");
    markup_count(out, json_member_integer(group->spread, "count", 0));
    markup_add(out, "<td>");
    report_phase_bar(out, group->means, scale_ms, WIDTH);
    markup_add(out, "<td class=\"n\">");
    markup_duration(out, json_member_number(group->spread, "p50", -1));
    markup_add(out, "<td class=\"n\">");
    markup_duration(out, json_member_number(group->spread, "p99", -1));
}

void report_phase_chart(struct markup *out, const json_t *report)
{
    size_t count;
    struct group *groups = groups_of(report, &count);
    if (groups == NULL) {
        out->failed = true;
        return;
    }
    markup_add(out, "<table class=\"phases\"><thead><tr><th>fault<th class=\"n\">times"
                    "<th>mean phases<th class=\"n\">p50<th class=\"n\">p99<tbody>");
    for (size_t i = 0; i < count; i++) {
        if (i < SHOWN) { group_row(out, &groups[i], groups[0].whole_ms); }
        json_decref(groups[i].means);
    }
    markup_add(out, "</table>");
    if (count > SHOWN) {
        markup_format(out, "<p class=\"dim\">%zu more, seen less often, are in report.json.</p>",
                      count - SHOWN);
    }
    free(groups);
}

/* ------------------------------------------------------------- histograms */

enum { PLOT_LEFT = 8, PLOT_RIGHT = 352, PLOT_TOP = 34, PLOT_BOTTOM = 136 };

struct scale {
    double least_ms, most_ms; /* Decades apart: logarithmic. */
    bool logarithmic;
};

static struct scale scale_for(const double *values, size_t count)
{
    struct scale scale = {.least_ms = 0, .most_ms = values[count - 1] * 1.02};
    double middle = values[count / 2];
    scale.logarithmic = values[0] >= 1 && scale.most_ms > 12 * middle;
    if (scale.logarithmic) { scale.least_ms = values[0] / 1.1; }
    if (scale.most_ms <= scale.least_ms) { scale.most_ms = scale.least_ms + 1; }
    return scale;
}

static double share_of(const struct scale *scale, double ms)
{
    if (!scale->logarithmic) { return (ms - scale->least_ms) / (scale->most_ms - scale->least_ms); }
    return log(ms / scale->least_ms) / log(scale->most_ms / scale->least_ms);
}

static double plot_x(const struct scale *scale, double ms)
{
    return PLOT_LEFT + share_of(scale, ms) * (PLOT_RIGHT - PLOT_LEFT);
}

static void draw_bins(struct markup *out, const struct scale *scale, const double *values,
                      size_t count)
{
    size_t bins[BINS] = {0}, most = 1;
    double width = (double)(PLOT_RIGHT - PLOT_LEFT) / BINS;
    for (size_t i = 0; i < count; i++) {
        double share = share_of(scale, values[i]);
        size_t bin = share <= 0 ? 0 : (size_t)(share * BINS);
        if (bin >= BINS) { bin = BINS - 1; }
        bins[bin]++;
        if (bins[bin] > most) { most = bins[bin]; }
    }
    for (size_t i = 0; i < BINS; i++) {
        double height = (double)bins[i] / (double)most * (PLOT_BOTTOM - PLOT_TOP - 6);
        if (bins[i] == 0) { continue; }
        if (height < 2) { height = 2; }
        markup_format(out,
                      "<g><title>%zu</title><rect class=\"bin\" x=\"%.1f\" y=\"%.1f\" "
                      "width=\"%.1f\" height=\"%.1f\" rx=\"1\"/></g>",
                      bins[i], PLOT_LEFT + (double)i * width + 0.6, PLOT_BOTTOM - height,
                      width - 1.2, height);
    }
}

static void draw_mark(struct markup *out, const struct scale *scale, const char *name, double ms,
                      double y)
{
    double x = plot_x(scale, ms);
    bool left = x > (PLOT_LEFT + PLOT_RIGHT) * 0.62;
    markup_format(out,
                  "<path class=\"mark\" d=\"M%.1f %.1fV%d\"/><text class=\"mark\" x=\"%.1f\" "
                  "y=\"%.1f\" text-anchor=\"%s\">%s ",
                  x, y - 8, PLOT_BOTTOM, left ? x - 4 : x + 4, y, left ? "end" : "start", name);
    markup_duration(out, ms);
    markup_add(out, "</text>");
}

static void draw_ends(struct markup *out, const struct scale *scale)
{
    markup_format(out, "<path class=\"base\" d=\"M%d %dH%d\"/>", PLOT_LEFT, PLOT_BOTTOM,
                  PLOT_RIGHT);
    markup_format(out, "<text class=\"end\" x=\"%d\" y=\"%d\">", PLOT_LEFT, PLOT_BOTTOM + 14);
    markup_duration(out, scale->least_ms);
    markup_format(out, "</text><text class=\"end last\" x=\"%d\" y=\"%d\">", PLOT_RIGHT,
                  PLOT_BOTTOM + 14);
    markup_duration(out, scale->most_ms);
    markup_add(out, "</text>");
}

void report_histogram(struct markup *out, const char *title, double *values, size_t count)
{
    json_t *spread = recovery_spread(values, count);
    if (spread == NULL) { return; }
    struct scale scale = scale_for(values, count);
    markup_wrap(out, "<figure class=\"plot\"><figcaption><b>", title, "</b> <span>");
    markup_count(out, (int64_t)count);
    markup_format(out, " times%s</span></figcaption>",
                  scale.logarithmic ? ", logarithmic axis" : "");
    markup_add(out, "<svg viewBox=\"0 0 360 154\" role=\"img\" aria-label=\"histogram\">");
    draw_bins(out, &scale, values, count);
    draw_mark(out, &scale, "p50", json_member_number(spread, "p50", 0), 14);
    if (count >= 10) { draw_mark(out, &scale, "p99", json_member_number(spread, "p99", 0), 28); }
    draw_ends(out, &scale);
    markup_add(out, "</svg></figure>");
    json_decref(spread);
}
