/* agent/agent_tasks.c: which tasks the agent has, and which of them run (S13). */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "agent/agent_private.h"
#include "common/base/log.h"

void agent_watch_kills(struct agent *agent)
{
    struct task tasks[TASKS_MAX];
    uint32_t count = 0;
    assert(agent->children.count <= SUPERVISOR_CHILDREN_MAX);
    if (!agent->config->allow_chaos) { return; }
    for (uint32_t i = 0; i < agent->children.count; i++) {
        const struct child *child = &agent->children.list[i];
        for (uint32_t place = 0; place < child->task_count; place++) {
            tasks[count++] = children_task(child, place);
        }
    }
    kill_requests_start(&agent->kill_requests, agent->config->job->name, tasks, count, OPS_KILLS,
                        &agent->port, agent->now_ms);
}

/* The supervisor and the children have one list: an index means the same child in both. */
static void add(struct agent *agent, struct task task)
{
    struct error error;
    if (children_add(&agent->children, task, &error) != TN_OK) {
        log_error("%s %u cannot run on this host: %s", role_name(task.role), task.index,
                  error.text);
        return;
    }
    const uint32_t index = supervisor_add(&agent->supervisor);
    assert(index + 1 == agent->children.count);
    supervisor_set_stage(&agent->supervisor, index, task.role);
    if (agent->config->allow_chaos && agent->observing) {
        kill_requests_add(&agent->kill_requests, agent->config->job->name, task, &agent->port,
                          agent->now_ms);
    }
}

void agent_want(struct agent *agent, struct task task, bool wanted)
{
    uint32_t index = children_find(&agent->children, task);
    if (index == agent->children.count && wanted) { add(agent, task); }
    if (index == agent->children.count) { return; }
    if (agent->supervisor.children[index].unwanted != wanted) { return; }
    if (!wanted) { spares_remove(&agent->spares, index); }
    agent_feed(agent, wanted ? SUPERVISOR_WANTED : SUPERVISOR_UNWANTED, index, 0, 0);
}

void agent_choose_workers(struct agent *agent, uint32_t workers)
{
    const uint32_t wanted = workers != 0 ? workers : job_workers_least(agent->config->job);
    for (uint32_t i = 0; i < agent->config->task_count; i++) {
        const struct task task = agent->config->tasks[i];
        if (task.role == ROLE_WORKER) { agent_want(agent, task, task.index < wanted); }
    }
}

void agent_check_folder(struct agent *agent)
{
    if (agent->status != TN_OK || access(agent->config->dir, F_OK) == 0 || errno != ENOENT) {
        return;
    }
    (void)error_set(&agent->error, TN_EIO,
                    "the folder %s was removed while it was in use: start the run again",
                    agent->config->dir);
    agent_give_up(agent, TN_EIO);
}
