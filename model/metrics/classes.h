/*
 * model/metrics/classes.h: how well scores predict classes: accuracy, precision, recall, F1, the
 * area under the ROC curve, top-k, and the confusion matrix. The definitions are those of
 * scikit-learn; undefined values are NAN, but precision, recall and F1 of no examples are 0.
 *
 * The area is exact: all scores are kept and sorted, and equal ones count half. Sums have a fixed
 * order, so that equal rows in equal order give equal bits. Pure, but for memory. Threads: the
 * owner's.
 */
#ifndef MODEL_METRICS_CLASSES_H
#define MODEL_METRICS_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    CLASS_METRICS_CONFUSION_MAX = 1024, /* With more classes the matrix is left out. */
};
#define CLASS_METRICS_SCORES_MAX (UINT64_C(1) << 29) /* With more, areas are left out. */

struct class_metrics;

/* One class against all others. */
struct class_result {
    uint64_t support, predicted, correct; /* Examples of the class, predicted as it, and both. */
    double precision, recall, f1;
    double auc; /* NAN: all or no examples have the class, or there are too many scores. */
};

/* With two classes precision, recall, F1 and the area are those of class 1, else the means over the
 * classes. */
struct class_summary {
    uint64_t rows;
    double accuracy, precision, recall, f1, auc;
    double top_k; /* The share of rows whose label is among the k highest scores. */
};

/* `top_k`: 1 to `classes`. TN_ENOMEM. */
MUST_CHECK enum tn_status class_metrics_open(uint32_t classes, uint32_t top_k,
                                             struct class_metrics **out, struct error *error);
void class_metrics_close(struct class_metrics *metrics); /* NULL is allowed. */

/* Leave areas out above `most` scores, which is CLASS_METRICS_SCORES_MAX by default. */
void class_metrics_limit_scores(struct class_metrics *metrics, uint64_t most);

/* Add a row: `scores` has one for each class; the first of the highest is predicted. `label` is
 * below the number of classes. TN_ENOMEM. */
MUST_CHECK enum tn_status class_metrics_add(struct class_metrics *metrics, const float *scores,
                                            uint32_t label, struct error *error);

/* The results so far; `results` has one for each class. TN_ENOMEM. */
MUST_CHECK enum tn_status class_metrics_results(const struct class_metrics *metrics,
                                                struct class_summary *summary,
                                                struct class_result *results, struct error *error);

/* The number of rows of class `label` that were predicted as `predicted`; the matrix exists. */
uint64_t class_metrics_confusion(const struct class_metrics *metrics, uint32_t label,
                                 uint32_t predicted);
bool class_metrics_has_confusion(const struct class_metrics *metrics);

/* The class that `scores` predict. */
uint32_t class_of_scores(const float *scores, uint32_t classes);

#endif
