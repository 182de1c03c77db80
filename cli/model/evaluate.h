/*
 * cli/model/evaluate.h: a run's model on its test set, for other commands.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_MODEL_EVALUATE_H
#define CLI_MODEL_EVALUATE_H

#include "common/base/error.h"

/* Evaluate the newest checkpoint of the run in `dir` on the test set, as `tanist evaluate` does; of
 * a regression `accuracy` is R squared. Errors as saved_model_open() and dataset_open(). */
MUST_CHECK enum tn_status evaluate_test_set(const char *dir, double *loss, double *accuracy,
                                            struct error *error);

#endif
