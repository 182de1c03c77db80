#include "ps/shard_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"

enum tn_status shard_rows_open(struct shard_rows *rows, const struct job *job,
                               const struct variable_table *variables, uint32_t index,
                               struct cell_arena *arena, struct error *error)
{
    *rows = (struct shard_rows){
        .job = job,
        .part = row_part_of(&job->placement.rows, job->cluster.ps, index),
        .arena = arena,
    };
    if (variables->row_table_count == 0) { return TN_OK; }
    rows->variables = variables;
    rows->hits = calloc(variables->row_table_count, sizeof *rows->hits);
    rows->loads = calloc(ROW_BUCKETS, sizeof *rows->loads);
    if (rows->hits == NULL || rows->loads == NULL) {
        shard_rows_close(rows);
        return error_set(error, TN_ENOMEM, "out of memory for tables");
    }
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
    free(rows->hits);
    free(rows->loads);
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

static void count_updates(struct shard_rows *rows, const struct row_sums *applied)
{
    rows->updates++;
    for (uint32_t t = 0; t < applied->count; t++) {
        rows->hits[t].updates += applied->tables[t].count;
    }
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
    if (status == TN_OK) {
        row_set_release(rows->current, floor);
        count_updates(rows, &rows->slots[whole.first]);
    }
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
    row_table_read(table, row_set_version(rows->current, step), group->keys, group->count, out);
    row_hits_count(&rows->hits[group->table], group->keys, group->count);
    const struct row_hash hash = row_hash_of(group->table);
    for (uint32_t i = 0; i < group->count; i++) {
        rows->loads[row_hash_bucket(hash, group->keys[i])]++;
    }
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

struct table_stats shard_rows_stats(const struct shard_rows *rows, uint32_t table)
{
    assert(rows->current != NULL && table < rows->current->count);
    const struct row_table *rows_of = rows->current->tables[table];
    const struct row_table_stats held = row_set_stats(rows->current, table);
    const struct row_hits *hits = &rows->hits[table];
    struct table_stats stats = {
        .rows = held.rows,
        .bytes = held.bytes,
        .lookups = hits->lookups,
        .updates = hits->updates,
    };
    static_assert(sizeof stats.name == sizeof row_table_spec_of(rows_of)->name, "names fit");
    memcpy(stats.name, row_table_spec_of(rows_of)->name, sizeof stats.name);
    row_hits_most(hits, &stats.hottest, &stats.hot);
    return stats;
}

/* ---------------------------------------------------------------------- checkpoints */

static struct store_rows for_store(const struct row_set *set, struct rows_chain *chain)
{
    return (struct store_rows){
        .tables = set->tables,
        .count = set->all,
        .row_counts = set->save_counts,
        .chain = chain,
    };
}

enum tn_status shard_rows_begin_save(struct shard_rows *rows, uint64_t step, uint64_t id,
                                     struct store_rows *out, struct error *error)
{
    assert(rows->current != NULL && rows->saving == NULL);
    enum tn_status status = row_set_begin_save(rows->current, step, id, error);
    if (status != TN_OK) { return status; }
    rows->saving = rows->current;
    *out = for_store(rows->saving, &rows->saving->saving);
    return TN_OK;
}

static void log_save(const struct row_set *set)
{
    uint64_t saved = 0;
    const struct rows_chain *chain = &set->saving;
    if (chain->count == 0) { return; } /* An earlier process wrote them, or there are no links. */
    for (uint32_t t = 0; t < set->count; t++) { saved += set->save_counts[t]; }
    const struct manifest_rows *file = &chain->files[chain->count - 1];
    log_info("checkpoint %" PRIu64 " table_rows=%" PRIu64 " bytes=%" PRIu64 " files=%" PRIu32,
             file->checkpoint, saved, file->bytes, chain->count);
}

void shard_rows_end_save(struct shard_rows *rows, bool saved)
{
    if (rows->saving == NULL) { return; }
    if (saved) { log_save(rows->saving); }
    row_set_end_save(rows->saving, saved);
    if (rows->saving == rows->current) {
        rows->saving = NULL;
    } else {
        close_set(&rows->saving);
    }
}

static enum tn_status open_set(const struct shard_rows *rows, struct cell_owner owner,
                               struct row_set **out, struct error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) { return error_set(error, TN_ENOMEM, "out of memory for tables"); }
    enum tn_status status =
        row_set_open(*out, rows->job, rows->variables, rows->part, false, owner, error);
    if (status != TN_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

enum tn_status shard_rows_begin_load(struct shard_rows *rows, struct error *error)
{
    shard_rows_discard(rows);
    if (!shard_rows_exist(rows)) { return TN_OK; }
    return open_set(rows, cell_arena_new_set(rows->arena), &rows->incoming, error);
}

struct store_rows shard_rows_incoming(const struct shard_rows *rows)
{
    if (rows->incoming == NULL) { return (struct store_rows){0}; }
    return for_store(rows->incoming, &rows->incoming->chain);
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

/* ---------------------------------------------------------------------- kept memory */

bool shard_rows_describe(const struct shard_rows *rows, struct kept_rows *out)
{
    const struct row_set *set = rows->current;
    bool whole = true;
    if (!shard_rows_exist(rows)) { return true; }
    assert(set != NULL);
    out->set = set->owner.set;
    for (uint32_t t = 0; t < set->all && whole; t++) {
        assert(row_table_step(set->tables[t]) == row_table_step(set->tables[0]));
        whole = row_table_describe(set->tables[t], &out->cells[t]);
    }
    out->chain_count = set->chain.count;
    out->chain_step = set->chain.step;
    memcpy(out->chain, set->chain.files, set->chain.count * sizeof *out->chain);
    return whole;
}

/* The first step that is still needed: of answers, an evaluation, or a late checkpoint. */
static uint64_t floor_of(const struct kept_record *record)
{
    uint64_t floor = record->step - (record->previous != BUFFER_NO_SLOT);
    if (record->evaluation_step != 0) { floor = u64_min(floor, record->evaluation_step); }
    if (record->checkpoint_step != 0) { floor = u64_min(floor, record->checkpoint_step); }
    return floor;
}

/* Without files that the next save continues it has all rows. It may be one of the first step that
 * is needed, so that the rows that changed since are in the delta behind it. */
static struct row_table_kept kept_of(const struct kept_record *record, uint32_t table)
{
    const uint64_t floor = floor_of(record);
    return (struct row_table_kept){
        .step = record->step,
        .floor = floor,
        .base = record->rows.chain_count != 0 ? record->rows.chain_step : floor,
        .cells = record->rows.cells[table],
    };
}

/* Steps are far below. */
#define CELL_STEPS (UINT64_MAX / 2)

static bool is_possible(const struct kept_record *record)
{
    return record->rows.set != 0 && record->rows.set != UINT64_MAX && record->step < CELL_STEPS &&
           (record->step > 0 || record->previous == BUFFER_NO_SLOT) &&
           record->rows.chain_count <= MANIFEST_CHAIN_MAX &&
           (record->rows.chain_count == 0 || record->rows.chain_step <= record->step);
}

static enum tn_status recover_tables(struct row_set *set, const struct kept_record *record,
                                     struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < set->all && status == TN_OK; t++) {
        const struct row_table_kept kept = kept_of(record, t);
        status = row_table_recover(set->tables[t], &kept, error);
        FAILPOINT("ps.mid_recover");
    }
    set->chain.count = (uint32_t)record->rows.chain_count;
    set->chain.step = record->rows.chain_step;
    memcpy(set->chain.files, record->rows.chain, sizeof record->rows.chain);
    return status;
}

bool shard_rows_recover(struct shard_rows *rows, const struct kept_record *record)
{
    struct error error = {.text = "its record is impossible"};
    enum tn_status status = TN_ECORRUPT;
    if (!shard_rows_exist(rows)) { return true; }
    assert(rows->arena != NULL && rows->current == NULL && rows->incoming == NULL);
    cell_arena_keep(rows->arena, record->rows.set);
    if (record->rows.set == 0) { return false; }
    if (is_possible(record)) {
        const struct cell_owner owner = {.arena = rows->arena, .set = record->rows.set};
        status = open_set(rows, owner, &rows->current, &error);
    }
    if (status == TN_OK) { status = recover_tables(rows->current, record, &error); }
    if (status == TN_OK) { return true; }
    log_warn("the rows that a former process has kept are not used: %s", error.text);
    shard_rows_forget(rows);
    cell_arena_keep(rows->arena, 0);
    return false;
}
