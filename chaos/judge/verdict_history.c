/* Faults, recoveries and refusals in a round's history. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/history/timeline.h"
#include "chaos/judge/verdict_checks.h"
#include "chaos/plan/fault.h"

/* ----------------------------------------------------------------- faults */

/* The need with that name, as a set; 0: none has it. */
static unsigned need_of(const char *name)
{
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        if (strcmp(fault_need_name(i), name) == 0) { return 1U << i; }
    }
    return 0;
}

void verdict_check_faults(json_t *checks, const json_t *history, unsigned allowed_skips)
{
    unsigned injected = 0, skipped = 0, allowed = 0;
    const char *lacks = "", *why = "the plan has none";
    size_t i;
    const json_t *line;
    assert(allowed_skips < 1U << NEED_COUNT);
    json_array_foreach(history, i, line)
    {
        injected += line_is(line, "fault");
        if (!line_is(line, "skipped")) { continue; }
        lacks = json_member_text(line, "lacks", "");
        why = json_member_text(line, "text", "unknown");
        skipped++;
        allowed += (need_of(lacks) & allowed_skips) != 0;
    }
    if (injected > 0) {
        verdict_add(checks, "faults", true, "%u %s injected, %u skipped", injected,
                    injected == 1 ? "fault was" : "faults were", skipped);
    } else if (skipped > 0 && allowed == skipped) {
        verdict_add(
            checks, "faults", true,
            "no fault was injected, so nothing was tested; allowed by --allow-skips: %.300s", why);
    } else {
        verdict_add(checks, "faults", false,
                    "no fault was injected, so nothing was tested: %.300s%s%.40s", why,
                    lacks[0] != '\0' ? "; permit it with --allow-skips " : "", lacks);
    }
}

/* --------------------------------------------------------------- recovery */

/*
 *   ACTIVE (a fault lasts, or the run's first process has ended) --the last one is over--> QUIET
 *   QUIET --a step--> QUIET, and the measurement restarts       --a fault--> ACTIVE
 *
 * In QUIET training may stand still for no longer than the bound, whatever came before.
 */
struct standstill {
    bool lasting[INJECTIONS_MAX + 1]; /* By id: injected and not yet undone. */
    bool lasts[INJECTIONS_MAX + 1];   /* By id: planned to last until it is undone. */
    uint32_t active;                  /* 0: QUIET. */
    bool armed; /* A fault was injected: nothing is judged before the first. */
    double since_ms, now_ms;
    double longest_ms, longest_at_ms;
    char after[128], longest_after[128]; /* The last fault before it. */
    uint64_t faults, steps_seen, never_undone;
    bool has_step;
    double generation, step;
    bool ended; /* The run ended well. */
};

static void measure(struct standstill *s)
{
    assert(s->longest_ms >= 0);
    if (!s->armed || s->active > 0) { return; }
    double still_ms = s->now_ms - s->since_ms;
    if (still_ms <= s->longest_ms) { return; }
    s->longest_ms = still_ms;
    s->longest_at_ms = s->since_ms;
    memcpy(s->longest_after, s->after, sizeof s->after);
}

static void begin(struct standstill *s)
{
    measure(s);
    s->active++;
    s->armed = true;
}

static void finish(struct standstill *s)
{
    if (s->active > 0) { s->active--; }
    s->since_ms = s->now_ms;
}

static size_t id_of(const json_t *line)
{
    json_int_t id = json_member_integer(line, "id", 0);
    return id > 0 && id <= INJECTIONS_MAX ? (size_t)id : 0;
}

static void on_fault(struct standstill *s, const json_t *line)
{
    size_t id = id_of(line);
    assert(id <= INJECTIONS_MAX);
    s->faults++;
    if (s->lasting[id]) { return; /* Injected again while it lasts, as in a crash loop. */ }
    begin(s);
    (void)snprintf(s->after, sizeof s->after, "%.60s (%.60s)", json_member_text(line, "fault", ""),
                   json_member_text(line, "selector", ""));
    s->lasting[id] = s->lasts[id];
    if (!s->lasting[id]) { finish(s); }
}

static void on_undo(struct standstill *s, const json_t *line)
{
    size_t id = id_of(line);
    assert(id <= INJECTIONS_MAX);
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

/* Progress is a further step in the same generation, or the end of the run. */
static void on_step(struct standstill *s, const json_t *line)
{
    double generation = json_member_number(line, "generation", 0);
    double step = json_member_number(line, "step", 0);
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
    for (size_t id = 1; id <= INJECTIONS_MAX; id++) { s->never_undone += s->lasting[id]; }
}

static void on_line(struct standstill *s, const json_t *line)
{
    s->now_ms = json_member_number(line, "t_ms", 0);
    if (line_is(line, "planned")) {
        s->lasts[id_of(line)] = json_member_number(line, "for_ms", 0) > 0;
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

static void add_recovery(json_t *checks, const struct standstill *s, uint64_t within_ms)
{
    double bound_s = (double)within_ms / 1e3;
    if (s->steps_seen == 0) {
        verdict_add(checks, "recovery", false, "no step was observed");
    } else if (within_ms == 0) {
        verdict_add(checks, "recovery", false, "the plan has no recover_within_s");
    } else if (s->never_undone > 0) {
        verdict_add(checks, "recovery", false, "%" PRIu64 " faults were never undone",
                    s->never_undone);
    } else if (s->faults == 0) {
        verdict_add(checks, "recovery", true,
                    "no fault was injected, so there was nothing to recover from");
    } else {
        verdict_add(checks, "recovery", s->longest_ms <= (double)within_ms,
                    "%" PRIu64 " faults; training stood still for %.1f s at most, from %.1f s on, "
                    "after %s; the bound is %.1f s",
                    s->faults, s->longest_ms / 1e3, s->longest_at_ms / 1e3,
                    s->longest_after[0] != '\0' ? s->longest_after : s->after, bound_s);
    }
}

void verdict_check_recovery(json_t *checks, const json_t *history, uint64_t within_ms)
{
    struct timeline timeline;
    struct standstill *s = calloc(1, sizeof *s);
    assert(history != NULL);
    if (s == NULL || !timeline_read(history, &timeline)) {
        verdict_add(checks, "recovery", false, "out of memory");
        free(s);
        return;
    }
    for (size_t i = 0; i < timeline.line_count; i++) {
        /* The schedule is known before the round begins. */
        if (line_is(timeline.lines[i].line, "planned")) { on_line(s, timeline.lines[i].line); }
    }
    for (size_t i = 0; i < timeline.line_count; i++) { on_line(s, timeline.lines[i].line); }
    on_end(s);
    add_recovery(checks, s, within_ms);
    free(s);
    timeline_free(&timeline);
}

/* --------------------------------------------------------------- refusals */

/* An injector whose operator mistake was not refused starts its text with this. */
static const char not_refused[] = "WRONG:";

static bool is_mistake(const json_t *line)
{
    const struct fault_descriptor *fault = fault_find(json_member_text(line, "fault", ""));
    return line_is(line, "fault") && fault != NULL &&
           (fault->effects & EFFECT_MUST_BE_REFUSED) != 0;
}

void verdict_check_refusals(json_t *checks, const json_t *history)
{
    const size_t prefix = sizeof not_refused - 1;
    size_t i;
    json_t *line;
    unsigned tried = 0;
    assert(history != NULL);
    json_array_foreach(history, i, line)
    {
        const char *text = json_member_text(line, "text", "");
        if (strncmp(text, not_refused, prefix) == 0) {
            verdict_add(checks, "refusals", false, "%s:%s", json_member_text(line, "fault", ""),
                        text + prefix);
            return;
        }
        tried += is_mistake(line);
    }
    verdict_add(checks, "refusals", true, "%u operator mistakes were tried%s", tried,
                tried > 0 ? "; each was refused" : "");
}
