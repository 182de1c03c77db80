#include "model/predictor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/core/node.h"

struct predictor {
    struct predictor_config config;
    struct predictor_shape shape;
    const char *output; /* "probabilities" or "outputs". */
    bool one_logit;     /* There are two classes; it is that of class 1. */
    /* Programs for whole batches, and for the last number of examples that was another one. */
    struct training *whole, *part;
    uint32_t part_count;
    float *pairs; /* One logit: both probabilities. */
};

static tn_tensor find_output(const struct tn_graph *graph, const char *name)
{
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        const struct mark *mark = &graph->marks[i];
        if (mark->kind == MARK_OUTPUT && strcmp(mark->name, name) == 0) { return mark->value; }
    }
    return TN_NONE;
}

static enum tn_status name_probabilities(struct predictor *predictor, tn_tensor logits,
                                         struct error *error)
{
    struct tn_graph *graph = predictor->config.model->graph;
    struct tn_error text = {.text = ""};
    const struct tn_shape shape = tn_shape_of(graph, logits);
    predictor->shape.classes = true;
    predictor->output = "probabilities";
    predictor->one_logit = shape.dims[shape.rank - 1] == 1;
    if (find_output(graph, predictor->output).v == 0) {
        tn_tensor y = predictor->one_logit ? tn_activate(graph, logits, TN_SIGMOID)
                                           : tn_softmax(graph, logits);
        tn_output(graph, predictor->output, y);
    }
    const enum tn_status status = tn_graph_status(graph, &text);
    return status == TN_OK ? TN_OK : error_set(error, status, "model: %s", text.text);
}

static enum tn_status find_scores(struct predictor *predictor, struct error *error)
{
    const struct tn_graph *graph = predictor->config.model->graph;
    const bool regression = job_is_regression(predictor->config.job);
    tn_tensor scores = find_output(graph, regression ? "outputs" : "logits");
    enum tn_status status = TN_OK;
    if (scores.v == 0) {
        return error_set(error, TN_EINVAL,
                         "the model names no output \"%s\", which predictions need: add "
                         "tn_output(graph, \"%s\", ...)",
                         regression ? "outputs" : "logits", regression ? "outputs" : "logits");
    }
    const struct tn_shape shape = tn_shape_of(graph, scores);
    predictor->output = "outputs";
    predictor->shape = (struct predictor_shape){.rows = 1, .width = 1};
    if (shape.rank > 1) { predictor->shape.width = (uint32_t)shape.dims[shape.rank - 1]; }
    for (uint32_t d = 1; d + 1 < shape.rank; d++) {
        predictor->shape.rows *= (uint32_t)shape.dims[d];
    }
    if (!regression) { status = name_probabilities(predictor, scores, error); }
    if (predictor->one_logit) { predictor->shape.width = 2; }
    return status;
}

static enum tn_status open_programs(const struct predictor *predictor, uint32_t count,
                                    struct training **out, struct error *error)
{
    const struct training_config config = {.model = predictor->config.model,
                                           .kernels = predictor->config.kernels,
                                           .rows = predictor->config.rows,
                                           .evaluation = {count}};
    return training_open(&config, out, error);
}

enum tn_status predictor_open(const struct predictor_config *config, struct predictor **out,
                              struct error *error)
{
    assert(config->values != NULL && config->batch >= 1);
    struct predictor *predictor = calloc(1, sizeof *predictor);
    *out = predictor;
    if (predictor == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    predictor->config = *config;
    enum tn_status status = find_scores(predictor, error);
    if (status == TN_OK && predictor->one_logit) {
        predictor->pairs =
            calloc((size_t)config->batch * predictor->shape.rows, 2 * sizeof *predictor->pairs);
        if (predictor->pairs == NULL) { status = error_set(error, TN_ENOMEM, "out of memory"); }
    }
    if (status == TN_OK) {
        status = open_programs(predictor, config->batch, &predictor->whole, error);
    }
    if (status == TN_OK) { return TN_OK; }
    predictor_close(predictor);
    *out = NULL;
    return status;
}

void predictor_close(struct predictor *predictor)
{
    if (predictor == NULL) { return; }
    training_close(predictor->whole);
    training_close(predictor->part);
    free(predictor->pairs);
    free(predictor);
}

struct predictor_shape predictor_shape(const struct predictor *predictor)
{
    assert(predictor != NULL);
    return predictor->shape;
}

static struct training *programs_of(const struct predictor *predictor, uint32_t count)
{
    return count == predictor->config.batch ? predictor->whole : predictor->part;
}

enum tn_status predictor_fields(struct predictor *predictor, uint32_t count, struct fields *out,
                                struct error *error)
{
    assert(count >= 1 && count <= predictor->config.batch);
    if (count != predictor->config.batch && count != predictor->part_count) {
        training_close(predictor->part);
        predictor->part = NULL;
        predictor->part_count = 0;
        enum tn_status status = open_programs(predictor, count, &predictor->part, error);
        if (status != TN_OK) { return status; }
        predictor->part_count = count;
    }
    *out = training_fields(programs_of(predictor, count), TN_EVALUATE, count);
    return TN_OK;
}

/* Both probabilities from that of class 1. */
static const float *pair(struct predictor *predictor, const float *scores, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        predictor->pairs[2 * i] = 1 - scores[i];
        predictor->pairs[2 * i + 1] = scores[i];
    }
    return predictor->pairs;
}

enum tn_status predictor_run(struct predictor *predictor, uint32_t count,
                             struct evaluation_sum *sum, const float **scores, struct error *error)
{
    struct evaluation_sum ignored = {0};
    assert(count == predictor->config.batch || count == predictor->part_count);
    struct training *programs = programs_of(predictor, count);
    enum tn_status status = training_evaluate(programs, predictor->config.values, count,
                                              sum != NULL ? sum : &ignored, error);
    if (status != TN_OK) { return status; }
    *scores = training_output(programs, count, predictor->output).data;
    assert(*scores != NULL);
    if (predictor->one_logit) {
        *scores = pair(predictor, *scores, (size_t)count * predictor->shape.rows);
    }
    return TN_OK;
}
