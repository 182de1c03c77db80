/* Charts as PNG files. */
#include <math.h>
#include <stdlib.h>

#include "cli/curves/chart_files.h"
#include "cli/curves/raster.h"
#include "common/base/files.h"
#include "data/image/image.h"

enum { SCALE = 2 }; /* For displays with small pixels. */

static void draw_line(void *ctx, const struct pen_place *places, size_t count, int color,
                      double width, bool dashed)
{
    raster_line(ctx, places, count, chart_color(color), width, dashed);
}

static void draw_text(void *ctx, struct pen_place place, enum pen_anchor anchor, double size,
                      int color, const char *text)
{
    raster_text(ctx, place, anchor, size, chart_color(color), text);
}

static enum tn_status write_raster(const struct raster *raster, const char *path,
                                   struct error *error)
{
    const struct image image = {{raster->height, raster->width, 3}, raster->pixels};
    uint8_t *bytes = NULL;
    size_t size = 0;
    enum tn_status status = image_encode_png(&image, &bytes, &size, error);
    if (status == TN_OK) { status = files_write_public(path, bytes, size, error); }
    free(bytes);
    return status;
}

enum tn_status chart_write_png(const struct chart_config *config, const char *path,
                               struct error *error)
{
    struct raster raster;
    const struct pen pen = {.ctx = &raster, .line = draw_line, .text = draw_text};
    const uint32_t height = (uint32_t)ceil(chart_height(config));
    if (!raster_init(&raster, SCALE * CHART_WIDTH, SCALE * height, SCALE)) {
        return error_set(error, TN_ENOMEM, "out of memory for the image");
    }
    enum tn_status status = chart_draw(config, &pen)
                                ? write_raster(&raster, path, error)
                                : error_set(error, TN_ENOMEM, "out of memory for the charts");
    raster_free(&raster);
    return status;
}
