/*
 * chaos/report/markup.h: HTML and SVG composed in memory. Text from outside is escaped, so that it
 * can stand between tags and in attributes in double quotes.
 *
 * Running out of memory is remembered in `failed`; everything after it is dropped. Threads: the
 * owner's.
 */
#ifndef CHAOS_REPORT_MARKUP_H
#define CHAOS_REPORT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>

struct markup {
    char *at; /* Owned; zero-terminated once anything was added, else NULL. */
    size_t used, size;
    bool failed;
};

void markup_free(struct markup *markup);

/* Add `html` as it is: never text from outside. */
void markup_add(struct markup *markup, const char *html);
/* Append as printf() does; not for text from outside, which is not escaped. */
void markup_format(struct markup *markup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Add `text` escaped; what XML does not allow becomes U+FFFD. NULL adds nothing. */
void markup_text(struct markup *markup, const char *text);
/* `before` as it is, `text` escaped, `after` as it is. */
void markup_wrap(struct markup *markup, const char *before, const char *text, const char *after);
void markup_join(struct markup *markup, const struct markup *other);

/* SVG: a rectangle, a text at a point, and what a browser shows under the pointer: the first child
 * of what it is about. Formatted texts are escaped. */
void markup_rect(struct markup *markup, const char *class, double x, double y, double width,
                 double height, double radius);
void markup_label(struct markup *markup, const char *class, double x, double y, const char *format,
                  ...) __attribute__((format(printf, 5, 6)));
void markup_title(struct markup *markup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
