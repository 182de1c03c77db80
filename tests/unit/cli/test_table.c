/* Tables for people: widths, alignment, no trailing blanks. */
#include "cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = {
    {"TASK", TABLE_LEFT},
    {"STEP", TABLE_RIGHT},
    {"NOTE", TABLE_LEFT},
};

static char *print(struct table *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(table_print(table, out));
    assert_int_equal(fclose(out), 0);
    return text;
}

/* The widest cell or title decides the width of a column; the last column is not padded. */
static void columns_fit_their_widest_cell(void **state)
{
    (void)state;
    struct table table;
    table_init(&table, columns, 3);
    table_cell(&table, "coordinator:%d", 1);
    table_cell(&table, "7");
    table_cell(&table, "the chief");
    table_cell(&table, "ps:0");
    table_no_value(&table);
    table_cell(&table, "%s", "");
    char *text = print(&table);
    assert_string_equal(text, "TASK           STEP  NOTE\n"
                              "coordinator:1     7  the chief\n"
                              "ps:0              -\n");
    free(text);
}

/* A table without rows is its titles. */
static void empty_table_prints_titles(void **state)
{
    (void)state;
    struct table table;
    table_init(&table, columns, 3);
    char *text = print(&table);
    assert_string_equal(text, "TASK  STEP  NOTE\n");
    free(text);
}

/* Many rows are kept and printed in order. */
static void rows_keep_their_order(void **state)
{
    (void)state;
    struct table table;
    table_init(&table, columns, 1);
    for (int i = 0; i < 1000; i++) { table_cell(&table, "%d", i); }
    char *text = print(&table);
    assert_non_null(strstr(text, "\n0\n1\n"));
    assert_non_null(strstr(text, "\n998\n999\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_fit_their_widest_cell),
        cmocka_unit_test(empty_table_prints_titles),
        cmocka_unit_test(rows_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
