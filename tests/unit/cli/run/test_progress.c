/* How often a run reports its progress. */
#include "cli/run/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/log.h"

static struct observer observer;

/* The lines on stderr during `seconds` of waiting for a chief, with two ticks a second. The last
 * line is in `last`. */
static size_t lines_of_wait(uint64_t line_ms, uint64_t seconds, char last[static 512])
{
    struct job job;
    struct progress progress;
    size_t count = 0;
    char path[] = "/tmp/tanist-progress.XXXXXX";
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    assert_true(file >= 0 && saved >= 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    job_init(&job);
    progress_init(&progress, &job, 1000);
    progress.line_ms = line_ms;
    for (uint64_t at_ms = 1000; at_ms <= 1000 + seconds * 1000; at_ms += 500) {
        struct agent_event tick = {.type = AGENT_TICK, .now_ms = at_ms, .observer = &observer};
        progress_handle(&progress, &tick);
    }
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(file);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    while (fgets(last, 512, in) != NULL) { count++; }
    fclose(in);
    unlink(path);
    return count;
}

/* A terminal gets a line every 2 s, a log one at the start of the wait and then one a minute. */
static void a_log_gets_one_line_a_minute(void **state)
{
    (void)state;
    char last[512] = "";
    log_init(LOG_WARN, LOG_TEXT, "agent");
    assert_int_equal(lines_of_wait(PROGRESS_TERMINAL_MS, 180, last), 89);
    assert_int_equal(lines_of_wait(PROGRESS_LOG_MS, 180, last), 3);
    assert_non_null(strstr(last, "no chief for"));
    assert_int_equal(lines_of_wait(PROGRESS_LOG_MS, 2, last), 0);
}

/* In a JSON log a line of progress is an entry. */
static void progress_is_part_of_a_json_log(void **state)
{
    (void)state;
    char last[512] = "";
    log_init(LOG_INFO, LOG_JSON, "agent");
    assert_int_equal(lines_of_wait(PROGRESS_LOG_MS, 10, last), 1);
    assert_true(last[0] == '{');
    assert_non_null(strstr(last, "\"message\":\"no chief for"));
    log_init(LOG_WARN, LOG_JSON, "agent");
    assert_int_equal(lines_of_wait(PROGRESS_LOG_MS, 10, last), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_gets_one_line_a_minute),
        cmocka_unit_test(progress_is_part_of_a_json_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
