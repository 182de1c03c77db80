/*
 * cli/model/evaluation_report.h: the metrics of an evaluation, as text and as JSON.
 *
 * Threads: the owner's.
 */
#ifndef CLI_MODEL_EVALUATION_REPORT_H
#define CLI_MODEL_EVALUATION_REPORT_H

#include "model/metrics/classes.h"
#include "model/metrics/numbers.h"
#include "model/predictor.h"

struct dataset;

struct evaluation_report {
    const char *job; /* Set by the owner before printing, like the next two. */
    uint64_t checkpoint, step;
    const struct dataset *names; /* Set by the owner: the data set names the classes. */
    bool confusion;              /* Set by the owner: print the matrix as text. */
    struct predictor_shape shape;
    uint32_t top_k;
    struct evaluation_sum sum; /* Filled by the owner. */
    /* One of each pair, by the kind of the scores. */
    struct class_metrics *classes;
    struct number_metrics *numbers;
    struct class_summary summary;
    struct class_result *results; /* By class. */
};

/* Errors of all: TN_ENOMEM. `report` is zeroed but for what the owner sets. */
MUST_CHECK enum tn_status evaluation_report_open(struct evaluation_report *report,
                                                 struct predictor_shape shape, uint32_t top_k,
                                                 struct error *error);
void evaluation_report_close(struct evaluation_report *report); /* A zeroed one is allowed. */

/* Add `count` examples with their scores; `fields` has their labels or targets. */
MUST_CHECK enum tn_status evaluation_report_add(struct evaluation_report *report,
                                                const float *scores, const struct fields *fields,
                                                uint32_t count, struct error *error);
/* All examples were added. */
MUST_CHECK enum tn_status evaluation_report_finish(struct evaluation_report *report,
                                                   struct error *error);

double evaluation_report_loss(const struct evaluation_report *report);
/* The accuracy, or R squared of a regression. */
double evaluation_report_accuracy(const struct evaluation_report *report);

/* Print on stdout; return the exit code. */
int evaluation_report_text(const struct evaluation_report *report);
int evaluation_report_json(const struct evaluation_report *report);

#endif
