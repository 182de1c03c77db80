/*
 * common/cluster/variable_rules.h: what a job file demands for single variables: factors of the
 * learning rate and of the weight decay, by patterns of names (`train.variables`).
 *
 * The first rule whose pattern matches a variable's name decides. Without one, and where a rule has
 * no weight_decay_factor, the learning rate is the job's, and so is the weight decay unless the
 * variable has none: biases, and gains and offsets of norms. Frozen variables stay frozen.
 *
 * Threads: no state.
 */
#ifndef COMMON_CLUSTER_VARIABLE_RULES_H
#define COMMON_CLUSTER_VARIABLE_RULES_H

#include "common/cluster/job.h"
#include "common/cluster/variables.h"

struct variable_factors {
    double learning_rate, weight_decay;
};

struct variable_factors variable_factors_of(const struct job *job, const struct variable *variable);

/* TN_EINVAL: a rule matches no variable; the error names its pattern and some variables. */
MUST_CHECK enum tn_status variable_rules_check(const struct job *job,
                                               const struct variable_table *variables,
                                               struct error *error);

#endif
