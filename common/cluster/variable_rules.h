/*
 * common/cluster/variable_rules.h: what a job file demands for single variables: an optimizer, and
 * factors of the learning rate and of the weight decay, by patterns of names (`train.variables`).
 *
 * The first rule whose pattern matches a variable's name decides. Without one, and where a rule has
 * no optimizer or weight_decay_factor, the model decides: a variable may have its own optimizer,
 * and biases, and gains and offsets of norms, have no weight decay. All else is the job's. No rule
 * changes frozen variables and averages.
 *
 * Threads: no state.
 */
#ifndef COMMON_CLUSTER_VARIABLE_RULES_H
#define COMMON_CLUSTER_VARIABLE_RULES_H

#include "common/cluster/job.h"
#include "common/cluster/variables.h"

/* The update of one variable of a job. */
struct variable_rule {
    enum variable_update update;
    enum optimizer_kind optimizer;
    double learning_rate, weight_decay; /* Factors; 0 of a frozen variable. */
    double momentum;                    /* An average's. */
    bool adapts; /* LARS and LAMB: its rate depends on norms of the variable and of its change. */
};

struct variable_rule variable_rule_of(const struct job *job, const struct variable *variable);

/* TN_EINVAL: a rule matches no variable, and the error names its pattern and some variables; or
 * LARS in async mode, where no node has the gradient of a step. */
MUST_CHECK enum tn_status variable_rules_check(const struct job *job,
                                               const struct variable_table *variables,
                                               struct error *error);

#endif
