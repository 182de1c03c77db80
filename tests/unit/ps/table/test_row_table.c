/* Tables against full copies of all rows: random histories of steps, reads of two steps, saves that
 * last for several steps and may fail, loads, expiry, and limits of memory. */
#include "ps/table/row_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

enum { KEYS = 400, WIDTH = 5, NUMBERS = 3 * WIDTH, STEPS = 300, TOUCHED = 40, SEEDS = 24 };
enum { LAG = 4, VERSIONS = LAG + 3 };

static struct error error;

/* All rows after a step. */
struct copy {
    float numbers[KEYS][NUMBERS];
    uint64_t steps[KEYS]; /* The one that the last update of a row made; 0: it was not trained. */
};

struct history {
    struct random random;
    struct row_table_spec spec;
    struct sparse_optimizer optimizer;
    struct row_table *table;
    uint64_t keys[KEYS];            /* Ascending. */
    struct copy versions[VERSIONS]; /* The version of step s is at s % VERSIONS. */
    struct copy disk,
        file;          /* The rows that saves have written, and those of the save in progress. */
    struct copy saved; /* All rows of its step. */
    uint64_t lowest;   /* Steps from here on can be saved. */
    uint64_t save_step;
    bool saving, committed;  /* `committed`: the last save was. */
    uint64_t rows, next;     /* Rows of the save in progress; the next one. */
    uint64_t written, late;  /* `late`: deltas of a step before the present one. */
    uint64_t expired, again; /* `again`: trained after they had expired. */
    float initial[KEYS][WIDTH];
};

static struct copy *version(struct history *h, uint64_t step)
{
    return &h->versions[step % VERSIONS];
}

static uint32_t index_of(const struct history *h, uint64_t key)
{
    uint32_t k = 0;
    while (h->keys[k] != key) { k++; }
    return k;
}

static struct row_table *open_table(const struct row_table_spec *spec)
{
    struct row_table *table;
    assert_int_equal(row_table_open(spec, &table, &error), TN_OK);
    return table;
}

static void begin(struct history *h, uint64_t seed)
{
    memset(h, 0, sizeof *h);
    h->random.state = seed;
    h->spec = (struct row_table_spec){
        .name = "shops",
        .width = WIDTH,
        .optimizer = (enum sparse_kind)(seed % SPARSE_KINDS),
        .seed = seed,
        .scale = 0.05F,
        .expire_after = seed % 2 == 0 ? 0 : 1 + seed * seed / 3 % 50,
    };
    h->optimizer = (struct sparse_optimizer){
        .kind = h->spec.optimizer, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    h->table = open_table(&h->spec);
    for (uint32_t k = 0; k < KEYS; k++) {
        h->keys[k] = (uint64_t)k * UINT64_C(11400714819323198) + random_below(&h->random, 1000);
    }
    row_table_read(h->table, 0, h->keys, KEYS, &h->initial[0][0]);
    for (uint32_t k = 0; k < KEYS; k++) {
        memcpy(h->versions[0].numbers[k], h->initial[k], sizeof h->initial[k]);
    }
    h->disk = h->versions[0];
}

/* Some keys are much more frequent. */
static uint64_t draw_rows(struct history *h, uint64_t *keys, float *values)
{
    uint64_t count = 0;
    const uint64_t most = 1 + random_below(&h->random, TOUCHED);
    for (uint32_t k = 0; k < KEYS && count < most; k++) {
        if (random_below(&h->random, k < 20 ? 3 : 12) != 0) { continue; }
        for (uint32_t c = 0; c < WIDTH; c++) {
            values[count * WIDTH + c] = (float)random_below(&h->random, 2001) / 1000 - 1;
        }
        keys[count++] = h->keys[k];
    }
    return count;
}

/* Rows that have expired are as if they had never been trained. Returns their number. */
static uint64_t expire(const struct history *h, struct copy *copy, uint64_t step)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < KEYS; k++) {
        if (h->spec.expire_after == 0 || copy->steps[k] == 0 ||
            step - copy->steps[k] < h->spec.expire_after) {
            continue;
        }
        copy->steps[k] = 0;
        memset(copy->numbers[k], 0, sizeof copy->numbers[k]);
        memcpy(copy->numbers[k], h->initial[k], sizeof h->initial[k]);
        count++;
    }
    return count;
}

static uint64_t trained(const struct copy *copy)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < KEYS; k++) { count += copy->steps[k] > 0; }
    return count;
}

static void apply(struct history *h)
{
    uint64_t keys[TOUCHED + 1];
    float values[(TOUCHED + 1) * WIDTH];
    const uint64_t step = row_table_step(h->table), count = draw_rows(h, keys, values);
    const struct sparse_constants constants = sparse_constants_of(&h->optimizer, 0.1, step);
    const struct sparse_rows rows = {.count = count, .keys = keys, .values = values};
    struct copy *from = version(h, step), *to = version(h, step + 1);
    *to = *from;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t k = index_of(h, keys[i]);
        sparse_update(h->spec.optimizer, WIDTH, &constants, values + i * WIDTH, from->numbers[k],
                      to->numbers[k]);
        to->steps[k] = step + 1;
        h->again += from->steps[k] == 0 && h->expired > 0;
    }
    h->expired += expire(h, to, step + 1);
    assert_int_equal(row_table_apply(h->table, &constants, rows, &error), TN_OK);
    assert_int_equal(row_table_stats(h->table).rows, trained(to));
}

/* Every key, in any order. */
static void compare(struct history *h, uint64_t step)
{
    uint64_t keys[KEYS];
    float got[KEYS][WIDTH];
    const uint64_t turn = random_below(&h->random, KEYS);
    for (uint32_t k = 0; k < KEYS; k++) { keys[k] = h->keys[(k * UINT64_C(7) + turn) % KEYS]; }
    row_table_read(h->table, step, keys, KEYS, &got[0][0]);
    for (uint32_t k = 0; k < KEYS; k++) {
        assert_memory_equal(got[k], version(h, step)->numbers[index_of(h, keys[k])], sizeof got[k]);
    }
}

static void begin_save(struct history *h)
{
    const uint64_t present = row_table_step(h->table);
    const bool all = random_below(&h->random, 4) == 0;
    h->save_step = present - random_below(&h->random, present - h->lowest + 1);
    h->saving = true;
    h->next = 0;
    h->saved = *version(h, h->save_step);
    h->file = h->disk;
    assert_int_equal(row_table_begin_save(h->table, h->save_step, all, &h->rows, &error), TN_OK);
    h->late += h->save_step < present && !all;
}

/* The thread of the store writes some rows; after the last one the save is committed, or fails. The
 * files together are then all rows of its step. */
static void go_on_saving(struct history *h)
{
    uint64_t last = 0;
    const uint64_t end = h->next + random_below(&h->random, 60);
    if (h->next == 0) { assert_int_equal(row_table_sort_save(h->table, &error), TN_OK); }
    for (; h->next < h->rows && h->next < end; h->next++) {
        const struct row_table_row row = row_table_saved_row(h->table, h->next);
        const uint32_t k = index_of(h, row.key);
        assert_true(last == 0 || row.key > last);
        last = row.key;
        memcpy(h->file.numbers[k], row.numbers, row_table_numbers(h->table) * sizeof(float));
        h->file.steps[k] = h->spec.expire_after > 0 ? row.step : 1;
        if (h->spec.expire_after > 0) { assert_int_equal(row.step, h->saved.steps[k]); }
        h->written++;
    }
    if (h->next < h->rows) { return; }
    h->committed = random_below(&h->random, 3) != 0;
    if (h->committed) {
        struct copy loaded = h->file;
        (void)expire(h, &loaded, h->save_step);
        assert_memory_equal(loaded.numbers, h->saved.numbers, sizeof loaded.numbers);
        assert_int_equal(trained(&loaded), trained(&h->saved));
        h->disk = h->file;
        h->lowest = u64_max(h->lowest, h->save_step);
    }
    row_table_end_save(h->table, h->committed);
    h->saving = false;
}

static struct digest digest_of_table(struct row_table *table)
{
    struct digest digest;
    assert_int_equal(row_table_digest(table, &digest, &error), TN_OK);
    return digest;
}

/* Another table with the rows of the disk continues in place of the present one. */
static void reload(struct history *h)
{
    const uint64_t step = row_table_step(h->table);
    struct row_table *loaded = open_table(&h->spec);
    row_table_begin_load(loaded);
    for (uint32_t k = KEYS; k-- > 0;) {
        const struct sparse_rows row = {
            .count = 1, .keys = &h->keys[k], .values = h->disk.numbers[k]};
        const uint64_t *steps = h->spec.expire_after > 0 ? &h->disk.steps[k] : NULL;
        if (h->disk.steps[k] == 0) { continue; }
        assert_int_equal(row_table_load(loaded, row, steps, &error), TN_OK);
    }
    assert_int_equal(row_table_end_load(loaded, step, &error), TN_OK);
    assert_true(digest_equal(digest_of_table(loaded), digest_of_table(h->table)));
    row_table_close(h->table);
    h->table = loaded;
}

static void random_histories_are_those_of_full_copies(void **state)
{
    struct history *h = malloc(sizeof *h);
    (void)state;
    assert_non_null(h);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(h, seed);
        for (uint64_t step = 0; step < STEPS; step++) {
            uint64_t read_from = step;
            apply(h);
            const uint64_t lag = random_below(&h->random, LAG);
            h->lowest = u64_max(h->lowest, step - u64_min(step, lag));
            row_table_release(h->table, h->lowest);
            if (!h->saving && random_below(&h->random, 10) == 0) {
                begin_save(h);
                const bool at_once = random_below(&h->random, 3) == 0;
                while (at_once && h->saving) { go_on_saving(h); }
                if (at_once && h->committed && h->save_step == step + 1) {
                    reload(h);
                    read_from = h->lowest = step + 1;
                }
            }
            if (h->saving) { go_on_saving(h); }
            for (uint64_t s = read_from; s <= step + 1; s++) { compare(h, s); }
        }
        if (h->saving) { row_table_end_save(h->table, false); }
        const struct row_table_stats stats = row_table_stats(h->table);
        const bool expires = h->spec.expire_after > 0;
        assert_int_equal(stats.rows, trained(version(h, STEPS)));
        assert_true(expires || stats.rows > KEYS / 2);
        assert_true(expires == (h->expired > 100) && expires == (h->again > 100));
        assert_true(stats.cells <= stats.rows + 2 * (LAG + 1) * TOUCHED);
        assert_true(h->written > 0 && h->late > 0);
        row_table_close(h->table);
    }
    free(h);
}

static struct sparse_constants plain_rate(void)
{
    static const struct sparse_optimizer sgd = {.kind = SPARSE_SGD};
    return sparse_constants_of(&sgd, 0.5, 0);
}

static enum tn_status train(struct row_table *table, uint64_t first, uint64_t count)
{
    enum { MOST = 4096 };
    static uint64_t keys[MOST];
    static float values[MOST * WIDTH];
    const struct sparse_constants constants = plain_rate();
    assert_true(count <= MOST);
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = first + i;
        values[i * WIDTH] = (float)i;
    }
    return row_table_apply(table, &constants,
                           (struct sparse_rows){.count = count, .keys = keys, .values = values},
                           &error);
}

/* Rows of one seed are equal, those of other seeds, names, keys and columns differ; none is in
 * memory. */
static void initial_values_are_a_function_of_the_key(void **state)
{
    const struct row_table_spec specs[] = {
        {.name = "a", .width = WIDTH, .seed = 1, .scale = 0.1F},
        {.name = "a", .width = WIDTH, .seed = 1, .scale = 0.1F},
        {.name = "b", .width = WIDTH, .seed = 1, .scale = 0.1F},
        {.name = "a", .width = WIDTH, .seed = 2, .scale = 0.1F},
    };
    const uint64_t keys[] = {5, SPARSE_KEY_MOST};
    float rows[4][2][WIDTH];
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct row_table *table = open_table(&specs[t]);
        row_table_read(table, 0, keys, 2, &rows[t][0][0]);
        assert_int_equal(row_table_stats(table).rows, 0);
        assert_int_equal(row_table_stats(table).bytes, 0);
        row_table_close(table);
        for (int c = 0; c < 2 * WIDTH; c++) {
            const float value = (&rows[t][0][0])[c];
            assert_true(value >= -0.1F && value < 0.1F);
            for (int d = 0; d < c; d++) { assert_true(value != (&rows[t][0][0])[d]); }
        }
    }
    assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
    assert_memory_not_equal(rows[0], rows[2], sizeof rows[0]);
    assert_memory_not_equal(rows[0], rows[3], sizeof rows[0]);
}

/* An update that exceeds the limit changes nothing, and names the table; a smaller one succeeds. */
static void the_limit_of_memory_is_kept(void **state)
{
    const struct row_table_spec spec = {
        .name = "shops", .width = WIDTH, .seed = 1, .memory_bytes = 1 << 20};
    struct row_table *table = open_table(&spec);
    uint64_t first = 0;
    (void)state;
    enum tn_status status = TN_OK;
    struct digest before = {0};
    struct row_table_stats stats = row_table_stats(table);
    while (status == TN_OK) {
        before = digest_of_table(table);
        stats = row_table_stats(table);
        assert_true(stats.bytes <= spec.memory_bytes);
        status = train(table, first, 2000);
        first += 2000;
        if (status == TN_OK) { row_table_release(table, row_table_step(table)); }
    }
    assert_int_equal(status, TN_ENOMEM);
    assert_non_null(strstr(error.text, "table 'shops'"));
    assert_true(stats.rows >= 4000);
    assert_int_equal(row_table_stats(table).rows, stats.rows);
    assert_true(row_table_stats(table).bytes <= spec.memory_bytes);
    assert_true(digest_equal(digest_of_table(table), before));
    assert_int_equal(train(table, 0, 1), TN_OK);
    assert_int_equal(row_table_stats(table).rows, stats.rows);
    row_table_close(table);
}

/* The number of its rows. */
static uint64_t begin_delta(struct row_table *table)
{
    uint64_t count;
    assert_int_equal(row_table_begin_save(table, row_table_step(table), false, &count, &error),
                     TN_OK);
    return count;
}

/* Only touched rows are in a delta; those of a failed save are in the next one. */
static void a_delta_has_the_changed_rows(void **state)
{
    const struct row_table_spec spec = {.name = "t", .width = WIDTH, .seed = 1};
    struct row_table *table = open_table(&spec);
    uint64_t count;
    (void)state;
    assert_int_equal(train(table, 100, 1000), TN_OK);
    assert_int_equal(begin_delta(table), 1000);
    row_table_end_save(table, true);
    assert_int_equal(train(table, 90, 20), TN_OK);
    assert_int_equal(begin_delta(table), 20);
    assert_int_equal(row_table_sort_save(table, &error), TN_OK);
    assert_int_equal(row_table_saved_row(table, 0).key, 90);
    assert_int_equal(train(table, 100, 5), TN_OK);
    row_table_end_save(table, false);
    assert_int_equal(begin_delta(table), 20);
    row_table_end_save(table, true);
    assert_int_equal(begin_delta(table), 0);
    row_table_end_save(table, true);
    assert_int_equal(row_table_begin_save(table, row_table_step(table), true, &count, &error),
                     TN_OK);
    assert_int_equal(count, 1010);
    row_table_end_save(table, true);
    row_table_close(table);
}

/* While a save lasts for many steps, each row has one version more, not one of each step. */
static void a_long_save_keeps_one_version_more(void **state)
{
    const uint64_t expiry[] = {0, 3};
    (void)state;
    for (size_t e = 0; e < 2; e++) {
        const struct row_table_spec spec = {.width = WIDTH, .expire_after = expiry[e]};
        struct row_table *table = open_table(&spec);
        uint64_t count;
        assert_int_equal(train(table, 0, 100), TN_OK);
        assert_int_equal(row_table_begin_save(table, 1, true, &count, &error), TN_OK);
        assert_int_equal(row_table_sort_save(table, &error), TN_OK);
        const float before = row_table_saved_row(table, 7).numbers[0];
        for (uint64_t i = 0; i < 50; i++) {
            assert_int_equal(train(table, 0, 100), TN_OK);
            row_table_release(table, row_table_step(table));
            assert_true(row_table_stats(table).cells <= 300);
        }
        assert_memory_equal(&row_table_saved_row(table, 7).numbers[0], &before, sizeof before);
        for (uint64_t i = 0; i < 50; i++) { /* The rows above expire, if they do. */
            assert_int_equal(train(table, 100, 100), TN_OK);
            row_table_release(table, row_table_step(table));
            assert_true(row_table_stats(table).cells <= 500);
        }
        assert_memory_equal(&row_table_saved_row(table, 7).numbers[0], &before, sizeof before);
        row_table_end_save(table, true);
        assert_true(row_table_stats(table).cells <= 200);
        row_table_close(table);
    }
}

/* A row of width 16 with row-wise Adagrad, and all that belongs to it. */
static void a_row_takes_110_bytes(void **state)
{
    enum { ROWS = 4096, ROUNDS = 256, ROW_WIDTH = 16 };
    static uint64_t keys[ROWS];
    static float values[ROWS * ROW_WIDTH];
    static const struct sparse_optimizer optimizer = {.kind = SPARSE_ROW_ADAGRAD, .epsilon = 1e-8};
    const struct row_table_spec spec = {
        .name = "t", .width = ROW_WIDTH, .optimizer = SPARSE_ROW_ADAGRAD, .seed = 1};
    const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.1, 0);
    struct row_table *table = open_table(&spec);
    (void)state;
    for (uint64_t r = 0; r < ROUNDS; r++) {
        for (uint64_t i = 0; i < ROWS; i++) { keys[i] = r * ROWS + i; }
        const struct sparse_rows rows = {.count = ROWS, .keys = keys, .values = values};
        assert_int_equal(row_table_apply(table, &constants, rows, &error), TN_OK);
        row_table_release(table, row_table_step(table) - 1);
        if (r % 16 != 0) { continue; }
        (void)begin_delta(table);
        row_table_end_save(table, true);
    }
    const struct row_table_stats stats = row_table_stats(table);
    assert_int_equal(stats.rows, (uint64_t)ROWS * ROUNDS);
    assert_true(stats.bytes <= 110 * stats.rows);
    row_table_close(table);
}

/* A table of a part takes its rows from those of all, in order and whole. */
static void loads_take_the_rows_of_their_part(void **state)
{
    enum { ROWS = 1000, PARTS = 3 };
    static uint64_t keys[ROWS];
    static float numbers[ROWS];
    uint64_t found = 0;
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        keys[i] = 3 * i + 1;
        numbers[i] = (float)i;
    }
    for (uint32_t ps = 0; ps < PARTS; ps++) {
        const struct row_table_spec spec = {.name = "part",
                                            .width = 1,
                                            .optimizer = SPARSE_SGD,
                                            .scale = 0.5F,
                                            .number = 2,
                                            .part =
                                                row_part_of(&(struct row_borders){0}, PARTS, ps)};
        const struct sparse_rows all = {.count = ROWS, .keys = keys, .values = numbers};
        struct row_table *table = open_table(&spec);
        row_table_begin_load(table);
        assert_int_equal(row_table_load(table, all, NULL, &error), TN_OK);
        assert_int_equal(row_table_end_load(table, 1, &error), TN_OK);
        const uint64_t rows = row_table_stats(table).rows;
        assert_true(rows > ROWS / PARTS / 2 && rows < ROWS);
        found += rows;
        for (uint32_t i = 0; i < ROWS; i++) {
            float value;
            row_table_read(table, 1, &keys[i], 1, &value);
            const bool ours = row_part_has(&spec.part, 2, keys[i]);
            assert_int_equal(value == numbers[i], ours || (i == 0 && value == 0));
        }
        row_table_close(table);
    }
    assert_int_equal(found, ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histories_are_those_of_full_copies),
        cmocka_unit_test(initial_values_are_a_function_of_the_key),
        cmocka_unit_test(the_limit_of_memory_is_kept),
        cmocka_unit_test(a_delta_has_the_changed_rows),
        cmocka_unit_test(a_long_save_keeps_one_version_more),
        cmocka_unit_test(a_row_takes_110_bytes),
        cmocka_unit_test(loads_take_the_rows_of_their_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
