#include "cli/curves/text_chart.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/curves/axis.h"
#include "common/base/minmax.h"

enum { DOTS_X = 2, DOTS_Y = 4, COLUMNS_LEAST = 30 };

static const enum ink inks[] = {INK_GOOD, INK_WARN, INK_BAD, INK_BOLD, INK_DIM, INK_PLAIN};
static const char letters[] = "*+ox#@%&abcdefgh";

struct grid {
    uint32_t columns, rows; /* In characters. */
    struct cell {
        uint8_t dots; /* The bits of a Braille character. */
        uint8_t run;  /* The last one drawn, + 1; 0: none. */
    } *cells;
};

static void set_dot(struct grid *grid, uint32_t x, uint32_t y, size_t run)
{
    static const uint8_t bits[DOTS_Y][DOTS_X] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    assert(x < grid->columns * DOTS_X && y < grid->rows * DOTS_Y);
    struct cell *cell = &grid->cells[y / DOTS_Y * grid->columns + x / DOTS_X];
    cell->dots |= bits[y % DOTS_Y][x % DOTS_X];
    cell->run = (uint8_t)(run + 1);
}

/* All dots between the places of two neighbouring points. */
static void draw_line(struct grid *grid, const uint32_t from[2], const uint32_t to[2], size_t run)
{
    const int64_t dx = (int64_t)to[0] - from[0], dy = (int64_t)to[1] - from[1];
    const int64_t steps = (int64_t)u64_max((uint64_t)llabs(dx), (uint64_t)llabs(dy));
    for (int64_t i = 0; i <= steps; i++) {
        const int64_t part = steps > 0 ? steps : 1;
        set_dot(grid, (uint32_t)(from[0] + dx * i / part), (uint32_t)(from[1] + dy * i / part),
                run);
    }
}

static void draw_series(struct grid *grid, const struct series *series, size_t run,
                        const struct axis *x, const struct axis *y)
{
    uint32_t last[2] = {0};
    for (size_t i = 0; i < series->count; i++) {
        const double width = grid->columns * DOTS_X - 1, height = grid->rows * DOTS_Y - 1;
        const uint32_t place[2] = {
            (uint32_t)(width * axis_place(x, (double)series->points[i].step) + 0.5),
            (uint32_t)(height * (1 - axis_place(y, series->points[i].value)) + 0.5),
        };
        draw_line(grid, i > 0 ? last : place, place, run);
        memcpy(last, place, sizeof last);
    }
}

static void put_cell(struct canvas *canvas, const struct cell *cell, bool braille)
{
    if (cell->run == 0) {
        canvas_put(canvas, INK_PLAIN, " ");
        return;
    }
    const enum ink ink = inks[(cell->run - 1u) % (sizeof inks / sizeof *inks)];
    if (!braille) {
        canvas_put(canvas, ink, "%c", letters[(cell->run - 1u) % (sizeof letters - 1)]);
        return;
    }
    const unsigned code = 0x2800u + cell->dots;
    canvas_put(canvas, ink, "%c%c%c", (int)(0xe0 | code >> 12), (int)(0x80 | (code >> 6 & 63)),
               (int)(0x80 | (code & 63)));
}

/* The label of the tick in row `row`, if there is one. */
static void put_label(struct canvas *canvas, const struct grid *grid, uint32_t row,
                      const struct axis *y)
{
    char label[AXIS_LABEL_MAX] = "";
    for (size_t i = 0; i < y->tick_count; i++) {
        const double at = (1 - axis_place(y, y->ticks[i])) * (grid->rows * DOTS_Y - 1) + 0.5;
        if ((uint32_t)at / DOTS_Y == row) { axis_label(y->ticks[i], label); }
    }
    canvas_put(canvas, INK_DIM, "%*.*s |", TEXT_CHART_LABELS - 2, TEXT_CHART_LABELS - 2, label);
}

static void put_steps(struct canvas *canvas, const struct grid *grid, const struct axis *x)
{
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < x->tick_count; i++) {
        axis_label(x->ticks[i], label);
        const double at = axis_place(x, x->ticks[i]) * (grid->columns - 1);
        const uint32_t half = (uint32_t)strlen(label) / 2,
                       middle = TEXT_CHART_LABELS + (uint32_t)at;
        if (middle + half >= canvas->columns || middle < canvas->column + half + 1) { continue; }
        canvas_to(canvas, middle - half);
        canvas_put(canvas, INK_DIM, "%s", label);
    }
    canvas_end_line(canvas);
}

static void put_legend(const struct chart_config *config, bool braille, struct canvas *canvas)
{
    for (size_t r = 0; r < config->run_count && config->run_count > 1; r++) {
        const struct cell sample = {.dots = 0x12, .run = (uint8_t)(r + 1)};
        canvas_to(canvas, TEXT_CHART_LABELS);
        for (int i = 0; i < 3; i++) { put_cell(canvas, &sample, braille); }
        canvas_put(canvas, INK_PLAIN, " %s", config->runs[r].dir);
        canvas_end_line(canvas);
    }
}

static void put_grid(const struct grid *grid, const struct axis *x, const struct axis *y,
                     bool braille, struct canvas *canvas)
{
    for (uint32_t row = 0; row < grid->rows; row++) {
        put_label(canvas, grid, row, y);
        for (uint32_t column = 0; column < grid->columns; column++) {
            put_cell(canvas, &grid->cells[row * grid->columns + column], braille);
        }
        canvas_end_line(canvas);
    }
    put_steps(canvas, grid, x);
}

bool text_chart_draw(const struct chart_config *config, size_t metric, uint32_t columns, bool utf8,
                     struct canvas *canvas)
{
    double steps[2], values[2];
    const bool braille = utf8 && (canvas->color || config->run_count == 1);
    assert(metric < config->runs[0].metric_count);
    canvas_put(canvas, INK_BOLD, "%s", config->runs[0].metrics[metric]);
    canvas_end_line(canvas);
    if (!chart_range(config, metric, steps, values)) {
        canvas_put(canvas, INK_DIM, "no points yet");
        canvas_end_line(canvas);
        return true;
    }
    struct grid grid = {.columns = u32_max(columns, COLUMNS_LEAST) - TEXT_CHART_LABELS,
                        .rows = TEXT_CHART_ROWS};
    grid.cells = calloc((size_t)grid.columns * grid.rows, sizeof *grid.cells);
    if (grid.cells == NULL) { return false; }
    const struct axis x = axis_make(steps[0], steps[1], false, u32_max(grid.columns / 14, 2));
    const struct axis y = axis_make(values[0], values[1], config->log, 5);
    for (size_t r = 0; r < config->run_count; r++) {
        draw_series(&grid, &config->runs[r].series[metric], r, &x, &y);
    }
    put_grid(&grid, &x, &y, braille, canvas);
    put_legend(config, braille, canvas);
    free(grid.cells);
    return true;
}
