/* Columns of pixels: parts, mirrors, and values with mean 0. */
#include <assert.h>
#include <inttypes.h>

#include "data/columns/columns_private.h"

bool pixels_are_changed(const struct pixel_spec *spec)
{
    return spec->flip || spec->margin > 0 || spec->crop_count > 0 || spec->mean_count > 0 ||
           spec->deviation_count > 0;
}

static enum tn_status check(const struct feature *feature, const struct augment *augment,
                            struct error *error)
{
    const struct pixel_spec *spec = &feature->pixels;
    const struct image_shape from = augment->from;
    if (from.channels != 1 && from.channels != 3) {
        return error_set(error, TN_EINVAL,
                         "data.columns.%s: only images, with 1 or 3 channels, can be changed",
                         feature->name);
    }
    if (augment->height > from.height + 2 * augment->margin ||
        augment->width > from.width + 2 * augment->margin) {
        return error_set(error, TN_EINVAL,
                         "data.columns.%s.crop is %" PRIu32 " x %" PRIu32
                         ", but the image with its margin has %" PRIu32 " x %" PRIu32,
                         feature->name, augment->height, augment->width,
                         from.height + 2 * augment->margin, from.width + 2 * augment->margin);
    }
    const bool means = spec->mean_count == 0 || spec->mean_count == from.channels;
    if (means && (spec->deviation_count == 0 || spec->deviation_count == from.channels)) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "data.columns.%s: \"mean\" and \"deviation\" need %" PRIu32
                     " numbers, one for each channel",
                     feature->name, from.channels);
}

enum tn_status pixels_bind(struct feature *feature, const struct source_column *column,
                           uint64_t *width, struct error *error)
{
    const struct pixel_spec *spec = &feature->pixels;
    const bool image = column->rank == 2 || column->rank == 3;
    assert(column->kind == SOURCE_BYTES);
    feature->augmented = pixels_are_changed(spec);
    if (!feature->augmented) { return TN_OK; }
    struct augment augment = {.flip = spec->flip, .margin = spec->margin};
    if (image) {
        const uint32_t channels = column->rank == 3 ? column->shape[2] : 1;
        augment.from = (struct image_shape){column->shape[0], column->shape[1], channels};
    }
    augment.height = spec->crop_count > 0 ? spec->crop[0] : augment.from.height;
    augment.width = spec->crop_count > 0 ? spec->crop[1] : augment.from.width;
    for (uint32_t c = 0; c < 3; c++) {
        augment.mean[c] = spec->mean_count > 0 ? (float)spec->mean[c] : 0;
        augment.spread[c] = spec->deviation_count > 0 ? (float)spec->deviation[c] : 1;
    }
    feature->augment = augment;
    *width = (uint64_t)augment.height * augment.width * augment.from.channels;
    return check(feature, &augment, error);
}

static void build_reals(json_t *object, const char *key, const double *values, uint32_t count)
{
    if (count == 0) { return; }
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) { json_array_append_new(list, json_real(values[i])); }
    (void)json_object_set_new(object, key, list);
}

void pixels_build(const struct pixel_spec *spec, json_t *object)
{
    if (spec->flip) { (void)json_object_set_new(object, "flip", json_true()); }
    if (spec->margin > 0) {
        (void)json_object_set_new(object, "margin", json_integer(spec->margin));
    }
    if (spec->crop_count > 0) {
        (void)json_object_set_new(object, "crop",
                                  json_pack("[i,i]", (int)spec->crop[0], (int)spec->crop[1]));
    }
    build_reals(object, "mean", spec->mean, spec->mean_count);
    build_reals(object, "deviation", spec->deviation, spec->deviation_count);
}
