#include "common/job/table_rules.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>

static bool matches(const struct job_table_rule *rule, const struct row_table_shape *table)
{
    return fnmatch(rule->match, table->name, 0) == 0;
}

struct job_table_rule table_rule_of(const struct job *job, const struct row_table_shape *table)
{
    assert(job->train.table_rule_count <= JOB_RULES_MAX);
    for (uint32_t i = 0; i < job->train.table_rule_count; i++) {
        const struct job_table_rule *rule = &job->train.table_rules[i];
        if (matches(rule, table)) { return *rule; }
    }
    return (struct job_table_rule){.expire_after_steps = 0};
}

static bool matches_any(const struct job_table_rule *rule, const struct variable_table *variables)
{
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        if (matches(rule, &variables->row_tables[t])) { return true; }
    }
    return false;
}

enum tn_status table_rules_check(const struct job *job, const struct variable_table *variables,
                                 struct error *error)
{
    const uint32_t tables = variables->row_table_count;
    for (uint32_t i = 0; i < job->train.table_rule_count; i++) {
        const char *match = job->train.table_rules[i].match;
        if (matches_any(&job->train.table_rules[i], variables)) { continue; }
        if (tables == 0) {
            return error_set(error, TN_EINVAL,
                             "train.tables[%" PRIu32 "].match is \"%s\", but the model has no "
                             "tables: remove it",
                             i, match);
        }
        return error_set(error, TN_EINVAL,
                         "train.tables[%" PRIu32 "].match is \"%s\", which matches none of the "
                         "model's tables (\"%s\" to \"%s\"): correct or remove it",
                         i, match, variables->row_tables[0].name,
                         variables->row_tables[tables - 1].name);
    }
    return TN_OK;
}
