#include "chaos/history/line_order.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chaos/history/json_member.h"

/* The clocks of a round, by which the time of an event is judged. */
struct clocks {
    double started_ms; /* The wall clock when the round began; -1: not known. */
    bool jump;         /* A fault sets clocks. */
};

/* "2026-11-20T21:36:49.123Z" in ms since 1970; -1: it is not a time. */
static double wall_ms_of(const char *text)
{
    assert(text != NULL);
    struct tm time = {0};
    double seconds;
    int read = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%6lfZ", &time.tm_year, &time.tm_mon, &time.tm_mday,
                      &time.tm_hour, &time.tm_min, &seconds);
    if (read != 6) { return -1; }
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    return (double)timegm(&time) * 1000 + seconds * 1000;
}

static struct clocks read_clocks(const json_t *history)
{
    struct clocks clocks = {.started_ms = -1};
    for (size_t i = 0; i < json_array_size(history); i++) {
        const json_t *line = json_array_get(history, i);
        if (line_is(line, "begin")) {
            clocks.started_ms = wall_ms_of(json_member_text(line, "started", ""));
        }
        if (strcmp(json_member_text(line, "fault", ""), "clock-jump") == 0) { clocks.jump = true; }
    }
    return clocks;
}

/* The time that an event carries is used if it is credible: within the round, and not later than
 * the event was read; if a fault sets clocks, not much earlier either. */
static double happened_at_ms(const json_t *line, const struct clocks *clocks)
{
    assert(clocks != NULL);
    enum { NEAR_MS = 2000 };
    double read_ms = json_member_number(line, "t_ms", 0);
    if (read_ms < 0) { read_ms = 0; }
    if (!line_is(line, "event") || clocks->started_ms < 0) { return read_ms; }
    double wall_ms = wall_ms_of(json_member_text(json_object_get(line, "event"), "time", ""));
    double at_ms = wall_ms - clocks->started_ms;
    if (wall_ms < 0 || at_ms < 0 || at_ms > read_ms) { return read_ms; }
    return clocks->jump && at_ms < read_ms - NEAR_MS ? read_ms : at_ms;
}

static int compare(const void *a, const void *b)
{
    const struct dated_line *x = a, *y = b;
    if (x->at_ms < y->at_ms || x->at_ms > y->at_ms) { return x->at_ms < y->at_ms ? -1 : 1; }
    return (x->index > y->index) - (x->index < y->index);
}

struct dated_line *line_order(const json_t *history, size_t *count)
{
    assert(count != NULL);
    struct clocks clocks = read_clocks(history);
    *count = json_array_size(history);
    struct dated_line *lines = calloc(*count + 1, sizeof *lines);
    if (lines == NULL) { return NULL; }
    for (size_t i = 0; i < *count; i++) {
        const json_t *line = json_array_get(history, i);
        lines[i] = (struct dated_line){line, happened_at_ms(line, &clocks), i};
    }
    qsort(lines, *count, sizeof *lines, compare);
    return lines;
}
