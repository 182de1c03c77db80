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

static struct progress progress;

/* Feeds events to `progress`. */
typedef void (*feed_function)(uint64_t seconds);

/* The lines on stderr while `feed` runs. The last line is in `last`. */
static size_t lines_of(feed_function feed, uint64_t line_ms, uint64_t seconds,
                       char last[static 512])
{
    struct job job;
    size_t count = 0;
    char path[] = "/tmp/tanist-progress.XXXXXX";
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    assert_true(file >= 0 && saved >= 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    job_init(&job);
    progress_init(&progress, &job, 1000);
    progress.line_ms = line_ms;
    feed(seconds);
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

/* Two ticks a second, without a chief. */
static void tick_often(uint64_t seconds)
{
    for (uint64_t at_ms = 1000; at_ms <= 1000 + seconds * 1000; at_ms += 500) {
        struct agent_event tick = {.type = AGENT_TICK, .now_ms = at_ms, .observer = &observer};
        progress_handle(&progress, &tick);
    }
}

static size_t lines_of_wait(uint64_t line_ms, uint64_t seconds, char last[static 512])
{
    return lines_of(tick_often, line_ms, seconds, last);
}

static void enter_history(enum history_kind kind, uint64_t step, uint64_t at_ms)
{
    struct observer seen = {.entry = {.kind = kind, .step = step}};
    struct agent_event event = {.type = AGENT_HISTORY, .now_ms = at_ms, .observer = &seen};
    progress_handle(&progress, &event);
}

/* 10 committed checkpoints a second. */
static void commit_often(uint64_t seconds)
{
    for (uint64_t i = 0; i < 10 * seconds; i++) {
        enter_history(HISTORY_CHECKPOINT, i, 1000 + 100 * i);
    }
}

/* 10 skipped checkpoints a second. */
static void skip_often(uint64_t seconds)
{
    for (uint64_t i = 0; i < 10 * seconds; i++) {
        enter_history(HISTORY_SKIPPED, i, 1000 + 100 * i);
    }
}

static void skip_until_done(uint64_t seconds)
{
    skip_often(seconds);
    enter_history(HISTORY_DONE, 10 * seconds, 1000 + 1000 * seconds);
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

/* Training runs, and from 5 s on it waits for a checkpoint at which nodes leave. */
static void wait_at_a_gate(uint64_t seconds)
{
    struct observer seen = {.has_run = true, .has_chief = true, .settled = true};
    seen.run.phase = RUN_RUNNING;
    for (uint64_t at_ms = 1000; at_ms <= 1000 + seconds * 1000; at_ms += 500) {
        const bool waits = at_ms >= 6000;
        snprintf(seen.run.reason, sizeof seen.run.reason, "%s", waits ? "ps:0 cannot save it" : "");
        const struct agent_event run = {.type = AGENT_RUN, .now_ms = at_ms, .observer = &seen};
        const struct agent_event tick = {.type = AGENT_TICK, .now_ms = at_ms, .observer = &seen};
        progress_handle(&progress, &run);
        progress_handle(&progress, &tick);
    }
}

/* Also while the phase is running, the reason of a wait of more than 3 s is reported. */
static void wait_at_a_gate_has_its_reason(void **state)
{
    (void)state;
    char last[512] = "";
    log_init(LOG_WARN, LOG_TEXT, "agent");
    assert_int_equal(lines_of(wait_at_a_gate, PROGRESS_LOG_MS, 5, last), 0);
    assert_int_equal(lines_of(wait_at_a_gate, PROGRESS_LOG_MS, 12, last), 1);
    assert_non_null(strstr(last, "waiting for 3 s: ps:0 cannot save it"));
}

/* The first one gets a line, later ones share one each 2 s; the rest is reported before the end. */
static void skipped_checkpoints_share_lines(void **state)
{
    (void)state;
    char last[512] = "";
    log_init(LOG_WARN, LOG_TEXT, "agent");
    assert_int_equal(lines_of(skip_often, PROGRESS_TERMINAL_MS, 1, last), 1);
    assert_non_null(strstr(last, "] the checkpoint of step 0 is skipped"));
    assert_int_equal(lines_of(skip_often, PROGRESS_TERMINAL_MS, 20, last), 10);
    assert_non_null(strstr(last, "20 checkpoints are skipped; the last: the checkpoint of step "
                                 "180 is skipped"));
    assert_int_equal(lines_of(skip_until_done, PROGRESS_LOG_MS, 20, last), 3);
    assert_non_null(strstr(last, "done"));
}

/* The same for committed ones, which are reported every 2 s also in a log. */
static void committed_checkpoints_share_lines(void **state)
{
    (void)state;
    char last[512] = "";
    log_init(LOG_WARN, LOG_TEXT, "agent");
    assert_int_equal(lines_of(commit_often, PROGRESS_TERMINAL_MS, 1, last), 1);
    assert_non_null(strstr(last, "] checkpoint 0 of step 0 is committed"));
    assert_int_equal(lines_of(commit_often, PROGRESS_LOG_MS, 20, last), 10);
    assert_non_null(strstr(last, "20 checkpoints are committed; the last: checkpoint 0 of step "
                                 "180 is committed"));
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
        cmocka_unit_test(wait_at_a_gate_has_its_reason),
        cmocka_unit_test(a_log_gets_one_line_a_minute),
        cmocka_unit_test(skipped_checkpoints_share_lines),
        cmocka_unit_test(committed_checkpoints_share_lines),
        cmocka_unit_test(progress_is_part_of_a_json_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
