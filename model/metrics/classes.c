#include "model/metrics/classes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/metrics/area.h"

struct class_metrics {
    uint32_t classes, k;
    uint64_t rows, among_top;
    uint64_t *support, *predicted, *correct; /* By class. */
    uint64_t *confusion;                     /* [label][predicted]; NULL: too many classes. */
    /* All rows, for the areas: scores[row][class]. NULL: too many. */
    float *scores;
    uint32_t *labels;
    uint64_t capacity, scores_max; /* Rows, scores. */
    bool without_areas;
};

enum tn_status class_metrics_open(uint32_t classes, uint32_t top_k, struct class_metrics **out,
                                  struct error *error)
{
    assert(classes >= 2 && top_k >= 1 && top_k <= classes);
    struct class_metrics *metrics = calloc(1, sizeof *metrics);
    *out = metrics;
    if (metrics == NULL) { return error_set(error, TN_ENOMEM, "out of memory for metrics"); }
    metrics->classes = classes;
    metrics->k = top_k;
    metrics->scores_max = CLASS_METRICS_SCORES_MAX;
    metrics->support = calloc(classes, sizeof *metrics->support);
    metrics->predicted = calloc(classes, sizeof *metrics->predicted);
    metrics->correct = calloc(classes, sizeof *metrics->correct);
    bool complete =
        metrics->support != NULL && metrics->predicted != NULL && metrics->correct != NULL;
    if (classes <= CLASS_METRICS_CONFUSION_MAX) {
        metrics->confusion = calloc((size_t)classes * classes, sizeof *metrics->confusion);
        complete = complete && metrics->confusion != NULL;
    }
    if (complete) { return TN_OK; }
    class_metrics_close(metrics);
    *out = NULL;
    return error_set(error, TN_ENOMEM, "out of memory for metrics of %" PRIu32 " classes", classes);
}

void class_metrics_close(struct class_metrics *metrics)
{
    if (metrics == NULL) { return; }
    free(metrics->support);
    free(metrics->predicted);
    free(metrics->correct);
    free(metrics->confusion);
    free(metrics->scores);
    free(metrics->labels);
    free(metrics);
}

void class_metrics_limit_scores(struct class_metrics *metrics, uint64_t most)
{
    assert(metrics->rows == 0 && most <= CLASS_METRICS_SCORES_MAX);
    metrics->scores_max = most;
}

uint32_t class_of_scores(const float *scores, uint32_t classes)
{
    uint32_t best = 0;
    assert(scores != NULL && classes >= 1);
    for (uint32_t c = 1; c < classes; c++) {
        if (scores[c] > scores[best]) { best = c; }
    }
    return best;
}

static void forget_scores(struct class_metrics *metrics)
{
    free(metrics->scores);
    free(metrics->labels);
    metrics->scores = NULL;
    metrics->labels = NULL;
    metrics->without_areas = true;
}

static enum tn_status keep_scores(struct class_metrics *metrics, const float *scores,
                                  uint32_t label, struct error *error)
{
    if (metrics->without_areas) { return TN_OK; }
    if ((metrics->rows + 1) * metrics->classes > metrics->scores_max) {
        forget_scores(metrics);
        return TN_OK;
    }
    if (metrics->rows == metrics->capacity) {
        const uint64_t more = metrics->capacity == 0 ? 1024 : 2 * metrics->capacity;
        float *larger = realloc(metrics->scores, more * metrics->classes * sizeof *larger);
        if (larger != NULL) { metrics->scores = larger; }
        uint32_t *labels = realloc(metrics->labels, more * sizeof *labels);
        if (labels != NULL) { metrics->labels = labels; }
        if (larger == NULL || labels == NULL) {
            return error_set(error, TN_ENOMEM, "out of memory for the scores of %" PRIu64 " rows",
                             more);
        }
        metrics->capacity = more;
    }
    memcpy(metrics->scores + metrics->rows * metrics->classes, scores,
           metrics->classes * sizeof *scores);
    metrics->labels[metrics->rows] = label;
    return TN_OK;
}

/* The number of classes that come before `label` by their scores, the first of equal ones first. */
static uint32_t place_of(const float *scores, uint32_t classes, uint32_t label)
{
    uint32_t before = 0;
    for (uint32_t c = 0; c < classes; c++) {
        before += scores[c] > scores[label] || (scores[c] == scores[label] && c < label);
    }
    return before;
}

enum tn_status class_metrics_add(struct class_metrics *metrics, const float *scores, uint32_t label,
                                 struct error *error)
{
    assert(metrics != NULL && label < metrics->classes);
    enum tn_status status = keep_scores(metrics, scores, label, error);
    if (status != TN_OK) { return status; }
    const uint32_t predicted = class_of_scores(scores, metrics->classes);
    metrics->rows++;
    metrics->support[label]++;
    metrics->predicted[predicted]++;
    metrics->correct[label] += predicted == label;
    metrics->among_top += place_of(scores, metrics->classes, label) < metrics->k;
    if (metrics->confusion != NULL) {
        metrics->confusion[(size_t)label * metrics->classes + predicted]++;
    }
    return TN_OK;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static enum tn_status find_areas(const struct class_metrics *metrics, struct class_result *results,
                                 struct error *error)
{
    struct area_score *pairs = malloc((metrics->rows + 1) * sizeof *pairs);
    if (pairs == NULL) { return error_set(error, TN_ENOMEM, "out of memory for sorting scores"); }
    for (uint32_t c = 0; c < metrics->classes; c++) {
        for (uint64_t row = 0; row < metrics->rows; row++) {
            pairs[row].score = metrics->scores[row * metrics->classes + c];
            pairs[row].positive = metrics->labels[row] == c;
        }
        results[c].auc = area_under_curve(pairs, metrics->rows);
    }
    free(pairs);
    return TN_OK;
}

static void summarise(const struct class_metrics *metrics, const struct class_result *results,
                      struct class_summary *summary)
{
    const uint32_t classes = metrics->classes;
    const uint32_t first = classes == 2 ? 1 : 0;
    uint64_t correct = 0;
    double sums[4] = {0};
    for (uint32_t c = 0; c < classes; c++) { correct += metrics->correct[c]; }
    for (uint32_t c = first; c < classes; c++) {
        sums[0] += results[c].precision;
        sums[1] += results[c].recall;
        sums[2] += results[c].f1;
        sums[3] += results[c].auc;
    }
    const double count = classes - first;
    *summary = (struct class_summary){
        .rows = metrics->rows,
        .accuracy = metrics->rows > 0 ? share(correct, metrics->rows) : (double)NAN,
        .precision = sums[0] / count,
        .recall = sums[1] / count,
        .f1 = sums[2] / count,
        .auc = sums[3] / count,
        .top_k = metrics->rows > 0 ? share(metrics->among_top, metrics->rows) : (double)NAN,
    };
}

enum tn_status class_metrics_results(const struct class_metrics *metrics,
                                     struct class_summary *summary, struct class_result *results,
                                     struct error *error)
{
    assert(metrics != NULL && summary != NULL && results != NULL);
    for (uint32_t c = 0; c < metrics->classes; c++) {
        const uint64_t support = metrics->support[c], predicted = metrics->predicted[c];
        const uint64_t correct = metrics->correct[c];
        results[c] = (struct class_result){
            .support = support,
            .predicted = predicted,
            .correct = correct,
            .precision = share(correct, predicted),
            .recall = share(correct, support),
            .f1 = share(2 * correct, support + predicted),
            .auc = (double)NAN,
        };
    }
    enum tn_status status = TN_OK;
    if (metrics->scores != NULL) { status = find_areas(metrics, results, error); }
    if (status == TN_OK) { summarise(metrics, results, summary); }
    return status;
}

uint64_t class_metrics_confusion(const struct class_metrics *metrics, uint32_t label,
                                 uint32_t predicted)
{
    assert(metrics->confusion != NULL);
    assert(label < metrics->classes && predicted < metrics->classes);
    return metrics->confusion[(size_t)label * metrics->classes + predicted];
}

bool class_metrics_has_confusion(const struct class_metrics *metrics)
{
    assert(metrics != NULL);
    return metrics->confusion != NULL;
}
