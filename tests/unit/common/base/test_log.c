/* Log lines: one event a line, and JSON that any parser reads, whatever is in the message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"

static char lines[16384];

/* The output of log_warn() for `message`, in `lines`. */
static const char *written(enum log_format format, const char *message)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    log_init(LOG_INFO, format, "ps:1");
    log_set_context(7, 3);
    log_warn("%s", message);
    log_debug("below the level");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
    rewind(file);
    lines[fread(lines, 1, sizeof lines - 1, file)] = '\0';
    fclose(file);
    return lines;
}

/* The one line as JSON; its members other than the message are checked. */
static json_t *parsed(const char *message)
{
    json_t *object = json_loads(written(LOG_JSON, message), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(object);
    assert_int_equal(strlen(json_string_value(json_object_get(object, "time"))),
                     sizeof "2026-11-20T21:36:49.123Z" - 1);
    assert_string_equal(json_string_value(json_object_get(object, "level")), "warn");
    assert_string_equal(json_string_value(json_object_get(object, "task")), "ps:1");
    assert_int_equal(json_integer_value(json_object_get(object, "epoch")), 7);
    assert_int_equal(json_integer_value(json_object_get(object, "generation")), 3);
    assert_int_equal(strcspn(lines, "\n") + 1, strlen(lines));
    return object;
}

/* Quotes, controls, UTF-8 and bytes that are not UTF-8 are a JSON string. */
static void json_line_is_valid_for_any_bytes(void **state)
{
    (void)state;
    static const char *const messages[][2] = {
        {"step 5", "step 5"},
        {"a \"b\" \\ \n\t\x01", "a \"b\" \\ \n\t\x01"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"peer sent \xff\xc3", "peer sent ??"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        json_t *object = parsed(messages[i][0]);
        assert_string_equal(json_string_value(json_object_get(object, "message")), messages[i][1]);
        json_decref(object);
    }
}

/* A message whose escapes do not fit a line is cut; the line stays JSON. */
static void long_message_is_cut(void **state)
{
    (void)state;
    char message[3000];
    memset(message, '\x01', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    json_t *object = parsed(message);
    size_t length = json_string_length(json_object_get(object, "message"));
    assert_true(length > 600 && length < 700);
    assert_true(strlen(lines) <= 4096);
    json_decref(object);
    memset(message, 'x', sizeof message - 1);
    object = parsed(message);
    assert_int_equal(json_string_length(json_object_get(object, "message")), 2047);
    json_decref(object);
}

/* A text line has no line end inside, and names level, task, epoch and generation. */
static void text_line_is_one_line(void **state)
{
    (void)state;
    const char *line = written(LOG_TEXT, "a\nb\xff");
    assert_string_equal(strchr(line, ' '), " WARN  ps:1 epoch=7 generation=3 a b?\n");
}

/* A terminal stopped with Ctrl-S or a pager that waits: the program continues, and reports what is
 * missing when a line fits again. */
static void line_without_room_is_left_out(void **state)
{
    (void)state;
    enum { LINES = 4000 };
    static char read_back[1 << 20];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    log_init(LOG_INFO, LOG_TEXT, "agent");
    for (int i = 0; i < LINES; i++) { log_line("line %d of a fast run, which are not read", i); }
    ssize_t got = read(ends[0], read_back, sizeof read_back - 1);
    log_line("the last line");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
    assert_true(got > 0);
    read_back[got] = '\0';
    int kept = 0;
    for (const char *at = read_back; (at = strchr(at, '\n')) != NULL; at++) { kept++; }
    assert_in_range(kept, 1, LINES - 1);
    assert_int_equal(read_back[got - 1], '\n');
    got = read(ends[0], read_back, sizeof read_back - 1);
    close(ends[0]);
    assert_true(got > 0);
    read_back[got] = '\0';
    char want[64];
    snprintf(want, sizeof want, " %d lines are left out", LINES - kept);
    assert_non_null(strstr(read_back, want));
    assert_non_null(strstr(read_back, "\nthe last line\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_line_is_valid_for_any_bytes),
        cmocka_unit_test(long_message_is_cut),
        cmocka_unit_test(text_line_is_one_line),
        cmocka_unit_test(line_without_room_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
