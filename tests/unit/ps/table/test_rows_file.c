/* Files with the rows of several tables: chains give all rows back; damaged, short and foreign
 * files, and those of more or fewer tables, are refused. */
#include "ps/table/rows_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/files.h"

enum { TABLES = 3, FILES = 3, TOUCHED = 40 };

static const struct row_table_spec specs[TABLES] = {
    {.name = "users", .width = 4, .optimizer = SPARSE_ADAGRAD, .seed = 1, .scale = 0.1F},
    {.name = "items", .width = 1, .optimizer = SPARSE_ADAGRAD, .seed = 1, .scale = 0.1F},
    {.name = "shops", .width = 7, .optimizer = SPARSE_ADAGRAD, .seed = 2, .scale = 0.1F},
};

static char folder[] = "/tmp/tanist-test-XXXXXX";
static struct rows_file files[FILES];
static struct row_table *tables[TABLES], *loaded[TABLES];
static struct error error;

/* Other keys in each table; of the second table none. */
static void train(uint64_t step)
{
    static const struct sparse_optimizer optimizer = {.kind = SPARSE_ADAGRAD, .epsilon = 1e-8};
    const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.1, step);
    static uint64_t keys[TOUCHED];
    static float values[TOUCHED * 7];
    for (uint32_t t = 0; t < TABLES; t++) {
        const uint32_t count = t == 1 ? 0 : TOUCHED;
        for (uint32_t i = 0; i < count; i++) { keys[i] = 100 * t + 7 * i + step; }
        for (uint32_t i = 0; i < count * specs[t].width; i++) { values[i] = (float)i - 9.5F; }
        const struct sparse_rows rows = {.count = count, .keys = keys, .values = values};
        assert_int_equal(row_table_apply(tables[t], &constants, rows, &error), TN_OK);
        row_table_release(tables[t], step + 1);
    }
}

/* Train a step, and write it as file `number` of the chain. */
static void train_and_write(uint32_t number)
{
    uint64_t counts[TABLES];
    train(number);
    const struct rows_save save = {
        .full = number == 0, .step = number + 1, .since = number, .row_counts = counts};
    for (uint32_t t = 0; t < TABLES; t++) {
        assert_int_equal(row_table_begin_save(tables[t], row_table_step(tables[t]), save.full,
                                              &counts[t], &error),
                         TN_OK);
    }
    assert_int_equal(rows_file_write(&files[number], (const struct row_table *const *)tables,
                                     TABLES, &save, &error),
                     TN_OK);
    for (uint32_t t = 0; t < TABLES; t++) { row_table_end_save(tables[t], true); }
}

static int open_tables(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < TABLES; t++) {
        assert_int_equal(row_table_open(&specs[t], &tables[t], &error), TN_OK);
        assert_int_equal(row_table_open(&specs[t], &loaded[t], &error), TN_OK);
    }
    for (uint32_t f = 0; f < FILES; f++) { train_and_write(f); }
    return 0;
}

static int close_tables(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < TABLES; t++) {
        row_table_close(tables[t]);
        row_table_close(loaded[t]);
    }
    return 0;
}

static void expect_refusal(enum tn_status expected, const char *text, uint32_t file_count,
                           uint32_t table_count)
{
    assert_int_equal(rows_file_load(files, file_count, loaded, table_count, &error), expected);
    if (strstr(error.text, text) == NULL) { fail_msg("%s: no '%s'", error.text, text); }
}

static void test_a_chain_gives_all_rows_back(void **state)
{
    struct digest expected, found;
    (void)state;
    assert_int_equal(rows_file_load(files, FILES, loaded, TABLES, &error), TN_OK);
    for (uint32_t t = 0; t < TABLES; t++) {
        assert_int_equal(row_table_step(loaded[t]), FILES);
        assert_int_equal(row_table_digest(tables[t], &expected, &error), TN_OK);
        assert_int_equal(row_table_digest(loaded[t], &found, &error), TN_OK);
        assert_true(digest_equal(expected, found));
    }
    assert_true(row_table_stats(loaded[0]).rows > TOUCHED);
    assert_int_equal(row_table_stats(loaded[1]).rows, 0);
}

/* A chain without its first file, with a gap, or in another order. */
static void test_another_chain_is_refused(void **state)
{
    (void)state;
    const struct rows_file first = files[0];
    files[0] = files[1];
    expect_refusal(TN_ECORRUPT, files[1].path, 1, TABLES);
    files[0] = first;
    const struct rows_file second = files[1];
    files[1] = files[2];
    expect_refusal(TN_ECORRUPT, files[2].path, 2, TABLES);
    files[1] = second;
}

/* Append the table `t` of the save in progress to a file, as one of step `step`. */
static void add_of_step(struct partial_file *partial, struct digest_stream *digest, uint32_t t,
                        bool full, uint64_t step)
{
    struct table_file_info info = {.full = full, .step = step, .since = full ? 0 : FILES - 1};
    assert_int_equal(row_table_begin_save(tables[t], FILES, full, &info.rows, &error), TN_OK);
    assert_int_equal(table_file_add(partial, digest, tables[t], &info, NULL, &error), TN_OK);
    row_table_end_save(tables[t], false);
}

/* A file of the last step with a table of another step; its digest is the one that was recorded. */
static void write_two_steps(struct rows_file *file, uint32_t odd, bool full)
{
    struct partial_file partial;
    struct digest_stream digest;
    assert_int_equal(partial_file_open(&partial, file->path, &error), TN_OK);
    digest_begin(&digest);
    for (uint32_t t = 0; t < TABLES; t++) {
        add_of_step(&partial, &digest, t, full, t == odd ? FILES + 1 : FILES);
    }
    file->bytes = partial.bytes;
    file->digest = digest_end(&digest);
    assert_int_equal(partial_file_close(&partial, TN_OK, &error), TN_OK);
}

/* Full files and deltas whose tables are not all of one step are damaged, whichever table
 * differs. */
static void test_tables_of_several_steps_are_refused(void **state)
{
    (void)state;
    for (uint32_t odd = 0; odd < TABLES; odd++) {
        write_two_steps(&files[FILES - 1], odd, false);
        expect_refusal(TN_ECORRUPT, files[FILES - 1].path, FILES, TABLES);
        assert_non_null(strstr(error.text, odd == 0 ? "'items'" : specs[odd].name));
    }
    write_two_steps(&files[FILES - 1], TABLES, false);
    assert_int_equal(rows_file_load(files, FILES, loaded, TABLES, &error), TN_OK);
    write_two_steps(&files[0], 1, true);
    expect_refusal(TN_ECORRUPT, files[0].path, 1, TABLES);
    write_two_steps(&files[0], TABLES, true);
    assert_int_equal(rows_file_load(files, 1, loaded, TABLES, &error), TN_OK);
}

static void test_the_number_of_tables_must_fit(void **state)
{
    (void)state;
    expect_refusal(TN_EINVAL, "more tables than the 2 of the job", 1, TABLES - 1);
    struct row_table *const last = loaded[2];
    loaded[2] = loaded[0];
    expect_refusal(TN_EINVAL, files[0].path, 1, TABLES);
    loaded[2] = last;
}

/* The first file is full, the others are deltas behind it; rows are those of all tables. */
static void test_files_are_inspected(void **state)
{
    uint64_t rows = 0;
    (void)state;
    for (uint32_t f = 0; f < FILES; f++) {
        struct table_file_info info;
        assert_int_equal(rows_file_inspect(&files[f], &info, &error), TN_OK);
        assert_true(info.full == (f == 0));
        assert_int_equal(info.step, f + 1);
        assert_int_equal(info.since, f);
        assert_true(info.rows > 0);
        rows += info.rows;
    }
    assert_true(rows > row_table_stats(tables[0]).rows);
    struct table_file_info first, none;
    assert_int_equal(rows_file_inspect(&files[0], &first, &error), TN_OK);
    assert_true(first.rows < rows);
    struct rows_file moved = files[0];
    moved.path[0] = 'x';
    assert_int_equal(rows_file_inspect(&moved, &none, &error), TN_ENOENT);
    moved = files[0];
    moved.bytes--;
    assert_int_equal(rows_file_inspect(&moved, &none, &error), TN_ECORRUPT);
}

/* A file of which any byte is changed, or the end is missing. */
static void test_damage_is_refused(void **state)
{
    char changed[2];
    (void)state;
    assert_int_equal(rows_file_verify(&files[1], &error), TN_OK);
    FILE *file = fopen(files[1].path, "r+b");
    assert_non_null(file);
    for (uint64_t at = 0; at < files[1].bytes; at += 61) {
        (void)fseek(file, (long)at, SEEK_SET);
        assert_int_equal(fread(changed, 1, 1, file), 1);
        changed[1] = (char)(changed[0] ^ 4);
        for (int side = 1; side >= 0; side--) {
            (void)fseek(file, (long)at, SEEK_SET);
            assert_int_equal(fwrite(&changed[side], 1, 1, file), 1);
            (void)fflush(file);
            const enum tn_status expected = side == 1 ? TN_ECORRUPT : TN_OK;
            assert_int_equal(rows_file_verify(&files[1], &error), expected);
        }
    }
    (void)fclose(file);
    assert_int_equal(truncate(files[1].path, (off_t)files[1].bytes - 1), 0);
    assert_int_equal(rows_file_verify(&files[1], &error), TN_ECORRUPT);
    expect_refusal(TN_ECORRUPT, files[1].path, 2, TABLES);
    assert_int_equal(unlink(files[1].path), 0);
    expect_refusal(TN_ENOENT, files[1].path, 2, TABLES);
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) { return 1; }
    for (uint32_t f = 0; f < FILES; f++) {
        (void)snprintf(files[f].path, sizeof files[f].path, "%s/%u.rows", folder, f);
    }
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (uint32_t f = 0; f < FILES; f++) { (void)unlink(files[f].path); }
    return rmdir(folder);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_tables, close_tables)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_chain_gives_all_rows_back),
        TEST(test_another_chain_is_refused),
        TEST(test_tables_of_several_steps_are_refused),
        TEST(test_the_number_of_tables_must_fit),
        TEST(test_files_are_inspected),
        TEST(test_damage_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
