/* common/base/text.h: short texts put together without stdio, for cores. Cuts what does not fit;
 * the result is always terminated. Pure. */
#ifndef COMMON_BASE_TEXT_H
#define COMMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes into somebody else's array; copy it freely. */
struct text {
    char *at;
    size_t size, used;
};

/* Begin an empty text in `at`; size > 0. */
struct text text_begin(char *at, size_t size);
void text_add(struct text *text, const char *words);
void text_add_number(struct text *text, uint64_t number);

/* Replace the text in `at` by `words`; NULL is the empty text. */
void text_set(char *at, size_t size, const char *words);
bool text_equal(const char *a, const char *b);

#endif
