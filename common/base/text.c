#include "common/base/text.h"

#include <assert.h>

struct text text_begin(char *at, size_t size)
{
    assert(size > 0);
    at[0] = '\0';
    return (struct text){.at = at, .size = size, .used = 0};
}

static void add_character(struct text *text, char character)
{
    assert(text->used < text->size);
    if (text->used + 1 >= text->size) { return; }
    text->at[text->used++] = character;
    text->at[text->used] = '\0';
}

void text_add(struct text *text, const char *source)
{
    assert(source != NULL);
    while (*source != '\0') { add_character(text, *source++); }
}

void text_add_number(struct text *text, uint64_t number)
{
    char digits[20];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) { add_character(text, digits[--count]); }
}

void text_set(char *at, size_t size, const char *source)
{
    struct text text = text_begin(at, size);
    if (source != NULL) { text_add(&text, source); }
}

bool text_ends_with(const char *text, const char *end)
{
    assert(text != NULL && end != NULL);
    while (*text != '\0' && !text_equal(text, end)) { text++; }
    return text_equal(text, end);
}

bool text_equal(const char *a, const char *b)
{
    assert(a != NULL && b != NULL);
    while (*a != '\0' && *a == *b) { a++, b++; }
    return *a == *b;
}

const char *text_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
