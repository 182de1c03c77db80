#include "chaos/history/timeline.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chaos/history/json_member.h"

bool timeline_fault_hits(const struct timeline_fault *timeline_fault, const char *place)
{
    for (size_t i = 0; i < json_array_size(timeline_fault->targets); i++) {
        const char *name = json_string_value(json_array_get(timeline_fault->targets, i));
        if (name != NULL && strcmp(name, place) == 0) { return true; }
    }
    return false;
}

const char *timeline_fault_moment(const struct timeline_fault *fault)
{
    if (*fault->point != '\0') { return fault->point; }
    return *fault->phase != '\0' ? fault->phase : "unknown";
}

/* ------------------------------------------------------------- order */

/* "2026-11-20T21:36:49.123Z" in ms; -1: it is not. */
static double wall_ms_of(const char *text)
{
    struct tm utc = {0};
    double second;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%6lfZ", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
               &utc.tm_hour, &utc.tm_min, &second) != 6) {
        return -1;
    }
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    return (double)timegm(&utc) * 1000 + second * 1000;
}

/* The clock of who says when may have been set wrong by us: then it is believed only about. */
static double date_of(const json_t *line, double started_ms, bool jumps)
{
    enum { SKEW_MS = 20, NEAR_MS = 2000 };
    double heard_ms = json_member_number(line, "t_ms", 0);
    const json_t *event = json_object_get(line, "event");
    double said_ms = wall_ms_of(json_member_text(event, "time", ""));
    if (heard_ms < 0) { heard_ms = 0; }
    if (!line_is(line, "event") || said_ms < 0 || started_ms < 0) { return heard_ms; }
    double at_ms = said_ms - started_ms;
    bool credible = at_ms >= 0 && at_ms <= heard_ms + SKEW_MS;
    if (jumps && at_ms < heard_ms - NEAR_MS) { credible = false; }
    return credible && at_ms < heard_ms ? at_ms : heard_ms;
}

static int compare_dated(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;
    if (x->at_ms < y->at_ms || x->at_ms > y->at_ms) { return x->at_ms < y->at_ms ? -1 : 1; }
    return (x->index > y->index) - (x->index < y->index);
}

static void read_frame(const json_t *history, struct timeline *out, bool *jumps)
{
    for (size_t i = 0; i < json_array_size(history); i++) {
        const json_t *line = json_array_get(history, i);
        if (line_is(line, "begin")) { out->begin = line; }
        if (line_is(line, "end")) { out->end = line; }
        if (line_is(line, "verdict")) { out->verdict = line; }
        if (strcmp(json_member_text(line, "fault", ""), "clock-jump") == 0) { *jumps = true; }
        if (json_member_number(line, "t_ms", 0) > out->end_ms) {
            out->end_ms = json_member_number(line, "t_ms", 0);
        }
    }
    /* Judging takes its time, in which the cluster is no more. */
    if (out->end != NULL) { out->end_ms = json_member_number(out->end, "t_ms", 0); }
}

static bool order_lines(const json_t *history, struct timeline *out)
{
    bool jumps = false;
    out->line_count = json_array_size(history);
    out->lines = calloc(out->line_count + 1, sizeof *out->lines);
    if (out->lines == NULL) { return false; }
    read_frame(history, out, &jumps);
    double started_ms = wall_ms_of(json_member_text(out->begin, "started", ""));
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = json_array_get(history, i);
        out->lines[i] = (struct dated){line, date_of(line, started_ms, jumps), i};
    }
    qsort(out->lines, out->line_count, sizeof *out->lines, compare_dated);
    return true;
}

static bool allocate(struct timeline *out)
{
    size_t room = out->line_count + 1;
    size_t lanes = json_array_size(json_object_get(out->begin, "places")) + 1;
    out->lanes = calloc(lanes, sizeof *out->lanes);
    out->place_intervals = calloc(room + lanes, sizeof *out->place_intervals);
    out->terms = calloc(room, sizeof *out->terms);
    out->phase_intervals = calloc(2 * room, sizeof *out->phase_intervals);
    out->pauses = calloc(room, sizeof *out->pauses);
    out->samples = calloc(room, sizeof *out->samples);
    out->faults = calloc(room, sizeof *out->faults);
    out->events = calloc(room, sizeof *out->events);
    out->checkpoints = calloc(room, sizeof *out->checkpoints);
    return out->lanes != NULL && out->place_intervals != NULL && out->terms != NULL &&
           out->phase_intervals != NULL && out->pauses != NULL && out->samples != NULL &&
           out->faults != NULL && out->events != NULL && out->checkpoints != NULL;
}

/* ------------------------------------------------------------- places */

static bool parse_state(const char *name, enum place_state *out)
{
    static const struct {
        const char *name;
        enum place_state state;
    } states[] = {
        {"up", PLACE_UP}, {"thawed", PLACE_UP}, {"frozen", PLACE_FROZEN}, {"down", PLACE_DOWN}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        *out = states[i].state;
        if (strcmp(states[i].name, name) == 0) { return true; }
    }
    return false;
}

/* Who is down cannot thaw. */
static bool makes_sense(enum place_state was, const char *state)
{
    return was != PLACE_DOWN || strcmp(state, "thawed") != 0;
}

static void read_lane(struct timeline *out, uint32_t lane)
{
    struct place_interval place_interval = {.lane = lane, .state = PLACE_DOWN};
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = out->lines[i].line;
        double at_ms = out->lines[i].at_ms;
        const char *name = json_member_text(line, "state", "");
        enum place_state state;
        if (!line_is(line, "place")) { continue; }
        if (strcmp(json_member_text(line, "place", ""), out->lanes[lane]) != 0) { continue; }
        if (!parse_state(name, &state) || !makes_sense(place_interval.state, name)) { continue; }
        if (at_ms > out->end_ms) { break; }
        place_interval.to_ms = at_ms;
        if (place_interval.to_ms > place_interval.from_ms) {
            out->place_intervals[out->place_interval_count++] = place_interval;
        }
        place_interval = (struct place_interval){.lane = lane,
                                                 .state = state,
                                                 .from_ms = at_ms,
                                                 .pid = json_member_integer(line, "pid", 0)};
    }
    place_interval.to_ms = out->end_ms;
    if (place_interval.to_ms > place_interval.from_ms) {
        out->place_intervals[out->place_interval_count++] = place_interval;
    }
}

static void read_lanes(struct timeline *out)
{
    const json_t *places = json_object_get(out->begin, "places");
    for (size_t i = 0; i < json_array_size(places); i++) {
        const char *name = json_string_value(json_array_get(places, i));
        if (name != NULL) { out->lanes[out->lane_count++] = name; }
    }
    for (uint32_t i = 0; i < out->lane_count; i++) { read_lane(out, i); }
}

static double next_down(const struct timeline *all, const char *place, double from_ms)
{
    for (size_t i = 0; i < all->place_interval_count; i++) {
        const struct place_interval *place_interval = &all->place_intervals[i];
        if (place_interval->state == PLACE_DOWN && place_interval->from_ms >= from_ms &&
            strcmp(all->lanes[place_interval->lane], place) == 0) {
            return place_interval->from_ms;
        }
    }
    return all->end_ms;
}

/* The harness may have been cut off when it happened: then the chief's own word counts. */
static double in_office_ms(const struct timeline *all, json_int_t epoch, double heard_ms)
{
    enum { LATE_MS = 250 };
    for (size_t i = 0; i < all->line_count; i++) {
        const json_t *event = json_object_get(all->lines[i].line, "event");
        if (strcmp(json_member_text(event, "event", ""), "elected") != 0) { continue; }
        if (json_member_integer(event, "epoch", -1) != epoch) { continue; }
        return all->lines[i].at_ms < heard_ms - LATE_MS ? all->lines[i].at_ms : heard_ms;
    }
    return heard_ms;
}

static void read_terms(struct timeline *out)
{
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = out->lines[i].line;
        double at_ms = out->lines[i].at_ms;
        const char *place = json_member_text(line, "place", NULL);
        if (!line_is(line, "chief") || place == NULL || *place == '\0') { continue; }
        struct term term = {.place = place,
                            .epoch = json_member_integer(line, "epoch", 0),
                            .took_ms = json_member_number(line, "took_ms", 0)};
        term.from_ms = in_office_ms(out, term.epoch, at_ms);
        term.to_ms = next_down(out, place, term.from_ms);
        if (out->term_count > 0) {
            struct term *last = &out->terms[out->term_count - 1];
            if (last->to_ms > term.from_ms) { last->to_ms = term.from_ms; }
        }
        out->terms[out->term_count++] = term;
    }
}

/* ------------------------------------------------------------- what was said */

static void read_event(struct timeline *out, const json_t *line, double at_ms)
{
    const json_t *event = json_object_get(line, "event");
    const char *name = json_member_text(event, "event", "");
    out->events[out->event_count++] =
        (struct timeline_event){.at_ms = at_ms,
                                .event = name,
                                .task = json_member_text(event, "task", ""),
                                .step = json_member_integer(event, "step", -1)};
    assert(out->checkpoints != NULL);
    if (strcmp(name, "checkpoint") != 0) { return; }
    /* A harness that has lost its place in the cluster's history is told it again. */
    double *last = out->checkpoint_count ? &out->checkpoints[out->checkpoint_count - 1] : NULL;
    if (last == NULL || *last < at_ms) { out->checkpoints[out->checkpoint_count++] = at_ms; }
}

static void read_fault(struct timeline *out, const json_t *line, double at_ms)
{
    out->faults[out->fault_count++] =
        (struct timeline_fault){.id = json_member_integer(line, "id", 0),
                                .step = json_member_integer(line, "step", -1),
                                .fault = json_member_text(line, "fault", "?"),
                                .whom = json_member_text(line, "whom", ""),
                                .phase = json_member_text(line, "phase", ""),
                                .point = json_member_text(line, "point", ""),
                                .text = json_member_text(line, "text", ""),
                                .at_ms = at_ms,
                                .until_ms = at_ms,
                                .targets = json_object_get(line, "targets")};
}

static void read_undo(struct timeline *out, const json_t *line, double at_ms)
{
    json_int_t id = json_member_integer(line, "id", -1);
    for (size_t i = 0; i < out->fault_count; i++) {
        if (out->faults[i].id == id) { out->faults[i].until_ms = at_ms; }
    }
}

static bool is_same_phase(const json_t *a, const json_t *b)
{
    return a != NULL &&
           json_member_integer(a, "generation", 0) == json_member_integer(b, "generation", 0) &&
           strcmp(json_member_text(a, "phase", ""), json_member_text(b, "phase", "")) == 0;
}

static void read_sample(struct timeline *out, const json_t *line, double at_ms,
                        const json_t **before)
{
    struct sample sample = {.at_ms = at_ms,
                            .step = json_member_integer(line, "step", -1),
                            .generation = json_member_integer(line, "generation", 0)};
    /* The first of a phase or generation has the step of the one before. */
    bool fresh = is_same_phase(*before, line);
    *before = line;
    if (sample.step >= 0 && fresh) { out->samples[out->sample_count++] = sample; }
}

static void read_lines(struct timeline *out)
{
    const json_t *before = NULL;
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = out->lines[i].line;
        double at_ms = out->lines[i].at_ms;
        if (line_is(line, "event")) { read_event(out, line, at_ms); }
        if (line_is(line, "fault")) { read_fault(out, line, at_ms); }
        if (line_is(line, "undo")) { read_undo(out, line, at_ms); }
        if (line_is(line, "skipped")) { out->skipped_count++; }
        if (line_is(line, "step")) { read_sample(out, line, at_ms, &before); }
    }
}

/* ------------------------------------------------------------- phases */

/* The phase that an event begins. */
static bool phase_of_event(const json_t *event, enum run_phase *out)
{
    const char *name = json_member_text(event, "event", "");
    if (strcmp(name, "restored") == 0 || strcmp(name, "recovered") == 0) { name = "running"; }
    for (enum run_phase phase = 0; phase < RUN_PHASES; phase++) {
        *out = phase;
        if (strcmp(run_phase_name(phase), name) == 0) { return true; }
    }
    return false;
}

static bool phase_of_name(const char *name, enum run_phase *out)
{
    for (enum run_phase phase = 0; phase < RUN_PHASES; phase++) {
        *out = phase;
        if (strcmp(run_phase_name(phase), name) == 0) { return true; }
    }
    return false;
}

static void enter(struct timeline *out, enum run_phase phase, double at_ms)
{
    assert(out->phase_intervals != NULL);
    struct phase_interval *last =
        out->phase_interval_count ? &out->phase_intervals[out->phase_interval_count - 1] : NULL;
    if (at_ms > out->end_ms) { at_ms = out->end_ms; }
    if (last != NULL && last->phase == phase) { return; }
    if (last != NULL) {
        if (at_ms < last->from_ms) { at_ms = last->from_ms; }
        last->to_ms = at_ms;
    }
    out->phase_intervals[out->phase_interval_count++] =
        (struct phase_interval){.phase = phase, .from_ms = at_ms, .to_ms = out->end_ms};
}

/* A "step" line is written as soon as the harness sees another phase or generation, and then
 * regularly. What is regular may be behind the truth while the harness is cut off from ZooKeeper:
 * it only tells that training goes on, by its steps. */
static void read_step_phase(struct timeline *out, const json_t *line, const json_t *before,
                            double at_ms, const struct sample *running)
{
    enum { HEARD_LATE_MS = 100, SETTLED_MS = 400 };
    enum run_phase phase;
    if (!phase_of_name(json_member_text(line, "phase", ""), &phase)) { return; }
    json_int_t step = json_member_integer(line, "step", 0);
    bool advances = before != NULL && step > json_member_integer(before, "step", 0);
    /* A phase before the one that the cluster has told of: it was only heard of later. */
    if (phase != RUN_RUNNING && at_ms < running->at_ms + HEARD_LATE_MS &&
        json_member_integer(line, "generation", 0) <= running->generation) {
        return;
    }
    bool known = is_same_phase(before, line);
    bool lately = out->phase_interval_count > 0 &&
                  at_ms < out->phase_intervals[out->phase_interval_count - 1].from_ms + SETTLED_MS;
    if (!known || (phase == RUN_RUNNING && advances && !lately)) { enter(out, phase, at_ms); }
}

static void read_phases(struct timeline *out)
{
    const json_t *before = NULL;
    struct sample running = {.at_ms = -1e9};
    enum run_phase phase;
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = out->lines[i].line;
        double at_ms = out->lines[i].at_ms;
        const json_t *event = json_object_get(line, "event");
        bool told = line_is(line, "event") && phase_of_event(event, &phase);
        if (told) { enter(out, phase, at_ms); }
        if (told && phase == RUN_RUNNING) {
            running = (struct sample){.at_ms = at_ms,
                                      .generation = json_member_integer(event, "generation", 0)};
        }
        /* All of it had died, and is started again. */
        if (line_is(line, "run") && strcmp(json_member_text(line, "state", ""), "again") == 0) {
            enter(out, RUN_FORMING, at_ms);
        }
        if (!line_is(line, "step")) { continue; }
        read_step_phase(out, line, before, at_ms, &running);
        before = line;
    }
}

static bool stands_still(enum run_phase phase)
{
    return phase == RUN_PAUSED || phase == RUN_LOADING || phase == RUN_FORMING;
}

static void read_window(struct timeline *out)
{
    out->train_ms = out->trained_ms = out->end_ms;
    for (size_t i = out->phase_interval_count; i-- > 0;) {
        if (out->phase_intervals[i].phase == RUN_RUNNING) {
            out->train_ms = out->phase_intervals[i].from_ms;
        }
    }
    for (size_t i = out->phase_interval_count; i-- > 0;) {
        enum run_phase phase = out->phase_intervals[i].phase;
        if (phase == RUN_RUNNING || stands_still(phase)) { break; }
        out->trained_ms = out->phase_intervals[i].from_ms;
    }
    if (out->trained_ms < out->train_ms) { out->trained_ms = out->train_ms; }
}

/* What the chief says of a pause, on the lines from its beginning to its end. The two are told at
 * about the same time as the phases change. */
static void read_words(const struct timeline *all, struct pause *pause)
{
    enum { LATE_MS = 500 };
    for (size_t i = 0; i < all->line_count; i++) {
        const json_t *line = all->lines[i].line, *event = json_object_get(line, "event");
        double at_ms = all->lines[i].at_ms;
        const char *name = json_member_text(event, "event", "");
        if (!line_is(line, "event") || at_ms < pause->from_ms) { continue; }
        if (at_ms > pause->to_ms + LATE_MS) { break; }
        if (strcmp(name, "paused") == 0 && pause->task == NULL) {
            pause->task = json_member_text(event, "task", NULL);
        }
        if (strcmp(name, "restored") != 0 && strcmp(name, "recovered") != 0) { continue; }
        if (pause->task == NULL) { pause->task = json_member_text(event, "task", NULL); }
        pause->kind = json_member_text(event, "kind", NULL);
        pause->paused_ms = json_member_integer(event, "paused_ms", -1);
        pause->steps_redone = json_member_integer(event, "steps_redone", -1);
        pause->step = json_member_integer(event, "step", -1);
        break;
    }
}

static void read_pauses(struct timeline *out)
{
    for (size_t i = 0; i < out->phase_interval_count; i++) {
        const struct phase_interval *phase_interval = &out->phase_intervals[i];
        if (!stands_still(phase_interval->phase) || phase_interval->from_ms < out->train_ms) {
            continue;
        }
        struct pause pause = {
            .from_ms = phase_interval->from_ms, .paused_ms = -1, .steps_redone = -1, .step = -1};
        while (i + 1 < out->phase_interval_count &&
               stands_still(out->phase_intervals[i + 1].phase)) {
            i++;
        }
        pause.to_ms = out->phase_intervals[i].to_ms;
        pause.ended = i + 1 < out->phase_interval_count;
        read_words(out, &pause);
        out->pauses[out->pause_count++] = pause;
    }
}

bool timeline_read(const json_t *history, struct timeline *out)
{
    *out = (struct timeline){0};
    if (!order_lines(history, out) || !allocate(out)) {
        timeline_free(out);
        return false;
    }
    read_lanes(out);
    read_terms(out);
    read_lines(out);
    read_phases(out);
    read_window(out);
    read_pauses(out);
    return true;
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->lines);
    free(timeline->lanes);
    free(timeline->place_intervals);
    free(timeline->terms);
    free(timeline->phase_intervals);
    free(timeline->pauses);
    free(timeline->samples);
    free(timeline->faults);
    free(timeline->events);
    free(timeline->checkpoints);
    *timeline = (struct timeline){0};
}
