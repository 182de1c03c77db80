/* cli/inspect/watch.c: `tanist watch`: the present state first, then what happens, as it happens.
 */
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
#include "common/base/clock.h"

struct watch {
    struct live_cluster live;
    bool json, over;
    uint64_t elected_epoch;       /* Newest election that was told. */
    uint64_t chief, former_chief; /* Incarnations: a successor may be seen before the loss. */
    enum run_phase phase;
    int exit_code;
};

/* ------------------------------------------------------------- printing */

/* One event; takes `object`. Whoever reads is gone: so are we. */
static void print_object(struct watch *watch, json_t *object, const char *words)
{
    char time[TIME_TEXT_MAX];
    const char *at = json_string_value(json_object_get(object, "time"));
    clock_format(clock_wall_ms(), time);
    bool good = true;
    if (watch->json) {
        good = object != NULL &&
               json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10)) == 0 &&
               putchar('\n') != EOF;
    } else {
        good = printf("%s  %s\n", at != NULL ? at : time, words) > 0;
    }
    json_decref(object);
    if (good && fflush(stdout) == 0) { return; }
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
    char task[TASK_NAME_MAX] = "none", words[EVENT_TEXT_MAX];
    uint32_t present = 0;
    for (uint32_t i = 0; i < observer->task_count; i++) { present += observer->tasks[i].present; }
    if (observer->has_chief) { task_format(observer->chief.task, ':', task, sizeof task); }
    const char *phase = observer->has_run ? run_phase_name(observer->run.phase) : "forming";
    json_t *object = event_json(watch, "state", observer->has_chief ? task : NULL, NULL);
    json_object_set_new(object, "phase", json_string(phase));
    json_object_set_new(object, "tasks", json_integer(present));
    snprintf(words, sizeof words,
             "%s is %s: chief %s, epoch %" PRIu64 ", generation %" PRIu64 ", %u of %u tasks there",
             watch->live.target.cluster, phase, task,
             observer->has_chief ? observer->chief.epoch : 0,
             observer->has_run ? observer->run.generation : 0, present, observer->task_count);
    print_object(watch, object, words);
    watch->phase = observer->has_run ? observer->run.phase : RUN_FORMING;
    watch->elected_epoch = observer->has_chief ? observer->chief.epoch : 0;
    watch->chief = observer->has_chief ? observer->chief.incarnation : 0;
}

/* From /chief itself, which is there before the history tells. */
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
    char words[EVENT_TEXT_MAX];
    memcpy(entry.cause, record->cause, sizeof entry.cause);
    if (record->epoch <= watch->elected_epoch) { return; }
    watch->elected_epoch = record->epoch;
    watch->former_chief = watch->chief;
    watch->chief = record->incarnation;
    event_text_history(&entry, words);
    print_object(watch, event_text_history_json(&entry), words);
}

static void print_entry(struct watch *watch)
{
    const struct history_entry *entry = &watch->live.observer->entry;
    char words[EVENT_TEXT_MAX];
    if (watch->live.observer->entry_old) { return; }
    if (entry->kind == HISTORY_ELECTED && entry->epoch <= watch->elected_epoch) { return; }
    event_text_history(entry, words);
    print_object(watch, event_text_history_json(entry), words);
}

/* Coordinators come and go without the chief's word: it is one of them. */
static void print_member(struct watch *watch)
{
    const struct observer *observer = watch->live.observer;
    const struct observed_task *seat = &observer->tasks[observer->changed];
    char task[TASK_NAME_MAX], words[EVENT_TEXT_MAX];
    if (seat->task.role != ROLE_COORDINATOR) { return; }
    uint64_t incarnation = seat->member.incarnation;
    bool chief = incarnation == watch->chief || incarnation == watch->former_chief;
    task_format(seat->task, ':', task, sizeof task);
    const char *event = seat->present ? "task-up" : chief ? "chief-lost" : "task-lost";
    event_text_member(&seat->member, seat->present, chief, words);
    json_t *object = event_json(watch, event, task, NULL);
    json_object_set_new(object, "pid", json_integer((json_int_t)seat->member.pid));
    print_object(watch, object, words);
}

/* The history tells of most phases; these it does not. */
static void print_phase(struct watch *watch)
{
    const struct run *run = &watch->live.observer->run;
    char words[EVENT_TEXT_MAX], time[TIME_TEXT_MAX];
    if (run->phase == watch->phase) { return; }
    watch->phase = run->phase;
    if (run->phase != RUN_LOADING && run->phase != RUN_STOPPING && run->phase != RUN_FORMING) {
        return;
    }
    json_t *object = event_json(watch, run_phase_name(run->phase), NULL, NULL);
    clock_format(run->changed_wall_ms, time);
    json_object_set_new(object, "time", json_string(time));
    snprintf(words, sizeof words, "%s", run_phase_name(run->phase));
    print_object(watch, object, words);
}

static void print_zookeeper(struct watch *watch, const char *event, const char *words)
{
    print_object(watch, event_json(watch, event, NULL, NULL), words);
}

/* ------------------------------------------------------------- watching */

static void tell(struct watch *watch, const struct live_cluster_heard *heard)
{
    if (heard->live & LIVE_CLUSTER_LOST) {
        print_zookeeper(watch, "zookeeper-lost", "ZooKeeper is away; waiting for it");
    }
    if ((heard->live & LIVE_CLUSTER_BACK) && heard->settled_before) {
        print_zookeeper(watch, "zookeeper-back", "ZooKeeper is back");
    }
    if (heard->observer & OBSERVER_SETTLED) { print_state(watch); }
    if (heard->settled_before && (heard->observer & OBSERVER_MEMBER)) { print_member(watch); }
    if (heard->settled_before && (heard->observer & OBSERVER_CHIEF)) { print_elected(watch); }
    if (heard->observer & OBSERVER_HISTORY) { print_entry(watch); }
    if (heard->settled_before && (heard->observer & OBSERVER_RUN)) { print_phase(watch); }
    if (heard->live & LIVE_CLUSTER_ENDED) { watch->over = true; }
}

static enum tn_status loop(struct watch *watch, int signals, struct error *error)
{
    struct live_cluster *live = &watch->live;
    enum tn_status status = TN_OK;
    char words[CONNECT_MAX + 128];
    while (!watch->over && status == TN_OK) {
        struct pollfd polled[2] = {{.fd = live_cluster_fd(live), .events = POLLIN},
                                   {.fd = signals, .events = POLLIN}};
        struct live_cluster_heard heard;
        (void)poll(polled, 2, live_cluster_timeout_ms(live));
        if (polled[1].revents != 0) { break; /* The way out: 0. */ }
        while (!watch->over && status == TN_OK && live_cluster_hear(live, &heard, &status, error)) {
            tell(watch, &heard);
        }
        if (live_cluster_tick(live)) { watch->former_chief = 0; }
        if (live_cluster_says_away(live, words, sizeof words)) { fprintf(stderr, "%s\n", words); }
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

int command_watch(int argc, char **argv)
{
    static const char *const outputs[] = {"text", "jsonl", "json", NULL};
    struct target_options given = {0};
    const char *output = "text";
    struct option rows[TARGET_OPTIONS + 1];
    int exit_code = 0;
    target_options(&given, rows);
    rows[TARGET_OPTIONS] = (struct option){"output",     'o',     OPTION_CHOICE,        &output,
                                           "text|jsonl", outputs, "Form; default text."};
    struct options options = {
        .command = "watch",
        .synopsis = "--dir DIR | --zk CONNECT [--cluster NAME] [OPTION]...",
        .about =
            "Show the present state, then elections, failures, recoveries and checkpoints as they "
            "happen,\none a line. Ends when the run ends, or with 0 on Ctrl-C; waits when "
            "ZooKeeper is away.",
        .examples = "  tanist watch --dir runs/fashion-mnist\n"
                    "  tanist watch --zk h1:2181,h2:2181 --cluster NAME -o jsonl | jq .event\n",
        .list = rows,
        .count = TARGET_OPTIONS + 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct watch *watch = calloc(1, sizeof *watch);
    struct error error = {0};
    if (watch == NULL) { return TN_EXIT_ERROR; }
    watch->json = strcmp(output, "text") != 0;
    enum tn_status status = work(watch, &given, &error);
    exit_code = status == TN_OK ? watch->exit_code : command_failed(&error);
    free(watch);
    return exit_code;
}
