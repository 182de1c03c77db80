#include "cli/inspect/canvas.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"

enum { PIECE_MAX = 2048 };

static const char *const escapes[INK_COUNT] = {
    [INK_PLAIN] = "",        [INK_BOLD] = "\x1b[1m",  [INK_DIM] = "\x1b[2m",
    [INK_GOOD] = "\x1b[32m", [INK_WARN] = "\x1b[33m", [INK_BAD] = "\x1b[31m",
};
#define RESET "\x1b[0m"

void canvas_init(struct canvas *canvas, char *text, size_t capacity, uint32_t columns, bool color)
{
    assert(text != NULL);
    assert(capacity > 0);
    *canvas =
        (struct canvas){.text = text, .capacity = capacity, .columns = columns, .color = color};
    text[0] = '\0';
}

/* Append all bytes, or none if they do not fit. */
static void append(struct canvas *canvas, const char *bytes, size_t size)
{
    assert(canvas->length < canvas->capacity);
    if (size >= canvas->capacity - canvas->length) { return; }
    memcpy(canvas->text + canvas->length, bytes, size);
    canvas->length += size;
    canvas->text[canvas->length] = '\0';
}

static void append_text(struct canvas *canvas, const char *text)
{
    for (const char *at = text; *at;) {
        size_t size = utf8_character_bytes(at);
        bool control = size == 0 || (unsigned char)*at < ' ' || *at == '\x7f';
        if (canvas->columns != 0 && canvas->column >= canvas->columns) { return; }
        append(canvas, control ? "?" : at, control ? 1 : size);
        canvas->column++;
        at += size > 0 ? size : 1;
    }
}

void canvas_put(struct canvas *canvas, enum ink ink, const char *format, ...)
{
    char piece[PIECE_MAX];
    va_list arguments;
    assert(ink < INK_COUNT);
    va_start(arguments, format);
    vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    bool inked = canvas->color && ink != INK_PLAIN;
    if (inked) { append(canvas, escapes[ink], strlen(escapes[ink])); }
    append_text(canvas, piece);
    if (inked) { append(canvas, RESET, strlen(RESET)); }
}

void canvas_to(struct canvas *canvas, uint32_t column)
{
    if (canvas->column > 0 && canvas->column >= column) { append_text(canvas, " "); }
    while (canvas->column < column) {
        if (canvas->columns != 0 && canvas->column >= canvas->columns) { return; }
        append_text(canvas, " ");
    }
}

void canvas_end_line(struct canvas *canvas)
{
    assert(canvas->length < canvas->capacity);
    /* Trailing blanks are useless. */
    while (canvas->length > 0 && canvas->text[canvas->length - 1] == ' ') { canvas->length--; }
    append(canvas, "\n", 1);
    canvas->text[canvas->length] = '\0';
    canvas->column = 0;
    canvas->rows++;
}
