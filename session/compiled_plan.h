/*
 * session/compiled_plan.h: the compiled parts of a plan on one server, and their current run. A
 * part runs as soon as its edges have arrived and the parts before it are done. The next run
 * replaces a run that was cancelled.
 *
 * Threads: the owner's. A step blocks while a part computes. Knows no network.
 */
#ifndef SESSION_COMPILED_PLAN_H
#define SESSION_COMPILED_PLAN_H

#include "common/base/buffer.h"
#include "session/server_plan.h"

struct compiled_plan;

/*
 * Compile `plan`. Takes ownership of it, also if an error is returned. Its server is `server` and
 * has `floats` values of variables. `memory_max`: bytes that programs and edges may use, together.
 *
 *   TN_EINVAL  a part has a placeholder, an output or a variable that is not one of the plan's
 *   TN_ENOMEM  more than `memory_max`; the error has the numbers
 */
MUST_CHECK enum tn_status compiled_plan_create(struct server_plan *plan, uint32_t server,
                                               uint64_t floats, uint64_t memory_max,
                                               struct compiled_plan **out, struct error *error);
void compiled_plan_destroy(struct compiled_plan *compiled); /* NULL is allowed. */

/* The most memory that it uses, in bytes. */
uint64_t compiled_plan_bytes(const struct compiled_plan *compiled);

/* The size in bytes of the value that edge `number` brings to this server. 0: it brings none. */
uint64_t compiled_plan_expects(const struct compiled_plan *compiled, uint32_t number);

/* The value of an edge in `run`; takes a reference of its own. Values of earlier runs than the
 * last one are ignored. The size has been checked. */
void compiled_plan_put(struct compiled_plan *compiled, uint32_t number, uint64_t run,
                       struct buffer *value);

/* Begin a run; values of its edges may have arrived before. */
void compiled_plan_begin(struct compiled_plan *compiled, uint64_t run);

/* The function that sends the values of edges to other servers and to the client. `data` is valid
 * during the call. TN_ENOMEM. */
typedef enum tn_status (*plan_sink)(void *ctx, const struct server_plan_edge *edge,
                                    const void *data, struct error *error);

struct plan_step {
    const float *values; /* The values of the server's variables. */
    uint64_t version;    /* The version of these values, from 1. */
    struct buffer_pool *pool;
    plan_sink sink;
    void *ctx;
};

/* Run the parts that are ready. `*done`: the last part has just run. TN_ENOMEM; others as
 * tn_program_run(). */
MUST_CHECK enum tn_status compiled_plan_advance(struct compiled_plan *compiled,
                                                const struct plan_step *step, bool *done,
                                                struct error *error);

#endif
