/*
 * group/computation.h: the gradient of a node of slices (rule A5), as far as one member of a group
 * computes it: the sum of the gradients of the variables that lie on this member, and the sum of
 * the losses, in the order of the tree. All members of a group carry out the same orders
 * (group/schedule.h) and send each other what they read. The sums have the bits of those of a
 * worker that has the whole model (compute_node_into() in worker/compute.h).
 *
 * Threads: the owner's. Nothing blocks; advancing computes.
 */
#ifndef GROUP_COMPUTATION_H
#define GROUP_COMPUTATION_H

#include "group/part_runner.h"

enum { COMPUTATION_LEVELS_MAX = 10 /* As COMPUTE_LEVELS_MAX. */ };

struct computation_config {
    const struct training_cut *cut; /* Outlives the computation. */
    uint32_t task;
    uint32_t slices, batch; /* Each slice has examples: batch >= slices. */
    uint64_t seed;
    const char *kernels;      /* As in struct tn_program_options. */
    struct buffer_pool *pool; /* Outlives the computation. */
    /* Fill a field of the model with the examples of a slice. */
    enum tn_status (*fill)(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error);
    /* Send the value of an edge to the member `to`; `value` is borrowed. */
    void (*send)(void *ctx, uint32_t to, const struct schedule_label *label, uint32_t edge,
                 struct buffer *value);
    void *ctx;
};

struct computation;

/* Errors as part_runner_create(). */
MUST_CHECK enum tn_status computation_create(const struct computation_config *config,
                                             struct computation **out, struct error *error);
void computation_destroy(struct computation *computation); /* NULL is allowed. */

/* Forget the order, and all that has arrived. */
void computation_reset(struct computation *computation);

/* An order to compute the slices `node` of a step. */
struct computation_order {
    uint64_t generation, step;
    struct slice_node node;
    const float *values; /* The task's `cut->floats[task]`. Borrowed until the order is over. */
    uint64_t version;    /* As in struct tn_run. */
    float *sum;          /* Out: as many floats. */
};

/* False: another order is being carried out, or the other members carry out another one: they, or
 * the sender of the order, are faulty. */
bool computation_order(struct computation *computation, const struct computation_order *order);
/* Whether there is no order, or it has been carried out. */
bool computation_is_idle(const struct computation *computation);

/* The size of what an edge brings to this member for a slice. 0: it brings nothing. */
uint64_t computation_expects(const struct computation *computation, uint32_t slice, uint32_t edge);
/* Something of this size has arrived; the computation takes a reference of its own. False: it is
 * not for the present slice or the next one; the sender is faulty. */
bool computation_arrived(struct computation *computation, const struct schedule_label *label,
                         uint32_t edge, struct buffer *value);

/* Compute what can be computed. `*done`: the order has been carried out, just now: `sum` is
 * complete, and computation_loss() is its loss. Errors as part_runner_run() and of `fill`. */
MUST_CHECK enum tn_status computation_advance(struct computation *computation, bool *done,
                                              struct error *error);
double computation_loss(const struct computation *computation);

#endif
