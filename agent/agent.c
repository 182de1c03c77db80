#include "agent/agent.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/agent_private.h"
#include "agent/processors.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/stop_signals.h"

enum { WAIT_NOTIFY_MS = 3000 };

void agent_notify(struct agent *agent, enum agent_event_type type, const char *text)
{
    assert(agent->config->notify != NULL);
    const struct agent_event event = {.type = type,
                                      .now_ms = agent->now_ms,
                                      .text = text,
                                      .observer = agent->observing ? agent->observer : NULL};
    agent->config->notify(agent->config->ctx, &event);
}

void agent_give_up(struct agent *agent, enum tn_status status)
{
    assert(status != TN_OK);
    if (agent->status == TN_OK) { agent->status = status; }
    agent_feed(agent, SUPERVISOR_STOP, 0, 0, 0);
}

/* ------------------------------------------------------------- children */

static void reap_node(struct agent *agent, uint32_t index)
{
    assert(index < agent->children.count);
    struct child *child = &agent->children.list[index];
    assert(child->server == NULL);
    struct dead_node node = {
        .cluster = agent->config->job->name,
        .note = {.incarnation = child->incarnation, .wall_ms = clock_wall_ms()}};
    const struct supervised *ended = &agent->supervisor.children[index];
    if (!supervisor_keeps_memory(ended)) { children_drop_memory(child); }
    process_describe_end(ended->exit_code, ended->signal, node.note.cause, sizeof node.note.cause);
    /* A node that exited with 0 has sent the request to close its session, which is lost if its
     * socket is reset behind it. */
    node.left = ended->signal == 0 && ended->exit_code == TN_EXIT_OK;
    const bool closed = node.left && !agent_works(agent) && agent->config->ensemble != NULL;
    node.has_session = children_take_session(child->session_path, &node.session) && !closed;
    bool usable = agent->connected && agent->observing;
    for (uint32_t place = 0; place < child->task_count; place++) {
        node.task = children_task(child, place);
        node.note.incarnation = children_incarnation(child, place);
        node.shares_session = place + 1 < child->task_count;
        node_reaper_begin(&agent->node_reaper, &node, agent->observer, &agent->candidates,
                          usable ? &agent->port : NULL, &agent->next_op, agent->session_reaper);
    }
}

/* S7: the restart of a node that exited with 0; notify_death() did not report its end. */
static void notify_restart(struct agent *agent, uint32_t index)
{
    char text[256];
    assert(index < agent->children.count);
    const struct supervised *ended = &agent->supervisor.children[index];
    if (ended->starts < 2 || ended->kind != CHILD_NODE || ended->signal != 0 ||
        ended->exit_code != 0) {
        return;
    }
    snprintf(text, sizeof text, "%s exited with code 0, but the job continues; restarting",
             agent->children.list[index].name);
    agent_notify(agent, AGENT_CHILD_DIED, text);
}

static void spawn(struct agent *agent, uint32_t index)
{
    assert(index < agent->children.count);
    struct error error;
    notify_restart(agent, index);
    spares_remove(&agent->spares, index);
    if (children_spawn(&agent->children, index, &error) == TN_OK) {
        log_debug("%s runs as pid %ld", agent->children.list[index].name,
                  (long)agent->children.list[index].process.pid);
        agent_feed(agent, SUPERVISOR_SPAWNED, index, 0, 0);
        return;
    }
    log_error("%s", error.text);
    agent_feed(agent, SUPERVISOR_NOT_SPAWNED, index, 127, 0);
}

static void send_signal(struct agent *agent, uint32_t index, int number)
{
    assert(index < agent->children.count);
    /* A process that is not reaped yet still has its pid. */
    if (agent->children.list[index].process.pid > 0) {
        (void)kill(agent->children.list[index].process.pid, number);
    }
}

void agent_signal_node(struct agent *agent, struct task task, const struct kill_request *request)
{
    static const int numbers[KILL_SIGNALS] = {[KILL_SIGKILL] = SIGKILL,
                                              [KILL_SIGTERM] = SIGTERM,
                                              [KILL_SIGSTOP] = SIGSTOP,
                                              [KILL_SIGCONT] = SIGCONT};
    char text[256];
    assert(request->signal < KILL_SIGNALS);
    for (uint32_t i = 0; i < agent->children.count; i++) {
        const struct child *child = &agent->children.list[i];
        if (!children_has_task(child, task) || child->process.pid <= 0) { continue; }
        const uint32_t place = task.index - child->task.index;
        if (children_incarnation(child, place) != request->incarnation) { continue; }
        snprintf(text, sizeof text, "SIG%s sent to %s (pid %ld), requested by %s",
                 kill_signal_name(request->signal), child->name, (long)child->process.pid,
                 request->by);
        agent_notify(agent, AGENT_SIGNAL_SENT, text);
        send_signal(agent, i, numbers[request->signal]);
    }
}

/* The first failure becomes the result of the agent. */
static void record_failure(struct agent *agent, const struct supervisor_action *action)
{
    assert(action->type == DO_FAIL && action->child < agent->children.count);
    const struct child *child = &agent->children.list[action->child];
    const struct supervised *ended = &agent->supervisor.children[action->child];
    char end[128], line[LOG_REASON_MAX];
    children_describe_end(ended, end, sizeof end);
    children_log_reason(child, line);
    if (agent->status != TN_OK) { return; }
    bool loop = action->verdict == VERDICT_CRASH_LOOP;
    agent->status = TN_EUNHEALTHY;
    if (!loop && ended->exit_code == TN_EXIT_INVALID_INPUT) { agent->status = TN_EINVAL; }
    (void)error_set(&agent->error, agent->status, "%s %s: %s; from its log %s: %s", child->name,
                    loop ? "fails repeatedly" : "cannot run", end, child->log_path, line);
}

static void abandon_sessions(struct agent *agent)
{
    assert(agent->supervisor.sessions == SESSIONS_ABANDONED);
    if (!agent->supervisor.forced) {
        log_warn("ZooKeeper did not close all sessions within %d ms: leaving without it",
                 SUPERVISOR_SESSIONS_MS);
    }
    agent_abandon_zk(agent);
}

/* When the coordinators leave, /run has its last state; the agent's result names it. */
static void ask_to_leave(struct agent *agent, uint32_t index)
{
    bool last = agent->children.list[index].task.role == ROLE_COORDINATOR;
    if (last && agent->observing) { observer_ask_run(agent->observer, &agent->port); }
    send_signal(agent, index, SIGTERM);
}

static void carry_out(struct agent *agent, const struct supervisor_action *action)
{
    assert(action->child < agent->children.count || action->type >= DO_CLOSE_SESSIONS);
    switch (action->type) {
    case DO_SPAWN: spawn(agent, action->child); break;
    case DO_REAP_NODE: reap_node(agent, action->child); break;
    case DO_DRAIN: ask_to_leave(agent, action->child); break;
    case DO_TERMINATE:
        send_signal(agent, action->child,
                    agent->children.list[action->child].server != NULL ? SIGTERM : SIGINT);
        break;
    case DO_KILL: send_signal(agent, action->child, SIGKILL); break;
    case DO_SPARE: agent_become_spare(agent, action->child); break;
    case DO_READ_RUN:
        if (agent->observing) { observer_ask_run(agent->observer, &agent->port); }
        break;
    case DO_FAIL: record_failure(agent, action); break;
    case DO_CLOSE_SESSIONS: agent_close_sessions(agent); break;
    case DO_ABANDON_SESSIONS: abandon_sessions(agent); break;
    case DO_END: agent->over = true; break;
    case DO_CHANGE: agent_change_stopped(agent); break;
    }
}

void agent_feed_event(struct agent *agent, const struct supervisor_event *event)
{
    struct supervisor_actions actions;
    supervisor_step(&agent->supervisor, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) { carry_out(agent, &actions.list[i]); }
}

void agent_feed(struct agent *agent, enum supervisor_event_type type, uint32_t child, int exit_code,
                int signal_number)
{
    agent_feed_event(agent, &(struct supervisor_event){.type = type,
                                                       .now_ms = agent->now_ms,
                                                       .child = child,
                                                       .exit_code = exit_code,
                                                       .signal = signal_number});
}

void agent_drain(struct agent *agent, uint32_t within_ms)
{
    char text[128];
    assert(agent->supervisor.phase <= SUPERVISOR_DRAINING);
    snprintf(text, sizeof text,
             "leaving without losing a step, within %" PRIu32
             " s; a second signal kills the nodes at once",
             within_ms / 1000);
    agent_notify(agent, AGENT_DRAINING, text);
    agent_feed_event(agent, &(struct supervisor_event){.type = SUPERVISOR_DRAIN,
                                                       .now_ms = agent->now_ms,
                                                       .until_ms = agent->now_ms + within_ms});
}

static void notify_death(struct agent *agent, const struct child *child, long pid,
                         const struct supervised *ended)
{
    char end[128], text[256];
    assert(pid > 0);
    children_describe_end(ended, end, sizeof end);
    const bool working = agent->supervisor.phase == SUPERVISOR_WORKING;
    const bool job_failed = agent->result->job_ended && agent->result->run.phase == RUN_FAILED;
    const bool expected = ended->signal == 0 &&
                          (ended->exit_code == TN_EXIT_OK || ended->exit_code == TN_EXIT_RESIGNED ||
                           (job_failed && ended->exit_code == TN_EXIT_ERROR));
    const bool ends = !working || ended->unwanted;
    if (ended->left || ended->spare || (ends && (child->server != NULL || expected))) { return; }
    const char *next = ends                                    ? ""
                       : ended->restart_at_ms <= agent->now_ms ? "; restarting"
                                                               : "; restarting after a delay";
    snprintf(text, sizeof text, "%s (pid %ld): %s%s", child->name, pid, end, next);
    agent_notify(agent, AGENT_CHILD_DIED, text);
}

static void reap(struct agent *agent, uint32_t index)
{
    assert(index < agent->children.count);
    struct child *child = &agent->children.list[index];
    int exit_code = 0, signal_number = 0;
    long pid = child->process.pid;
    process_reap(&child->process, &exit_code, &signal_number);
    agent_feed(agent, SUPERVISOR_EXITED, index, exit_code, signal_number);
    notify_death(agent, child, pid, &agent->supervisor.children[index]);
}

/* ------------------------------------------------------------- the loop */

static void handle_signals(struct agent *agent)
{
    assert(agent->signals >= 0);
    struct signalfd_siginfo info;
    while (read(agent->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (agent->result->signal == 0) { agent->result->signal = (int)info.ssi_signo; }
        if (agent_works(agent) && agent->connected && agent->prepared) {
            agent_drain(agent, agent->config->drain_ms);
        } else {
            agent_feed(agent, SUPERVISOR_STOP, 0, 0, 0);
        }
        if (agent->supervisor.forced) { log_warn("second signal: all processes are killed"); }
    }
}

static void check_connection(struct agent *agent)
{
    assert(agent->now_ms >= agent->started_ms);
    if (agent->prepared || agent->supervisor.phase != SUPERVISOR_WORKING) { return; }
    if (agent->prepares_later && agent->connected) { return; }
    uint64_t waited_ms = agent->now_ms - agent->started_ms;
    if (waited_ms >= agent->config->connect_timeout_ms && agent->prepare_at_ms != 0) {
        const struct error last = agent->error;
        (void)error_set(&agent->error, TN_ECONNECT,
                        "the cluster could not be created within %" PRIu64 " s: %s",
                        waited_ms / 1000, last.text);
        agent_give_up(agent, TN_ECONNECT);
    } else if (waited_ms >= agent->config->connect_timeout_ms) {
        (void)error_set(&agent->error, TN_ECONNECT,
                        "ZooKeeper at %s did not answer within %" PRIu64 " s: %s",
                        agent->config->connect, waited_ms / 1000,
                        agent->config->ensemble != NULL
                            ? "give its servers, which this command started, a longer --wait"
                            : "is it running, and is the address right? (`tanist zk status` asks "
                              "each server)");
        agent_give_up(agent, TN_ECONNECT);
    } else if (agent->now_ms >= agent->notify_at_ms) {
        char text[256];
        snprintf(text, sizeof text,
                 "waiting for ZooKeeper at %s since %" PRIu64 " s (giving up after %u s)",
                 agent->config->connect, waited_ms / 1000,
                 agent->config->connect_timeout_ms / 1000);
        agent->notify_at_ms = agent->now_ms + WAIT_NOTIFY_MS;
        agent_notify(agent, AGENT_WAITING, text);
    }
}

/* A server in this state does not recover by itself. */
static void kill_stuck_servers(struct agent *agent)
{
    assert(agent->children.count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < agent->children.count; i++) {
        struct child *child = &agent->children.list[i];
        char text[256];
        if (!children_server_is_stuck(&agent->children, child, agent->now_ms)) { continue; }
        snprintf(text, sizeof text,
                 "%s cannot read its transaction log, left without a header by a full or failing "
                 "disk: sending SIGKILL",
                 child->name);
        child->broken_since_ms = agent->now_ms; /* So that it is killed and reported once. */
        agent_notify(agent, AGENT_CHILD_DIED, text);
        send_signal(agent, i, SIGKILL);
    }
}

static void tick(struct agent *agent)
{
    if (agent->now_ms >= supervisor_deadline_ms(&agent->supervisor)) {
        agent_feed(agent, SUPERVISOR_TICK, 0, 0, 0);
    }
    if (agent->observing) {
        observer_tick(agent->observer, &agent->port, agent->now_ms);
        candidates_tick(&agent->candidates, &agent->port, agent->now_ms);
        kill_requests_tick(&agent->kill_requests, &agent->port, agent->now_ms);
        drain_request_tick(&agent->drain_request, &agent->port, agent->now_ms);
        verifiers_tick(&agent->verifiers, &agent->port, agent->now_ms);
        spares_drive(&agent->spares, &agent->port, agent->now_ms);
    }
    agent_change_tick(agent);
    agent_connect(agent);
    agent_prepare(agent);
    agent_restore(agent);
    if (agent->now_ms < agent->tick_at_ms) { return; }
    agent->tick_at_ms = agent->now_ms + TICK_MS;
    agent_check_folder(agent);
    check_connection(agent);
    kill_stuck_servers(agent);
    processors_spread(&agent->children);
    agent_notify(agent, AGENT_TICK, NULL);
}

static int poll_timeout(const struct agent *agent)
{
    uint64_t until_ms = u64_min(agent->tick_at_ms, agent->connect_at_ms);
    uint64_t others[7] = {supervisor_deadline_ms(&agent->supervisor),
                          UINT64_MAX,
                          UINT64_MAX,
                          UINT64_MAX,
                          UINT64_MAX,
                          UINT64_MAX,
                          UINT64_MAX};
    if (agent->observing) {
        others[1] = observer_deadline_ms(agent->observer);
        others[2] = candidates_deadline_ms(&agent->candidates);
        others[3] = kill_requests_deadline_ms(&agent->kill_requests);
        others[4] = verifiers_deadline_ms(&agent->verifiers);
        others[5] = drain_request_deadline_ms(&agent->drain_request);
        others[6] = agent_change_deadline_ms(agent);
    }
    for (int i = 0; i < 7; i++) { until_ms = u64_min(until_ms, others[i]); }
    return until_ms > agent->now_ms ? (int)(until_ms - agent->now_ms) : 0;
}

static void sessions_closed(struct agent *agent)
{
    if (agent->supervisor.sessions != SESSIONS_CLOSING) { return; }
    agent_close_zk(agent);
    agent_feed(agent, SUPERVISOR_SESSIONS_CLOSED, 0, 0, 0);
}

/* Whether the last entries of the history are still being read, which the closing waits for. */
static bool reads_history(const struct agent *agent)
{
    return agent->supervisor.sessions == SESSIONS_CLOSING && agent->observing && agent->connected &&
           !observer_is_idle(agent->observer);
}

static void turn(struct agent *agent)
{
    struct pollfd polled[SUPERVISOR_CHILDREN_MAX + VERIFIERS_MAX + 3];
    uint32_t owners[SUPERVISOR_CHILDREN_MAX];
    nfds_t count = 0;
    assert(agent->children.count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < agent->children.count; i++) {
        const struct process *process = &agent->children.list[i].process;
        if (process->pid == 0) { continue; }
        owners[count] = i;
        polled[count++] = (struct pollfd){.fd = process->pidfd, .events = POLLIN};
    }
    polled[count] = (struct pollfd){.fd = zk_inbox_fd(agent->inbox), .events = POLLIN};
    polled[count + 1] = (struct pollfd){.fd = agent->signals, .events = POLLIN};
    polled[count + 2] = (struct pollfd){.fd = -1, .events = POLLIN};
    if (agent->session_reaper != NULL && !reads_history(agent)) {
        polled[count + 2].fd = session_reaper_fd(agent->session_reaper);
    }
    const nfds_t verifiers = verifiers_poll(&agent->verifiers, &polled[count + 3]);
    int ready = poll(polled, count + 3 + verifiers, poll_timeout(agent));
    agent->now_ms = clock_monotonic_ms();
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        if (polled[i].revents != 0) { reap(agent, owners[i]); }
    }
    if (ready > 0 && polled[count + 1].revents != 0) { handle_signals(agent); }
    if (ready > 0 && verifiers > 0) {
        verifiers_reap(&agent->verifiers, agent->observing ? &agent->port : NULL);
    }
    if (ready > 0 && polled[count].revents != 0) { agent_drain_zk(agent); }
    if (ready > 0 && polled[count + 2].revents != 0) { sessions_closed(agent); }
    tick(agent);
}

/* ------------------------------------------------------------- start, end */

static enum tn_status block_signals(struct agent *agent, struct error *error)
{
    sigset_t wanted;
    assert(agent->signals < 0);
    stop_signals_set(&wanted);
    sigprocmask(SIG_BLOCK, &wanted, &agent->mask_before);
    (void)signal(SIGPIPE, SIG_IGN); /* Training continues when stdout or stderr is closed. */
    agent->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (agent->signals >= 0) { return TN_OK; }
    return error_set(error, TN_EIO, "signalfd: %s", strerror(errno));
}

static enum tn_status open_agent(struct agent *agent, struct error *error)
{
    assert(agent->inbox == NULL && agent->observer == NULL);
    enum child_kind kinds[SUPERVISOR_CHILDREN_MAX];
    enum tn_status status = children_init(&agent->children, agent->config, error);
    if (status != TN_OK) { return status; }
    children_kinds(&agent->children, kinds);
    supervisor_init(&agent->supervisor, kinds, agent->children.count);
    agent->supervisor.spares = agent->config->many_hosts;
    agent->supervisor.gpus = job_has_gpus(agent->config->job) || job_ps_has_gpu(agent->config->job);
    for (uint32_t i = 0; i < agent->children.count; i++) {
        if (kinds[i] != CHILD_NODE) { continue; }
        supervisor_set_stage(&agent->supervisor, i, agent->children.list[i].task.role);
    }
    agent_choose_workers(agent, 0);
    agent->inbox = zk_inbox_create();
    agent->observer = calloc(1, sizeof *agent->observer);
    if (agent->inbox == NULL || agent->observer == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    if ((status = block_signals(agent, error)) != TN_OK) { return status; }
    status = session_reaper_start(agent->config->connect, &agent->session_reaper, error);
    return status;
}

static void close_agent(struct agent *agent)
{
    verifiers_stop(&agent->verifiers);
    agent_abandon_zk(agent);
    zk_inbox_destroy(agent->inbox);
    children_free(&agent->children);
    if (agent->signals >= 0) { close(agent->signals); }
    sigprocmask(SIG_SETMASK, &agent->mask_before, NULL);
    free(agent->observer);
    free(agent);
}

static void work(struct agent *agent)
{
    assert(agent->session_reaper != NULL);
    assert(agent->zk != NULL || agent->config->ensemble != NULL);
    agent->started_ms = agent->now_ms = clock_monotonic_ms();
    agent->notify_at_ms = agent->now_ms + WAIT_NOTIFY_MS;
    agent->tick_at_ms = agent->now_ms + TICK_MS;
    agent->connect_at_ms = agent->zk == NULL ? agent->now_ms : UINT64_MAX;
    agent->next_op = OPS_REAP;
    agent_feed(agent, SUPERVISOR_START_SERVERS, 0, 0, 0);
    while (!agent->over) { turn(agent); }
}

enum tn_status agent_run(const struct agent_config *config, struct agent_result *result,
                         struct error *error)
{
    assert(config->job != NULL && config->prepare != NULL);
    assert(config->restore != NULL && config->notify != NULL);
    struct agent *agent = calloc(1, sizeof *agent);
    memset(result, 0, sizeof *result);
    if (agent == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    agent->config = config;
    agent->result = result;
    agent->signals = -1;
    sigprocmask(SIG_SETMASK, NULL, &agent->mask_before);
    enum tn_status status = open_agent(agent, error);
    if (status == TN_OK && config->ensemble == NULL) { status = agent_open_zk(agent, error); }
    if (status == TN_OK) {
        work(agent);
        result->drained = agent->supervisor.drained;
        status = agent->status;
        if (status != TN_OK && error != NULL) { *error = agent->error; }
    }
    close_agent(agent);
    return status;
}
