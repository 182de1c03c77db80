#include "chaos/report/markup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void markup_free(struct markup *markup)
{
    free(markup->at);
    *markup = (struct markup){0};
}

static void add_bytes(struct markup *markup, const char *bytes, size_t count)
{
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

void markup_add(struct markup *markup, const char *words)
{
    add_bytes(markup, words, strlen(words));
}

void markup_format(struct markup *markup, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text) { markup->failed = true; }
    if (!markup->failed) { add_bytes(markup, text, (size_t)length); }
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

void markup_text(struct markup *markup, const char *words)
{
    const char *from = words;
    for (; words != NULL && *words != '\0'; words++) {
        const char *escape = escape_of((unsigned char)*words);
        if (escape == NULL) { continue; }
        add_bytes(markup, from, (size_t)(words - from));
        markup_add(markup, escape);
        from = words + 1;
    }
    if (words != NULL) { add_bytes(markup, from, (size_t)(words - from)); }
}

void markup_wrap(struct markup *markup, const char *before, const char *words, const char *after)
{
    markup_add(markup, before);
    markup_text(markup, words);
    markup_add(markup, after);
}

void markup_join(struct markup *markup, const struct markup *other)
{
    if (other->failed) { markup->failed = true; }
    if (other->at != NULL) { add_bytes(markup, other->at, other->used); }
}

void markup_duration(struct markup *markup, double ms)
{
    if (ms < 0) {
        markup_add(markup, "–");
    } else if (ms < 999.5) {
        markup_format(markup, "%.0f ms", ms);
    } else if (ms < 9995) {
        markup_format(markup, "%.2f s", ms / 1000);
    } else if (ms < 59950) {
        markup_format(markup, "%.1f s", ms / 1000);
    } else if (ms > 1e12) {
        markup_add(markup, "∞");
    } else if (ms < 3600e3) {
        markup_format(markup, "%d min %02d s", (int)(ms / 60000), (int)(ms / 1000) % 60);
    } else {
        markup_format(markup, "%d h %02d min", (int)(ms / 3600e3), (int)(ms / 60000) % 60);
    }
}

void markup_count(struct markup *markup, int64_t count)
{
    char digits[NUMBER_TEXT_MAX], out[NUMBER_TEXT_MAX * 2];
    size_t used = 0;
    int length = snprintf(digits, sizeof digits, "%" PRId64, count);
    for (int i = 0; i < length; i++) {
        bool first = i == 0 || digits[i - 1] == '-';
        if (!first && (length - i) % 3 == 0) { out[used++] = ','; }
        out[used++] = digits[i];
    }
    add_bytes(markup, out, used);
}

void markup_percent(struct markup *markup, double ratio)
{
    if (ratio < 0) {
        markup_add(markup, "–");
    } else {
        markup_format(markup, "%.*f %%", ratio > 0.9999 ? 1 : 2, ratio * 100);
    }
}
