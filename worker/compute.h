/*
 * worker/compute.h: the arithmetic of a worker: gradients of slices summed over the tree, the mean
 * loss of recent steps, evaluation, and the digest of all parameters.
 *
 * The sum of a node is a pure function of (seed, step, node, values): every worker computes the
 * same bits. Partial sums are in buffers of the pool, one for each level of the tree.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_COMPUTE_H
#define WORKER_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/job/job.h"
#include "data/dataset.h"
#include "data/read_ahead.h"
#include "kernels/kernels.h"
#include "model/training.h"
#include "worker/recent_losses.h"

enum {
    COMPUTE_LEVELS_MAX = 10, /* One more than the levels of the tree over SLICES_MAX slices. */
    /* The slices of a node are computed in one run if they have at most this number of examples
     * together, which stay in the caches. It needs one gradient, for any number of levels of the
     * tree. */
    COMPUTE_JOINED_EXAMPLES = 512,
    /* The least work of a step for each thread, if their number is not given: some 40 us. */
    COMPUTE_THREAD_FLOPS = 4000000,
    /* Threads with less, some 0.3 ms, may lose more by waiting for each other than they gain if
     * processors are busy. */
    COMPUTE_SMALL_FLOPS = 32000000,
    /* The GPUs of a worker, and the CPU. */
    COMPUTE_PLACES_MAX = JOB_GPUS_MAX + 1,
};

/* All pointers outlive the compute. `test` may be NULL: evaluations then have a digest only. */
struct compute_config {
    const struct job *job;
    const struct model *model;
    const char *programs;          /* The kernels of programs, as in struct tn_program_options. */
    const struct kernels *kernels; /* For the sums of slices. */
    const struct dataset *train, *test;
    struct buffer_pool *pool;
    /* The rows of the model's tables, at the step of the values; NULL: it has none. */
    const struct row_source *rows;
    /* With the programs "cuda" or "cublas": the number of GPUs that compute a node together, 0 or
     * 1: one; the first of them, and the number of this compute among them (worker/compute_team.h).
     * A model that names GPUs uses `train.gpus` of them for each slice (worker/compute_gpus.h). */
    uint32_t gpus, first_gpu, member;
    /* With other programs: the threads of the CPU that compute a node together, 0 or 1: one.
     * `fewer_threads`: less of them where each would have too little to do. */
    uint32_t threads;
    bool fewer_threads;
    /* The reader of the first member of a team; NULL: this compute opens its own. */
    struct read_ahead *reader;
    /* No gradients are computed, so they need no memory. */
    bool evaluates_only;
    /* The run's folder, for what evaluations give besides loss and accuracy:
     * worker/evaluation_details.h. NULL: nothing is written. */
    const char *details;
};

/* Called while the sum of a node is computed, each time with a smaller `first`, the last time with
 * 0: the elements [first, end) are final, and compute_node_loss() is. */
struct compute_watch {
    void (*became_final)(void *user, uint64_t first, uint64_t end);
    void *user;
};

/* The loss of one slice. */
struct compute_loss {
    double loss_sum;
    uint32_t examples;
};

struct compute_team;

struct compute {
    struct compute_config config;
    const char *all_programs; /* As they were given; `config` has those of its own GPU. */
    const char *placed[COMPUTE_PLACES_MAX]; /* Where operations are divided among GPUs. */
    struct compute_team *team;              /* NULL: one GPU or thread. */
    /* The first member of the team computes sums without the others, with the same bits. The owner
     * may change it between two sums. */
    bool alone;
    struct compute_loss *losses_of_slices; /* Where they are written; NULL: to `recent`. */
    uint64_t parameters;
    uint64_t version; /* Version of the values, for programs. */
    uint32_t slice_examples;
    struct training *training;
    struct read_ahead *reader;
    struct buffer *levels[COMPUTE_LEVELS_MAX]; /* Partial sums; NULL until needed. */
    double losses[COMPUTE_LEVELS_MAX];         /* The sums of the losses of the same examples. */
    struct row_sums rows[COMPUTE_LEVELS_MAX];  /* The sums of rows of tables; none until needed. */
    struct row_sums spare_rows;
    /* The node that is computed: its values and step; its sum, which is level 0; the level of its
     * last slice, and the run of that slice; the elements from `final_from` on are final. */
    const float *values;
    uint64_t step;
    float *sum;
    /* Or else the sum is in the memory of the GPU: vector `vector` of `sums`, and that of level d
     * is d behind it (worker/compute_team.h). */
    struct device_sums *sums;
    uint32_t vector;
    uint32_t end_slice; /* Behind the last one. */
    uint32_t last_depth;
    const struct slice_run *last;
    uint64_t final_from;
    const struct compute_watch *watch; /* Or NULL. */
    /* The slice that may be read while a GPU computes the one before it, and whether it was. */
    uint32_t next_slice, next_count;
    bool has_next;
    bool has_gradient;    /* `sum` is complete, and none was reset by compute_reset(). */
    double target_spread; /* Regression: squared deviations of the test targets from their mean. */
    struct recent_losses recent;
};

/* The largest number of examples in a slice. */
uint32_t compute_slice_examples(const struct job *job);

/* Whether the slices of a node are computed in one run, if the model's operations can; `*examples`:
 * of each slice. Gradients of table rows are summed slice by slice. Pure. */
bool compute_joins(const struct job *job, const struct variable_table *variables,
                   struct slice_node node, uint32_t *examples);

/* Whether the data have what a model reads, given as the fields of one of its programs.
 * TN_EINVAL names the field and the remedy. */
MUST_CHECK enum tn_status compute_check_fields(const struct fields *fields,
                                               const struct dataset *train, struct error *error);

/* TN_EINVAL: the model reads a field that the data do not have. Other errors as training_open().
 * After a failure nothing is owned. */
MUST_CHECK enum tn_status compute_open(struct compute *compute, const struct compute_config *config,
                                       struct error *error);
void compute_close(struct compute *compute); /* A zeroed one is allowed. */

/* Write the sum of the gradients of the slices of `node` at `step` to `sum`: `parameters` floats,
 * which stay until the next call, multiplied by 1/batch; in async mode the norm of each is limited.
 * `watch` may be NULL. TN_ENOMEM, or TN_EINVAL as training_gradient(). Adds to
 * compute_train_loss(). */
MUST_CHECK enum tn_status compute_node_into(struct compute *compute, const float *values,
                                            uint64_t step, struct slice_node node, float *sum,
                                            const struct compute_watch *watch, struct error *error);

/* For worker/compute_team.c: compute_node_into() for the values and the step that are set, with no
 * watch; with `sums`, the sum is in the memory of the GPU, and `sum` is NULL. */
MUST_CHECK enum tn_status compute_part(struct compute *compute, struct slice_node node, float *sum,
                                       struct error *error);

/* As compute_node_into(), to memory of its own, valid until the next call. NULL: an error. */
const float *compute_node(struct compute *compute, const float *values, uint64_t step,
                          struct slice_node node, struct error *error);

/* The sum of the losses of the examples of the last node, in the order of the tree: it
 * has the same bits however slices are assigned. */
double compute_node_loss(const struct compute *compute);

/* The gradients of rows of tables of the last node, until the next call. The model has tables. */
const struct row_sums *compute_node_rows(const struct compute *compute);

/* Move these gradients to `out`, whose memory is used for the next node. It is zeroed, or was taken
 * before. */
void compute_take_node_rows(struct compute *compute, struct row_sums *out);

/* Name the rows of tables that these slices of `step` read, or those of the test set: they must be
 * in `config.rows` before they are computed or evaluated. Errors of the data and of the sink. */
MUST_CHECK enum tn_status compute_list_slices(struct compute *compute, uint64_t step,
                                              const struct slice_set *slices,
                                              const struct row_sink *sink, struct error *error);
MUST_CHECK enum tn_status compute_list_test(struct compute *compute, const struct row_sink *sink,
                                            struct error *error);
/* For worker/compute_team.c: read the examples of a slice into the reader. An error is found again
 * when it is listed. */
void compute_read_keys(struct compute *compute, uint64_t step, uint32_t slice);
/* The rows that the first `examples` of a test set read, `chunk` at a time: the training has
 * evaluations of this size, and of the size of the last part. */
MUST_CHECK enum tn_status compute_list_examples(struct training *training,
                                                const struct dataset *test, uint64_t examples,
                                                uint32_t chunk, const struct row_sink *sink,
                                                struct error *error);

/* The mean loss of this worker's examples in the RECENT_LOSSES_STEPS steps up to `step`; NAN:
 * there are none. compute_reset() removes them. */
double compute_train_loss(const struct compute *compute, uint64_t step);
/* Another generation begins: forget recent losses and the gradient of the last node. */
void compute_reset(struct compute *compute);

/* The examples of the test set in slices, rounded up: the number that an evaluation computes,
 * forward only.
 */
uint64_t compute_evaluation_slices(const struct compute *compute);

/* Loss and accuracy of `averages` on the test set (NAN without one, or where a value is not
 * finite), the training loss, and the digest of `values`. Both are those of `step`; without a
 * moving average they are the same. For a regression, the accuracy is R squared. Takes some ten
 * milliseconds. Details are those of the same examples; their gradients are of the last
 * compute_node(). `failure` (NULL: not asked for) is TN_OK or TN_EDEVICE: the device failed, and
 * the process is to end. */
struct evaluation compute_evaluate(const struct compute *compute, const float *values,
                                   const float *averages, uint64_t step, struct error *failure);

#endif
