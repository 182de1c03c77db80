/* cli/inspect/top.c: `tanist top`: a running cluster, full-screen and refreshed. */
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/step_poller.h"
#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/inspect/live_cluster.h"
#include "cli/inspect/prober.h"
#include "cli/inspect/terminal.h"
#include "cli/inspect/top_screen.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"

enum {
    INTERVAL_MS = 1000,
    INTERVAL_LEAST_MS = 100,
    INTERVAL_MOST_MS = 3600000,
    ANSWER_MS = 60, /* From asking the ps for their steps to using their answers. */
    REDRAW_MS = 100,
    PROBE_EVERY_MS = 1000,
    ONCE_MS = 3000, /* How long --once waits until everything is known. */
    ONCE_POLL_MS = 10,
};

struct top {
    struct live_cluster live;
    struct terminal terminal;
    struct prober *prober;
    struct step_poller *steps;
    struct top_speed speed;
    struct top_ps_step ps[HOLDERS_MAX];
    struct table_totals tables;
    struct top_view view;
    struct top_style style;
    bool full_screen; /* On a terminal and refreshed; else one frame. */
    bool over, dirty;
    bool asked; /* The ps were asked for their steps, and their answers are not used yet. */
    int signals, exit_code;
    uint64_t interval_ms, drawn_ms;
    uint64_t due_ms; /* When to ask the ps, or to use their answers. */
    char frame[TOP_FRAME_MAX];
};

/* ------------------------------------------------------------- events */

/* Events that come with progress, many in a second if steps are short. */
static bool is_routine(enum history_kind kind)
{
    return kind == HISTORY_CHECKPOINT || kind == HISTORY_SKIPPED || kind == HISTORY_EVALUATED;
}

static void remove_event(struct top_view *view, uint32_t index)
{
    assert(index < view->event_count);
    view->event_count--;
    memmove(view->events + index, view->events + index + 1,
            (view->event_count - index) * sizeof *view->events);
}

/* Removes the previous event of a routine kind, unless an event of another sort came after it: many
 * routine events would push out all others, some before they were ever drawn. */
static void forget_routine(struct top_view *view, enum history_kind kind)
{
    for (uint32_t i = view->event_count; i > 0 && is_routine(view->events[i - 1].kind); i--) {
        if (view->events[i - 1].kind == kind) {
            remove_event(view, i - 1);
            return;
        }
    }
}

/* `kind`: of the entry in the history; HISTORY_KINDS: it has none. */
static void add_event(struct top *top, uint64_t wall_ms, enum history_kind kind, const char *text)
{
    struct top_view *view = &top->view;
    assert(view->event_count <= TOP_EVENTS_MAX);
    if (is_routine(kind)) { forget_routine(view, kind); }
    if (view->event_count == TOP_EVENTS_MAX) { remove_event(view, 0); }
    struct top_event *event = &view->events[view->event_count++];
    event->wall_ms = wall_ms;
    event->kind = kind;
    snprintf(event->text, sizeof event->text, "%s", text);
}

/* The history, which the chief writes, does not cover coordinators. */
static void add_member(struct top *top)
{
    const struct observer *observer = top->live.observer;
    const struct observed_task *changed = &observer->tasks[observer->changed];
    char text[EVENT_TEXT_MAX];
    assert(top->live.observer->changed < top->live.observer->task_count);
    if (changed->task.role != ROLE_COORDINATOR) { return; }
    bool chief = observer->has_chief && observer->chief.incarnation == changed->member.incarnation;
    event_text_member(&changed->member,
                      changed->present ? MEMBER_UP
                      : chief          ? MEMBER_CHIEF_LOST
                                       : MEMBER_LOST,
                      text);
    add_event(top, clock_wall_ms(), HISTORY_KINDS, text);
}

static void handle(struct top *top, const struct live_cluster_changes *changes)
{
    char text[EVENT_TEXT_MAX];
    const struct history_entry *entry = &top->live.observer->entry;
    if (changes->live & LIVE_CLUSTER_DISCONNECTED) {
        add_event(top, clock_wall_ms(), HISTORY_KINDS, "lost the connection to ZooKeeper");
    }
    if (changes->live & LIVE_CLUSTER_RECONNECTED) {
        add_event(top, clock_wall_ms(), HISTORY_KINDS, "connected to ZooKeeper again");
    }
    if (changes->settled_before && (changes->observer & OBSERVER_MEMBER)) { add_member(top); }
    if (changes->observer & OBSERVER_HISTORY) {
        event_text_history(entry, text);
        add_event(top, entry->wall_ms, entry->kind, text);
    }
    if (changes->live != 0 || changes->observer != 0) { top->dirty = true; }
}

/* ------------------------------------------------------------- samples */

/* Ask the holders for their steps, and ps for their tables. */
static void ask(struct top *top)
{
    step_poller_ask_all(top->steps, top->live.observer);
    if (top->live.job.cluster.ps > 0) { step_poller_ask_tables(top->steps); }
}

static bool all_settled(const struct top *top, uint32_t present)
{
    const uint32_t count = top_holder_count(&top->live.job);
    if (step_poller_settled(top->steps, count) < present) { return false; }
    return top->live.job.cluster.ps == 0 ||
           step_poller_settled_tables(top->steps, count) >= present;
}

static void sample(struct top *top, uint64_t now_ms)
{
    const struct observer *observer = top->live.observer;
    struct top_view *view = &top->view;
    assert(top->steps != NULL);
    for (uint32_t i = 0; i < top_holder_count(&top->live.job); i++) {
        top->ps[i].known = step_poller_get(top->steps, i, &top->ps[i].generation, &top->ps[i].step);
    }
    table_totals_read(&top->tables, top->steps, top->live.job.cluster.ps, observer->run.generation);
    view->has_step = observer->has_run;
    if (step_poller_reached(top->steps, observer, &view->step)) {
        top_speed_add(&top->speed, view->step, now_ms);
        return;
    }
    /* If a ps does not answer, the last step known to ZooKeeper counts, and the speed is 0. */
    if (top->speed.has_last) { top_speed_add(&top->speed, top->speed.last_step, now_ms); }
    view->step = cluster_recorded_step(&observer->run);
}

/* Ask the ps for their steps; ANSWER_MS later use their answers and draw. */
static void ask_or_sample(struct top *top, uint64_t now_ms)
{
    if (!top->full_screen || now_ms < top->due_ms) { return; }
    if (!top->asked) {
        ask(top);
        top->due_ms = now_ms + ANSWER_MS;
    } else {
        sample(top, now_ms);
        top->dirty = true;
        top->due_ms = now_ms + top->interval_ms - ANSWER_MS;
    }
    top->asked = !top->asked;
}

/* ------------------------------------------------------------- drawing */

static void compose(struct top *top)
{
    struct live_cluster *live = &top->live;
    struct top_view *view = &top->view;
    view->cluster = live->target.cluster;
    view->connect = live->target.connect;
    view->job = &live->job;
    view->observer = live->observer;
    view->connected = live->connected;
    view->disconnected_ms = live_cluster_disconnected_ms(live);
    view->wall_ms = clock_wall_ms();
    view->speed = &top->speed;
    view->ps = top->ps;
    view->tables = &top->tables;
    view->server_count = (uint32_t)live->target.server_count;
    for (uint32_t i = 0; i < view->server_count; i++) {
        struct top_server *server = &view->servers[i];
        memcpy(server->address, live->target.servers[i].address, sizeof server->address);
        prober_get(top->prober, i, server->mode);
    }
    (void)top_screen_draw(view, &top->style, top->frame);
}

static void draw(struct top *top, uint64_t now_ms)
{
    if (!top->full_screen || !top->dirty || now_ms < top->drawn_ms + REDRAW_MS) { return; }
    terminal_size(&top->style.columns, &top->style.rows);
    compose(top);
    if (!terminal_draw(top->frame)) {
        top->over = true;
        top->exit_code = TN_EXIT_IO;
    }
    top->dirty = false;
    top->drawn_ms = now_ms;
}

/* ------------------------------------------------------------- the loop */

static int timeout_ms(const struct top *top, uint64_t now_ms)
{
    uint64_t until_ms = top->full_screen ? top->due_ms : now_ms + ONCE_POLL_MS;
    int live_ms = live_cluster_timeout_ms(&top->live);
    if (top->full_screen && top->dirty) { until_ms = u64_min(until_ms, top->drawn_ms + REDRAW_MS); }
    const uint64_t own_ms = until_ms - u64_min(until_ms, now_ms);
    return (int)(live_ms >= 0 ? u64_min(own_ms, (uint64_t)live_ms) : own_ms);
}

static void handle_terminal(struct top *top, short keys)
{
    assert(top->full_screen);
    unsigned events = terminal_next(&top->terminal);
    if (keys & (POLLHUP | POLLERR | POLLNVAL)) { events |= TERMINAL_LEAVE; }
    if (events & TERMINAL_LEAVE) { top->over = true; }
    if (events & TERMINAL_REDRAW) {
        top->dirty = true;
        top->drawn_ms = 0;
    }
}

/* The folder has another run now: its cluster has another key, and its steps begin again. */
static enum tn_status follow_new_run(struct top *top, struct error *error)
{
    assert(top->steps != NULL);
    step_poller_close(top->steps);
    top->steps = NULL;
    memset(&top->speed, 0, sizeof top->speed);
    memset(top->ps, 0, sizeof top->ps);
    table_totals_free(&top->tables);
    return step_poller_open(top->live.spec.key, &top->steps, error);
}

/* New servers may be in another network namespace, which only new threads of this process enter. */
static enum tn_status start_prober(struct top *top, struct error *error)
{
    const struct target *target = &top->live.target;
    prober_stop(top->prober);
    return prober_start(target->servers, target->server_count, PROBE_EVERY_MS, &top->prober, error);
}

static enum tn_status turn(struct top *top, struct error *error)
{
    struct pollfd polled[4] = {
        {.fd = live_cluster_fd(&top->live), .events = POLLIN},
        {.fd = top->signals, .events = POLLIN},
        {.fd = top->full_screen ? terminal_signals_fd(&top->terminal) : -1, .events = POLLIN},
        {.fd = top->full_screen ? terminal_keys_fd(&top->terminal) : -1, .events = POLLIN}};
    struct live_cluster_changes changes;
    enum tn_status status = TN_OK;
    char connect[CONNECT_MAX];
    (void)poll(polled, 4, timeout_ms(top, clock_monotonic_ms()));
    if (polled[1].revents != 0) { top->over = true; }
    if (polled[2].revents != 0 || polled[3].revents != 0) {
        handle_terminal(top, polled[3].revents);
    }
    while (!top->over && status == TN_OK &&
           live_cluster_next(&top->live, &changes, &status, error)) {
        handle(top, &changes);
    }
    memcpy(connect, top->live.target.connect, sizeof connect);
    if (live_cluster_tick(&top->live) && status == TN_OK) { status = follow_new_run(top, error); }
    if (strcmp(connect, top->live.target.connect) != 0 && status == TN_OK) {
        status = start_prober(top, error);
    }
    if (status != TN_OK) { return status; }
    ask_or_sample(top, clock_monotonic_ms());
    draw(top, clock_monotonic_ms());
    return TN_OK;
}

static uint32_t ps_present(const struct observer *observer)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < observer->task_count; i++) {
        present += observer->tasks[i].task.role == observer_holders(observer) &&
                   observer->tasks[i].present;
    }
    return present;
}

/* Print one frame, as soon as everything that it shows is known. */
static enum tn_status show_once(struct top *top, struct error *error)
{
    assert(!top->full_screen);
    const uint64_t until_ms = clock_monotonic_ms() + ONCE_MS;
    const struct observer *observer = top->live.observer;
    enum tn_status status = TN_OK;
    bool asked = false, complete = false;
    while (status == TN_OK && !top->over && !complete && clock_monotonic_ms() < until_ms) {
        if (observer->settled && !asked) { ask(top); }
        asked = observer->settled;
        complete =
            asked && prober_is_complete(top->prober) && all_settled(top, ps_present(observer));
        if (!complete) { status = turn(top, error); }
    }
    if (status != TN_OK) { return status; }
    sample(top, clock_monotonic_ms());
    compose(top);
    if (fputs(top->frame, stdout) < 0) { top->exit_code = TN_EXIT_IO; }
    return TN_OK;
}

static enum tn_status show_full_screen(struct top *top, struct error *error)
{
    assert(top->full_screen);
    enum tn_status status = terminal_open(&top->terminal, error);
    while (status == TN_OK && !top->over) { status = turn(top, error); }
    terminal_close(&top->terminal);
    return status;
}

static enum tn_status work(struct top *top, const struct target_options *given, struct error *error)
{
    enum tn_status status = live_cluster_signals(&top->signals, error);
    if (status == TN_OK) { status = live_cluster_open(&top->live, given, error); }
    if (status == TN_OK) { status = step_poller_open(top->live.spec.key, &top->steps, error); }
    if (status == TN_OK) { status = start_prober(top, error); }
    if (status == TN_OK) {
        status = top->full_screen ? show_full_screen(top, error) : show_once(top, error);
    }
    prober_stop(top->prober);
    step_poller_close(top->steps);
    live_cluster_close(&top->live);
    if (top->signals >= 0) { close(top->signals); }
    return status;
}

/* ------------------------------------------------------------- the command */

int command_top(int argc, char **argv)
{
    struct target_options given = {0};
    struct option_number interval_ms = {.value = INTERVAL_MS};
    bool once = false;
    int exit_code = 0;
    struct options options = {
        .command = "top",
        .synopsis = TARGET_SYNOPSIS,
        .about = "Show a running cluster: its speed, tasks, ZooKeeper servers and last events. q "
                 "or Ctrl-C ends it.\nReconnects if the connection to ZooKeeper is lost. If stdout "
                 "is not a terminal, prints one frame.",
        .examples = "  tanist top --dir runs/fashion-mnist\n"
                    "  tanist top --zk h1:2181,h2:2181 --cluster NAME --interval 500\n"};
    target_options_add(&options, &given);
    options_number(&options, "interval", &interval_ms, "MS",
                   "Time between two frames; default 1000.");
    options_flag(&options, 0, "once", &once, "Print one frame and exit.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct top *top = calloc(1, sizeof *top);
    struct error error = {0};
    if (top == NULL) { return TN_EXIT_ERROR; }
    top->signals = -1;
    top->interval_ms = u64_min(u64_max(interval_ms.value, INTERVAL_LEAST_MS), INTERVAL_MOST_MS);
    top->full_screen = !once && terminal_is_usable();
    top->style.color = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    top->style.unicode = terminal_is_utf8();
    enum tn_status status = work(top, &given, &error);
    exit_code = status == TN_OK ? top->exit_code : command_failed(&error);
    table_totals_free(&top->tables);
    free(top);
    return exit_code;
}
