/* cli/run/plan.c: `tanist plan`: which ps owns which part of a job's parameters, and how even that
 * is. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/validate.h"
#include "cli/table.h"
#include "common/base/minmax.h"
#include "kernels/optimizer.h"
#include "model/model.h"

static const char *const formats[] = {"table", "json", NULL};

struct view {
    struct job job;
    struct variable_table *variables; /* Owned. */
    uint32_t arrays;                  /* The values, and the optimizer's state. */
};

/* The part of a variable that lies in a shard; 0: none. */
static uint64_t part_of(const struct variable *variable, const struct placement *shard)
{
    uint64_t from = u64_max(variable->offset, shard->first);
    uint64_t to = u64_min(variable->offset + variable->count, shard->first + shard->count);
    return to > from ? to - from : 0;
}

static struct placement shard_of(const struct view *view, uint32_t ps)
{
    return variable_table_shard(view->variables, view->job.cluster.ps, ps);
}

static uint64_t bytes_of(const struct placement *shard)
{
    return shard->count * sizeof(float);
}

/* The surplus of the largest shard over the mean: 0.1 is 10 %. */
static double imbalance(const struct view *view)
{
    uint64_t most = 0;
    for (uint32_t p = 0; p < view->job.cluster.ps; p++) {
        most = u64_max(most, shard_of(view, p).count);
    }
    double mean = (double)view->variables->parameter_count / view->job.cluster.ps;
    assert(mean > 0);
    return (double)most / mean - 1;
}

static int print_table(const struct view *view)
{
    static const struct table_column columns[] = {
        {"PS", TABLE_LEFT},     {"VARIABLES", TABLE_RIGHT},  {"PARAMETERS", TABLE_RIGHT},
        {"BYTES", TABLE_RIGHT}, {"WITH STATE", TABLE_RIGHT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t p = 0; p < view->job.cluster.ps; p++) {
        struct placement shard = shard_of(view, p);
        uint32_t variables = 0;
        for (uint32_t i = 0; i < view->variables->count; i++) {
            variables += part_of(&view->variables->variables[i], &shard) > 0;
        }
        table_cell(&table, "ps:%" PRIu32, p);
        table_cell(&table, "%" PRIu32, variables);
        table_cell(&table, "%" PRIu64, shard.count);
        table_cell(&table, "%" PRIu64, bytes_of(&shard));
        table_cell(&table, "%" PRIu64, bytes_of(&shard) * view->arrays);
    }
    if (!table_print(&table, stdout)) { return TN_EXIT_IO; }
    int written =
        printf("\n%" PRIu64 " parameters by placement.strategy \"%s\"; the largest shard "
               "has %.2f %% more than the mean\n",
               view->variables->parameter_count,
               placement_strategy_name(view->job.placement.strategy), 100 * imbalance(view));
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static json_t *shard_json(const struct view *view, uint32_t ps)
{
    struct placement shard = shard_of(view, ps);
    json_t *variables = json_array();
    for (uint32_t i = 0; i < view->variables->count; i++) {
        const struct variable *variable = &view->variables->variables[i];
        uint64_t parameters = part_of(variable, &shard);
        if (parameters == 0) { continue; }
        json_array_append_new(variables, json_pack("{s:s, s:I}", "name", variable->name,
                                                   "parameters", (json_int_t)parameters));
    }
    return json_pack("{s:i, s:I, s:I, s:I, s:o}", "ps", (int)ps, "parameters",
                     (json_int_t)shard.count, "bytes", (json_int_t)bytes_of(&shard),
                     "bytes_with_state", (json_int_t)(bytes_of(&shard) * view->arrays), "variables",
                     variables);
}

static int print_json(const struct view *view)
{
    json_t *shards = json_array();
    for (uint32_t p = 0; p < view->job.cluster.ps; p++) {
        json_array_append_new(shards, shard_json(view, p));
    }
    return output_json(json_pack("{s:i, s:s, s:s, s:I, s:f, s:o}", "version", 1, "job",
                                 view->job.name, "strategy",
                                 placement_strategy_name(view->job.placement.strategy),
                                 "parameters", (json_int_t)view->variables->parameter_count,
                                 "imbalance", imbalance(view), "shards", shards),
                       JSON_INDENT(2));
}

static enum tn_status read_job(struct view *view, const char *path,
                               const struct option_texts *settings, struct error *error)
{
    view->variables = calloc(1, sizeof *view->variables);
    if (view->variables == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = load_job(&view->job, path, settings, error);
    if (status == TN_OK) { status = model_describe(&view->job, view->variables, error); }
    if (status != TN_OK) { return status; }
    view->arrays = optimizer_of_job(&view->job, view->variables).arrays;
    return variable_table_check_ps(view->variables, view->job.cluster.ps, error);
}

int command_plan(int argc, char **argv)
{
    struct option_texts settings = {0};
    const char *format = formats[0];
    int exit_code = 0;
    struct error error = {0};
    struct view view = {0};
    struct options options = {
        .command = "plan",
        .synopsis = "JOB.json [OPTION]...",
        .about = "Show which ps would own which part of a job's parameters, and how even that is. "
                 "Nothing is trained.",
        .examples =
            "  tanist plan examples/transformer.json\n"
            "  tanist plan examples/transformer.json --set placement.strategy=greedy -o json\n",
        .arguments_least = 1,
        .arguments_most = 1};
    options_texts(&options, "set", &settings, "KEY=VALUE", "Replace a key of the job file.");
    options_choice(&options, 'o', "output", &format, formats, "Output format; default table.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    enum tn_status status = read_job(&view, options.arguments[0], &settings, &error);
    exit_code = status != TN_OK               ? command_failed(&error)
                : strcmp(format, "json") == 0 ? print_json(&view)
                                              : print_table(&view);
    free(view.variables);
    return exit_code;
}
