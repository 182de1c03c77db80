/* The tables of a cluster are the sums over its ps; a ps that has not answered is not counted. */
#include "agent/observe/table_totals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PS = 3 };

static struct table_stats parts[PS][ROW_TABLES_MAX];
static uint64_t updates[PS] = {7, 7, 7}; /* The number of each ps. */

static void fill(void)
{
    for (uint32_t ps = 0; ps < PS; ps++) {
        parts[ps][0] = (struct table_stats){"small", 1, 100, 10, 5, 4, 6};
        parts[ps][1] = (struct table_stats){"large", 10 + ps, 1000, 100 * (ps + 1), 50, 20, 60};
        parts[ps][2] = (struct table_stats){.name = "empty"};
    }
}

static struct table_totals totals_of(const uint32_t counts[PS])
{
    struct table_totals totals = {0};
    struct table_source sources[PS];
    fill();
    for (uint32_t ps = 0; ps < PS; ps++) {
        sources[ps] =
            (struct table_source){.count = counts[ps], .buckets = 100 + ps, .updates = updates[ps]};
    }
    table_totals_set(&totals, PS, (const struct table_stats(*)[ROW_TABLES_MAX])parts, sources);
    return totals;
}

static void sums_are_over_all_ps(void **state)
{
    struct table_totals totals = totals_of((const uint32_t[]){3, 3, 3});
    (void)state;
    assert_int_equal(totals.count, 3);
    assert_int_equal(totals.answered, PS);
    assert_string_equal(totals.tables[1].name, "large");
    assert_int_equal(totals.tables[1].rows, 33);
    assert_int_equal(totals.tables[1].lookups, 600);
    assert_int_equal(table_totals_of_ps(&totals, 2).lookups, 310);
    assert_int_equal(table_totals_all(&totals).bytes, 3300);
    assert_true(fabs(table_hot_share(&totals.tables[1]) - 0.3) < 1e-12);
    assert_true(fabs(table_imbalance(&totals, 1) - 1.5) < 1e-12);
    assert_true(fabs(table_imbalance(&totals, 3) - 310.0 / 210) < 1e-12);
    assert_true(isnan(table_hot_share(&totals.tables[2])));
    assert_true(isnan(table_imbalance(&totals, 2)));
    table_totals_free(&totals);
}

/* A ps that was restarted has counted a tenth of the time: its counters count tenfold. One that has
 * made no update yet has no load. */
static void ps_that_started_later_are_compared(void **state)
{
    const uint32_t all[PS] = {3, 3, 3};
    (void)state;
    updates[2] = 70;
    updates[0] = 70;
    struct table_totals totals = totals_of(all);
    assert_int_equal(totals.sources[1].buckets, 101);
    assert_true(fabs(table_load(&totals, 1, 0) - 100.0 / 800) < 1e-12);
    assert_true(fabs(table_load(&totals, 1, 1) - 2000.0 / 800) < 1e-12);
    assert_true(fabs(table_imbalance(&totals, 1) - 2000.0 / 800) < 1e-12);
    assert_int_equal(totals.tables[1].lookups, 600);
    table_totals_free(&totals);
    updates[1] = 0;
    totals = totals_of(all);
    assert_true(isnan(table_load(&totals, 1, 1)));
    assert_true(fabs(table_imbalance(&totals, 1) - 1.5) < 1e-12);
    table_totals_free(&totals);
    updates[0] = updates[2] = 0;
    totals = totals_of(all);
    assert_true(isnan(table_imbalance(&totals, 1)));
    table_totals_free(&totals);
    updates[0] = updates[1] = updates[2] = 7;
}

static void unknown_ps_are_not_counted(void **state)
{
    struct table_totals totals = totals_of((const uint32_t[]){0, 3, 2});
    (void)state;
    assert_int_equal(totals.answered, 1);
    assert_true(!totals.known[0] && totals.known[1] && !totals.known[2]);
    assert_int_equal(totals.tables[1].rows, 11);
    assert_true(table_imbalance(&totals, 1) == 1);
    json_t *list = table_totals_json(&totals, true);
    const json_t *ps = json_object_get(json_array_get(list, 1), "ps");
    assert_int_equal(json_array_size(list), 3);
    assert_true(json_is_null(json_array_get(ps, 0)));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(ps, 1), "rows")), 11);
    assert_true(json_is_null(json_object_get(json_array_get(list, 2), "hot_share")));
    json_decref(list);
    table_totals_free(&totals);
}

/* No ps has answered, or the model has no tables. */
static void without_answers_there_are_no_tables(void **state)
{
    struct table_totals totals = totals_of((const uint32_t[]){0, 0, 0});
    (void)state;
    assert_int_equal(totals.count, 0);
    json_t *list = table_totals_json(&totals, true);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    table_totals_set(&totals, 0, NULL, NULL);
    assert_int_equal(totals.count, 0);
    table_totals_free(&totals);
}

/* Equal ones are in the model's order; there are no more than are wanted. */
static void the_largest_come_first(void **state)
{
    uint32_t out[3] = {9, 9, 9};
    struct table_totals totals = totals_of((const uint32_t[]){3, 3, 3});
    (void)state;
    assert_int_equal(table_totals_largest(&totals, 2, out), 2);
    assert_true(out[0] == 1 && out[1] == 0 && out[2] == 9);
    assert_int_equal(table_totals_largest(&totals, 3, out), 3);
    assert_true(out[0] == 1 && out[1] == 0 && out[2] == 2);
    assert_int_equal(table_totals_largest(&totals, 0, out), 0);
    totals.tables[0].bytes = totals.tables[2].bytes = 3000;
    assert_int_equal(table_totals_largest(&totals, 3, out), 3);
    assert_true(out[0] == 0 && out[1] == 1 && out[2] == 2);
    table_totals_free(&totals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_over_all_ps),
        cmocka_unit_test(ps_that_started_later_are_compared),
        cmocka_unit_test(unknown_ps_are_not_counted),
        cmocka_unit_test(without_answers_there_are_no_tables),
        cmocka_unit_test(the_largest_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
