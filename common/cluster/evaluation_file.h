/*
 * common/cluster/evaluation_file.h: what an evaluation gives besides loss and accuracy, as a file
 * in DIR/evaluations: the worker that evaluates writes it before it reports the result, and the
 * agent that started the worker takes it when the result is in the history. A JSON object:
 *
 *   loss, accuracy   those of the result
 *   names            the names of classes; absent: they have none
 *   confusion        the number of examples by label and prediction: a list for each label; absent
 *                    with more than EVALUATION_CLASSES_MAX classes
 *   histograms       [{name, least, most, count, sum, squares, limits, counts}]
 *
 * Nothing depends on it: a file that is lost costs a point of the curves. Files are not synced.
 * Threads: any. Blocking: on the disk.
 */
#ifndef COMMON_CLUSTER_EVALUATION_FILE_H
#define COMMON_CLUSTER_EVALUATION_FILE_H

#include <jansson.h>
#include <stdint.h>

#include "common/base/error.h"

enum { EVALUATION_CLASSES_MAX = 100 };

/* Make the folder, in which earlier starts may have left files. Without it no file is written:
 * nothing would take them. */
void evaluation_file_prepare(const char *dir);

/* Write the file of `step` in the run's folder `dir`, if that is prepared. Errors: see files.h. */
MUST_CHECK enum tn_status evaluation_file_write(const char *dir, uint64_t step,
                                                const json_t *object, struct error *error);

/* Read and remove the file of `step`. NULL: it does not exist, is damaged, or is that of another
 * evaluation of this step, with another loss. The caller owns the object. */
json_t *evaluation_file_take(const char *dir, uint64_t step, double loss);

#endif
