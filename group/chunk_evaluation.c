#include "group/chunk_evaluation.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"

struct chunk_evaluation {
    struct chunk_evaluation_config config;
    struct part_runner *runner;
    struct slice_schedule schedule;
    const float *values;
    uint64_t version;
    struct schedule_label label; /* The last order. */
    uint32_t slot;               /* Where the results of that order are. */
    bool has_results;
};

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for the evaluation of a part of the model");
}

/* ------------------------------------------------------------ create, destroy */

static enum tn_status create_runner(struct chunk_evaluation *evaluation, struct error *error)
{
    const struct chunk_evaluation_config *config = &evaluation->config;
    const struct part_runner_config runner = {
        .cut = config->cut,
        .evaluation = config->evaluation,
        .task = config->task,
        .sizes = {config->examples >= config->chunk ? config->chunk : 0,
                  (uint32_t)(config->examples % config->chunk)},
        .kernels = config->kernels,
        .pool = config->pool,
    };
    return part_runner_create(&runner, &evaluation->runner, error);
}

enum tn_status chunk_evaluation_create(const struct chunk_evaluation_config *config,
                                       struct chunk_evaluation **out, struct error *error)
{
    assert(config->examples >= 1 && config->chunk >= 1);
    assert(config->fill != NULL && config->send != NULL);
    *out = NULL;
    struct chunk_evaluation *evaluation = calloc(1, sizeof *evaluation);
    if (evaluation == NULL) { return out_of_memory(error); }
    evaluation->config = *config;
    enum tn_status status = create_runner(evaluation, error);
    if (status == TN_OK) {
        part_runner_schedule(evaluation->runner, &evaluation->schedule);
        *out = evaluation;
    } else {
        chunk_evaluation_destroy(evaluation);
    }
    return status;
}

void chunk_evaluation_destroy(struct chunk_evaluation *evaluation)
{
    if (evaluation == NULL) { return; }
    part_runner_destroy(evaluation->runner);
    free(evaluation);
}

/* The results of the last chunk are no longer needed. */
static void drop_results(struct chunk_evaluation *evaluation)
{
    if (evaluation->has_results) { part_runner_clear(evaluation->runner, evaluation->slot); }
    evaluation->has_results = false;
}

void chunk_evaluation_reset(struct chunk_evaluation *evaluation)
{
    schedule_reset(&evaluation->schedule);
    evaluation->has_results = false;
    for (uint32_t slot = 0; slot < SCHEDULE_SLOTS; slot++) {
        part_runner_clear(evaluation->runner, slot);
    }
}

/* --------------------------------------------------------- orders and arrivals */

uint32_t chunk_evaluation_examples(const struct chunk_evaluation *evaluation, uint32_t chunk)
{
    const uint64_t first = (uint64_t)chunk * evaluation->config.chunk;
    if (first >= evaluation->config.examples) { return 0; }
    return (uint32_t)u64_min(evaluation->config.examples - first, evaluation->config.chunk);
}

bool chunk_evaluation_order(struct chunk_evaluation *evaluation, const struct schedule_label *label,
                            const float *values, uint64_t version)
{
    if (chunk_evaluation_examples(evaluation, label->slice) == 0) { return false; }
    if (!schedule_order(&evaluation->schedule, label->generation, label->step,
                        (struct slice_node){label->slice, 1})) {
        return false;
    }
    drop_results(evaluation);
    evaluation->label = *label;
    evaluation->values = values;
    evaluation->version = version;
    return true;
}

uint64_t chunk_evaluation_expects(const struct chunk_evaluation *evaluation, uint32_t chunk,
                                  uint32_t edge)
{
    uint32_t arrival;
    const uint32_t examples = chunk_evaluation_examples(evaluation, chunk);
    if (examples == 0 || !part_runner_find(evaluation->runner, edge, &arrival)) { return 0; }
    return part_runner_bytes(evaluation->runner, edge, examples);
}

bool chunk_evaluation_arrived(struct chunk_evaluation *evaluation,
                              const struct schedule_label *label, uint32_t edge,
                              struct buffer *value)
{
    uint32_t arrival, slot;
    const bool exists = part_runner_find(evaluation->runner, edge, &arrival);
    assert(exists);
    switch (schedule_arrived(&evaluation->schedule, label, arrival, &slot)) {
    case SCHEDULE_KEEP: part_runner_put(evaluation->runner, slot, arrival, value); return true;
    case SCHEDULE_DROP: return true;
    case SCHEDULE_INVALID: break;
    }
    return false;
}

/* -------------------------------------------------------------------- running */

static enum tn_status fill(void *ctx, const char *field, struct tn_view view, struct error *error)
{
    const struct chunk_evaluation *evaluation = ctx;
    const struct chunk_evaluation_config *config = &evaluation->config;
    return config->fill(config->ctx, &evaluation->label, field, view, error);
}

static enum tn_status send_value(void *ctx, uint32_t to, uint32_t edge, struct buffer *value,
                                 struct error *error)
{
    const struct chunk_evaluation *evaluation = ctx;
    (void)error;
    evaluation->config.send(evaluation->config.ctx, to, &evaluation->label, edge, value);
    return TN_OK;
}

static enum tn_status run_part(struct chunk_evaluation *evaluation,
                               const struct schedule_next *next, struct error *error)
{
    const struct part_run run = {
        .examples = chunk_evaluation_examples(evaluation, next->label.slice),
        .values = evaluation->values,
        .version = evaluation->version,
        .scale = 1,
        .fill = fill,
        .send = send_value,
        .ctx = evaluation,
    };
    return part_runner_run(evaluation->runner, next->slot, next->part, &run, error);
}

enum tn_status chunk_evaluation_advance(struct chunk_evaluation *evaluation, bool *done,
                                        struct error *error)
{
    *done = false;
    for (;;) {
        const struct schedule_next next = schedule_next(&evaluation->schedule);
        if (next.what == SCHEDULE_WAIT) { return TN_OK; }
        if (next.what == SCHEDULE_FINISH) {
            evaluation->slot = next.slot;
            evaluation->has_results = true;
            *done = schedule_finished(&evaluation->schedule);
            return TN_OK;
        }
        const enum tn_status status = run_part(evaluation, &next, error);
        if (status != TN_OK) { return status; }
        schedule_ran(&evaluation->schedule);
    }
}

struct tn_view chunk_evaluation_result(const struct chunk_evaluation *evaluation,
                                       const struct cut_result *result)
{
    assert(evaluation->has_results && evaluation->config.task == 0);
    const struct partition_edge *edge =
        &evaluation->config.evaluation->partition.edges[result->edge];
    struct tn_view view = {
        .data = part_runner_value(evaluation->runner, evaluation->slot, result->edge)->data,
        .type = edge->type,
        .shape = edge->shape,
    };
    for (uint32_t d = 0; d < view.shape.rank; d++) {
        if (view.shape.dims[d] != TN_BATCH) { continue; }
        view.shape.dims[d] = chunk_evaluation_examples(evaluation, evaluation->label.slice);
    }
    return view;
}
