/*
 * data/formats/picture.h: encoded images as a column of equal shape, for formats that hold them:
 * folders, tar shards, TFRecord.
 */
#ifndef DATA_FORMATS_PICTURE_H
#define DATA_FORMATS_PICTURE_H

#include "common/base/json_codec.h"
#include "data/image/image.h"
#include "data/source/source.h"

enum picture_fit { PICTURE_CROP, PICTURE_STRETCH };

/* The keys of data.options that all of these formats have. */
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

/* The rows of these keys in a table of data.options; `record` has a member `picture`. */
#define PICTURE_FIELDS(record)                                                                     \
    {.name = "size",                                                                               \
     .type = FIELD_LIST,                                                                           \
     JSON_MEMBER(record, picture.size),                                                            \
     .length_offset = offsetof(record, picture.size_count),                                        \
     .least = 2,                                                                                   \
     .element = &picture_side},                                                                    \
        {.name = "channels",                                                                       \
         .type = FIELD_UINT,                                                                       \
         JSON_MEMBER(record, picture.channels),                                                    \
         .least = 1,                                                                               \
         .most = 3},                                                                               \
    {                                                                                              \
        .name = "fit", .type = FIELD_ENUM, JSON_MEMBER(record, picture.fit), .names = picture_fits \
    }
extern const struct json_field picture_side;
extern const char *const picture_fits[];

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
