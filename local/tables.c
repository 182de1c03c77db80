#include "local/tables.h"

#include <assert.h>

static void read_rows(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count, float *out)
{
    const struct tables *tables = ctx;
    assert(table < tables->set.count);
    const struct row_table *rows = tables->set.tables[table];
    row_table_read(rows, row_table_step(rows), keys, count, out);
}

enum tn_status tables_open(struct tables *tables, const struct job *job, const struct model *model,
                           struct error *error)
{
    *tables = (struct tables){0};
    if (model->table.row_table_count == 0) { return TN_OK; }
    tables->source = (struct row_source){.read = read_rows, .ctx = tables};
    return row_set_open(&tables->set, job, &model->table, (struct row_part){.ps_count = 0}, false,
                        (struct cell_owner){.arena = NULL}, error);
}

void tables_close(struct tables *tables)
{
    row_set_close(&tables->set);
    *tables = (struct tables){0};
}

enum tn_status tables_apply(struct tables *tables, uint64_t step, const struct row_sums *gradients,
                            struct error *error)
{
    enum tn_status status = row_set_apply(&tables->set, step, gradients, error);
    if (status == TN_OK) { row_set_release(&tables->set, step + 1); }
    return status;
}
