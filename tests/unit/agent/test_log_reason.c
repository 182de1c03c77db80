/* The line of a log that explains the end of its process, whatever other threads write after it. */
#include "agent/log_reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define AT    "2026-11-27T14:43:58.797Z "
#define INFO  AT "INFO  worker:1 epoch=1 generation=1 over TCP, as the peer does not answer\n"
#define WARN  AT "WARN  worker:1 epoch=1 generation=1 ERROR is only a word here\n"
#define ERROR AT "ERROR worker:1 epoch=1 generation=1 refused: the data differ\n"
#define JSON(level, message)                                                                       \
    "{\"time\":\"2026-11-27T14:43:58.797Z\",\"level\":\"" level "\",\"message\":\"" message "\"}"  \
    "\n"

static void expect(const char *text, const char *line)
{
    size_t length = 77;
    const char *found = log_reason_find(text, strlen(text), &length);
    if (strlen(line) > 0) { assert_int_equal(length, strlen(line) - 1); }
    if (strlen(line) == 0) { assert_int_equal(length, 0); }
    assert_memory_equal(found, line, length);
}

static void error_before_later_lines(void **state)
{
    (void)state;
    expect(INFO ERROR, ERROR);
    expect(INFO ERROR INFO WARN INFO, ERROR);
    expect(JSON("error", "first") JSON("error", "refused") JSON("info", "over TCP"),
           JSON("error", "refused"));
}

static void line_of_a_library(void **state)
{
    (void)state;
    static const char assertion[] = "tanist: ps.c:12: apply: Assertion `rate >= 0' failed.\n";
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", ERROR, assertion, INFO);
    expect(text, assertion);
}

static void exception_of_a_server(void **state)
{
    (void)state;
    expect("Exception in thread\n\tat Main.main\nCaused by: no class\n\tat Loader\n\t... 1 more\n",
           "Caused by: no class\n");
}

static void last_line_without_an_error(void **state)
{
    (void)state;
    expect(WARN INFO, INFO);
    expect(INFO WARN "\n \n", WARN);
    expect(JSON("info", "one") JSON("debug", "two"), JSON("debug", "two"));
    expect("", "");
    expect("\n\n", "");
}

static void write_file(const char *path, const char *text, int repeats)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    for (int i = 0; i < repeats; i++) { fputs(INFO, file); }
    fclose(file);
}

static void expect_file(const char *path, unsigned from, const char *line)
{
    char out[LOG_REASON_MAX];
    log_reason_read(path, from, out);
    assert_int_equal(strlen(out), strlen(line) > 0 ? strlen(line) - 1 : 0);
    assert_memory_equal(out, line, strlen(out));
}

static void file_from_the_start_of_the_process(void **state)
{
    (void)state;
    char folder[] = "/tmp/tanist-unit-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    expect_file(path, 0, "");
    write_file(path, ERROR, 3);
    expect_file(path, 0, ERROR);
    expect_file(path, sizeof ERROR - 1, INFO); /* The error is of an earlier process. */
    expect_file(path, 1u << 20, ERROR);        /* The log was rotated. */
    write_file(path, ERROR, 200);
    expect_file(path, 0, INFO); /* Too far back. */
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_before_later_lines),
        cmocka_unit_test(line_of_a_library),
        cmocka_unit_test(exception_of_a_server),
        cmocka_unit_test(last_line_without_an_error),
        cmocka_unit_test(file_from_the_start_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
