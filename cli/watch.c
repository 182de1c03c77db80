/* cli/watch.c: `tanist watch`: the present state first, then what happens, as it happens. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/observer.h"
#include "agent/run_note.h"
#include "agent/words.h"
#include "agent/zk_inbox.h"
#include "cli/commands.h"
#include "cli/run_folder.h"
#include "cli/target.h"
#include "common/clock.h"

enum { AWAY_SAY_MS = 3000, AWAY_LOOK_MS = 500, SESSION_MS = 10000, DEADLINE_MS = 5000 };

struct watch {
    struct target target;
    bool json;
    struct zk *zk;
    struct zk_port port;
    struct zk_inbox *inbox;
    struct observer *observer; /* Owned. */
    bool connected, over;
    uint64_t away_since_ms, say_at_ms, look_at_ms;
    uint64_t cluster_made_ms;     /* As run.json says; 0: not known. */
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
    words_time(clock_wall_ms(), time);
    bool good = true;
    if (watch->json)
        good = object && json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10)) == 0 &&
               putchar('\n') != EOF;
    else
        good = printf("%s  %s\n", at ? at : time, words) > 0;
    json_decref(object);
    if (good && fflush(stdout) == 0) return;
    watch->over = true;
    watch->exit_code = TN_EXIT_IO;
}

static json_t *event_json(const struct watch *watch, const char *event, const char *task,
                          const char *cause)
{
    char time[TIME_TEXT_MAX];
    const struct observer *observer = watch->observer;
    words_time(clock_wall_ms(), time);
    uint64_t epoch = observer->has_office ? observer->office.epoch : 0;
    uint64_t generation = observer->has_run ? observer->run.generation : 0;
    return json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?}", "time", time, "event", event, "epoch",
                     (json_int_t)epoch, "generation", (json_int_t)generation, "task", task, "cause",
                     cause);
}

static void print_state(struct watch *watch)
{
    const struct observer *observer = watch->observer;
    char task[TASK_NAME_MAX] = "none", words[WORDS_MAX];
    uint32_t present = 0;
    for (uint32_t i = 0; i < observer->seat_count; i++) present += observer->seats[i].present;
    if (observer->has_office) task_format(observer->office.task, ':', task, sizeof task);
    const char *phase = observer->has_run ? run_phase_name(observer->run.phase) : "forming";
    json_t *object = event_json(watch, "state", observer->has_office ? task : NULL, NULL);
    json_object_set_new(object, "phase", json_string(phase));
    json_object_set_new(object, "tasks", json_integer(present));
    snprintf(words, sizeof words,
             "%s is %s: chief %s, epoch %" PRIu64 ", generation %" PRIu64 ", %u of %u tasks there",
             watch->target.cluster, phase, task, observer->has_office ? observer->office.epoch : 0,
             observer->has_run ? observer->run.generation : 0, present, observer->seat_count);
    print_object(watch, object, words);
    watch->phase = observer->has_run ? observer->run.phase : RUN_FORMING;
    watch->elected_epoch = observer->has_office ? observer->office.epoch : 0;
    watch->chief = observer->has_office ? observer->office.incarnation : 0;
}

/* From /chief itself, which is there before the history tells. */
static void print_elected(struct watch *watch)
{
    const struct office *office = &watch->observer->office;
    struct history_entry entry = {.kind = HISTORY_ELECTED,
                                  .wall_ms = office->since_wall_ms,
                                  .epoch = office->epoch,
                                  .generation = watch->observer->run.generation,
                                  .step = watch->observer->run.committed_step,
                                  .task = office->task,
                                  .pid = office->pid,
                                  .took_ms = office->took_ms};
    char words[WORDS_MAX];
    memcpy(entry.cause, office->cause, sizeof entry.cause);
    if (office->epoch <= watch->elected_epoch) return;
    watch->elected_epoch = office->epoch;
    watch->former_chief = watch->chief;
    watch->chief = office->incarnation;
    words_history(&entry, words);
    print_object(watch, words_history_json(&entry), words);
}

static void print_entry(struct watch *watch)
{
    const struct history_entry *entry = &watch->observer->entry;
    char words[WORDS_MAX];
    if (watch->observer->entry_old) return;
    if (entry->kind == HISTORY_ELECTED && entry->epoch <= watch->elected_epoch) return;
    words_history(entry, words);
    print_object(watch, words_history_json(entry), words);
}

/* Coordinators come and go without the chief's word: it is one of them. */
static void print_member(struct watch *watch)
{
    const struct observer *observer = watch->observer;
    const struct observed_seat *seat = &observer->seats[observer->seat];
    char task[TASK_NAME_MAX], words[WORDS_MAX];
    if (seat->task.role != ROLE_COORDINATOR) return;
    uint64_t incarnation = seat->member.incarnation;
    bool chief = incarnation == watch->chief || incarnation == watch->former_chief;
    task_format(seat->task, ':', task, sizeof task);
    const char *event = seat->present ? "task-up" : chief ? "chief-lost" : "task-lost";
    snprintf(words, sizeof words, "%s (pid %" PRIu64 ") is %s%s", task, seat->member.pid,
             seat->present ? "up" : "lost", chief && !seat->present ? ": it was the chief" : "");
    json_t *object = event_json(watch, event, task, NULL);
    json_object_set_new(object, "pid", json_integer((json_int_t)seat->member.pid));
    print_object(watch, object, words);
}

/* The history tells of most phases; these it does not. */
static void print_phase(struct watch *watch)
{
    const struct run *run = &watch->observer->run;
    char words[WORDS_MAX], time[TIME_TEXT_MAX];
    if (run->phase == watch->phase) return;
    watch->phase = run->phase;
    if (run->phase != RUN_LOADING && run->phase != RUN_STOPPING && run->phase != RUN_FORMING)
        return;
    json_t *object = event_json(watch, run_phase_name(run->phase), NULL, NULL);
    words_time(run->changed_wall_ms, time);
    json_object_set_new(object, "time", json_string(time));
    snprintf(words, sizeof words, "%s", run_phase_name(run->phase));
    print_object(watch, object, words);
}

static void print_zookeeper(struct watch *watch, const char *event, const char *words)
{
    print_object(watch, event_json(watch, event, NULL, NULL), words);
}

/* ------------------------------------------------------------- watching */

static enum tn_status open_zk(struct watch *watch, struct error *error)
{
    const struct zk_config config = {
        .connect = watch->target.connect,
        .session_timeout_ms = SESSION_MS,
        .deadline_ms = DEADLINE_MS,
        .credentials = *watch->target.credentials ? watch->target.credentials : NULL,
        .sink = zk_inbox_sink,
        .sink_ctx = watch->inbox};
    enum tn_status status = zk_open(&config, &watch->zk, error);
    if (status == TN_OK) watch->port = zk_port_of(watch->zk);
    return status;
}

static enum tn_status reopen(struct watch *watch, struct error *error)
{
    zk_close(watch->zk);
    watch->zk = NULL;
    while (zk_inbox_take(watch->inbox)) continue;
    enum tn_status status = open_zk(watch, error);
    if (status == TN_OK) observer_restart(watch->observer, &watch->port, clock_monotonic_ms());
    return status;
}

static void note_connection(struct watch *watch, const struct zk_event *event, uint64_t now_ms)
{
    bool was = watch->connected;
    if (event->type == ZK_CONNECTED) watch->connected = true;
    if (event->type == ZK_DISCONNECTED || event->type == ZK_EXPIRED) watch->connected = false;
    if (was && !watch->connected) {
        watch->away_since_ms = now_ms;
        watch->say_at_ms = now_ms + AWAY_SAY_MS;
        watch->look_at_ms = now_ms + AWAY_LOOK_MS;
        print_zookeeper(watch, "zookeeper-lost", "ZooKeeper is away; waiting for it");
    } else if (!was && watch->connected && watch->observer->settled) {
        print_zookeeper(watch, "zookeeper-back", "ZooKeeper is back");
    }
}

static void handle(struct watch *watch, const struct zk_event *event)
{
    uint64_t now_ms = clock_monotonic_ms();
    bool settled = watch->observer->settled;
    note_connection(watch, event, now_ms);
    unsigned news = observer_handle(watch->observer, event, &watch->port, now_ms);
    if (news & OBSERVER_SETTLED) print_state(watch);
    if (settled && (news & OBSERVER_MEMBER)) print_member(watch);
    if (settled && (news & OBSERVER_OFFICE)) print_elected(watch);
    if (news & OBSERVER_HISTORY) print_entry(watch);
    if (settled && (news & OBSERVER_RUN)) print_phase(watch);
    const struct observer *observer = watch->observer;
    bool ended =
        observer->has_run && (observer->run.phase == RUN_DONE || observer->run.phase == RUN_FAILED);
    /* Entries of the last write may still be on their way. */
    if (ended && observer->settled && observer_is_idle(observer)) watch->over = true;
}

static void say_away(struct watch *watch, uint64_t now_ms)
{
    if (watch->connected || now_ms < watch->say_at_ms) return;
    bool gone = watch->target.dir && !run_folder_in_use(watch->target.dir);
    watch->say_at_ms = now_ms + AWAY_SAY_MS;
    fprintf(stderr, "waiting for ZooKeeper at %s since %llu s%s\n", watch->target.connect,
            (unsigned long long)(now_ms - watch->away_since_ms) / 1000,
            gone ? " (its run has ended or was killed)" : "");
}

/* Another run has taken the folder over: its shape is read, and its state is told first. */
static enum tn_status begin_anew(struct watch *watch, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    watch->target.wait_ms = AWAY_LOOK_MS;
    enum tn_status status = target_open(&watch->target, &sync, &spec, NULL, error);
    if (status != TN_OK) return status;
    zk_sync_close(sync);
    free(spec.job_json);
    while (zk_inbox_take(watch->inbox)) continue;
    status = open_zk(watch, error);
    watch->former_chief = 0;
    if (status == TN_OK)
        observer_start(watch->observer, watch->target.cluster, spec.coordinators, spec.ps,
                       spec.workers, 0, &watch->port, clock_monotonic_ms());
    return status;
}

/* Who runs the folder's job again may have to start its ZooKeeper elsewhere: run.json says where.
 * What is not ready yet is tried again. */
static void follow_folder(struct watch *watch, uint64_t now_ms)
{
    struct run_note note;
    struct error error;
    if (watch->connected || !watch->target.dir || now_ms < watch->look_at_ms) return;
    watch->look_at_ms = now_ms + AWAY_LOOK_MS;
    if (run_note_read(watch->target.dir, &note, NULL) != TN_OK || note.cluster_made_ms == 0) return;
    if (watch->zk && strcmp(note.connect, watch->target.connect) == 0) return;
    memcpy(watch->target.connect, note.connect, sizeof note.connect);
    memcpy(watch->target.cluster, note.cluster, sizeof note.cluster);
    if (target_enter_network(&note, &error) != TN_OK) return;
    zk_abandon(watch->zk); /* Nobody is there to close our session. */
    watch->zk = NULL;
    if (note.cluster_made_ms == watch->cluster_made_ms) {
        (void)reopen(watch, &error);
    } else if (begin_anew(watch, &error) == TN_OK) {
        watch->cluster_made_ms = note.cluster_made_ms;
    }
}

static int timeout_until(const struct watch *watch, uint64_t now_ms)
{
    uint64_t until_ms = watch->zk ? observer_deadline_ms(watch->observer) : UINT64_MAX;
    if (!watch->connected && watch->say_at_ms < until_ms) until_ms = watch->say_at_ms;
    if (!watch->connected && watch->target.dir && watch->look_at_ms < until_ms)
        until_ms = watch->look_at_ms;
    if (until_ms == UINT64_MAX) return -1;
    return until_ms > now_ms ? (int)(until_ms - now_ms) : 0;
}

static enum tn_status loop(struct watch *watch, int signals, struct error *error)
{
    enum tn_status status = TN_OK;
    while (!watch->over && status == TN_OK) {
        struct pollfd polled[2] = {{.fd = zk_inbox_fd(watch->inbox), .events = POLLIN},
                                   {.fd = signals, .events = POLLIN}};
        (void)poll(polled, 2, timeout_until(watch, clock_monotonic_ms()));
        if (polled[1].revents != 0) break; /* The way out: 0. */
        const struct zk_event *event;
        while (!watch->over && (event = zk_inbox_take(watch->inbox))) {
            bool expired = event->type == ZK_EXPIRED;
            handle(watch, event);
            if (!expired) continue;
            status = reopen(watch, error);
            break;
        }
        if (watch->zk) observer_tick(watch->observer, &watch->port, clock_monotonic_ms());
        follow_folder(watch, clock_monotonic_ms());
        say_away(watch, clock_monotonic_ms());
    }
    return status;
}

static enum tn_status begin(struct watch *watch, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    struct run_note note;
    if (watch->target.dir && run_note_read(watch->target.dir, &note, NULL) == TN_OK)
        watch->cluster_made_ms = note.cluster_made_ms;
    enum tn_status status = target_open(&watch->target, &sync, &spec, NULL, error);
    if (status != TN_OK) return status;
    zk_sync_close(sync);
    free(spec.job_json);
    watch->inbox = zk_inbox_create();
    watch->observer = calloc(1, sizeof *watch->observer);
    if (!watch->inbox || !watch->observer) return error_set(error, TN_ENOMEM, "out of memory");
    uint64_t now_ms = clock_monotonic_ms();
    watch->away_since_ms = now_ms;
    watch->say_at_ms = now_ms + AWAY_SAY_MS;
    status = open_zk(watch, error);
    if (status == TN_OK)
        observer_start(watch->observer, watch->target.cluster, spec.coordinators, spec.ps,
                       spec.workers, 0, &watch->port, now_ms);
    return status;
}

static enum tn_status work(struct watch *watch, const struct target_options *given,
                           struct error *error)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    int signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) return error_set(error, TN_EIO, "signalfd: %s", strerror(errno));
    enum tn_status status = target_find(given, &watch->target, error);
    if (status == TN_OK) status = begin(watch, error);
    if (status == TN_OK) status = loop(watch, signals, error);
    zk_close(watch->zk);
    zk_inbox_destroy(watch->inbox);
    free(watch->observer);
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
    if (!options_parse(&options, argc, argv, &exit_code)) return exit_code;
    struct watch *watch = calloc(1, sizeof *watch);
    struct error error = {0};
    if (!watch) return TN_EXIT_ERROR;
    watch->json = strcmp(output, "text") != 0;
    enum tn_status status = work(watch, &given, &error);
    exit_code = status == TN_OK ? watch->exit_code : command_failed(&error);
    free(watch);
    return exit_code;
}
