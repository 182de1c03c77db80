#include "common/job/table_rules.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/minmax.h"
#include "common/job/strategy.h"

/* The names that an error lists; each has quotes and a comma. */
enum { TABLES_LISTED = 6, TABLES_TEXT_MAX = TABLES_LISTED * (VARIABLE_NAME_MAX + 4) + 32 };

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

/* The names of the first tables, and the number of the others. */
static void list_tables(const struct variable_table *variables, char out[static TABLES_TEXT_MAX])
{
    const uint32_t tables = variables->row_table_count, listed = u32_min(tables, TABLES_LISTED);
    size_t used = 0;
    for (uint32_t t = 0; t < listed; t++) {
        used += (size_t)snprintf(out + used, TABLES_TEXT_MAX - used, "%s\"%s\"", t > 0 ? ", " : "",
                                 variables->row_tables[t].name);
    }
    if (tables == listed) { return; }
    (void)snprintf(out + used, TABLES_TEXT_MAX - used, " and %" PRIu32 " more", tables - listed);
}

static enum tn_status refuse(const struct job *job, uint32_t rule,
                             const struct variable_table *variables, struct error *error)
{
    const char *match = job->train.table_rules[rule].match;
    char names[TABLES_TEXT_MAX];
    if (variables->row_table_count == 0) {
        return error_set(error, TN_EINVAL,
                         "train.tables[%" PRIu32 "].match is \"%s\", but the model has no "
                         "tables: remove it",
                         rule, match);
    }
    list_tables(variables, names);
    return error_set(error, TN_EINVAL,
                     "train.tables[%" PRIu32 "].match is \"%s\", which matches none of the "
                     "model's tables (%s): correct or remove it",
                     rule, match, names);
}

static enum tn_status check_admission(const struct job *job, uint32_t rule, struct error *error)
{
    const struct job_table_rule *given = &job->train.table_rules[rule];
    if (given->admit_after > 1 && given->admit_within_steps == 0) {
        return error_set(error, TN_EINVAL,
                         "train.tables[%" PRIu32 "].admit_after is %" PRIu64
                         ", but admit_within_steps is missing: give the number of steps after "
                         "which a key that does not occur is no longer counted",
                         rule, given->admit_after);
    }
    if (given->admit_after <= 1 && given->admit_within_steps > 0) {
        return error_set(error, TN_EINVAL,
                         "train.tables[%" PRIu32 "].admit_within_steps is %" PRIu64
                         ", but no key is counted: give an admit_after of at least 2, or remove it",
                         rule, given->admit_within_steps);
    }
    return TN_OK;
}

/* In async mode the steps of a row are not exact: neither its age nor the number of steps in which
 * its key occurred is known. */
static enum tn_status check_mode(const struct job *job, uint32_t rule, struct error *error)
{
    const struct job_table_rule *given = &job->train.table_rules[rule];
    const bool needs_steps = given->expire_after_steps > 0 || given->admit_after > 1;
    if (!needs_steps || strategy_of_job(job)->exact_steps) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.tables[%" PRIu32 "] has %s, but train.mode is \"async\", in which rows "
                     "have no exact steps: remove it, or give train.mode \"sync\"",
                     rule, given->expire_after_steps > 0 ? "expire_after_steps" : "admit_after");
}

/* Counts of keys are tables, too. */
static enum tn_status check_count(const struct job *job, const struct variable_table *variables,
                                  struct error *error)
{
    uint32_t tables = variables->row_table_count;
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        tables += table_rule_of(job, &variables->row_tables[t]).admit_after > 1;
    }
    if (tables <= ROW_TABLES_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.tables has an admit_after for %" PRIu32 " of the model's %" PRIu32
                     " tables, but both numbers together may be at most %d: give it for fewer",
                     tables - variables->row_table_count, variables->row_table_count,
                     ROW_TABLES_MAX);
}

enum tn_status table_rules_check(const struct job *job, const struct variable_table *variables,
                                 struct error *error)
{
    for (uint32_t i = 0; i < job->train.table_rule_count; i++) {
        if (!matches_any(&job->train.table_rules[i], variables)) {
            return refuse(job, i, variables, error);
        }
        enum tn_status status = check_mode(job, i, error);
        if (status == TN_OK) { status = check_admission(job, i, error); }
        if (status != TN_OK) { return status; }
    }
    return check_count(job, variables, error);
}
