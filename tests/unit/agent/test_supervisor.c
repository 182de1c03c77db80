/* The agent's decisions, by tables of events. Children: 0 is a ZooKeeper server, 1 and 2 are nodes.
 */
#include "agent/supervisor.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tanist/status.h"

static struct supervisor supervisor;
static struct supervisor_actions actions;
static char trace[512];

/* One event; what was done about it as text: "bury 1, spawn 1". */
static const char *step(enum supervisor_event_type type, uint32_t child, uint64_t now_ms,
                        int exit_code, int signal_number)
{
    static const char *const names[] = {"spawn", "bury", "terminate", "kill", "ask", "fail", "end"};
    struct supervisor_event event = {.type = type,
                                     .child = child,
                                     .now_ms = now_ms,
                                     .exit_code = exit_code,
                                     .signal = signal_number};
    size_t length = 0;
    trace[0] = '\0';
    supervisor_step(&supervisor, &event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct supervisor_action *action = &actions.list[i];
        length += (size_t)snprintf(trace + length, sizeof trace - length, "%s%s", i ? ", " : "",
                                   names[action->type]);
        if (action->type != DO_END) {
            length += (size_t)snprintf(trace + length, sizeof trace - length, " %u", action->child);
        }
    }
    return trace;
}

static const char *exited(uint32_t child, uint64_t now_ms, int code)
{
    return step(SUPERVISOR_EXITED, child, now_ms, code, 0);
}

static const char *killed(uint32_t child, uint64_t now_ms)
{
    return step(SUPERVISOR_EXITED, child, now_ms, 0, SIGKILL);
}

static const char *tick(uint64_t now_ms)
{
    return step(SUPERVISOR_TICK, 0, now_ms, 0, 0);
}

static void spawned(uint32_t child, uint64_t now_ms)
{
    assert_string_equal(step(SUPERVISOR_SPAWNED, child, now_ms, 0, 0), "");
}

/* All three children run since 1000. */
static int setup(void **state)
{
    (void)state;
    const enum child_kind kinds[] = {CHILD_SERVER, CHILD_NODE, CHILD_NODE};
    supervisor_init(&supervisor, kinds, 3);
    assert_string_equal(step(SUPERVISOR_START_SERVERS, 0, 900, 0, 0), "spawn 0");
    spawned(0, 900);
    assert_string_equal(step(SUPERVISOR_START_NODES, 0, 1000, 0, 0), "spawn 1, spawn 2");
    spawned(1, 1000);
    spawned(2, 1000);
    return 0;
}

/* S1: a node that is killed is reaped and started again in the same step; a server needs no reap.
 */
static void test_restarts_at_once(void **state)
{
    (void)state;
    assert_string_equal(killed(1, 5000), "bury 1, spawn 1");
    assert_string_equal(killed(0, 5000), "spawn 0");
}

/* S1: whoever dies young waits 100 ms, 200 ms, ... the next time; a second of life forgets it. */
static void test_backs_off(void **state)
{
    (void)state;
    assert_string_equal(killed(1, 1500), "bury 1, spawn 1");
    spawned(1, 1500);
    assert_string_equal(killed(1, 1600), "bury 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 1700);
    assert_string_equal(tick(1699), "");
    assert_string_equal(tick(1700), "spawn 1");
    spawned(1, 1700);
    assert_string_equal(killed(1, 1750), "bury 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 1950);
    assert_string_equal(tick(1950), "spawn 1");
    spawned(1, 1950);
    assert_string_equal(killed(1, 3000), "bury 1");
    assert_string_equal(tick(3400), "spawn 1");
    spawned(1, 3400);
    assert_string_equal(killed(1, 4400), "bury 1, spawn 1");
}

/* S2: eight errors in a row are a crash loop: the job fails, the others are told to leave. */
static void test_crash_loop(void **state)
{
    (void)state;
    uint64_t now_ms = 1000;
    for (int i = 0; i < SUPERVISOR_FAULTS_MAX - 1; i++) {
        now_ms += 2000;
        assert_string_equal(exited(1, now_ms, TN_EXIT_IO), "bury 1, spawn 1");
        spawned(1, now_ms);
    }
    assert_string_equal(exited(1, now_ms + 2000, TN_EXIT_IO), "bury 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_CRASH_LOOP);
}

/* S2: a server's exit codes are not ours: 10 is an error of ZooKeeper, 143 a SIGTERM. */
static void test_server_codes(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < SUPERVISOR_FAULTS_MAX; i++) {
        assert_string_equal(exited(0, i * 5000, 10), "spawn 0");
        spawned(0, i * 5000);
        assert_int_equal(supervisor.children[0].faults, i);
    }
    assert_string_equal(exited(0, 40000, 143), "spawn 0");
    spawned(0, 40000);
    assert_string_equal(exited(0, 45000, 10), "fail 0, terminate 1, terminate 2");
}

/* S2: a hundred kills from outside, however often, are no crash loop. */
static void test_kills_are_no_fault(void **state)
{
    (void)state;
    for (uint64_t now_ms = 3000; now_ms < 203000; now_ms += 2000) {
        assert_string_equal(killed(2, now_ms), "bury 2, spawn 2");
        spawned(2, now_ms);
    }
}

/* S3: what a restart cannot mend fails the job at once; a lost session does not. */
static void test_exit_codes(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 5000, TN_EXIT_SESSION_EXPIRED), "bury 1, spawn 1");
    spawned(1, 5000);
    assert_string_equal(exited(1, 7000, TN_EXIT_RESIGNED), "bury 1, spawn 1");
    spawned(1, 7000);
    assert_string_equal(exited(1, 9000, TN_EXIT_TASK_TAKEN), "bury 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_HOPELESS);
}

/* S4: alive, but its znode is gone for half a second: killed once, then restarted as any. */
static void test_frozen(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_MEMBER_GONE, 1, 1500, 0, 0), "");
    assert_string_equal(tick(9000), "");
    assert_string_equal(step(SUPERVISOR_MEMBER_SEEN, 1, 9000, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_MEMBER_GONE, 1, 10000, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 10500);
    assert_string_equal(tick(10500), "kill 1");
    assert_string_equal(tick(10501), "");
    assert_string_equal(killed(1, 10502), "bury 1, spawn 1");
}

/* S5: after the job's end nodes leave by themselves, nobody comes back, servers go last. */
static void test_job_ends(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_JOB_ENDED, 0, 5000, 0, 0), "");
    assert_string_equal(exited(1, 5100, 0), "bury 1");
    assert_string_equal(exited(2, 5200, 0), "bury 2, terminate 0");
    assert_string_equal(exited(0, 5300, 143), "end");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
}

/* S5: who stays after the job's end is told to go, then killed; so is a server. */
static void test_laggards(void **state)
{
    (void)state;
    (void)step(SUPERVISOR_JOB_ENDED, 0, 5000, 0, 0);
    assert_string_equal(exited(1, 5100, 0), "bury 1");
    assert_string_equal(tick(supervisor_deadline_ms(&supervisor)), "terminate 2");
    assert_string_equal(tick(supervisor_deadline_ms(&supervisor)), "kill 2");
    assert_string_equal(killed(2, 20000), "bury 2, terminate 0");
    assert_string_equal(tick(supervisor_deadline_ms(&supervisor)), "kill 0");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(killed(0, 26000), "end");
}

/* S7: who left in good order comes back when /run was read anew and the job goes on. */
static void test_left(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 5000, 0), "bury 1");
    assert_string_equal(step(SUPERVISOR_JOB_GOES_ON, 0, 5001, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 5000 + SUPERVISOR_ASK_MS);
    assert_string_equal(tick(5000 + SUPERVISOR_ASK_MS), "ask 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(tick(90000), "");
    assert_string_equal(step(SUPERVISOR_JOB_GOES_ON, 0, 90000, 0, 0), "spawn 1");
    spawned(1, 90000);
    assert_string_equal(killed(1, 95000), "bury 1, spawn 1");
}

/* S7: all leave before we hear of the job's end: nothing is started any more. */
static void test_left_at_the_end(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 5000, 0), "bury 1");
    assert_string_equal(exited(2, 5000, 0), "bury 2");
    assert_string_equal(tick(5000 + SUPERVISOR_ASK_MS), "ask 1, ask 2");
    assert_string_equal(step(SUPERVISOR_JOB_ENDED, 0, 5300, 0, 0), "terminate 0");
    assert_string_equal(exited(0, 5400, 143), "end");
}

/* S6: told to stop once, then twice. */
static void test_stop(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_STOP, 0, 5000, 0, 0), "terminate 1, terminate 2");
    assert_string_equal(exited(1, 5001, 0), "bury 1");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 5002, 0, 0), "kill 0, kill 2");
    assert_string_equal(killed(0, 5003), "");
    assert_string_equal(killed(2, 5004), "bury 2, end");
}

/* Told to stop while a node waits for its restart: it does not come back. */
static void test_stop_while_waiting(void **state)
{
    (void)state;
    (void)killed(1, 1100);
    spawned(1, 1100);
    assert_string_equal(killed(1, 1200), "bury 1");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 1250, 0, 0), "terminate 2");
    assert_string_equal(tick(5000), "");
    assert_string_equal(exited(2, 5001, 0), "bury 2, terminate 0");
}

/* A process that the system refuses to start is tried again, later and later. */
static void test_not_spawned(void **state)
{
    (void)state;
    assert_string_equal(killed(1, 5000), "bury 1, spawn 1");
    assert_string_equal(step(SUPERVISOR_NOT_SPAWNED, 1, 5000, 0, 0), "spawn 1");
    assert_string_equal(step(SUPERVISOR_NOT_SPAWNED, 1, 5000, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 5100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_restarts_at_once, setup),
        cmocka_unit_test_setup(test_backs_off, setup),
        cmocka_unit_test_setup(test_crash_loop, setup),
        cmocka_unit_test_setup(test_server_codes, setup),
        cmocka_unit_test_setup(test_kills_are_no_fault, setup),
        cmocka_unit_test_setup(test_exit_codes, setup),
        cmocka_unit_test_setup(test_frozen, setup),
        cmocka_unit_test_setup(test_job_ends, setup),
        cmocka_unit_test_setup(test_laggards, setup),
        cmocka_unit_test_setup(test_left, setup),
        cmocka_unit_test_setup(test_left_at_the_end, setup),
        cmocka_unit_test_setup(test_stop, setup),
        cmocka_unit_test_setup(test_stop_while_waiting, setup),
        cmocka_unit_test_setup(test_not_spawned, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
