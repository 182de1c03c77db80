/*
 * chaos/plan/plan.h: what a campaign does. A plan is JSON (docs/chaos.md); some are built in
 * (chaos/plan/builtin/NAME.json). A plan, a seed and the number of a round make a schedule. Pure
 * but for plan_read().
 */
#ifndef CHAOS_PLAN_PLAN_H
#define CHAOS_PLAN_PLAN_H

#include <jansson.h>

#include "chaos/plan/fault.h"
#include "common/job/job.h"

enum {
    PLAN_NAME_MAX = 48,
    PLAN_TEXT_MAX = 240,
    PLAN_FAULTS_MAX = 128,
    PLAN_SETS_MAX = 16,
    PLAN_SET_MAX = 96,
    PLAN_SELECTORS_MAX = 16,
};

/* One line of "faults". Ranges include both ends; a value is drawn from them for each fault. */
struct plan_fault {
    enum fault fault;
    bool always; /* In a plan that draws, this line is used, not drawn. */
    uint32_t selector_count;
    char selectors[PLAN_SELECTORS_MAX][SELECTOR_MAX]; /* One of them is drawn for each fault. */
    struct trigger trigger;                           /* Its type, phase and failpoint. */
    double progress[2];                               /* TRIGGER_STEP: share of the job's steps. */
    double after_s[2]; /* TRIGGER_TIME, TRIGGER_FAILPOINT: when the first fault is due. */
    double every_s[2]; /* From each fault to the next; 0: each is drawn from `after_s`. */
    uint32_t count[2]; /* The trigger's. */
    double for_s[2];   /* The duration, in session timeouts if `for_sessions` is set. */
    bool for_sessions;
    double value[2];
    uint32_t times[2]; /* Faults per round; 0: until the plan's `seconds` are over. */
};

struct plan {
    char name[PLAN_NAME_MAX], about[PLAN_TEXT_MAX];
    uint32_t set_count;
    char sets[PLAN_SETS_MAX][PLAN_SET_MAX]; /* Settings of the job: "train.steps=500". */
    double seconds;                         /* No fault is due later; 0: no bound. */
    double recover_within_s;                /* Bound on each recovery. */
    uint32_t fault_count;
    struct plan_fault faults[PLAN_FAULTS_MAX];
    uint32_t draw; /* 0: all lines are used; N: N single faults are drawn from them. */
    json_t *json;  /* As it was read. Owned. */
};

/* Keeps a reference to `json`. TN_EINVAL: the error has the field, its value and a remedy; `*out`
 * then needs no plan_free(). */
MUST_CHECK enum tn_status plan_from_json(json_t *json, struct plan *out, struct error *error);
/* A path, or the name of a plan that is built in. TN_ENOENT: it is neither; the error names a
 * similar one. TN_EIO. */
MUST_CHECK enum tn_status plan_read(const char *file_or_name, struct plan *out,
                                    struct error *error);
void plan_free(struct plan *plan);

/* The names of built-in plans, NULL after the last, and their text, NULL for an unknown name. */
const char *plan_builtin_name(uint32_t index);
const char *plan_builtin_text(const char *name);

/* The parts of a job that a schedule depends on. */
struct cluster_shape {
    uint32_t coordinators, ps, workers, evaluators, servers;
    uint64_t steps;
    uint64_t session_timeout_ms;
    bool worker_gpus, ps_gpus; /* The workers, or the ps, compute on GPUs. */
};
struct cluster_shape cluster_shape_of(const struct job *job);

/* Whether the cluster has a target for each selector of the plan, and GPUs for faults of GPUs.
 * TN_EINVAL: it has not; the error names the line. */
MUST_CHECK enum tn_status schedule_check(const struct plan *plan, const struct cluster_shape *shape,
                                         struct error *error);

/*
 * The faults of a round, a function of the arguments alone: ordered by type of trigger, then by
 * when they are due. Free with schedule_free().
 *
 *   TN_EINVAL  the plan selects a target that the cluster does not have ("ps:7"), or makes more
 *              than INJECTIONS_MAX faults
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status schedule_draw(const struct plan *plan, uint64_t seed, uint32_t round,
                                        const struct cluster_shape *shape, struct schedule *out,
                                        struct error *error);

#endif
