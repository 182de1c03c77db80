/*
 * chaos/history/timeline.h: a history as intervals and moments: which component was up, which
 * coordinator was chief, which phase the run was in, and when each fault was done. Recoveries are
 * measured on a timeline, and pictures are drawn from it. Pure but for memory.
 *
 * All times are in ms since the round began, by the harness's clock. The lines of a history may be
 * out of order; everything here is ordered by time. Strings are borrowed from the history.
 * Threads: any; nothing is shared.
 */
#ifndef CHAOS_HISTORY_TIMELINE_H
#define CHAOS_HISTORY_TIMELINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chaos/history/line_order.h"
#include "common/cluster/run.h"

enum component_state { COMPONENT_DOWN, COMPONENT_UP, COMPONENT_FROZEN };

/* How long a component was in a state. Before its first line it is down. */
struct component_interval {
    size_t lane;
    enum component_state state;
    double from_ms, to_ms;
    json_int_t pid; /* 0: not known. */
};

/* How long a coordinator was chief: until it was lost, or until the next term. */
struct term {
    const char *component;
    json_int_t epoch;
    double from_ms, to_ms;
    double took_ms; /* From the loss of the former chief, as the new one saw it; 0: not known. */
};

struct phase_interval {
    enum run_phase phase;
    double from_ms, to_ms;
};

/* Workers stood still: from the end of running to the next running. */
struct pause {
    double from_ms, to_ms;
    bool ended;       /* False: it lasts until the end of the history. */
    const char *task; /* Whose loss caused it, by the chief's event; NULL: none. */
    const char *kind; /* The kind of recovery, "ps"; NULL: not known. */
    json_int_t paused_ms, steps_redone; /* By the chief's event; -1: not known. */
    json_int_t step;                    /* From which training continued; -1: not known. */
};

struct sample {
    double at_ms;
    json_int_t step, generation;
};

/* A fault that was injected. */
struct timeline_fault {
    json_int_t id, step;
    const char *fault, *selector, *phase, *point, *text; /* "": not known. */
    double at_ms, until_ms; /* Until it was undone; equal: there was nothing to undo. */
    const json_t *targets;  /* Names of components; NULL: none. */
};

/* An event of the cluster. */
struct timeline_event {
    double at_ms;
    const char *event, *task; /* `task` is "" if the event is about none. */
    json_int_t step;          /* -1: not known. */
};

struct timeline {
    const json_t *begin, *end, *verdict; /* Lines; NULL: the history has none. */
    double end_ms;                       /* The time of the "end" line, else of the last line. */
    size_t lane_count;
    const char **lanes; /* Names of components, in the order of the "begin" line. */
    size_t component_interval_count, term_count, phase_interval_count, pause_count;
    struct component_interval *component_intervals; /* Ordered by lane, then by time. */
    struct term *terms;
    struct phase_interval *phase_intervals;
    struct pause *pauses;
    size_t sample_count, fault_count, event_count, skipped_count, checkpoint_count;
    struct sample *samples;
    struct timeline_fault *faults;
    struct timeline_event *events;
    double *checkpoints;               /* When each was committed. */
    double train_from_ms, train_to_ms; /* First "running"; the beginning of stopping, or the end. */
    struct dated_line *lines;          /* All lines. */
    size_t line_count;
};

/* A malformed line is ignored. The history is borrowed as long as `out` is used; free with
 * timeline_free(). False: out of memory, and `out` is empty. */
bool timeline_read(const json_t *history, struct timeline *out);
void timeline_free(struct timeline *timeline);

/* Whether the fault was done to that component. */
bool timeline_fault_hits(const struct timeline_fault *fault, const char *component);
/* When in the life of the run the fault was done: its failpoint, or else the phase. */
const char *timeline_fault_moment(const struct timeline_fault *fault);

#endif
