/*
 * chaos/history/line_order.h: the lines of a history in the order in which things happened. An
 * event of the cluster carries its own time, and the harness may read it late. Pure but for memory.
 */
#ifndef CHAOS_HISTORY_LINE_ORDER_H
#define CHAOS_HISTORY_LINE_ORDER_H

#include <jansson.h>
#include <stddef.h>

struct dated_line {
    const json_t *line; /* Borrowed from the history. */
    double at_ms;       /* When it happened, since the round began; never below 0. */
    size_t index;       /* In the history. */
};

/* All lines by time, and lines of the same time as in the history. The caller frees the array.
 * NULL: out of memory. */
struct dated_line *line_order(const json_t *history, size_t *count);

#endif
