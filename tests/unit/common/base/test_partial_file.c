/* Large files: under their name when they are complete, and not before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/files.h"
#include "common/base/partial_file.h"

static char folder[] = "/tmp/tanist-partial-XXXXXX";
static char path[64], partial[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) { return -1; }
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(partial, sizeof partial, "%s/file.partial", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove(path);
    return rmdir(folder); /* Any other file left over is a failure. */
}

static void assert_contents(const char *wanted)
{
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(files_read(path, 100, &data, &size, NULL), TN_OK);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(data, wanted, size);
    free(data);
}

/* The old contents stay until the new ones are complete. */
static void file_appears_at_the_end(void **state)
{
    (void)state;
    struct partial_file file;
    struct error error = {0};
    assert_int_equal(partial_file_open(&file, path, &error), TN_OK);
    partial_file_write(&file, "one", 3);
    assert_int_equal(access(path, F_OK), -1);
    partial_file_write(&file, " two", 4);
    assert_int_equal(file.bytes, 7);
    assert_int_equal(partial_file_close(&file, TN_OK, &error), TN_OK);
    assert_contents("one two");
}

/* A failed writer leaves the old file and no partial one. */
static void failure_leaves_the_old_file(void **state)
{
    (void)state;
    struct partial_file file;
    struct error error = {0};
    assert_int_equal(partial_file_open(&file, path, &error), TN_OK);
    partial_file_write(&file, "three", 5);
    assert_int_equal(access(partial, F_OK), 0);
    assert_int_equal(partial_file_close(&file, TN_ENOMEM, &error), TN_ENOMEM);
    assert_int_equal(access(partial, F_OK), -1);
    assert_contents("one two");
}

/* A piece that could not be written decides the end, although the caller succeeded. */
static void lost_piece_is_a_failure(void **state)
{
    (void)state;
    struct partial_file file;
    struct error error = {0};
    assert_int_equal(partial_file_open(&file, path, &error), TN_OK);
    assert_non_null(freopen("/dev/full", "wb", file.file));
    static const char piece[1 << 16];
    partial_file_write(&file, piece, sizeof piece);
    partial_file_write(&file, piece, sizeof piece);
    assert_int_equal(partial_file_close(&file, TN_OK, &error), TN_ENOSPC);
    assert_non_null(strstr(error.text, "file.partial"));
    assert_contents("one two");
}

/* The folder must exist. */
static void missing_folder_is_named(void **state)
{
    (void)state;
    struct partial_file file;
    struct error error = {0};
    assert_int_equal(partial_file_open(&file, "/nowhere/file", &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "/nowhere/file"));
    assert_int_equal(partial_file_close(&file, TN_ENOENT, &error), TN_ENOENT);
}

/* Before anything is written, and no file is left. */
static void folder_is_refused(void **state)
{
    (void)state;
    struct partial_file file;
    struct error error = {0};
    assert_int_equal(partial_file_open(&file, folder, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "is a folder"));
    char beside[80];
    (void)snprintf(beside, sizeof beside, "%s.partial", folder);
    assert_int_not_equal(access(beside, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_is_refused),           cmocka_unit_test(file_appears_at_the_end),
        cmocka_unit_test(failure_leaves_the_old_file), cmocka_unit_test(lost_piece_is_a_failure),
        cmocka_unit_test(missing_folder_is_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
