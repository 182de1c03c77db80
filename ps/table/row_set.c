#include "ps/table/row_set.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "common/job/strategy.h"
#include "common/job/table_rules.h"
#include "kernels/sparse/job_update.h"

/* Append a table to those of the set. */
static enum tn_status open_table(struct row_set *set, const struct row_table_spec *spec,
                                 struct error *error)
{
    enum tn_status status = row_table_open(spec, &set->tables[set->all], error);
    if (status == TN_OK) { set->all++; }
    return status;
}

static struct row_table_spec spec_of(const struct row_set *set, const struct job *job,
                                     const struct row_table_shape *shape, uint32_t number,
                                     struct row_part part)
{
    struct row_table_spec spec = {
        .width = shape->width,
        .optimizer = set->optimizer.kind,
        .seed = job->seed,
        .scale = shape->scale,
        .expire_after = table_rule_of(job, shape).expire_after_steps,
        .full_saves = set->full_saves,
        .number = number,
        .part = part,
        .owner = set->owner,
    };
    text_set(spec.name, sizeof spec.name, shape->name);
    return spec;
}

/* The tables of the model, and the counts behind them. */
static enum tn_status open_tables(struct row_set *set, const struct job *job,
                                  const struct variable_table *variables, struct row_part part,
                                  struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < variables->row_table_count && status == TN_OK; t++) {
        const struct row_table_spec spec = spec_of(set, job, &variables->row_tables[t], t, part);
        status = open_table(set, &spec, error);
        if (status == TN_OK) { set->count++; }
    }
    for (uint32_t t = 0; t < set->count && status == TN_OK; t++) {
        const struct job_table_rule rule = table_rule_of(job, &variables->row_tables[t]);
        if (rule.admit_after <= 1) { continue; }
        status = row_admission_open(&set->admissions[t], &rule, row_table_spec_of(set->tables[t]),
                                    &set->tables[set->all], error);
        if (status == TN_OK) { set->all++; }
    }
    return status;
}

enum tn_status row_set_open(struct row_set *set, const struct job *job,
                            const struct variable_table *variables, struct row_part part,
                            bool full_saves, struct cell_owner owner, struct error *error)
{
    const uint32_t count = variables->row_table_count, most = 2 * count;
    *set = (struct row_set){.schedule = schedule_of_job(job),
                            .memory_bytes = (uint64_t)job->cluster.table_mib << 20,
                            .full_saves = full_saves,
                            .exact_steps = strategy_of_job(job)->exact_steps,
                            .owner = owner};
    if (count == 0) { return TN_OK; }
    set->tables = calloc(most, sizeof(struct row_table *));
    set->save_counts = calloc(most, sizeof *set->save_counts);
    set->admissions = calloc(count, sizeof *set->admissions);
    if (set->tables == NULL || set->save_counts == NULL || set->admissions == NULL) {
        row_set_close(set);
        return error_set(error, TN_ENOMEM, "out of memory for tables");
    }
    enum tn_status status = table_optimizer_of_job(job, &set->optimizer, error);
    if (status == TN_OK) { status = open_tables(set, job, variables, part, error); }
    if (status != TN_OK) { row_set_close(set); }
    return status;
}

void row_set_close(struct row_set *set)
{
    if (set->tables != NULL && set->admissions != NULL) {
        for (uint32_t t = 0; t < set->count; t++) { row_admission_close(&set->admissions[t]); }
        for (uint32_t t = 0; t < set->all; t++) { row_table_close(set->tables[t]); }
    }
    free(set->tables);
    free(set->save_counts);
    free(set->admissions);
    *set = (struct row_set){0};
}

uint64_t row_set_row_bytes(const struct job *job, const struct row_table_shape *table)
{
    struct sparse_optimizer optimizer = {0};
    const bool found = table_optimizer_of_job(job, &optimizer, NULL) == TN_OK;
    const bool expires = table_rule_of(job, table).expire_after_steps > 0;
    return found ? row_table_row_bytes(table->width, optimizer.kind, expires) : 0;
}

struct row_counts_size row_set_counts_size(const struct job *job,
                                           const struct row_table_shape *table)
{
    const struct job_table_rule rule = table_rule_of(job, table);
    const uint64_t keys = table->rows > 0 ? table->rows : SPARSE_KEY_MOST;
    const uint64_t batch_keys = job->train.batch * table->keys;
    if (rule.admit_after <= 1) { return (struct row_counts_size){.bytes = 0}; }
    const bool all = batch_keys > 0 && rule.admit_within_steps > keys / batch_keys;
    return (struct row_counts_size){
        .bytes = row_admission_count_bytes(),
        .most = all ? keys : batch_keys * rule.admit_within_steps,
    };
}

uint64_t row_set_version(const struct row_set *set, uint64_t step)
{
    assert(set->count > 0);
    return set->exact_steps ? step : row_table_step(set->tables[0]);
}

static uint64_t bytes_of(const struct row_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < set->all; t++) { bytes += row_table_stats(set->tables[t]).bytes; }
    return bytes;
}

struct row_table_stats row_set_stats(const struct row_set *set, uint32_t table)
{
    assert(table < set->count);
    struct row_table_stats stats = row_table_stats(set->tables[table]);
    const struct row_table *counts = set->admissions[table].counts;
    if (counts != NULL) { stats.bytes += row_table_stats(counts).bytes; }
    return stats;
}

static enum tn_status refuse(const struct row_set *set, const struct row_table *table,
                             struct error *error)
{
    const struct row_table_stats stats = row_table_stats(table);
    return error_set(error, TN_EINVAL,
                     "the rows of tables need more than cluster.table_mib, %" PRIu64
                     " MiB: the table '%s' has %" PRIu64 " rows in %" PRIu64
                     " bytes, all tables here %" PRIu64
                     " bytes: raise cluster.table_mib, or give more ps, narrower rows or hashed "
                     "keys",
                     set->memory_bytes >> 20, row_table_spec_of(table)->name, stats.rows,
                     stats.bytes, bytes_of(set));
}

/* A table may use what the others leave. `*bytes` is that of all tables. */
static enum tn_status apply_limited(const struct row_set *set, struct row_table *table,
                                    uint64_t *bytes, const struct sparse_constants *constants,
                                    struct sparse_rows rows, struct error *error)
{
    if (set->memory_bytes == 0) { return row_table_apply(table, constants, rows, error); }
    const uint64_t others = *bytes - row_table_stats(table).bytes;
    row_table_limit(table, others < set->memory_bytes ? set->memory_bytes - others : 1);
    enum tn_status status = row_table_apply(table, constants, rows, error);
    *bytes = others + row_table_stats(table).bytes;
    return status == TN_OK ? TN_OK : refuse(set, table, error);
}

/* The gradients of keys that have no row yet go to their counts. */
static enum tn_status apply_one(struct row_set *set, uint32_t t, uint64_t *bytes,
                                const struct sparse_constants *constants,
                                const struct row_sums *gradients, struct error *error)
{
    struct row_admission *admission = &set->admissions[t];
    struct sparse_rows rows = row_sum_rows(&gradients->tables[t]), counted;
    enum tn_status status = TN_OK;
    if (admission->counts != NULL) {
        const struct sparse_constants whole = row_admission_constants();
        status = row_admission_choose(admission, set->tables[t], rows, &rows, &counted, error);
        if (status != TN_OK) { return status; }
        status = apply_limited(set, admission->counts, bytes, &whole, counted, error);
    }
    if (status != TN_OK) { return status; }
    return apply_limited(set, set->tables[t], bytes, constants, rows, error);
}

enum tn_status row_set_apply(struct row_set *set, uint64_t step, const struct row_sums *gradients,
                             struct error *error)
{
    const double rate = schedule_rate(&set->schedule, step);
    assert(gradients->count == set->count);
    enum tn_status status = TN_OK;
    uint64_t bytes = set->memory_bytes > 0 ? bytes_of(set) : 0;
    for (uint32_t t = 0; t < set->count && status == TN_OK; t++) {
        const struct sparse_constants constants = sparse_constants_of(&set->optimizer, rate, step);
        assert(!set->exact_steps || row_table_step(set->tables[t]) == step);
        status = apply_one(set, t, &bytes, &constants, gradients, error);
    }
    return status;
}

void row_set_release(struct row_set *set, uint64_t from)
{
    if (set->count == 0) { return; }
    const uint64_t version = row_set_version(set, from);
    for (uint32_t t = 0; t < set->all; t++) { row_table_release(set->tables[t], version); }
}

enum tn_status row_set_begin_save(struct row_set *set, uint64_t step, uint64_t id,
                                  struct error *error)
{
    const bool all = set->full_saves || !rows_chain_continues(&set->chain, id, step);
    for (uint32_t t = 0; t < set->all; t++) {
        enum tn_status status = row_table_begin_save(set->tables[t], row_set_version(set, step),
                                                     all, &set->save_counts[t], error);
        if (status == TN_OK) { continue; }
        while (t-- > 0) { row_table_end_save(set->tables[t], false); }
        return status;
    }
    set->saving = all ? (struct rows_chain){.count = 0} : set->chain;
    return TN_OK;
}

void row_set_end_save(struct row_set *set, bool committed)
{
    if (committed || set->saving.count == 0) { set->chain = set->saving; }
    for (uint32_t t = 0; t < set->all; t++) { row_table_end_save(set->tables[t], committed); }
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
