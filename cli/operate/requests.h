/*
 * cli/operate/requests.h: a request of an operator to the chief, and the wait for its effect. Used
 * by the commands that consist of one.
 *
 * Threads: the main thread. Blocking: operation_request(), on ZooKeeper.
 */
#ifndef CLI_OPERATE_REQUESTS_H
#define CLI_OPERATE_REQUESTS_H

#include "cli/target.h"
#include "common/cluster/requests.h"

enum { OPERATION_EFFECT_S = 60 }; /* How long to wait for the effect, by default. */

/* The state by which the effect of a request is recognised. */
struct operation_state {
    struct run run;
    uint64_t epoch;    /* Epoch of the chief record; 0: no coordinator has been chief yet. */
    struct task chief; /* Unless `epoch` is 0: its task. */
};

/* The states between which a request had its effect. */
struct operation_result {
    struct operation_state before, now;
};

struct operation {
    const char *name, *about;
    enum request_kind kind;
    uint64_t number; /* Request.step. */
    /* Whether the cluster can do it; NULL: each can. */
    enum tn_status (*check)(const struct operation *operation, const struct spec *spec,
                            struct error *error);
    bool (*has_effect)(const struct operation *operation, const struct operation_state *before,
                       const struct operation_state *now);
    const char *done; /* Printed then. */
};

/*
 * Send the request, unless its effect is already there, and wait for it. `*result` is set on
 * success.
 *
 *   TN_EUNHEALTHY  the run has ended, or the effect did not come within `timeout_ms`; in the latter
 *                  case the error names whether the request was withdrawn
 *   others         those of target_open(), zk_sync and `check`
 */
MUST_CHECK enum tn_status operation_request(const struct operation *operation,
                                            struct target *target, uint64_t timeout_ms,
                                            struct operation_result *result, struct error *error);

#endif
