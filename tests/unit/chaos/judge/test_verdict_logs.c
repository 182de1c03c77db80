/* The checks of logs and of operator mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "chaos/judge/verdict_checks.h"
#include "tests/unit/support/checks.h"

static int make_run(void **state)
{
    char path[128], *dir = strdup("/tmp/tanist-verdict-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/logs", dir);
    *state = dir;
    return mkdir(path, 0700);
}

static int remove_run(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    free(*state);
    return system(command);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_crashes(const char *dir, const char *run_log, const char *ps_log,
                           const char *want)
{
    char path[256];
    json_t *checks = json_array();
    put(dir, "run.log", run_log);
    put(dir, "logs/ps-0.log", ps_log);
    snprintf(path, sizeof path, "%s/run.log", dir);
    verdict_check_crashes(checks, path, dir);
    assert_check(checks, "crashes", want);
}

/* SIGKILL comes from the harness; SIGABRT and a sanitizer's report are bugs. */
static void crashes_are_found(void **state)
{
    const char *dir = *state;
    assert_crashes(dir, "[ 1 s] ps:0 (pid 7): signal 9 (Killed); starting it again\n", "fine\n",
                   "+2");
    assert_crashes(dir, "[ 1 s] ps:0 (pid 7): signal 6 (Aborted); starting it again\n", "",
                   "-run.log|ps:0|signal 6");
    assert_crashes(dir, "", "tanist: ps/ps.c:12: f: Assertion `x' failed.\n", "-ps-0.log");
    assert_crashes(dir, "", "==7==ERROR: AddressSanitizer: heap-use\n", "-ps-0.log");
}

static void assert_exits(const char *dir, const char *fault, const char *run_log, const char *want)
{
    char path[256];
    json_t *checks = json_array();
    json_t *history = json_pack("[{s:s, s:s}]", "kind", "fault", "fault", fault);
    put(dir, "run.log", run_log);
    snprintf(path, sizeof path, "%s/run.log", dir);
    verdict_check_exits(checks, path, history);
    json_decref(history);
    assert_check(checks, "exits", want);
}

/* A node that exits with 1 is a bug that its restart hides, unless a fault explains it. */
static void exit_codes_need_a_cause(void **state)
{
    const char *dir = *state;
    static const char error[] = "[ 1.0 s] ps:0 (pid 7): exit code 1 (error); restarting\n";
    static const char gpu[] = "[ 1.0 s] worker:0 (pid 7): exit code 14 (the GPU failed)\n";
    static const char missing[] = "[ 1.0 s] worker:0 (pid 7): exit code 3 (invalid input)\n";
    static const char deposed[] = "[ 1.0 s] coordinator:1 (pid 8): exit code 11 (deposed)\n";
    static const char resigned[] = "[ 1.0 s] coordinator:0 (pid 8): exit code 12 (resigned)\n";
    static const char io[] = "[ 1.0 s] ps:1 (pid 9): exit code 6 (input or output failed)\n";
    assert_exits(dir, "kill", error, "-1 nodes|ps:0|exit code 1");
    assert_exits(dir, "memory", error, "+1 nodes");
    assert_exits(dir, "gpu-memory", error, "+1 nodes");
    assert_exits(dir, "kill", gpu, "-worker:0|exit code 14");
    assert_exits(dir, "memory", gpu, "-worker:0|exit code 14");
    assert_exits(dir, "gpu-error", gpu, "+1 nodes");
    assert_exits(dir, "kill", missing, "-worker:0|exit code 3");
    assert_exits(dir, "gpu-lost", missing, "+1 nodes");
    assert_exits(dir, "kill", deposed, "+1 nodes");
    assert_exits(dir, "kill", io, "-ps:1|exit code 6");
    assert_exits(dir, "disk-full", io, "+");
    assert_exits(dir, "kill", resigned, "-coordinator:0|exit code 12");
    assert_exits(dir, "terminate", resigned, "+1 nodes");
    assert_exits(dir, "resign", resigned, "+1 nodes");
    assert_exits(dir, "kill", "[ 1.0 s] worker:2 (pid 9): exit code 77\n", "-worker:2|77");
    assert_exits(dir, "kill", "[ 1.0 s] zookeeper:1 (pid 9): exit code 143\n", "+0 nodes");
    json_t *checks = json_array();
    verdict_check_exits(checks, "/nowhere/run.log", NULL);
    assert_check(checks, "exits", "-cannot be read");
}

/* The check fails if there are no logs. */
static void crashes_want_logs(void **state)
{
    (void)state;
    json_t *checks = json_array();
    verdict_check_crashes(checks, "/nowhere/run.log", "/nowhere");
    assert_check(checks, "crashes", "-");
}

static json_t *refusals(const char *history)
{
    json_t *checks = json_array(), *json = json_loads(history, 0, NULL);
    assert_non_null(json);
    verdict_check_refusals(checks, json);
    json_decref(json);
    return checks;
}

/* A mistake that was not refused fails the check, also when it shows later. */
static void refusals_are_read(void **state)
{
    (void)state;
    assert_check(refusals("[{\"kind\": \"fault\", \"fault\": \"twice\", \"text\": \"refused\"}]"),
                 "refusals", "+1");
    assert_check(
        refusals("[{\"kind\": \"undo\", \"fault\": \"twice\", \"text\": \"WRONG: it runs\"}]"),
        "refusals", "-twice|it runs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(crashes_are_found, make_run, remove_run),
        cmocka_unit_test_setup_teardown(exit_codes_need_a_cause, make_run, remove_run),
        cmocka_unit_test(crashes_want_logs),
        cmocka_unit_test(refusals_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
