/*
 * chaos/plan/plan.h: what a campaign does: a small language in JSON (docs/chaos.md), plans that are
 * built in (chaos/plan/builtin/NAME.json), and the schedule that a plan, a seed and a round come
 * to. Pure but for plan_read().
 */
#ifndef CHAOS_PLAN_PLAN_H
#define CHAOS_PLAN_PLAN_H

#include <jansson.h>

#include "chaos/plan/fault.h"
#include "common/cluster/job.h"

enum { PLAN_NAME_MAX = 48, PLAN_TEXT_MAX = 240, PLAN_FAULTS_MAX = 128, PLAN_SETS_MAX = 16 };

enum { PLAN_WHOM_MAX = 16 };

/* One line of "faults": which fault, whom, when, how long, how often. Ranges are drawn from, both
 * ends included. */
struct plan_fault {
    enum fault fault;
    bool always; /* Not drawn. */
    uint32_t whom_count;
    char whom[PLAN_WHOM_MAX][WHOM_MAX]; /* One of them is drawn each time. "ps": any of them. */
    struct trigger trigger;             /* Its type, phase, point. */
    double progress[2];                 /* TRIGGER_STEP: share of the job's steps. */
    double after_s[2]; /* TRIGGER_TIME, TRIGGER_POINT: the first; and each following after */
    double every_s[2]; /* ... that long; 0: each is drawn from `after_s`. */
    uint32_t count[2]; /* Of the trigger: which pass. */
    double for_s[2];   /* How long; or, if for_sessions is set, in session timeouts. */
    bool for_sessions;
    double value[2];
    uint32_t times[2]; /* How often a round; 0: until the plan's `seconds` are over. */
};

struct plan {
    char name[PLAN_NAME_MAX], about[PLAN_TEXT_MAX];
    uint32_t set_count;
    char sets[PLAN_SETS_MAX]
             [96];  /* "zookeeper.session_timeout_ms=1000": for the job; --set goes before. */
    double seconds; /* No fault after that long; 0: no such bound. */
    double recover_within_s; /* Bound on each recovery. */
    uint32_t fault_count;
    struct plan_fault faults[PLAN_FAULTS_MAX];
    uint32_t draw; /* 0: every line; N: those that are `always` done, and N faults of lines drawn at
                      random. */
    json_t *json;  /* As it was read. Owned. */
};

/* `json` is borrowed, and kept by a reference of the plan's own. TN_EINVAL: the field, its value
 * and what is wanted; `*out` then needs no plan_free(). */
MUST_CHECK enum tn_status plan_from_json(json_t *json, struct plan *out, struct error *error);
/* A path, or the name of one that is built in. TN_ENOENT: neither (names those that are near);
 * TN_EIO. */
MUST_CHECK enum tn_status plan_read(const char *file_or_name, struct plan *out,
                                    struct error *error);
void plan_free(struct plan *plan);

/* Names of those built in, and their text. NULL after the last. */
const char *plan_builtin_name(uint32_t index);
const char *plan_builtin_text(const char *name);

/* What a schedule depends on of a job. */
struct cluster_shape {
    uint32_t coordinators, ps, workers, servers;
    uint64_t steps;
    uint64_t session_timeout_ms;
};
struct cluster_shape cluster_shape_of(const struct job *job);

/*
 * The faults of a round: a function of its arguments alone. Ordered by the kind of trigger (time,
 * step, phase, point) and, within it, by when they are due. Free with schedule_free().
 *
 *   TN_EINVAL  the plan strikes whom the cluster has not ("ps:7"), or comes to more than
 *              INJECTIONS_MAX faults
 */
MUST_CHECK enum tn_status schedule_draw(const struct plan *plan, uint64_t seed, uint32_t round,
                                        const struct cluster_shape *shape, struct schedule *out,
                                        struct error *error);

#endif
