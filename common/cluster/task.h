/* common/cluster/task.h: the tasks of a cluster by name, as in TensorFlow's ClusterSpec: "ps:1",
 * "worker:0". Pure. */
#ifndef COMMON_CLUSTER_TASK_H
#define COMMON_CLUSTER_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

enum role { ROLE_COORDINATOR, ROLE_PS, ROLE_WORKER, ROLE_EVALUATOR, ROLE_COUNT };

enum {
    COORDINATORS_MAX = 16,
    PS_MAX = 64,
    WORKERS_MAX = 128,
    EVALUATORS_MAX = 1,
    HOLDERS_MAX = WORKERS_MAX, /* Tasks that hold values: all ps, or without ps all workers. */
    TASKS_MAX = COORDINATORS_MAX + PS_MAX + WORKERS_MAX + EVALUATORS_MAX,
    TASK_NAME_MAX = 32,
};

/* The tasks that hold values in a cluster with this number of ps: the ps or, if there are none, the
 * workers. */
static inline enum role role_of_holders(uint32_t ps)
{
    return ps > 0 ? ROLE_PS : ROLE_WORKER;
}

struct task {
    enum role role;
    uint32_t index;
};

/* The number of tasks of each role in a cluster. */
struct task_counts {
    uint32_t of[ROLE_COUNT];
};

/* The tasks of all roles together. */
static inline uint32_t task_counts_sum(const struct task_counts *counts)
{
    uint32_t sum = 0;
    for (int role = 0; role < ROLE_COUNT; role++) { sum += counts->of[role]; }
    return sum;
}

/* "coordinator", "ps", "worker", "evaluator". Static storage. */
const char *role_name(enum role role);
/* False: `text` is not a name of a role; `*out` is unchanged. */
bool role_parse(const char *text, enum role *out);
/* Tasks of the role have indexes below this: PS_MAX, WORKERS_MAX, ... */
uint32_t role_limit(enum role role);

bool task_equal(struct task a, struct task b);
/* "ps:1" for display, "ps-1" for znodes. */
void task_format(struct task task, char separator, char *text, size_t size);
/* The tasks of one process: "ps:1", or with several "worker:0-15". */
void task_format_range(struct task first, uint32_t count, char separator, char *text, size_t size);
/* Reads either form of one task; false: it is neither, or the index is out of the role's bounds. */
bool task_parse(const char *text, struct task *out);
/* Append "ps:1" to a text. */
void task_append(struct text *text, struct task task);

#endif
