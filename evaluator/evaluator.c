#include "evaluator/evaluator.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/node/membership.h"
#include "worker/compute.h"
#include "worker/refusal.h"

struct evaluator {
    struct evaluator_config config;
    struct membership membership;
    struct compute compute;
    uint64_t checkpoint; /* The last one that was done with, as reported; 0: none. */
    struct evaluation evaluation;
    uint64_t reading; /* The ordered checkpoint that could not be read yet; 0: none ... */
    uint64_t reading_since_ms, retry_at_ms;
    uint64_t now_ms;
    bool finished;
    int exit_code;
};

static void finish(struct evaluator *evaluator, int exit_code)
{
    assert(exit_code >= 0);
    if (evaluator->finished) { return; }
    evaluator->finished = true;
    evaluator->exit_code = exit_code;
}

static void follow_run(struct evaluator *evaluator)
{
    const struct run *run = &evaluator->membership.run;
    const struct worker_config *own = &evaluator->config.worker;
    if (run->phase == RUN_DONE) {
        finish(evaluator, TN_EXIT_OK);
    } else if (run->phase == RUN_FAILED) {
        finish(evaluator, TN_EXIT_ERROR);
    } else if (refusal_log(own->job, &run->inputs, &own->inputs)) {
        finish(evaluator, TN_EXIT_INVALID_INPUT);
    }
}

/* -------------------------------------------------------------- evaluation */

static void done_with(struct evaluator *evaluator, uint64_t checkpoint,
                      struct evaluation evaluation, const char *problem)
{
    assert(checkpoint != 0);
    evaluator->checkpoint = checkpoint;
    evaluator->evaluation = evaluation;
    evaluator->reading = 0;
    membership_set_problem(&evaluator->membership, problem);
}

/* The manifest is copied to the disk after /run names the checkpoint. */
static bool may_come(struct evaluator *evaluator, uint64_t checkpoint, enum tn_status status)
{
    if (status != TN_ENOENT) { return false; }
    if (evaluator->reading != checkpoint) {
        evaluator->reading = checkpoint;
        evaluator->reading_since_ms = evaluator->now_ms;
    }
    evaluator->retry_at_ms = evaluator->now_ms + EVALUATOR_RETRY_MS;
    return evaluator->now_ms < evaluator->reading_since_ms + EVALUATOR_WAIT_MS;
}

static void evaluate(struct evaluator *evaluator, uint64_t checkpoint)
{
    struct evaluator_values values;
    struct error error = {.status = TN_OK};
    const struct evaluator_source *source = &evaluator->config.source;
    const enum tn_status status = source->read(source->ctx, checkpoint, &values, &error);
    if (may_come(evaluator, checkpoint, status)) { return; }
    if (status != TN_OK) {
        log_warn("checkpoint %" PRIu64 " is not evaluated: %s", checkpoint, error.text);
        done_with(evaluator, checkpoint, (struct evaluation){.step = STEP_NONE}, error.text);
        return;
    }
    const struct evaluation found = compute_evaluate(&evaluator->compute, values.parameters->data,
                                                     values.averages->data, values.step, &error);
    if (error.status != TN_OK) {
        log_error("checkpoint %" PRIu64 ": %s", checkpoint, error.text);
        finish(evaluator, tanist_exit_code(error.status));
        return;
    }
    log_info("evaluated checkpoint %" PRIu64 " step=%" PRIu64 " loss=%.4f accuracy=%.4f",
             checkpoint, found.step, found.loss, found.accuracy);
    done_with(evaluator, checkpoint, found, "");
}

/* The ordered checkpoint, if it is to be evaluated now or later; 0: none. */
static uint64_t ordered(const struct evaluator *evaluator)
{
    const struct run *run = &evaluator->membership.run;
    if (!evaluator->membership.has_run || !evaluator->membership.registered) { return 0; }
    return run->evaluate_checkpoint != evaluator->checkpoint ? run->evaluate_checkpoint : 0;
}

static uint64_t due_ms(const struct evaluator *evaluator)
{
    const uint64_t checkpoint = ordered(evaluator);
    if (checkpoint == 0) { return UINT64_MAX; }
    return checkpoint == evaluator->reading ? evaluator->retry_at_ms : 0;
}

/* ----------------------------------------------------------------- reactor */

static void handle(void *self, const struct node_event *event)
{
    struct evaluator *evaluator = self;
    assert(!evaluator->finished);
    assert(event->now_ms >= evaluator->now_ms);
    evaluator->now_ms = event->now_ms;
    const unsigned changes = membership_handle(&evaluator->membership, event);
    if ((changes & MEMBERSHIP_ENDED) != 0) { finish(evaluator, evaluator->membership.exit_code); }
    if ((changes & MEMBERSHIP_RUN) != 0) { follow_run(evaluator); }
    if (event->type == NODE_TRANSPORT && event->transport->type == TRANSPORT_FRAME) {
        buffer_release(event->transport->body);
    }
    if (event->type == NODE_LEAVE || event->type == NODE_DRAIN) { finish(evaluator, TN_EXIT_OK); }
    if (evaluator->finished) { return; }
    if (evaluator->now_ms >= due_ms(evaluator)) { evaluate(evaluator, ordered(evaluator)); }
    struct report report = {
        .generation = evaluator->membership.run.generation,
        .ready = 1,
        .evaluation = evaluator->evaluation,
        .evaluated_checkpoint = evaluator->checkpoint,
        .inputs = evaluator->config.worker.inputs,
    };
    membership_report(&evaluator->membership, &report);
}

static uint64_t deadline_ms(const void *self)
{
    const struct evaluator *evaluator = self;
    return u64_min(membership_deadline_ms(&evaluator->membership), due_ms(evaluator));
}

static bool is_finished(const void *self, int *exit_code)
{
    const struct evaluator *evaluator = self;
    *exit_code = evaluator->exit_code;
    return evaluator->finished;
}

struct node evaluator_node(struct evaluator *evaluator)
{
    return (struct node){evaluator, handle, deadline_ms, is_finished};
}

enum tn_status evaluator_create(const struct evaluator_config *config, struct evaluator **out,
                                struct error *error)
{
    const struct worker_config *own = &config->worker;
    assert(own->identity.task.role == ROLE_EVALUATOR);
    assert(config->source.read != NULL);
    *out = NULL;
    struct evaluator *evaluator = calloc(1, sizeof *evaluator);
    if (evaluator == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for the evaluator");
    }
    evaluator->config = *config;
    evaluator->evaluation.step = STEP_NONE;
    membership_init(&evaluator->membership, &own->identity, own->ports);
    const struct compute_config compute = {
        .job = own->job,
        .model = own->model,
        .programs = own->programs,
        .kernels = own->kernels,
        .train = own->train,
        .test = own->test,
        .pool = own->ports->buffers,
        .details = own->details,
    };
    const enum tn_status status = compute_open(&evaluator->compute, &compute, error);
    if (status == TN_OK) {
        *out = evaluator;
    } else {
        evaluator_destroy(evaluator);
    }
    return status;
}

void evaluator_destroy(struct evaluator *evaluator)
{
    if (evaluator == NULL) { return; }
    compute_close(&evaluator->compute);
    free(evaluator);
}
