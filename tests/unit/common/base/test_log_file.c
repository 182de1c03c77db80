/* Log files that are rotated: no line is lost or split, and their number is limited. */
#include "common/base/log_file.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/files.h"

enum { LIMIT = 100, TEXT_MAX = 4096, PATH_BYTES = 512 };

static char folder[64], path[PATH_BYTES];
static struct log_file file;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tanist-log-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ps-0.log", folder);
    assert_int_equal(log_file_open(&file, path, LIMIT, NULL), TN_OK);
    return 0;
}

static int remove_one(const char *name, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(name);
}

static int teardown(void **state)
{
    (void)state;
    log_file_close(&file);
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *text)
{
    log_file_write(&file, text, strlen(text));
}

/* The contents of PATH.number (0: PATH); "-" if it does not exist. Static storage. */
static const char *contents(int number)
{
    static char text[TEXT_MAX];
    char name[PATH_BYTES + 16], *data = NULL;
    size_t size = 0;
    snprintf(name, sizeof name, number > 0 ? "%s.%d" : "%s", path, number);
    if (files_read(name, sizeof text - 1, &data, &size, NULL) != TN_OK) { return "-"; }
    snprintf(text, sizeof text, "%s", data);
    free(data);
    return text;
}

/* A line of `count` characters and its end. */
static const char *line_of(char letter, size_t count)
{
    static char line[TEXT_MAX];
    assert_true(count < sizeof line - 1);
    memset(line, letter, count);
    snprintf(line + count, sizeof line - count, "\n");
    return line;
}

static void file_is_rotated_before_it_exceeds_the_limit(void **state)
{
    (void)state;
    put(line_of('a', 59));
    put(line_of('b', 39));
    assert_string_equal(contents(1), "-");
    put("c\n");
    assert_int_equal(strlen(contents(1)), LIMIT);
    assert_string_equal(contents(0), "c\n");
}

static void three_old_files_are_kept(void **state)
{
    (void)state;
    for (char letter = 'a'; letter <= 'f'; letter++) { put(line_of(letter, 90)); }
    for (int i = 0; i <= LOG_FILES_KEPT; i++) { assert_int_equal(contents(i)[0], 'f' - i); }
    assert_string_equal(contents(LOG_FILES_KEPT), line_of('c', 90));
    char beyond[PATH_BYTES + 16];
    snprintf(beyond, sizeof beyond, "%s.%d", path, LOG_FILES_KEPT + 1);
    assert_int_not_equal(access(beyond, F_OK), 0);
}

/* Output arrives in pieces: the end of a line joins its beginning. */
static void line_in_pieces_is_not_split(void **state)
{
    (void)state;
    put(line_of('a', 80));
    put("begun, ");
    put("continued beyond the limit, ");
    put("ended\nnext\n");
    assert_non_null(strstr(contents(1), "\nbegun, continued beyond the limit, ended\n"));
    assert_string_equal(contents(0), "next\n");
}

static void line_longer_than_the_limit_stays_whole(void **state)
{
    (void)state;
    put(line_of('a', 3 * LIMIT));
    put("b\n");
    assert_int_equal(strlen(contents(1)), 3 * LIMIT + 1);
    assert_string_equal(contents(0), "b\n");
}

static void existing_file_is_continued(void **state)
{
    (void)state;
    put(line_of('a', 90));
    log_file_close(&file);
    assert_int_equal(log_file_open(&file, path, LIMIT, NULL), TN_OK);
    put("short\n");
    assert_int_equal(strlen(contents(0)), 97);
    put("more\n");
    assert_string_equal(contents(0), "more\n");
}

/* The disk refuses the new file: the old one grows, and nothing is lost. */
static void refused_rotation_loses_nothing(void **state)
{
    (void)state;
    char next[PATH_BYTES + 16];
    snprintf(next, sizeof next, "%s.new", path);
    assert_int_equal(mkdir(next, 0700), 0);
    put(line_of('a', 90));
    put(line_of('b', 90));
    assert_int_equal(strlen(contents(0)), 182);
    assert_string_equal(contents(1), "-");
    assert_int_equal(rmdir(next), 0);
    put("c\n");
    assert_int_equal(strlen(contents(1)), 182);
    assert_string_equal(contents(0), "c\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(file_is_rotated_before_it_exceeds_the_limit),
        TEST(three_old_files_are_kept),
        TEST(line_in_pieces_is_not_split),
        TEST(line_longer_than_the_limit_stays_whole),
        TEST(existing_file_is_continued),
        TEST(refused_rotation_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
