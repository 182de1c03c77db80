/*
 * Evaluations (G6, W7). The head orders one chunk of the test set after the other; all members
 * compute their parts of it, and the head adds up the results (group_results.c). After the last
 * chunk it computes the digest of all values (group_digest.c).
 */
#include <assert.h>
#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/time_spent.h"
#include "common/faults/failpoint.h"
#include "group/group_private.h"
#include "worker/compute.h"

/* -------------------------------------------------------------------- chunks */

static struct schedule_label chunk_label(const struct group_worker *worker)
{
    const struct group_evaluating *evaluating = &worker->evaluating;
    return (struct schedule_label){evaluating->label.generation, evaluating->label.step,
                                   evaluating->chunk};
}

/* Compute what can be computed. `*done`: the chunk is done. */
static void advance(struct group_worker *worker, bool *done)
{
    const enum tn_status status = chunk_evaluation_advance(worker->evaluator, done, &worker->error);
    if (status != TN_OK) { group_failed(worker, status); }
}

/* Why a chunk cannot be computed, or NULL. */
static const char *begin_chunk(struct group_worker *worker, const struct schedule_label *label,
                               bool *done)
{
    *done = false;
    if (worker->evaluator == NULL || !group_has_values_of(worker, label)) {
        return "an evaluation was ordered of values that this member does not have";
    }
    if (!chunk_evaluation_order(worker->evaluator, label, worker->current->data,
                                worker->labels.version)) {
        return "a chunk that is to be evaluated is not the next one";
    }
    advance(worker, done);
    return NULL;
}

/* Order the next chunk; the digest, after the last one. */
static void next_chunk(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    bool done = true;
    while (done && !worker->finished) {
        const struct schedule_label label = chunk_label(worker);
        const struct member_frame message = {.kind = MEMBER_FRAME_EVALUATE, .label = label};
        if (worker->evaluator == NULL ||
            chunk_evaluation_examples(worker->evaluator, evaluating->chunk) == 0) {
            group_digest_continue(worker);
            return;
        }
        for (uint32_t m = 1; m < worker->members; m++) {
            member_send(worker->member, m, message, NULL);
        }
        const char *fault = begin_chunk(worker, &label, &done);
        if (fault != NULL) {
            member_fail(worker->member, fault);
            return;
        }
        if (!done) { return; }
        const enum tn_status status = group_results_add(worker);
        if (status != TN_OK) { group_failed(worker, status); }
        evaluating->chunk++;
    }
}

static const char *result_arrived(struct group_worker *worker, const struct member_frame *message,
                                  struct buffer *body)
{
    bool done;
    if (!chunk_evaluation_arrived(worker->evaluator, &message->label, message->number, body)) {
        return "a result is not of the present chunk";
    }
    advance(worker, &done);
    if (!done || !group_is_head(worker) || !worker->evaluating.is_active) { return NULL; }
    const enum tn_status status = group_results_add(worker);
    if (status != TN_OK) { group_failed(worker, status); }
    worker->evaluating.chunk++;
    if (!worker->finished) { next_chunk(worker); }
    return NULL;
}

/* ---------------------------------------------------------------------- the end */

bool group_evaluate_is_over(const struct group_worker *worker)
{
    return worker->evaluating.is_active && group_digest_is_complete(worker);
}

void group_evaluate_end(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    assert(group_evaluate_is_over(worker));
    evaluating->is_active = false;
    /* The result of a generation that was given up is of no use. */
    if (evaluating->label.generation == worker->core.generation) {
        group_results_end(worker);
        log_info("evaluated step %" PRIu64 ": test_loss=%.4f accuracy=%.4f training_loss=%.4f",
                 worker->evaluation.step, worker->evaluation.loss, worker->evaluation.accuracy,
                 worker->evaluation.train_loss);
    }
    evaluation_details_close(&evaluating->details);
    evaluating->details = (struct evaluation_details){.failed = false};
    time_spent_add(TIME_EVALUATE, evaluating->begun_ns);
    FAILPOINT("worker.evaluated");
}

/* ------------------------------------------------------------------- dispatch */

void group_evaluate_begin(struct group_worker *worker, const struct loop_action *action)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    assert(!evaluating->is_active);
    *evaluating = (struct group_evaluating){
        .is_active = true,
        .label = {action->generation, action->step},
        .begun_ns = clock_monotonic_ns(),
    };
    digest_begin(&evaluating->digest);
    next_chunk(worker);
}

uint64_t group_evaluate_expects(void *ctx, uint32_t peer, const struct member_frame *message)
{
    const struct group_worker *worker = ctx;
    (void)peer;
    if (worker->evaluator == NULL || message->kind != MEMBER_FRAME_RESULT) { return 0; }
    return chunk_evaluation_expects(worker->evaluator, message->label.slice, message->number);
}

const char *group_evaluate_message(struct group_worker *worker, const struct member_frame *message,
                                   struct buffer *body)
{
    bool done;
    switch (message->kind) {
    case MEMBER_FRAME_EVALUATE: return begin_chunk(worker, &message->label, &done);
    case MEMBER_FRAME_RESULT: return result_arrived(worker, message, body);
    case MEMBER_FRAME_READ: return group_digest_read(worker, message);
    case MEMBER_FRAME_FLOATS: return group_digest_floats(worker, message, body);
    default: return "a group with ps does not use this message";
    }
}

/* -------------------------------------------------------------------- opening */

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    const struct group_worker *worker = ctx;
    const uint64_t chunk = compute_slice_examples(worker->config.job);
    return group_examples_test(&worker->examples, label->slice * chunk,
                               chunk_evaluation_examples(worker->evaluator, label->slice), field,
                               view, error);
}

static void send_result(void *ctx, uint32_t to, const struct schedule_label *label, uint32_t edge,
                        struct buffer *value)
{
    struct group_worker *worker = ctx;
    const struct member_frame message = {
        .kind = MEMBER_FRAME_RESULT, .label = *label, .number = edge};
    member_send(worker->member, to, message, buffer_retain(value));
}

enum tn_status group_evaluate_open(struct group_worker *worker, struct error *error)
{
    const struct dataset *test = worker->config.test;
    enum tn_status status = evaluation_cut_create(&worker->cut, &worker->evaluation_cut, error);
    if (status != TN_OK || test == NULL || test->examples == 0) { return status; }
    const struct chunk_evaluation_config config = {
        .cut = &worker->cut,
        .evaluation = &worker->evaluation_cut,
        .task = worker->index,
        .examples = test->examples,
        .chunk = compute_slice_examples(worker->config.job),
        .kernels = worker->config.programs,
        .pool = worker->ports.buffers,
        .fill = fill,
        .send = send_result,
        .ctx = worker,
    };
    status = chunk_evaluation_create(&config, &worker->evaluator, error);
    if (status != TN_OK || !group_is_head(worker)) { return status; }
    return group_results_open(worker, error);
}

void group_evaluate_close(struct group_worker *worker)
{
    evaluation_details_close(&worker->evaluating.details);
    chunk_evaluation_destroy(worker->evaluator);
    group_results_close(worker);
    evaluation_cut_free(&worker->evaluation_cut);
}

void group_evaluate_reset(struct group_worker *worker)
{
    if (worker->evaluator != NULL) { chunk_evaluation_reset(worker->evaluator); }
    evaluation_details_close(&worker->evaluating.details);
    worker->evaluating = (struct group_evaluating){.is_active = false};
}
