#include "common/base/utf8.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* Rows of table 3-7 of the Unicode standard: the first byte decides the length and the bounds of
 * the second; all later bytes are 80 to BF. */
static const struct {
    uint8_t first_low, first_high, second_low, second_high;
    size_t bytes;
} forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static bool is_within(char byte, uint8_t low, uint8_t high)
{
    return (uint8_t)byte >= low && (uint8_t)byte <= high;
}

size_t utf8_character_bytes(const char *text)
{
    assert(text != NULL);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t bytes = forms[i].bytes;
        if (!is_within(text[0], forms[i].first_low, forms[i].first_high)) { continue; }
        if (bytes > 1 && !is_within(text[1], forms[i].second_low, forms[i].second_high)) {
            return 0;
        }
        for (size_t j = 2; j < bytes; j++) {
            if (!is_within(text[j], 0x80, 0xbf)) { return 0; }
        }
        return bytes;
    }
    return 0;
}

bool utf8_is_valid(const char *text)
{
    assert(text != NULL);
    for (size_t bytes; (bytes = utf8_character_bytes(text)) > 0;) { text += bytes; }
    return *text == '\0';
}

/* Whether eight bytes are ASCII and none is zero: a byte borrows from the next one, or has its top
 * bit set, only where one is zero or 0x80 and more. */
static bool is_plain_word(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

size_t utf8_valid_bytes(const char *bytes, size_t size)
{
    size_t at = 0;
    assert(bytes != NULL || size == 0);
    while (at < size) {
        if (size - at >= sizeof(uint64_t) && is_plain_word(bytes + at)) {
            at += sizeof(uint64_t);
            continue;
        }
        char character[5] = "";
        memcpy(character, bytes + at, size - at < 4 ? size - at : 4);
        const size_t length = utf8_character_bytes(character);
        if (length == 0) { break; }
        at += length;
    }
    return at;
}

void utf8_clean(char *text)
{
    assert(text != NULL);
    while (*text != '\0') {
        size_t bytes = utf8_character_bytes(text);
        if (bytes == 0) { *text = '?'; }
        text += bytes > 0 ? bytes : 1;
    }
}

/* Bytes of the control character at `text`; 0: it is another one. U+0080 to U+009F are the
 * terminals' second set of control characters. */
static size_t control_bytes(const unsigned char *text)
{
    if (text[0] < 0x20 || text[0] == 0x7f) { return 1; }
    return text[0] == 0xc2 && text[1] < 0xa0 ? 2 : 0;
}

void utf8_plain(char *text)
{
    utf8_clean(text);
    for (size_t at = 0; text[at] != '\0';) {
        size_t control = control_bytes((const unsigned char *)text + at);
        size_t bytes = control > 0 ? control : utf8_character_bytes(text + at);
        assert(bytes > 0);
        if (control > 0) { memset(text + at, ' ', control); }
        at += bytes;
    }
}
