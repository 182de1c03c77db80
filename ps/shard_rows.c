#include "ps/shard_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum tn_status shard_rows_open(struct shard_rows *rows, const struct job *job,
                               const struct variable_table *variables, struct error *error)
{
    *rows = (struct shard_rows){.job = job};
    if (variables->row_table_count == 0) { return TN_OK; }
    rows->variables = variables;
    enum tn_status status = row_sums_open(variables, &rows->spare, error);
    for (uint32_t i = 0; i < job->train.slices && status == TN_OK; i++) {
        status = row_sums_open(variables, &rows->slots[i], error);
    }
    if (status != TN_OK) { shard_rows_close(rows); }
    return status;
}

static void close_set(struct row_set **set)
{
    if (*set == NULL) { return; }
    row_set_close(*set);
    free(*set);
    *set = NULL;
}

void shard_rows_close(struct shard_rows *rows)
{
    shard_rows_discard(rows);
    shard_rows_forget(rows);
    close_set(&rows->saving);
    for (uint32_t i = 0; i < SLICES_MAX; i++) { row_sums_close(&rows->slots[i]); }
    row_sums_close(&rows->spare);
    *rows = (struct shard_rows){0};
}

bool shard_rows_exist(const struct shard_rows *rows)
{
    return rows->variables != NULL;
}

/* --------------------------------------------------------------------------- pushes */

void shard_rows_hold(struct shard_rows *rows, uint32_t first, struct row_sums *pushed)
{
    const struct row_sums before = rows->slots[first];
    assert(pushed->count == before.count);
    rows->slots[first] = *pushed;
    *pushed = before;
    row_sums_clear(pushed);
}

void shard_rows_release(struct shard_rows *rows, uint32_t first)
{
    row_sums_clear(&rows->slots[first]);
}

void shard_rows_release_all(struct shard_rows *rows)
{
    for (uint32_t i = 0; i < SLICES_MAX; i++) { shard_rows_release(rows, i); }
}

enum tn_status shard_rows_apply(struct shard_rows *rows, uint64_t step, uint64_t floor,
                                const struct slice_node *parts, uint32_t part_count,
                                struct error *error)
{
    struct slice_sum sums[SLICES_MAX];
    enum tn_status status = TN_OK;
    assert(rows->current != NULL && floor <= step);
    const struct slice_node whole = slices_join(parts, part_count);
    const uint32_t sum_count = slices_plan(rows->job->train.slices, whole, parts, part_count, sums);
    for (uint32_t i = 0; i < sum_count && status == TN_OK; i++) {
        status = row_sums_add(&rows->slots[sums[i].into], &rows->slots[sums[i].from], &rows->spare,
                              error);
    }
    if (status == TN_OK) {
        status = row_set_apply(rows->current, step, &rows->slots[whole.first], error);
    }
    if (status == TN_OK) { row_set_release(rows->current, floor); }
    for (uint32_t i = 0; i < part_count; i++) { shard_rows_release(rows, parts[i].first); }
    return status;
}

/* -------------------------------------------------------------------------- lookups */

enum { GROUP = 256 }; /* Keys of a table that are read together. */

struct group {
    uint32_t table, count;
    uint64_t keys[GROUP];
};

/* Returns the end of its output. */
static float *read_group(const struct shard_rows *rows, uint64_t step, const struct group *group,
                         float *out)
{
    const struct row_table *table = rows->current->tables[group->table];
    row_table_read(table, step, group->keys, group->count, out);
    return out + (uint64_t)group->count * row_table_spec_of(table)->width;
}

void shard_rows_read(const struct shard_rows *rows, uint64_t step,
                     const struct row_body_rules *rules, const struct buffer *lookup, float *out)
{
    struct row_body_reader reader = row_body_read(rules, lookup->data, lookup->size);
    struct row_body_row row;
    struct group group = {.count = 0};
    assert(rows->current != NULL && !rules->gradients);
    while (row_body_next(&reader, &row)) {
        if (group.count == GROUP || (group.count > 0 && row.table != group.table)) {
            out = read_group(rows, step, &group, out);
            group.count = 0;
        }
        group.table = row.table;
        group.keys[group.count++] = row.key;
    }
    if (group.count > 0) { (void)read_group(rows, step, &group, out); }
}

/* ---------------------------------------------------------------------- checkpoints */

static struct store_rows for_store(const struct row_set *set)
{
    return (struct store_rows){
        .tables = set->tables,
        .count = set->count,
        .row_counts = set->save_counts,
    };
}

enum tn_status shard_rows_begin_save(struct shard_rows *rows, uint64_t step, struct store_rows *out,
                                     struct error *error)
{
    assert(rows->current != NULL && rows->saving == NULL);
    enum tn_status status = row_set_begin_save(rows->current, step, true, error);
    if (status != TN_OK) { return status; }
    rows->saving = rows->current;
    *out = for_store(rows->saving);
    return TN_OK;
}

void shard_rows_end_save(struct shard_rows *rows)
{
    if (rows->saving == NULL) { return; }
    row_set_end_save(rows->saving, true);
    if (rows->saving == rows->current) {
        rows->saving = NULL;
    } else {
        close_set(&rows->saving);
    }
}

enum tn_status shard_rows_begin_load(struct shard_rows *rows, struct error *error)
{
    shard_rows_discard(rows);
    if (!shard_rows_exist(rows)) { return TN_OK; }
    rows->incoming = calloc(1, sizeof *rows->incoming);
    if (rows->incoming == NULL) { return error_set(error, TN_ENOMEM, "out of memory for tables"); }
    enum tn_status status = row_set_open(rows->incoming, rows->job, rows->variables, true, error);
    if (status != TN_OK) {
        free(rows->incoming);
        rows->incoming = NULL;
    }
    return status;
}

struct store_rows shard_rows_incoming(const struct shard_rows *rows)
{
    return rows->incoming != NULL ? for_store(rows->incoming) : (struct store_rows){0};
}

void shard_rows_adopt(struct shard_rows *rows)
{
    shard_rows_forget(rows);
    rows->current = rows->incoming;
    rows->incoming = NULL;
}

void shard_rows_discard(struct shard_rows *rows)
{
    close_set(&rows->incoming);
}

void shard_rows_forget(struct shard_rows *rows)
{
    if (rows->current == rows->saving) {
        rows->current = NULL; /* The save closes it. */
    } else {
        close_set(&rows->current);
    }
}
