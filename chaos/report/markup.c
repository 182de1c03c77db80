#include "chaos/report/markup.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void markup_free(struct markup *markup)
{
    assert(markup != NULL);
    free(markup->at);
    *markup = (struct markup){0};
}

static void add_bytes(struct markup *markup, const char *bytes, size_t count)
{
    assert(bytes != NULL);
    assert(markup->used <= markup->size);
    enum { FIRST_SIZE = 4096 };
    if (markup->failed) { return; }
    if (markup->used + count + 1 > markup->size) {
        size_t size = markup->size ? markup->size * 2 : FIRST_SIZE;
        while (size < markup->used + count + 1) { size *= 2; }
        char *at = realloc(markup->at, size);
        markup->failed = at == NULL;
        if (at == NULL) { return; }
        markup->at = at;
        markup->size = size;
    }
    memcpy(markup->at + markup->used, bytes, count);
    markup->used += count;
    markup->at[markup->used] = '\0';
}

void markup_add(struct markup *markup, const char *html)
{
    assert(html != NULL);
    add_bytes(markup, html, strlen(html));
}

/* The caller frees the text. NULL: out of memory, which sets `markup->failed`. */
__attribute__((format(printf, 2, 0))) static char *format_text(struct markup *markup,
                                                               const char *format,
                                                               va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) >= 0) { return text; }
    markup->failed = true;
    return NULL;
}

void markup_format(struct markup *markup, const char *format, ...)
{
    assert(format != NULL);
    va_list arguments;
    va_start(arguments, format);
    char *html = format_text(markup, format, arguments);
    va_end(arguments);
    if (html != NULL) { markup_add(markup, html); }
    free(html);
}

static const char *escape_of(unsigned char byte)
{
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\t':
    case '\n': return NULL;
    default: return byte < 0x20 || byte == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

void markup_text(struct markup *markup, const char *text)
{
    const char *from = text;
    for (; text != NULL && *text != '\0'; text++) {
        const char *escape = escape_of((unsigned char)*text);
        if (escape == NULL) { continue; }
        add_bytes(markup, from, (size_t)(text - from));
        markup_add(markup, escape);
        from = text + 1;
    }
    if (text != NULL) { add_bytes(markup, from, (size_t)(text - from)); }
}

void markup_wrap(struct markup *markup, const char *before, const char *text, const char *after)
{
    markup_add(markup, before);
    markup_text(markup, text);
    markup_add(markup, after);
}

void markup_join(struct markup *markup, const struct markup *other)
{
    assert(other != markup);
    if (other->failed) { markup->failed = true; }
    if (other->at != NULL) { add_bytes(markup, other->at, other->used); }
}

void markup_rect(struct markup *markup, const char *class, double x, double y, double width,
                 double height, double radius)
{
    assert(width >= 0);
    assert(height >= 0);
    markup_format(markup,
                  "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "rx=\"%.0f\"/>",
                  class, x, y, width, height, radius);
}

__attribute__((format(printf, 2, 0))) static void add_escaped(struct markup *markup,
                                                              const char *format, va_list arguments)
{
    char *text = format_text(markup, format, arguments);
    markup_text(markup, text);
    free(text);
}

void markup_label(struct markup *markup, const char *class, double x, double y, const char *format,
                  ...)
{
    assert(class != NULL);
    va_list arguments;
    va_start(arguments, format);
    markup_format(markup, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    add_escaped(markup, format, arguments);
    markup_add(markup, "</text>");
    va_end(arguments);
}

void markup_title(struct markup *markup, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    markup_add(markup, "<title>");
    add_escaped(markup, format, arguments);
    markup_add(markup, "</title>");
    va_end(arguments);
}
