#include "cli/plan/memory_plan_tables.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/cluster/row_owner.h"
#include "common/job/strategy.h"
#include "common/job/table_rules.h"
#include "model/slice_rows.h"
#include "ps/table/row_set.h"
#include "worker/compute.h"
#include "worker/row_lookup.h"

enum {
    SAVED_BYTES = 16,   /* The place of a row in the list of a save. */
    CHANGED_BYTES = 12, /* In the list of changed rows, which has up to twice the room it needs. */
    RETIRED_BYTES = 24, /* The places in lists of a version that a newer one has replaced. */
    KEY_BYTES = sizeof(uint64_t),
    SLOW_STEPS = 2, /* Steps after which the memory of an expired row is used again. */
    HUGE_PAGE_BYTES = 2 << 20,
};

/* The product, or the greatest number. */
static uint64_t product(uint64_t a, uint64_t b)
{
    return b > 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* ------------------------------------------------------------ numbers of rows */

static uint64_t keys_of(const struct memory_data *data, const struct key_growth *growth,
                        uint64_t examples)
{
    return key_growth_at(growth, data->certain ? u64_min(examples, growth->examples) : examples);
}

/* The different examples that all steps train. */
static uint64_t trained_examples(const struct job *job, const struct memory_data *data)
{
    const uint64_t drawn = product(job->train.steps, job->train.batch);
    return data != NULL && data->known ? u64_min(drawn, data->trained) : drawn;
}

/* The number of examples whose rows exist at the same time. */
static uint64_t live_examples(const struct job *job, const struct job_table_rule *rule,
                              uint64_t trained)
{
    const uint64_t steps = rule->expire_after_steps;
    if (steps == 0) { return trained; }
    return u64_min(trained, product(steps + SLOW_STEPS, job->train.batch));
}

static struct table_rows rows_of(const struct job *job, const struct row_table_shape *table,
                                 const struct memory_data *data, const struct key_growth *growth,
                                 uint32_t pushes)
{
    const struct job_table_rule rule = table_rule_of(job, table);
    const uint64_t trained = trained_examples(job, data);
    const uint64_t live = live_examples(job, &rule, trained);
    const uint64_t after = u64_max(rule.admit_after, 1);
    const uint64_t limit = table->rows > 0 ? table->rows : UINT64_MAX;
    struct table_rows rows = {.most = u64_min(limit, product(live, table->keys) / after)};
    rows.most = u64_min(rows.most, product(trained, table->keys));
    if (growth == NULL) { return rows; }
    const uint64_t counted = product(rule.admit_within_steps + SLOW_STEPS, job->train.batch);
    rows.expected = u64_min(rows.most, keys_of(data, growth, live));
    const uint64_t step = u64_min(trained, job->train.batch);
    rows.step = u64_min(limit, keys_of(data, growth, step));
    const uint64_t push = pushes > 0 ? (step + pushes - 1) / pushes : 0;
    rows.push = u64_min(rows.step, keys_of(data, growth, push));
    if (after == 1) { return rows; }
    if (data->certain) { rows.expected = 0; } /* Each key may be used less often. */
    rows.counts = u64_min(limit, keys_of(data, growth, u64_min(trained, counted)));
    return rows;
}

/* ------------------------------------------------------------------------ ps */

/* The bytes of a table on a ps that has `buckets` of the buckets. */
static uint64_t bytes_on_ps(const struct job *job, const struct row_table_shape *table,
                            const struct table_rows *rows, uint64_t buckets)
{
    const bool expires = table_rule_of(job, table).expire_after_steps > 0;
    const uint64_t row = row_set_row_bytes(job, table);
    const uint64_t lists = SAVED_BYTES + (expires ? 0 : CHANGED_BYTES);
    const uint64_t count = row_set_counts_size(job, table).bytes + SAVED_BYTES;
    const uint64_t all = rows->expected * (row + lists) + rows->counts * count +
                         2 * rows->step * (row + RETIRED_BYTES);
    const uint64_t bytes = (all * buckets + ROW_BUCKETS - 1) / ROW_BUCKETS;
    return bytes > HUGE_PAGE_BYTES ? bytes + HUGE_PAGE_BYTES / 2 : bytes;
}

/* The pushed gradients of rows, and their sum. */
static uint64_t pushed_on_ps(const struct row_table_shape *table, const struct table_rows *rows,
                             uint32_t pushes, uint64_t buckets)
{
    const uint64_t row = KEY_BYTES + table->width * sizeof(float);
    return (rows->push * pushes + rows->step) * row * buckets / ROW_BUCKETS;
}

static void plan_ps(const struct job *job, const struct variable_table *variables,
                    struct memory_plan *plan)
{
    const uint64_t most = (uint64_t)job->cluster.table_mib << 20;
    for (uint32_t p = 0; p < plan->ps_count; p++) {
        const struct row_part part = row_part_of(&job->placement.rows, plan->ps_count, p);
        const uint64_t buckets = part.end - part.first;
        uint64_t bytes = 0, pushed = 0;
        for (uint32_t t = 0; t < variables->row_table_count; t++) {
            const struct row_table_shape *table = &variables->row_tables[t];
            bytes += bytes_on_ps(job, table, &plan->tables[t], buckets);
            pushed += pushed_on_ps(table, &plan->tables[t], plan->pushes, buckets);
        }
        plan->ps[p].rows = (most > 0 ? u64_min(bytes, most) : bytes) + pushed;
    }
}

/* -------------------------------------------------------------------- workers */

/* The slices of the worker with the most. */
static uint32_t slices_of_worker(const struct job *job)
{
    const uint32_t workers = job_workers_least(job);
    return (job->train.slices + workers - 1) / workers;
}

/* The most examples of `slices` slices. */
static uint64_t examples_of(const struct job *job, uint64_t slices)
{
    return u64_min(job->train.batch, slices * compute_slice_examples(job));
}

/* The gradients of rows in a worker that trains `rows` rows in a step, of which the slices of each
 * thread read `part`: for each thread those of its sums and one more, and for several threads
 * another one for each, the sum of all, and the one before it, which is sent. */
static uint64_t gradients_of(const struct job *job, uint64_t rows, uint64_t part, uint32_t sums)
{
    const uint64_t threads = job_worker_threads(job);
    if (threads == 1) { return part * (sums + 1); }
    return part * (sums + 2 * threads) + 2 * rows;
}

/* A worker looks up the rows of its slices, and, if it has slice 0, those of the test set. */
static void plan_workers(const struct job *job, const struct variable_table *variables,
                         const struct memory_data *data, struct memory_plan *plan)
{
    const bool looks_up =
        job->cluster.ps > 0 && strategy_of_job(job)->on_cluster && strategy_members(job) == 1;
    if (!looks_up) { return; }
    const uint32_t slices = slices_of_worker(job), threads = job_worker_threads(job);
    const uint64_t examples = examples_of(job, slices);
    const uint64_t part = examples_of(job, (slices + threads - 1) / threads);
    struct worker_memory *worker = &plan->member[0];
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        const struct row_table_shape *table = &variables->row_tables[t];
        const uint64_t gradient = KEY_BYTES + table->width * sizeof(float);
        const uint64_t trained = keys_of(data, &data->trained_keys[t], examples);
        const uint64_t of_part = u64_min(trained, keys_of(data, &data->trained_keys[t], part));
        const uint64_t tested = keys_of(data, &data->evaluated_keys[t], data->evaluated);
        const uint64_t lookup = row_lookup_bytes_of(table->width, trained);
        worker->rows += lookup + gradient * gradients_of(job, trained, of_part, plan->sums);
        worker->evaluated += row_lookup_bytes_of(table->width, u64_max(tested, trained)) - lookup;
    }
    worker->rows += threads * slice_rows_bytes(variables, compute_slice_examples(job));
}

void memory_plan_add_data(const struct job *job, const struct variable_table *variables,
                          const struct memory_data *data, struct memory_plan *plan)
{
    const bool known = data != NULL && data->known;
    plan->has_data = known;
    for (uint32_t m = 0; m < plan->members && known; m++) { plan->member[m].data = data->bytes; }
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        plan->tables[t] = rows_of(job, &variables->row_tables[t], data,
                                  known ? &data->trained_keys[t] : NULL, plan->pushes);
    }
    if (!known) { return; }
    plan_ps(job, variables, plan);
    plan_workers(job, variables, data, plan);
}
