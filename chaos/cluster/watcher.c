#include "chaos/cluster/watcher.h"

#include <assert.h>
#include <jansson.h>
#include <limits.h>
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
#include "common/base/json_codec.h"
#include "common/cluster/bootstrap.h"
#include "common/zk/zk_inbox.h"
#include "common/zk/zk_sync.h"

enum {
    PROCESSES_MS = 20,    /* Between two reads of the processes' states, */
    STEP_MS = 50,         /* two polls of the ps, */
    STEP_RECORD_MS = 100, /* two recorded steps, */
    RESOURCES_MS = 250,   /* two samples of the processes' resources, */
    NOTE_MS = 100,        /* and two attempts to read run.json. */
    SPEC_MS = 2000,
    DEADLINE_MS = 5000,
    PROBE_MS = 100,
    CLOCK_TRUST_MS = 2000, /* A clock that differs by more was changed by a fault. */
};

struct watcher {
    struct target_cluster *cluster;
    struct history_file *history;
    struct zk_inbox *inbox;
    struct observer *observer; /* Owned. */
    struct zk *zk;
    struct zk_port port;
    struct step_poller *steps;
    uint64_t agent_pid; /* The observed run's; 0: none. */
    uint64_t processes_at_ms, step_at_ms, record_at_ms, resources_at_ms, note_at_ms; /* Due. */
    uint64_t epoch, chief_incarnation;
    pid_t pids[COMPONENTS_MAX]; /* As recorded. */
    bool frozen[COMPONENTS_MAX];
    struct cluster_view view;
};

struct watcher *watcher_create(struct target_cluster *cluster, struct history_file *history)
{
    assert(cluster != NULL);
    assert(history != NULL);
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

/* The run has ended or another one has started: forget its state. */
static void disconnect(struct watcher *watcher)
{
    if (watcher->zk != NULL) { zk_abandon(watcher->zk); }
    watcher->zk = NULL;
    while (zk_inbox_take(watcher->inbox) != NULL) {}
    step_poller_close(watcher->steps);
    watcher->steps = NULL;
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

static void record_component(struct watcher *watcher, const char *component, const char *state,
                             pid_t pid)
{
    history_file_add(watcher->history, "component",
                     json_pack("{s:s, s:s, s:I}", "component", component, "state", state, "pid",
                               (json_int_t)pid));
}

static void update_component(struct watcher *watcher, uint32_t index)
{
    struct component *component = &watcher->cluster->components[index];
    pid_t *pid = &watcher->pids[index];
    bool *frozen = &watcher->frozen[index];
    assert(index < watcher->cluster->count);
    component->frozen = component->pid > 0 && proc_state(component->pid) == 'T';
    if (component->pid != *pid) {
        if (*pid != 0) { record_component(watcher, component->name, "down", *pid); }
        if (component->pid != 0) {
            record_component(watcher, component->name, "up", component->pid);
        }
        *frozen = false;
    }
    if (component->frozen != *frozen && component->pid > 0) {
        record_component(watcher, component->name, component->frozen ? "frozen" : "thawed",
                         component->pid);
    }
    *pid = component->pid;
    *frozen = component->frozen;
}

static void update_components(struct watcher *watcher)
{
    struct target_cluster *cluster = watcher->cluster;
    target_cluster_refresh(cluster);
    for (uint32_t i = 0; i < cluster->count; i++) { update_component(watcher, i); }
    const struct component *chief =
        *cluster->chief ? target_cluster_component(cluster, cluster->chief) : NULL;
    if (chief != NULL && chief->pid == 0) { cluster->chief[0] = '\0'; }
}

static void sample_resources(struct watcher *watcher)
{
    const struct target_cluster *cluster = watcher->cluster;
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct proc_usage sample;
        const struct component *component = &cluster->components[i];
        if (component->pid <= 0 || !proc_usage(component->pid, &sample)) { continue; }
        history_file_add(watcher->history, "resources",
                         json_pack("{s:s, s:I, s:I, s:I, s:I}", "component", component->name, "pid",
                                   (json_int_t)component->pid, "rss_kib",
                                   (json_int_t)sample.rss_kib, "descriptors",
                                   (json_int_t)sample.descriptors, "threads",
                                   (json_int_t)sample.threads));
    }
}

/* ------------------------------------------------------------- the cluster */

static json_t *event_json(const struct watcher *watcher, const char *event, const char *task)
{
    const struct observer *observer = watcher->observer;
    return json_pack("{s:s, s:I, s:I, s:s?}", "event", event, "epoch",
                     (json_int_t)(observer->has_chief ? observer->chief.epoch : 0), "generation",
                     (json_int_t)(observer->has_run ? observer->run.generation : 0), "task", task);
}

static void record_event(struct watcher *watcher, json_t *event, const char *text)
{
    history_file_add(watcher->history, "event",
                     json_pack("{s:o, s:o}", "event", event, "text", json_text(text)));
}

/* When the chief was elected, by its own clock, which is this machine's clock; the present time if
 * its clock cannot be trusted. */
static uint64_t elected_us(const struct watcher *watcher, const struct chief_record *record)
{
    uint64_t now_us = clock_monotonic_ns() / 1000, wall_ms = clock_wall_ms();
    bool known = watcher->cluster->remote == NULL && record->since_wall_ms <= wall_ms &&
                 wall_ms - record->since_wall_ms < CLOCK_TRUST_MS;
    return known ? now_us - (wall_ms - record->since_wall_ms) * 1000 : now_us;
}

static void on_chief(struct watcher *watcher)
{
    const struct chief_record *record = &watcher->observer->chief;
    struct target_cluster *cluster = watcher->cluster;
    char name[TASK_NAME_MAX];
    assert(watcher->observer->has_chief);
    task_format(record->task, ':', name, sizeof name);
    if (record->epoch <= watcher->epoch) { return; }
    watcher->epoch = record->epoch;
    watcher->chief_incarnation = record->incarnation;
    snprintf(cluster->chief, sizeof cluster->chief, "%.*s", COMPONENT_NAME_MAX - 1, name);
    history_file_add_at(watcher->history, elected_us(watcher, record), "chief",
                        json_pack("{s:s, s:I, s:I, s:I, s:o}", "component", name, "pid",
                                  (json_int_t)record->pid, "epoch", (json_int_t)record->epoch,
                                  "took_ms", (json_int_t)record->took_ms, "cause",
                                  json_text(record->cause)));
}

/* The chief records in its history which nodes it lost, but not coordinators: they are recorded
 * here. */
static void on_member(struct watcher *watcher)
{
    const struct observed_task *observed = &watcher->observer->tasks[watcher->observer->changed];
    char task[TASK_NAME_MAX], text[EVENT_TEXT_MAX];
    assert(watcher->observer->changed < watcher->observer->task_count);
    task_format(observed->task, ':', task, sizeof task);
    struct component *component = target_cluster_component(watcher->cluster, task);
    bool chief = observed->member.incarnation == watcher->chief_incarnation;
    if (component != NULL && observed->present) {
        snprintf(component->address, sizeof component->address, "%.127s", observed->member.address);
    }
    if (chief && !observed->present) { watcher->cluster->chief[0] = '\0'; }
    if (component != NULL && watcher->cluster->remote != NULL) {
        component->pid = observed->present ? (pid_t)observed->member.pid : 0;
        record_component(watcher, task, observed->present ? "up" : "down",
                         (pid_t)observed->member.pid);
    }
    if (observed->task.role != ROLE_COORDINATOR) { return; }
    const enum member_event event = observed->present ? MEMBER_UP
                                    : chief           ? MEMBER_CHIEF_LOST
                                                      : MEMBER_LOST;
    event_text_member(&observed->member, event, text);
    record_event(watcher, event_json(watcher, event_text_member_event(event), task), text);
}

static void record_step(struct watcher *watcher)
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
    assert(watcher->observer->has_run);
    assert(run->phase < RUN_PHASES);
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
    record_step(watcher);
}

static void on_entry(struct watcher *watcher)
{
    char text[EVENT_TEXT_MAX];
    const struct history_entry *entry = &watcher->observer->entry;
    /* Entries from before the attack are not part of its history. */
    if (watcher->cluster->remote != NULL && watcher->observer->entry_old) { return; }
    event_text_history(entry, text);
    record_event(watcher, event_text_history_json(entry), text);
}

/* The credentials that the znodes of an attacked cluster may require. */
static const char *credentials_of(const struct watcher *watcher)
{
    const struct remote *remote = watcher->cluster->remote;
    return remote != NULL && *remote->credentials != '\0' ? remote->credentials : NULL;
}

static enum tn_status open_zk(struct watcher *watcher, struct error *error)
{
    const struct zk_config config = {.connect = watcher->cluster->connect,
                                     .credentials = credentials_of(watcher),
                                     .session_timeout_ms =
                                         watcher->cluster->job->zookeeper.session_timeout_ms,
                                     .deadline_ms = DEADLINE_MS,
                                     .sink = zk_inbox_sink,
                                     .sink_ctx = watcher->inbox};
    assert(watcher->zk == NULL);
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
        unsigned changes = observer_handle(observer, event, &watcher->port, clock_monotonic_ms());
        if (changes & OBSERVER_CHIEF) { on_chief(watcher); }
        if (changes & OBSERVER_MEMBER) { on_member(watcher); }
        if (changes & OBSERVER_RUN) { on_run(watcher); }
        if (changes & OBSERVER_HISTORY) { on_entry(watcher); }
        if (!expired) { continue; }
        struct error error;
        zk_close(watcher->zk);
        watcher->zk = NULL;
        while (zk_inbox_take(watcher->inbox) != NULL) {}
        if (open_zk(watcher, &error) == TN_OK) {
            observer_restart(observer, &watcher->port, clock_monotonic_ms());
        }
    }
}

/* ------------------------------------------------------------- connecting */

static void note_addresses(struct watcher *watcher, const struct run_note *note)
{
    for (size_t i = 0; i < note->server_count; i++) {
        char name[COMPONENT_NAME_MAX];
        snprintf(name, sizeof name, "zookeeper:%u", note->server_ids[i]);
        struct component *component = target_cluster_component(watcher->cluster, name);
        if (component != NULL) {
            snprintf(component->address, sizeof component->address, "%.127s", note->servers[i]);
        }
    }
}

static enum tn_status connect_to(struct watcher *watcher, const struct run_note *note,
                                 struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status =
        zk_sync_open(note->connect, credentials_of(watcher), SPEC_MS, &sync, error);
    if (status == TN_OK) { status = bootstrap_read_spec(sync, note->cluster, &spec, error); }
    zk_sync_close(sync);
    free(spec.job_json);
    if (status != TN_OK) { return status; }
    snprintf(watcher->cluster->connect, sizeof watcher->cluster->connect, "%s", note->connect);
    status = step_poller_open(spec.key, &watcher->steps, error);
    if (status == TN_OK) { status = open_zk(watcher, error); }
    if (status != TN_OK) { return status; }
    const struct task_counts tasks = spec_tasks(&spec);
    observer_start(watcher->observer, note->cluster, &tasks, 0, &watcher->port,
                   clock_monotonic_ms());
    return TN_OK;
}

/* Every start of the run writes run.json again; the cluster exists once it holds the time of its
 * creation. */
static void connect_to_run(struct watcher *watcher)
{
    struct run_note note;
    struct error error;
    uint64_t agent_pid = (uint64_t)watcher->cluster->components[0].pid;
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
    watcher->agent_pid = agent_pid;
}

/* A remote cluster has no run.json on this machine. */
static void connect_to_remote(struct watcher *watcher)
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
    const enum role holders = observer_holders(observer);
    uint64_t reached = UINT64_MAX, generation = 0, step = 0;
    assert(watcher->steps != NULL);
    for (uint32_t i = 0; i < observer->task_count; i++) {
        const struct observed_task *observed = &observer->tasks[i];
        if (observed->task.role != holders || !observed->present) { continue; }
        bool known = step_poller_get(watcher->steps, observed->task.index, &generation, &step);
        /* All ps must have a step; without ps one worker is enough. */
        const bool counts =
            known && generation == view->generation &&
            (reached == UINT64_MAX || (step < reached) == observer_has_ps(observer));
        if (counts) { reached = step; }
        step_poller_ask(watcher->steps, observed->task.index, observed->member.address,
                        observed->member.incarnation);
    }
    if (reached == UINT64_MAX) { return; }
    if (reached != view->step) { view->advanced_ms = now_ms; }
    view->step = reached;
    if (now_ms < watcher->record_at_ms) { return; }
    watcher->record_at_ms = now_ms + STEP_RECORD_MS;
    record_step(watcher);
}

void watcher_find_leader(struct watcher *watcher)
{
    struct target_cluster *cluster = watcher->cluster;
    cluster->zookeeper_leader[0] = '\0';
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct component *component = &cluster->components[i];
        struct ensemble_health health;
        if (!component->server || !*component->address || component->pid == 0 ||
            component->frozen) {
            continue;
        }
        if (ensemble_probe(component->address, PROBE_MS, &health) != TN_OK) { continue; }
        if (health.mode == ENSEMBLE_LEADER || health.mode == ENSEMBLE_STANDALONE) {
            memcpy(cluster->zookeeper_leader, component->name, sizeof component->name);
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
    assert(timeout_ms <= INT_MAX);
    (void)poll(&polled, 1, (int)timeout_ms);
    handle_zk(watcher);
    uint64_t now_ms = clock_monotonic_ms();
    const bool remote = watcher->cluster->remote != NULL;
    if (!remote && due(&watcher->processes_at_ms, now_ms, PROCESSES_MS)) {
        update_components(watcher);
    }
    if (!remote && due(&watcher->resources_at_ms, now_ms, RESOURCES_MS)) {
        sample_resources(watcher);
    }
    if (due(&watcher->note_at_ms, now_ms, NOTE_MS)) {
        (remote ? connect_to_remote : connect_to_run)(watcher);
    }
    if (watcher->zk == NULL) { return; }
    observer_tick(watcher->observer, &watcher->port, now_ms);
    bool steps = watcher->steps != NULL && watcher->view.has_run;
    if (steps && due(&watcher->step_at_ms, now_ms, STEP_MS)) { sample_steps(watcher, now_ms); }
}
