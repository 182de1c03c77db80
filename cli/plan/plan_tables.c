#include "cli/plan/plan_tables.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/table.h"
#include "common/cluster/row_balance.h"
#include "common/job/job_strategy.h"
#include "common/job/strategy.h"
#include "ps/table/row_set.h"

/* All rows and counts; 0: the number of rows is not limited. */
static uint64_t most_bytes(const struct job *job, const struct row_table_shape *table)
{
    const struct row_counts_size counts = row_set_counts_size(job, table);
    if (table->rows == 0) { return 0; }
    return table->rows * row_set_row_bytes(job, table) + counts.most * counts.bytes;
}

/* An upper bound for the rows that can be trained, and the counts. */
static double bytes_bound(const struct job *job, const struct row_table_shape *table,
                          const struct table_rows *rows)
{
    const struct row_counts_size counts = row_set_counts_size(job, table);
    return (double)rows->most * (double)row_set_row_bytes(job, table) +
           (double)counts.most * (double)counts.bytes;
}

static void add_table(struct table *out, const struct job *job, const struct row_table_shape *table,
                      const struct table_rows *rows, bool counted)
{
    const struct row_counts_size counts = row_set_counts_size(job, table);
    table_cell(out, "%s", table->name);
    table_cell(out, "%" PRIu32, table->width);
    table_cell(out, "%" PRIu64, row_set_row_bytes(job, table));
    table_number(out, rows->expected, rows->expected > 0);
    table_cell(out, "%" PRIu64, rows->most);
    if (counted) {
        table_number(out, counts.bytes, counts.bytes > 0);
        table_number(out, counts.most, counts.bytes > 0);
    }
    table_cell(out, "%.1f MiB", bytes_bound(job, table, rows) / (1024 * 1024));
}

static bool print_list(const struct job *job, const struct variable_table *variables,
                       const struct memory_plan *plan)
{
    static const struct table_column plain[] = {
        {"TABLE", TABLE_LEFT},          {"WIDTH", TABLE_RIGHT},     {"BYTES OF A ROW", TABLE_RIGHT},
        {"ROWS EXPECTED", TABLE_RIGHT}, {"ROWS MOST", TABLE_RIGHT}, {"BYTES MOST", TABLE_RIGHT},
    };
    static const struct table_column with_counts[] = {
        {"TABLE", TABLE_LEFT},           {"WIDTH", TABLE_RIGHT},
        {"BYTES OF A ROW", TABLE_RIGHT}, {"ROWS EXPECTED", TABLE_RIGHT},
        {"ROWS MOST", TABLE_RIGHT},      {"OF A COUNT", TABLE_RIGHT},
        {"COUNTS MOST", TABLE_RIGHT},    {"BYTES MOST", TABLE_RIGHT},
    };
    struct table out;
    bool counted = false;
    for (uint32_t t = 0; t < variables->row_table_count && !counted; t++) {
        counted = row_set_counts_size(job, &variables->row_tables[t]).bytes > 0;
    }
    table_init(&out, counted ? with_counts : plain,
               counted ? sizeof with_counts / sizeof *with_counts : sizeof plain / sizeof *plain);
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        add_table(&out, job, &variables->row_tables[t], &plan->tables[t], counted);
    }
    return table_print(&out, stdout);
}

static int print_share(const struct job *job, const struct memory_plan *plan)
{
    int written =
        plan->has_data
            ? printf("\nROWS EXPECTED is estimated from the keys of at most %d examples, and part "
                     "of the memory above; ROWS MOST and BYTES MOST are upper bounds",
                     PLANNED_EXAMPLES)
            : printf("\nthe memory above is without rows: the data cannot be opened here; ROWS "
                     "MOST and BYTES MOST are upper bounds");
    if (written >= 0) { written = printf("; the %" PRIu32 " ps share them", job->cluster.ps); }
    if (written >= 0 && job->cluster.table_mib > 0) {
        written =
            printf(", each at most %" PRIu32 " MiB (cluster.table_mib)", job->cluster.table_mib);
    }
    return written >= 0 ? printf("\n") : written;
}

/* In async mode workers do not look up the rows of the same step. */
uint32_t plan_tables_shared_workers(const struct job *job, const struct variable_table *variables)
{
    struct job together = *job;
    together.cluster.workers_per_process = job->cluster.workers;
    const bool shares = variables->row_table_count > 0 && job->cluster.ps > 0 &&
                        strategy_of_job(job)->on_cluster && strategy_of_job(job)->exact_steps;
    if (!shares || job->cluster.workers == 1 || job->cluster.workers_per_process > 1) { return 0; }
    return job_check_workers_per_process(&together, NULL) == TN_OK ? job->cluster.workers : 0;
}

static bool print_advice(const struct job *job, const struct variable_table *variables)
{
    const uint32_t workers = plan_tables_shared_workers(job, variables);
    if (workers == 0) { return true; }
    return printf("each of the %" PRIu32
                  " worker processes asks for the rows of its slices; workers in "
                  "one process fetch each row of a step once: give --set "
                  "cluster.workers_per_process=%" PRIu32 ", or the number of workers of a host\n",
                  workers, workers) >= 0;
}

bool plan_tables_print(const struct job *job, const struct variable_table *variables,
                       const struct memory_plan *plan)
{
    if (variables->row_table_count == 0) { return true; }
    if (printf("\n") < 0 || !print_list(job, variables, plan)) { return false; }
    const int written = print_share(job, plan);
    if (written < 0 || job->cluster.ps == 0) { return written >= 0; }
    return print_advice(job, variables) &&
           printf(
               "placement.buckets: the largest part has %.2f times the mean of the 4096 buckets, "
               "and so of the keys; how often keys are used is measured (`tanist status`)\n",
               plan_tables_imbalance(job)) >= 0;
}

double plan_tables_imbalance(const struct job *job)
{
    uint64_t loads[ROW_BUCKETS];
    for (uint32_t b = 0; b < ROW_BUCKETS; b++) { loads[b] = 1; }
    return row_imbalance(loads, &job->placement.rows, job->cluster.ps);
}

static json_t *number_or_null(uint64_t number, bool known)
{
    return known ? json_integer((json_int_t)number) : json_null();
}

static json_t *table_json(const struct job *job, const struct row_table_shape *table,
                          const struct table_rows *rows, bool known)
{
    const struct row_counts_size counts = row_set_counts_size(job, table);
    const bool bounded = table->rows > 0, counted = counts.bytes > 0;
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name", table->name, "width",
        (json_int_t)table->width, "row_bytes", (json_int_t)row_set_row_bytes(job, table), "rows",
        number_or_null(table->rows, bounded), "count_bytes", number_or_null(counts.bytes, counted),
        "counts", number_or_null(counts.most, counted), "bytes",
        number_or_null(most_bytes(job, table), bounded), "expected_rows",
        number_or_null(rows->expected, known), "most_rows",
        number_or_null(rows->most, rows->most <= INT64_MAX));
}

json_t *plan_tables_json(const struct job *job, const struct variable_table *variables,
                         const struct memory_plan *plan)
{
    json_t *tables = json_array();
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        json_array_append_new(
            tables, table_json(job, &variables->row_tables[t], &plan->tables[t], plan->has_data));
    }
    return tables;
}
