/* A process that uses more than its task did without faults is found; an evaluation is not a
 * leak. */
#include "chaos/judge/verdict_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/support/checks.h"

#define STEP(t, generation, step)                                                                  \
    "{'kind': 'step', 't_ms': " #t ", 'generation': " #generation ", 'step': " #step               \
    ", 'phase': 'running'},"
#define RUN(t, state) "{'kind': 'run', 't_ms': " #t ", 'state': '" #state "'}"
#define USES(t, component, pid, rss, descriptors, threads)                                         \
    "{'kind': 'resources', 't_ms': " #t ", 'component': '" component "', 'pid': " #pid             \
    ", 'rss_kib': " #rss ", 'descriptors': " #descriptors ", 'threads': " #threads "},"

static json_t *use(const char *history)
{
    json_t *checks = json_array(), *json = parse_quoted(history);
    verdict_check_resources(checks, json);
    json_decref(json);
    return checks;
}

/* The last process is compared with the first during training, not with its start. */
static void resources_compares_with_the_first_process(void **state)
{
    (void)state;
    static const char history[] = "[" USES(10, "ps:0", 7, 1024, 5, 2) STEP(20, 1, 1)
        USES(900, "ps:0", 7, 0, 1, 1) USES(1000, "ps:0", 7, 102400, 20, 6)
            USES(2000, "ps:0", 8, 108544, 22, 7) RUN(3000, ended) "]";
    assert_check(use(history), "memory", "+ps:0|100|106 MiB");
    assert_check(use(history), "descriptors", "+ps:0|20|22");
    assert_check(use(history), "threads", "+ps:0|6|7");
}

/* A leak in the last process fails each of the three checks. */
static void resources_finds_a_leak(void **state)
{
    (void)state;
    static const char history[] =
        "[" STEP(20, 1, 1) USES(900, "ps:0", 7, 0, 1, 1) USES(1000, "ps:0", 7, 102400, 20, 6)
            USES(2000, "ps:0", 8, 307200, 37, 15) RUN(3000, ended) "]";
    assert_check(use(history), "memory", "-214 MiB");
    assert_check(use(history), "descriptors", "-36");
    assert_check(use(history), "threads", "-14");
}

#define BEGIN_WITH_MEMORY(role, mib)                                                               \
    "{'kind': 'begin', 't_ms': 0, 'baseline': {'used': {'memory': {'" role "': " #mib "}}}},"

/* An evaluation in the last process is not a leak if the baseline run needed as much for it. */
static void resources_allows_the_memory_of_the_baseline_run(void **state)
{
    (void)state;
    static const char lines[] =
        STEP(20, 1, 1) USES(900, "worker:0", 7, 0, 1, 1) USES(1000, "worker:0", 7, 12288, 20, 6)
            USES(2000, "worker:0", 8, 217088, 22, 7) RUN(3000, ended) "]";
    char history[2048];
    snprintf(history, sizeof history, "[%s%s", BEGIN_WITH_MEMORY("worker", 200), lines);
    assert_check(use(history), "memory", "+worker:0|12|212 MiB");
    snprintf(history, sizeof history, "[%s%s", BEGIN_WITH_MEMORY("ps", 200), lines);
    assert_check(use(history), "memory", "-82 MiB");
}

/* A first process that was killed before it had started all its threads is not a measure. */
static void resources_allows_the_threads_of_the_baseline_run(void **state)
{
    (void)state;
    static const char lines[] =
        STEP(20, 1, 1) USES(900, "worker:0", 7, 0, 1, 1) USES(1000, "worker:0", 7, 12288, 4, 1)
            USES(2000, "worker:0", 8, 12288, 23, 22) RUN(3000, ended) "]";
    char history[2048];
    snprintf(history, sizeof history,
             "[{'kind': 'begin', 't_ms': 0, 'baseline': {'used': {'descriptors': {'worker': 24}, "
             "'threads': {'worker': 22}}}},%s",
             lines);
    assert_check(use(history), "descriptors", "+worker:0|4|23");
    assert_check(use(history), "threads", "+worker:0|1|22");
    snprintf(history, sizeof history, "[%s", lines);
    assert_check(use(history), "descriptors", "-20");
    assert_check(use(history), "threads", "-9");
}

static double most_of(const json_t *most, const char *check, const char *role)
{
    return json_number_value(json_object_get(json_object_get(most, check), role));
}

/* The most of each role counts, over all its processes. */
static void use_of_the_baseline_run_is_the_most_of_a_role(void **state)
{
    (void)state;
    json_t *history = parse_quoted(
        "[" USES(10, "worker:0", 7, 1024, 5, 2) USES(20, "worker:1", 8, 5120, 4, 2)
            USES(30, "worker:0", 7, 2048, 3, 9) USES(40, "agent", 9, 512, 6, 1) RUN(50, ended) "]");
    json_t *most = verdict_most_used(history);
    assert_int_equal(json_object_size(json_object_get(most, "memory")), 2);
    assert_float_equal(most_of(most, "memory", "worker"), 5, 0);
    assert_float_equal(most_of(most, "memory", "agent"), 0.5, 0);
    assert_float_equal(most_of(most, "descriptors", "worker"), 5, 0);
    assert_float_equal(most_of(most, "threads", "worker"), 9, 0);
    assert_float_equal(most_of(most, "threads", "agent"), 1, 0);
    json_decref(most);
    json_decref(history);
}

/* Once a line has reported the end of the run, memory that the agent needs for the result is
 * allowed. */
static void resources_ends_with_the_run(void **state)
{
    (void)state;
    static const char *const done[] = {
        "{'kind': 'step', 't_ms': 1100, 'step': 9, 'generation': 1, 'phase': 'done'},",
        "{'kind': 'event', 't_ms': 1100, 'event': {'event': 'done'}, 'text': ''},",
        "",
    };
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        char history[1024];
        (void)snprintf(history, sizeof history, "[%s%s%s",
                       STEP(20, 1, 1) USES(900, "agent", 7, 1024, 5, 2)
                           USES(1000, "agent", 7, 10240, 20, 6)
                               USES(1050, "agent", 8, 10240, 20, 6),
                       done[i],
                       USES(1200, "agent", 8, 307200, 37, 15) USES(1300, "agent", 8, 307200, 37, 15)
                           RUN(3000, ended) "]");
        assert_check(use(history), "memory", done[i][0] == '\0' ? "-300 MiB" : "+agent|10|10 MiB");
    }
}

/* A process that was up for long and never sampled fails the check. */
static void resources_wants_samples(void **state)
{
    (void)state;
    assert_check(use("[" RUN(0, started) "]"), "memory", "-");
    assert_check(use("[{'kind': 'component', 't_ms': 0, 'component': 'ps:1', 'state': 'up'}," USES(
                     100, "ps:0", 7, 1024, 5, 2) RUN(9000, ended) "]"),
                 "threads", "-ps:1");
    assert_check(use("[{'kind': 'begin', 't_ms': 0, 'components': ['ps:0', 'zookeeper:1']}," USES(
                     100, "ps:0", 7, 1024, 5, 2) RUN(9000, ended) "]"),
                 "memory", "-zookeeper:1");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(resources_compares_with_the_first_process),
        cmocka_unit_test(resources_finds_a_leak),
        cmocka_unit_test(resources_allows_the_memory_of_the_baseline_run),
        cmocka_unit_test(resources_allows_the_threads_of_the_baseline_run),
        cmocka_unit_test(use_of_the_baseline_run_is_the_most_of_a_role),
        cmocka_unit_test(resources_ends_with_the_run),
        cmocka_unit_test(resources_wants_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
