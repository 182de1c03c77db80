#include "common/job/variable_order.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"
#include "common/job/strategy.h"
#include "common/job/variable_placement.h"

/* A search. */
struct search {
    const struct manifest *manifest;
    uint32_t members; /* A group of the model has as many; 1: it cannot have any. */
    struct job job;   /* With the placement that is tried. */
    struct variable_table plain, tried;
};

/* As variable_table_add() and the model made it. */
static void undo_placement(const struct variable_table *placed, struct variable_table *out)
{
    uint64_t offset = 0;
    *out = *placed;
    out->shard_count = 0;
    for (uint32_t i = 0; i < placed->count; i++) {
        out->variables[placed->variables[i].number] = placed->variables[i];
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->variables[i].offset = offset;
        offset += out->variables[i].count;
    }
}

/* Every member of a group has variables. */
static uint32_t members_of(const struct variable_table *variables)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < variables->count; i++) {
        last = u32_max(last, variables->variables[i].member);
    }
    return last + 1;
}

static bool is_order_of(const struct search *search, const struct variable_table *table)
{
    return variable_table_hash(table) == search->manifest->variables_hash;
}

static bool try_placement(struct search *search, enum placement_strategy placement, uint32_t ps,
                          uint32_t members)
{
    struct error ignored;
    struct job *job = &search->job;
    if (members > ps) { return false; }
    job->placement.strategy = placement;
    job->cluster.ps = ps;
    job->strategy.type = members > 1 ? STRATEGY_TYPE_GROUP : STRATEGY_TYPE_PS;
    job->strategy.members = members;
    search->tried = search->plain;
    return variables_place(&search->tried, job, &ignored) == TN_OK &&
           is_order_of(search, &search->tried);
}

static bool try_ps(struct search *search, uint32_t ps)
{
    static const enum placement_strategy placements[] = {PLACEMENT_GREEDY, PLACEMENT_ROUND_ROBIN};
    for (size_t i = 0; i < sizeof placements / sizeof placements[0]; i++) {
        if (try_placement(search, placements[i], ps, 1)) { return true; }
        if (search->members > 1 && try_placement(search, placements[i], ps, search->members)) {
            return true;
        }
    }
    return false;
}

/* A run in one process writes one shard, in the order of as many ps as its job names. */
static bool find(struct search *search)
{
    search->tried = search->plain;
    if (is_order_of(search, &search->tried)) { return true; }
    if (try_ps(search, search->manifest->shard_count)) { return true; }
    for (uint32_t ps = 2; search->manifest->shard_count == 1 && ps <= PS_MAX; ps++) {
        if (try_ps(search, ps)) { return true; }
    }
    return false;
}

enum tn_status variable_order_of(const struct manifest *manifest, const struct job *job,
                                 const struct variable_table *variables, struct variable_move *out,
                                 uint32_t *count, struct error *error)
{
    *count = 0;
    assert(variables->count >= 1);
    if (manifest->parameter_count != variables->parameter_count) {
        return error_set(error, TN_EINVAL, "it holds another model");
    }
    if (manifest->variables_hash == variable_table_hash(variables)) { return TN_OK; }
    struct search *search = malloc(sizeof *search);
    if (search == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a placement"); }
    search->manifest = manifest;
    search->members = members_of(variables);
    search->job = *job;
    undo_placement(variables, &search->plain);
    enum tn_status status = TN_OK;
    if (!find(search)) {
        status = error_set(error, TN_EINVAL,
                           "it holds other variables or initial values, or an order that no "
                           "placement of the job gives");
    } else if (out != NULL) {
        *count = variable_moves_between(&search->tried, variables, out);
    }
    free(search);
    return status;
}
