#include "agent/processors.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "agent/binding.h"

enum { STAT_BYTES = 1024, STAT_PROCESSOR = 39 };

static bool trains(const struct children *children, const struct child *child)
{
    const struct job *job = children->config->job;
    const struct task task = child->task;
    if (child->server != NULL) { return false; }
    /* A former form of the job may have had more. */
    return (task.role == ROLE_PS && task.index < job->cluster.ps) ||
           (task.role == ROLE_WORKER && task.index < job->cluster.workers);
}

/* The nodes of this host that train together, and how many with the role of `child` precede it. */
static uint32_t count_nodes(const struct children *children, const struct child *child,
                            struct binding_nodes *nodes)
{
    uint32_t before = 0;
    *nodes = (struct binding_nodes){.threads = job_worker_threads(children->config->job)};
    for (uint32_t i = 0; i < children->count; i++) {
        const struct child *other = &children->list[i];
        if (!trains(children, other)) { continue; }
        before += other < child && other->task.role == child->task.role;
        nodes->workers += other->task.role == ROLE_WORKER;
        nodes->ps += other->task.role == ROLE_PS;
    }
    return before;
}

/* The first processor of a node and their number, if all nodes have some; see agent/binding.h. */
static bool find_processor(const struct children *children, const struct child *child,
                           const cpu_set_t *own, size_t *first, uint32_t *count)
{
    struct binding_nodes nodes;
    const uint32_t before = count_nodes(children, child, &nodes);
    int left = binding_of(&nodes, (uint32_t)CPU_COUNT(own), child->task.role, before);
    if (left == BINDING_NONE) { return false; }
    *first = 0;
    while (!CPU_ISSET(*first, own) || left-- > 0) { ++*first; }
    *count = child->task.role == ROLE_WORKER ? nodes.threads : 1;
    return true;
}

/* The processors of the agent. False: its nodes run where Linux lets them run. */
static bool may_choose(const struct children *children, cpu_set_t *own)
{
    const struct job *job = children->config->job;
    if (job->cluster.workers_least != 0) { return false; }
    if (job->cluster.workers_per_process > 1) { return false; /* It needs all processors. */ }
    return sched_getaffinity(0, sizeof *own, own) == 0;
}

const cpu_set_t *processors_of(const struct children *children, const struct child *child,
                               cpu_set_t *out)
{
    cpu_set_t own;
    size_t processor;
    uint32_t count;
    if (!children->config->job->cluster.bind || !may_choose(children, &own)) { return NULL; }
    if (!find_processor(children, child, &own, &processor, &count)) { return NULL; }
    CPU_ZERO(out);
    for (; count > 0; processor++) {
        if (!CPU_ISSET(processor, &own)) { continue; }
        CPU_SET(processor, out);
        count--;
    }
    return out;
}

/* proc_pid_stat(5). -1: unknown, or the process is bound to others than `own`. */
static int last_processor(pid_t pid, const cpu_set_t *own)
{
    cpu_set_t allowed;
    if (sched_getaffinity(pid, sizeof allowed, &allowed) != 0) { return -1; }
    if (!CPU_EQUAL(&allowed, own)) { return -1; }
    char path[64], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) { return -1; }
    const size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    /* The second field is a name in brackets, which may contain anything. */
    const char *field = strrchr(text, ')');
    for (int number = 2; field != NULL && number < STAT_PROCESSOR; number++) {
        field = strchr(field + 1, ' ');
    }
    int processor;
    return field != NULL && sscanf(field, "%d", &processor) == 1 ? processor : -1;
}

/* Whether all nodes with this role run, but not on all processors of `own` that they could use. */
static bool is_uneven(const struct children *children, enum role role, const cpu_set_t *own)
{
    uint32_t on[CPU_SETSIZE] = {0}, nodes[CPU_SETSIZE], processors = 0, count;
    size_t wanted;
    for (uint32_t i = 0; i < children->count; i++) {
        const struct child *child = &children->list[i];
        if (!trains(children, child) || child->task.role != role) { continue; }
        if (!find_processor(children, child, own, &wanted, &count)) { return false; }
        const pid_t pid = child->process.pid;
        const int processor = pid != 0 ? last_processor(pid, own) : -1;
        if (processor < 0 || processor >= CPU_SETSIZE) { return false; }
        on[processor]++;
    }
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, own)) { nodes[processors++] = on[i]; }
    }
    return binding_is_uneven(nodes, processors);
}

static void move_apart(const struct children *children, enum role role, const cpu_set_t *own)
{
    for (uint32_t i = 0; i < children->count; i++) {
        const struct child *child = &children->list[i];
        size_t processor;
        uint32_t count;
        if (!trains(children, child) || child->task.role != role) { continue; }
        if (!find_processor(children, child, own, &processor, &count)) { return; }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        (void)sched_setaffinity(child->process.pid, sizeof one, &one);
        (void)sched_setaffinity(child->process.pid, sizeof *own, own);
    }
}

void processors_spread(const struct children *children)
{
    static const enum role roles[] = {ROLE_WORKER, ROLE_PS};
    cpu_set_t own;
    const struct job *job = children->config->job;
    if (job->cluster.bind || job_worker_threads(job) > 1 || !may_choose(children, &own)) { return; }
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (is_uneven(children, roles[i], &own)) { move_apart(children, roles[i], &own); }
    }
}
