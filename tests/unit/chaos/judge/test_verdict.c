/* Each check of a round, both ways: what must pass, what must not, and what is missing. */
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

/* Histories are written with ' for ". */
static json_t *parse(const char *text)
{
    char copy[4096];
    assert_true(strlen(text) < sizeof copy);
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *at = copy; *at != '\0'; at++) {
        if (*at == '\'') { *at = '"'; }
    }
    json_t *json = json_loads(copy, 0, NULL);
    assert_non_null(json);
    return json;
}

/* What a check said: '+' or '-' and its text. Takes `checks`. */
static void assert_said(json_t *checks, const char *name, const char *want)
{
    char said[1024] = "no such check";
    size_t i;
    const json_t *check;
    json_array_foreach(checks, i, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "name")), name) != 0) { continue; }
        (void)snprintf(said, sizeof said, "%c%s",
                       json_is_true(json_object_get(check, "ok")) ? '+' : '-',
                       json_string_value(json_object_get(check, "text")));
    }
    json_decref(checks);
    assert_string_equal(said, want);
}

/* -------------------------------------------------------------------- end */

static void assert_ended(int exit_code, const char *result, const char *want)
{
    json_t *checks = json_array(), *json = result != NULL ? parse(result) : NULL;
    verdict_check_ended(checks, exit_code, json);
    json_decref(json);
    assert_said(checks, "ended", want);
}

/* A run ends well with exit code 0 and the status done, and not with one of them alone. */
static void ended_wants_both(void **state)
{
    (void)state;
    assert_ended(0, "{'status': 'done', 'steps': 300}", "+exit code 0, status done at step 300");
    assert_ended(6, "{'status': 'done', 'steps': 300}", "-exit code 6, status done at step 300");
    assert_ended(0, "{'status': 'failed', 'steps': 7}", "-exit code 0, status failed at step 7");
    assert_ended(0, NULL, "-exit code 0, and no result was printed");
}

static json_t *compare(enum train_mode mode, const char *calm, const char *result)
{
    json_t *checks = json_array(), *left = parse(calm), *right = parse(result);
    verdict_check_result(checks, mode, left, right);
    json_decref(left);
    json_decref(right);
    return checks;
}

/* A sync run must have the digest of the calm one; none at all is no match. */
static void digest_is_compared(void **state)
{
    (void)state;
    assert_said(compare(TRAIN_SYNC, "{'digest': '1cae'}", "{'parameters_digest': '1cae'}"),
                "digest", "+1cae: the same as the calm run");
    assert_said(compare(TRAIN_SYNC, "{'digest': '1cae'}", "{'parameters_digest': 'beef'}"),
                "digest", "-beef, the calm run's is 1cae");
    assert_said(compare(TRAIN_SYNC, "{}", "{}"), "digest", "-the calm run told no digest");
    assert_said(compare(TRAIN_SYNC, "{'digest': '1cae'}", "{}"), "digest",
                "-the attacked run told no digest");
}

/* An async run may be 0.01 less or more accurate. */
static void accuracy_is_compared(void **state)
{
    (void)state;
    assert_said(compare(TRAIN_ASYNC, "{'accuracy': 0.9}", "{'accuracy': 0.895}"), "accuracy",
                "+0.8950, the calm run's is 0.9000: 0.0050 apart, 0.01 allowed");
    assert_said(compare(TRAIN_ASYNC, "{'accuracy': 0.9}", "{'accuracy': 0.8}"), "accuracy",
                "-0.8000, the calm run's is 0.9000: 0.1000 apart, 0.01 allowed");
    assert_said(compare(TRAIN_ASYNC, "{'accuracy': 0.9}", "{'accuracy': null}"), "accuracy",
                "-the attacked run told no accuracy");
}

/* The judge's words are the verdict's, with what was looked at. */
static void orders_are_those_of_the_judge(void **state)
{
    (void)state;
    struct judgement judgement = {.kept = true, .words = "no rule broken", .transactions = 50};
    json_t *checks = json_array();
    judgement.servers = 3;
    verdict_check_orders(checks, &judgement, 2);
    assert_said(checks, "orders",
                "+50 transactions of 3 servers over 2 lives of the ensemble: 0 elections, 0 loads "
                "(0 restores), 0 checkpoints committed: no rule broken");
    judgement.kept = false;
    checks = json_array();
    (void)snprintf(judgement.words, sizeof judgement.words, "I3: generation 4 after 5");
    verdict_check_orders(checks, &judgement, 1);
    assert_said(checks, "orders",
                "-50 transactions of 3 servers: 0 elections, 0 loads (0 restores), 0 checkpoints "
                "committed: I3: generation 4 after 5");
}

/* ------------------------------------------------------------ checkpoints */

static json_t *verify(const char *verified, const char *history)
{
    json_t *checks = json_array(), *left = parse(verified), *right = parse(history);
    verdict_check_checkpoints(checks, left, right);
    json_decref(left);
    json_decref(right);
    return checks;
}

/* All kept checkpoints are intact, but for as many as faults have damaged; one must be. */
static void checkpoints_are_intact(void **state)
{
    (void)state;
    static const char flipped[] = "[{'kind': 'fault', 'fault': 'flip-bits'}]";
    static const char broken[] = "{'checkpoints': [{'intact': true}, {'intact': false, 'error': "
                                 "'shard 1 is damaged'}]}";
    assert_said(verify("{'checkpoints': [{'intact': true}]}", "[]"), "checkpoints",
                "+all 1 kept ones verified: intact");
    assert_said(verify(broken, "[]"), "checkpoints",
                "-1 of 2 kept ones are intact, 0 faults damaged one: shard 1 is damaged");
    assert_said(verify(broken, flipped), "checkpoints",
                "+1 of 2 kept ones are intact, 1 faults damaged one: shard 1 is damaged");
    assert_said(verify("{'checkpoints': [{'intact': false}]}", flipped), "checkpoints",
                "-0 of 1 kept ones are intact, 1 faults damaged one: no reason was given");
    assert_said(verify("{'checkpoints': []}", "[]"), "checkpoints",
                "-no checkpoint is left to verify");
}

/* ----------------------------------------------------------------- znodes */

static json_t *count(const struct judge_census *census, const char *calm)
{
    struct job job;
    struct judgement judgement = {.znodes = 47, .census = *census};
    json_t *checks = json_array(), *json = parse(calm);
    job_init(&job);
    job.cluster.coordinators = 2;
    job.cluster.ps = job.cluster.workers = 2;
    job.checkpoint.keep = 3;
    verdict_check_znodes(checks, &judgement, &job, json);
    json_decref(json);
    return checks;
}

/* Each kind of znode has a bound of its own; a calm run that was not counted is no measure. */
static void znodes_are_bounded(void **state)
{
    (void)state;
    struct judge_census census = {.history = 30, .exits = 2, .checkpoints = 3, .others = 12};
    assert_said(count(&census, "{'znodes': 25}"), "znodes",
                "+47 at the end, 25 after the calm run: 30 history entries of 1000, 3 checkpoints, "
                "2 exits of 6 tasks, 12 others");
    assert_said(count(&census, "{}"), "znodes", "-those of the calm run were not counted");
    census.exits = 7;
    assert_said(count(&census, "{'znodes': 25}"), "znodes", "-7 exits, at most 6 are right");
    census.exits = 0;
    census.checkpoints = 6;
    assert_said(count(&census, "{'znodes': 25}"), "znodes", "-6 checkpoints, at most 5 are right");
    census.checkpoints = 0;
    census.others = 26;
    assert_said(count(&census, "{'znodes': 25}"), "znodes", "-26 others, at most 25 are right");
}

/* --------------------------------------------------------------- recovery */

static void assert_recovery(const char *history, const char *want)
{
    json_t *checks = json_array(), *json = parse(history);
    verdict_check_recovery(checks, json, 2000);
    json_decref(json);
    assert_said(checks, "recovery", want);
}

#define STEP(t, generation, step)                                                                  \
    "{'kind': 'step', 't_ms': " #t ", 'generation': " #generation ", 'step': " #step               \
    ", 'phase': 'running'},"
#define PLANNED(id, for_ms) "{'kind': 'planned', 't_ms': 0, 'id': " #id ", 'for_ms': " #for_ms "},"
#define FAULT(t, id)                                                                               \
    "{'kind': 'fault', 't_ms': " #t ", 'id': " #id ", 'fault': 'x', 'whom': 'ps:0'},"
#define UNDO(t, id)   "{'kind': 'undo', 't_ms': " #t ", 'id': " #id "},"
#define RUN(t, state) "{'kind': 'run', 't_ms': " #t ", 'state': '" #state "'}"

/* From a kill to the first step of the new generation; a step back is no step on. */
static void recovery_ends_with_a_step(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 0) STEP(100, 1, 5) FAULT(1000, 1) STEP(1500, 2, 3)
                        STEP(1600, 2, 3) STEP(2500, 2, 4) RUN(3000, ended) "]",
                    "+1 faults; training stood still for 1.5 s at most, at 1.0 s after x (ps:0); "
                    "the bound is 2.0 s");
    assert_recovery("[" PLANNED(1, 0) STEP(100, 1, 5) FAULT(1000, 1) STEP(1500, 2, 3)
                        STEP(4000, 2, 4) RUN(4500, ended) "]",
                    "-1 faults; training stood still for 3.0 s at most, at 1.0 s after x (ps:0); "
                    "the bound is 2.0 s");
}

/* A fault that lasts is no one's recovery: the count begins when it is undone. */
static void recovery_waits_for_the_undo(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 9000) STEP(100, 1, 5) FAULT(1000, 1) UNDO(10000, 1)
                        STEP(11000, 1, 6) RUN(11500, ended) "]",
                    "+1 faults; training stood still for 1.0 s at most, at 10.0 s after x (ps:0); "
                    "the bound is 2.0 s");
    assert_recovery("[" PLANNED(1, 9000) STEP(100, 1, 5) FAULT(1000, 1) RUN(11500, ended) "]",
                    "-1 faults were never undone");
}

/* The next fault begins the count anew, but what was too long before it stays too long. */
static void recovery_is_cut_by_the_next_fault(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 0) PLANNED(2, 0) STEP(100, 1, 5) FAULT(1000, 1) FAULT(2500, 2)
                        STEP(4000, 1, 6) STEP(4100, 1, 7) RUN(4200, ended) "]",
                    "+2 faults; training stood still for 1.5 s at most, at 1.0 s after x (ps:0); "
                    "the bound is 2.0 s");
    assert_recovery("[" PLANNED(1, 0) PLANNED(2, 0) STEP(100, 1, 5) FAULT(1000, 1) FAULT(3500, 2)
                        STEP(4000, 1, 6) STEP(4100, 1, 7) RUN(4200, ended) "]",
                    "-2 faults; training stood still for 2.5 s at most, at 1.0 s after x (ps:0); "
                    "the bound is 2.0 s");
}

/* A run that never comes back is found by how long nothing happened until its end. */
static void recovery_that_never_comes(void **state)
{
    (void)state;
    assert_recovery("[" PLANNED(1, 0) STEP(100, 1, 5) FAULT(1000, 1) STEP(60000, 1, 5)
                        RUN(60000, late) "]",
                    "-1 faults; training stood still for 59.0 s at most, at 1.0 s after x (ps:0); "
                    "the bound is 2.0 s");
    assert_recovery("[" RUN(0, started) "]", "-no step was ever seen");
    assert_recovery("[" STEP(100, 1, 5) RUN(200, ended) "]",
                    "+no fault was done: nothing to recover from");
}

/* -------------------------------------------------------------- resources */

#define USES(t, place, pid, rss, descriptors, threads)                                             \
    "{'kind': 'resources', 't_ms': " #t ", 'place': '" place "', 'pid': " #pid                     \
    ", 'rss_kib': " #rss ", 'descriptors': " #descriptors ", 'threads': " #threads "},"

static json_t *use(const char *history)
{
    json_t *checks = json_array(), *json = parse(history);
    verdict_check_resources(checks, json);
    json_decref(json);
    return checks;
}

/* The last life is compared with the first one since training began, not with its start. */
static void resources_are_compared_with_the_first_life(void **state)
{
    (void)state;
    static const char history[] = "[" USES(10, "ps:0", 7, 1024, 5, 2) STEP(20, 1, 1)
        USES(900, "ps:0", 7, 0, 1, 1) USES(1000, "ps:0", 7, 102400, 20, 6)
            USES(2000, "ps:0", 8, 108544, 22, 7) RUN(3000, ended) "]";
    assert_said(use(history), "memory", "+1 places; the most grew ps:0: from 100 to 106 MiB");
    assert_said(use(history), "descriptors", "+1 places; the most grew ps:0: from 20 to 22");
    assert_said(use(history), "threads", "+1 places; the most grew ps:0: from 6 to 7");
}

/* A leak in the last life shows in each of the three. */
static void resources_that_leak(void **state)
{
    (void)state;
    static const char history[] =
        "[" STEP(20, 1, 1) USES(900, "ps:0", 7, 0, 1, 1) USES(1000, "ps:0", 7, 102400, 20, 6)
            USES(2000, "ps:0", 8, 307200, 37, 15) RUN(3000, ended) "]";
    assert_said(use(history), "memory",
                "-ps:0 had 100 MiB in its first life and 300 MiB in its last, at most 214 MiB are "
                "right");
    assert_said(use(history), "descriptors",
                "-ps:0 had 20 in its first life and 37 in its last, at most 36 are right");
    assert_said(use(history), "threads",
                "-ps:0 had 6 in its first life and 15 in its last, at most 14 are right");
}

/* Who was there for long and never sampled has not been looked at. */
static void resources_that_were_not_sampled(void **state)
{
    (void)state;
    assert_said(use("[" RUN(0, started) "]"), "memory", "-no process was sampled while it trained");
    assert_said(use("[{'kind': 'place', 't_ms': 0, 'place': 'ps:1', 'state': 'up'}," USES(
                    100, "ps:0", 7, 1024, 5, 2) RUN(9000, ended) "]"),
                "threads", "-ps:1 was up for long and never sampled");
    assert_said(use("[{'kind': 'begin', 't_ms': 0, 'places': ['ps:0', 'zookeeper:1']}," USES(
                    100, "ps:0", 7, 1024, 5, 2) RUN(9000, ended) "]"),
                "memory", "-zookeeper:1 was never seen");
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
    verdict_check_disk(checks, dir, 3);
    return checks;
}

/* More checkpoints than are to be kept, and two, are a leak. */
static void disk_holds_what_is_kept(void **state)
{
    char want[256];
    const char *dir = *state;
    (void)snprintf(want, sizeof want, "-%s/checkpoints cannot be read: No such file or directory",
                   dir);
    assert_said(look_at_disk(dir), "disk", want);
    put(dir, "checkpoints/");
    for (int id = 4; id < 9; id++) { put_checkpoint(dir, id); }
    assert_said(look_at_disk(dir), "disk",
                "+5 checkpoints are there, 3 are to be kept; 0 that were never committed");
    put_checkpoint(dir, 3);
    assert_said(look_at_disk(dir), "disk", "-6 checkpoints are there, 3 are to be kept");
}

/* Something half written may be left by the last death, not by one that commits came after. */
static void disk_forgets_what_was_half_written(void **state)
{
    const char *dir = *state;
    put(dir, "checkpoints/");
    for (int id = 5; id < 8; id++) { put_checkpoint(dir, id); }
    put(dir, "checkpoints/0000000008/");
    put(dir, "checkpoints/0000000006/shard-0-of-1/");
    put(dir, "checkpoints/0000000006/shard-0-of-1/data.mdb.partial-1");
    assert_said(look_at_disk(dir), "disk",
                "+3 checkpoints are there, 3 are to be kept; 2 that were never committed");
    put(dir, "checkpoints/0000000004/");
    assert_said(look_at_disk(dir), "disk",
                "-1 half written checkpoints are older than two committed ones: nobody removes "
                "them");
}

/* ----------------------------------------------------------- nothing left */

static json_t *look_around(const char *mark, const char *dir)
{
    json_t *checks = json_array();
    verdict_check_nothing_left(checks, mark, dir, dir, 0);
    return checks;
}

/* A socket in the run's folder is found; a folder that is not there was not looked into. */
static void nothing_is_left(void **state)
{
    static const char mark[] = "TANIST_CHAOS_MARK=nobody-has-this";
    const char *dir = *state;
    char path[128], want[256];
    assert_said(look_around(mark, dir), "nothing-left", "+no process, no socket, no mount");
    assert_said(
        look_around("x", dir), "nothing-left",
        (snprintf(want, sizeof want, "-no mark, or no folder to look into: %s", dir), want));
    assert_said(look_around(mark, "/nonexistent"), "nothing-left",
                "-no mark, or no folder to look into: /nonexistent");
    (void)snprintf(path, sizeof path, "%s/door", dir);
    (void)snprintf(want, sizeof want, "-still there: the socket %s", path);
    assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
    assert_said(look_around(mark, dir), "nothing-left", want);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_wants_both),
        cmocka_unit_test(digest_is_compared),
        cmocka_unit_test(accuracy_is_compared),
        cmocka_unit_test(orders_are_those_of_the_judge),
        cmocka_unit_test(checkpoints_are_intact),
        cmocka_unit_test(znodes_are_bounded),
        cmocka_unit_test(recovery_ends_with_a_step),
        cmocka_unit_test(recovery_waits_for_the_undo),
        cmocka_unit_test(recovery_is_cut_by_the_next_fault),
        cmocka_unit_test(recovery_that_never_comes),
        cmocka_unit_test(resources_are_compared_with_the_first_life),
        cmocka_unit_test(resources_that_leak),
        cmocka_unit_test(resources_that_were_not_sampled),
        IN_FOLDER(disk_holds_what_is_kept),
        IN_FOLDER(disk_forgets_what_was_half_written),
        IN_FOLDER(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
