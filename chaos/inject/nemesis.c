#include "chaos/inject/nemesis.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/proc.h"
#include "chaos/cluster/remote.h"
#include "chaos/inject/inject_failpoint.h"
#include "chaos/inject/injectors.h"
#include "common/base/clock.h"
#include "common/base/json_codec.h"

/* Who is not there now is waited for that long; an old fault is no fault of its moment. */
enum { PATIENCE_MS = 20000, AGAIN_MS = 20 };

/*
 *   WAITING ── due ──► (begin) ──► LASTING ── its time is over ──► OVER
 *      │ at a failpoint                └─ nothing to undo ───────► OVER
 *      └──────► ARMED ── it was passed ──► as after begin
 */
enum stage { STAGE_WAITING, STAGE_ARMED, STAGE_LASTING, STAGE_OVER };

struct doing {
    struct strike strike;
    enum stage stage;
    bool skipped;
    uint64_t since_ms;  /* It was due; 0: not yet. */
    uint64_t next_ms;   /* Tried again then. */
    uint64_t began_ms;  /* LASTING: since then, ... */
    uint64_t end_at_ms; /* ... until then. */
    struct point_watch watch;
    pid_t stopped; /* Frozen at a failpoint. */
};

struct nemesis {
    struct nemesis_config config;
    uint32_t count;
    struct doing *list;
};

struct nemesis *nemesis_create(const struct nemesis_config *config)
{
    struct nemesis *nemesis = calloc(1, sizeof *nemesis);
    uint32_t count = config->schedule->count;
    struct doing *list = calloc(count ? count : 1, sizeof *list);
    if (nemesis == NULL || list == NULL) {
        free(nemesis);
        free(list);
        return NULL;
    }
    *nemesis = (struct nemesis){.config = *config, .count = count, .list = list};
    for (uint32_t i = 0; i < count; i++) { list[i].strike.injection = config->schedule->list[i]; }
    return nemesis;
}

/* ------------------------------------------------------------- words */

static const struct injector *injector_for(const struct nemesis *nemesis, enum fault fault)
{
    return injector_of(fault, nemesis->config.cluster->remote != NULL);
}

static void say(const struct nemesis *nemesis, enum fault fault, const char *how, const char *words)
{
    char text[800];
    if (nemesis->config.say == NULL) { return; }
    snprintf(text, sizeof text, "%s%s: %s", fault_descriptor(fault)->name, how, words);
    nemesis->config.say(nemesis->config.ctx, text);
}

static json_t *targets_json(const struct strike *strike)
{
    json_t *targets = json_array();
    for (uint32_t i = 0; i < strike->target_count; i++) {
        json_array_append_new(targets, json_string(strike->targets[i]));
    }
    return targets;
}

static void note_done(struct nemesis *nemesis, const struct doing *doing, uint64_t at_us)
{
    const struct strike *strike = &doing->strike;
    const struct cluster_view *view = watcher_view(nemesis->config.watcher);
    const char *point =
        strike->injection.trigger.type == TRIGGER_POINT ? strike->injection.trigger.point : NULL;
    json_t *line = json_pack(
        "{s:i, s:s, s:s, s:o, s:I, s:s, s:s?, s:o}", "id", (int)strike->injection.id, "fault",
        fault_descriptor(strike->injection.fault)->name, "whom", strike->injection.whom, "targets",
        targets_json(strike), "step", (json_int_t)view->step, "phase",
        view->has_run ? run_phase_name(view->phase) : "before", "point", point, "text",
        json_text(strike->text));
    history_file_add_at(nemesis->config.history, at_us, "fault", line);
    say(nemesis, strike->injection.fault, "", strike->text);
}

static void skip(struct nemesis *nemesis, struct doing *doing, const char *why)
{
    const struct injection *injection = &doing->strike.injection;
    history_file_add(nemesis->config.history, "skipped",
                     json_pack("{s:i, s:s, s:s, s:o}", "id", (int)injection->id, "fault",
                               fault_descriptor(injection->fault)->name, "whom", injection->whom,
                               "text", json_text(why)));
    doing->stage = STAGE_OVER;
    doing->skipped = true;
    say(nemesis, injection->fault, " was not done", why);
}

/* ------------------------------------------------------------- ending */

static void end(struct nemesis *nemesis, struct doing *doing)
{
    struct strike *strike = &doing->strike;
    const struct injector *injector = injector_for(nemesis, strike->injection.fault);
    doing->stage = STAGE_OVER;
    if (strike->injection.trigger.type == TRIGGER_POINT) {
        bool woken = doing->stopped > 0 && proc_state(doing->stopped) == 'T' &&
                     kill(doing->stopped, SIGCONT) == 0;
        snprintf(strike->text, sizeof strike->text, "SIGCONT: %s",
                 woken ? "it was there still, and woke" : "it was gone");
    } else if (injector->end != NULL) {
        injector->end(nemesis->config.cluster, strike);
    }
    history_file_add(nemesis->config.history, "undo",
                     json_pack("{s:i, s:s, s:o, s:o}", "id", (int)strike->injection.id, "fault",
                               fault_descriptor(strike->injection.fault)->name, "targets",
                               targets_json(strike), "text", json_text(strike->text)));
    say(nemesis, strike->injection.fault, " is over", strike->text);
}

static void last(struct doing *doing, uint64_t now_ms)
{
    bool lasts = doing->strike.injection.for_ms > 0;
    doing->stage = lasts ? STAGE_LASTING : STAGE_OVER;
    doing->began_ms = now_ms;
    doing->end_at_ms = now_ms + doing->strike.injection.for_ms;
}

/* ------------------------------------------------------------- beginning */

static bool is_due(const struct nemesis *nemesis, const struct trigger *trigger, uint64_t now_ms)
{
    const struct cluster_view *view = watcher_view(nemesis->config.watcher);
    switch (trigger->type) {
    case TRIGGER_STEP: return view->has_run && view->step >= trigger->step;
    case TRIGGER_PHASE: return view->phase_count[trigger->phase] >= trigger->count;
    case TRIGGER_TIME:
    case TRIGGER_POINT:
        return view->training_began_ms != 0 && now_ms >= view->training_began_ms + trigger->at_ms;
    }
    return false;
}

/* A failpoint before training begins must be waited for from the start. */
static bool is_early(const struct trigger *trigger)
{
    return trigger->type == TRIGGER_POINT && trigger->at_ms == 0;
}

static void try_again(struct nemesis *nemesis, struct doing *doing, const struct error *error,
                      uint64_t now_ms)
{
    doing->next_ms = now_ms + AGAIN_MS;
    if (error->status != TN_EAGAIN || now_ms - doing->since_ms > PATIENCE_MS) {
        skip(nemesis, doing, error->text);
    }
}

static void begin(struct nemesis *nemesis, struct doing *doing, uint64_t now_ms)
{
    struct error error;
    struct strike *strike = &doing->strike;
    const struct injector *injector = injector_for(nemesis, strike->injection.fault);
    if (strncmp(strike->injection.whom, "zookeeper-", 10) == 0) {
        watcher_find_leader(nemesis->config.watcher);
    }
    uint64_t before_us = clock_monotonic_ns() / 1000;
    enum tn_status status = injector->begin(nemesis->config.cluster, strike, &error);
    if (status != TN_OK) {
        try_again(nemesis, doing, &error, now_ms);
        return;
    }
    note_done(nemesis, doing, before_us);
    last(doing, now_ms);
}

static void arm(struct nemesis *nemesis, struct doing *doing, uint64_t now_ms)
{
    struct error error;
    const struct strike *strike = &doing->strike;
    enum tn_status status =
        point_arm(&doing->watch, nemesis->config.cluster, &strike->injection, &error);
    if (status == TN_OK) {
        doing->stage = STAGE_ARMED;
    } else {
        try_again(nemesis, doing, &error, now_ms);
    }
}

static void look_at_point(struct nemesis *nemesis, struct doing *doing, uint64_t now_ms)
{
    struct strike *strike = &doing->strike;
    if (!point_poll(&doing->watch, nemesis->config.cluster)) { return; }
    const char *name = doing->watch.place;
    long pid = (long)doing->watch.pid;
    doing->stopped = strike->injection.fault == FAULT_FREEZE ? (pid_t)pid : 0;
    strike->target_count = 1;
    snprintf(strike->targets[0], PLACE_NAME_MAX, "%s", name);
    snprintf(strike->text, sizeof strike->text, "%s (pid %ld) at %s", name, pid,
             strike->injection.trigger.point);
    note_done(nemesis, doing, clock_monotonic_ns() / 1000);
    if (strike->injection.fault == FAULT_FREEZE) {
        last(doing, now_ms);
    } else {
        doing->stage = STAGE_OVER;
    }
}

static void step_one(struct nemesis *nemesis, struct doing *doing, uint64_t now_ms)
{
    const struct injection *injection = &doing->strike.injection;
    const struct injector *injector = injector_for(nemesis, injection->fault);
    const char *lacks = NULL;
    switch (doing->stage) {
    case STAGE_WAITING:
        if (now_ms < doing->next_ms) { return; }
        if (!is_early(&injection->trigger) && !is_due(nemesis, &injection->trigger, now_ms)) {
            return;
        }
        if (doing->since_ms == 0) { doing->since_ms = now_ms; }
        lacks = probe_lacks(nemesis->config.probe, fault_descriptor(injection->fault)->needs);
        if (injection->trigger.type == TRIGGER_POINT && nemesis->config.cluster->remote != NULL) {
            lacks = "failpoints are out of reach from here";
        }
        if (lacks != NULL) {
            skip(nemesis, doing, lacks);
        } else if (injection->trigger.type == TRIGGER_POINT) {
            arm(nemesis, doing, now_ms);
        } else {
            begin(nemesis, doing, now_ms);
        }
        return;
    case STAGE_ARMED: look_at_point(nemesis, doing, now_ms); return;
    case STAGE_LASTING:
        if (now_ms >= doing->end_at_ms) {
            end(nemesis, doing);
        } else if (injection->trigger.type != TRIGGER_POINT && injector->tick != NULL) {
            injector->tick(nemesis->config.cluster, &doing->strike);
        }
        doing->end_at_ms = doing->began_ms + injection->for_ms; /* A tick may have changed it. */
        return;
    case STAGE_OVER: return;
    }
}

void nemesis_step(struct nemesis *nemesis, uint64_t now_ms)
{
    for (uint32_t i = 0; i < nemesis->count; i++) { step_one(nemesis, &nemesis->list[i], now_ms); }
}

void nemesis_finish(struct nemesis *nemesis)
{
    for (uint32_t i = 0; i < nemesis->count; i++) {
        struct doing *doing = &nemesis->list[i];
        if (doing->stage == STAGE_ARMED) {
            look_at_point(nemesis, doing, clock_monotonic_ms());
            if (doing->stage == STAGE_ARMED) {
                point_disarm(&doing->watch);
                skip(nemesis, doing, "its failpoint was not passed again");
            }
        }
        if (doing->stage == STAGE_LASTING) { end(nemesis, doing); }
        if (doing->stage == STAGE_WAITING) {
            skip(nemesis, doing, "the run ended before it was due");
        }
    }
}

struct nemesis_counts nemesis_counts(const struct nemesis *nemesis)
{
    struct nemesis_counts counts = {0};
    for (uint32_t i = 0; i < nemesis->count; i++) {
        const struct doing *doing = &nemesis->list[i];
        counts.skipped += doing->skipped;
        counts.done += doing->stage >= STAGE_LASTING && !doing->skipped;
        counts.waiting += doing->stage < STAGE_LASTING;
        if (doing->stage != STAGE_LASTING) { continue; }
        counts.lasting++;
        if (doing->end_at_ms > counts.busy_until_ms) { counts.busy_until_ms = doing->end_at_ms; }
    }
    return counts;
}

void nemesis_destroy(struct nemesis *nemesis)
{
    if (nemesis == NULL) { return; }
    free(nemesis->list);
    free(nemesis);
}
