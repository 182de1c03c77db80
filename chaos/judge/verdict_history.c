/* What a round's history says of recoveries, and of what had to be refused. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"
#include "chaos/plan/fault.h"

static double time_of(const json_t *line)
{
    return json_number_value(json_object_get(line, "t_ms"));
}

/* The lines in the order of their times: some are written later than what they tell of. */
struct ordered {
    const json_t *line;
    size_t number;
};

static int by_time(const void *a, const void *b)
{
    const struct ordered *left = a, *right = b;
    double l = time_of(left->line), r = time_of(right->line);
    if (l < r || l > r) { return l < r ? -1 : 1; }
    return left->number < right->number ? -1 : left->number > right->number;
}

/* Free it. `*count` of them; NULL: there is none. */
static struct ordered *order_lines(const json_t *history, size_t *count)
{
    *count = json_array_size(history);
    struct ordered *list = *count > 0 ? calloc(*count, sizeof *list) : NULL;
    if (list == NULL) { *count = 0; }
    for (size_t i = 0; i < *count; i++) {
        list[i] = (struct ordered){.line = json_array_get(history, i), .number = i};
    }
    if (list != NULL) { qsort(list, *count, sizeof *list, by_time); }
    return list;
}

/* --------------------------------------------------------------- recovery */

/*
 *   BUSY (a fault is under way, or the run's first process is gone) --the last is over--> QUIET
 *   QUIET --a step is made--> the count begins anew       --a fault--> BUSY
 *
 * In QUIET training may stand still for no longer than the bound, whatever came before.
 */
struct standstill {
    bool lasting[INJECTIONS_MAX + 1]; /* By id: done and not undone yet, */
    bool planned[INJECTIONS_MAX + 1]; /* and whether it lasts. */
    uint32_t busy;
    bool armed; /* There was a fault: before the first one nothing is judged. */
    double since_ms, now_ms;
    double longest_ms, longest_at_ms;
    char after[128], longest_after[128]; /* Which fault was the last one, then. */
    uint64_t faults, steps_seen, undone_late;
    bool has_step;
    double generation, step;
    bool ended; /* The run ended well. */
};

static void measure(struct standstill *s)
{
    if (!s->armed || s->busy > 0) { return; }
    double still_ms = s->now_ms - s->since_ms;
    if (still_ms <= s->longest_ms) { return; }
    s->longest_ms = still_ms;
    s->longest_at_ms = s->since_ms;
    memcpy(s->longest_after, s->after, sizeof s->after);
}

static void begin(struct standstill *s)
{
    measure(s);
    s->busy++;
    s->armed = true;
}

static void finish(struct standstill *s)
{
    if (s->busy > 0) { s->busy--; }
    s->since_ms = s->now_ms;
}

static size_t id_of(const json_t *line)
{
    json_int_t id = json_integer_value(json_object_get(line, "id"));
    return id > 0 && id <= INJECTIONS_MAX ? (size_t)id : 0;
}

static void on_fault(struct standstill *s, const json_t *line)
{
    size_t id = id_of(line);
    s->faults++;
    if (s->lasting[id]) { return; /* Done once more while it lasts, as a crash loop does. */ }
    begin(s);
    (void)snprintf(s->after, sizeof s->after, "%.60s (%.60s)", json_member_text(line, "fault", ""),
                   json_member_text(line, "whom", ""));
    s->lasting[id] = s->planned[id];
    if (!s->lasting[id]) { finish(s); }
}

static void on_undo(struct standstill *s, const json_t *line)
{
    size_t id = id_of(line);
    if (!s->lasting[id]) { return; }
    s->lasting[id] = false;
    finish(s);
}

static void on_run(struct standstill *s, const json_t *line)
{
    const char *state = json_member_text(line, "state", "");
    if (strcmp(state, "ended") == 0 && s->armed) { begin(s); }
    if (strcmp(state, "again") == 0) { finish(s); }
}

/* A step more in the same generation; or the run has come to its end. */
static void on_step(struct standstill *s, const json_t *line)
{
    double generation = json_number_value(json_object_get(line, "generation"));
    double step = json_number_value(json_object_get(line, "step"));
    const char *phase = json_member_text(line, "phase", "");
    bool ending = strcmp(phase, "stopping") == 0 || strcmp(phase, "done") == 0;
    bool same = s->has_step && generation <= s->generation && generation >= s->generation;
    bool forward = (same && step > s->step) || (ending && !s->ended);
    s->steps_seen++;
    s->has_step = true;
    s->generation = generation;
    s->step = step;
    s->ended = ending;
    if (!forward) { return; }
    measure(s);
    s->since_ms = s->now_ms;
}

static void on_end(struct standstill *s)
{
    measure(s);
    for (size_t id = 1; id <= INJECTIONS_MAX; id++) { s->undone_late += s->lasting[id]; }
}

static void on_line(struct standstill *s, const json_t *line)
{
    s->now_ms = time_of(line);
    if (line_is(line, "planned")) {
        s->planned[id_of(line)] = json_number_value(json_object_get(line, "for_ms")) > 0;
    } else if (line_is(line, "fault")) {
        on_fault(s, line);
    } else if (line_is(line, "undo")) {
        on_undo(s, line);
    } else if (line_is(line, "run")) {
        on_run(s, line);
    } else if (line_is(line, "step")) {
        on_step(s, line);
    }
}

static void tell_recovery(json_t *checks, const struct standstill *s, uint64_t within_ms)
{
    double bound_s = (double)within_ms / 1e3;
    if (s->steps_seen == 0) {
        verdict_add(checks, "recovery", false, "no step was ever seen");
    } else if (within_ms == 0) {
        verdict_add(checks, "recovery", false, "the plan names no bound");
    } else if (s->undone_late > 0) {
        verdict_add(checks, "recovery", false, "%" PRIu64 " faults were never undone",
                    s->undone_late);
    } else if (s->faults == 0) {
        verdict_add(checks, "recovery", true, "no fault was done: nothing to recover from");
    } else {
        verdict_add(checks, "recovery", s->longest_ms <= (double)within_ms,
                    "%" PRIu64 " faults; training stood still for %.1f s at most, at %.1f s "
                    "after %s; the bound is %.1f s",
                    s->faults, s->longest_ms / 1e3, s->longest_at_ms / 1e3,
                    s->longest_after[0] != '\0' ? s->longest_after : s->after, bound_s);
    }
}

void verdict_check_recovery(json_t *checks, const json_t *history, uint64_t within_ms)
{
    size_t count;
    struct ordered *lines = order_lines(history, &count);
    struct standstill *s = calloc(1, sizeof *s);
    if (s == NULL) {
        verdict_add(checks, "recovery", false, "no memory to look");
        free(lines);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        /* The schedule is known before the round begins. */
        if (line_is(lines[i].line, "planned")) { on_line(s, lines[i].line); }
    }
    for (size_t i = 0; i < count; i++) { on_line(s, lines[i].line); }
    on_end(s);
    tell_recovery(checks, s, within_ms);
    free(s);
    free(lines);
}

/* --------------------------------------------------------------- refusals */

/* Who tries what must not succeed says so in its line of the history, and how it went. */
static const char wrong[] = "WRONG:";

void verdict_check_refusals(json_t *checks, const json_t *history)
{
    size_t i;
    json_t *line;
    unsigned tried = 0;
    json_array_foreach(history, i, line)
    {
        const char *text = json_member_text(line, "text", "");
        const char *fault = json_member_text(line, "fault", "");
        if (strncmp(text, wrong, sizeof wrong - 1) == 0) {
            verdict_add(checks, "refusals", false, "%s:%s", fault, text + sizeof wrong - 1);
            return;
        }
        bool trial = strcmp(fault, "twice") == 0 || strcmp(fault, "two-clusters") == 0 ||
                     strcmp(fault, "mixed-jobs") == 0;
        tried += trial && line_is(line, "fault");
    }
    verdict_add(checks, "refusals", true, "%u mistakes of operators were tried%s", tried,
                tried ? "; each was refused" : "");
}
