#include "tests/sim/disk_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table.h"

struct table_rows {
    uint64_t count;
    uint32_t each; /* Numbers of a row. */
    uint64_t *keys, *steps;
    float *numbers;
};

/* A file. */
struct disk_rows {
    uint32_t links;
    bool damaged;
    struct manifest_rows named;
    uint32_t count;
    struct table_rows tables[];
};

/* Returns the bytes. */
static uint64_t copy_table(struct table_rows *out, const struct row_table *table, uint64_t count,
                           struct digest_stream *digest)
{
    const uint32_t numbers = row_table_numbers(table);
    *out = (struct table_rows){.count = count, .each = numbers};
    out->keys = malloc((count + 1) * sizeof *out->keys);
    out->steps = malloc((count + 1) * sizeof *out->steps);
    out->numbers = malloc((count + 1) * numbers * sizeof *out->numbers);
    assert(out->keys != NULL && out->steps != NULL && out->numbers != NULL);
    const enum tn_status status = row_table_sort_save(table, NULL);
    assert(status == TN_OK);
    (void)status;
    for (uint64_t i = 0; i < count; i++) {
        const struct row_table_row row = row_table_saved_row(table, i);
        out->keys[i] = row.key;
        out->steps[i] = row.step;
        memcpy(out->numbers + i * numbers, row.numbers, numbers * sizeof *row.numbers);
    }
    digest_add(digest, out->keys, count * sizeof *out->keys);
    digest_add(digest, out->numbers, count * numbers * sizeof *out->numbers);
    return count * (sizeof *out->keys + numbers * sizeof *out->numbers);
}

static struct disk_rows *copy(const struct store_rows *rows, uint64_t id)
{
    struct digest_stream digest;
    struct disk_rows *file = malloc(sizeof *file + rows->count * sizeof file->tables[0]);
    assert(file != NULL);
    *file = (struct disk_rows){
        .links = 1, .named = {.checkpoint = id, .bytes = 1}, .count = rows->count};
    digest_begin(&digest);
    for (uint32_t t = 0; t < rows->count; t++) {
        file->named.bytes +=
            copy_table(&file->tables[t], rows->tables[t], rows->row_counts[t], &digest);
    }
    file->named.digest = digest_end(&digest);
    return file;
}

static bool has_chain(const struct disk_shard *shard, const struct rows_chain *chain)
{
    if (shard == NULL || shard->row_files != chain->count) { return false; }
    for (uint32_t f = 0; f < chain->count; f++) {
        const struct manifest_rows *named = &shard->rows[f]->named;
        if (named->checkpoint != chain->files[f].checkpoint ||
            !digest_equal(named->digest, chain->files[f].digest)) {
            return false;
        }
    }
    return true;
}

bool disk_rows_write(struct disk_shard *shard, const struct disk_shard *before,
                     const struct store_write_request *write, struct digest_stream *digest)
{
    struct rows_chain *chain = write->rows.chain;
    if (write->rows.count == 0) { return true; }
    if (chain->count > 0 && !has_chain(before, chain)) {
        chain->count = 0;
        return false;
    }
    for (uint32_t f = 0; f < chain->count; f++) {
        shard->rows[f] = before->rows[f];
        shard->rows[f]->links++;
    }
    struct disk_rows *file = copy(&write->rows, write->id);
    shard->rows[chain->count] = file;
    rows_chain_append(chain, &file->named, write->step);
    shard->row_files = chain->count;
    digest_add(digest, chain->files, chain->count * sizeof chain->files[0]);
    return true;
}

static void unlink_file(struct disk_rows *file)
{
    assert(file->links > 0);
    if (--file->links > 0) { return; }
    for (uint32_t t = 0; t < file->count; t++) {
        free(file->tables[t].keys);
        free(file->tables[t].steps);
        free(file->tables[t].numbers);
    }
    free(file);
}

void disk_rows_remove(struct disk_shard *shard)
{
    while (shard->row_files > 0) { unlink_file(shard->rows[--shard->row_files]); }
}

bool disk_rows_are_whole(const struct disk_shard *shard)
{
    for (uint32_t f = 0; f < shard->row_files; f++) {
        if (shard->rows[f]->damaged) { return false; }
    }
    return true;
}

bool disk_rows_damage(struct disk_shard *shard, uint64_t chance)
{
    if (shard->row_files == 0) { return false; }
    shard->rows[chance % shard->row_files]->damaged = true;
    return true;
}

void disk_rows_load(const struct disk_shard *shard, const struct store_rows *to)
{
    assert(shard->row_files > 0);
    for (uint32_t f = 0; f < shard->row_files; f++) {
        const struct disk_rows *file = shard->rows[f];
        assert(file->count == to->count);
        for (uint32_t t = 0; t < file->count; t++) {
            const struct table_rows *table = &file->tables[t];
            const struct sparse_rows loaded = {
                .count = table->count, .keys = table->keys, .values = table->numbers};
            const bool expires = row_table_spec_of(to->tables[t])->expire_after > 0;
            const enum tn_status status =
                row_table_load(to->tables[t], loaded, expires ? table->steps : NULL, NULL);
            assert(status == TN_OK);
        }
    }
}

/* The keys of a file ascend. */
static const float *find(const struct table_rows *rows, uint64_t key)
{
    uint64_t from = 0, end = rows->count;
    while (from < end) {
        const uint64_t middle = from + (end - from) / 2;
        if (rows->keys[middle] == key) { return rows->numbers + middle * rows->each; }
        if (rows->keys[middle] < key) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return NULL;
}

const float *disk_rows_find(const struct disk_shard *shard, uint32_t table, uint64_t key)
{
    for (uint32_t f = shard->row_files; f-- > 0;) {
        const struct disk_rows *file = shard->rows[f];
        assert(table < file->count);
        const float *row = find(&file->tables[table], key);
        if (row != NULL) { return row; }
    }
    return NULL;
}

void disk_rows_chain(const struct disk_shard *shard, struct rows_chain *out)
{
    *out = (struct rows_chain){.count = shard->row_files, .step = shard->step};
    for (uint32_t f = 0; f < shard->row_files; f++) { out->files[f] = shard->rows[f]->named; }
}
