/*
 * Each fault of the schedule goes through these stages:
 *
 *   WAITING -- due: try_begin() -----------> ACTIVE, or OVER if nothing has to be undone
 *           -- due at a failpoint: try_arm() -> ARMED
 *           -- cannot be injected: skip() -> OVER
 *   ARMED   -- it was passed: poll_failpoint() -> ACTIVE, or OVER
 *   ACTIVE  -- its time is over: end() ----> OVER
 */
#include "chaos/inject/nemesis.h"

#include <assert.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/proc.h"
#include "chaos/inject/inject_failpoint.h"
#include "chaos/inject/injector.h"
#include "common/base/clock.h"
#include "common/base/json_codec.h"

/* An absent target is waited for that long; a fault that is much too late tests another moment. */
enum { PATIENCE_MS = 20000, RETRY_MS = 20 };

enum stage { STAGE_WAITING, STAGE_ARMED, STAGE_ACTIVE, STAGE_OVER };

struct entry {
    struct active_fault fault;
    const struct injector *injector;
    enum stage stage;
    bool skipped;
    uint64_t due_ms;   /* It was due then; 0: not yet. */
    uint64_t retry_ms; /* Not tried again before. */
    uint64_t began_ms; /* When an active fault began. */
    struct failpoint_watch watch;
};

struct nemesis {
    struct nemesis_config config;
    uint32_t count;
    struct entry *list;
};

static bool is_at_failpoint(const struct entry *entry)
{
    return entry->fault.injection.trigger.type == TRIGGER_FAILPOINT;
}

static bool is_remote(const struct nemesis *nemesis)
{
    return nemesis->config.cluster->remote != NULL;
}

struct nemesis *nemesis_create(const struct nemesis_config *config)
{
    assert(config->cluster != NULL && config->schedule != NULL);
    struct nemesis *nemesis = calloc(1, sizeof *nemesis);
    uint32_t count = config->schedule->count;
    struct entry *list = calloc(count ? count : 1, sizeof *list);
    if (nemesis == NULL || list == NULL) {
        free(nemesis);
        free(list);
        return NULL;
    }
    *nemesis = (struct nemesis){.config = *config, .count = count, .list = list};
    for (uint32_t i = 0; i < count; i++) {
        list[i].fault.injection = config->schedule->list[i];
        list[i].injector = injector_of(list[i].fault.injection.fault, is_remote(nemesis));
    }
    return nemesis;
}

/* ------------------------------------------------------------- the history */

static void report(const struct nemesis *nemesis, const struct entry *entry, const char *event,
                   const char *text)
{
    char line[800];
    if (nemesis->config.report == NULL) { return; }
    snprintf(line, sizeof line, "%s%s: %s", fault_descriptor(entry->fault.injection.fault)->name,
             event, text);
    nemesis->config.report(nemesis->config.ctx, line);
}

static json_t *targets_json(const struct target_list *targets)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < targets->count; i++) {
        json_array_append_new(names, json_string(targets->components[i]->name));
    }
    return names;
}

static void record_begin(struct nemesis *nemesis, const struct entry *entry, uint64_t at_us)
{
    const struct active_fault *fault = &entry->fault;
    const struct injection *injection = &fault->injection;
    const struct cluster_view *view = watcher_view(nemesis->config.watcher);
    json_t *line =
        json_pack("{s:i, s:s, s:s, s:o, s:I, s:s, s:s?, s:o}", "id", (int)injection->id, "fault",
                  fault_descriptor(injection->fault)->name, "selector", injection->selector,
                  "targets", targets_json(&fault->targets), "step", (json_int_t)view->step, "phase",
                  view->has_run ? run_phase_name(view->phase) : "before", "point",
                  is_at_failpoint(entry) ? injection->trigger.failpoint : NULL, "text",
                  json_text(fault->text));
    history_file_add_at(nemesis->config.history, at_us, "fault", line);
    report(nemesis, entry, "", fault->text);
}

static void skip(struct nemesis *nemesis, struct entry *entry, const char *why)
{
    const struct injection *injection = &entry->fault.injection;
    assert(entry->stage == STAGE_WAITING || entry->stage == STAGE_ARMED);
    const unsigned needs = fault_descriptor(injection->fault)->needs |
                           (is_at_failpoint(entry) ? (unsigned)NEED_FAILPOINTS : 0);
    history_file_add(nemesis->config.history, "skipped",
                     json_pack("{s:i, s:s, s:s, s:s*, s:o}", "id", (int)injection->id, "fault",
                               fault_descriptor(injection->fault)->name, "selector",
                               injection->selector, "lacks",
                               probe_lacking_need(nemesis->config.probe, needs), "text",
                               json_text(why)));
    entry->stage = STAGE_OVER;
    entry->skipped = true;
    report(nemesis, entry, " was skipped", why);
}

/* ------------------------------------------------------------- the end */

/* The process had frozen itself. */
static void continue_process(struct entry *entry)
{
    pid_t pid = entry->watch.pid;
    bool continued = proc_state(pid) == 'T' && kill(pid, SIGCONT) == 0;
    fault_describe(&entry->fault, "SIGCONT: the process %s", continued ? "continued" : "had ended");
}

static void end(struct nemesis *nemesis, struct entry *entry)
{
    struct active_fault *fault = &entry->fault;
    assert(entry->stage == STAGE_ACTIVE);
    entry->stage = STAGE_OVER;
    if (is_at_failpoint(entry)) {
        continue_process(entry);
    } else {
        injector_end(entry->injector, nemesis->config.cluster, fault);
    }
    history_file_add(nemesis->config.history, "undo",
                     json_pack("{s:i, s:s, s:o, s:o}", "id", (int)fault->injection.id, "fault",
                               fault_descriptor(fault->injection.fault)->name, "targets",
                               targets_json(&fault->targets), "text", json_text(fault->text)));
    report(nemesis, entry, " is over", fault->text);
}

/* ------------------------------------------------------------- the beginning */

static bool is_due(const struct nemesis *nemesis, const struct trigger *trigger, uint64_t now_ms)
{
    const struct cluster_view *view = watcher_view(nemesis->config.watcher);
    switch (trigger->type) {
    case TRIGGER_STEP: return view->has_run && view->step >= trigger->step;
    case TRIGGER_PHASE: return view->phase_count[trigger->phase] >= trigger->count;
    case TRIGGER_FAILPOINT:
        /* A failpoint that is passed before training begins must be armed from the start. */
        if (trigger->at_ms == 0) { return true; }
        break;
    case TRIGGER_TIME: break;
    }
    return view->training_began_ms != 0 && now_ms >= view->training_began_ms + trigger->at_ms;
}

/* Why the fault cannot be injected here; NULL: it can. */
static const char *find_obstacle(const struct nemesis *nemesis, const struct entry *entry)
{
    if (is_at_failpoint(entry) && is_remote(nemesis)) {
        return "failpoints of a remote cluster are out of reach";
    }
    return probe_lacks(nemesis->config.probe,
                       fault_descriptor(entry->fault.injection.fault)->needs);
}

static void try_again(struct nemesis *nemesis, struct entry *entry, const struct error *error,
                      uint64_t now_ms)
{
    assert(now_ms >= entry->due_ms);
    entry->retry_ms = now_ms + RETRY_MS;
    if (error->status != TN_EAGAIN || now_ms - entry->due_ms > PATIENCE_MS) {
        skip(nemesis, entry, error->text);
    }
}

static void try_arm(struct nemesis *nemesis, struct entry *entry, uint64_t now_ms)
{
    struct error error;
    assert(entry->stage == STAGE_WAITING);
    if (failpoint_watch_arm(&entry->watch, nemesis->config.cluster, &entry->fault.injection,
                            &error) == TN_OK) {
        entry->stage = STAGE_ARMED;
    } else {
        try_again(nemesis, entry, &error, now_ms);
    }
}

static void try_begin(struct nemesis *nemesis, struct entry *entry, uint64_t now_ms)
{
    struct error error;
    struct active_fault *fault = &entry->fault;
    assert(entry->stage == STAGE_WAITING);
    if (strncmp(fault->injection.selector, "zookeeper-", 10) == 0) {
        watcher_find_leader(nemesis->config.watcher);
    }
    uint64_t before_us = clock_monotonic_ns() / 1000;
    if (injector_begin(entry->injector, nemesis->config.cluster, fault, &error) != TN_OK) {
        try_again(nemesis, entry, &error, now_ms);
        return;
    }
    record_begin(nemesis, entry, before_us);
    entry->stage = fault->injection.for_ms > 0 ? STAGE_ACTIVE : STAGE_OVER;
    entry->began_ms = now_ms;
}

static void poll_failpoint(struct nemesis *nemesis, struct entry *entry, uint64_t now_ms)
{
    struct active_fault *fault = &entry->fault;
    const struct injection *injection = &fault->injection;
    assert(entry->stage == STAGE_ARMED);
    if (!failpoint_watch_poll(&entry->watch, nemesis->config.cluster)) { return; }
    fault->targets = (struct target_list){.count = 1, .components = {entry->watch.component}};
    fault_describe(fault, "%s (pid %ld) at %s", entry->watch.component->name,
                   (long)entry->watch.pid, injection->trigger.failpoint);
    record_begin(nemesis, entry, clock_monotonic_ns() / 1000);
    bool undone = injection->fault == FAULT_FREEZE && injection->for_ms > 0;
    entry->stage = undone ? STAGE_ACTIVE : STAGE_OVER;
    entry->began_ms = now_ms;
}

/* ------------------------------------------------------------- steps */

static void step_waiting(struct nemesis *nemesis, struct entry *entry, uint64_t now_ms)
{
    if (now_ms < entry->retry_ms) { return; }
    if (!is_due(nemesis, &entry->fault.injection.trigger, now_ms)) { return; }
    if (entry->due_ms == 0) { entry->due_ms = now_ms; }
    const char *obstacle = find_obstacle(nemesis, entry);
    if (obstacle != NULL) {
        skip(nemesis, entry, obstacle);
    } else if (is_at_failpoint(entry)) {
        try_arm(nemesis, entry, now_ms);
    } else {
        try_begin(nemesis, entry, now_ms);
    }
}

static void step_active(struct nemesis *nemesis, struct entry *entry, uint64_t now_ms)
{
    if (now_ms >= entry->began_ms + entry->fault.injection.for_ms) {
        end(nemesis, entry);
    } else if (!is_at_failpoint(entry) && entry->injector->tick != NULL) {
        entry->injector->tick(nemesis->config.cluster, &entry->fault);
    }
}

void nemesis_step(struct nemesis *nemesis, uint64_t now_ms)
{
    for (uint32_t i = 0; i < nemesis->count; i++) {
        struct entry *entry = &nemesis->list[i];
        switch (entry->stage) {
        case STAGE_WAITING: step_waiting(nemesis, entry, now_ms); break;
        case STAGE_ARMED: poll_failpoint(nemesis, entry, now_ms); break;
        case STAGE_ACTIVE: step_active(nemesis, entry, now_ms); break;
        case STAGE_OVER: break;
        }
    }
}

void nemesis_finish(struct nemesis *nemesis, const char *reason)
{
    assert(reason != NULL);
    for (uint32_t i = 0; i < nemesis->count; i++) {
        struct entry *entry = &nemesis->list[i];
        if (entry->stage == STAGE_ARMED) {
            poll_failpoint(nemesis, entry, clock_monotonic_ms());
            if (entry->stage == STAGE_ARMED) {
                failpoint_watch_disarm(&entry->watch);
                skip(nemesis, entry, "its failpoint was not passed again");
            }
        }
        if (entry->stage == STAGE_ACTIVE) { end(nemesis, entry); }
        if (entry->stage == STAGE_WAITING) { skip(nemesis, entry, reason); }
    }
}

struct nemesis_counts nemesis_counts(const struct nemesis *nemesis)
{
    struct nemesis_counts counts = {0};
    for (uint32_t i = 0; i < nemesis->count; i++) {
        const struct entry *entry = &nemesis->list[i];
        bool begun = entry->stage >= STAGE_ACTIVE;
        counts.skipped += entry->skipped;
        counts.done += begun && !entry->skipped;
        counts.waiting += !begun;
        counts.active += entry->stage == STAGE_ACTIVE;
    }
    return counts;
}

void nemesis_destroy(struct nemesis *nemesis)
{
    if (nemesis == NULL) { return; }
    free(nemesis->list);
    free(nemesis);
}
