/*
 * common/job/variable_rules.h: the settings of a job file for single variables: an optimizer, and
 * factors of the learning rate and of the weight decay, by patterns of names (`train.variables`).
 *
 * The first rule whose pattern matches the name of a variable applies. If no rule matches, or the
 * rule has no optimizer or weight_decay_factor, the settings of the model apply: a variable may
 * have its own optimizer, and biases, and gains and offsets of normalisation layers, have no weight
 * decay. All other settings are those of the job. No rule changes frozen variables and averages.
 *
 * Threads: no state.
 */
#ifndef COMMON_JOB_VARIABLE_RULES_H
#define COMMON_JOB_VARIABLE_RULES_H

#include "common/cluster/variables.h"
#include "common/job/job.h"

/* The update of one variable of a job. */
struct variable_rule {
    enum variable_update update;
    enum optimizer_kind optimizer;
    double learning_rate, weight_decay; /* Factors; 0 of a frozen variable. */
    double momentum;                    /* An average's. */
    bool adapts; /* LARS and LAMB: the rate of the variable depends on the norms of the variable and
                  * of its change. */
};

struct variable_rule variable_rule_of(const struct job *job, const struct variable *variable);

/* TN_EINVAL: a rule matches no variable, and the error names its pattern and some variables; or
 * LARS in async mode, where no node has the gradient of a step. */
MUST_CHECK enum tn_status variable_rules_check(const struct job *job,
                                               const struct variable_table *variables,
                                               struct error *error);

#endif
