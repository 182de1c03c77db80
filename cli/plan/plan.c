/* cli/plan/plan.c: `tanist plan`: which ps owns which part of a job's parameters, how even that is,
 * and the memory that each task will need. Without ps, each worker has all parameters. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/plan/memory_check.h"
#include "cli/plan/memory_sharded.h"
#include "cli/plan/plan_tables.h"
#include "cli/plan/validate.h"
#include "cli/table.h"
#include "common/base/minmax.h"
#include "common/cluster/placement.h"
#include "common/job/strategy.h"
#include "kernels/optimizer.h"

static const char *const formats[] = {"table", "json", NULL};

struct view {
    struct job job;
    struct variable_table *variables; /* Owned. */
    uint32_t arrays;                  /* The values, and the optimizer's state. */
    struct memory_data data;
    struct memory_plan memory;
    struct sharded_memory sharded; /* A ps beside each worker of a job without ps. */
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
    if (view->job.cluster.ps == 0) { return 0; }
    uint64_t most = 0;
    for (uint32_t p = 0; p < view->job.cluster.ps; p++) {
        most = u64_max(most, shard_of(view, p).count);
    }
    double mean = (double)view->variables->parameter_count / view->job.cluster.ps;
    assert(mean > 0);
    return (double)most / mean - 1;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1024 * 1024);
}

/* In a group, one line for each member. */
static bool print_worker(const struct memory_plan *memory, uint32_t member)
{
    const struct worker_memory *worker = &memory->member[member];
    char name[32] = "workers";
    if (memory->members > 1) { snprintf(name, sizeof name, "member %" PRIu32, member); }
    assert(member < memory->members);
    char rows[32] = "", pinned[32] = "";
    const uint64_t bytes = worker->rows + worker->evaluated;
    if (bytes > 0) { snprintf(rows, sizeof rows, ", rows %.1f", mib(bytes)); }
    if (worker->pinned > 0) {
        snprintf(pinned, sizeof pinned, ", pinned %.1f", mib(worker->pinned));
    }
    return printf("memory of %s %.1f MiB each: values %.1f%s, gradients %.1f, programs %.1f, data "
                  "%.1f%s%s%s\n",
                  name, mib(memory_of_worker(worker)), mib(worker->values),
                  worker->shared > 0 ? " (pages of the ps)" : "", mib(worker->gradients),
                  mib(worker->programs), mib(worker->data),
                  memory->has_data ? "" : " (unknown: they cannot be opened here)", rows,
                  pinned) >= 0;
}

/* One line for each GPU of a worker. */
static bool print_gpu_memory(const struct job *job, const struct worker_memory *worker)
{
    for (uint32_t g = 0; job_has_gpus(job) && g < job->train.gpus; g++) {
        const struct gpu_memory *gpu = &worker->gpus[g];
        char sums[32] = "", cublas[32] = "";
        if (gpu->sums > 0) { snprintf(sums, sizeof sums, ", sums %.1f", mib(gpu->sums)); }
        if (gpu->cublas > 0) { snprintf(cublas, sizeof cublas, ", cuBLAS %.1f", mib(gpu->cublas)); }
        if (printf("on its GPU %" PRIu32
                   "     %.1f MiB: values %.1f, gradients %.1f, results of operations "
                   "%.1f, examples %.1f%s%s\n",
                   g, mib(memory_of_gpu(gpu)), mib(gpu->values), mib(gpu->gradients),
                   mib(gpu->results), mib(gpu->examples), sums, cublas) < 0) {
            return false;
        }
    }
    return true;
}

/* Prints nothing if all nodes compute on CPUs. */
static bool print_gpus(const struct job *job)
{
    if (job_ps_has_gpu(job) && printf("GPUs: one for each ps, that of ps:0 is /gpu:0, that of ps:1 "
                                      "the next one of its host\n") < 0) {
        return false;
    }
    if (!job_has_gpus(job)) { return true; }
    if (job->train.gpus == 1) {
        return printf("GPUs: one for each worker, that of worker:0 is /gpu:0, that of worker:1 the "
                      "next one of its host\n") >= 0;
    }
    return printf("GPUs: %" PRIu32 " for each worker, those of worker:0 are /gpu:0 to /gpu:%" PRIu32
                  ", those of worker:1 the next ones of its host\n",
                  job->train.gpus, job->train.gpus - 1) >= 0;
}

static int print_memory(const struct job *job, const struct memory_plan *memory)
{
    const struct ps_memory *ps = &memory->ps[0];
    int written = 0;
    char rows[48] = "", gpu[80] = "";
    if (ps->device > 0) {
        snprintf(gpu, sizeof gpu, ", pinned %.1f; on its GPU %.1f MiB", mib(ps->pinned),
                 mib(ps->device));
    }
    if (ps->rows > 0) { snprintf(rows, sizeof rows, ", rows of tables %.1f", mib(ps->rows)); }
    if (memory->ps_count > 0) {
        written = printf("memory of ps:0    %.1f MiB: values %.1f, state %.1f, next step %.1f, "
                         "pushed gradients %.1f, frames %.1f, while saving %.1f%s%s\n",
                         mib(memory_of_ps(ps)), mib(ps->values), mib(ps->state), mib(ps->next),
                         mib(ps->pushed), mib(ps->frames), mib(ps->saving), rows, gpu);
    }
    if (written < 0 || !print_gpus(job)) { return TN_EXIT_IO; }
    for (uint32_t m = 0; m < memory->members; m++) {
        if (!print_worker(memory, m)) { return TN_EXIT_IO; }
    }
    if (!print_gpu_memory(job, &memory->worker)) { return TN_EXIT_IO; }
    written =
        printf("all tasks on one machine: %.1f MiB, of which shared by nodes to exchange frames "
               "%.1f; this machine has %.1f MiB\n",
               mib(memory_of_all(memory)), mib(memory->lanes_bytes), mib(memory_of_machine()));
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static int print_replicas(const struct view *view)
{
    char workers[JOB_WORKERS_TEXT_MAX];
    job_workers_text(&view->job, workers);
    int written = printf("%" PRIu64 " parameters, which each of the %s workers has, with the state "
                         "of the optimizer; the job runs no ps\n\n",
                         view->variables->parameter_count, workers);
    if (written < 0 || print_memory(&view->job, &view->memory) != TN_EXIT_OK) { return TN_EXIT_IO; }
    const struct sharded_memory *sharded = &view->sharded;
    if (sharded->ps == 0 || sharded->host >= memory_of_worker(&view->memory.worker)) {
        return TN_EXIT_OK;
    }
    written = printf("with --set strategy.type=ps --set cluster.ps=%" PRIu32
                     " a worker and a ps need %.1f MiB: each ps has 1/%" PRIu32 " of the state\n",
                     sharded->ps, mib(sharded->host), sharded->ps);
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static int print_shards(const struct view *view)
{
    static const struct table_column columns[] = {
        {"PS", TABLE_LEFT},     {"VARIABLES", TABLE_RIGHT},  {"PARAMETERS", TABLE_RIGHT},
        {"BYTES", TABLE_RIGHT}, {"WITH STATE", TABLE_RIGHT}, {"MEMORY", TABLE_RIGHT},
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
        table_cell(&table, "%.1f MiB", mib(memory_of_ps(&view->memory.ps[p])));
    }
    if (!table_print(&table, stdout)) { return TN_EXIT_IO; }
    int written =
        printf("\n%" PRIu64 " parameters by placement.strategy \"%s\"; the largest shard "
               "has %.2f %% more than the mean\n\n",
               view->variables->parameter_count,
               placement_strategy_name(view->job.placement.strategy), 100 * imbalance(view));
    if (written < 0 || print_memory(&view->job, &view->memory) != TN_EXIT_OK) { return TN_EXIT_IO; }
    return plan_tables_print(&view->job, view->variables, &view->memory) ? TN_EXIT_OK : TN_EXIT_IO;
}

static json_t *worker_json(const struct worker_memory *worker)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total",
                     (json_int_t)memory_of_worker(worker), "values", (json_int_t)worker->values,
                     "shared", (json_int_t)worker->shared, "gradients",
                     (json_int_t)worker->gradients, "programs", (json_int_t)worker->programs,
                     "pinned", (json_int_t)worker->pinned, "data", (json_int_t)worker->data, "rows",
                     (json_int_t)(worker->rows + worker->evaluated), "evaluated_rows",
                     (json_int_t)worker->evaluated);
}

/* By GPU of a worker. */
static json_t *gpus_json(const struct job *job, const struct worker_memory *worker)
{
    if (!job_has_gpus(job)) { return NULL; }
    json_t *gpus = json_array();
    for (uint32_t g = 0; g < job->train.gpus; g++) {
        const struct gpu_memory *gpu = &worker->gpus[g];
        json_array_append_new(
            gpus, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total",
                            (json_int_t)memory_of_gpu(gpu), "values", (json_int_t)gpu->values,
                            "gradients", (json_int_t)gpu->gradients, "results",
                            (json_int_t)gpu->results, "examples", (json_int_t)gpu->examples, "sums",
                            (json_int_t)gpu->sums, "cublas", (json_int_t)gpu->cublas));
    }
    return gpus;
}

static json_t *ps_json(const struct ps_memory *ps)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total",
                     (json_int_t)memory_of_ps(ps), "values", (json_int_t)ps->values, "state",
                     (json_int_t)ps->state, "next_step", (json_int_t)ps->next, "pushed",
                     (json_int_t)ps->pushed, "frames", (json_int_t)ps->frames, "saving",
                     (json_int_t)ps->saving, "rows", (json_int_t)ps->rows, "pinned",
                     (json_int_t)ps->pinned, "device", (json_int_t)ps->device);
}

static json_t *memory_json(const struct job *job, const struct memory_plan *memory,
                           const struct sharded_memory *sharded)
{
    json_t *members = memory->members > 1 ? json_array() : NULL;
    for (uint32_t m = 0; m < memory->members && members != NULL; m++) {
        json_array_append_new(members, worker_json(&memory->member[m]));
    }
    json_t *beside = sharded->ps == 0 ? NULL
                                      : json_pack("{s:i, s:I}", "ps", (int)sharded->ps, "host",
                                                  (json_int_t)sharded->host);
    return json_pack("{s:o, s:o*, s:o*, s:o*, s:I, s:I, s:I}", "worker",
                     worker_json(&memory->worker), "gpus", gpus_json(job, &memory->worker),
                     "members", members, "sharded", beside, "lanes",
                     (json_int_t)memory->lanes_bytes, "all_tasks",
                     (json_int_t)memory_of_all(memory), "machine", (json_int_t)memory_of_machine());
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
    return json_pack("{s:i, s:I, s:I, s:I, s:o, s:o}", "ps", (int)ps, "parameters",
                     (json_int_t)shard.count, "bytes", (json_int_t)bytes_of(&shard),
                     "bytes_with_state", (json_int_t)(bytes_of(&shard) * view->arrays), "memory",
                     ps_json(&view->memory.ps[ps]), "variables", variables);
}

static int print_json(const struct view *view)
{
    json_t *shards = json_array();
    for (uint32_t p = 0; p < view->job.cluster.ps; p++) {
        json_array_append_new(shards, shard_json(view, p));
    }
    const bool has_rows = view->variables->row_table_count > 0 && view->job.cluster.ps > 0;
    const uint32_t together = plan_tables_shared_workers(&view->job, view->variables);
    json_t *rows = has_rows ? json_pack("{s:f, s:o}", "imbalance",
                                        plan_tables_imbalance(&view->job), "workers_per_process",
                                        together > 0 ? json_integer(together) : json_null())
                            : json_null();
    json_t *gpus =
        job_has_gpus(&view->job) ? json_integer((json_int_t)view->job.train.gpus) : json_null();
    return output_json(
        json_pack("{s:i, s:s, s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o}", "version", 1, "job",
                  view->job.name, "strategy", placement_strategy_name(view->job.placement.strategy),
                  "parameters", (json_int_t)view->variables->parameter_count, "imbalance",
                  imbalance(view), "shards", shards, "tables",
                  plan_tables_json(&view->job, view->variables, &view->memory), "rows", rows,
                  "gpus", gpus, "memory", memory_json(&view->job, &view->memory, &view->sharded)),
        JSON_INDENT(2));
}

/* A job in one process ignores its number of ps, which may be more than a cluster could have.
 * Whole variables were placed on as many as there are. */
static void limit_ps(struct job *job, const struct variable_table *variables)
{
    if (strategy_of_job(job)->on_cluster || job->cluster.ps == 0) { return; }
    if (variables->shard_count > 0) { return; }
    const uint64_t most = u64_max(placement_ps_max(variables->parameter_count), 1);
    job->cluster.ps = (uint32_t)u64_min(job->cluster.ps, most);
}

static enum tn_status read_job(struct view *view, const char *path,
                               const struct option_texts *settings, struct error *error)
{
    view->variables = calloc(1, sizeof *view->variables);
    if (view->variables == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = load_job(&view->job, path, settings, error);
    if (status == TN_OK) { status = validate_model(&view->job, view->variables, error); }
    if (status != TN_OK) { return status; }
    limit_ps(&view->job, view->variables);
    view->arrays = optimizer_of_job(&view->job, view->variables).arrays;
    status = memory_data_open(&view->job, &view->data, error);
    if (status != TN_OK) { return status; }
    status = memory_plan_make(&view->job, view->variables, &view->data, &view->memory, error);
    if (status != TN_OK) { return status; }
    return memory_sharded_make(&view->job, view->variables, &view->data, &view->sharded, error);
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
        .about =
            "Show which ps would own which part of a job's parameters, how even that is, and the "
            "memory\nof each task. Nothing is trained.",
        .examples =
            "  tanist plan examples/transformer.json\n"
            "  tanist plan examples/transformer.json --set placement.strategy=greedy -o json\n",
        .arguments_least = 1,
        .arguments_most = 1};
    options_settings(&options, &settings);
    options_choice(&options, 'o', "output", &format, formats, "Output format; default table.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    enum tn_status status = read_job(&view, options.arguments[0], &settings, &error);
    exit_code = status != TN_OK               ? command_failed(&error)
                : strcmp(format, "json") == 0 ? print_json(&view)
                : view.job.cluster.ps > 0     ? print_shards(&view)
                                              : print_replicas(&view);
    free(view.variables);
    return exit_code;
}
