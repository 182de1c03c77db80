/*
 * cli/inspect/canvas.h: lines of coloured text for a terminal of a given width. Text that does not
 * fit into a line is cut; colours do not count. Pure.
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
    uint32_t columns; /* 0: no limit. */
    uint32_t column;  /* In the current line. */
    uint32_t rows;    /* Lines that are complete. */
    bool color;
};

void canvas_init(struct canvas *canvas, char *text, size_t capacity, uint32_t columns, bool color);

/* Append to the line. The text is UTF-8; each character counts as one column, and control
 * characters become '?'. */
void canvas_put(struct canvas *canvas, enum ink ink, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Append blanks up to a column; at least one if the line has reached it already. */
void canvas_to(struct canvas *canvas, uint32_t column);

void canvas_end_line(struct canvas *canvas);

#endif
