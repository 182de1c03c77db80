#include "data/formats/picture.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/json_codec.h"
#include "data/formats/formats.h"

static const char *const fits[] = {[PICTURE_CROP] = "crop", [PICTURE_STRETCH] = "stretch", NULL};
static const struct json_field side = {
    .type = FIELD_UINT, .size = sizeof(uint32_t), .least = 1, .most = 1 << 12};
static const struct json_field fields[] = {
    {.name = "size",
     .type = FIELD_LIST,
     JSON_MEMBER(struct picture_options, size),
     .length_offset = offsetof(struct picture_options, size_count),
     .least = 2,
     .element = &side},
    {.name = "channels",
     .type = FIELD_UINT,
     JSON_MEMBER(struct picture_options, channels),
     .least = 1,
     .most = 3},
    {.name = "fit", .type = FIELD_ENUM, JSON_MEMBER(struct picture_options, fit), .names = fits},
};

const struct json_part picture_keys = {JSON_FIELDS(fields)};

enum tn_status picture_read_options(const char *text, struct picture_options *out,
                                    struct error *error)
{
    static const struct json_table table = {JSON_FIELDS(fields), .rules = JSON_UNKNOWN_REFUSED,
                                            .status = TN_EINVAL};
    *out = (struct picture_options){0};
    return formats_read_options(text, &table, out, error);
}

enum tn_status picture_begin(const struct picture_options *options, const uint8_t *bytes,
                             size_t size, struct picture *out, struct error *error)
{
    assert(options->size_count == 0 || options->size_count == 2);
    if (options->channels == 2) {
        return error_set(error, TN_EINVAL, "data.options.channels is 2: 1 is grey, 3 is colour");
    }
    *out = (struct picture){.fit = options->fit, .resized = options->size_count == 2};
    enum tn_status status = image_shape_of(bytes, size, &out->shape, error);
    if (status != TN_OK) { return status; }
    if (out->resized) {
        out->shape.height = options->size[0];
        out->shape.width = options->size[1];
    }
    if (options->channels != 0) { out->shape.channels = options->channels; }
    return TN_OK;
}

enum tn_status picture_check(const struct picture *picture, const uint8_t *bytes, size_t size,
                             struct error *error)
{
    struct image_shape shape;
    enum tn_status status = image_shape_of(bytes, size, &shape, error);
    const bool same = shape.height == picture->shape.height && shape.width == picture->shape.width;
    if (status != TN_OK || picture->resized || same) { return status; }
    return error_set(
        error, TN_EINVAL,
        "the image is %u x %u, but the first one is %u x %u: give one for all, such as "
        "data.options {\"size\": [%u, %u]}",
        shape.height, shape.width, picture->shape.height, picture->shape.width,
        picture->shape.height, picture->shape.width);
}

/* Fit the image to the picture's size, and give it its channels. */
static enum tn_status fit(const struct picture *picture, const struct image *image, uint8_t *out,
                          struct error *error)
{
    struct image_shape shape = picture->shape;
    if (image->shape.height == shape.height && image->shape.width == shape.width) {
        image_convert(image->pixels, image->shape, shape.channels, out);
        return TN_OK;
    }
    struct image_box box = {.height = image->shape.height, .width = image->shape.width};
    if (picture->fit == PICTURE_CROP) {
        box = image_middle(image->shape, shape.height, shape.width);
    }
    shape.channels = image->shape.channels;
    uint8_t *resized = malloc(image_bytes(shape));
    if (resized == NULL) { return error_set(error, TN_ENOMEM, "out of memory for an image"); }
    enum tn_status status =
        image_resize(image->pixels, image->shape, box, shape.height, shape.width, resized, error);
    if (status == TN_OK) { image_convert(resized, shape, picture->shape.channels, out); }
    free(resized);
    return status;
}

enum tn_status picture_read(const struct picture *picture, const uint8_t *bytes, size_t size,
                            struct source_row *row, struct source_cell *cell, struct error *error)
{
    struct image image;
    enum tn_status status = picture_check(picture, bytes, size, error);
    if (status == TN_OK) { status = image_decode(bytes, size, &image, error); }
    if (status != TN_OK) { return status; }
    uint8_t *pixels = source_row_take(row, image_bytes(picture->shape));
    if (pixels != NULL) {
        status = fit(picture, &image, pixels, error);
    } else {
        status = error_set(error, TN_ENOMEM, "out of memory for an image");
    }
    image_free(&image);
    cell->bytes = pixels;
    cell->size = image_bytes(picture->shape);
    return status;
}

void picture_describe(const struct picture *picture, struct source_column *column)
{
    column->kind = SOURCE_BYTES;
    column->rank = 3;
    column->shape[0] = picture->shape.height;
    column->shape[1] = picture->shape.width;
    column->shape[2] = picture->shape.channels;
}
