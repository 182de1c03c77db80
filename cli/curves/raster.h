/*
 * cli/curves/raster.h: lines and texts as pixels, with smooth edges.
 *
 * Threads: the owner's.
 */
#ifndef CLI_CURVES_RASTER_H
#define CLI_CURVES_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/curves/chart.h"

/* White at first. Places are in units of `scale` pixels, from the top left corner. */
struct raster {
    uint32_t width, height; /* In pixels. */
    double scale;
    uint8_t *pixels; /* [height][width][3]: red, green, blue. Owned. */
    uint8_t *mask;   /* [height][width]: how much of a pixel the present line covers. Owned. */
};

/* False: out of memory, and nothing is owned. */
bool raster_init(struct raster *raster, uint32_t width, uint32_t height, double scale);
void raster_free(struct raster *raster);

/* A line through places[0..count), or a dot; `rgb` as chart_color(). Parts outside are cut off. */
void raster_line(struct raster *raster, const struct pen_place *places, size_t count, unsigned rgb,
                 double width, bool dashed);

/* As a pen's text(). Characters outside of ASCII are boxes. */
void raster_text(struct raster *raster, struct pen_place place, enum pen_anchor anchor, double size,
                 unsigned rgb, const char *text);

#endif
