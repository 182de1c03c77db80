/* cli/inspect/watch.c: `tanist watch`: print the present state, then events as they happen. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/event_text.h"
#include "cli/commands.h"
#include "cli/inspect/live_cluster.h"
#include "cli/inspect/recorded.h"
#include "cli/output.h"
#include "common/base/clock.h"

struct watch {
    struct live_cluster live;
    bool json, over;
    bool history;           /* Print the events before the start, too. */
    uint64_t elected_epoch; /* The epoch of the newest election printed. */
    /* Incarnations. The previous one matters because the election may be seen before the loss. */
    uint64_t chief, previous_chief;
    enum run_phase phase;
    int exit_code;
};

/* ------------------------------------------------------------- printing */

/* Print one event; takes `object`. Ends the command if stdout cannot be written. */
static void print_event(struct watch *watch, json_t *object, const char *text)
{
    bool written = true;
    if (watch->json) {
        written = output_json(object, JSON_COMPACT | JSON_REAL_PRECISION(10)) == TN_EXIT_OK;
    } else {
        char now[TIME_TEXT_MAX];
        const char *time = json_string_value(json_object_get(object, "time"));
        clock_format(clock_wall_ms(), now);
        written = printf("%s  %s\n", time != NULL ? time : now, text) > 0 && fflush(stdout) == 0;
        json_decref(object);
    }
    if (written) { return; }
    watch->over = true;
    watch->exit_code = TN_EXIT_IO;
}

static json_t *event_json(const struct watch *watch, const char *event, const char *task,
                          const char *cause)
{
    char time[TIME_TEXT_MAX];
    const struct observer *observer = watch->live.observer;
    clock_format(clock_wall_ms(), time);
    uint64_t epoch = observer->has_chief ? observer->chief.epoch : 0;
    uint64_t generation = observer->has_run ? observer->run.generation : 0;
    return json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?}", "time", time, "event", event, "epoch",
                     (json_int_t)epoch, "generation", (json_int_t)generation, "task", task, "cause",
                     cause);
}

static void print_state(struct watch *watch)
{
    const struct observer *observer = watch->live.observer;
    char task[TASK_NAME_MAX] = "none", text[EVENT_TEXT_MAX];
    uint32_t present = 0;
    assert(watch->live.observer->settled);
    for (uint32_t i = 0; i < observer->task_count; i++) { present += observer->tasks[i].present; }
    if (observer->has_chief) { task_format(observer->chief.task, ':', task, sizeof task); }
    const char *phase = observer->has_run ? run_phase_name(observer->run.phase) : "forming";
    const char *reason = observer->has_run ? observer->run.reason : "";
    json_t *object = event_json(watch, "state", observer->has_chief ? task : NULL, NULL);
    json_object_set_new(object, "phase", json_string(phase));
    json_object_set_new(object, "reason", *reason ? json_string(reason) : json_null());
    json_object_set_new(object, "tasks", json_integer(present));
    snprintf(
        text, sizeof text,
        "%s is %s: chief %s, epoch %" PRIu64 ", generation %" PRIu64 ", %u of %u tasks present%s%s",
        watch->live.target.cluster, phase, task, observer->has_chief ? observer->chief.epoch : 0,
        observer->has_run ? observer->run.generation : 0, present, observer->task_count,
        *reason ? "; " : "", reason);
    print_event(watch, object, text);
    watch->phase = observer->has_run ? observer->run.phase : RUN_FORMING;
    watch->elected_epoch = observer->has_chief ? observer->chief.epoch : 0;
    watch->chief = observer->has_chief ? observer->chief.incarnation : 0;
}

/* An election is printed when /chief changes, which is before its entry in the history arrives. */
static void print_elected(struct watch *watch)
{
    const struct chief_record *record = &watch->live.observer->chief;
    struct history_entry entry = {.kind = HISTORY_ELECTED,
                                  .wall_ms = record->since_wall_ms,
                                  .epoch = record->epoch,
                                  .generation = watch->live.observer->run.generation,
                                  .step = watch->live.observer->run.committed_step,
                                  .task = record->task,
                                  .pid = record->pid,
                                  .took_ms = record->took_ms};
    char text[EVENT_TEXT_MAX];
    memcpy(entry.cause, record->cause, sizeof entry.cause);
    if (record->epoch <= watch->elected_epoch) { return; }
    watch->elected_epoch = record->epoch;
    watch->previous_chief = watch->chief;
    watch->chief = record->incarnation;
    event_text_history(&entry, text);
    print_event(watch, event_text_history_json(&entry), text);
}

static void print_entry(struct watch *watch)
{
    const struct history_entry *entry = &watch->live.observer->entry;
    char text[EVENT_TEXT_MAX];
    const bool old = watch->live.observer->entry_old;
    if (old && !watch->history) { return; }
    const bool printed = !old && entry->epoch <= watch->elected_epoch;
    if (entry->kind == HISTORY_ELECTED && printed) { return; }
    event_text_history(entry, text);
    print_event(watch, event_text_history_json(entry), text);
}

/* The history, which the chief writes, does not cover coordinators. */
static void print_member(struct watch *watch)
{
    const struct observer *observer = watch->live.observer;
    const struct observed_task *changed = &observer->tasks[observer->changed];
    char task[TASK_NAME_MAX], text[EVENT_TEXT_MAX];
    assert(watch->live.observer->changed < watch->live.observer->task_count);
    if (changed->task.role != ROLE_COORDINATOR) { return; }
    uint64_t incarnation = changed->member.incarnation;
    bool chief = incarnation == watch->chief || incarnation == watch->previous_chief;
    task_format(changed->task, ':', task, sizeof task);
    const enum member_event event = changed->present ? MEMBER_UP
                                    : chief          ? MEMBER_CHIEF_LOST
                                                     : MEMBER_LOST;
    event_text_member(&changed->member, event, text);
    json_t *object = event_json(watch, event_text_member_event(event), task, NULL);
    json_object_set_new(object, "pid", json_integer((json_int_t)changed->member.pid));
    print_event(watch, object, text);
}

static void print_problem(struct watch *watch)
{
    const struct observer *observer = watch->live.observer;
    const struct observed_task *changed = &observer->tasks[observer->changed];
    char task[TASK_NAME_MAX], text[EVENT_TEXT_MAX];
    assert(observer->changed < observer->task_count);
    const bool over = changed->member.problem[0] == '\0';
    task_format(changed->task, ':', task, sizeof task);
    snprintf(text, sizeof text, "%s: %s", task,
             over ? "the problem is solved" : changed->member.problem);
    json_t *object = event_json(watch, over ? "problem-solved" : "problem", task, NULL);
    json_object_set_new(object, "cause", json_string(changed->member.problem));
    print_event(watch, object, text);
}

/* Most phases are in the history; these three are not. */
static void print_phase(struct watch *watch)
{
    const struct run *run = &watch->live.observer->run;
    char text[EVENT_TEXT_MAX], time[TIME_TEXT_MAX];
    if (run->phase == watch->phase) { return; }
    watch->phase = run->phase;
    if (run->phase != RUN_LOADING && run->phase != RUN_STOPPING && run->phase != RUN_FORMING) {
        return;
    }
    json_t *object = event_json(watch, run_phase_name(run->phase), NULL, NULL);
    clock_format(run->changed_wall_ms, time);
    json_object_set_new(object, "time", json_string(time));
    snprintf(text, sizeof text, "%s", run_phase_name(run->phase));
    print_event(watch, object, text);
}

static void print_connection(struct watch *watch, const char *event, const char *text)
{
    print_event(watch, event_json(watch, event, NULL, NULL), text);
}

/* ------------------------------------------------------------- watching */

static void print_changes(struct watch *watch, const struct live_cluster_changes *changes)
{
    if (changes->live & LIVE_CLUSTER_DISCONNECTED) {
        print_connection(watch, "zookeeper-lost", "lost the connection to ZooKeeper; reconnecting");
    }
    if (changes->live & LIVE_CLUSTER_RECONNECTED) {
        print_connection(watch, "zookeeper-back", "connected to ZooKeeper again");
    }
    if (changes->observer & OBSERVER_SETTLED) { print_state(watch); }
    if (changes->settled_before && (changes->observer & OBSERVER_MEMBER)) { print_member(watch); }
    if (changes->observer & OBSERVER_PROBLEM) { print_problem(watch); }
    if (changes->settled_before && (changes->observer & OBSERVER_CHIEF)) { print_elected(watch); }
    if (changes->observer & OBSERVER_HISTORY) { print_entry(watch); }
    if (changes->settled_before && (changes->observer & OBSERVER_RUN)) { print_phase(watch); }
    if (changes->live & LIVE_CLUSTER_ENDED) { watch->over = true; }
}

static enum tn_status loop(struct watch *watch, int signals, struct error *error)
{
    struct live_cluster *live = &watch->live;
    struct live_cluster_changes changes;
    enum tn_status status = TN_OK;
    char message[CONNECT_MAX + 128];
    assert(signals >= 0);
    while (!watch->over && status == TN_OK) {
        struct pollfd polled[2] = {{.fd = live_cluster_fd(live), .events = POLLIN},
                                   {.fd = signals, .events = POLLIN}};
        (void)poll(polled, 2, live_cluster_timeout_ms(live));
        if (polled[1].revents != 0) { break; } /* Ctrl-C: exit status 0. */
        while (!watch->over && status == TN_OK &&
               live_cluster_next(live, &changes, &status, error)) {
            print_changes(watch, &changes);
        }
        if (live_cluster_tick(live)) { watch->previous_chief = 0; }
        if (live_cluster_wait_message(live, message, sizeof message)) {
            fprintf(stderr, "%s\n", message);
        }
    }
    return status;
}

static enum tn_status work(struct watch *watch, const struct target_options *given,
                           struct error *error)
{
    int signals = -1;
    enum tn_status status = live_cluster_signals(&signals, error);
    if (status != TN_OK) { return status; }
    status = live_cluster_open(&watch->live, given, error);
    if (status == TN_OK) { status = loop(watch, signals, error); }
    live_cluster_close(&watch->live);
    close(signals);
    return status;
}

static void print_recorded(void *ctx, const struct history_entry *entry)
{
    struct watch *watch = ctx;
    char text[EVENT_TEXT_MAX];
    if (watch->over) { return; }
    event_text_history(entry, text);
    print_event(watch, event_text_history_json(entry), text);
}

/* --history of a run that is not active. */
static enum tn_status watch_record(struct watch *watch, const struct target_options *given,
                                   enum tn_status status, struct error *error)
{
    if (!watch->history) { return status; }
    struct run_record *record = calloc(1, sizeof *record);
    if (record == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = recorded_read(given, status, record, error);
    free(record);
    return status == TN_OK ? run_history_read(given->dir, print_recorded, watch, error) : status;
}

int command_watch(int argc, char **argv)
{
    static const char *const outputs[] = {"text", "jsonl", "json", NULL};
    struct target_options given = {0};
    const char *output = "text";
    bool history = false;
    int exit_code = 0;
    struct options options = {
        .command = "watch",
        .synopsis = TARGET_SYNOPSIS,
        .about = "Print the current state, then elections, failures, recoveries and checkpoints as "
                 "they happen, one\nper line. Ends when the run ends, or with 0 on Ctrl-C. "
                 "Reconnects if the connection to ZooKeeper is lost.",
        .examples = "  tanist watch --dir runs/fashion-mnist\n"
                    "  tanist watch --zk h1:2181,h2:2181 --cluster NAME -o jsonl | jq .event\n"};
    target_options_add(&options, &given);
    options_flag(&options, 0, "history", &history,
                 "Print past events first; after a run, those in the record of --dir.");
    options_choice(&options, 'o', "output", &output, outputs,
                   "Output format; default text. json is the same as jsonl.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct watch *watch = calloc(1, sizeof *watch);
    struct error error = {0};
    if (watch == NULL) { return TN_EXIT_ERROR; }
    watch->json = strcmp(output, "text") != 0;
    watch->history = history;
    enum tn_status status = work(watch, &given, &error);
    if (status != TN_OK) { status = watch_record(watch, &given, status, &error); }
    exit_code = status == TN_OK ? watch->exit_code : command_failed(&error);
    free(watch);
    return exit_code;
}
