/* agent/agent_change.c: the change of the job while it runs (S14): the nodes leave at a checkpoint,
 * the owner makes the change, the nodes start again. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/agent_private.h"
#include "common/base/clock.h"

enum {
    CHANGE_DRAIN_MS = 60000, /* As long as a node waits for the checkpoint of the gate. */
    CHANGE_RETRY_MS = 50,
};

void agent_watch_change(struct agent *agent)
{
    if (agent->config->check_change == NULL) { return; }
    if (agent->change.agent != 0) {
        job_change_restart(&agent->change, &agent->port, agent->now_ms);
        return;
    }
    job_change_start(&agent->change, agent->config->job->name, clock_new_incarnation(), OPS_CHANGE,
                     &agent->port, agent->now_ms);
}

static void check(struct agent *agent)
{
    char text[CHANGE_TEXT_MAX] = "";
    struct error error = {0};
    const struct agent_config *config = agent->config;
    if (agent->supervisor.phase != SUPERVISOR_WORKING || !agent->observer->has_run) {
        job_change_refuse(&agent->change, TN_EUNHEALTHY,
                          "the agent is starting or leaving: try again later", &agent->port);
    } else if (config->check_change(config->ctx, &agent->change.request, &agent->observer->run,
                                    text, &error) != TN_OK) {
        job_change_refuse(&agent->change, error.status, error.text, &agent->port);
    } else {
        job_change_accept(&agent->change, text, &agent->port);
    }
    agent->now_ms = clock_monotonic_ms();
}

/* ------------------------------------------------------------- the nodes leave */

static void begin(struct agent *agent)
{
    char text[CHANGE_TEXT_MAX + 2 * HOST_NAME_MAX_BYTES];
    assert(agent->change.stage == JOB_CHANGE_STOPPING);
    (void)snprintf(text, sizeof text, "%s requested by %s: the nodes leave at a checkpoint",
                   agent->change.request.text, agent->change.request.by);
    agent_notify(agent, AGENT_CHANGING, text);
    if (agent->supervisor.phase != SUPERVISOR_WORKING) { return; } /* See follow_end(). */
    agent_feed_event(agent,
                     &(struct supervisor_event){.type = SUPERVISOR_DRAIN,
                                                .now_ms = agent->now_ms,
                                                .changes = true,
                                                .until_ms = agent->now_ms + CHANGE_DRAIN_MS});
}

void agent_change_event(struct agent *agent, const struct zk_event *event)
{
    if (agent->change.agent == 0) { return; }
    switch (job_change_handle(&agent->change, event, &agent->port, agent->now_ms)) {
    case JOB_CHANGE_NOTHING: break;
    case JOB_CHANGE_CHECK: check(agent); break;
    case JOB_CHANGE_BEGIN: begin(agent); break;
    }
}

void agent_change_note(struct agent *agent)
{
    char text[128];
    if (agent->change.agent == 0) { return; }
    if (!job_change_note(&agent->change, &agent->observer->entry, &agent->port)) { return; }
    (void)snprintf(text, sizeof text,
                   "changed: training continues from step %" PRIu64 " after a pause of %" PRIu64
                   " ms",
                   agent->change.request.step, agent->change.request.paused_ms);
    agent_notify(agent, AGENT_CHANGING, text);
}

/* ------------------------------------------------------------- the change */

void agent_change_stopped(struct agent *agent)
{
    assert(agent->supervisor.stopped);
    job_change_stopped(&agent->change, agent->now_ms,
                       agent->config->job->zookeeper.session_timeout_ms);
}

static void start_nodes(struct agent *agent)
{
    agent_feed(agent, SUPERVISOR_CHANGED, 0, 0, 0);
}

/* A range of workers stays, and with it the workers that run (C22). */
static void adopt_workers(struct agent *agent)
{
    const struct job *job = agent->config->job;
    if (job->cluster.workers_least != 0 || job->cluster.workers_per_process > 1) { return; }
    for (uint32_t i = 0; i < agent->children.count; i++) {
        const struct task task = agent->children.list[i].task;
        const bool is_node = agent->children.list[i].server == NULL;
        if (!is_node || task.role != ROLE_WORKER || task.index < job->cluster.workers) { continue; }
        agent_want(agent, task, false);
    }
    for (uint32_t i = 0; i < job->cluster.workers; i++) {
        agent_want(agent, (struct task){.role = ROLE_WORKER, .index = i}, true);
    }
}

/* The list of children is that of the changed job. Memory of a ps is that of another shard. */
static void adopt(struct agent *agent)
{
    const uint32_t ps = agent->config->job->cluster.ps;
    for (uint32_t i = 0; i < agent->children.count; i++) {
        struct child *child = &agent->children.list[i];
        if (child->server != NULL || child->task.role != ROLE_PS) { continue; }
        children_drop_memory(child);
        if (child->task.index >= ps) { agent_want(agent, child->task, false); }
    }
    for (uint32_t i = 0; i < ps; i++) {
        agent_want(agent, (struct task){.role = ROLE_PS, .index = i}, true);
    }
    adopt_workers(agent);
    observer_change(agent->observer, ps, agent->config->job->cluster.workers, &agent->port,
                    agent->now_ms);
}

static void give_up(struct agent *agent, const char *text)
{
    job_change_refuse(&agent->change, TN_EUNHEALTHY, text, &agent->port);
    agent_notify(agent, AGENT_CHANGING, text);
}

/* While the answer of ZooKeeper is unknown, the change may have been made. */
static bool is_unknown(enum tn_status status)
{
    return status == TN_ECONNECT || status == TN_ETIMEDOUT || status == TN_EEXPIRED;
}

/* Once for each change. */
static void report_delay(struct agent *agent, const char *cause)
{
    char text[CHANGE_TEXT_MAX];
    if (agent->change.delay_reported) { return; }
    agent->change.delay_reported = true;
    (void)snprintf(text, sizeof text, "not changed yet, trying again: %.400s", cause);
    agent_notify(agent, AGENT_CHANGING, text);
}

static void apply(struct agent *agent)
{
    char text[CHANGE_TEXT_MAX];
    struct error error = {0};
    uint64_t generation = 0;
    const struct agent_config *config = agent->config;
    const enum tn_status status =
        config->apply_change(config->ctx, &agent->change.request, &generation, &error);
    agent->now_ms = clock_monotonic_ms();
    if (status == TN_OK) {
        adopt(agent);
        job_change_applied(&agent->change, generation, &agent->port);
        start_nodes(agent);
        return;
    }
    const bool repeats = status == TN_EEXIST || status == TN_EREFUSED;
    if (is_unknown(status) || (repeats && agent->now_ms < agent->change.give_up_ms)) {
        agent->change.retry_at_ms = agent->now_ms + CHANGE_RETRY_MS;
        report_delay(agent, error.text);
        return;
    }
    (void)snprintf(text, sizeof text, "not changed: %.400s", error.text);
    give_up(agent, text);
    start_nodes(agent);
}

bool agent_works(const struct agent *agent)
{
    const struct supervisor *supervisor = &agent->supervisor;
    return supervisor->phase == SUPERVISOR_WORKING ||
           (supervisor->phase == SUPERVISOR_DRAINING && supervisor->changes);
}

/* The agent leaves, because of a signal or the end of the job. */
static bool follow_end(struct agent *agent)
{
    if (agent_works(agent)) { return false; }
    /* With an attempt whose answer is unknown. */
    const bool is_open = agent->change.stage == JOB_CHANGE_APPLYING;
    give_up(agent, is_open ? "the agent of the run leaves before the change was confirmed"
                   : agent->result->job_ended ? "not changed: the run has ended meanwhile"
                                              : "not changed: the agent of the run leaves");
    return true;
}

void agent_change_tick(struct agent *agent)
{
    struct job_change *change = &agent->change;
    if (change->agent == 0 || !agent->connected) { return; }
    znode_watch_tick(&change->watch, &agent->port, &change->next_op, agent->now_ms);
    if (change->stage < JOB_CHANGE_STOPPING || change->stage > JOB_CHANGE_APPLYING) { return; }
    if (follow_end(agent)) { return; }
    if (change->stage == JOB_CHANGE_APPLYING && agent->now_ms >= change->retry_at_ms) {
        apply(agent);
    }
}

uint64_t agent_change_deadline_ms(const struct agent *agent)
{
    const struct job_change *change = &agent->change;
    if (change->agent == 0 || !agent->connected) { return UINT64_MAX; }
    if (change->stage == JOB_CHANGE_APPLYING) { return change->retry_at_ms; }
    return znode_watch_deadline_ms(&change->watch);
}
