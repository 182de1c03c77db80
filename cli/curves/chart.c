#include "cli/curves/chart.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "cli/curves/axis.h"
#include "common/base/minmax.h"

enum { LEFT = 80, RIGHT = 24, TOP = 44, BOTTOM = 44, POINTS_MAX = 1600, LEGEND_ROW = 20 };

unsigned chart_color(int color)
{
    /* Distinguishable with any colour vision (Okabe and Ito). */
    static const unsigned colors[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                      0xe69f00, 0x56b4e9, 0x7a5195, 0x4d4d4d};
    switch (color) {
    case PEN_INK: return 0x141922;
    case PEN_DIM: return 0x667080;
    case PEN_GRID: return 0xe4e8ee;
    default: return colors[(size_t)color % (sizeof colors / sizeof *colors)];
    }
}

/* One chart while it is drawn. */
struct drawing {
    const struct chart_config *config;
    const struct pen *pen;
    size_t metric;
    double top;
    struct axis x, y;
};

bool chart_range(const struct chart_config *config, size_t metric, double steps[static 2],
                 double values[static 2])
{
    bool found = false;
    for (size_t r = 0; r < config->run_count; r++) {
        const struct series *series = &config->runs[r].series[metric];
        for (size_t i = 0; i < series->count; i++) {
            const double step = (double)series->points[i].step, value = series->points[i].value;
            if (config->log && value <= 0) { continue; }
            steps[0] = found ? double_min(steps[0], step) : step;
            steps[1] = found ? double_max(steps[1], step) : step;
            values[0] = found ? double_min(values[0], value) : value;
            values[1] = found ? double_max(values[1], value) : value;
            found = true;
        }
    }
    return found;
}

static double legend_height(const struct chart_config *config)
{
    return config->run_count > 1 ? (double)(LEGEND_ROW * config->run_count) : 0;
}

double chart_height(const struct chart_config *config)
{
    assert(config->run_count >= 1);
    return (double)(CHART_HEIGHT * config->runs[0].metric_count) + legend_height(config);
}

static struct pen_place place_of(const struct drawing *drawing, double step, double value)
{
    const double width = CHART_WIDTH - LEFT - RIGHT, height = CHART_HEIGHT - TOP - BOTTOM;
    return (struct pen_place){
        .x = LEFT + width * axis_place(&drawing->x, step),
        .y = drawing->top + TOP + height * (1 - axis_place(&drawing->y, value)),
    };
}

static void draw_line(const struct drawing *drawing, struct pen_place from, struct pen_place to,
                      int color, bool dashed)
{
    const struct pen_place places[] = {from, to};
    drawing->pen->line(drawing->pen->ctx, places, 2, color, 1, dashed);
}

static void draw_text(const struct drawing *drawing, struct pen_place place, enum pen_anchor anchor,
                      int color, const char *text)
{
    drawing->pen->text(drawing->pen->ctx, place, anchor, 13, color, text);
}

static void draw_axes(const struct drawing *drawing)
{
    char label[AXIS_LABEL_MAX];
    const struct axis *x = &drawing->x, *y = &drawing->y;
    for (size_t i = 0; i < y->tick_count; i++) {
        struct pen_place from = place_of(drawing, x->low, y->ticks[i]);
        draw_line(drawing, from, place_of(drawing, x->high, y->ticks[i]), PEN_GRID, false);
        axis_label(y->ticks[i], label);
        from.x -= 8;
        from.y += 4;
        draw_text(drawing, from, PEN_END, PEN_DIM, label);
    }
    for (size_t i = 0; i < x->tick_count; i++) {
        struct pen_place at = place_of(drawing, x->ticks[i], y->low);
        axis_label(x->ticks[i], label);
        at.y += 18;
        draw_text(drawing, at, PEN_MIDDLE, PEN_DIM, label);
    }
    draw_line(drawing, place_of(drawing, x->low, y->low), place_of(drawing, x->high, y->low),
              PEN_DIM, false);
    struct pen_place end = place_of(drawing, x->high, y->low);
    end.y += 36;
    draw_text(drawing, end, PEN_END, PEN_DIM, "step");
    drawing->pen->text(drawing->pen->ctx, (struct pen_place){LEFT, drawing->top + 26}, PEN_START,
                       16, PEN_INK, drawing->config->runs[0].metrics[drawing->metric]);
}

/* Where one run continued after a recovery. Marks of several runs would be ambiguous. */
static void draw_marks(const struct drawing *drawing)
{
    const struct run_series *run = &drawing->config->runs[0];
    if (drawing->config->run_count > 1) { return; }
    for (size_t i = 0; i < run->mark_count; i++) {
        const double step = (double)run->marks[i];
        if (step < drawing->x.low || step > drawing->x.high) { continue; }
        draw_line(drawing, place_of(drawing, step, drawing->y.low),
                  place_of(drawing, step, drawing->y.high), PEN_DIM, true);
    }
}

static bool draw_series(const struct drawing *drawing, size_t r)
{
    size_t count = 0;
    const struct series *series = &drawing->config->runs[r].series[drawing->metric];
    struct series_point *points = series_thin(series, POINTS_MAX, &count);
    struct pen_place *places = calloc(count + 1, sizeof *places);
    if (points != NULL && places != NULL) {
        for (size_t i = 0; i < count; i++) {
            places[i] = place_of(drawing, (double)points[i].step, points[i].value);
        }
        drawing->pen->line(drawing->pen->ctx, places, count, (int)r, 1.8, false);
    }
    const bool drawn = points != NULL && places != NULL;
    free(points);
    free(places);
    return drawn;
}

static bool draw_metric(struct drawing *drawing)
{
    double steps[2], values[2];
    if (!chart_range(drawing->config, drawing->metric, steps, values)) { return true; }
    drawing->x = axis_make(steps[0], steps[1], false, 8);
    drawing->y = axis_make(values[0], values[1], drawing->config->log, 6);
    draw_axes(drawing);
    draw_marks(drawing);
    for (size_t r = 0; r < drawing->config->run_count; r++) {
        if (!draw_series(drawing, r)) { return false; }
    }
    return true;
}

static void draw_legend(const struct chart_config *config, const struct pen *pen, double top)
{
    for (size_t r = 0; r < config->run_count && config->run_count > 1; r++) {
        const double y = top + (double)(LEGEND_ROW * r) + 8;
        const struct pen_place sample[] = {{LEFT, y}, {LEFT + 28, y}};
        pen->line(pen->ctx, sample, 2, (int)r, 3, false);
        pen->text(pen->ctx, (struct pen_place){LEFT + 36, y + 4}, PEN_START, 13, PEN_INK,
                  config->runs[r].dir);
    }
}

bool chart_draw(const struct chart_config *config, const struct pen *pen)
{
    assert(config->run_count >= 1 && config->run_count <= CHART_RUNS_MAX);
    const size_t metrics = config->runs[0].metric_count;
    for (size_t m = 0; m < metrics; m++) {
        struct drawing drawing = {
            .config = config, .pen = pen, .metric = m, .top = (double)(CHART_HEIGHT * m)};
        if (!draw_metric(&drawing)) { return false; }
    }
    draw_legend(config, pen, (double)(CHART_HEIGHT * metrics));
    return true;
}
