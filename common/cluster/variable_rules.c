#include "common/cluster/variable_rules.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>

static bool matches(const struct job_variable_rule *rule, const struct variable *variable)
{
    return fnmatch(rule->match, variable->name, 0) == 0;
}

struct variable_factors variable_factors_of(const struct job *job, const struct variable *variable)
{
    assert(job->train.rule_count <= JOB_RULES_MAX);
    struct variable_factors factors = {1, variable->no_weight_decay ? 0 : 1};
    if (variable->frozen) { return (struct variable_factors){0, 0}; }
    for (uint32_t i = 0; i < job->train.rule_count; i++) {
        const struct job_variable_rule *rule = &job->train.rules[i];
        if (!matches(rule, variable)) { continue; }
        factors.learning_rate = rule->learning_rate_factor;
        if (!isnan(rule->weight_decay_factor)) { factors.weight_decay = rule->weight_decay_factor; }
        return factors;
    }
    return factors;
}

static bool matches_any(const struct job_variable_rule *rule,
                        const struct variable_table *variables)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        if (matches(rule, &variables->variables[i])) { return true; }
    }
    return false;
}

enum tn_status variable_rules_check(const struct job *job, const struct variable_table *variables,
                                    struct error *error)
{
    assert(variables->count > 0);
    for (uint32_t i = 0; i < job->train.rule_count; i++) {
        if (matches_any(&job->train.rules[i], variables)) { continue; }
        return error_set(error, TN_EINVAL,
                         "train.variables[%" PRIu32 "].match is \"%s\", which matches none of the "
                         "model's variables (\"%s\" to \"%s\"): correct or remove it",
                         i, job->train.rules[i].match, variables->variables[0].name,
                         variables->variables[variables->count - 1].name);
    }
    return TN_OK;
}
