/* Lines and texts as pixels: their places, colours and edges. */
#include "cli/curves/raster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/curves/letters.h"

enum { WHITE = 0xffffff, RED = 0xff0000 };

static unsigned pixel(const struct raster *raster, uint32_t x, uint32_t y)
{
    assert_true(x < raster->width && y < raster->height);
    const uint8_t *at = raster->pixels + 3 * ((size_t)y * raster->width + x);
    return (unsigned)at[0] << 16 | (unsigned)at[1] << 8 | at[2];
}

/* How many pixels of the part [left, right) x [top, bottom) are not white. */
static size_t inked(const struct raster *raster, uint32_t left, uint32_t top, uint32_t right,
                    uint32_t bottom)
{
    size_t count = 0;
    for (uint32_t y = top; y < bottom; y++) {
        for (uint32_t x = left; x < right; x++) { count += pixel(raster, x, y) != WHITE; }
    }
    return count;
}

/* A line has its width and colour, and nothing else changes. */
static void line_covers_its_pixels(void **state)
{
    (void)state;
    struct raster raster;
    assert_true(raster_init(&raster, 40, 20, 2));
    const struct pen_place places[] = {{5, 5}, {15, 5}};
    raster_line(&raster, places, 2, RED, 2, false); /* Pixels 10 to 30, rows 8 to 11. */
    for (uint32_t x = 10; x < 30; x++) {
        for (uint32_t y = 8; y < 12; y++) { assert_int_equal(pixel(&raster, x, y), RED); }
        assert_int_equal(pixel(&raster, x, 7), WHITE);
        assert_int_equal(pixel(&raster, x, 12), WHITE);
    }
    assert_int_equal(inked(&raster, 0, 0, 7, 20) + inked(&raster, 33, 0, 40, 20), 0);
    raster_free(&raster);
}

/* Edges between pixels are mixed, and where a line turns, no pixel is covered twice. */
static void edges_are_smooth(void **state)
{
    (void)state;
    struct raster raster;
    assert_true(raster_init(&raster, 40, 40, 1));
    const struct pen_place places[] = {{5, 10.5}, {20, 10.5}, {20, 10.5}, {5, 10.5}};
    raster_line(&raster, places, 4, 0, 2, false);
    const unsigned edge = pixel(&raster, 12, 9) & 255;
    assert_in_range(edge, 126, 129);
    assert_int_equal(pixel(&raster, 12, 10), 0);
    raster_free(&raster);
}

/* Dashes and gaps alternate along the whole line, whatever its segments. */
static void dashes_have_gaps(void **state)
{
    (void)state;
    struct raster raster;
    assert_true(raster_init(&raster, 60, 10, 1));
    const struct pen_place places[] = {{2, 5}, {5, 5}, {50, 5}};
    raster_line(&raster, places, 3, RED, 2, true);
    for (uint32_t x = 2; x < 50; x++) {
        assert_int_equal(pixel(&raster, x, 5), (x - 2) % 8 < 4 ? RED : WHITE);
    }
    raster_free(&raster);
}

/* A single place is a dot. Places outside are cut off. */
static void dots_and_places_outside(void **state)
{
    (void)state;
    struct raster raster;
    assert_true(raster_init(&raster, 20, 20, 1));
    raster_line(&raster, &(struct pen_place){10, 10}, 1, RED, 1, false);
    assert_int_equal(pixel(&raster, 8, 10), RED);
    assert_int_equal(pixel(&raster, 11, 10), RED);
    assert_int_equal(inked(&raster, 0, 0, 20, 6) + inked(&raster, 0, 14, 20, 20), 0);
    const struct pen_place outside[] = {{-100, -100}, {300, -50}};
    const struct pen_place through[] = {{-1e9, 17}, {1e9, 17}};
    const size_t before = inked(&raster, 0, 0, 20, 20);
    raster_line(&raster, outside, 2, RED, 2, false);
    raster_line(&raster, outside, 0, RED, 2, false);
    assert_int_equal(inked(&raster, 0, 0, 20, 20), before);
    raster_line(&raster, through, 2, RED, 2, false);
    assert_int_equal(inked(&raster, 0, 16, 20, 18), 40);
    raster_free(&raster);
}

/* The anchor is where the text starts, its middle or its end; it stands on its baseline. */
static void texts_are_at_their_anchors(void **state)
{
    (void)state;
    for (enum pen_anchor anchor = PEN_START; anchor <= PEN_END; anchor++) {
        struct raster raster;
        assert_true(raster_init(&raster, 300, 60, 1));
        raster_text(&raster, (struct pen_place){150, 30}, anchor, 20, RED, "STEP");
        const size_t left = inked(&raster, 0, 0, 148, 60), right = inked(&raster, 152, 0, 300, 60);
        assert_int_equal(left > 0, anchor != PEN_START);
        assert_int_equal(right > 0, anchor != PEN_END);
        assert_int_equal(inked(&raster, 0, 33, 300, 60), 0);
        assert_int_equal(inked(&raster, 0, 0, 300, 13), 0);
        raster_free(&raster);
    }
}

static size_t ink_of(const char *text)
{
    struct raster raster;
    assert_true(raster_init(&raster, 40, 40, 1));
    raster_text(&raster, (struct pen_place){5, 25}, PEN_START, 20, RED, text);
    const size_t ink = inked(&raster, 0, 0, 40, 40);
    raster_free(&raster);
    return ink;
}

/* Every printable character has lines on the grid; a character of several bytes is one box. */
static void all_characters_are_drawn(void **state)
{
    (void)state;
    for (char c = ' ' + 1; c < 0x7f; c++) {
        const char text[] = {c, '\0'}, *rest = text;
        struct letter letter;
        struct letter_place places[LETTER_PLACES_MAX];
        assert_true(letter_next(&rest, &letter));
        for (size_t count; (count = letter_stroke(&letter, places)) > 0;) {
            for (size_t i = 0; i < count; i++) {
                assert_in_range(places[i].x, 0, letter.width);
                assert_in_range(places[i].y, 0, 8);
            }
        }
        assert_string_equal(rest, "");
        assert_true(ink_of(text) > 0);
    }
    assert_int_equal(ink_of(" "), 0);
    assert_int_equal(ink_of("\xe2\x86\x92"), ink_of("\x01"));
    assert_true(ink_of("\xe2\x86\x92") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_covers_its_pixels),     cmocka_unit_test(edges_are_smooth),
        cmocka_unit_test(dashes_have_gaps),           cmocka_unit_test(dots_and_places_outside),
        cmocka_unit_test(texts_are_at_their_anchors), cmocka_unit_test(all_characters_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
