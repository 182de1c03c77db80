/* Sources: rows of one CSV file and of many, their digest, and errors that name the place. */
#include "data/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/tanist-test-XXXXXX";
static struct error error;

static void write_file(const char *name, const char *text)
{
    char path[128];
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) > 0);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static enum tn_status open_pattern(const char *format, const char *pattern, struct source *out)
{
    char path[128];
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, pattern) > 0);
    const struct source_config config = {.format = format, .pattern = path};
    error.text[0] = '\0';
    return source_open(&config, out, &error);
}

static void expect_row(const struct source *source, uint64_t i, const char *wanted)
{
    char text[256] = "";
    struct source_row row;
    assert_int_equal(source_row_open(&row, source->column_count, NULL), TN_OK);
    assert_int_equal(source_read(source, i, &row, &error), TN_OK);
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct source_cell *cell = &row.cells[c];
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "[%s%.*s]", cell->missing ? "-" : "",
                 (int)cell->size, (const char *)cell->bytes);
    }
    assert_string_equal(text, wanted);
    source_row_close(&row);
}

static void expect_refusal(const char *format, const char *pattern, const char *part)
{
    struct source source;
    assert_int_not_equal(open_pattern(format, pattern, &source), TN_OK);
    if (strstr(error.text, part) == NULL) { fail_msg("'%s' lacks '%s'", error.text, part); }
}

static void test_rows_of_a_file(void **state)
{
    struct source source;
    (void)state;
    write_file("a.csv", "\xef\xbb\xbfname,\"the \"\"age\"\"\"\r\n"
                        "Zo\xc3\xab,3\r\n\r\n\"a,\nb\",\r\n\"\",-1e3");
    assert_int_equal(open_pattern("csv", "a.csv", &source), TN_OK);
    assert_int_equal(source.count, 3);
    assert_int_equal(source.column_count, 2);
    assert_int_equal(source_find(&source, "the \"age\""), 1);
    assert_int_equal(source_find(&source, "age"), 2);
    expect_row(&source, 2, "[][-1e3]");
    expect_row(&source, 0, "[Zo\xc3\xab][3]");
    expect_row(&source, 1, "[a,\nb][-]");
    char place[SOURCE_PLACE_MAX];
    source_locate(&source, 2, 1, place);
    assert_non_null(strstr(place, "a.csv:6: column 2 'the \"age\"'"));
    source_close(&source);
}

static void test_many_files_are_one_table(void **state)
{
    struct source source, same, other;
    char place[SOURCE_PLACE_MAX];
    (void)state;
    write_file("p-1.tsv", "x\ty\n1\t2\n");
    write_file("p-10.tsv", "x\ty\n3\t4\n5\t6\n");
    write_file("p-2.tsv", "x\ty\n7\t8\n");
    write_file("q.tsv", "x\ty\n7\t9\n");
    assert_int_equal(open_pattern("tsv", "p-*.tsv", &source), TN_OK);
    assert_int_equal(source.count, 4);
    expect_row(&source, 0, "[1][2]");
    expect_row(&source, 2, "[5][6]");
    expect_row(&source, 3, "[7][8]");
    source_locate(&source, 2, 0, place);
    assert_non_null(strstr(place, "p-10.tsv:3: column 1 'x'"));
    assert_int_equal(open_pattern("tsv", "{p-1,p-10,p-2}.tsv", &same), TN_OK);
    assert_true(digest_equal(source.digest, same.digest));
    assert_int_equal(open_pattern("tsv", "{p-1,p-10,q}.tsv", &other), TN_OK);
    assert_false(digest_equal(source.digest, other.digest));
    source_close(&source);
    source_close(&same);
    source_close(&other);
}

static void test_errors_name_the_place(void **state)
{
    struct source source;
    struct source_row row;
    (void)state;
    write_file("short.csv", "a,b\n1,2\n3\n4,5,6\n");
    assert_int_equal(open_pattern("csv", "short.csv", &source), TN_OK);
    assert_int_equal(source_row_open(&row, 2, NULL), TN_OK);
    assert_int_equal(source_read(&source, 0, &row, &error), TN_OK);
    assert_int_equal(source_read(&source, 1, &row, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "short.csv:3: the row has 1 value, but there are 2"));
    assert_int_equal(source_read(&source, 2, &row, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "short.csv:4: the row has 3 values"));
    source_row_close(&row);
    source_close(&source);
}

static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    write_file("empty.csv", "");
    write_file("names.csv", "a,b\n");
    write_file("twice.csv", "a,b,a\n1,2,3\n");
    write_file("latin.csv", "a,b\n1,2\n\xe9,3\n");
    write_file("open.csv", "a,b\n1,2\n\"3,4\n");
    write_file("c-1.csv", "a,b\n1,2\n");
    write_file("c-2.csv", "b,a\n1,2\n");
    write_file("c-3.csv", "a\n1\n");
    expect_refusal("csv", "empty.csv", "empty.csv is empty");
    expect_refusal("csv", "names.csv", "has no rows");
    expect_refusal("csv", "twice.csv", "two columns have the name 'a'");
    expect_refusal("csv", "latin.csv", "latin.csv:3: byte 0xe9 is not valid UTF-8");
    expect_refusal("csv", "open.csv", "open.csv:3: a quote is not closed");
    expect_refusal("csv", "c-{1,2}.csv", "column 1 is 'b'");
    expect_refusal("csv", "c-{1,3}.csv", "has 1 columns");
    expect_refusal("csv", "absent-*.csv", "no file matches");
    expect_refusal("cvs", "c-1.csv", "unknown data.format 'cvs': did you mean 'csv'?");
    expect_refusal("excel", "c-1.csv", "unknown data.format 'excel': give one of csv, tsv");
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_file),
        cmocka_unit_test(test_many_files_are_one_table),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
