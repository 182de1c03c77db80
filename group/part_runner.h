/*
 * group/part_runner.h: the parts of a member (graph/training_cut.h) as programs, and what they read
 * and compute of up to SCHEDULE_SLOTS slices.
 *
 * A part reads the examples of its slice, values that earlier parts of this member computed, and
 * *arrivals*: edges from other members. It knows no network and no order of slices; see
 * group/schedule.h.
 *
 * Threads: the owner's. Nothing blocks; a run computes. All programs exist before the first run.
 */
#ifndef GROUP_PART_RUNNER_H
#define GROUP_PART_RUNNER_H

#include "common/base/buffer.h"
#include "graph/evaluation_cut.h"
#include "group/schedule.h"
#include "tanist/program.h"

enum { PART_RUNNER_SIZES = 2 };

struct part_runner_config {
    const struct training_cut *cut;          /* Outlives the runner, and so does: */
    const struct evaluation_cut *evaluation; /* The parts of an evaluation; NULL: of training. */
    uint32_t task;
    uint32_t sizes[PART_RUNNER_SIZES]; /* Numbers of examples of slices; 0: none. */
    const char *kernels;               /* As in struct tn_program_options. */
    struct buffer_pool *pool;          /* For values between parts. Outlives it. */
};

/* An edge from another member. */
struct part_arrival {
    uint32_t edge;   /* In the partition. */
    uint32_t reader; /* The first part of this member that reads it; its number of parts: none. */
};

struct part_runner;

/*
 *   TN_EINVAL  the task has no part of the training; the text names it
 *   TN_ENOMEM  out of memory; others as tn_program_create()
 */
MUST_CHECK enum tn_status part_runner_create(const struct part_runner_config *config,
                                             struct part_runner **out, struct error *error);
void part_runner_destroy(struct part_runner *runner); /* NULL is allowed. */

uint32_t part_runner_parts(const struct part_runner *runner);
/* Begin the schedule of the parts and arrivals. The runner has one, and outlives it. */
void part_runner_schedule(struct part_runner *runner, struct slice_schedule *schedule);
/* In ascending order of readers. */
const struct part_arrival *part_runner_arrivals(const struct part_runner *runner, uint32_t *count);
/* The number of the arrival that is `edge`. False: it does not come here from another member. */
bool part_runner_find(const struct part_runner *runner, uint32_t edge, uint32_t *arrival);
/* The size of the value of an edge for this number of examples. */
uint64_t part_runner_bytes(const struct part_runner *runner, uint32_t edge, uint32_t examples);

/* Keep the value of an arrival in a slot; takes a reference of its own. Its size is right. */
void part_runner_put(struct part_runner *runner, uint32_t slot, uint32_t arrival,
                     struct buffer *value);
/* Forget all values of a slot. */
void part_runner_clear(struct part_runner *runner, uint32_t slot);

/* Fill a field of the model with the examples of the slice: one of the sizes. */
typedef enum tn_status (*part_fill)(void *ctx, const char *field, struct tn_view view,
                                    struct error *error);
/* Take the value of an edge to the member `to`; `value` is borrowed. */
typedef enum tn_status (*part_send)(void *ctx, uint32_t to, uint32_t edge, struct buffer *value,
                                    struct error *error);

struct part_run {
    uint32_t examples;   /* One of the sizes. */
    const float *values; /* The values of the task's variables. */
    uint64_t version;    /* As in struct tn_run. */
    uint64_t seed, step, first;
    float scale;
    part_fill fill;
    part_send send;
    void *ctx;
};

/* Run a part of the slice in a slot, whose earlier parts have run and whose arrivals are complete.
 * Errors of the callbacks and of tn_program_run(); TN_ENOMEM. */
MUST_CHECK enum tn_status part_runner_run(struct part_runner *runner, uint32_t slot, uint32_t part,
                                          const struct part_run *run, struct error *error);

/* The results of a slice whose parts have all run and whose arrivals are complete: the gradient of
 * the task's variables, in the order of their values, and the sum of the losses of the examples. */
void part_runner_gradient(const struct part_runner *runner, uint32_t slot, float *gradient);
double part_runner_loss(const struct part_runner *runner, uint32_t slot, uint32_t examples);

/* The value of an edge that ends here, in the same state of the slice. Borrowed. */
const struct buffer *part_runner_value(const struct part_runner *runner, uint32_t slot,
                                       uint32_t edge);

#endif
