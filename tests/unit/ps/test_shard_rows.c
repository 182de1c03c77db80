/* The rows of one ps: sums meet along the tree whichever nodes were pushed, and steps that are kept
 * can be read and saved. */
#include "ps/shard_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

enum { TABLES = 2, V = 4, KEYS = 12, STEPS = 6, WIDTH_MOST = 3, BODY_BYTES = 1024 };

static const uint32_t widths[TABLES] = {1, 3};
static struct variable_table variables;
static struct job job;
static struct error error;
static struct buffer_pool *pool;

static int set_up(void **state)
{
    (void)state;
    job_init(&job);
    job.train.slices = V;
    job.cluster.ps = 1; /* It has all rows. */
    job.train.optimizer = OPTIMIZER_ADAM;
    job.train.learning_rate = 0.1;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        struct row_table_shape *shape = &variables.row_tables[t];
        *shape = (struct row_table_shape){.width = widths[t], .scale = 0.5F, .keys = KEYS};
        snprintf(shape->name, sizeof shape->name, "t%u", t);
    }
    pool = buffer_pool_create(0);
    return pool == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    buffer_pool_destroy(pool);
    return 0;
}

static void open_rows(struct shard_rows *rows)
{
    assert_int_equal(shard_rows_open(rows, &job, &variables, 0, NULL, &error), TN_OK);
    assert_int_equal(shard_rows_begin_load(rows, &error), TN_OK);
    shard_rows_adopt(rows);
}

/* Some rows of a slice at a step. */
static void fill(struct row_sums *sums, uint64_t step, uint32_t slice)
{
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            float values[WIDTH_MOST];
            if (random_at(step, slice, t * KEYS + key) % 3 != 0) { continue; }
            for (uint32_t c = 0; c < widths[t]; c++) {
                values[c] = random_unit_at(step + 7, slice, (t * KEYS + key) * 4 + c) - 0.5F;
            }
            assert_int_equal(row_sum_append(&sums->tables[t], key, values, &error), TN_OK);
        }
    }
}

/* The sum of a node, as a worker that owns all of it computes it. */
static void sum_node(struct row_sums *out, uint64_t step, struct slice_node node)
{
    struct row_sums other, spare;
    struct slice_node left, right;
    if (node.count == 1) {
        fill(out, step, node.first);
        return;
    }
    assert_int_equal(row_sums_open(&variables, &other, &error), TN_OK);
    assert_int_equal(row_sums_open(&variables, &spare, &error), TN_OK);
    slices_children(node, &left, &right);
    sum_node(out, step, left);
    sum_node(&other, step, right);
    assert_int_equal(row_sums_add(out, &other, &spare, &error), TN_OK);
    row_sums_close(&other);
    row_sums_close(&spare);
}

static void push(struct shard_rows *rows, uint64_t step, struct slice_node node)
{
    struct row_sums sums;
    assert_int_equal(row_sums_open(&variables, &sums, &error), TN_OK);
    sum_node(&sums, step, node);
    shard_rows_hold(rows, node.first, &sums);
    for (uint32_t t = 0; t < TABLES; t++) { assert_int_equal(sums.tables[t].count, 0); }
    row_sums_close(&sums);
}

static void train(struct shard_rows *rows, uint64_t step, uint64_t floor,
                  const struct slice_node *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) { push(rows, step, parts[i]); }
    assert_int_equal(shard_rows_apply(rows, step, floor, parts, count, &error), TN_OK);
}

static struct digest digest_of_rows(const struct shard_rows *rows)
{
    struct digest digest;
    assert_int_equal(row_set_digest(rows->current, (struct digest){1, 2}, &digest, &error), TN_OK);
    return digest;
}

static void test_the_sum_does_not_depend_on_the_nodes(void **state)
{
    static const struct slice_node nodes[][V] = {
        {{0, 4}}, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}, {{2, 2}, {0, 2}}, {{2, 1}, {0, 2}, {3, 1}}};
    static const uint32_t counts[] = {1, 4, 2, 3};
    struct digest first = {0, 0};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct shard_rows rows;
        open_rows(&rows);
        for (uint64_t step = 0; step < STEPS; step++) {
            train(&rows, step, step, nodes[i], counts[i]);
        }
        const struct digest digest = digest_of_rows(&rows);
        if (i == 0) { first = digest; }
        assert_true(digest_equal(digest, first));
        shard_rows_close(&rows);
    }
}

/* The rows that a lookup of all keys gets. */
static void read_all(const struct shard_rows *rows, uint64_t step, float out[static 64])
{
    const struct row_body_rules rules = {.variables = &variables};
    struct buffer *lookup = buffer_acquire(pool, BODY_BYTES);
    struct row_body body = {.data = lookup->data, .room = BODY_BYTES};
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            assert_true(row_body_add(&body, t, key, NULL, 0));
        }
    }
    lookup->size = body.size;
    shard_rows_read(rows, step, &rules, lookup, out);
    buffer_release(lookup);
}

/* Steps from the floor on keep their rows while later ones are made, and can be saved. */
static void test_kept_steps_can_be_read_and_saved(void **state)
{
    static const struct slice_node whole = {0, V};
    float before[2][64], after[64];
    struct shard_rows rows, loaded;
    struct store_rows save;
    (void)state;
    open_rows(&rows);
    train(&rows, 0, 0, &whole, 1);
    train(&rows, 1, 1, &whole, 1);
    read_all(&rows, 1, before[0]);
    read_all(&rows, 2, before[1]);
    const struct digest digest = digest_of_rows(&rows);
    for (uint64_t step = 2; step < STEPS; step++) { train(&rows, step, 2, &whole, 1); }
    read_all(&rows, 2, after);
    assert_memory_equal(after, before[1], (size_t)KEYS * (1 + 3) * sizeof(float));
    assert_memory_not_equal(after, before[0], (size_t)KEYS * (1 + 3) * sizeof(float));
    assert_int_equal(shard_rows_begin_save(&rows, 2, 1, &save, &error), TN_OK);
    shard_rows_forget(&rows); /* The save keeps them. */
    assert_int_equal(shard_rows_open(&loaded, &job, &variables, 0, NULL, &error), TN_OK);
    assert_int_equal(shard_rows_begin_load(&loaded, &error), TN_OK);
    for (uint32_t t = 0; t < TABLES; t++) {
        struct row_table *table = shard_rows_incoming(&loaded).tables[t];
        row_table_begin_load(table);
        assert_int_equal(row_table_sort_save(save.tables[t], &error), TN_OK);
        for (uint64_t i = 0; i < save.row_counts[t]; i++) {
            const struct row_table_row row = row_table_saved_row(save.tables[t], i);
            const struct sparse_rows one = {.count = 1, .keys = &row.key, .values = row.numbers};
            assert_int_equal(row_table_load(table, one, NULL, &error), TN_OK);
        }
        assert_int_equal(row_table_end_load(table, 2, &error), TN_OK);
    }
    shard_rows_end_save(&rows, true);
    shard_rows_adopt(&loaded);
    assert_true(digest_equal(digest_of_rows(&loaded), digest));
    shard_rows_close(&rows);
    shard_rows_close(&loaded);
}

enum { PAGE_BYTES = 4096, BLOCKS = 64 };

/* The counts of rows in a delta of step 4 behind a first save of step 2, which began at step 4. */
static void count_late(struct shard_rows *rows, uint64_t counts[static TABLES])
{
    struct store_rows save;
    const struct manifest_rows full = {.checkpoint = 1, .bytes = 1000};
    assert_int_equal(shard_rows_begin_save(rows, 2, 1, &save, &error), TN_OK);
    rows_chain_append(save.chain, &full, 2);
    shard_rows_end_save(rows, true);
    assert_int_equal(shard_rows_begin_save(rows, 4, 2, &save, &error), TN_OK);
    for (uint32_t t = 0; t < TABLES; t++) { counts[t] = save.row_counts[t]; }
    shard_rows_end_save(rows, false);
}

/* A process that continues from kept memory may have its first save for an earlier step: the rows
 * that have changed since are in the delta behind it. */
static void test_a_late_first_save_after_a_kill(void **state)
{
    static const struct slice_node whole = {0, V};
    static const struct cell_arena_size size = {.blocks = BLOCKS, .block_bytes = PAGE_BYTES};
    struct shard_rows rows[2];
    struct cell_arena arena = {.directory = NULL};
    struct kept_record record = {.step = 4, .previous = 1, .checkpoint_step = 2};
    uint64_t counts[2][TABLES];
    (void)state;
    void *memory = aligned_alloc(PAGE_BYTES, cell_arena_bytes(size));
    assert_non_null(memory);
    memset(memory, 0, cell_arena_bytes(size));
    cell_arena_open(&arena, memory, size);
    for (int i = 0; i < 2; i++) { /* The first one is killed. */
        assert_int_equal(
            shard_rows_open(&rows[i], &job, &variables, 0, i == 0 ? &arena : NULL, &error), TN_OK);
        assert_int_equal(shard_rows_begin_load(&rows[i], &error), TN_OK);
        shard_rows_adopt(&rows[i]);
        for (uint64_t step = 0; step < 4; step++) {
            train(&rows[i], step, u64_min(step, 2), &whole, 1);
        }
    }
    assert_true(shard_rows_describe(&rows[0], &record.rows));
    cell_arena_close(&arena); /* Its blocks stay. */
    shard_rows_close(&rows[0]);
    cell_arena_open(&arena, memory, size);
    assert_int_equal(shard_rows_open(&rows[0], &job, &variables, 0, &arena, &error), TN_OK);
    assert_true(shard_rows_recover(&rows[0], &record));
    for (int i = 0; i < 2; i++) { count_late(&rows[i], counts[i]); }
    for (uint32_t t = 0; t < TABLES; t++) {
        assert_true(counts[1][t] > 0);
        assert_int_equal(counts[0][t], counts[1][t]);
    }
    shard_rows_close(&rows[0]);
    shard_rows_close(&rows[1]);
    cell_arena_close(&arena);
    free(memory);
}

/* Rows, and how many were looked up and applied: each pushed row once, whichever nodes came. */
static void test_use_is_counted(void **state)
{
    static const struct slice_node nodes[] = {{0, 2}, {2, 2}};
    static float out[64];
    struct shard_rows rows;
    struct row_sums sums;
    (void)state;
    open_rows(&rows);
    assert_int_equal(shard_rows_stats(&rows, 1).rows, 0);
    train(&rows, 0, 0, nodes, 2);
    read_all(&rows, 1, out);
    read_all(&rows, 1, out);
    assert_int_equal(row_sums_open(&variables, &sums, &error), TN_OK);
    sum_node(&sums, 0, (struct slice_node){0, V});
    for (uint32_t t = 0; t < TABLES; t++) {
        const struct table_stats stats = shard_rows_stats(&rows, t);
        assert_string_equal(stats.name, variables.row_tables[t].name);
        assert_int_equal(stats.rows, sums.tables[t].count);
        assert_true(stats.bytes > 0);
        assert_int_equal(stats.updates, sums.tables[t].count);
        assert_int_equal(stats.lookups, 2 * KEYS);
        assert_true(stats.hottest >= 2 && stats.hot >= 20 && stats.hot <= 2 * KEYS);
    }
    row_sums_close(&sums);
    shard_rows_close(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sum_does_not_depend_on_the_nodes),
        cmocka_unit_test(test_kept_steps_can_be_read_and_saved),
        cmocka_unit_test(test_a_late_first_save_after_a_kill),
        cmocka_unit_test(test_use_is_counted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
