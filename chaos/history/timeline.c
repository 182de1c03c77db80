#include "chaos/history/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "common/base/minmax.h"

bool timeline_fault_hits(const struct timeline_fault *fault, const char *component)
{
    assert(component != NULL);
    for (size_t i = 0; i < json_array_size(fault->targets); i++) {
        const char *name = json_string_value(json_array_get(fault->targets, i));
        if (name != NULL && strcmp(name, component) == 0) { return true; }
    }
    return false;
}

const char *timeline_fault_moment(const struct timeline_fault *fault)
{
    assert(fault->point != NULL);
    assert(fault->phase != NULL);
    if (*fault->point != '\0') { return fault->point; }
    return *fault->phase != '\0' ? fault->phase : "unknown";
}

/* ------------------------------------------------------------- components */

static bool parse_state(const char *name, enum component_state *out)
{
    assert(name != NULL);
    static const struct {
        const char *name;
        enum component_state state;
    } states[] = {
        {"up", COMPONENT_UP},
        {"thawed", COMPONENT_UP},
        {"frozen", COMPONENT_FROZEN},
        {"down", COMPONENT_DOWN},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        *out = states[i].state;
        if (strcmp(states[i].name, name) == 0) { return true; }
    }
    return false;
}

static const char *lane_name(const struct timeline *all, size_t lane)
{
    assert(lane < all->lane_count);
    assert(all->lanes[lane] != NULL);
    return all->lanes[lane];
}

static void end_component_interval(struct timeline *out, struct component_interval interval,
                                   double to_ms)
{
    assert(interval.lane < out->lane_count);
    interval.to_ms = to_ms;
    if (interval.to_ms <= interval.from_ms) { return; }
    out->component_intervals[out->component_interval_count++] = interval;
}

static void read_lane(struct timeline *out, size_t lane)
{
    struct component_interval interval = {.lane = lane, .state = COMPONENT_DOWN};
    for (size_t i = 0; i < out->line_count && out->lines[i].at_ms <= out->end_ms; i++) {
        const json_t *line = out->lines[i].line;
        double at_ms = out->lines[i].at_ms;
        const char *name = json_member_text(line, "state", "");
        enum component_state state;
        if (!line_is(line, "component")) { continue; }
        if (strcmp(json_member_text(line, "component", ""), lane_name(out, lane)) != 0) {
            continue;
        }
        if (!parse_state(name, &state)) { continue; }
        /* A process that is down cannot thaw. */
        if (interval.state == COMPONENT_DOWN && strcmp(name, "thawed") == 0) { continue; }
        end_component_interval(out, interval, at_ms);
        interval = (struct component_interval){.lane = lane,
                                               .state = state,
                                               .from_ms = at_ms,
                                               .pid = json_member_integer(line, "pid", 0)};
    }
    end_component_interval(out, interval, out->end_ms);
}

static bool has_lane(const struct timeline *all, const char *component)
{
    assert(component != NULL);
    for (size_t i = 0; i < all->lane_count; i++) {
        if (strcmp(lane_name(all, i), component) == 0) { return true; }
    }
    return false;
}

static void read_lanes(struct timeline *out)
{
    const json_t *components = json_object_get(out->begin, "components");
    for (size_t i = 0; i < json_array_size(components); i++) {
        const char *name = json_string_value(json_array_get(components, i));
        if (name != NULL && !has_lane(out, name)) { out->lanes[out->lane_count++] = name; }
    }
    for (size_t i = 0; i < out->lane_count; i++) { read_lane(out, i); }
}

/* ------------------------------------------------------------- terms */

static double next_down_ms(const struct timeline *all, const char *component, double from_ms)
{
    assert(component != NULL);
    for (size_t i = 0; i < all->component_interval_count; i++) {
        const struct component_interval *interval = &all->component_intervals[i];
        if (interval->state == COMPONENT_DOWN && interval->from_ms >= from_ms &&
            strcmp(lane_name(all, interval->lane), component) == 0) {
            return interval->from_ms;
        }
    }
    return all->end_ms;
}

/* The harness may have been cut off from ZooKeeper when the term began: then the time in the new
 * chief's own event counts. */
static double term_begin_ms(const struct timeline *all, json_int_t epoch, double seen_ms)
{
    enum { LATE_MS = 250 };
    for (size_t i = 0; i < all->line_count; i++) {
        const json_t *event = json_object_get(all->lines[i].line, "event");
        if (strcmp(json_member_text(event, "event", ""), "elected") != 0) { continue; }
        if (json_member_integer(event, "epoch", -1) != epoch) { continue; }
        return all->lines[i].at_ms < seen_ms - LATE_MS ? all->lines[i].at_ms : seen_ms;
    }
    return seen_ms;
}

static void read_term(struct timeline *out, const json_t *line, double at_ms)
{
    assert(out->term_count < out->line_count);
    struct term term = {.component = json_member_text(line, "component", ""),
                        .epoch = json_member_integer(line, "epoch", 0),
                        .took_ms = json_member_number(line, "took_ms", 0)};
    if (*term.component == '\0') { return; }
    term.from_ms = term_begin_ms(out, term.epoch, at_ms);
    term.to_ms = next_down_ms(out, term.component, term.from_ms);
    if (out->term_count > 0) {
        struct term *former = &out->terms[out->term_count - 1];
        former->to_ms = double_min(former->to_ms, term.from_ms);
    }
    out->terms[out->term_count++] = term;
}

/* ------------------------------------------------------------- events, faults, samples */

static void read_event(struct timeline *out, const json_t *line, double at_ms)
{
    assert(out->event_count < out->line_count);
    const json_t *event = json_object_get(line, "event");
    const char *name = json_member_text(event, "event", "");
    out->events[out->event_count++] =
        (struct timeline_event){.at_ms = at_ms,
                                .event = name,
                                .task = json_member_text(event, "task", ""),
                                .step = json_member_integer(event, "step", -1)};
    if (strcmp(name, "checkpoint") != 0) { return; }
    /* A harness that lost its position in the cluster's history reads events a second time. */
    size_t count = out->checkpoint_count;
    if (count > 0 && at_ms <= out->checkpoints[count - 1]) { return; }
    out->checkpoints[out->checkpoint_count++] = at_ms;
}

static void read_fault(struct timeline *out, const json_t *line, double at_ms)
{
    assert(out->fault_count < out->line_count);
    out->faults[out->fault_count++] =
        (struct timeline_fault){.id = json_member_integer(line, "id", 0),
                                .step = json_member_integer(line, "step", -1),
                                .fault = json_member_text(line, "fault", "?"),
                                .selector = json_member_text(line, "selector", ""),
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

/* The first line of a phase or generation has the step of the one before, and is left out. */
static void read_sample(struct timeline *out, const json_t *line, const json_t *before,
                        double at_ms)
{
    assert(out->sample_count < out->line_count);
    struct sample sample = {.at_ms = at_ms,
                            .step = json_member_integer(line, "step", -1),
                            .generation = json_member_integer(line, "generation", 0)};
    if (sample.step < 0 || !is_same_phase(before, line)) { return; }
    out->samples[out->sample_count++] = sample;
}

static void read_lines(struct timeline *out)
{
    const json_t *before = NULL; /* The "step" line before. */
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = out->lines[i].line;
        double at_ms = out->lines[i].at_ms;
        if (line_is(line, "chief")) { read_term(out, line, at_ms); }
        if (line_is(line, "event")) { read_event(out, line, at_ms); }
        if (line_is(line, "fault")) { read_fault(out, line, at_ms); }
        if (line_is(line, "undo")) { read_undo(out, line, at_ms); }
        if (line_is(line, "skipped")) { out->skipped_count++; }
        if (!line_is(line, "step")) { continue; }
        read_sample(out, line, before, at_ms);
        before = line;
    }
}

/* ------------------------------------------------------------- phases */

/* The phase that an event begins. */
static bool phase_of_event(const json_t *event, enum run_phase *out)
{
    const char *name = json_member_text(event, "event", "");
    if (strcmp(name, "restored") == 0 || strcmp(name, "recovered") == 0) { name = "running"; }
    return run_phase_parse(name, out);
}

static void enter_phase(struct timeline *out, enum run_phase phase, double at_ms)
{
    assert(phase < RUN_PHASES);
    assert(out->phase_interval_count < out->line_count);
    size_t count = out->phase_interval_count;
    struct phase_interval *last = count > 0 ? &out->phase_intervals[count - 1] : NULL;
    if (last != NULL && last->phase == phase) { return; }
    at_ms = double_min(at_ms, out->end_ms);
    if (last != NULL) { at_ms = last->to_ms = double_max(at_ms, last->from_ms); }
    out->phase_intervals[out->phase_interval_count++] =
        (struct phase_interval){.phase = phase, .from_ms = at_ms, .to_ms = out->end_ms};
}

/*
 * The phase of a "step" line. The harness writes such a line as soon as it sees another phase or
 * generation, and then regularly. While it is cut off from ZooKeeper, the phase in the regular
 * lines may be an old one; only steps that advance prove that the run is training.
 *
 * `running`: the last event that began or resumed training.
 */
static void read_step_phase(struct timeline *out, const json_t *line, const json_t *before,
                            double at_ms, const struct sample *running)
{
    assert(running != NULL);
    enum { SEEN_LATE_MS = 100, SETTLED_MS = 400 };
    enum run_phase phase;
    if (!run_phase_parse(json_member_text(line, "phase", ""), &phase)) { return; }
    /* A phase before that event, which the harness saw only after it. */
    if (phase != RUN_RUNNING && at_ms < running->at_ms + SEEN_LATE_MS &&
        json_member_integer(line, "generation", 0) <= running->generation) {
        return;
    }
    bool advances = before != NULL &&
                    json_member_integer(line, "step", 0) > json_member_integer(before, "step", 0);
    size_t count = out->phase_interval_count;
    bool settled = count == 0 || at_ms >= out->phase_intervals[count - 1].from_ms + SETTLED_MS;
    if (!is_same_phase(before, line) || (phase == RUN_RUNNING && advances && settled)) {
        enter_phase(out, phase, at_ms);
    }
}

static void read_phases(struct timeline *out)
{
    const json_t *before = NULL; /* The "step" line before. */
    struct sample running = {.at_ms = -1e9};
    for (size_t i = 0; i < out->line_count; i++) {
        const json_t *line = out->lines[i].line, *event = json_object_get(line, "event");
        double at_ms = out->lines[i].at_ms;
        enum run_phase phase;
        if (line_is(line, "event") && phase_of_event(event, &phase)) {
            enter_phase(out, phase, at_ms);
            if (phase != RUN_RUNNING) { continue; }
            running.at_ms = at_ms;
            running.generation = json_member_integer(event, "generation", 0);
        }
        /* All of the cluster was dead, and is started again. */
        if (line_is(line, "run") && strcmp(json_member_text(line, "state", ""), "again") == 0) {
            enter_phase(out, RUN_FORMING, at_ms);
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

/* From the first running until stopping begins. */
static void read_window(struct timeline *out)
{
    assert(out->end_ms >= 0);
    out->train_from_ms = out->train_to_ms = out->end_ms;
    for (size_t i = out->phase_interval_count; i-- > 0;) {
        const struct phase_interval *interval = &out->phase_intervals[i];
        if (interval->phase == RUN_RUNNING) { out->train_from_ms = interval->from_ms; }
    }
    for (size_t i = out->phase_interval_count; i-- > 0;) {
        const struct phase_interval *interval = &out->phase_intervals[i];
        if (interval->phase == RUN_RUNNING || stands_still(interval->phase)) { break; }
        out->train_to_ms = interval->from_ms;
    }
    out->train_to_ms = double_max(out->train_to_ms, out->train_from_ms);
}

/* ------------------------------------------------------------- pauses */

/* The chief's events about a pause. They are published at about the time at which the phases
 * change. */
static void read_pause_events(const struct timeline *all, struct pause *pause)
{
    assert(pause->from_ms <= pause->to_ms);
    enum { LATE_MS = 500 };
    for (size_t i = 0; i < all->line_count; i++) {
        const json_t *line = all->lines[i].line, *event = json_object_get(line, "event");
        double at_ms = all->lines[i].at_ms;
        const char *name = json_member_text(event, "event", "");
        bool begins = strcmp(name, "paused") == 0;
        bool ends = strcmp(name, "restored") == 0 || strcmp(name, "recovered") == 0;
        if (!line_is(line, "event") || at_ms < pause->from_ms) { continue; }
        if (at_ms > pause->to_ms + LATE_MS) { return; }
        if ((begins || ends) && pause->task == NULL) {
            pause->task = json_member_text(event, "task", NULL);
        }
        if (!ends) { continue; }
        pause->kind = json_member_text(event, "kind", NULL);
        pause->paused_ms = json_member_integer(event, "paused_ms", -1);
        pause->steps_redone = json_member_integer(event, "steps_redone", -1);
        pause->step = json_member_integer(event, "step", -1);
        return;
    }
}

static void read_pauses(struct timeline *out)
{
    const struct phase_interval *intervals = out->phase_intervals;
    size_t count = out->phase_interval_count;
    for (size_t i = 0; i < count; i++) {
        if (!stands_still(intervals[i].phase) || intervals[i].from_ms < out->train_from_ms) {
            continue;
        }
        struct pause pause = {
            .from_ms = intervals[i].from_ms, .paused_ms = -1, .steps_redone = -1, .step = -1};
        while (i + 1 < count && stands_still(intervals[i + 1].phase)) { i++; }
        pause.to_ms = intervals[i].to_ms;
        pause.ended = i + 1 < count;
        assert(pause.from_ms <= pause.to_ms);
        read_pause_events(out, &pause);
        out->pauses[out->pause_count++] = pause;
    }
}

/* ------------------------------------------------------------- whole */

/* The lines of which there is one, and the end. */
static void read_frame(const json_t *history, struct timeline *out)
{
    for (size_t i = 0; i < json_array_size(history); i++) {
        const json_t *line = json_array_get(history, i);
        if (line_is(line, "begin")) { out->begin = line; }
        if (line_is(line, "end")) { out->end = line; }
        if (line_is(line, "verdict")) { out->verdict = line; }
        out->end_ms = double_max(out->end_ms, json_member_number(line, "t_ms", 0));
    }
    /* Judging takes time, in which the cluster no longer exists. */
    if (out->end != NULL) { out->end_ms = double_max(json_member_number(out->end, "t_ms", 0), 0); }
}

/* A line adds at most one element to an array; each lane has one more interval than lines. */
static bool allocate(struct timeline *out)
{
    assert(out->lines != NULL);
    size_t most = out->line_count + 1;
    size_t lanes = json_array_size(json_object_get(out->begin, "components")) + 1;
    out->lanes = calloc(lanes, sizeof *out->lanes);
    out->component_intervals = calloc(most + lanes, sizeof *out->component_intervals);
    out->terms = calloc(most, sizeof *out->terms);
    out->phase_intervals = calloc(most, sizeof *out->phase_intervals);
    out->pauses = calloc(most, sizeof *out->pauses);
    out->samples = calloc(most, sizeof *out->samples);
    out->faults = calloc(most, sizeof *out->faults);
    out->events = calloc(most, sizeof *out->events);
    out->checkpoints = calloc(most, sizeof *out->checkpoints);
    return out->lanes != NULL && out->component_intervals != NULL && out->terms != NULL &&
           out->phase_intervals != NULL && out->pauses != NULL && out->samples != NULL &&
           out->faults != NULL && out->events != NULL && out->checkpoints != NULL;
}

bool timeline_read(const json_t *history, struct timeline *out)
{
    assert(out != NULL);
    *out = (struct timeline){0};
    read_frame(history, out);
    out->lines = line_order(history, &out->line_count);
    if (out->lines == NULL || !allocate(out)) {
        timeline_free(out);
        return false;
    }
    read_lanes(out);
    read_lines(out);
    read_phases(out);
    read_window(out);
    read_pauses(out);
    return true;
}

void timeline_free(struct timeline *timeline)
{
    assert(timeline != NULL);
    free(timeline->lines);
    free(timeline->lanes);
    free(timeline->component_intervals);
    free(timeline->terms);
    free(timeline->phase_intervals);
    free(timeline->pauses);
    free(timeline->samples);
    free(timeline->faults);
    free(timeline->events);
    free(timeline->checkpoints);
    *timeline = (struct timeline){0};
}
