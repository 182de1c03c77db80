/*
 * data/image/image.h: images as arrays of bytes: decoding, encoding, conversion, cropping and
 * resizing.
 *
 * A pixel has one channel (grey) or three (red, green, blue). Arithmetic is exact or in doubles in
 * one order, so that the bits are the same on every processor; those of JPEG are the same for one
 * version of libjpeg-turbo.
 *
 * Threads: any; nothing is shared.
 */
#ifndef DATA_IMAGE_IMAGE_H
#define DATA_IMAGE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { IMAGE_SIDE_MAX = 1 << 15 };
#define IMAGE_BYTES_MAX (UINT64_C(1) << 28) /* A decoded image. */

struct image_shape {
    uint32_t height, width, channels; /* Channels: 1 or 3. */
};

struct image {
    struct image_shape shape;
    uint8_t *pixels; /* [height][width][channels], malloc'ed. */
};

static inline size_t image_bytes(struct image_shape shape)
{
    return (size_t)shape.height * shape.width * shape.channels;
}

void image_free(struct image *image); /* A zeroed one is allowed. */

/*
 * The shape of a JPEG or PNG image in bytes[0..size), from its header, and the image. Colours are
 * as they are stored: profiles and orientations are ignored; transparency is dropped, and 16 bits
 * become the upper 8.
 *   TN_ECORRUPT  neither JPEG nor PNG, or damaged, cut off
 *   TN_EINVAL    too large, or of another kind (CMYK)
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status image_shape_of(const uint8_t *bytes, size_t size, struct image_shape *out,
                                         struct error *error);
MUST_CHECK enum tn_status image_decode(const uint8_t *bytes, size_t size, struct image *out,
                                       struct error *error);

/* The image as a PNG file in `*bytes`, malloc'ed. TN_ENOMEM. */
MUST_CHECK enum tn_status image_encode_png(const struct image *image, uint8_t **bytes, size_t *size,
                                           struct error *error);

/* The same pixels with `channels` channels, in `out`: [height][width][channels]. Grey is
 * 0.299 red + 0.587 green + 0.114 blue, as Pillow computes it. */
void image_convert(const uint8_t *pixels, struct image_shape shape, uint32_t channels,
                   uint8_t *out);

/* A part of an image. */
struct image_box {
    uint32_t top, left, height, width;
};

/* The largest part in the middle with the sides' ratio of `height` to `width`. */
struct image_box image_middle(struct image_shape shape, uint32_t height, uint32_t width);

/*
 * The part `box` in `height` x `width`: linear interpolation over the area that a pixel covers,
 * first along rows, then along columns, each with the bits of Pillow's resize() with BILINEAR.
 * `out` has image_bytes() of the new shape. TN_ENOMEM: for the rows in between.
 */
MUST_CHECK enum tn_status image_resize(const uint8_t *pixels, struct image_shape shape,
                                       struct image_box box, uint32_t height, uint32_t width,
                                       uint8_t *out, struct error *error);

#endif
