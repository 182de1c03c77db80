#include "kernels/sparse/row_sums.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/finite.h"
#include "common/base/short_copy.h"

enum { LEAST_ROOM = 64 };

enum tn_status row_sums_open(const struct variable_table *variables, struct row_sums *out,
                             struct error *error)
{
    assert(variables != NULL);
    *out = (struct row_sums){0};
    out->tables = calloc((size_t)variables->row_table_count + 1, sizeof *out->tables);
    if (out->tables == NULL) { return error_set(error, TN_ENOMEM, "out of memory for tables"); }
    out->count = variables->row_table_count;
    for (uint32_t t = 0; t < out->count; t++) {
        out->tables[t].width = variables->row_tables[t].width;
    }
    return TN_OK;
}

void row_sums_close(struct row_sums *sums)
{
    for (uint32_t t = 0; t < sums->count; t++) {
        free(sums->tables[t].keys);
        free(sums->tables[t].values);
    }
    free(sums->tables);
    *sums = (struct row_sums){0};
}

void row_sums_clear(struct row_sums *sums)
{
    for (uint32_t t = 0; t < sums->count; t++) { sums->tables[t].count = 0; }
}

enum tn_status row_sum_reserve(struct row_sum *sum, uint64_t rows, struct error *error)
{
    assert(sum->width > 0);
    if (rows <= sum->room) { return TN_OK; }
    uint64_t *keys = malloc(rows * sizeof *keys);
    float *values = malloc(rows * sum->width * sizeof *values);
    if (keys == NULL || values == NULL) {
        free(keys);
        free(values);
        return error_set(error, TN_ENOMEM,
                         "out of memory for the gradients of %" PRIu64 " rows of tables", rows);
    }
    free(sum->keys);
    free(sum->values);
    sum->keys = keys;
    sum->values = values;
    sum->room = rows;
    sum->count = 0;
    return TN_OK;
}

static enum tn_status grow(struct row_sum *sum, struct error *error)
{
    const uint64_t room = sum->room < LEAST_ROOM ? LEAST_ROOM : 2 * sum->room;
    uint64_t *keys = realloc(sum->keys, room * sizeof *keys);
    if (keys != NULL) { sum->keys = keys; }
    float *values = keys != NULL ? realloc(sum->values, room * sum->width * sizeof *values) : NULL;
    if (values == NULL) {
        return error_set(error, TN_ENOMEM,
                         "out of memory for the gradients of %" PRIu64 " rows of tables", room);
    }
    sum->values = values;
    sum->room = room;
    return TN_OK;
}

enum tn_status row_sum_append(struct row_sum *sum, uint64_t key, const void *values,
                              struct error *error)
{
    assert(sum->width > 0);
    assert(sum->count == 0 || key > sum->keys[sum->count - 1]);
    if (sum->count == sum->room) {
        enum tn_status status = grow(sum, error);
        if (status != TN_OK) { return status; }
    }
    sum->keys[sum->count] = key;
    short_copy(sum->values + sum->count * sum->width, values, sum->width * sizeof(float));
    sum->count++;
    return TN_OK;
}

struct sparse_rows row_sum_rows(const struct row_sum *sum)
{
    return (struct sparse_rows){.count = sum->count, .keys = sum->keys, .values = sum->values};
}

enum tn_status row_sums_add(struct row_sums *left, const struct row_sums *right,
                            struct row_sums *spare, struct error *error)
{
    assert(left->count == right->count && left->count == spare->count);
    for (uint32_t t = 0; t < left->count; t++) {
        struct row_sum *to = &spare->tables[t];
        const struct sparse_rows a = row_sum_rows(&left->tables[t]);
        const struct sparse_rows b = row_sum_rows(&right->tables[t]);
        if (b.count == 0) { continue; }
        enum tn_status status = row_sum_reserve(to, a.count + b.count, error);
        if (status != TN_OK) { return status; }
        to->count = sparse_merge(a, b, to->width, to->keys, to->values);
        const struct row_sum sum = *to;
        *to = left->tables[t];
        left->tables[t] = sum;
    }
    return TN_OK;
}

bool row_sums_are_finite(const struct row_sums *sums)
{
    for (uint32_t t = 0; t < sums->count; t++) {
        const struct row_sum *sum = &sums->tables[t];
        if (!floats_are_finite(sum->values, sum->count * sum->width)) { return false; }
    }
    return true;
}
