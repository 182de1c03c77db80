#include "worker/evaluation_details.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/histogram.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/cluster/evaluation_file.h"

enum { TOP_K = 5, NAME_BYTES = VARIABLE_NAME_MAX + 16 };

/* -------------------------------------------------------------------- rows */

/* Above this number of scores their areas take longer than the evaluation. */
#define SCORES_MAX (UINT64_C(1) << 22)

static bool open_metrics(struct evaluation_details *details, bool classes, uint32_t width)
{
    struct error error = {0};
    details->width = width;
    if (!classes) { return number_metrics_open(width, &details->numbers, &error) == TN_OK; }
    details->row = calloc(width, sizeof *details->row);
    if (details->row == NULL) { return false; }
    const uint32_t k = (uint32_t)u64_min(TOP_K, width);
    if (class_metrics_open(width, k, &details->classes, &error) != TN_OK) { return false; }
    class_metrics_limit_scores(details->classes, SCORES_MAX);
    return true;
}

/* One logit is that of class 1. */
static void set_probabilities(struct evaluation_details *details, const float *logits,
                              bool one_logit)
{
    double sum = 0, most = (double)logits[0];
    if (one_logit) {
        details->row[1] = (float)(1 / (1 + exp(-most)));
        details->row[0] = 1 - details->row[1];
        return;
    }
    for (uint32_t c = 1; c < details->width; c++) { most = double_max(most, (double)logits[c]); }
    for (uint32_t c = 0; c < details->width; c++) { sum += exp((double)logits[c] - most); }
    for (uint32_t c = 0; c < details->width; c++) {
        details->row[c] = (float)(exp((double)logits[c] - most) / sum);
    }
}

static bool add_classes(struct evaluation_details *details, const float *logits, uint32_t step,
                        const struct fields *fields, uint64_t rows)
{
    struct error error = {0};
    for (uint64_t r = 0; r < rows; r++) {
        const uint32_t label =
            fields->labels != NULL ? fields->labels[r] : (uint32_t)fields->wide_labels[r];
        if (label >= details->width) { return false; }
        set_probabilities(details, logits + r * step, step == 1);
        if (class_metrics_add(details->classes, details->row, label, &error) != TN_OK) {
            return false;
        }
    }
    return true;
}

/* A model in C may name an output of any shape: there must be a label for each row, or a target for
 * each number. */
static bool has_truth(const struct fields *fields, bool classes, uint64_t examples, uint64_t rows,
                      uint32_t last)
{
    if (last == 0) { return false; }
    if (classes) { return rows == examples * fields->labels_each; }
    return rows * last == examples * fields->targets_each;
}

static bool add(struct evaluation_details *details, const struct evaluation_outputs *given,
                const struct fields *fields)
{
    const bool classes = fields->labels != NULL || fields->wide_labels != NULL;
    const struct tn_view view = classes ? given->logits : given->outputs;
    const struct tn_shape *shape = &view.shape;
    if (view.data == NULL || (!classes && fields->targets == NULL)) { return true; }
    if (view.type != TN_FLOAT32 || shape->rank == 0) { return true; }
    const uint32_t last = shape->rank > 1 ? (uint32_t)shape->dims[shape->rank - 1] : 1;
    uint64_t rows = shape->rank > 1 ? 1 : (uint64_t)shape->dims[0];
    for (uint32_t d = 0; d + 1 < shape->rank; d++) { rows *= (uint64_t)shape->dims[d]; }
    if (!has_truth(fields, classes, (uint64_t)shape->dims[0], rows, last)) { return true; }
    if (details->width == 0 && !open_metrics(details, classes, classes && last == 1 ? 2 : last)) {
        return false;
    }
    const float *scores = view.data;
    if (classes) { return add_classes(details, scores, last, fields, rows); }
    for (uint64_t r = 0; r < rows; r++) {
        number_metrics_add(details->numbers, scores + r * last, fields->targets + r * last);
    }
    return true;
}

void evaluation_details_add(struct evaluation_details *details,
                            const struct evaluation_outputs *given, const struct fields *fields)
{
    assert(given != NULL && fields != NULL);
    if (!details->failed) { details->failed = !add(details, given, fields); }
}

/* ----------------------------------------------------------------- metrics */

static void add_class_metrics(const struct evaluation_details *details,
                              struct evaluation *evaluation)
{
    struct metrics *metrics = &evaluation->metrics;
    struct class_summary summary;
    struct error error = {0};
    struct class_result *results = calloc(details->width, sizeof *results);
    if (results != NULL &&
        class_metrics_results(details->classes, &summary, results, &error) == TN_OK) {
        if (isnan(evaluation->accuracy)) { evaluation->accuracy = summary.accuracy; }
        metrics_add(metrics, "precision", summary.precision);
        metrics_add(metrics, "recall", summary.recall);
        metrics_add(metrics, "f1", summary.f1);
        metrics_add(metrics, "auc", summary.auc);
        metrics_add(metrics, "top_k", summary.top_k);
    }
    free(results);
}

void evaluation_details_metrics(const struct evaluation_details *details,
                                struct evaluation *evaluation)
{
    assert(details != NULL && evaluation != NULL);
    struct metrics *metrics = &evaluation->metrics;
    if (details->failed) { return; }
    if (details->classes != NULL) { add_class_metrics(details, evaluation); }
    if (details->numbers == NULL) { return; }
    const struct number_result all = number_metrics_all(details->numbers);
    metrics_add(metrics, "mae", all.mae);
    metrics_add(metrics, "rmse", all.rmse);
    metrics_add(metrics, "r2", all.r2);
}

/* -------------------------------------------------------------------- JSON */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *build_confusion(const struct evaluation_details *details)
{
    json_t *rows = json_array();
    for (uint32_t label = 0; label < details->width; label++) {
        json_t *row = json_array();
        for (uint32_t c = 0; c < details->width; c++) {
            const uint64_t examples = class_metrics_confusion(details->classes, label, c);
            json_array_append_new(row, json_integer((json_int_t)examples));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *build_names(const struct evaluation_details *details, const struct dataset *test)
{
    json_t *names = json_array();
    for (uint32_t c = 0; c < details->width; c++) {
        const char *name = dataset_class_name(test, c);
        json_array_append_new(names, name != NULL ? json_string(name) : json_null());
    }
    return names;
}

static void put_classes(const struct evaluation_details *details, const struct dataset *test,
                        json_t *object)
{
    if (details->width > EVALUATION_CLASSES_MAX) { return; }
    json_object_set_new(object, "confusion", build_confusion(details));
    if (dataset_class_name(test, 0) != NULL) {
        json_object_set_new(object, "names", build_names(details, test));
    }
}

/* Buckets with numbers, and an empty one below each gap, which gives the next its lower limit. */
static json_t *build_histogram(const char *name, const struct histogram *histogram)
{
    json_t *limits = json_array(), *counts = json_array();
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        const bool next = b + 1 < HISTOGRAM_BUCKETS && histogram->buckets[b + 1] > 0;
        if (histogram->buckets[b] == 0 && !next) { continue; }
        json_array_append_new(limits, json_real(histogram_limit(b)));
        json_array_append_new(counts, json_integer((json_int_t)histogram->buckets[b]));
    }
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:f, s:o, s:o}", "name", name, "least",
                     histogram->least, "most", histogram->most, "count",
                     (json_int_t)histogram->count, "sum", histogram->sum, "squares",
                     histogram->squares, "limits", limits, "counts", counts);
}

static void put_histograms(const struct variable_table *variables, const char *kind,
                           const float *numbers, json_t *list)
{
    struct histogram *histogram = malloc(sizeof *histogram);
    for (uint32_t v = 0; v < variables->count && histogram != NULL && numbers != NULL; v++) {
        char name[NAME_BYTES];
        const struct variable *variable = &variables->variables[v];
        *histogram = (struct histogram){0};
        histogram_add(histogram, numbers + variable->offset, variable->count);
        snprintf(name, sizeof name, "%s/%s", kind, variable->name);
        if (histogram->count > 0) { json_array_append_new(list, build_histogram(name, histogram)); }
    }
    free(histogram);
}

void evaluation_details_write(const struct evaluation_details *details,
                              const struct evaluation_details_source *source,
                              const struct evaluation *evaluation)
{
    struct error error = {0};
    assert(source->dir != NULL && source->variables != NULL);
    json_t *object = json_pack("{s:o, s:o, s:o}", "loss", number(evaluation->loss), "accuracy",
                               number(evaluation->accuracy), "histograms", json_array());
    if (object == NULL) { return; }
    if (details->classes != NULL && !details->failed) {
        put_classes(details, source->test, object);
    }
    json_t *histograms = json_object_get(object, "histograms");
    put_histograms(source->variables, "variables", source->values, histograms);
    put_histograms(source->variables, "gradients", source->gradient, histograms);
    if (evaluation_file_write(source->dir, evaluation->step, object, &error) != TN_OK) {
        log_warn("the curves lack metrics of step %" PRIu64 ": %s", evaluation->step, error.text);
    }
    json_decref(object);
}

void evaluation_details_close(struct evaluation_details *details)
{
    class_metrics_close(details->classes);
    number_metrics_close(details->numbers);
    free(details->row);
    *details = (struct evaluation_details){0};
}
