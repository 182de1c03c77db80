#include "cli/run/plan_tables.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/table.h"
#include "ps/table/row_set.h"

static double mib(uint64_t bytes)
{
    return (double)bytes / (1024 * 1024);
}

static void add_table(struct table *out, const struct job *job, const struct row_table_shape *table)
{
    const uint64_t each = row_set_row_bytes(job, table);
    table_cell(out, "%s", table->name);
    table_cell(out, "%" PRIu32, table->width);
    table_cell(out, "%" PRIu64, each);
    table_number(out, table->rows, table->rows > 0);
    if (table->rows > 0) {
        table_cell(out, "%.1f MiB", mib(table->rows * each));
    } else {
        table_no_value(out);
    }
}

bool plan_tables_print(const struct job *job, const struct variable_table *variables)
{
    static const struct table_column columns[] = {
        {"TABLE", TABLE_LEFT},      {"WIDTH", TABLE_RIGHT},      {"BYTES OF A ROW", TABLE_RIGHT},
        {"ROWS MOST", TABLE_RIGHT}, {"BYTES MOST", TABLE_RIGHT},
    };
    struct table out;
    if (variables->row_table_count == 0) { return true; }
    table_init(&out, columns, sizeof columns / sizeof *columns);
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        add_table(&out, job, &variables->row_tables[t]);
    }
    if (printf("\n") < 0 || !table_print(&out, stdout)) { return false; }
    int written = printf("\nrows take memory once they were trained, which is not counted above; "
                         "the %" PRIu32 " ps share them",
                         job->cluster.ps);
    if (written >= 0 && job->cluster.table_mib > 0) {
        written =
            printf(", each at most %" PRIu32 " MiB (cluster.table_mib)", job->cluster.table_mib);
    }
    return written >= 0 && printf("\n") >= 0;
}

static json_t *table_json(const struct job *job, const struct row_table_shape *table)
{
    const uint64_t each = row_set_row_bytes(job, table);
    const bool bounded = table->rows > 0;
    return json_pack("{s:s, s:I, s:I, s:o, s:o}", "name", table->name, "width",
                     (json_int_t)table->width, "row_bytes", (json_int_t)each, "rows",
                     bounded ? json_integer((json_int_t)table->rows) : json_null(), "bytes",
                     bounded ? json_integer((json_int_t)(table->rows * each)) : json_null());
}

json_t *plan_tables_json(const struct job *job, const struct variable_table *variables)
{
    json_t *tables = json_array();
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        json_array_append_new(tables, table_json(job, &variables->row_tables[t]));
    }
    return tables;
}
