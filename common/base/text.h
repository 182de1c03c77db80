/* common/base/text.h: short texts built without stdio, for cores. A text that is too long is
 * cut; the result is always terminated. Pure. */
#ifndef COMMON_BASE_TEXT_H
#define COMMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes into the caller's array; may be copied. */
struct text {
    char *at;
    size_t size, used;
};

/* Begin an empty text in `at`; size > 0. */
struct text text_begin(char *at, size_t size);
void text_add(struct text *text, const char *source);
void text_add_number(struct text *text, uint64_t number);

/* Replace the text in `at` by `source`; NULL is the empty text. */
void text_set(char *at, size_t size, const char *source);
bool text_equal(const char *a, const char *b);
bool text_ends_with(const char *text, const char *end);

/* The end of a regular noun after `count`: "" or "s". */
const char *text_plural(uint64_t count);

#endif
