/* data/image/codecs.h: one decoder for each kind of image, for data/image/image.c. */
#ifndef DATA_IMAGE_CODECS_H
#define DATA_IMAGE_CODECS_H

#include "data/image/image.h"

/* Errors as those of image_decode(). */
MUST_CHECK enum tn_status jpeg_shape(const uint8_t *bytes, size_t size, struct image_shape *out,
                                     struct error *error);
/* Decode into pixels[0..image_bytes(shape)), where `shape` is what jpeg_shape() gave. */
MUST_CHECK enum tn_status jpeg_decode(const uint8_t *bytes, size_t size, struct image_shape shape,
                                      uint8_t *pixels, struct error *error);
MUST_CHECK enum tn_status png_shape(const uint8_t *bytes, size_t size, struct image_shape *out,
                                    struct error *error);
MUST_CHECK enum tn_status png_decode(const uint8_t *bytes, size_t size, struct image_shape shape,
                                     uint8_t *pixels, struct error *error);

/* Check the size of an image before memory is allocated for it. */
MUST_CHECK enum tn_status image_check(uint64_t height, uint64_t width, uint32_t channels,
                                      struct image_shape *out, struct error *error);

#endif
