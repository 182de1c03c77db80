/* Files of tables: chains of a full file and deltas give the same rows; damaged, foreign and
 * missing files are refused. */
#include "ps/table/table_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/files.h"
#include "common/base/random.h"

enum { WIDTH = 7, FILES = 6, TOUCHED = 3000, PATH_BYTES = 128, SMALL = 3, EXPIRE = 2 };

static char folder[] = "/tmp/tanist-test-XXXXXX";
static char names[FILES + 1][PATH_BYTES];
static const char *paths[FILES + 1];
static struct error error;

static const struct row_table_spec spec = {
    .name = "shops", .width = WIDTH, .optimizer = SPARSE_ROW_ADAGRAD, .seed = 1, .scale = 0.1F};

/* A row is trained by two steps, one after the other. */
static const struct row_table_spec expiring = {.name = "shops",
                                               .width = WIDTH,
                                               .optimizer = SPARSE_ROW_ADAGRAD,
                                               .seed = 1,
                                               .scale = 0.1F,
                                               .expire_after = EXPIRE};

static struct row_table *open_table(const struct row_table_spec *of)
{
    struct row_table *table;
    assert_int_equal(row_table_open(of, &table, &error), TN_OK);
    return table;
}

/* Half of the keys are new. */
static void train(struct row_table *table, uint32_t count)
{
    static const struct sparse_optimizer optimizer = {.kind = SPARSE_ROW_ADAGRAD, .epsilon = 1e-8};
    const uint64_t step = row_table_step(table);
    const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.1, step);
    static uint64_t keys[TOUCHED];
    static float values[TOUCHED * WIDTH];
    assert_true(count <= TOUCHED);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = ((step * count / 2 + i) << 20) + 3;
        for (uint32_t c = 0; c < WIDTH; c++) {
            values[i * WIDTH + c] = random_normal_at(step, i, c);
        }
    }
    const struct sparse_rows rows = {.count = count, .keys = keys, .values = values};
    assert_int_equal(row_table_apply(table, &constants, rows, &error), TN_OK);
    row_table_release(table, row_table_step(table));
}

/* Returns the bytes of the file. */
static uint64_t save(struct row_table *table, const char *path, bool full, uint64_t since)
{
    uint64_t bytes = 0;
    struct table_file_info info = {.full = full, .step = row_table_step(table), .since = since};
    assert_int_equal(row_table_begin_save(table, row_table_step(table), full, &info.rows, &error),
                     TN_OK);
    assert_int_equal(table_file_write(path, table, &info, &bytes, &error), TN_OK);
    row_table_end_save(table, true);
    return bytes;
}

static struct digest digest_of_table(struct row_table *table)
{
    struct digest digest;
    assert_int_equal(row_table_digest(table, &digest, &error), TN_OK);
    return digest;
}

static enum tn_status load(struct row_table *table, const char *const *list, uint32_t count)
{
    error.text[0] = '\0';
    return table_file_load(list, count, table, &error);
}

static void check_chain(const struct row_table_spec *of, uint64_t row_bytes)
{
    struct row_table *table = open_table(of), *loaded = open_table(of);
    uint64_t since = 0;
    for (int f = 0; f < FILES; f++) {
        train(table, TOUCHED);
        const uint64_t bytes = save(table, paths[f], f == 0, since);
        assert_true(bytes <= TOUCHED * row_bytes * 115 / 100);
        since = row_table_step(table);
        assert_int_equal(load(loaded, paths, (uint32_t)f + 1), TN_OK);
        assert_int_equal(row_table_step(loaded), since);
        assert_true(digest_equal(digest_of_table(loaded), digest_of_table(table)));
        assert_int_equal(row_table_stats(loaded).rows, row_table_stats(table).rows);
    }
    assert_int_equal(row_table_stats(loaded).dirty, 0);
    train(table, TOUCHED);
    train(loaded, TOUCHED);
    assert_true(digest_equal(digest_of_table(loaded), digest_of_table(table)));
    row_table_close(table);
    row_table_close(loaded);
}

/* A chain gives the rows back, and both tables go on to the same bits. A delta has at most 1.15
 * times the bytes of the rows that it touched. */
static void a_chain_restores_the_table(void **state)
{
    const uint64_t row_bytes = 8 + (WIDTH + 1) * sizeof(float);
    (void)state;
    check_chain(&spec, row_bytes);
    check_chain(&expiring, row_bytes + 8);
}

/* Rows that have expired after their file was written are not loaded, and are not in later files;
 * one that is trained again begins with its initial values. */
static void expired_rows_are_not_loaded(void **state)
{
    struct row_table *table = open_table(&expiring), *loaded = open_table(&expiring);
    const uint64_t key = 3;
    float initial[WIDTH], value[WIDTH];
    (void)state;
    row_table_read(table, 0, &key, 1, initial);
    train(table, TOUCHED);
    save(table, paths[0], true, 0);
    row_table_read(table, 1, &key, 1, value);
    assert_memory_not_equal(value, initial, sizeof value);
    for (uint32_t i = 0; i < EXPIRE; i++) { train(table, 2); }
    save(table, paths[1], false, 1);
    assert_int_equal(load(loaded, paths, 1), TN_OK);
    assert_int_equal(row_table_stats(loaded).rows, TOUCHED);
    assert_int_equal(load(loaded, paths, 2), TN_OK);
    assert_int_equal(row_table_stats(loaded).rows, row_table_stats(table).rows);
    assert_int_equal(row_table_stats(loaded).rows, 3);
    row_table_read(loaded, 1 + EXPIRE, &key, 1, value);
    assert_memory_equal(value, initial, sizeof value);
    row_table_close(table);
    row_table_close(loaded);
}

static void a_table_without_rows_is_a_file(void **state)
{
    struct row_table *table = open_table(&spec), *loaded = open_table(&spec);
    (void)state;
    save(table, paths[0], true, 0);
    train(loaded, SMALL);
    assert_int_equal(load(loaded, paths, 1), TN_OK);
    assert_int_equal(row_table_stats(loaded).rows, 0);
    row_table_close(table);
    row_table_close(loaded);
}

static void refused(const char *const *list, uint32_t count, const struct row_table_spec *of,
                    enum tn_status wanted, const char *text)
{
    struct row_table *table = open_table(of);
    assert_int_equal(load(table, list, count), wanted);
    assert_non_null(strstr(error.text, text));
    row_table_close(table);
}

static void foreign_and_missing_files_are_refused(void **state)
{
    struct row_table_spec other = spec, wider = spec, adam = spec;
    struct row_table *table = open_table(&spec);
    (void)state;
    snprintf(other.name, sizeof other.name, "users");
    wider.width++;
    adam.optimizer = SPARSE_LAZY_ADAM;
    for (uint64_t f = 0; f < 3; f++) {
        train(table, SMALL);
        save(table, paths[f], f == 0, f);
    }
    const char *const swapped[] = {paths[0], paths[2], paths[1]};
    const char *const twice[] = {paths[0], paths[1], paths[1]};
    refused(paths + 1, 1, &spec, TN_ECORRUPT, "no full file");
    refused(swapped, 2, &spec, TN_ECORRUPT, "a file is missing");
    refused(swapped, 3, &spec, TN_ECORRUPT, "a file is missing");
    refused(twice, 3, &spec, TN_ECORRUPT, "a file is missing");
    refused(paths, 1, &other, TN_EINVAL, "'shops'");
    refused(paths, 1, &wider, TN_EINVAL, "width 7");
    refused(paths, 1, &adam, TN_EINVAL, "another optimizer");
    refused(paths, 1, &expiring, TN_EINVAL, "rows that do not expire for the table 'shops'");
    refused(paths, 1, &expiring, TN_EINVAL, "but the job needs rows that expire");
    refused(paths + FILES, 1, &spec, TN_ENOENT, paths[FILES]);
    row_table_close(table);
}

/* The error about a file of counts does not call them rows. */
static void counts_are_not_rows(void **state)
{
    struct row_table_spec counts = expiring;
    (void)state;
    counts.counts = true;
    struct row_table *table = open_table(&counts);
    save(table, paths[0], true, 0);
    refused(paths, 1, &spec, TN_EINVAL, "counts of keys for the table 'shops'");
    refused(paths, 1, &expiring, TN_EINVAL, "but the job needs rows that expire");
    row_table_close(table);
}

static void check_damage(const struct row_table_spec *of)
{
    size_t size;
    char *bytes;
    struct row_table *table = open_table(of), *loaded = open_table(of);
    struct table_file_info info;
    train(table, SMALL);
    save(table, paths[0], true, 0);
    assert_int_equal(files_read(paths[0], 1 << 20, &bytes, &size, &error), TN_OK);
    assert_int_equal(table_file_check(bytes, size, "x", loaded, &info, &error), TN_OK);
    assert_int_equal(row_table_stats(loaded).rows, 0);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
        assert_int_equal(table_file_check(bytes, size, "x", loaded, &info, &error), TN_ECORRUPT);
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
    }
    for (size_t shorter = 0; shorter < size; shorter++) {
        assert_int_equal(table_file_check(bytes, shorter, "x", loaded, &info, &error), TN_ECORRUPT);
    }
    free(bytes);
    row_table_close(table);
    row_table_close(loaded);
}

/* Each byte in turn, and each length. */
static void damage_is_found(void **state)
{
    (void)state;
    check_damage(&spec);
    check_damage(&expiring);
}

/* A write that fails leaves the older file. */
static void a_failed_write_leaves_the_older_file(void **state)
{
    uint64_t bytes;
    char nowhere[PATH_BYTES];
    struct row_table *table = open_table(&spec);
    struct table_file_info info = {.full = true};
    (void)state;
    assert_true(snprintf(nowhere, sizeof nowhere, "%s/none/file", folder) > 0);
    train(table, SMALL);
    assert_int_equal(row_table_begin_save(table, row_table_step(table), true, &info.rows, &error),
                     TN_OK);
    assert_int_equal(table_file_write(nowhere, table, &info, &bytes, &error), TN_ENOENT);
    row_table_end_save(table, false);
    assert_int_equal(row_table_stats(table).dirty, SMALL);
    row_table_close(table);
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int f = 0; f <= FILES; f++) {
        assert_true(snprintf(names[f], PATH_BYTES, "%s/rows-%d", folder, f) > 0);
        paths[f] = names[f];
    }
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (int f = 0; f < FILES; f++) { (void)unlink(paths[f]); }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_restores_the_table),
        cmocka_unit_test(expired_rows_are_not_loaded),
        cmocka_unit_test(a_table_without_rows_is_a_file),
        cmocka_unit_test(foreign_and_missing_files_are_refused),
        cmocka_unit_test(counts_are_not_rows),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_failed_write_leaves_the_older_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
