/*
 * data/synthetic.h: examples computed from a seed, for tests and first trials.
 *
 * For a classifier, each class has a centre, uniform in the cube (-1, 1)^inputs; an example is the
 * centre of a random class, plus data.noise times a normal number in each input. For a
 * regression, the inputs are uniform in (-1, 1) and targets = inputs weights + bias + data.noise
 * times a normal number, with weights and bias uniform in (-1, 1). Where the targets are the
 * inputs, these are as for a classifier of ten classes. Training and test examples are drawn
 * independently from the same distribution.
 */
#ifndef DATA_SYNTHETIC_H
#define DATA_SYNTHETIC_H

#include "data/dataset.h"

/* Fill a zeroed data set. After a failure dataset_close() frees what it owns.
 *   TN_EINVAL: data.examples is out of range; TN_ENOMEM */
MUST_CHECK enum tn_status synthetic_fill(const struct job *job, enum dataset_split split,
                                         struct dataset *dataset, struct error *error);

#endif
