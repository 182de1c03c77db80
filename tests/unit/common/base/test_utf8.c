/* common/base/utf8.h: valid characters, and the replacement of invalid bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/utf8.h"

/* The bounds of each length are characters. */
static void characters_have_one_to_four_bytes(void **state)
{
    (void)state;
    static const char *const good[] = {
        "\x01",         "\x7f",         "\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(utf8_character_bytes(good[i]), strlen(good[i]));
        assert_true(utf8_is_valid(good[i]));
    }
    assert_int_equal(utf8_character_bytes(""), 0);
    assert_true(utf8_is_valid(""));
}

/* Overlong forms, surrogates, cut sequences, lone bytes and codes above U+10FFFF are not valid;
 * jansson agrees, or json_string() would fail on cleaned texts. */
static void other_bytes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2x",
                                      "\xe0\x9f\xbf",
                                      "\xe0\xa0",
                                      "\xed\xa0\x80",
                                      "\xe1\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf0\x90\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(utf8_character_bytes(bad[i]), 0);
        assert_false(utf8_is_valid(bad[i]));
    }
}

/* Each byte that is not part of a character becomes '?'; the rest stays. */
static void cleaning_keeps_characters(void **state)
{
    (void)state;
    char text[] = "a\xff\xc3\xa9\xe2\x82 b\xf0\x9f\x98";
    utf8_clean(text);
    assert_string_equal(text, "a?\xc3\xa9?? b???");
    char good[] = "caf\xc3\xa9 \xe2\x82\xac\n";
    utf8_clean(good);
    assert_string_equal(good, "caf\xc3\xa9 \xe2\x82\xac\n");
}

/* Any two bytes are valid after cleaning, and nothing that was valid changes. */
static void cleaned_texts_are_valid(void **state)
{
    (void)state;
    for (unsigned bytes = 0; bytes < 1U << 16; bytes++) {
        char text[4] = {(char)(bytes >> 8), (char)bytes, '\x80', '\0'}, before[4];
        memcpy(before, text, sizeof text);
        bool valid = utf8_is_valid(text);
        utf8_clean(text);
        assert_true(utf8_is_valid(text));
        assert_int_equal(valid, strcmp(text, before) == 0);
    }
}

/* A displayed text is one line without escape sequences; characters stay. */
static void plain_texts_have_no_control_characters(void **state)
{
    (void)state;
    char text[] = "a\x1b]0;title\x07\n\tb\x7f \xc2\x9b"
                  "31m caf\xc3\xa9 \xc2\xa0\xff";
    utf8_plain(text);
    assert_string_equal(text, "a ]0;title   b    31m caf\xc3\xa9 \xc2\xa0?");
}

/* The valid prefix ends at the first byte that is not part of a character, wherever it is. */
static void valid_bytes_are_counted(void **state)
{
    (void)state;
    const char text[] = "plain ASCII text, caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 end";
    assert_int_equal(utf8_valid_bytes(text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(utf8_valid_bytes(text, sizeof text), sizeof text - 1); /* The zero byte. */
    for (size_t at = 0; at < sizeof text - 1; at++) {
        char bad[sizeof text];
        memcpy(bad, text, sizeof text);
        bad[at] = '\xff';
        const size_t valid = utf8_valid_bytes(bad, sizeof bad - 1);
        assert_true(valid <= at && valid + 4 > at);
        assert_true(utf8_valid_bytes(text, at) <= at);
    }
    assert_int_equal(utf8_valid_bytes("a\xc3", 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_have_one_to_four_bytes),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(valid_bytes_are_counted),
        cmocka_unit_test(cleaning_keeps_characters),
        cmocka_unit_test(cleaned_texts_are_valid),
        cmocka_unit_test(plain_texts_have_no_control_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
