/*
 * worker/synthetic.h: examples made from a seed, for tests and first trials.
 *
 * For a classifier: class c has a centre, uniform in the cube (-1, 1)^inputs; an example is a
 * random class's centre plus data.noise times a normal number in each input. For model.type
 * "linear": inputs uniform in (-1, 1), targets = inputs weights + bias + data.noise times normal,
 * with weights and bias uniform in (-1, 1). Training and test examples are drawn apart from one
 * truth.
 */
#ifndef WORKER_SYNTHETIC_H
#define WORKER_SYNTHETIC_H

#include "worker/dataset.h"

/* Fill a data set of zeros. On failure (TN_EINVAL: data.examples out of range; TN_ENOMEM) what it
 * owns is for dataset_close(). */
MUST_CHECK enum tn_status synthetic_fill(const struct job *job, enum dataset_split split,
                                         struct dataset *dataset, struct error *error);

#endif
