#include "common/job/variable_rules.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>

#include "common/job/strategy.h"

static bool matches(const struct job_variable_rule *rule, const struct variable *variable)
{
    return fnmatch(rule->match, variable->name, 0) == 0;
}

/* The rule without those of the job. */
static struct variable_rule own_rule(const struct job *job, const struct variable *variable)
{
    struct variable_rule rule = {
        .update = variable->update,
        .optimizer = job->train.optimizer,
        .learning_rate = 1,
        .weight_decay = variable->no_weight_decay ? 0 : 1,
        .momentum = (double)variable->momentum,
    };
    if (variable->update != VARIABLE_OPTIMIZED) { rule.learning_rate = rule.weight_decay = 0; }
    (void)optimizer_of_name(variable->optimizer, &rule.optimizer);
    return rule;
}

static struct variable_rule given_rule(const struct job *job, const struct variable *variable)
{
    assert(job->train.rule_count <= JOB_RULES_MAX);
    struct variable_rule rule = own_rule(job, variable);
    if (variable->update != VARIABLE_OPTIMIZED) { return rule; }
    for (uint32_t i = 0; i < job->train.rule_count; i++) {
        const struct job_variable_rule *given = &job->train.rules[i];
        if (!matches(given, variable)) { continue; }
        rule.learning_rate = given->learning_rate_factor;
        if (!isnan(given->weight_decay_factor)) { rule.weight_decay = given->weight_decay_factor; }
        if (given->optimizer != OPTIMIZER_AUTO) { rule.optimizer = given->optimizer; }
        return rule;
    }
    return rule;
}

struct variable_rule variable_rule_of(const struct job *job, const struct variable *variable)
{
    struct variable_rule rule = given_rule(job, variable);
    const bool by_norms = rule.optimizer == OPTIMIZER_LARS || rule.optimizer == OPTIMIZER_LAMB;
    rule.adapts = rule.update == VARIABLE_OPTIMIZED && by_norms && rule.weight_decay > 0;
    return rule;
}

static enum tn_status check_norms(const struct job *job, const struct variable_table *variables,
                                  struct error *error)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct variable *variable = &variables->variables[i];
        const struct variable_rule rule = variable_rule_of(job, variable);
        if (!rule.adapts) { continue; }
        if (!strategy_of_job(job)->exact_steps) {
            return error_set(error, TN_EINVAL,
                             "the optimizer of variable \"%s\" is \"%s\", but train.mode is "
                             "\"async\", which has no gradient of a whole step: use another "
                             "optimizer, or train.mode \"sync\"",
                             variable->name, optimizer_name(rule.optimizer));
        }
        if (rule.optimizer == OPTIMIZER_LAMB && job->train.clip_norm > 0) {
            return error_set(error, TN_EINVAL,
                             "the optimizer of variable \"%s\" is \"lamb\", whose changes have the "
                             "norm of the variable however large the gradient is, but "
                             "train.clip_norm is %g: remove it, or use train.clip_value",
                             variable->name, job->train.clip_norm);
        }
    }
    return TN_OK;
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
    return check_norms(job, variables, error);
}
