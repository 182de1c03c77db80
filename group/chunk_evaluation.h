/*
 * group/chunk_evaluation.h: the part of an evaluation that one member of a group computes: the
 * examples of one chunk of the test set after the other, as the head orders them. The head takes
 * the results of a chunk when its members have sent them; then all members have computed it.
 *
 * Threads: the owner's. Nothing blocks; advancing computes.
 */
#ifndef GROUP_CHUNK_EVALUATION_H
#define GROUP_CHUNK_EVALUATION_H

#include "group/part_runner.h"

struct chunk_evaluation_config {
    const struct training_cut *cut; /* Outlive the evaluation. */
    const struct evaluation_cut *evaluation;
    uint32_t task;
    uint64_t examples; /* In the test set; at least 1. */
    uint32_t chunk;    /* Examples of a chunk; the last one has the rest. */
    const char *kernels;
    struct buffer_pool *pool;
    /* Fill a field of the model with the examples of a chunk, label->slice. */
    enum tn_status (*fill)(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error);
    /* Send the value of an edge to the member `to`; `value` is borrowed. */
    void (*send)(void *ctx, uint32_t to, const struct schedule_label *label, uint32_t edge,
                 struct buffer *value);
    void *ctx;
};

struct chunk_evaluation;

/* Errors as part_runner_create(). */
MUST_CHECK enum tn_status chunk_evaluation_create(const struct chunk_evaluation_config *config,
                                                  struct chunk_evaluation **out,
                                                  struct error *error);
void chunk_evaluation_destroy(struct chunk_evaluation *evaluation); /* NULL is allowed. */
/* Forget the order, and all that has arrived. */
void chunk_evaluation_reset(struct chunk_evaluation *evaluation);

/* The number of examples of a chunk; 0 after the last chunk. */
uint32_t chunk_evaluation_examples(const struct chunk_evaluation *evaluation, uint32_t chunk);

/* Compute the chunk label->slice from `values`, borrowed until it is done. False: another one is
 * being computed, or the others compute another one. */
bool chunk_evaluation_order(struct chunk_evaluation *evaluation, const struct schedule_label *label,
                            const float *values, uint64_t version);

/* As computation_expects() and computation_arrived(). */
uint64_t chunk_evaluation_expects(const struct chunk_evaluation *evaluation, uint32_t chunk,
                                  uint32_t edge);
bool chunk_evaluation_arrived(struct chunk_evaluation *evaluation,
                              const struct schedule_label *label, uint32_t edge,
                              struct buffer *value);

/* Compute what can be computed. `*done`: the chunk is done, just now. Errors as part_runner_run()
 * and of `fill`. */
MUST_CHECK enum tn_status chunk_evaluation_advance(struct chunk_evaluation *evaluation, bool *done,
                                                   struct error *error);
/* The values of a result of the chunk that is done, until the next order; at member 0. */
struct tn_view chunk_evaluation_result(const struct chunk_evaluation *evaluation,
                                       const struct cut_result *result);

#endif
