#include "model/model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/job/strategy.h"
#include "common/job/variable_placement.h"
#include "graph/lookups.h"
#include "graph/training_cut.h"
#include "graph/variables.h"
#include "model/job_graph.h"
#include "model/table_training.h"
#include "model/warm_start.h"

/* The initial values of a table. TN_INIT_DEFAULT: none are given. */
static enum variable_init init_of(enum tn_init init)
{
    switch (init) {
    case TN_INIT_DEFAULT: /* tn_variable() replaces it. */
    case TN_INIT_ZEROS: break;
    case TN_INIT_ONES: return VARIABLE_ONES;
    case TN_INIT_GLOROT_UNIFORM: return VARIABLE_GLOROT_UNIFORM;
    case TN_INIT_HE_NORMAL: return VARIABLE_HE_NORMAL;
    case TN_INIT_NORMAL: return VARIABLE_NORMAL;
    case TN_INIT_UNIFORM: return VARIABLE_UNIFORM;
    case TN_INIT_VALUES: return VARIABLE_VALUES;
    }
    return VARIABLE_ZEROS;
}

static enum variable_update update_of(enum tn_update update)
{
    switch (update) {
    case TN_UPDATE_OPTIMIZER: break;
    case TN_UPDATE_AVERAGE: return VARIABLE_AVERAGED;
    case TN_UPDATE_NEVER: return VARIABLE_FROZEN;
    }
    return VARIABLE_OPTIMIZED;
}

static enum tn_status check_update(const struct graph_variable *variable, struct error *error)
{
    enum optimizer_kind kind;
    const struct tn_variable_options *options = &variable->options;
    if (options->optimizer != NULL && !optimizer_of_name(options->optimizer, &kind)) {
        return error_set(error, TN_EINVAL,
                         "variable '%s': there is no optimizer called \"%s\": see "
                         "train.optimizer in `tanist help job`",
                         variable->name, options->optimizer);
    }
    return TN_OK;
}

/* "/job:ps/task:1": ps 1. Other devices leave the choice. */
static uint32_t pinned_to(const char *device)
{
    uint32_t task = 0;
    return sscanf(device, "/job:ps/task:%" SCNu32, &task) == 1 && task < PS_MAX ? task + 1 : 0;
}

static enum tn_status add_variable(void *to, const struct graph_variable *variable,
                                   struct error *error)
{
    uint32_t shape[VARIABLE_RANK_MAX] = {1};
    uint32_t rank = variable->shape.rank;
    enum tn_status status = check_update(variable, error);
    if (status != TN_OK) { return status; }
    if (rank > VARIABLE_RANK_MAX) {
        return error_set(error, TN_EINVAL, "variable '%s' has rank %" PRIu32 ": give at most %d",
                         variable->name, rank, VARIABLE_RANK_MAX);
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (variable->shape.dims[d] > UINT32_MAX) {
            return error_set(error, TN_EINVAL,
                             "variable '%s': dimension %" PRIu32 " is %" PRId64 ": make it smaller",
                             variable->name, d, variable->shape.dims[d]);
        }
        shape[d] = (uint32_t)variable->shape.dims[d];
    }
    enum variable_init init = init_of(variable->options.init);
    bool scaled = init == VARIABLE_NORMAL || init == VARIABLE_UNIFORM;
    struct variable_table *table = to;
    status = variable_table_add(table, variable->name, rank == 0 ? 1 : rank, shape, init,
                                scaled ? variable->options.scale : 0, error);
    if (status != TN_OK) { return status; }
    struct variable *added = &table->variables[table->count - 1];
    added->update = update_of(variable->options.update);
    added->momentum = added->update == VARIABLE_AVERAGED ? variable->options.momentum : 0;
    if (variable->options.optimizer != NULL) {
        text_set(added->optimizer, sizeof added->optimizer, variable->options.optimizer);
    }
    added->values = variable->initial;
    added->values_digest = variable->initial_digest;
    added->pinned = pinned_to(variable->device);
    added->no_weight_decay = rank < 2 || variable->options.no_weight_decay;
    return TN_OK;
}

static enum tn_status add_table(void *to, const struct graph_table *table, struct error *error)
{
    struct model *model = to;
    struct variable_table *variables = &model->table;
    static_assert((int)ROW_TABLES_MAX == (int)TN_TABLES_MAX, "every table of a graph fits");
    assert(variables->row_table_count < ROW_TABLES_MAX);
    if (strlen(table->name) >= VARIABLE_NAME_MAX) {
        return error_set(error, TN_EINVAL,
                         "table '%s': the path has %zu characters: give at most %d", table->name,
                         strlen(table->name), VARIABLE_NAME_MAX - 1);
    }
    struct row_table_shape *added = &variables->row_tables[variables->row_table_count++];
    *added = (struct row_table_shape){
        .width = table->width,
        .rows = table->rows,
        .scale = table->scale,
        .keys = graph_table_keys(model->graph, table->name),
    };
    text_set(added->name, sizeof added->name, table->name);
    return TN_OK;
}

enum tn_status model_open_graph(struct tn_graph *graph, struct model **out, struct error *error)
{
    assert(graph != NULL && out != NULL);
    *out = NULL;
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL) {
        tn_graph_destroy(graph);
        return error_set(error, TN_ENOMEM, "out of memory for a model");
    }
    model->graph = graph;
    enum tn_status status = graph_variables(graph, add_variable, &model->table, error);
    if (status == TN_OK) { status = graph_tables(graph, add_table, model, error); }
    model->table.graph_hash = tn_graph_hash(graph);
    if (status == TN_OK && model->table.count == 0) {
        status = error_set(error, TN_EINVAL,
                           "the model has no variables, so nothing can be trained: add a layer "
                           "that has some");
    }
    if (status == TN_OK) {
        *out = model;
    } else {
        model_close(model);
    }
    return status;
}

/* Without ps, where no member needs a variable of its own. */
static enum tn_status check_parts(const struct tn_graph *graph, uint32_t members,
                                  struct error *error)
{
    struct training_cut cut = {.tasks = 0};
    bool has_part[PLACE_TASKS_MAX] = {false};
    enum tn_status status = training_cut_create(graph, members, &cut, error);
    for (uint32_t p = 0; p < cut.partition.part_count && status == TN_OK; p++) {
        has_part[cut.partition.parts[p].task] = true;
    }
    for (uint32_t m = 0; m < members && status == TN_OK; m++) {
        if (has_part[m]) { continue; }
        status =
            error_set(error, TN_EINVAL,
                      "member %" PRIu32 " of the group computes nothing: give a layer \"task\": "
                      "%" PRIu32 ", or a smaller strategy.members",
                      m, m);
    }
    training_cut_free(&cut);
    return status;
}

/* The member of a group that reads each variable. Other strategies load the checkpoints of groups,
 * if the model can have any. */
static enum tn_status find_members(struct model *model, const struct job *job, struct error *error)
{
    uint32_t members[VARIABLES_MAX] = {0};
    struct variable_table *table = &model->table;
    const bool in_group = strategy_members(job) > 1;
    if (!in_group && table->row_table_count > 0) { return TN_OK; }
    if (table->row_table_count > 0) {
        return error_set(error, TN_EINVAL,
                         "table '%s': strategy.type group does not support tables: give --set "
                         "strategy.type=ps, or layers \"embedding\"",
                         table->row_tables[0].name);
    }
    const uint32_t tasks = in_group ? strategy_members(job) : GROUP_TASKS_MAX;
    enum tn_status status = graph_variable_tasks(model->graph, tasks, members, error);
    if (!in_group && status == TN_EINVAL) { return TN_OK; }
    for (uint32_t i = 0; i < table->count && status == TN_OK; i++) {
        table->variables[i].member = members[i];
    }
    const bool has_ps = job->cluster.ps > 0;
    if (status == TN_OK && in_group && !has_ps) {
        status = check_parts(model->graph, tasks, error);
    }
    return status == TN_OK
               ? TN_OK
               : error_context(error, "strategy.members is %" PRIu32, strategy_members(job));
}

enum tn_status model_open(const struct job *job, struct model **out, struct error *error)
{
    struct tn_graph *graph = NULL;
    assert(job != NULL && out != NULL);
    *out = NULL;
    enum tn_status status = job_graph_create(job, &graph, error);
    if (status == TN_OK) { status = warm_start_apply(job, graph, error); }
    if (status != TN_OK) {
        tn_graph_destroy(graph);
        return status;
    }
    status = model_open_graph(graph, out, error);
    if (status == TN_OK && (*out)->table.row_table_count > 0) {
        status = table_training_check(job, (*out)->table.row_tables[0].name, error);
    }
    if (status == TN_OK) { status = find_members(*out, job, error); }
    if (status == TN_OK) { status = variables_place(&(*out)->table, job, error); }
    if (status != TN_OK) {
        model_close(*out);
        *out = NULL;
    }
    return status;
}

void model_close(struct model *model)
{
    if (model == NULL) { return; }
    tn_graph_destroy(model->graph);
    free(model);
}

enum tn_status model_describe(const struct job *job, struct variable_table *table,
                              struct error *error)
{
    struct model *model = NULL;
    assert(table != NULL);
    memset(table, 0, sizeof *table);
    enum tn_status status = model_open(job, &model, error);
    if (status == TN_OK) { *table = model->table; }
    for (uint32_t i = 0; i < table->count; i++) { table->variables[i].values = NULL; }
    model_close(model);
    return status;
}
