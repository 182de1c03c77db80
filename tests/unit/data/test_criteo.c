/* The criteo-like source: rows are a function of their number, values follow Zipf's law, test rows
 * are others, and clicks follow the hidden model. */
#include "data/criteo.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 20000, TEXTS = 512 };

static struct error error;

static struct source open_rows(uint64_t rows, bool test, const char *options)
{
    struct source source;
    const struct criteo_config config = {.seed = 7, .rows = rows, .test = test, .options = options};
    assert_int_equal(criteo_open(&config, &source, &error), TN_OK);
    return source;
}

/* The row as one text. */
static void show(const struct source *source, uint64_t i, char text[static TEXTS])
{
    struct source_row row;
    size_t used = 0;
    assert_int_equal(source_row_open(&row, source->column_count, NULL), TN_OK);
    assert_int_equal(source_read(source, i, &row, &error), TN_OK);
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct source_cell *cell = &row.cells[c];
        if (source->columns[c].kind == SOURCE_NUMBER) {
            used += (size_t)snprintf(text + used, TEXTS - used, "%.9g ", cell->number);
        } else {
            used += (size_t)snprintf(text + used, TEXTS - used, "%.*s ", (int)cell->size,
                                     (const char *)cell->bytes);
        }
        assert_true(used < TEXTS);
    }
    source_row_close(&row);
}

/* Neither the number of rows nor those read before change a row; its bits are the same on every
 * machine. */
static void a_row_is_a_function_of_its_number(void **state)
{
    char text[TEXTS], again[TEXTS];
    struct source few = open_rows(100, false, "{\"values\": 100}");
    struct source many = open_rows(UINT64_C(1) << 40, false, "{\"values\": 100}");
    (void)state;
    show(&few, 42, text);
    show(&many, 7, again);
    assert_string_not_equal(text, again);
    show(&many, 42, again);
    assert_string_equal(text, again);
    assert_int_equal(digest_of(text, strlen(text)).low, UINT64_C(0x53c92516edf3c0a6));
    assert_false(digest_equal(few.digest, many.digest));
    source_close(&few);
    source_close(&many);
}

static void test_rows_are_others_of_the_same_model(void **state)
{
    char text[TEXTS], other[TEXTS];
    struct source train = open_rows(ROWS, false, ""), test = open_rows(ROWS, true, "");
    (void)state;
    show(&train, 3, text);
    show(&test, 3, other);
    assert_string_not_equal(text, other);
    const double train_area = criteo_best_area(&train), test_area = criteo_best_area(&test);
    assert_true(train_area > 0.75 && train_area < 0.9);
    assert_true(fabs(train_area - test_area) < 0.02);
    source_close(&train);
    source_close(&test);
}

/* The first of two values has the probability log(2) / log(3), which is 0.631; all that exist
 * occur. */
static void values_follow_zipfs_law(void **state)
{
    uint64_t first = 0, wanted[CRITEO_CATEGORIES];
    char seen[2][16] = {"", ""};
    struct source_row row;
    struct source source = open_rows(ROWS, false, "{\"values\": 2}");
    (void)state;
    criteo_values(&source, wanted);
    assert_int_equal(wanted[0], 2);
    const uint32_t column = source_find(&source, "C1");
    assert_int_equal(source_row_open(&row, source.column_count, NULL), TN_OK);
    for (uint64_t i = 0; i < ROWS; i++) {
        assert_int_equal(source_read(&source, i, &row, &error), TN_OK);
        char text[16] = "";
        memcpy(text, row.cells[column].bytes, row.cells[column].size);
        if (*seen[0] == '\0') { memcpy(seen[0], text, sizeof text); }
        if (strcmp(seen[0], text) == 0) {
            first++;
        } else if (*seen[1] == '\0') {
            memcpy(seen[1], text, sizeof text);
        }
        assert_true(strcmp(seen[0], text) == 0 || strcmp(seen[1], text) == 0);
    }
    const double share = (double)first / ROWS;
    assert_true(fabs((share > 0.5 ? share : 1 - share) - 0.631) < 0.02);
    source_row_close(&row);
    source_close(&source);
}

/* By default the numbers of values are the contest's; more enlarge all of them. */
static void the_option_decides_the_number_of_values(void **state)
{
    uint64_t values[CRITEO_CATEGORIES];
    (void)state;
    struct source source = open_rows(1, false, "");
    criteo_values(&source, values);
    assert_int_equal(values[2], 10131227);
    assert_int_equal(values[8], 3);
    source_close(&source);
    source = open_rows(1, false, "{\"values\": 1000000000}");
    criteo_values(&source, values);
    assert_int_equal(values[2], 1000000000);
    assert_int_equal(values[8], 296);
    source_close(&source);
    const struct criteo_config wrong = {.rows = 1, .options = "{\"values\": 1}"};
    assert_int_equal(criteo_open(&wrong, &source, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "values"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_function_of_its_number),
        cmocka_unit_test(test_rows_are_others_of_the_same_model),
        cmocka_unit_test(values_follow_zipfs_law),
        cmocka_unit_test(the_option_decides_the_number_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
