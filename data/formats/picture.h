/*
 * data/formats/picture.h: encoded images as a column of equal shape, for formats that hold them:
 * folders, tar shards, TFRecord files.
 */
#ifndef DATA_FORMATS_PICTURE_H
#define DATA_FORMATS_PICTURE_H

#include "common/base/error.h"
#include "common/base/json_codec.h"
#include "data/image/image.h"
#include "data/source/source.h"

enum picture_fit { PICTURE_CROP, PICTURE_STRETCH };

/* The keys of data.options of these formats. */
struct picture_options {
    uint32_t size_count; /* 2, or 0: images have the shape of the first one. */
    uint32_t size[2];    /* Height and width. */
    uint32_t channels;   /* 1 or 3; 0: as those of the first image. */
    enum picture_fit fit;
};

/* The column that images become. */
struct picture {
    struct image_shape shape;
    bool resized;
    enum picture_fit fit;
};

/* The keys of a record that begins with a struct picture_options. */
extern const struct json_part picture_keys;

/* Read data.options of a format that has no other keys; "": none is given. TN_EINVAL names the
 * key. */
MUST_CHECK enum tn_status picture_read_options(const char *text, struct picture_options *out,
                                               struct error *error);

/* Begin with the first image. TN_EINVAL: channels are 2; errors of image_shape_of(). */
MUST_CHECK enum tn_status picture_begin(const struct picture_options *options, const uint8_t *bytes,
                                        size_t size, struct picture *out, struct error *error);

/* Check the header of another image: TN_EINVAL: it has another shape, and none was given. */
MUST_CHECK enum tn_status picture_check(const struct picture *picture, const uint8_t *bytes,
                                        size_t size, struct error *error);

/* Decode an image into memory of the row. */
MUST_CHECK enum tn_status picture_read(const struct picture *picture, const uint8_t *bytes,
                                       size_t size, struct source_row *row,
                                       struct source_cell *cell, struct error *error);

/* Fill kind, rank and shape of a column. */
void picture_describe(const struct picture *picture, struct source_column *column);

#endif
