/*
 * data/matches.h: examples for models that compare a set with a candidate, computed from a seed.
 *
 * An example is model.inputs ids, each of MATCHES_IDS: a bag, and last the candidate. Each id has a
 * hidden vector of four numbers, uniform in (-1, 1). The label is 1 if the sum of the bag's
 * vectors, over the root of their number, times the candidate's vector, plus data.noise times a
 * normal number, is above 0; else it is 0. Training and test examples are drawn independently.
 */
#ifndef DATA_MATCHES_H
#define DATA_MATCHES_H

#include "data/dataset.h"

enum { MATCHES_IDS = 256, MATCHES_WIDTH = 4, MATCHES_INPUTS_MAX = 256 };

/* Fill a zeroed data set. After a failure dataset_close() frees what it owns.
 *   TN_EINVAL: model.inputs, the number of classes or data.examples is out of range; TN_ENOMEM */
MUST_CHECK enum tn_status matches_fill(const struct job *job, enum dataset_split split,
                                       struct dataset *dataset, struct error *error);

#endif
