#include "cli/curves/chart_files.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "chaos/report/markup.h"
#include "cli/curves/axis.h"
#include "common/base/files.h"

/* ---------------------------------------------------------------- SVG */

static void svg_line(void *ctx, const struct pen_place *places, size_t count, int color,
                     double width, bool dashed)
{
    struct markup *svg = ctx;
    if (count == 0) { return; }
    if (count == 1) {
        markup_format(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"#%06x\"/>\n",
                      places->x, places->y, chart_color(color));
        return;
    }
    markup_format(svg, "<polyline fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.1f\"%s points=\"",
                  chart_color(color), width, dashed ? " stroke-dasharray=\"4 4\"" : "");
    for (size_t i = 0; i < count; i++) {
        markup_format(svg, "%s%.1f,%.1f", i > 0 ? " " : "", places[i].x, places[i].y);
    }
    markup_add(svg, "\"/>\n");
}

static void svg_text(void *ctx, struct pen_place place, enum pen_anchor anchor, double size,
                     int color, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    struct markup *svg = ctx;
    markup_format(svg,
                  "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.0f\" "
                  "fill=\"#%06x\">",
                  place.x, place.y, anchors[anchor], size, chart_color(color));
    markup_wrap(svg, "", text, "</text>\n");
}

static void add_svg(struct markup *out, const struct chart_config *config)
{
    const struct pen pen = {.ctx = out, .line = svg_line, .text = svg_text};
    const double height = chart_height(config);
    markup_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
                  "height=\"%.0f\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                  CHART_WIDTH, height, CHART_WIDTH, height);
    if (!chart_draw(config, &pen)) { out->failed = true; }
    markup_add(out, "</svg>\n");
}

/* ---------------------------------------------------------------- HTML */

static void add_row(struct markup *out, const struct run_series *run, size_t metric)
{
    const struct series *series = &run->series[metric];
    char last[AXIS_LABEL_MAX] = "-", low[AXIS_LABEL_MAX] = "-", high[AXIS_LABEL_MAX] = "-";
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < series->count; i++) {
        least = fmin(least, series->points[i].value);
        most = fmax(most, series->points[i].value);
    }
    if (series->count > 0) {
        axis_label(series->points[series->count - 1].value, last);
        axis_label(least, low);
        axis_label(most, high);
    }
    markup_wrap(out, "<tr><td>", run->dir, "</td>");
    markup_wrap(out, "<td>", run->metrics[metric], "</td>");
    markup_format(out, "<td>%zu</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", series->count, last,
                  low, high);
}

static void add_page(struct markup *out, const struct chart_config *config)
{
    markup_add(out,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src 'unsafe-inline'\">\n<title>Curves</title>\n<style>\n"
               "body { font: 15px/1.5 system-ui, 'DejaVu Sans', sans-serif; margin: 24px auto; "
               "max-width: 1000px; color: #141922; background: #fff; }\n"
               "svg { width: 100%; height: auto; }\n"
               "table { border-collapse: collapse; width: 100%; "
               "font-variant-numeric: tabular-nums; }\n"
               "th, td { text-align: right; padding: 4px 10px; border-bottom: 1px solid #e4e8ee; "
               "}\nth:first-child, td:first-child { text-align: left; }\n</style>\n");
    add_svg(out, config);
    markup_add(out, "<table>\n<tr><th>Run</th><th>Metric</th><th>Points</th><th>Last</th>"
                    "<th>Lowest</th><th>Highest</th></tr>\n");
    for (size_t r = 0; r < config->run_count; r++) {
        for (size_t m = 0; m < config->runs[r].metric_count; m++) {
            add_row(out, &config->runs[r], m);
        }
    }
    markup_add(out, "</table>\n</html>\n");
}

/* ---------------------------------------------------------------- files */

static enum tn_status write_markup(const struct chart_config *config, const char *path,
                                   void (*add)(struct markup *out,
                                               const struct chart_config *config),
                                   struct error *error)
{
    struct markup out = {0};
    add(&out, config);
    enum tn_status status = !out.failed && out.at != NULL
                                ? files_write_public(path, out.at, out.used, error)
                                : error_set(error, TN_ENOMEM, "out of memory");
    markup_free(&out);
    return status;
}

static bool ends_with(const char *path, const char *end)
{
    const size_t length = strlen(path), tail = strlen(end);
    return length > tail && strcasecmp(path + length - tail, end) == 0;
}

enum tn_status chart_write(const struct chart_config *config, const char *path, struct error *error)
{
    assert(path != NULL);
    if (ends_with(path, ".svg")) { return write_markup(config, path, add_svg, error); }
    if (ends_with(path, ".html")) { return write_markup(config, path, add_page, error); }
    if (ends_with(path, ".png")) { return chart_write_png(config, path, error); }
    return error_set(error, TN_EINVAL,
                     "--to \"%.300s\": the name must end with .svg, .html or .png", path);
}
