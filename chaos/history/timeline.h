/*
 * chaos/history/timeline.h: a history as what was the case from when to when: who was up, who
 * reigned, which phase, which fault; what recoveries are measured from and timelines are drawn
 * from. Pure but for memory.
 *
 * All times are in ms since the round began, of the harness's clock. Lines may stand a little out
 * of order in a history: here everything is ordered. Strings are borrowed from the history.
 * Threads: any; nothing is shared.
 */
#ifndef CHAOS_HISTORY_TIMELINE_H
#define CHAOS_HISTORY_TIMELINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/run.h"

enum place_state { PLACE_DOWN, PLACE_UP, PLACE_FROZEN };

/* A place was in `state` for that long; PLACE_DOWN before its first. */
struct place_interval {
    uint32_t lane;
    enum place_state state;
    double from_ms, to_ms;
    json_int_t pid;
};

struct term {
    const char *place;
    json_int_t epoch;
    double from_ms, to_ms; /* Until it was lost, or until its successor's. */
    double took_ms;        /* From its predecessor seen gone to its taking office; 0: not told. */
};

struct phase_interval {
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
struct timeline_fault {
    json_int_t id, step;
    const char *fault, *whom, *phase, *point, *text; /* "" where the history has none. */
    double at_ms, until_ms; /* When it was undone; the same: nothing to undo. */
    const json_t *targets;  /* NULL: none. */
};

/* Something the cluster, or who watches it, said. */
struct timeline_event {
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

struct timeline {
    const json_t *begin, *end, *verdict; /* Lines; NULL: there is none. */
    double end_ms;                       /* Of the last line. */
    size_t lane_count;
    const char **lanes; /* Names of places, as "begin" lists them. */
    size_t place_interval_count, term_count, phase_interval_count, pause_count;
    struct place_interval *place_intervals; /* Ordered by lane, then time. */
    struct term *terms;
    struct phase_interval *phase_intervals;
    struct pause *pauses;
    size_t sample_count, fault_count, event_count, skipped_count, checkpoint_count;
    struct sample *samples;
    struct timeline_fault *faults;
    struct timeline_event *events;
    double *checkpoints;         /* When one was committed. */
    double train_ms, trained_ms; /* First "running"; when stopping began, or the end. */
    struct dated *lines;         /* All lines, ordered. */
    size_t line_count;
};

/* False: out of memory, and `out` is empty. A line that is malformed counts as nothing.
 * `history` is borrowed as long as `out` is used; free with timeline_free(). */
bool timeline_read(const json_t *history, struct timeline *out);
void timeline_free(struct timeline *timeline);

/* Whether the fault was done to that place. */
bool timeline_fault_hits(const struct timeline_fault *fault, const char *place);
/* When in the life of the run the fault was done: its failpoint, or else the phase. */
const char *timeline_fault_moment(const struct timeline_fault *fault);

#endif
