#include "ps/table/row_set.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "kernels/sparse/job_update.h"

static enum tn_status open_table(const struct job *job, const struct row_table_shape *shape,
                                 enum sparse_kind optimizer, bool full_saves,
                                 struct row_table **out, struct error *error)
{
    struct row_table_spec spec = {
        .width = shape->width,
        .optimizer = optimizer,
        .seed = job->seed,
        .scale = shape->scale,
        .full_saves = full_saves,
    };
    text_set(spec.name, sizeof spec.name, shape->name);
    return row_table_open(&spec, out, error);
}

enum tn_status row_set_open(struct row_set *set, const struct job *job,
                            const struct variable_table *variables, bool full_saves,
                            struct error *error)
{
    const uint32_t count = variables->row_table_count;
    *set = (struct row_set){.schedule = schedule_of_job(job)};
    if (count == 0) { return TN_OK; }
    set->tables = calloc(count, sizeof(struct row_table *));
    set->save_counts = calloc(count, sizeof *set->save_counts);
    if (set->tables == NULL || set->save_counts == NULL) {
        row_set_close(set);
        return error_set(error, TN_ENOMEM, "out of memory for tables");
    }
    enum tn_status status = table_optimizer_of_job(job, &set->optimizer, error);
    for (uint32_t t = 0; t < count && status == TN_OK; t++) {
        status = open_table(job, &variables->row_tables[t], set->optimizer.kind, full_saves,
                            &set->tables[t], error);
        if (status == TN_OK) { set->count++; }
    }
    if (status != TN_OK) { row_set_close(set); }
    return status;
}

void row_set_close(struct row_set *set)
{
    if (set->tables != NULL) {
        for (uint32_t t = 0; t < set->count; t++) { row_table_close(set->tables[t]); }
    }
    free(set->tables);
    free(set->save_counts);
    *set = (struct row_set){0};
}

enum tn_status row_set_apply(struct row_set *set, uint64_t step, const struct row_sums *gradients,
                             struct error *error)
{
    const double rate = schedule_rate(&set->schedule, step);
    assert(gradients->count == set->count);
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < set->count && status == TN_OK; t++) {
        const struct sparse_constants constants = sparse_constants_of(&set->optimizer, rate, step);
        assert(row_table_step(set->tables[t]) == step);
        status =
            row_table_apply(set->tables[t], &constants, row_sum_rows(&gradients->tables[t]), error);
    }
    return status;
}

void row_set_release(struct row_set *set, uint64_t from)
{
    for (uint32_t t = 0; t < set->count; t++) { row_table_release(set->tables[t], from); }
}

enum tn_status row_set_begin_save(struct row_set *set, uint64_t step, bool all, struct error *error)
{
    for (uint32_t t = 0; t < set->count; t++) {
        enum tn_status status =
            row_table_begin_save(set->tables[t], step, all, &set->save_counts[t], error);
        if (status == TN_OK) { continue; }
        while (t-- > 0) { row_table_end_save(set->tables[t], false); }
        return status;
    }
    return TN_OK;
}

void row_set_end_save(struct row_set *set, bool committed)
{
    for (uint32_t t = 0; t < set->count; t++) { row_table_end_save(set->tables[t], committed); }
}

enum tn_status row_set_digest(const struct row_set *set, struct digest dense, struct digest *out,
                              struct error *error)
{
    struct digest_stream stream;
    uint8_t bytes[DIGEST_BYTES];
    *out = dense;
    if (set->count == 0) { return TN_OK; }
    digest_begin(&stream);
    digest_encode(dense, bytes);
    digest_add(&stream, bytes, sizeof bytes);
    for (uint32_t t = 0; t < set->count; t++) {
        struct digest rows;
        enum tn_status status = row_table_digest(set->tables[t], &rows, error);
        if (status != TN_OK) { return status; }
        digest_encode(rows, bytes);
        digest_add(&stream, bytes, sizeof bytes);
    }
    *out = digest_end(&stream);
    return TN_OK;
}
