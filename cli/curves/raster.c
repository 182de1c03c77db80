#include "cli/curves/raster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/curves/letters.h"
#include "common/base/minmax.h"

static const double DASH = 4, DOT = 5; /* As in SVG files. */

bool raster_init(struct raster *raster, uint32_t width, uint32_t height, double scale)
{
    assert(width >= 1 && height >= 1);
    assert(scale > 0);
    const size_t count = (size_t)width * height;
    *raster = (struct raster){.width = width, .height = height, .scale = scale};
    raster->pixels = malloc(3 * count);
    raster->mask = calloc(count, 1);
    if (raster->pixels == NULL || raster->mask == NULL) {
        raster_free(raster);
        return false;
    }
    memset(raster->pixels, 0xff, 3 * count);
    return true;
}

void raster_free(struct raster *raster)
{
    free(raster->pixels);
    free(raster->mask);
    *raster = (struct raster){0};
}

/* A line's thickness, and the pixels that it may have covered: [top, bottom) x [left, right). */
struct stroke {
    double half; /* Half the width, in pixels. */
    double dash; /* The length of dashes and gaps; 0: none. */
    uint32_t left, top, right, bottom;
};

/* The pixel in [0, limit] at `place`. */
static uint32_t clip(double place, uint32_t limit)
{
    return (uint32_t)double_min(double_max(place, 0), limit);
}

/* The part of the pixel at (x, y) that the segment covers: 0 to 255. `drawn` is the length of the
 * line before it. */
static uint8_t coverage(const struct stroke *stroke, struct pen_place from, struct pen_place to,
                        double drawn, uint32_t x, uint32_t y)
{
    const double across = to.x - from.x, down = to.y - from.y;
    const double length = hypot(across, down);
    const double right = (double)x + 0.5 - from.x, below = (double)y + 0.5 - from.y;
    /* The nearest place of the segment, as a part of its length. */
    double part = length > 0 ? (right * across + below * down) / (length * length) : 0;
    part = double_min(double_max(part, 0), 1);
    const double at = drawn + part * length;
    if (stroke->dash > 0 && fmod(at, 2 * stroke->dash) >= stroke->dash) { return 0; }
    const double distance = hypot(right - part * across, below - part * down);
    return (uint8_t)(255 * double_min(double_max(stroke->half + 0.5 - distance, 0), 1));
}

/* Add a segment to the mask. A pixel that several segments touch is covered once. */
static void add_segment(struct raster *raster, struct stroke *stroke, struct pen_place from,
                        struct pen_place to, double drawn)
{
    const double reach = stroke->half + 1;
    const uint32_t left = clip(double_min(from.x, to.x) - reach, raster->width);
    const uint32_t right = clip(double_max(from.x, to.x) + reach + 1, raster->width);
    const uint32_t top = clip(double_min(from.y, to.y) - reach, raster->height);
    const uint32_t bottom = clip(double_max(from.y, to.y) + reach + 1, raster->height);
    for (uint32_t y = top; y < bottom; y++) {
        uint8_t *mask = raster->mask + (size_t)y * raster->width;
        for (uint32_t x = left; x < right; x++) {
            const uint8_t covered = coverage(stroke, from, to, drawn, x, y);
            if (covered > mask[x]) { mask[x] = covered; }
        }
    }
    stroke->left = u32_min(stroke->left, left);
    stroke->top = u32_min(stroke->top, top);
    stroke->right = u32_max(stroke->right, right);
    stroke->bottom = u32_max(stroke->bottom, bottom);
}

/* Colour what the mask covers, and clear the mask. */
static void apply_mask(struct raster *raster, const struct stroke *stroke, unsigned rgb)
{
    for (uint32_t y = stroke->top; y < stroke->bottom; y++) {
        for (uint32_t x = stroke->left; x < stroke->right; x++) {
            const size_t i = (size_t)y * raster->width + x;
            const unsigned covered = raster->mask[i];
            uint8_t *pixel = raster->pixels + 3 * i;
            for (unsigned c = 0; c < 3; c++) {
                const unsigned color = rgb >> (16 - 8 * c) & 255;
                pixel[c] = (uint8_t)((color * covered + pixel[c] * (255 - covered) + 127) / 255);
            }
            raster->mask[i] = 0;
        }
    }
}

static struct pen_place scaled(const struct raster *raster, struct pen_place place)
{
    return (struct pen_place){raster->scale * place.x, raster->scale * place.y};
}

void raster_line(struct raster *raster, const struct pen_place *places, size_t count, unsigned rgb,
                 double width, bool dashed)
{
    if (count == 0) { return; }
    struct stroke stroke = {
        .half = raster->scale * (count > 1 ? width : DOT) / 2,
        .dash = dashed ? raster->scale * DASH : 0,
        .left = raster->width,
        .top = raster->height,
    };
    struct pen_place from = scaled(raster, places[0]);
    double drawn = 0;
    if (count == 1) { add_segment(raster, &stroke, from, from, 0); }
    for (size_t i = 1; i < count; i++) {
        const struct pen_place to = scaled(raster, places[i]);
        add_segment(raster, &stroke, from, to, drawn);
        drawn += hypot(to.x - from.x, to.y - from.y);
        from = to;
    }
    apply_mask(raster, &stroke, rgb);
}

/* ---------------------------------------------------------------- texts */

/* Sizes relative to that of the text: the units of letters, and the width of their lines. */
static const double UNIT_X = 0.105, UNIT_Y = 0.12, LINE = 0.09;
enum { GAP = 2 }; /* Between letters, in units. */

static double text_width(const char *text, double size)
{
    uint32_t units = 0;
    for (struct letter letter; letter_next(&text, &letter);) { units += letter.width + GAP; }
    return UNIT_X * size * (units > 0 ? units - GAP : 0);
}

void raster_text(struct raster *raster, struct pen_place place, enum pen_anchor anchor, double size,
                 unsigned rgb, const char *text)
{
    assert(text != NULL);
    if (anchor == PEN_MIDDLE) { place.x -= text_width(text, size) / 2; }
    if (anchor == PEN_END) { place.x -= text_width(text, size); }
    for (struct letter letter; letter_next(&text, &letter);) {
        struct letter_place at[LETTER_PLACES_MAX];
        struct pen_place places[LETTER_PLACES_MAX + 1];
        for (size_t count; (count = letter_stroke(&letter, at)) > 0;) {
            for (size_t i = 0; i < count; i++) {
                places[i].x = place.x + UNIT_X * size * at[i].x;
                places[i].y = place.y + UNIT_Y * size * (at[i].y - LETTER_BASELINE);
            }
            places[count] = places[count - 1]; /* A stroke of one place is a small dot. */
            raster_line(raster, places, count + 1, rgb, LINE * size, false);
        }
        place.x += UNIT_X * size * (letter.width + GAP);
    }
}
