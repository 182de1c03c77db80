/* chaos/report/report_charts.c: how long recoveries took, as pictures. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"
#include "chaos/report/number.h"
#include "chaos/report/report_private.h"
#include "common/base/minmax.h"

/* ------------------------------------------------------------- phases */

void report_phase_bar(struct markup *out, const double phases_ms[static RECOVERY_PHASES],
                      double scale_ms, double width)
{
    double x = 0;
    assert(width > 0);
    markup_format(out, "<svg class=\"bar\" viewBox=\"0 0 %.0f 14\" width=\"%.0f\" height=\"14\">",
                  width, width);
    for (size_t i = 0; i < RECOVERY_PHASES; i++) {
        const char *name = recovery_phases[i].name;
        if (phases_ms[i] <= 0) { continue; }
        double part = scale_ms > 0 ? double_min(phases_ms[i] / scale_ms * width, width - x) : 0;
        char class[16];
        (void)snprintf(class, sizeof class, "p-%s", name);
        markup_add(out, "<g>");
        markup_title(out, "%s %s", name, number_duration(phases_ms[i]).at);
        markup_rect(out, class, x, 1, double_max(part, 0.8), 12, 0);
        markup_add(out, "</g>");
        x += part;
    }
    markup_add(out, "</svg>");
}

/* Recoveries that can be compared. The means of the phases add up to the mean of the whole. */
struct group {
    const char *name;
    const json_t *spread;
    double mean_ms[RECOVERY_PHASES], whole_ms;
};

static struct group group_of(const json_t *recoveries, const char *name, const json_t *spread)
{
    assert(name != NULL);
    struct group group = {.name = name, .spread = spread};
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(recoveries); i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        if (strcmp(json_member_text(recovery, "group", ""), name) != 0) { continue; }
        if (!json_member_true(recovery, "recovered")) { continue; }
        count++;
        for (size_t p = 0; p < RECOVERY_PHASES; p++) {
            group.mean_ms[p] += json_member_number(recovery, recovery_phases[p].key, 0);
        }
    }
    for (size_t p = 0; p < RECOVERY_PHASES && count > 0; p++) {
        group.mean_ms[p] /= (double)count;
        group.whole_ms += group.mean_ms[p];
    }
    return group;
}

static int slowest_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return (x->whole_ms < y->whole_ms) - (x->whole_ms > y->whole_ms);
}

static int most_frequent_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    json_int_t s = json_member_integer(x->spread, "count", 0),
               t = json_member_integer(y->spread, "count", 0);
    return s != t ? (s < t) - (s > t) : slowest_first(a, b);
}

/* The most frequent groups, the slowest of them first. NULL: out of memory. */
static struct group *groups_of(const json_t *report, size_t most, size_t *count)
{
    assert(count != NULL);
    const json_t *recoveries = json_object_get(report, "recoveries");
    const json_t *spreads = json_object_get(json_object_get(report, "percentiles"), "by_group");
    struct group *groups = calloc(json_object_size(spreads) + 1, sizeof *groups);
    const char *name;
    json_t *spread;
    *count = 0;
    if (groups == NULL) { return NULL; }
    json_object_foreach((json_t *)spreads, name, spread) groups[(*count)++] =
        group_of(recoveries, name, spread);
    qsort(groups, *count, sizeof *groups, most_frequent_first);
    qsort(groups, size_min(*count, most), sizeof *groups, slowest_first);
    return groups;
}

void report_phase_chart(struct markup *out, const json_t *report)
{
    assert(json_is_object(report));
    enum { SHOWN = 16, WIDTH = 150 };
    size_t count;
    struct group *groups = groups_of(report, SHOWN, &count);
    if (groups == NULL) {
        out->failed = true;
        return;
    }
    markup_add(out, "<table class=\"phases\"><thead><tr><th>fault<th class=\"n\">count"
                    "<th>mean phases<th class=\"n\">p50<th class=\"n\">p99<tbody>");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const json_t *spread = groups[i].spread;
        markup_wrap(out, "<tr><td><b>", groups[i].name, "</b>");
        markup_format(out, "<td class=\"n\">%s<td>", number_count_member(spread, "count").at);
        report_phase_bar(out, groups[i].mean_ms, groups[0].whole_ms, WIDTH);
        markup_format(out, "<td class=\"n\">%s<td class=\"n\">%s",
                      number_duration_member(spread, "p50").at,
                      number_duration_member(spread, "p99").at);
    }
    markup_add(out, "</table>");
    if (count > SHOWN) {
        markup_format(out, "<p class=\"dim\">%zu less frequent groups are in report.json.</p>",
                      count - SHOWN);
    }
    free(groups);
}

/* ------------------------------------------------------------- histograms */

enum { PLOT_LEFT = 8, PLOT_RIGHT = 352, PLOT_TOP = 34, PLOT_BOTTOM = 136, BINS = 36 };

struct scale {
    double least_ms, most_ms;
    bool logarithmic; /* Values are decades apart. */
};

static struct scale scale_of(const double *values, size_t count)
{
    assert(count > 0);
    struct scale scale = {.least_ms = 0, .most_ms = values[count - 1] * 1.02};
    scale.logarithmic = values[0] >= 1 && scale.most_ms > 12 * values[count / 2];
    if (scale.logarithmic) { scale.least_ms = values[0] / 1.1; }
    if (scale.most_ms <= scale.least_ms) { scale.most_ms = scale.least_ms + 1; }
    return scale;
}

static double share_of(const struct scale *scale, double ms)
{
    assert(scale->least_ms < scale->most_ms);
    if (!scale->logarithmic) { return (ms - scale->least_ms) / (scale->most_ms - scale->least_ms); }
    return log(ms / scale->least_ms) / log(scale->most_ms / scale->least_ms);
}

static void draw_bins(struct markup *out, const struct scale *scale, const double *values,
                      size_t count)
{
    assert(count > 0);
    size_t bins[BINS] = {0}, most = 1;
    double width = (double)(PLOT_RIGHT - PLOT_LEFT) / BINS;
    for (size_t i = 0; i < count; i++) {
        double share = double_max(share_of(scale, values[i]), 0);
        size_t bin = size_min((size_t)(share * BINS), BINS - 1);
        bins[bin]++;
        most = size_max(most, bins[bin]);
    }
    for (size_t i = 0; i < BINS; i++) {
        double height = (double)bins[i] / (double)most * (PLOT_BOTTOM - PLOT_TOP - 6);
        if (bins[i] == 0) { continue; }
        height = double_max(height, 2);
        markup_add(out, "<g>");
        markup_title(out, "%zu", bins[i]);
        markup_rect(out, "bin", PLOT_LEFT + (double)i * width + 0.6, PLOT_BOTTOM - height,
                    width - 1.2, height, 1);
        markup_add(out, "</g>");
    }
}

static void draw_mark(struct markup *out, const struct scale *scale, const char *name, double ms,
                      double y)
{
    double x = PLOT_LEFT + share_of(scale, ms) * (PLOT_RIGHT - PLOT_LEFT);
    bool left = x > (PLOT_LEFT + PLOT_RIGHT) * 0.62;
    markup_format(out, "<path class=\"mark\" d=\"M%.1f %.1fV%d\"/>", x, y - 8, PLOT_BOTTOM);
    markup_label(out, left ? "mark before" : "mark", left ? x - 4 : x + 4, y, "%s %s", name,
                 number_duration(ms).at);
}

void report_histogram(struct markup *out, const char *title, double *values, size_t count)
{
    assert(title != NULL);
    json_t *spread = recovery_spread(values, count);
    if (spread == NULL) { return; }
    struct scale scale = scale_of(values, count);
    markup_wrap(out, "<figure class=\"plot\"><figcaption><b>", title, "</b>");
    markup_format(out, " <span>%s recoveries%s</span></figcaption>",
                  number_count((int64_t)count).at, scale.logarithmic ? ", logarithmic axis" : "");
    markup_add(out, "<svg viewBox=\"0 0 360 154\" role=\"img\" aria-label=\"histogram\">");
    draw_bins(out, &scale, values, count);
    draw_mark(out, &scale, "p50", json_member_number(spread, "p50", 0), 14);
    if (count >= 10) { draw_mark(out, &scale, "p99", json_member_number(spread, "p99", 0), 28); }
    markup_format(out, "<path class=\"base\" d=\"M%d %dH%d\"/>", PLOT_LEFT, PLOT_BOTTOM,
                  PLOT_RIGHT);
    markup_label(out, "end", PLOT_LEFT, PLOT_BOTTOM + 14, "%s", number_duration(scale.least_ms).at);
    markup_label(out, "end before", PLOT_RIGHT, PLOT_BOTTOM + 14, "%s",
                 number_duration(scale.most_ms).at);
    markup_add(out, "</svg></figure>");
    json_decref(spread);
}
