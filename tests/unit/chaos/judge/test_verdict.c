/* Each check passes on good evidence, and fails on bad and on missing evidence. */
#include "chaos/judge/verdict_checks.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "chaos/plan/fault.h"
#include "tests/unit/support/checks.h"

/* ----------------------------------------------------------------- faults */

static void assert_faults(const char *history, unsigned allowed_skips, const char *want)
{
    json_t *checks = json_array(), *json = parse_quoted(history);
    verdict_check_faults(checks, json, allowed_skips);
    json_decref(json);
    assert_check(checks, "faults", want);
}

/* A round without a fault has tested nothing: it fails unless the need that is missing is
 * allowed. */
static void faults_wants_a_fault(void **state)
{
    static const char cut[] = "{'kind': 'skipped', 'lacks': 'network', 'text': 'no namespaces'}";
    static const char late[] = "{'kind': 'skipped', 'text': 'the run ended before it was due'}";
    char both[512];
    (void)state;
    assert_faults("[{'kind': 'fault', 'fault': 'kill'}]", 0, "+1 fault was");
    assert_faults("[]", 0, "-nothing was tested");
    (void)snprintf(both, sizeof both, "[%s]", cut);
    assert_faults(both, 0, "-no namespaces|--allow-skips network");
    assert_faults(both, NEED_SHIM, "-no namespaces");
    assert_faults(both, NEED_NETWORK | NEED_SHIM, "+--allow-skips|no namespaces");
    (void)snprintf(both, sizeof both, "[%s, %s]", cut, late);
    assert_faults(both, NEED_NETWORK, "-before it was due");
}

/* -------------------------------------------------------------------- end */

static void assert_ended(int exit_code, const char *result, const char *want)
{
    json_t *checks = json_array(), *json = result != NULL ? parse_quoted(result) : NULL;
    verdict_check_ended(checks, exit_code, json);
    json_decref(json);
    assert_check(checks, "ended", want);
}

/* A run ends well with exit code 0 and the status done, and not with one of them alone. */
static void ended_wants_exit_code_and_status(void **state)
{
    (void)state;
    assert_ended(0, "{'status': 'done', 'steps': 300}", "+");
    assert_ended(6, "{'status': 'done', 'steps': 300}", "-6");
    assert_ended(0, "{'status': 'failed', 'steps': 7}", "-failed");
    assert_ended(0, NULL, "-");
}

static json_t *compare(enum train_mode mode, const char *baseline, const char *result)
{
    json_t *checks = json_array(), *left = parse_quoted(baseline), *right = parse_quoted(result);
    verdict_check_result(checks, mode, left, right);
    json_decref(left);
    json_decref(right);
    return checks;
}

/* A sync run must have the digest of the baseline run; a missing digest never matches. */
static void digest_is_compared(void **state)
{
    (void)state;
    assert_check(compare(TRAIN_SYNC, "{'digest': '1cae'}", "{'parameters_digest': '1cae'}"),
                 "digest", "+1cae");
    assert_check(compare(TRAIN_SYNC, "{'digest': '1cae'}", "{'parameters_digest': 'beef'}"),
                 "digest", "-beef|1cae");
    assert_check(compare(TRAIN_SYNC, "{}", "{}"), "digest", "-");
    assert_check(compare(TRAIN_SYNC, "{'digest': '1cae'}", "{}"), "digest", "-");
}

/* The accuracy of an async run may differ by 0.01. */
static void accuracy_is_compared(void **state)
{
    (void)state;
    assert_check(compare(TRAIN_ASYNC, "{'accuracy': 0.9}", "{'accuracy': 0.895}"), "accuracy",
                 "+0.0050");
    assert_check(compare(TRAIN_ASYNC, "{'accuracy': 0.9}", "{'accuracy': 0.8}"), "accuracy",
                 "-0.1000");
    assert_check(compare(TRAIN_ASYNC, "{'accuracy': 0.9}", "{'accuracy': null}"), "accuracy", "-");
}

static void assert_pace(const char *result, bool wiped, const char *expected)
{
    struct job job = {.evaluate.every_steps = 10};
    json_t *checks = json_array(), *root = parse_quoted(result);
    verdict_check_pace(checks, &job, root, wiped);
    json_decref(root);
    assert_check(checks, "pace", expected);
}

/* Each multiple is in the result, once and in order; the last step may be any. */
static void evaluations_are_complete(void **state)
{
    (void)state;
    assert_pace("{'evaluations': [{'step': 10}, {'step': 20}, {'step': 25}]}", false,
                "+3 evaluations");
    assert_pace("{'evaluations': [{'step': 10}, {'step': 30}]}", false, "-1 missing");
    assert_pace("{'evaluations': [{'step': 25}]}", false, "-2 missing");
    assert_pace("{'evaluations': [{'step': 10}, {'step': 30}]}", true, "+1 missing");
    assert_pace("{'evaluations': [{'step': 10}, {'step': 10}]}", false, "-step 10");
    assert_pace("{}", false, "-lists no evaluations");
}

/* The check passes if no rule is broken, and states the rule that is. */
static void orders_passes_on_the_judgement(void **state)
{
    (void)state;
    struct judgement judgement = {.passed = true, .text = "no rule broken", .transactions = 50};
    json_t *checks = json_array();
    judgement.servers = 3;
    verdict_check_orders(checks, &judgement, 2);
    assert_check(checks, "orders", "+");
    judgement.passed = false;
    checks = json_array();
    (void)snprintf(judgement.text, sizeof judgement.text, "I3: generation 4 after 5");
    verdict_check_orders(checks, &judgement, 1);
    assert_check(checks, "orders", "-I3: generation 4 after 5");
}

/* ------------------------------------------------------------ checkpoints */

static json_t *verify(const char *verified, const char *history)
{
    json_t *checks = json_array(), *left = parse_quoted(verified), *right = parse_quoted(history);
    verdict_check_checkpoints(checks, left, right);
    json_decref(left);
    json_decref(right);
    return checks;
}

/* At most as many kept checkpoints are damaged as faults damaged; one must be intact. */
static void checkpoints_are_intact(void **state)
{
    (void)state;
    static const char flipped[] = "[{'kind': 'fault', 'fault': 'flip-bits'}]";
    static const char broken[] = "{'checkpoints': [{'intact': true}, {'intact': false, 'error': "
                                 "'shard 1 is damaged'}]}";
    assert_check(verify("{'checkpoints': [{'intact': true}]}", "[]"), "checkpoints", "+1");
    assert_check(verify(broken, "[]"), "checkpoints", "-shard 1 is damaged");
    assert_check(verify(broken, flipped), "checkpoints", "+1|2");
    assert_check(verify("{'checkpoints': [{'intact': false}]}", flipped), "checkpoints", "-0|1");
    assert_check(verify("{'checkpoints': []}", "[]"), "checkpoints", "-");
}

/* ----------------------------------------------------------------- znodes */

static json_t *count(const struct judge_census *census, const char *baseline)
{
    struct job job;
    struct judgement judgement = {.znodes = 47, .census = *census};
    json_t *checks = json_array(), *json = parse_quoted(baseline);
    job_init(&job);
    job.cluster.coordinators = 2;
    job.cluster.ps = job.cluster.workers = 2;
    job.checkpoint.keep = 3;
    verdict_check_znodes(checks, &judgement, &job, json, 0);
    json_decref(json);
    return checks;
}

/* Each kind of znode has its own bound; the znodes of the baseline run must be known. */
static void znodes_are_bounded(void **state)
{
    (void)state;
    struct judge_census census = {.history = 30, .exits = 2, .checkpoints = 3, .others = 12};
    assert_check(count(&census, "{'znodes': 25}"), "znodes", "+47|25");
    assert_check(count(&census, "{}"), "znodes", "-");
    census.exits = 7;
    assert_check(count(&census, "{'znodes': 25}"), "znodes", "-7 exits|6");
    census.exits = 0;
    census.checkpoints = 6;
    assert_check(count(&census, "{'znodes': 25}"), "znodes", "-6 checkpoints|5");
    census.checkpoints = 0;
    census.others = 26;
    assert_check(count(&census, "{'znodes': 25}"), "znodes", "-26 others|25");
}

/* --------------------------------------------------------------- recovery */

static void assert_recovery(const char *history, const char *want)
{
    json_t *checks = json_array(), *json = parse_quoted(history);
    verdict_check_recovery(checks, json, 2000);
    json_decref(json);
    assert_check(checks, "recovery", want);
}

#define STEP(t, generation, step)                                                                  \
    "{'kind': 'step', 't_ms': " #t ", 'generation': " #generation ", 'step': " #step               \
    ", 'phase': 'running'},"
#define PLANNED(id, for_ms) "{'kind': 'planned', 't_ms': 0, 'id': " #id ", 'for_ms': " #for_ms "},"
#define FAULT(t, id)                                                                               \
    "{'kind': 'fault', 't_ms': " #t ", 'id': " #id ", 'fault': 'x', 'selector': 'ps:0'},"
#define UNDO(t, id)   "{'kind': 'undo', 't_ms': " #t ", 'id': " #id "},"
#define RUN(t, state) "{'kind': 'run', 't_ms': " #t ", 'state': '" #state "'}"

/* A recovery lasts from the fault to the first new step; a step back is not progress. */
static void recovery_ends_with_a_step(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 0) STEP(100, 1, 5) FAULT(1000, 1) STEP(1500, 2, 3)
                        STEP(1600, 2, 3) STEP(2500, 2, 4) RUN(3000, ended) "]",
                    "+1.5 s|1.0 s|x|ps:0");
    assert_recovery("[" PLANNED(1, 0) STEP(100, 1, 5) FAULT(1000, 1) STEP(1500, 2, 3)
                        STEP(4000, 2, 4) RUN(4500, ended) "]",
                    "-3.0 s|1.0 s|x|ps:0");
}

/* The recovery from a lasting fault begins when it is undone. */
static void recovery_waits_for_the_undo(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 9000) STEP(100, 1, 5) FAULT(1000, 1) UNDO(10000, 1)
                        STEP(11000, 1, 6) RUN(11500, ended) "]",
                    "+1.0 s|10.0 s|x|ps:0");
    assert_recovery("[" PLANNED(1, 9000) STEP(100, 1, 5) FAULT(1000, 1) RUN(11500, ended) "]", "-");
}

/* The next fault restarts the measurement, but a standstill before it still counts. */
static void recovery_restarts_with_the_next_fault(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 0) PLANNED(2, 0) STEP(100, 1, 5) FAULT(1000, 1) FAULT(2500, 2)
                        STEP(4000, 1, 6) STEP(4100, 1, 7) RUN(4200, ended) "]",
                    "+1.5 s|1.0 s");
    assert_recovery("[" PLANNED(1, 0) PLANNED(2, 0) STEP(100, 1, 5) FAULT(1000, 1) FAULT(3500, 2)
                        STEP(4000, 1, 6) STEP(4100, 1, 7) RUN(4200, ended) "]",
                    "-2.5 s|1.0 s");
}

/* A run that never recovers stands still until its end. */
static void recovery_notices_a_dead_run(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 0) STEP(100, 1, 5) FAULT(1000, 1) STEP(60000, 1, 5)
                        RUN(60000, late) "]",
                    "-59.0 s");
    assert_recovery("[" RUN(0, started) "]", "-");
    assert_recovery("[" STEP(100, 1, 5) RUN(200, ended) "]", "+");
}

/* ------------------------------------------------------------------- disk */

static int make_folder(void **state)
{
    char template[] = "/tmp/tanist-verdict-XXXXXX";
    char *dir = mkdtemp(template);
    *state = dir != NULL ? strdup(dir) : NULL;
    return *state == NULL;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    free(*state);
    return system(command);
}

/* A file, or with an end in '/' a folder, below `dir`. */
static void put(const char *dir, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    if (name[strlen(name) - 1] == '/') {
        assert_int_equal(mkdir(path, 0700), 0);
        return;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void put_checkpoint(const char *dir, int id)
{
    char name[64];
    (void)snprintf(name, sizeof name, "checkpoints/%010d/", id);
    put(dir, name);
    (void)snprintf(name, sizeof name, "checkpoints/%010d/manifest.json", id);
    put(dir, name);
}

static json_t *look_at_disk(const char *dir)
{
    json_t *checks = json_array();
    verdict_check_disk(checks, dir, 3, 0);
    return checks;
}

/* More checkpoints than are kept, plus two, are a leak. */
static void disk_limits_checkpoints(void **state)
{
    char want[256];
    const char *dir = *state;
    (void)snprintf(want, sizeof want, "-%s/checkpoints", dir);
    assert_check(look_at_disk(dir), "disk", want);
    put(dir, "checkpoints/");
    for (int id = 4; id < 9; id++) { put_checkpoint(dir, id); }
    assert_check(look_at_disk(dir), "disk", "+5");
    put_checkpoint(dir, 3);
    assert_check(look_at_disk(dir), "disk", "-6");
}

/* The last kill may leave a partial checkpoint; two commits later it is a leak. */
static void disk_finds_abandoned_checkpoints(void **state)
{
    const char *dir = *state;
    put(dir, "checkpoints/");
    for (int id = 5; id < 8; id++) { put_checkpoint(dir, id); }
    put(dir, "checkpoints/0000000008/");
    put(dir, "checkpoints/0000000006/shard-0-of-1/");
    put(dir, "checkpoints/0000000006/shard-0-of-1/data.mdb.partial-1");
    assert_check(look_at_disk(dir), "disk", "+2");
    put(dir, "checkpoints/0000000004/");
    assert_check(look_at_disk(dir), "disk", "-1");
}

/* ----------------------------------------------------------- nothing left */

static json_t *look_around(const char *mark, const char *dir)
{
    json_t *checks = json_array();
    verdict_check_nothing_left(checks, mark, dir, dir, 0);
    return checks;
}

/* A socket in the run's folder fails the check, as does a folder that does not exist. */
static void nothing_left_finds_a_socket(void **state)
{
    static const char mark[] = "TANIST_CHAOS_MARK=no-process-has-this";
    const char *dir = *state;
    char path[128], want[256];
    assert_check(look_around(mark, dir), "nothing-left", "+");
    assert_check(look_around("x", dir), "nothing-left", "-");
    assert_check(look_around(mark, "/nonexistent"), "nothing-left", "-/nonexistent");
    (void)snprintf(path, sizeof path, "%s/door", dir);
    (void)snprintf(want, sizeof want, "-%s", path);
    assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
    assert_check(look_around(mark, dir), "nothing-left", want);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_wants_a_fault),
        cmocka_unit_test(ended_wants_exit_code_and_status),
        cmocka_unit_test(digest_is_compared),
        cmocka_unit_test(accuracy_is_compared),
        cmocka_unit_test(evaluations_are_complete),
        cmocka_unit_test(orders_passes_on_the_judgement),
        cmocka_unit_test(checkpoints_are_intact),
        cmocka_unit_test(znodes_are_bounded),
        cmocka_unit_test(recovery_ends_with_a_step),
        cmocka_unit_test(recovery_waits_for_the_undo),
        cmocka_unit_test(recovery_restarts_with_the_next_fault),
        cmocka_unit_test(recovery_notices_a_dead_run),
        IN_FOLDER(disk_limits_checkpoints),
        IN_FOLDER(disk_finds_abandoned_checkpoints),
        IN_FOLDER(nothing_left_finds_a_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
