/* Statistics of tables as bytes: nothing that a frame may contain is trusted. */
#include "common/cluster/table_stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 2 };

static const struct table_stats tables[COUNT] = {
    {"C1/rows", 3, 1000, 50, 40, 7, 30},
    {"C2/rows", 0, UINT64_MAX, 0, UINT64_C(1) << 60, 0, 0},
};

static void encode(uint8_t body[static COUNT * TABLE_STATS_BYTES])
{
    for (uint32_t t = 0; t < COUNT; t++) {
        table_stats_encode(&tables[t], body + (size_t)t * TABLE_STATS_BYTES);
    }
}

static void what_is_written_is_read(void **state)
{
    uint8_t body[COUNT * TABLE_STATS_BYTES];
    struct table_stats out[COUNT];
    (void)state;
    encode(body);
    assert_true(table_stats_decode(body, sizeof body, COUNT, out));
    assert_memory_equal(out, tables, sizeof out);
    assert_true(table_stats_decode(NULL, 0, 0, out)); /* A model without tables. */
}

/* A size that does not fit, too many tables. */
static void other_sizes_are_refused(void **state)
{
    uint8_t body[COUNT * TABLE_STATS_BYTES];
    struct table_stats out[COUNT];
    (void)state;
    encode(body);
    assert_false(table_stats_decode(body, sizeof body - 1, COUNT, out));
    assert_false(table_stats_decode(body, sizeof body, COUNT - 1, out));
    assert_false(table_stats_decode(body, sizeof body, UINT32_MAX, out));
    assert_false(table_stats_decode(body, (size_t)(ROW_TABLES_MAX + 1) * TABLE_STATS_BYTES,
                                    ROW_TABLES_MAX + 1, out));
}

/* Names without an end, empty ones and control characters; parts that exceed the whole. */
static void invalid_records_are_refused(void **state)
{
    uint8_t body[COUNT * TABLE_STATS_BYTES];
    struct table_stats out[COUNT];
    (void)state;
    encode(body);
    memset(body, 'x', VARIABLE_NAME_MAX);
    assert_false(table_stats_decode(body, sizeof body, COUNT, out));
    encode(body);
    body[0] = '\0';
    assert_false(table_stats_decode(body, sizeof body, COUNT, out));
    encode(body);
    body[1] = 0x1b;
    assert_false(table_stats_decode(body, sizeof body, COUNT, out));
    encode(body);
    body[TABLE_STATS_BYTES - 8] = 51; /* `hot` of the first. */
    assert_false(table_stats_decode(body, sizeof body, COUNT, out));
    encode(body);
    body[TABLE_STATS_BYTES - 16] = 31; /* `hottest` */
    assert_false(table_stats_decode(body, sizeof body, COUNT, out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(invalid_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
