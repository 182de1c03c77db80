#include <assert.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/image/codecs.h"

enum { CHUNK_BYTES_MAX = 1 << 23, SIGNATURE_BYTES = 8 };

/* The state of one call: what the library's callbacks need. */
struct reader {
    const uint8_t *at;
    size_t rest;
    char text[128]; /* The library's error. */
    png_structp png;
    png_infop info;
    png_bytep *rows;
};

static void take(png_structp png, png_bytep out, size_t size)
{
    struct reader *reader = png_get_io_ptr(png);
    if (size > reader->rest) { png_error(png, "it is cut off"); }
    memcpy(out, reader->at, size);
    reader->at += size;
    reader->rest -= size;
}

_Noreturn static void on_error(png_structp png, png_const_charp text)
{
    struct reader *reader = png_get_error_ptr(png);
    const size_t size = size_min(strlen(text), sizeof reader->text - 1);
    memcpy(reader->text, text, size);
    reader->text[size] = '\0';
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text; /* About chunks that do not change pixels. */
}

static enum tn_status open_reader(struct reader *reader, const uint8_t *bytes, size_t size,
                                  struct error *error)
{
    *reader = (struct reader){.at = bytes, .rest = size};
    reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, on_error, on_warning);
    if (reader->png != NULL) { reader->info = png_create_info_struct(reader->png); }
    if (reader->info != NULL) { return TN_OK; }
    png_destroy_read_struct(&reader->png, NULL, NULL);
    return error_set(error, TN_ENOMEM, "out of memory for an image");
}

static void close_reader(struct reader *reader)
{
    free(reader->rows);
    png_destroy_read_struct(&reader->png, &reader->info, NULL);
}

/* Everything becomes 8 bits of grey or RGB. */
static void set_conversions(png_structp png)
{
    png_set_read_fn(png, png_get_error_ptr(png), take);
    png_set_user_limits(png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
    png_set_chunk_malloc_max(png, CHUNK_BYTES_MAX);
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
}

static uint32_t channels_of(const struct reader *reader)
{
    const unsigned type = png_get_color_type(reader->png, reader->info);
    return (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
}

/* Returns false when the library reports an error, by a jump. */
static bool read_header(struct reader *reader)
{
    if (setjmp(png_jmpbuf(reader->png)) != 0) { return false; }
    set_conversions(reader->png);
    png_read_info(reader->png, reader->info);
    return true;
}

static bool read_pixels(struct reader *reader)
{
    if (setjmp(png_jmpbuf(reader->png)) != 0) { return false; }
    (void)png_set_interlace_handling(reader->png);
    png_read_update_info(reader->png, reader->info);
    png_read_image(reader->png, reader->rows);
    png_read_end(reader->png, NULL);
    return true;
}

static enum tn_status refuse(const struct reader *reader, struct error *error)
{
    return error_set(error, TN_ECORRUPT, "the PNG image is damaged: %s", reader->text);
}

static enum tn_status read_shape(struct reader *reader, struct image_shape *out,
                                 struct error *error)
{
    if (!read_header(reader)) { return refuse(reader, error); }
    return image_check(png_get_image_height(reader->png, reader->info),
                       png_get_image_width(reader->png, reader->info), channels_of(reader), out,
                       error);
}

enum tn_status png_shape(const uint8_t *bytes, size_t size, struct image_shape *out,
                         struct error *error)
{
    struct reader reader;
    enum tn_status status = open_reader(&reader, bytes, size, error);
    if (status != TN_OK) { return status; }
    status = read_shape(&reader, out, error);
    close_reader(&reader);
    return status;
}

static enum tn_status decode(struct reader *reader, struct image_shape shape, uint8_t *pixels,
                             struct error *error)
{
    struct image_shape read;
    enum tn_status status = read_shape(reader, &read, error);
    if (status != TN_OK) { return status; }
    assert(read.height == shape.height && read.width == shape.width);
    assert(read.channels == shape.channels);
    const size_t stride = (size_t)shape.width * shape.channels;
    reader->rows = malloc(shape.height * sizeof *reader->rows);
    if (reader->rows == NULL) { return error_set(error, TN_ENOMEM, "out of memory for an image"); }
    for (uint32_t row = 0; row < shape.height; row++) { reader->rows[row] = pixels + row * stride; }
    return read_pixels(reader) ? TN_OK : refuse(reader, error);
}

enum tn_status png_decode(const uint8_t *bytes, size_t size, struct image_shape shape,
                          uint8_t *pixels, struct error *error)
{
    struct reader reader;
    enum tn_status status = open_reader(&reader, bytes, size, error);
    if (status != TN_OK) { return status; }
    status = decode(&reader, shape, pixels, error);
    close_reader(&reader);
    return status;
}

/* ---------------------------------------------------------------- writing */

enum tn_status image_encode_png(const struct image *image, uint8_t **bytes, size_t *size,
                                struct error *error)
{
    assert(image != NULL && image->pixels != NULL);
    assert(image->shape.height >= 1 && image->shape.width >= 1);
    png_image png = {
        .version = PNG_IMAGE_VERSION,
        .width = image->shape.width,
        .height = image->shape.height,
        .format = image->shape.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY,
        .flags = PNG_IMAGE_FLAG_FAST,
    };
    png_alloc_size_t used = PNG_IMAGE_PNG_SIZE_MAX(png);
    *size = 0;
    *bytes = malloc(used);
    if (*bytes == NULL) { return error_set(error, TN_ENOMEM, "out of memory for an image"); }
    if (png_image_write_to_memory(&png, *bytes, &used, 0, image->pixels, 0, NULL) == 0) {
        free(*bytes);
        *bytes = NULL;
        return error_set(error, TN_ENOMEM, "the image cannot be encoded: %s", png.message);
    }
    *size = used;
    return TN_OK;
}
