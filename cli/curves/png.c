/* PNG files by cairo, which is loaded at run time: a machine that trains does not need it. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/curves/chart_files.h"
#include "common/base/files.h"

enum { FORMAT_RGB24 = 1, SCALE = 2, PNG_LIMIT = 64 << 20 }; /* As in cairo.h. */

/* The functions of libcairo that are used, as cairo.h declares them; all handles are pointers. */
static struct {
    void *(*image_surface_create)(int format, int width, int height);
    void *(*create)(void *surface);
    void (*destroy)(void *cr);
    void (*surface_destroy)(void *surface);
    void (*scale)(void *cr, double x, double y);
    void (*set_source_rgb)(void *cr, double red, double green, double blue);
    void (*paint)(void *cr);
    void (*set_line_width)(void *cr, double width);
    void (*set_dash)(void *cr, const double *dashes, int count, double offset);
    void (*move_to)(void *cr, double x, double y);
    void (*line_to)(void *cr, double x, double y);
    void (*stroke)(void *cr);
    void (*select_font_face)(void *cr, const char *family, int slant, int weight);
    void (*set_font_size)(void *cr, double size);
    void (*text_extents)(void *cr, const char *text, double extents[6]);
    void (*show_text)(void *cr, const char *text);
    int (*surface_write_to_png_stream)(void *surface,
                                       int (*write)(void *, const unsigned char *, unsigned),
                                       void *ctx);
} cairo;

static bool load_cairo(void)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"cairo_image_surface_create", &cairo.image_surface_create},
        {"cairo_create", &cairo.create},
        {"cairo_destroy", &cairo.destroy},
        {"cairo_surface_destroy", &cairo.surface_destroy},
        {"cairo_scale", &cairo.scale},
        {"cairo_set_source_rgb", &cairo.set_source_rgb},
        {"cairo_paint", &cairo.paint},
        {"cairo_set_line_width", &cairo.set_line_width},
        {"cairo_set_dash", &cairo.set_dash},
        {"cairo_move_to", &cairo.move_to},
        {"cairo_line_to", &cairo.line_to},
        {"cairo_stroke", &cairo.stroke},
        {"cairo_select_font_face", &cairo.select_font_face},
        {"cairo_set_font_size", &cairo.set_font_size},
        {"cairo_text_extents", &cairo.text_extents},
        {"cairo_show_text", &cairo.show_text},
        {"cairo_surface_write_to_png_stream", &cairo.surface_write_to_png_stream},
    };
    void *library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL); /* Never closed. */
    for (size_t i = 0; library != NULL && i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (symbol == NULL) { return false; }
        memcpy(functions[i].function, &symbol, sizeof symbol);
    }
    return library != NULL;
}

/* ---------------------------------------------------------------- the pen */

static void set_color(void *cr, int color)
{
    const unsigned rgb = chart_color(color);
    cairo.set_source_rgb(cr, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0);
}

static void draw_line(void *ctx, const struct pen_place *places, size_t count, int color,
                      double width, bool dashed)
{
    static const double dashes[] = {4, 4};
    if (count == 0) { return; }
    set_color(ctx, color);
    cairo.set_line_width(ctx, width);
    cairo.set_dash(ctx, dashes, dashed ? 2 : 0, 0);
    cairo.move_to(ctx, places[0].x - (count == 1), places[0].y);
    for (size_t i = 0; i < count; i++) {
        cairo.line_to(ctx, places[i].x + (count == 1), places[i].y);
    }
    cairo.stroke(ctx);
}

static void draw_text(void *ctx, struct pen_place place, enum pen_anchor anchor, double size,
                      int color, const char *text)
{
    double extents[6]; /* x_bearing, y_bearing, width, height, x_advance, y_advance */
    cairo.set_font_size(ctx, size);
    cairo.text_extents(ctx, text, extents);
    if (anchor == PEN_MIDDLE) { place.x -= extents[4] / 2; }
    if (anchor == PEN_END) { place.x -= extents[4]; }
    set_color(ctx, color);
    cairo.move_to(ctx, place.x, place.y);
    cairo.show_text(ctx, text);
}

/* ---------------------------------------------------------------- the file */

struct png {
    unsigned char *data;
    size_t used, capacity;
};

static int add_bytes(void *ctx, const unsigned char *data, unsigned size)
{
    struct png *png = ctx;
    if (png->used + size > png->capacity) {
        const size_t capacity = 2 * (png->used + size);
        unsigned char *grown = capacity <= PNG_LIMIT ? realloc(png->data, capacity) : NULL;
        if (grown == NULL) { return 1; /* CAIRO_STATUS_NO_MEMORY */ }
        png->data = grown;
        png->capacity = capacity;
    }
    memcpy(png->data + png->used, data, size);
    png->used += size;
    return 0;
}

static bool draw(const struct chart_config *config, struct png *png)
{
    const int height = (int)ceil(chart_height(config));
    void *surface = cairo.image_surface_create(FORMAT_RGB24, SCALE * CHART_WIDTH, SCALE * height);
    void *cr = cairo.create(surface);
    const struct pen pen = {.ctx = cr, .line = draw_line, .text = draw_text};
    cairo.scale(cr, SCALE, SCALE);
    cairo.set_source_rgb(cr, 1, 1, 1);
    cairo.paint(cr);
    cairo.select_font_face(cr, "sans-serif", 0, 0);
    const bool drawn =
        chart_draw(config, &pen) && cairo.surface_write_to_png_stream(surface, add_bytes, png) == 0;
    cairo.destroy(cr);
    cairo.surface_destroy(surface);
    return drawn;
}

enum tn_status chart_write_png(const struct chart_config *config, const char *path,
                               struct error *error)
{
    struct png png = {0};
    if (!load_cairo()) {
        return error_set(error, TN_ENOENT,
                         "PNG files need libcairo2, which is not installed: install it "
                         "(apt install libcairo2), or give a name that ends with .svg or .html");
    }
    enum tn_status status = draw(config, &png)
                                ? files_write_atomic(path, png.data, png.used, error)
                                : error_set(error, TN_ENOMEM, "out of memory for the image");
    free(png.data);
    return status;
}
