#include "chaos/cluster/watcher.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ensemble/ensemble.h"
#include "agent/observe/event_text.h"
#include "agent/observe/observer.h"
#include "agent/observe/run_note.h"
#include "agent/observe/step_poller.h"
#include "chaos/cluster/proc.h"
#include "chaos/cluster/remote.h"
#include "common/base/clock.h"
#include "common/cluster/bootstrap.h"
#include "common/zk/zk_inbox.h"
#include "common/zk/zk_sync.h"

enum {
    LOOK_MS = 20,       /* Processes. */
    STEP_MS = 50,       /* Asking the ps; told ... */
    STEP_TOLD_MS = 100, /* ... about that often. */
    RESOURCES_MS = 250, /* What processes hold. */
    NOTE_MS = 100,      /* Looking for run.json. */
    SPEC_MS = 2000,
    DEADLINE_MS = 5000,
    PROBE_MS = 100,
    CLOCK_TRUST_MS = 2000, /* A clock that is further off was put wrong. */
};

struct watcher {
    struct target_cluster *cluster;
    struct history_file *history;
    struct zk_inbox *inbox;
    struct observer *observer; /* Owned. */
    struct zk *zk;
    struct zk_port port;
    struct step_poller *steps;
    uint64_t cluster_made_ms, agent_pid; /* Of the run that is watched; 0: none. */
    uint64_t look_at_ms, step_at_ms, told_at_ms, resources_at_ms, note_at_ms;
    uint64_t epoch, chief_incarnation;
    pid_t pids[PLACES_MAX]; /* As told. */
    bool stands[PLACES_MAX];
    struct cluster_view view;
};

struct watcher *watcher_create(struct target_cluster *cluster, struct history_file *history)
{
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (watcher == NULL) { return NULL; }
    watcher->cluster = cluster;
    watcher->history = history;
    watcher->inbox = zk_inbox_create();
    watcher->observer = calloc(1, sizeof *watcher->observer);
    if (watcher->inbox != NULL && watcher->observer != NULL) { return watcher; }
    watcher_destroy(watcher);
    return NULL;
}

/* The run has died, or another one has begun: what was known of it counts no more. */
static void disconnect(struct watcher *watcher)
{
    if (watcher->zk != NULL) { zk_abandon(watcher->zk); }
    watcher->zk = NULL;
    while (zk_inbox_take(watcher->inbox) != NULL) { continue; }
    step_poller_close(watcher->steps);
    watcher->steps = NULL;
    watcher->cluster_made_ms = 0;
    watcher->view.has_run = false;
    watcher->cluster->chief[0] = '\0';
}

void watcher_destroy(struct watcher *watcher)
{
    if (watcher == NULL) { return; }
    disconnect(watcher);
    zk_inbox_destroy(watcher->inbox);
    free(watcher->observer);
    free(watcher);
}

const struct cluster_view *watcher_view(const struct watcher *watcher)
{
    return &watcher->view;
}

/* ------------------------------------------------------------- processes */

static void tell_place(struct watcher *watcher, const char *place, const char *state, pid_t pid)
{
    history_file_add(
        watcher->history, "place",
        json_pack("{s:s, s:s, s:I}", "place", place, "state", state, "pid", (json_int_t)pid));
}

static void look(struct watcher *watcher)
{
    struct target_cluster *cluster = watcher->cluster;
    target_cluster_look(cluster);
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct place *place = &cluster->places[i];
        bool stands = place->pid > 0 && proc_state(place->pid) == 'T';
        if (place->pid != watcher->pids[i]) {
            if (watcher->pids[i]) { tell_place(watcher, place->name, "down", watcher->pids[i]); }
            if (place->pid) { tell_place(watcher, place->name, "up", place->pid); }
            watcher->stands[i] = false;
        }
        if (stands != watcher->stands[i] && place->pid > 0) {
            tell_place(watcher, place->name, stands ? "frozen" : "thawed", place->pid);
        }
        watcher->pids[i] = place->pid;
        watcher->stands[i] = place->frozen = stands;
    }
    const struct place *chief =
        *cluster->chief ? target_cluster_place(cluster, cluster->chief) : NULL;
    if (chief != NULL && chief->pid == 0) { cluster->chief[0] = '\0'; }
}

static void sample_resources(struct watcher *watcher)
{
    const struct target_cluster *cluster = watcher->cluster;
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct proc_usage sample;
        const struct place *place = &cluster->places[i];
        if (place->pid <= 0 || !proc_usage(place->pid, &sample)) { continue; }
        history_file_add(watcher->history, "resources",
                         json_pack("{s:s, s:I, s:I, s:I, s:I}", "place", place->name, "pid",
                                   (json_int_t)place->pid, "rss_kib", (json_int_t)sample.rss_kib,
                                   "descriptors", (json_int_t)sample.descriptors, "threads",
                                   (json_int_t)sample.threads));
    }
}

/* ------------------------------------------------------------- the cluster */

static json_t *event_json(const struct watcher *watcher, const char *event, const char *task)
{
    const struct observer *observer = watcher->observer;
    return json_pack("{s:s, s:I, s:I, s:s?}", "event", event, "epoch",
                     (json_int_t)(observer->has_office ? observer->office.epoch : 0), "generation",
                     (json_int_t)(observer->has_run ? observer->run.generation : 0), "task", task);
}

static void tell_event(struct watcher *watcher, json_t *event, const char *words)
{
    history_file_add(watcher->history, "event",
                     json_pack("{s:o, s:o}", "event", event, "text", history_text(words)));
}

/* When a chief came to office, by its own clock, which is ours; by what we saw, if that cannot be.
 */
static uint64_t office_us(const struct watcher *watcher, const struct office *office)
{
    uint64_t now_us = clock_monotonic_ns() / 1000, wall_ms = clock_wall_ms();
    bool known = watcher->cluster->remote == NULL && office->since_wall_ms <= wall_ms &&
                 wall_ms - office->since_wall_ms < CLOCK_TRUST_MS;
    return known ? now_us - (wall_ms - office->since_wall_ms) * 1000 : now_us;
}

static void on_office(struct watcher *watcher)
{
    const struct office *office = &watcher->observer->office;
    struct target_cluster *cluster = watcher->cluster;
    char name[TASK_NAME_MAX];
    task_format(office->task, ':', name, sizeof name);
    if (office->epoch <= watcher->epoch) { return; }
    watcher->epoch = office->epoch;
    watcher->chief_incarnation = office->incarnation;
    snprintf(cluster->chief, sizeof cluster->chief, "%.*s", PLACE_NAME_MAX - 1, name);
    history_file_add_at(watcher->history, office_us(watcher, office), "chief",
                        json_pack("{s:s, s:I, s:I, s:I, s:o}", "place", name, "pid",
                                  (json_int_t)office->pid, "epoch", (json_int_t)office->epoch,
                                  "took_ms", (json_int_t)office->took_ms, "cause",
                                  history_text(office->cause)));
}

/* Coordinators come and go without the chief's word: it is one of them. */
static void on_member(struct watcher *watcher)
{
    const struct observed_seat *seat = &watcher->observer->seats[watcher->observer->seat];
    char task[TASK_NAME_MAX], words[EVENT_TEXT_MAX];
    task_format(seat->task, ':', task, sizeof task);
    struct place *place = target_cluster_place(watcher->cluster, task);
    bool chief = seat->member.incarnation == watcher->chief_incarnation;
    if (place != NULL && seat->present) {
        snprintf(place->address, sizeof place->address, "%.127s", seat->member.address);
    }
    if (chief && !seat->present) { watcher->cluster->chief[0] = '\0'; }
    if (place != NULL && watcher->cluster->remote != NULL) {
        place->pid = seat->present ? (pid_t)seat->member.pid : 0;
        tell_place(watcher, task, seat->present ? "up" : "down", (pid_t)seat->member.pid);
    }
    if (seat->task.role != ROLE_COORDINATOR) { return; }
    event_text_member(&seat->member, seat->present, chief, words);
    const char *event = seat->present ? "task-up" : chief ? "chief-lost" : "task-lost";
    tell_event(watcher, event_json(watcher, event, task), words);
}

static void tell_step(struct watcher *watcher)
{
    const struct cluster_view *view = &watcher->view;
    history_file_add(watcher->history, "step",
                     json_pack("{s:I, s:I, s:s}", "step", (json_int_t)view->step, "generation",
                               (json_int_t)view->generation, "phase", run_phase_name(view->phase)));
}

static void on_run(struct watcher *watcher)
{
    const struct run *run = &watcher->observer->run;
    struct cluster_view *view = &watcher->view;
    bool same = view->has_run && view->phase == run->phase;
    view->has_run = true;
    if (same && view->generation == run->generation) { return; }
    view->phase = run->phase;
    view->generation = run->generation;
    view->phase_count[run->phase]++;
    if (run->phase == RUN_RUNNING && view->training_began_ms == 0) {
        view->training_began_ms = clock_monotonic_ms();
    }
    bool over = run->phase == RUN_STOPPING || run->phase == RUN_DONE;
    if (over && view->training_ended_ms == 0) { view->training_ended_ms = clock_monotonic_ms(); }
    tell_step(watcher);
}

static void on_entry(struct watcher *watcher)
{
    char words[EVENT_TEXT_MAX];
    const struct history_entry *entry = &watcher->observer->entry;
    /* A cluster that was there before us has a past. */
    if (watcher->cluster->remote != NULL && watcher->observer->entry_old) { return; }
    event_text_history(entry, words);
    tell_event(watcher, event_text_history_json(entry), words);
}

static enum tn_status open_zk(struct watcher *watcher, struct error *error)
{
    const struct zk_config config = {.connect = watcher->cluster->connect,
                                     .session_timeout_ms =
                                         watcher->cluster->job->zookeeper.session_timeout_ms,
                                     .deadline_ms = DEADLINE_MS,
                                     .sink = zk_inbox_sink,
                                     .sink_ctx = watcher->inbox};
    enum tn_status status = zk_open(&config, &watcher->zk, error);
    if (status == TN_OK) { watcher->port = zk_port_of(watcher->zk); }
    return status;
}

static void handle_zk(struct watcher *watcher)
{
    const struct zk_event *event;
    struct observer *observer = watcher->observer;
    while (watcher->zk != NULL && (event = zk_inbox_take(watcher->inbox))) {
        bool expired = event->type == ZK_EXPIRED;
        unsigned news = observer_handle(observer, event, &watcher->port, clock_monotonic_ms());
        if (news & OBSERVER_OFFICE) { on_office(watcher); }
        if (news & OBSERVER_MEMBER) { on_member(watcher); }
        if (news & OBSERVER_RUN) { on_run(watcher); }
        if (news & OBSERVER_HISTORY) { on_entry(watcher); }
        if (!expired) { continue; }
        struct error error;
        zk_close(watcher->zk);
        watcher->zk = NULL;
        while (zk_inbox_take(watcher->inbox) != NULL) { continue; }
        if (open_zk(watcher, &error) == TN_OK) {
            observer_restart(observer, &watcher->port, clock_monotonic_ms());
        }
    }
}

/* ------------------------------------------------------------- finding it */

static void note_addresses(struct watcher *watcher, const struct run_note *note)
{
    for (size_t i = 0; i < note->server_count; i++) {
        char name[PLACE_NAME_MAX];
        snprintf(name, sizeof name, "zookeeper:%u", note->server_ids[i]);
        struct place *place = target_cluster_place(watcher->cluster, name);
        if (place != NULL) {
            snprintf(place->address, sizeof place->address, "%.127s", note->servers[i]);
        }
    }
}

static enum tn_status connect_to(struct watcher *watcher, const struct run_note *note,
                                 struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status = zk_sync_open(note->connect, NULL, SPEC_MS, &sync, error);
    if (status == TN_OK) { status = bootstrap_read_spec(sync, note->cluster, &spec, error); }
    zk_sync_close(sync);
    free(spec.job_json);
    if (status != TN_OK) { return status; }
    snprintf(watcher->cluster->connect, sizeof watcher->cluster->connect, "%s", note->connect);
    status = step_poller_open(spec.key, &watcher->steps, error);
    if (status == TN_OK) { status = open_zk(watcher, error); }
    if (status != TN_OK) { return status; }
    observer_start(watcher->observer, note->cluster, spec.coordinators, spec.ps, spec.workers, 0,
                   &watcher->port, clock_monotonic_ms());
    return TN_OK;
}

/* run.json is written anew by every start of the run; its cluster is there once it says when it was
 * made. */
static void find_run(struct watcher *watcher)
{
    struct run_note note;
    struct error error;
    uint64_t agent_pid = (uint64_t)watcher->cluster->places[0].pid;
    if (agent_pid == 0 || run_note_read(watcher->cluster->run_dir, &note, NULL) != TN_OK) {
        return;
    }
    if (note.agent_pid != agent_pid || note.cluster_made_ms == 0) { return; }
    if (watcher->zk != NULL && watcher->agent_pid == agent_pid) { return; }
    disconnect(watcher);
    note_addresses(watcher, &note);
    if (connect_to(watcher, &note, &error) != TN_OK) {
        disconnect(watcher);
        return;
    }
    watcher->cluster_made_ms = note.cluster_made_ms;
    watcher->agent_pid = agent_pid;
}

/* One that is not ours has no folder here. */
static void find_remote(struct watcher *watcher)
{
    struct run_note note = {0};
    struct error error;
    if (watcher->zk != NULL) { return; }
    memcpy(note.connect, watcher->cluster->remote->connect, sizeof note.connect);
    memcpy(note.cluster, watcher->cluster->remote->cluster, sizeof note.cluster);
    if (connect_to(watcher, &note, &error) != TN_OK) { disconnect(watcher); }
}

/* ------------------------------------------------------------- steps */

static void sample_steps(struct watcher *watcher, uint64_t now_ms)
{
    const struct observer *observer = watcher->observer;
    struct cluster_view *view = &watcher->view;
    uint64_t least = UINT64_MAX, generation = 0, step = 0;
    for (uint32_t i = 0; i < observer->seat_count; i++) {
        const struct observed_seat *seat = &observer->seats[i];
        if (seat->task.role != ROLE_PS || !seat->present) { continue; }
        bool known = step_poller_get(watcher->steps, seat->task.index, &generation, &step);
        if (known && generation == view->generation && step < least) { least = step; }
        step_poller_ask(watcher->steps, seat->task.index, seat->member.address,
                        seat->member.incarnation);
    }
    if (least == UINT64_MAX) { return; }
    if (least != view->step) { view->advanced_ms = now_ms; }
    view->step = least;
    if (now_ms < watcher->told_at_ms) { return; }
    watcher->told_at_ms = now_ms + STEP_TOLD_MS;
    tell_step(watcher);
}

void watcher_find_leader(struct watcher *watcher)
{
    struct target_cluster *cluster = watcher->cluster;
    cluster->zookeeper_leader[0] = '\0';
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct place *place = &cluster->places[i];
        struct ensemble_health health;
        if (!place->server || !*place->address || place->pid == 0 || place->frozen) { continue; }
        if (ensemble_probe(place->address, PROBE_MS, &health) != TN_OK) { continue; }
        if (health.mode == ENSEMBLE_LEADER || health.mode == ENSEMBLE_STANDALONE) {
            memcpy(cluster->zookeeper_leader, place->name, sizeof place->name);
        }
    }
}

/* ------------------------------------------------------------- the loop */

static bool due(uint64_t *at_ms, uint64_t now_ms, uint64_t every_ms)
{
    if (now_ms < *at_ms) { return false; }
    *at_ms = now_ms + every_ms;
    return true;
}

void watcher_poll(struct watcher *watcher, uint32_t timeout_ms)
{
    struct pollfd polled = {.fd = zk_inbox_fd(watcher->inbox), .events = POLLIN};
    (void)poll(&polled, 1, (int)timeout_ms);
    handle_zk(watcher);
    uint64_t now_ms = clock_monotonic_ms();
    const bool remote = watcher->cluster->remote != NULL;
    if (!remote && due(&watcher->look_at_ms, now_ms, LOOK_MS)) { look(watcher); }
    if (!remote && due(&watcher->resources_at_ms, now_ms, RESOURCES_MS)) {
        sample_resources(watcher);
    }
    if (due(&watcher->note_at_ms, now_ms, NOTE_MS)) { (remote ? find_remote : find_run)(watcher); }
    if (watcher->zk == NULL) { return; }
    observer_tick(watcher->observer, &watcher->port, now_ms);
    bool steps = watcher->steps != NULL && watcher->view.has_run;
    if (steps && due(&watcher->step_at_ms, now_ms, STEP_MS)) { sample_steps(watcher, now_ms); }
}
