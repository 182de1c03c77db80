/*
 * cli/inspect/canvas.h: lines of text for a terminal of a given width: what does not fit is cut,
 * colours take no room. Pure.
 */
#ifndef CLI_INSPECT_CANVAS_H
#define CLI_INSPECT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_GOOD, INK_WARN, INK_BAD, INK_COUNT };

struct canvas {
    char *text; /* Borrowed; always NUL-terminated. */
    size_t capacity, length;
    uint32_t columns; /* 0: any number. */
    uint32_t column;  /* Of the line being written. */
    uint32_t rows;    /* Lines ended. */
    bool color;
};

void canvas_init(struct canvas *canvas, char *text, size_t capacity, uint32_t columns, bool color);

/* Add to the line. UTF-8; each character counts as one column, control characters become '?'. */
void canvas_put(struct canvas *canvas, enum ink ink, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Blanks up to a column, one at least when the line is there already. */
void canvas_to(struct canvas *canvas, uint32_t column);

void canvas_end_line(struct canvas *canvas);

#endif
