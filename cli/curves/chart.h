/*
 * cli/curves/chart.h: charts of series: where lines, marks, ticks and labels are. A pen draws them:
 * as SVG (cli/curves/chart_files.c) or as an image (cli/curves/png.c).
 *
 * Threads: the owner's.
 */
#ifndef CLI_CURVES_CHART_H
#define CLI_CURVES_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/curves/series.h"

enum { CHART_WIDTH = 960, CHART_HEIGHT = 420, CHART_RUNS_MAX = 16 };

/* Others, from 0 on, are those of runs. */
enum pen_color { PEN_INK = -1, PEN_DIM = -2, PEN_GRID = -3 };
enum pen_anchor { PEN_START, PEN_MIDDLE, PEN_END };

unsigned chart_color(int color); /* 0xRRGGBB */

struct pen_place {
    double x, y; /* In pixels, from the top left corner. */
};

struct pen {
    void *ctx;
    void (*line)(void *ctx, const struct pen_place *places, size_t count, int color, double width,
                 bool dashed);
    /* The baseline of the text is at `place`; `size` in pixels. */
    void (*text)(void *ctx, struct pen_place place, enum pen_anchor anchor, double size, int color,
                 const char *text);
};

struct chart_config {
    const struct run_series *runs;
    size_t run_count;
    bool log;
};

/* The height of the charts of all metrics, one below the other. */
double chart_height(const struct chart_config *config);

/* False: out of memory. */
bool chart_draw(const struct chart_config *config, const struct pen *pen);

/* The lowest and highest step and value of metric `metric` in all runs. False: no run has a
 * point. */
bool chart_range(const struct chart_config *config, size_t metric, double steps[static 2],
                 double values[static 2]);

#endif
