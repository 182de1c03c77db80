/* Durable small files: complete or absent, and errors that name the path. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/files.h"

static char folder[] = "/tmp/tanist-files-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a/b/c", "a/b", "a", "file", "pipe", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) { remove(in_folder(names[i])); }
    return access(folder, F_OK) == 0; /* Any file left over is a failure. */
}

/* A written file is read; a second write replaces it and leaves no other file. */
static void written_file_is_read(void **state)
{
    (void)state;
    char *data;
    size_t size;
    for (int i = 0; i < 2; i++) {
        const char *text = i == 0 ? "a longer first text" : "second";
        assert_int_equal(files_write_atomic(in_folder("file"), text, strlen(text), NULL), TN_OK);
        assert_int_equal(files_read(in_folder("file"), 100, &data, &size, NULL), TN_OK);
        assert_int_equal(size, strlen(text));
        assert_string_equal(data, text);
        free(data);
    }
}

/* The file that a killed writer left becomes the next one of the same name, whatever is in it. */
static void left_file_is_used_again(void **state)
{
    (void)state;
    char *data;
    size_t size;
    FILE *left = fopen(in_folder(".file.tmp-0"), "we");
    assert_non_null(left);
    assert_true(fputs("half of a longer text", left) >= 0 && fclose(left) == 0);
    assert_int_equal(files_write_atomic(in_folder("file"), "new", 3, NULL), TN_OK);
    assert_int_equal(files_read(in_folder("file"), 100, &data, &size, NULL), TN_OK);
    assert_string_equal(data, "new");
    free(data);
    assert_int_not_equal(access(in_folder(".file.tmp-0"), F_OK), 0);
}

/* The file of a writer at work is left alone, and that of an earlier one behind it used. */
static void writers_have_files_of_their_own(void **state)
{
    (void)state;
    struct stat before, after;
    const int other = open(in_folder(".file.tmp-0"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(other >= 0 && write(other, "text", 4) == 4);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(fstat(other, &before), 0);
    assert_int_equal(files_write_unsynced(in_folder("file"), "new", 3, NULL), TN_OK);
    assert_int_equal(stat(in_folder(".file.tmp-0"), &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_size, 4);
    assert_int_not_equal(access(in_folder(".file.tmp-1"), F_OK), 0);
    assert_int_equal(close(other), 0);
    assert_int_equal(files_write_unsynced(in_folder("file"), "new", 3, NULL), TN_OK);
    assert_int_not_equal(access(in_folder(".file.tmp-0"), F_OK), 0);
}

static unsigned mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (unsigned)info.st_mode & 0777U;
}

/* Other users read neither state nor keys. */
static void files_are_private(void **state)
{
    (void)state;
    assert_int_equal(files_write_atomic(in_folder("file"), "key", 3, NULL), TN_OK);
    assert_int_equal(mode_of(in_folder("file")), 0600);
    assert_int_equal(files_make_folders(in_folder("private/inner"), NULL), TN_OK);
    assert_int_equal(mode_of(in_folder("private")), 0700);
    assert_int_equal(rmdir(in_folder("private/inner")), 0);
    assert_int_equal(rmdir(in_folder("private")), 0);
}

/* Charts and reports have the mode of a file that a shell makes; one that exists is replaced. */
static void files_for_people_follow_the_umask(void **state)
{
    (void)state;
    const mode_t before = umask(0022);
    assert_int_equal(files_write_atomic(in_folder("file"), "old", 3, NULL), TN_OK);
    assert_int_equal(files_write_public(in_folder("file"), "chart", 5, NULL), TN_OK);
    assert_int_equal(mode_of(in_folder("file")), 0644);
    umask(0027);
    assert_int_equal(files_write_public(in_folder("file"), "chart", 5, NULL), TN_OK);
    assert_int_equal(mode_of(in_folder("file")), 0640);
    umask(before);
}

/* A file above the limit is refused before memory is allocated. */
static void larger_than_the_limit_is_refused(void **state)
{
    (void)state;
    char *data;
    size_t size;
    struct error error;
    assert_int_equal(files_write_atomic(in_folder("file"), "12345", 5, NULL), TN_OK);
    assert_int_equal(files_read(in_folder("file"), 4, &data, &size, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "5 bytes, expected at most 4"));
    assert_null(data);
}

/* A folder and a pipe without a writer are refused without blocking. */
static void only_regular_files_are_read(void **state)
{
    (void)state;
    char *data;
    size_t size;
    assert_int_equal(files_read(folder, 100, &data, &size, NULL), TN_EINVAL);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(files_read(in_folder("pipe"), 100, &data, &size, NULL), TN_EINVAL);
}

/* A missing file or folder is TN_ENOENT and named. */
static void missing_file_is_named(void **state)
{
    (void)state;
    char *data;
    size_t size;
    struct error error;
    assert_int_equal(files_read(in_folder("none"), 1, &data, &size, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "/none: No such file"));
    assert_int_equal(files_write_atomic(in_folder("no/file"), "", 0, &error), TN_ENOENT);
    assert_int_equal(files_sync_folder(in_folder("no"), &error), TN_ENOENT);
}

/* Folders are created with their parents; existing ones are fine, a file is not. */
static void folders_are_created(void **state)
{
    (void)state;
    struct stat info;
    struct error error;
    assert_int_equal(files_make_folders(in_folder("a/b//c/"), NULL), TN_OK);
    assert_int_equal(files_make_folders(in_folder("a/b/c"), NULL), TN_OK);
    assert_int_equal(stat(in_folder("a/b/c"), &info), 0);
    assert_int_equal(files_write_atomic(in_folder("file"), "", 0, NULL), TN_OK);
    assert_int_equal(files_make_folders(in_folder("file"), &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "Not a directory"));
    assert_int_equal(files_make_folders("", &error), TN_ENOENT);
}

/* Each errno becomes a status; unknown ones become TN_EIO. */
static void errno_becomes_a_status(void **state)
{
    (void)state;
    assert_int_equal(files_status_of(ENOSPC), TN_ENOSPC);
    assert_int_equal(files_status_of(EDQUOT), TN_ENOSPC);
    assert_int_equal(files_status_of(ENAMETOOLONG), TN_EINVAL);
    assert_int_equal(files_status_of(ELOOP), TN_EINVAL);
    assert_int_equal(files_status_of(EROFS), TN_EIO);
    assert_int_equal(files_status_of(EACCES), TN_EIO);
    assert_true(files_is_temporary_of(".manifest.json.tmp-7-1", "manifest.json"));
    assert_false(files_is_temporary_of("manifest.json", "manifest.json"));
    assert_false(files_is_temporary_of(".manifest.json", "manifest.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_file_is_read),
        cmocka_unit_test(left_file_is_used_again),
        cmocka_unit_test(writers_have_files_of_their_own),
        cmocka_unit_test(files_are_private),
        cmocka_unit_test(files_for_people_follow_the_umask),
        cmocka_unit_test(larger_than_the_limit_is_refused),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(missing_file_is_named),
        cmocka_unit_test(folders_are_created),
        cmocka_unit_test(errno_becomes_a_status),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
