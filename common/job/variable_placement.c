#include "common/job/variable_placement.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/strategy.h"

/* The ps of each variable, by the variable's number, while they are chosen. */
struct choice {
    const struct job *job;
    uint32_t ps_count;
    bool placed[VARIABLES_MAX];
    uint32_t ps[VARIABLES_MAX];
    uint64_t load[PS_MAX]; /* Parameters. */
};

static void put(struct choice *choice, const struct variable *variable, uint32_t ps)
{
    assert(ps < choice->ps_count && !choice->placed[variable->number]);
    choice->placed[variable->number] = true;
    choice->ps[variable->number] = ps;
    choice->load[ps] += variable->count;
}

/* The first rule whose pattern matches decides; without one, the variable's device. */
static uint32_t pinned_to(const struct job *job, const struct variable *variable)
{
    for (uint32_t i = 0; i < job->placement.rule_count; i++) {
        const struct job_placement_rule *rule = &job->placement.rules[i];
        if (fnmatch(rule->match, variable->name, 0) == 0) { return rule->ps + 1; }
    }
    return variable->pinned;
}

/* In a group, each ps has variables of one member. */
static bool may_have(const struct choice *choice, uint32_t ps, const struct variable *variable)
{
    return strategy_members(choice->job) == 1 ||
           strategy_member_of_ps(choice->job, ps) == variable->member;
}

static enum tn_status check_member(const struct choice *choice, const struct variable *variable,
                                   uint32_t ps, struct error *error)
{
    if (may_have(choice, ps, variable)) { return TN_OK; }
    const uint32_t members = strategy_members(choice->job);
    return error_set(error, TN_EINVAL,
                     "variable '%s' is to be on ps:%" PRIu32
                     ", which has variables of member %" PRIu32 " of the group, but member %" PRIu32
                     " reads it: give a ps P with P %% %" PRIu32 " = %" PRIu32,
                     variable->name, ps, ps % members, variable->member, members, variable->member);
}

static enum tn_status check_rules(const struct variable_table *table, const struct job *job,
                                  struct error *error)
{
    assert(job->placement.rule_count <= JOB_RULES_MAX);
    for (uint32_t i = 0; i < job->placement.rule_count; i++) {
        bool used = false;
        for (uint32_t v = 0; v < table->count && !used; v++) {
            used = fnmatch(job->placement.rules[i].match, table->variables[v].name, 0) == 0;
        }
        if (used) { continue; }
        return error_set(error, TN_EINVAL,
                         "placement.variables[%" PRIu32 "].match is \"%s\", which matches none of "
                         "the model's variables (\"%s\" to \"%s\"): correct or remove it",
                         i, job->placement.rules[i].match, table->variables[0].name,
                         table->variables[table->count - 1].name);
    }
    return TN_OK;
}

static enum tn_status put_pinned(struct choice *choice, const struct variable_table *table,
                                 const struct job *job, struct error *error)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct variable *variable = &table->variables[i];
        uint32_t pinned = pinned_to(job, variable);
        if (pinned == 0) { continue; }
        if (pinned > choice->ps_count) {
            return error_set(error, TN_EINVAL,
                             "variable '%s' is to be on ps:%" PRIu32 ", but cluster.ps is %" PRIu32
                             ": give a smaller index, or more ps",
                             variable->name, pinned - 1, choice->ps_count);
        }
        if (job->placement.strategy == PLACEMENT_RANGES) {
            return error_set(
                error, TN_EINVAL,
                "variable '%s' is to be on ps:%" PRIu32
                ", but placement.strategy \"ranges\" cuts variables: give \"greedy\" or "
                "\"round_robin\"",
                variable->name, pinned - 1);
        }
        const enum tn_status status = check_member(choice, variable, pinned - 1, error);
        if (status != TN_OK) { return status; }
        put(choice, variable, pinned - 1);
    }
    return TN_OK;
}

static void put_in_turn(struct choice *choice, const struct variable_table *table)
{
    uint32_t next[GROUP_TASKS_MAX] = {0}; /* By member. */
    for (uint32_t i = 0; i < table->count; i++) {
        const struct variable *variable = &table->variables[i];
        uint32_t *ps = &next[variable->member];
        if (choice->placed[variable->number]) { continue; }
        while (!may_have(choice, *ps % choice->ps_count, variable)) { ++*ps; }
        put(choice, variable, (*ps)++ % choice->ps_count);
    }
}

static uint32_t least_loaded(const struct choice *choice, const struct variable *variable)
{
    uint32_t least = choice->ps_count;
    for (uint32_t p = 0; p < choice->ps_count; p++) {
        if (!may_have(choice, p, variable)) { continue; }
        if (least == choice->ps_count || choice->load[p] < choice->load[least]) { least = p; }
    }
    return least;
}

/* Larger ones first; equal ones in their order. */
static int by_size(const void *left, const void *right)
{
    const struct variable *a = *(const struct variable *const *)left;
    const struct variable *b = *(const struct variable *const *)right;
    if (a->count != b->count) { return a->count > b->count ? -1 : 1; }
    return a->number < b->number ? -1 : a->number > b->number;
}

static void put_greedily(struct choice *choice, const struct variable_table *table)
{
    const struct variable *sorted[VARIABLES_MAX];
    for (uint32_t i = 0; i < table->count; i++) { sorted[i] = &table->variables[i]; }
    qsort(sorted, table->count, sizeof sorted[0], by_size);
    for (uint32_t i = 0; i < table->count; i++) {
        if (choice->placed[sorted[i]->number]) { continue; }
        put(choice, sorted[i], least_loaded(choice, sorted[i]));
    }
}

static enum tn_status check_loads(const struct choice *choice, const struct variable_table *table,
                                  struct error *error)
{
    for (uint32_t p = 0; p < choice->ps_count; p++) {
        if (choice->load[p] == 0 && strategy_members(choice->job) > 1) {
            return error_set(
                error, TN_EINVAL,
                "placement leaves ps:%" PRIu32 " without any variable, because member %" PRIu32
                " of the group reads too few: give layers with variables \"task\": "
                "%" PRIu32 ", or a smaller cluster.ps or strategy.members",
                p, strategy_member_of_ps(choice->job, p), strategy_member_of_ps(choice->job, p));
        }
        if (choice->load[p] == 0) {
            return error_set(error, TN_EINVAL,
                             "placement leaves ps:%" PRIu32 " without any of the model's %" PRIu32
                             " variables: give a smaller cluster.ps, or placement.strategy "
                             "\"ranges\"",
                             p, table->count);
        }
    }
    return TN_OK;
}

/* The variables ps by ps, in their order on each. */
static enum tn_status order(const struct choice *choice, struct variable_table *table,
                            struct error *error)
{
    struct variable *sorted = calloc(table->count, sizeof *sorted);
    if (sorted == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a placement"); }
    uint32_t count = 0;
    uint64_t offset = 0;
    table->shard_count = choice->ps_count;
    for (uint32_t p = 0; p < choice->ps_count; p++) {
        table->shard_first[p] = offset;
        for (uint32_t i = 0; i < table->count; i++) {
            const struct variable *variable = &table->variables[i];
            if (choice->ps[variable->number] != p) { continue; }
            sorted[count] = *variable;
            sorted[count++].offset = offset;
            offset += variable->count;
        }
    }
    assert(count == table->count && offset == table->parameter_count);
    table->shard_first[choice->ps_count] = offset;
    memcpy(table->variables, sorted, count * sizeof *sorted);
    free(sorted);
    return TN_OK;
}

enum tn_status variables_place(struct variable_table *table, const struct job *job,
                               struct error *error)
{
    assert(table->count >= 1 && table->shard_count == 0);
    struct choice choice = {.job = job, .ps_count = strategy_shards(job)};
    assert(choice.ps_count <= PS_MAX);
    enum tn_status status = check_rules(table, job, error);
    if (status == TN_OK) { status = put_pinned(&choice, table, job, error); }
    if (status != TN_OK || job->placement.strategy == PLACEMENT_RANGES) { return status; }
    if (job->placement.strategy == PLACEMENT_ROUND_ROBIN) {
        put_in_turn(&choice, table);
    } else {
        put_greedily(&choice, table);
    }
    status = check_loads(&choice, table, error);
    return status == TN_OK ? order(&choice, table, error) : status;
}
