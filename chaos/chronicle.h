/*
 * chaos/chronicle.h: a history as what was the case from when to when: who was up, who reigned,
 * which phase, which fault; what recoveries are measured from and timelines are drawn from. Pure
 * but for memory.
 *
 * All times are in ms since the round began, of the harness's clock. Lines may stand a little out
 * of order in a history: here everything is ordered. Strings are borrowed from the history.
 * Threads: any; nothing is shared.
 */
#ifndef CHAOS_CHRONICLE_H
#define CHAOS_CHRONICLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/run.h"

enum place_state { PLACE_DOWN, PLACE_UP, PLACE_FROZEN };

/* A place was in `state` for that long; PLACE_DOWN before its first. */
struct spell {
    uint32_t lane;
    enum place_state state;
    double from_ms, to_ms;
    json_int_t pid;
};

struct reign {
    const char *place;
    json_int_t epoch;
    double from_ms, to_ms; /* Until it was lost, or until its successor's. */
    double took_ms;        /* From its predecessor seen gone to its taking office; 0: not told. */
};

struct stretch {
    enum run_phase phase;
    double from_ms, to_ms;
};

/* Workers stood still, from running to running. */
struct pause {
    double from_ms, to_ms;
    bool ended;       /* False: until the end of the history. */
    const char *task; /* Whose loss caused it, as the chief says; NULL: nobody's. */
    const char *kind; /* Of the recovery, "ps"; NULL: not told. */
    json_int_t paused_ms, steps_redone; /* As the chief says; -1: not told. */
    json_int_t step;                    /* From which it went on; -1: not known. */
};

struct sample {
    double at_ms;
    json_int_t step, generation;
};

/* A fault that was done. */
struct blow {
    json_int_t id, step;
    const char *fault, *whom, *phase, *point, *text; /* "" where the history has none. */
    double at_ms, until_ms; /* When it was undone; the same: nothing to undo. */
    const json_t *targets;  /* NULL: none. */
};

/* Something the cluster, or who watches it, said. */
struct sign {
    double at_ms;
    const char *event, *task; /* `task` "" if it is about none. */
    json_int_t step;
};

/* A line, and when what it tells of happened: events say it themselves, and may be heard late. */
struct dated {
    const json_t *line;
    double at_ms;
    size_t index; /* In the history. */
};

struct chronicle {
    const json_t *begin, *end, *verdict; /* Lines; NULL: there is none. */
    double end_ms;                       /* Of the last line. */
    size_t lane_count;
    const char **lanes; /* Names of places, as "begin" lists them. */
    size_t spell_count, reign_count, stretch_count, pause_count;
    struct spell *spells; /* Ordered by lane, then time. */
    struct reign *reigns;
    struct stretch *stretches;
    struct pause *pauses;
    size_t sample_count, blow_count, sign_count, skipped_count, checkpoint_count;
    struct sample *samples;
    struct blow *blows;
    struct sign *signs;
    double *checkpoints;         /* When one was committed. */
    double train_ms, trained_ms; /* First "running"; when stopping began, or the end. */
    struct dated *lines;         /* All lines, ordered. */
    size_t line_count;
};

/* False: out of memory, and `out` is empty. A line that is malformed counts as nothing.
 * `history` is borrowed as long as `out` is used; free with chronicle_free(). */
bool chronicle_read(const json_t *history, struct chronicle *out);
void chronicle_free(struct chronicle *chronicle);

/* Whether the fault was done to that place. */
bool blow_strikes(const struct blow *blow, const char *place);

#endif
