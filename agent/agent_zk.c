/* agent/agent_zk.c: the agent's ZooKeeper session: its events, and its replacement when it is
 * lost. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/agent_private.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/reachability.h"

enum { ZK_DEADLINE_MS = 5000, SERVES_PROBE_MS = 300, SERVES_RETRY_MS = 100 };

/* Request numbers: each module has its own range of 2^32; those of agent_private.h too. */
#define OPS_OBSERVER   (UINT64_C(1) << 32)
#define OPS_CANDIDATES (UINT64_C(2) << 32)
#define OPS_VERIFIERS  (UINT64_C(5) << 32)
#define OPS_SPARES     (UINT64_C(6) << 32)
#define OPS_DRAIN      (UINT64_C(7) << 32)

enum tn_status agent_open_zk(struct agent *agent, struct error *error)
{
    const struct job *job = agent->config->job;
    assert(agent->zk == NULL);
    const struct zk_config config = {
        .connect = agent->config->connect,
        /* The timeout of the nodes, so that the agent notices lost data when they do. */
        .session_timeout_ms = job->zookeeper.session_timeout_ms,
        .deadline_ms = ZK_DEADLINE_MS,
        .credentials = agent->config->credentials,
        .sink = zk_inbox_sink,
        .sink_ctx = agent->inbox};
    enum tn_status status = zk_open(&config, &agent->zk, error);
    if (status == TN_OK) { agent->port = zk_port_of(agent->zk); }
    return status;
}

static bool own_server_serves(const struct ensemble *ensemble)
{
    struct ensemble_health health;
    assert(ensemble->count > 0);
    for (size_t i = 0; i < ensemble->count; i++) {
        const char *address = ensemble->servers[i].address;
        if (ensemble_probe(address, SERVES_PROBE_MS, &health) == TN_OK) { return true; }
    }
    return false;
}

/* A server of ZooKeeper 3.8 never answers and never closes a connection that asks for a session
 * before its database exists. The client library would wait for two thirds of the session timeout.
 */
void agent_connect(struct agent *agent)
{
    if (agent->now_ms < agent->connect_at_ms) { return; }
    assert(agent->zk == NULL && agent->config->ensemble != NULL);
    agent->connect_at_ms = UINT64_MAX;
    if (agent->supervisor.phase != SUPERVISOR_WORKING) { return; }
    if (!own_server_serves(agent->config->ensemble)) {
        agent->now_ms = clock_monotonic_ms();
        agent->connect_at_ms = agent->now_ms + SERVES_RETRY_MS;
    } else if (agent_open_zk(agent, &agent->error) != TN_OK) {
        agent_give_up(agent, agent->error.status);
    }
}

static void watch_requests(struct agent *agent)
{
    const struct agent_config *config = agent->config;
    drain_request_start(&agent->drain_request, config->job->name, config->listen_host, OPS_DRAIN,
                        &agent->port, agent->now_ms);
    verifiers_start(&agent->verifiers, &agent->children, OPS_VERIFIERS, &agent->port,
                    agent->now_ms);
    agent_watch_kills(agent);
    agent_watch_change(agent);
}

static void watch_cluster(struct agent *agent)
{
    const struct job *job = agent->config->job;
    assert(!agent->observing);
    const struct task_counts tasks = job_tasks(job);
    observer_start(agent->observer, job->name, &tasks, OPS_OBSERVER, &agent->port, agent->now_ms);
    candidates_start(&agent->candidates, job->name, OPS_CANDIDATES, &agent->port, agent->now_ms);
    watch_requests(agent);
    spares_init(&agent->spares, job->name, OPS_SPARES);
    agent->observing = true;
}

/* ZooKeeper did not answer in time, or closed the session of the call. */
static bool is_interrupted(enum tn_status status)
{
    return status == TN_ECONNECT || status == TN_ETIMEDOUT || status == TN_EEXPIRED;
}

/* A busy machine may stop a server for seconds while the cluster is created: check_connection()
 * limits the attempts. */
void agent_prepare(struct agent *agent)
{
    struct error error = {0};
    if (agent->prepared || !agent->connected || !agent_works(agent)) { return; }
    if (agent->now_ms < agent->prepare_at_ms) { return; }
    if (agent->prepare_at_ms == 0) { children_close_former(agent->config, agent->session_reaper); }
    enum tn_status status = agent->config->prepare(agent->config->ctx, &error);
    agent->now_ms = clock_monotonic_ms();
    agent->prepares_later = status == TN_EAGAIN;
    if (agent->prepares_later) { agent->started_ms = agent->now_ms; /* ZooKeeper answers. */ }
    if (agent->prepares_later || is_interrupted(status)) {
        if (!agent->prepares_later) {
            log_warn("the cluster cannot be created yet, retrying: %s", error.text);
        }
        agent->prepare_at_ms = agent->now_ms + TICK_MS;
        agent->error = error;
        return;
    }
    agent->prepared = true;
    if (status != TN_OK) {
        agent->error = error;
        agent_give_up(agent, status);
        return;
    }
    watch_cluster(agent);
    agent_feed(agent, SUPERVISOR_START_NODES, 0, 0, 0);
}

static void forget_zk(struct agent *agent)
{
    agent->zk = NULL;
    agent->connected = agent->observing = false;
}

/* The agent's session expired, because of a long pause of the machine or lost data: open another,
 * unless the agent is about to leave. */
static void reopen_zk(struct agent *agent)
{
    const bool observing = agent->observing;
    assert(agent->zk != NULL);
    node_reaper_abandon(&agent->node_reaper, agent->session_reaper);
    zk_close(agent->zk);
    forget_zk(agent);
    while (zk_inbox_take(agent->inbox) != NULL) {}
    if (agent->supervisor.phase > SUPERVISOR_DRAINING) { return; }
    log_warn("the agent's ZooKeeper session expired; opening another");
    if (agent_open_zk(agent, &agent->error) != TN_OK) {
        agent_give_up(agent, agent->error.status);
        return;
    }
    agent->reopened = true;
    if (!observing) { return; }
    agent->observing = true;
    observer_restart(agent->observer, &agent->port, agent->now_ms);
    candidates_start(&agent->candidates, agent->config->job->name, OPS_CANDIDATES, &agent->port,
                     agent->now_ms);
    watch_requests(agent);
    spares_restart(&agent->spares);
}

/* TN_ENOENT: the other program is still deleting, also znodes that were just created. */
static bool is_temporary(enum tn_status status)
{
    return is_interrupted(status) || status == TN_ENOENT;
}

void agent_restore(struct agent *agent)
{
    assert(agent->config->restore != NULL);
    struct error error = {0};
    bool due = (agent->reopened || agent->lost) && agent->connected && agent->prepared &&
               agent->supervisor.phase == SUPERVISOR_WORKING;
    if (!due || agent->now_ms < agent->restore_at_ms) { return; }
    enum tn_status status = agent->config->restore(agent->config->ctx, &error);
    agent->now_ms = clock_monotonic_ms();
    if (agent->lost && status == TN_OK) {
        log_warn("the cluster was deleted by another program; created again");
    }
    agent->reopened = agent->lost = status != TN_OK;
    agent->restore_at_ms = agent->now_ms + TICK_MS;
    if (is_temporary(status)) {
        log_warn("the cluster cannot be restored yet, retrying: %s", error.text);
    } else if (status != TN_OK) {
        agent->error = error;
        agent_give_up(agent, status);
    }
}

/* R9: a host that the others cannot reach gives up; one that this host cannot reach is reported. */
static void check_reach(struct agent *agent, const struct member *member)
{
    char machine[MACHINE_MAX], other[MACHINE_ADDRESS_MAX], text[REACHABILITY_TEXT_MAX];
    const char *host = agent->config->listen_host;
    machine_identity(machine);
    const enum reachability reach = reachability_of(host, machine, member);
    if (reach == REACHABLE || agent->supervisor.phase != SUPERVISOR_WORKING) { return; }
    machine_other_address(other);
    reachability_describe(reach, "--host", host, other, member, text);
    if (reach == REACHABILITY_NOT_THEM) {
        agent_notify(agent, AGENT_UNREACHABLE, text);
        return;
    }
    if (agent->status == TN_OK) { (void)error_set(&agent->error, TN_EINVAL, "%s", text); }
    agent_give_up(agent, TN_EINVAL);
}

/* S4: a process with several workers is seen when all of them are registered. */
static bool all_registered(const struct child *child)
{
    for (uint32_t place = 0; place < child->task_count; place++) {
        if (!child->registered[place]) { return false; }
    }
    return true;
}

/* Whether the process of `child` holds its task at `place`. */
static bool holds(const struct child *child, uint32_t place, const struct observed_task *task)
{
    return task->present && child->incarnation != 0 &&
           task->member.incarnation == children_incarnation(child, place);
}

/* The task that another process holds; of several the first one. NULL: none, as far as is known.
 * S9: a process with several workers is a spare until all of them are free. */
static const struct observed_task *taken_task(const struct agent *agent, const struct child *child)
{
    for (uint32_t place = 0; place < child->task_count; place++) {
        const struct observed_task *task =
            observer_task(agent->observer, children_task(child, place));
        if (task != NULL && task->present && !holds(child, place, task)) { return task; }
    }
    return NULL;
}

static void member_changed(struct agent *agent)
{
    const struct observed_task *task = &agent->observer->tasks[agent->observer->changed];
    assert(agent->observer->changed < agent->observer->task_count);
    if (agent->config->many_hosts && task->present) { check_reach(agent, &task->member); }
    for (uint32_t i = 0; i < agent->children.count; i++) {
        struct child *child = &agent->children.list[i];
        if (!children_has_task(child, task->task)) { continue; }
        const uint32_t place = task->task.index - child->task.index;
        child->registered[place] = holds(child, place, task);
        if (!task->present) { agent_feed(agent, SUPERVISOR_MEMBER_LOST, i, 0, 0); }
        if (taken_task(agent, child) != NULL) {
            agent_feed(agent, SUPERVISOR_MEMBER_TAKEN, i, 0, 0);
        } else if (task->present && all_registered(child)) {
            agent_feed(agent, SUPERVISOR_MEMBER_SEEN, i, 0, 0);
        }
    }
}

void agent_become_spare(struct agent *agent, uint32_t index)
{
    const struct child *child = &agent->children.list[index];
    const struct observed_task *taken = taken_task(agent, child);
    const struct observed_task *task =
        taken != NULL ? taken : observer_task(agent->observer, child->task);
    struct member member = {.task = child->task,
                            .incarnation = child->incarnation,
                            .pid = (uint64_t)getpid(),
                            .since_wall_ms = clock_wall_ms()};
    char text[512];
    assert(task != NULL);
    if (gethostname(member.host, sizeof member.host - 1) != 0) { member.host[0] = '\0'; }
    snprintf(member.address, sizeof member.address, "tcp://%.100s:0", agent->config->listen_host);
    snprintf(text, sizeof text,
             "%s is held by pid %" PRIu64 " on %s at %s: this host waits as a spare and takes the "
             "task when it becomes free",
             child->name, task->member.pid, task->member.host, task->member.address);
    agent_notify(agent, AGENT_SPARE, text);
    spares_add(&agent->spares, index, &member);
    agent_feed(agent, taken != NULL ? SUPERVISOR_MEMBER_TAKEN : SUPERVISOR_MEMBER_LOST, index, 0,
               0);
}

static void run_changed(struct agent *agent)
{
    const struct run *run = &agent->observer->run;
    assert(agent->observer->has_run);
    agent->result->has_run = true;
    agent->result->run = *run;
    agent_notify(agent, AGENT_RUN, NULL);
    const bool ended = run_is_over(run);
    if (ended) { agent->result->job_ended = true; }
    if (!ended) { agent_choose_workers(agent, run->workers); } /* Before S7 restarts them. */
    agent_feed(agent, ended ? SUPERVISOR_JOB_ENDED : SUPERVISOR_JOB_CONTINUES, 0, 0, 0);
}

static void handle_kills(struct agent *agent, const struct zk_event *event)
{
    assert(agent->observing);
    struct task task;
    struct kill_request request;
    if (kill_requests_handle(&agent->kill_requests, event, &agent->port, agent->now_ms, &task,
                             &request)) {
        agent_signal_node(agent, task, &request);
    }
}

static void handle_drain(struct agent *agent, const struct zk_event *event)
{
    uint32_t within_ms =
        drain_request_handle(&agent->drain_request, event, &agent->port, agent->now_ms);
    if (within_ms != 0 && agent_works(agent)) { agent_drain(agent, within_ms); }
}

static void handle_zk(struct agent *agent, const struct zk_event *event)
{
    bool was_connected = agent->connected;
    if (agent->zk == NULL) { return; }
    if (event->type == ZK_CONNECTED) { agent->connected = true; }
    if (event->type == ZK_DISCONNECTED || event->type == ZK_EXPIRED) { agent->connected = false; }
    if (agent->connected && !was_connected) { agent_notify(agent, AGENT_CONNECTED, NULL); }
    if (!agent->connected && was_connected) { agent_notify(agent, AGENT_DISCONNECTED, NULL); }
    agent_prepare(agent);
    node_reaper_handle(&agent->node_reaper, event, agent->session_reaper);
    if (!agent->observing) { return; }
    handle_kills(agent, event);
    handle_drain(agent, event);
    agent_change_event(agent, event);
    verifiers_handle(&agent->verifiers, event, &agent->port, agent->now_ms);
    spares_handle(&agent->spares, event, agent->now_ms);
    candidates_handle(&agent->candidates, event, &agent->port, agent->now_ms);
    unsigned changes = observer_handle(agent->observer, event, &agent->port, agent->now_ms);
    if (observer_lost_cluster(agent->observer)) { agent->lost = true; }
    if (changes & OBSERVER_MEMBER) { member_changed(agent); }
    if (changes & OBSERVER_HISTORY) {
        agent_notify(agent, AGENT_HISTORY, NULL);
        agent_change_note(agent);
    }
    if (changes & OBSERVER_RUN) { run_changed(agent); }
    if (changes & OBSERVER_SETTLED) { agent_notify(agent, AGENT_SETTLED, NULL); }
}

void agent_drain_zk(struct agent *agent)
{
    const struct zk_event *event;
    while ((event = zk_inbox_take(agent->inbox))) {
        bool expired = event->type == ZK_EXPIRED;
        handle_zk(agent, event);
        if (expired && agent->zk != NULL && !agent->over) { reopen_zk(agent); }
    }
}

/* The entries of the end were written in one transaction with the /run that this agent has read:
 * they are reported before it leaves. */
void agent_close_sessions(struct agent *agent)
{
    assert(agent->session_reaper != NULL);
    if (agent->observing) { observer_ask_history(agent->observer, &agent->port); }
    node_reaper_abandon(&agent->node_reaper, agent->session_reaper);
    session_reaper_finish(agent->session_reaper);
}

static void stop_reaper(struct agent *agent)
{
    session_reaper_stop(agent->session_reaper);
    agent->session_reaper = NULL;
}

void agent_close_zk(struct agent *agent)
{
    stop_reaper(agent);
    zk_close(agent->zk);
    forget_zk(agent);
}

void agent_abandon_zk(struct agent *agent)
{
    stop_reaper(agent);
    zk_abandon(agent->zk);
    forget_zk(agent);
}
