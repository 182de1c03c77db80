/* Images: decoding of valid and damaged ones, conversion, parts and resizing. */
#include "data/image/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 2 x 2 pixels: red, green; blue, (10, 20, 30). */
static const uint8_t png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd, 0xd4, 0x9a,
    0x73, 0x00, 0x00, 0x00, 0x16, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xc0,
    0xf0, 0x9f, 0x81, 0x81, 0x81, 0xe1, 0x3f, 0x97, 0x88, 0x1c, 0x00, 0x1a, 0x58, 0x03, 0x3a, 0x82,
    0xe0, 0xab, 0x53, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

/* 8 x 8 grey pixels of 200. */
static const uint8_t jpeg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x1b, 0x12, 0x14, 0x17, 0x14, 0x11, 0x1b,
    0x17, 0x16, 0x17, 0x1e, 0x1c, 0x1b, 0x20, 0x28, 0x42, 0x2b, 0x28, 0x25, 0x25, 0x28, 0x51, 0x3a,
    0x3d, 0x30, 0x42, 0x60, 0x55, 0x65, 0x64, 0x5f, 0x55, 0x5d, 0x5b, 0x6a, 0x78, 0x99, 0x81, 0x6a,
    0x71, 0x90, 0x73, 0x5b, 0x5d, 0x85, 0xb5, 0x86, 0x90, 0x9e, 0xa3, 0xab, 0xad, 0xab, 0x67, 0x80,
    0xbc, 0xc9, 0xba, 0xa6, 0xc7, 0x99, 0xa8, 0xab, 0xa4, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x08,
    0x00, 0x08, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0xff, 0xc4, 0x00, 0x14,
    0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x55, 0xff, 0xd9,
};

static void expect_refused(const uint8_t *bytes, size_t size, enum tn_status status,
                           const char *text)
{
    struct image image;
    struct error error = {.text = ""};
    if (image_decode(bytes, size, &image, &error) != status) { fail_msg("%s", error.text); }
    if (strstr(error.text, text) == NULL) { fail_msg("'%s' is not in '%s'", text, error.text); }
    assert_null(image.pixels);
}

/* Both kinds are decoded to their pixels, in as many channels as they have. */
static void test_images_are_decoded(void **state)
{
    (void)state;
    static const uint8_t colours[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};
    struct image image;
    assert_int_equal(image_decode(png, sizeof png, &image, NULL), TN_OK);
    assert_int_equal(image.shape.height, 2);
    assert_int_equal(image.shape.width, 2);
    assert_int_equal(image.shape.channels, 3);
    assert_memory_equal(image.pixels, colours, sizeof colours);
    image_free(&image);
    assert_int_equal(image_decode(jpeg, sizeof jpeg, &image, NULL), TN_OK);
    assert_int_equal(image.shape.height, 8);
    assert_int_equal(image.shape.channels, 1);
    for (size_t i = 0; i < 64; i++) { assert_in_range(image.pixels[i], 198, 202); }
    image_free(&image);
}

/* An image cut off anywhere is refused; none is completed with invented pixels. A PNG's last 12
 * bytes are a chunk without contents. */
static void test_truncated_images_are_refused(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof png; cut++) { expect_refused(png, cut, TN_ECORRUPT, ""); }
    for (size_t cut = 0; cut < sizeof jpeg - 2; cut++) {
        expect_refused(jpeg, cut, TN_ECORRUPT, "");
    }
}

/* A changed byte of a PNG's pixels or header is found by its checksum. */
static void test_damaged_images_are_refused(void **state)
{
    (void)state;
    uint8_t copy[sizeof png];
    for (size_t i = 16; i < sizeof png - 16; i++) {
        memcpy(copy, png, sizeof png);
        copy[i] ^= 0x20;
        expect_refused(copy, sizeof copy, TN_ECORRUPT, "the PNG image is damaged: ");
    }
    expect_refused((const uint8_t *)"GIF89a", 6, TN_ECORRUPT, "not a JPEG or PNG image");
}

/* A header that asks for more memory than an image may need is refused before any is allocated. */
static void test_huge_images_are_refused(void **state)
{
    (void)state;
    uint8_t copy[sizeof jpeg];
    memcpy(copy, jpeg, sizeof jpeg);
    size_t at = 0;
    while (at + 1 < sizeof copy && (copy[at] != 0xff || copy[at + 1] != 0xc0)) { at++; }
    assert_true(at + 9 < sizeof copy);
    memset(copy + at + 5, 0x7f, 4); /* Height and width of the frame. */
    expect_refused(copy, sizeof copy, TN_EINVAL, "32639 x 32639 pixels: at most");
}

/* Grey is the weighted sum of the colours, and colours of grey are equal. */
static void test_channels_are_converted(void **state)
{
    (void)state;
    static const uint8_t colours[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
    static const uint8_t greys[] = {76, 150, 29, 255};
    static const uint8_t again[] = {76, 76, 76, 150, 150, 150, 29, 29, 29, 255, 255, 255};
    uint8_t out[12];
    image_convert(colours, (struct image_shape){1, 4, 3}, 1, out);
    assert_memory_equal(out, greys, sizeof greys);
    image_convert(greys, (struct image_shape){1, 4, 1}, 3, out);
    assert_memory_equal(out, again, sizeof again);
    image_convert(colours, (struct image_shape){1, 4, 3}, 3, out);
    assert_memory_equal(out, colours, sizeof colours);
}

/* The middle part has the wanted ratio, and at least one pixel. */
static void test_the_middle_has_the_ratio(void **state)
{
    (void)state;
    struct image_box box = image_middle((struct image_shape){100, 200, 3}, 10, 10);
    assert_int_equal(box.left, 50);
    assert_int_equal(box.top, 0);
    assert_int_equal(box.height, 100);
    assert_int_equal(box.width, 100);
    box = image_middle((struct image_shape){101, 50, 3}, 20, 10);
    assert_int_equal(box.top, 0);
    assert_int_equal(box.height, 100);
    box = image_middle((struct image_shape){1, 1, 3}, 1, 4096);
    assert_int_equal(box.height, 1);
    assert_int_equal(box.width, 1);
}

/* Reducing takes the mean of what a pixel covers, enlarging interpolates, and the same size copies
 * the part. The expected values are Pillow's. */
static void test_images_are_resized(void **state)
{
    (void)state;
    static const uint8_t row[] = {0, 100, 200, 40};
    static const uint8_t half[] = {71, 117}, twice[] = {0, 25, 75, 125, 175, 160, 80, 40};
    const struct image_shape shape = {1, 4, 1};
    const struct image_box all = {.height = 1, .width = 4};
    uint8_t out[8];
    assert_int_equal(image_resize(row, shape, all, 1, 2, out, NULL), TN_OK);
    assert_memory_equal(out, half, sizeof half);
    assert_int_equal(image_resize(row, shape, all, 1, 8, out, NULL), TN_OK);
    assert_memory_equal(out, twice, sizeof twice);
    assert_int_equal(image_resize(row, (struct image_shape){4, 1, 1},
                                  (struct image_box){.height = 4, .width = 1}, 2, 1, out, NULL),
                     TN_OK);
    assert_memory_equal(out, half, sizeof half);
    const struct image_box part = {.left = 1, .height = 1, .width = 2};
    assert_int_equal(image_resize(row, shape, part, 1, 2, out, NULL), TN_OK);
    assert_memory_equal(out, row + 1, 2);
}

/* A PNG file that is written has the image's pixels. */
static void test_images_are_encoded(void **state)
{
    (void)state;
    for (uint32_t channels = 1; channels <= 3; channels += 2) {
        uint8_t pixels[7 * 5 * 3], *bytes = NULL;
        const struct image written = {{7, 5, channels}, pixels};
        struct image read;
        size_t size = 0;
        for (size_t i = 0; i < sizeof pixels; i++) { pixels[i] = (uint8_t)(37 * i); }
        assert_int_equal(image_encode_png(&written, &bytes, &size, NULL), TN_OK);
        assert_int_equal(image_decode(bytes, size, &read, NULL), TN_OK);
        assert_int_equal(read.shape.height, 7);
        assert_int_equal(read.shape.width, 5);
        assert_int_equal(read.shape.channels, channels);
        assert_memory_equal(read.pixels, pixels, image_bytes(read.shape));
        image_free(&read);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_are_decoded),
        cmocka_unit_test(test_images_are_encoded),
        cmocka_unit_test(test_truncated_images_are_refused),
        cmocka_unit_test(test_damaged_images_are_refused),
        cmocka_unit_test(test_huge_images_are_refused),
        cmocka_unit_test(test_channels_are_converted),
        cmocka_unit_test(test_the_middle_has_the_ratio),
        cmocka_unit_test(test_images_are_resized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
