#include "kernels/sparse/row_tree.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/base/short_copy.h"

/* The rows of one table in a range of keys, of all parts. */
struct range {
    uint32_t parts, width;
    uint64_t next[SLICES_MAX]; /* The next key of each part; SPARSE_KEY_NONE: none is left. */
    uint64_t at[SLICES_MAX], end[SLICES_MAX];
    const uint64_t *keys[SLICES_MAX];
};

uint64_t row_tree_counts(uint32_t members, const struct variable_table *variables)
{
    return (uint64_t)members * variables->row_table_count;
}

static uint64_t *counts_of(const struct row_tree *tree, uint32_t member)
{
    return tree->counts + (uint64_t)member * tree->sum->count;
}

/* ----------------------------------------------------------------- ranges */

/* The first key of the range of `member`, or behind those of all members. The keys of the part with
 * the most rows are divided evenly, and those of the others about so. */
static uint64_t border(const struct row_tree *tree, uint32_t table, uint32_t member)
{
    const struct row_sum *most = &tree->parts[0].tables[table];
    if (member == 0) { return 0; }
    for (uint32_t p = 1; p < tree->part_count; p++) {
        const struct row_sum *sum = &tree->parts[p].tables[table];
        if (sum->count > most->count) { most = sum; }
    }
    if (member == tree->members || most->count == 0) { return SPARSE_KEY_NONE; }
    return most->keys[most->count * member / tree->members];
}

/* The number of keys below `key`. */
static uint64_t keys_below(const struct row_sum *sum, uint64_t key)
{
    uint64_t first = 0, end = sum->count;
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        if (sum->keys[middle] < key) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static void begin(const struct row_tree *tree, uint32_t table, uint32_t member, struct range *range)
{
    const uint64_t first = border(tree, table, member);
    const uint64_t behind = border(tree, table, member + 1);
    assert(tree->part_count >= 1 && tree->part_count <= SLICES_MAX);
    assert(member < tree->members);
    range->parts = tree->part_count;
    range->width = tree->sum->tables[table].width;
    for (uint32_t p = 0; p < range->parts; p++) {
        const struct row_sum *sum = &tree->parts[p].tables[table];
        range->keys[p] = sum->keys;
        range->at[p] = keys_below(sum, first);
        range->end[p] = keys_below(sum, behind);
        range->next[p] = range->at[p] < range->end[p] ? sum->keys[range->at[p]] : SPARSE_KEY_NONE;
    }
}

/* The least key that is left; SPARSE_KEY_NONE: none is. */
static uint64_t least(const struct range *range)
{
    uint64_t key = SPARSE_KEY_NONE;
    for (uint32_t p = 0; p < range->parts; p++) { key = u64_min(key, range->next[p]); }
    return key;
}

static void advance(struct range *range, uint32_t part)
{
    const uint64_t at = ++range->at[part];
    range->next[part] = at < range->end[part] ? range->keys[part][at] : SPARSE_KEY_NONE;
}

/* --------------------------------------------------------------- counting */

static uint64_t count_rows(struct range *range)
{
    uint64_t rows = 0;
    for (uint64_t key; (key = least(range)) != SPARSE_KEY_NONE; rows++) {
        for (uint32_t p = 0; p < range->parts; p++) {
            if (range->next[p] == key) { advance(range, p); }
        }
    }
    return rows;
}

void row_tree_count(const struct row_tree *tree, uint32_t member)
{
    struct range range;
    for (uint32_t t = 0; t < tree->sum->count; t++) {
        begin(tree, t, member, &range);
        counts_of(tree, member)[t] = count_rows(&range);
    }
}

enum tn_status row_tree_reserve(const struct row_tree *tree, struct error *error)
{
    for (uint32_t t = 0; t < tree->sum->count; t++) {
        struct row_sum *sum = &tree->sum->tables[t];
        uint64_t rows = 0;
        for (uint32_t m = 0; m < tree->members; m++) { rows += counts_of(tree, m)[t]; }
        enum tn_status status = row_sum_reserve(sum, rows, error);
        if (status != TN_OK) { return status; }
        sum->count = rows;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------- adding */

/* The row of the next key in each part, NULL: it has none; these parts advance. Returns the number
 * of rows. */
static uint32_t take_rows(const struct row_tree *tree, uint32_t table, uint64_t key,
                          struct range *range, float *rows[static SLICES_MAX])
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < range->parts; p++) {
        rows[p] = NULL;
        if (range->next[p] != key) { continue; }
        rows[p] = tree->parts[p].tables[table].values + range->at[p] * range->width;
        advance(range, p);
        count++;
    }
    return count;
}

/* The sum of the rows of a key. A row that is the only one below a node is copied, bit for bit. */
static const float *add_rows(const struct row_tree *tree, uint32_t width,
                             float *rows[static SLICES_MAX])
{
    for (uint32_t i = 0; i + 1 < tree->part_count; i++) {
        float **into = &rows[tree->additions[i].into], *from = rows[tree->additions[i].from];
        if (from == NULL) { continue; }
        if (*into == NULL) {
            *into = from;
        } else {
            sparse_add_row(width, from, *into);
        }
    }
    assert(rows[0] != NULL);
    return rows[0];
}

static const float *only_row(const struct range *range, float *const rows[static SLICES_MAX])
{
    uint32_t p = 0;
    while (p + 1 < range->parts && rows[p] == NULL) { p++; }
    return rows[p];
}

static void add_table(const struct row_tree *tree, uint32_t table, uint32_t member)
{
    struct row_sum *sum = &tree->sum->tables[table];
    struct range range;
    float *rows[SLICES_MAX];
    uint64_t at = 0;
    for (uint32_t m = 0; m < member; m++) { at += counts_of(tree, m)[table]; }
    begin(tree, table, member, &range);
    for (uint64_t key; (key = least(&range)) != SPARSE_KEY_NONE; at++) {
        const bool is_only = take_rows(tree, table, key, &range, rows) == 1;
        const float *row = is_only ? only_row(&range, rows) : add_rows(tree, range.width, rows);
        assert(at < sum->count);
        sum->keys[at] = key;
        short_copy(sum->values + at * range.width, row, range.width * sizeof *row);
    }
}

void row_tree_add(const struct row_tree *tree, uint32_t member)
{
    for (uint32_t t = 0; t < tree->sum->count; t++) { add_table(tree, t, member); }
}
