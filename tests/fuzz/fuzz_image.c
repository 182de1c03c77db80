/* Fuzz target: any bytes are an image or give an error; an image can be resized to any size. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "data/image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { PIXELS_MAX = 1 << 20 }; /* Larger ones make a fuzzer slow. */

static void resize(const struct image *image, uint32_t height, uint32_t width)
{
    const struct image_box box = image_middle(image->shape, height, width);
    struct image_shape shape = {height, width, image->shape.channels};
    uint8_t *out = malloc(image_bytes(shape)), *grey = malloc((size_t)height * width);
    assert(out != NULL && grey != NULL);
    if (image_resize(image->pixels, image->shape, box, height, width, out, NULL) == TN_OK) {
        image_convert(out, shape, 1, grey);
    }
    free(out);
    free(grey);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct image image;
    struct image_shape shape;
    struct error error = {.text = ""};
    if (image_shape_of(bytes, size, &shape, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return 0;
    }
    if (image_bytes(shape) > PIXELS_MAX) { return 0; }
    if (image_decode(bytes, size, &image, &error) != TN_OK) {
        assert(error.text[0] != '\0' && image.pixels == NULL);
        return 0;
    }
    resize(&image, 1 + bytes[size - 1] % 32, 1 + bytes[size / 2] % 32);
    image_free(&image);
    return 0;
}
