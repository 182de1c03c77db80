/*
 * chaos/report/markup.h: HTML and SVG put together in memory. Words from outside go through
 * markup_text(), which escapes them for text and for attributes in double quotes.
 *
 * Running out of memory is remembered in `failed`; what follows is dropped. Threads: the owner's.
 */
#ifndef CHAOS_REPORT_MARKUP_H
#define CHAOS_REPORT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct markup {
    char *at; /* Owned; zero-terminated once anything was added, else NULL. */
    size_t used, size;
    bool failed;
};

void markup_free(struct markup *markup);

/* As it is: only for words of ours. */
void markup_add(struct markup *markup, const char *words);
/* printf: only for words of ours and numbers; numbers are written with a point. */
void markup_format(struct markup *markup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Escaped; what XML does not allow becomes U+FFFD. NULL is nothing. */
void markup_text(struct markup *markup, const char *words);
/* `before`, escaped words, `after`. */
void markup_wrap(struct markup *markup, const char *before, const char *words, const char *after);
void markup_join(struct markup *markup, const struct markup *other);

enum { NUMBER_TEXT_MAX = 32 };

/* "7 ms", "0.81 s", "12.4 s", "3 min 05 s"; below zero: a dash. */
void markup_duration(struct markup *markup, double ms);
/* "12,043" */
void markup_count(struct markup *markup, int64_t count);
/* A ratio in percent with two digits after the point: "98.31 %"; below zero: a dash. */
void markup_percent(struct markup *markup, double ratio);

#endif
