/* Lookups: each row is asked for once, of the ps that has it, in pieces that fit in a frame. */
#include "worker/row_lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/row_body.h"
#include "common/cluster/row_owner.h"

enum { TABLES = 2, PS = 3, FRAME_BYTES = 64, KEYS = 50, WIDTH_MOST = 4 };

static const uint32_t widths[TABLES] = {4, 1};
static const struct row_borders borders = {.count = 2, .buckets = {1000, 3000}};
static struct variable_table variables;
static const struct row_lookup_config config = {
    .variables = &variables, .borders = &borders, .ps = PS, .frame_bytes = FRAME_BYTES};
static struct error error;

static int set_up(void **state)
{
    (void)state;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        variables.row_tables[t] = (struct row_table_shape){.name = "t", .width = widths[t]};
    }
    return 0;
}

static float value_of(uint32_t table, uint64_t key, uint32_t column)
{
    return (float)(1000 * (table + 1) + 10 * key) + (float)column;
}

/* A piece is answered as a ps does. Returns the number of its rows. */
static uint32_t answer(struct row_lookup *lookup, uint32_t ps, const uint8_t *body, size_t size,
                       uint32_t asked[TABLES][KEYS], bool *more)
{
    const struct row_body_rules rules = {.variables = &variables,
                                         .part = row_part_of(&borders, PS, ps)};
    struct row_body_order order = {.begun = false};
    struct row_body_reader reader = row_body_read(&rules, body, size);
    struct row_body_row row;
    float rows[FRAME_BYTES];
    uint64_t floats;
    uint32_t at = 0, count = 0;
    assert_null(row_body_fault(&rules, body, size, &order, &floats));
    assert_in_range(floats * sizeof(float), 1, FRAME_BYTES);
    while (row_body_next(&reader, &row)) {
        asked[row.table][row.key]++;
        for (uint32_t c = 0; c < widths[row.table]; c++) {
            rows[at++] = value_of(row.table, row.key, c);
        }
        count++;
    }
    assert_false(row_lookup_take(lookup, ps, rows, (at - 1) * sizeof *rows, more));
    assert_true(row_lookup_take(lookup, ps, rows, at * sizeof *rows, more));
    return count;
}

static void add(struct row_lookup *lookup, uint32_t table, uint64_t from, uint64_t step)
{
    const struct row_sink *sink = row_lookup_sink(lookup);
    for (uint64_t key = from; key < KEYS; key += step) {
        const uint64_t keys[] = {key, SPARSE_KEY_NONE, key};
        assert_int_equal(sink->add(sink->ctx, table, keys, 3, &error), TN_OK);
    }
}

static void get_all(struct row_lookup *lookup, uint32_t asked[TABLES][KEYS])
{
    uint64_t set;
    uint8_t body[FRAME_BYTES], again[FRAME_BYTES];
    assert_int_equal(row_lookup_settle(lookup, &set, &error), TN_OK);
    for (uint32_t p = 0; p < PS; p++) {
        bool more = (set >> p & 1) != 0;
        while (more) {
            const size_t size = row_lookup_ask(lookup, p, body);
            /* The same piece, until it was taken. */
            assert_int_equal(row_lookup_ask(lookup, p, again), size);
            assert_memory_equal(body, again, size);
            assert_true(answer(lookup, p, body, size, asked, &more) > 0);
        }
    }
}

static void expect_row(const struct row_lookup *lookup, uint32_t table, uint64_t key)
{
    float row[WIDTH_MOST];
    const struct row_source *source = row_lookup_source(lookup);
    source->read(source->ctx, table, &key, 1, row);
    for (uint32_t c = 0; c < widths[table]; c++) { assert_true(row[c] == value_of(table, key, c)); }
}

static void test_each_row_is_asked_for_once(void **state)
{
    struct row_lookup *lookup;
    (void)state;
    assert_int_equal(row_lookup_open(&config, &lookup, &error), TN_OK);
    for (uint64_t round = 1; round <= 3; round++) {
        uint32_t asked[TABLES][KEYS] = {{0}};
        row_lookup_begin(lookup, 1, 1);
        add(lookup, 0, 0, round);
        add(lookup, 1, 1, 2);
        add(lookup, 0, 0, round);
        get_all(lookup, asked);
        for (uint64_t key = 0; key < KEYS; key++) {
            assert_int_equal(asked[0][key], key % round == 0);
            assert_int_equal(asked[1][key], key % 2 == 1);
            if (key % round == 0) { expect_row(lookup, 0, key); }
            if (key % 2 == 1) { expect_row(lookup, 1, key); }
        }
    }
    row_lookup_close(lookup);
}

/* Keys that are added many times, as those of a test set are, need memory once; every one is asked
 * for, however their order is. */
static void test_memory_is_for_different_keys(void **state)
{
    enum { DIFFERENT = 20011, STRIDE = 7919, TIMES = 8, KEY_BYTES = 128 };
    static uint8_t body[1 << 20];
    const struct row_borders none = {.count = 0};
    struct row_lookup_config alone = config;
    struct row_lookup *lookup;
    uint64_t set;
    (void)state;
    alone.borders = &none;
    alone.ps = 1;
    alone.frame_bytes = sizeof body;
    assert_int_equal(row_lookup_open(&alone, &lookup, &error), TN_OK);
    assert_int_equal(row_lookup_bytes(lookup), 0);
    const struct row_sink *sink = row_lookup_sink(lookup);
    for (uint32_t round = 0; round < 2; round++) {
        row_lookup_begin(lookup, 1, round);
        for (uint64_t i = 0; i < (uint64_t)DIFFERENT * TIMES; i++) {
            const uint64_t key = i * STRIDE % DIFFERENT;
            assert_int_equal(sink->add(sink->ctx, 1, &key, 1, &error), TN_OK);
        }
        assert_int_equal(row_lookup_settle(lookup, &set, &error), TN_OK);
        assert_in_range(row_lookup_bytes(lookup), DIFFERENT, (uint64_t)DIFFERENT * KEY_BYTES);
        assert_int_equal(row_lookup_bytes(lookup),
                         row_lookup_bytes_of(config.variables->row_tables[1].width, DIFFERENT));
        const size_t keys = (row_lookup_ask(lookup, 0, body) - 2 * sizeof(uint32_t)) / 8;
        assert_int_equal(keys, DIFFERENT);
        for (uint64_t i = 0; i < DIFFERENT; i++) {
            uint64_t key;
            memcpy(&key, body + 2 * sizeof(uint32_t) + i * sizeof key, sizeof key);
            assert_int_equal(key, i);
        }
    }
    row_lookup_close(lookup);
}

static void test_no_rows_ask_no_ps(void **state)
{
    struct row_lookup *lookup;
    uint64_t set = 1;
    (void)state;
    assert_int_equal(row_lookup_open(&config, &lookup, &error), TN_OK);
    row_lookup_begin(lookup, 1, 1);
    assert_int_equal(row_lookup_settle(lookup, &set, &error), TN_OK);
    assert_int_equal(set, 0);
    row_lookup_close(lookup);
}

static void test_a_wide_row_needs_a_larger_frame(void **state)
{
    struct row_lookup *lookup;
    (void)state;
    struct row_lookup_config small = config;
    small.frame_bytes = 31;
    assert_int_equal(row_lookup_open(&small, &lookup, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "width 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row_is_asked_for_once),
        cmocka_unit_test(test_memory_is_for_different_keys),
        cmocka_unit_test(test_no_rows_ask_no_ps),
        cmocka_unit_test(test_a_wide_row_needs_a_larger_frame),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
