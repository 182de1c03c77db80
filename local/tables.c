#include "local/tables.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "model/table_training.h"

static void read_rows(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count, float *out)
{
    const struct tables *tables = ctx;
    assert(table < tables->count);
    const struct row_table *rows = tables->tables[table];
    row_table_read(rows, row_table_step(rows), keys, count, out);
}

static enum tn_status open_table(const struct job *job, const struct model_table *table,
                                 enum sparse_kind optimizer, struct row_table **out,
                                 struct error *error)
{
    struct row_table_spec spec = {
        .width = table->width,
        .optimizer = optimizer,
        .seed = job->seed,
        .scale = table->scale,
    };
    text_set(spec.name, sizeof spec.name, table->name);
    return row_table_open(&spec, out, error);
}

enum tn_status tables_open(struct tables *tables, const struct job *job, const struct model *model,
                           struct error *error)
{
    *tables = (struct tables){.schedule = schedule_of_job(job)};
    if (model->table_count == 0) { return TN_OK; }
    tables->source = (struct row_source){.read = read_rows, .ctx = tables};
    tables->tables = calloc(model->table_count, sizeof(struct row_table *));
    tables->save_counts = calloc(model->table_count, sizeof *tables->save_counts);
    if (tables->tables == NULL || tables->save_counts == NULL) {
        tables_close(tables);
        return error_set(error, TN_ENOMEM, "out of memory for tables");
    }
    enum tn_status status = table_optimizer_of_job(job, &tables->optimizer, error);
    for (uint32_t t = 0; t < model->table_count && status == TN_OK; t++) {
        status =
            open_table(job, &model->tables[t], tables->optimizer.kind, &tables->tables[t], error);
        if (status == TN_OK) { tables->count++; }
    }
    if (status != TN_OK) { tables_close(tables); }
    return status;
}

void tables_close(struct tables *tables)
{
    if (tables->tables != NULL) {
        for (uint32_t t = 0; t < tables->count; t++) { row_table_close(tables->tables[t]); }
    }
    free(tables->tables);
    free(tables->save_counts);
    *tables = (struct tables){0};
}

enum tn_status tables_apply(struct tables *tables, uint64_t step, const struct row_sums *gradients,
                            struct error *error)
{
    const double rate = schedule_rate(&tables->schedule, step);
    assert(gradients->count == tables->count);
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < tables->count && status == TN_OK; t++) {
        const struct sparse_constants constants =
            sparse_constants_of(&tables->optimizer, rate, step);
        struct row_table *table = tables->tables[t];
        assert(row_table_step(table) == step);
        status = row_table_apply(table, &constants, row_sum_rows(&gradients->tables[t]), error);
        if (status == TN_OK) { row_table_release(table, step + 1); }
    }
    return status;
}

enum tn_status tables_digest(const struct tables *tables, struct digest dense, struct digest *out,
                             struct error *error)
{
    struct digest_stream stream;
    uint8_t bytes[DIGEST_BYTES];
    *out = dense;
    if (tables->count == 0) { return TN_OK; }
    digest_begin(&stream);
    digest_encode(dense, bytes);
    digest_add(&stream, bytes, sizeof bytes);
    for (uint32_t t = 0; t < tables->count; t++) {
        struct digest rows;
        enum tn_status status = row_table_digest(tables->tables[t], &rows, error);
        if (status != TN_OK) { return status; }
        digest_encode(rows, bytes);
        digest_add(&stream, bytes, sizeof bytes);
    }
    *out = digest_end(&stream);
    return TN_OK;
}
