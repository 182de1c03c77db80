#include "data/image/image.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/image/codecs.h"

enum kind { JPEG, PNG, UNKNOWN };

static enum kind kind_of(const uint8_t *bytes, size_t size)
{
    if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0) { return JPEG; }
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) { return PNG; }
    return UNKNOWN;
}

enum tn_status image_check(uint64_t height, uint64_t width, uint32_t channels,
                           struct image_shape *out, struct error *error)
{
    assert(channels == 1 || channels == 3);
    if (height > IMAGE_SIDE_MAX || width > IMAGE_SIDE_MAX ||
        height * width * channels > IMAGE_BYTES_MAX) {
        return error_set(error, TN_EINVAL,
                         "the image has %" PRIu64 " x %" PRIu64 " pixels: at most %" PRIu64
                         " bytes and sides of %d are read",
                         height, width, IMAGE_BYTES_MAX, IMAGE_SIDE_MAX);
    }
    *out = (struct image_shape){(uint32_t)height, (uint32_t)width, channels};
    return TN_OK;
}

enum tn_status image_shape_of(const uint8_t *bytes, size_t size, struct image_shape *out,
                              struct error *error)
{
    assert(bytes != NULL || size == 0);
    *out = (struct image_shape){0};
    switch (kind_of(bytes, size)) {
    case JPEG: return jpeg_shape(bytes, size, out, error);
    case PNG: return png_shape(bytes, size, out, error);
    case UNKNOWN: break;
    }
    return error_set(error, TN_ECORRUPT, "not a JPEG or PNG image");
}

enum tn_status image_decode(const uint8_t *bytes, size_t size, struct image *out,
                            struct error *error)
{
    *out = (struct image){0};
    enum tn_status status = image_shape_of(bytes, size, &out->shape, error);
    if (status != TN_OK) { return status; }
    out->pixels = malloc(image_bytes(out->shape));
    if (out->pixels == NULL) { return error_set(error, TN_ENOMEM, "out of memory for an image"); }
    status = kind_of(bytes, size) == JPEG ? jpeg_decode(bytes, size, out->shape, out->pixels, error)
                                          : png_decode(bytes, size, out->shape, out->pixels, error);
    if (status != TN_OK) { image_free(out); }
    return status;
}

void image_free(struct image *image)
{
    free(image->pixels);
    *image = (struct image){0};
}

void image_convert(const uint8_t *pixels, struct image_shape shape, uint32_t channels, uint8_t *out)
{
    assert(channels == 1 || channels == 3);
    const size_t count = (size_t)shape.height * shape.width;
    if (channels == shape.channels) {
        memcpy(out, pixels, image_bytes(shape));
    } else if (channels == 3) {
        for (size_t i = 0; i < count; i++) { memset(out + 3 * i, pixels[i], 3); }
    } else {
        for (size_t i = 0; i < count; i++) {
            const uint32_t red = pixels[3 * i], green = pixels[3 * i + 1], blue = pixels[3 * i + 2];
            out[i] = (uint8_t)((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16);
        }
    }
}
