/*
 * tests/unit/support/trace.h: golden traces of a state machine. A trace is a text file:
 *
 *   # A comment.
 *   lost ps:1                a line that begins in column one is a command;
 *     paused generation=1    the indented lines below it are its output.
 *
 * A test runs each command and compares the outputs. After an intended change `./test.sh
 * --rewrite-golden` (TANIST_REWRITE_GOLDEN=1 in the environment) writes the outputs into the file;
 * they are reviewed as a diff.
 */
#ifndef TESTS_UNIT_SUPPORT_TRACE_H
#define TESTS_UNIT_SUPPORT_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRACE_BYTES_MAX = 1 << 17, TRACE_LINE_MAX = 512, TRACE_ARGUMENTS_MAX = 16 };

/* Carries out one command, split at blanks, and appends its output with trace_add(). */
typedef void trace_command(char **arguments, unsigned count);

static char trace_output[TRACE_LINE_MAX * 8];

static inline void trace_append(char *text, size_t size, const char *format, va_list arguments)
{
    size_t used = strlen(text);
    int length = vsnprintf(text + used, size - used, format, arguments);
    assert_in_range(length, 0, size - used - 1);
}

/* Appends to the output of the present command. Each line ends with "\n". */
__attribute__((format(printf, 1, 2))) static inline void trace_add(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    trace_append(trace_output, sizeof trace_output, format, list);
    va_end(list);
}

/* Appends a line to the trace as it is now. */
__attribute__((format(printf, 2, 3))) static inline void trace_line(char *actual,
                                                                    const char *format, ...)
{
    va_list list;
    va_start(list, format);
    trace_append(actual, TRACE_BYTES_MAX, format, list);
    va_end(list);
}

static inline void trace_run(const char *row, trace_command *command)
{
    static char copy[TRACE_LINE_MAX];
    char *arguments[TRACE_ARGUMENTS_MAX] = {NULL}, *rest = NULL;
    unsigned count = 0;
    trace_output[0] = '\0';
    assert_in_range(snprintf(copy, sizeof copy, "%s", row), 1, sizeof copy - 1);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count < TRACE_ARGUMENTS_MAX);
        arguments[count++] = word;
    }
    command(arguments, count);
}

/* Fails with the first line that differs. */
static inline void trace_compare(const char *path, const char *expected, const char *actual)
{
    for (unsigned number = 1;; number++) {
        size_t want = strcspn(expected, "\n"), got = strcspn(actual, "\n");
        if (want != got || memcmp(expected, actual, want) != 0) {
            fail_msg("%s:%u:\n  expected: %.*s\n  actual:   %.*s", path, number, (int)want,
                     expected, (int)got, actual);
        }
        if (expected[want] == '\0') { return; }
        expected += want + 1;
        actual += got + 1;
    }
}

static inline void trace_check(const char *path, trace_command *command)
{
    static char expected[TRACE_BYTES_MAX], lines[TRACE_BYTES_MAX], actual[TRACE_BYTES_MAX];
    unsigned commands = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(expected, 1, sizeof expected - 1, file);
    assert_true(size < sizeof expected - 1 && fclose(file) == 0);
    expected[size] = '\0';
    memcpy(lines, expected, size + 1);
    actual[0] = '\0';
    for (char *row = lines, *end; *row != '\0'; row = end + 1) {
        end = row + strcspn(row, "\n");
        *end = '\0';
        if (row[0] == ' ') { continue; }
        trace_line(actual, "%s\n", row);
        if (row[0] == '#' || row[0] == '\0') { continue; }
        trace_run(row, command);
        char *rest = NULL;
        for (char *output = strtok_r(trace_output, "\n", &rest); output != NULL;
             output = strtok_r(NULL, "\n", &rest)) {
            trace_line(actual, "  %s\n", output);
        }
        commands++;
    }
    assert_true(commands > 0);
    if (getenv("TANIST_REWRITE_GOLDEN") != NULL) {
        file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(actual, file) >= 0 && fclose(file) == 0);
        return;
    }
    trace_compare(path, expected, actual);
}

#endif
