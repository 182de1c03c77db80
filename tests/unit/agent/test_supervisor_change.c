/* The drain before a change of the job, and the start after it (S14). */
#include "tests/unit/agent/supervisor_steps.h"

static const char *drain_for_change(uint64_t now_ms, uint64_t until_ms)
{
    const struct supervisor_event event = {
        .type = SUPERVISOR_DRAIN, .now_ms = now_ms, .until_ms = until_ms, .changes = true};
    return feed(&event);
}

static int setup_stages(void **state)
{
    (void)setup(state);
    supervisor_set_stage(&supervisor, 1, ROLE_PS);
    supervisor_set_stage(&supervisor, 2, ROLE_WORKER);
    return 0;
}

/* S14: the nodes leave in order, the server stays, and the changed list of nodes starts. */
static void nodes_leave_for_a_change_and_start_again(void **state)
{
    (void)state;
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 80000);
    assert_string_equal(exited(1, 20100, TN_EXIT_OK), "reap 1, drain 2");
    assert_string_equal(killed(0, 20150), "spawn 0");
    spawned(0, 20150);
    assert_string_equal(exited(2, 20200, TN_EXIT_OK), "reap 2, change");
    assert_string_equal(tick(20300), "");
    assert_int_equal(supervisor_add(&supervisor), 3);
    assert_string_equal(step(SUPERVISOR_WANTED, 3, 20400, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_UNWANTED, 1, 20400, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_CHANGED, 0, 20500, 0, 0), "spawn 2, spawn 3");
    spawned(2, 20500);
    spawned(3, 20500);
    assert_int_equal(supervisor.phase, SUPERVISOR_WORKING);
    assert_string_equal(killed(2, 30000), "reap 2, spawn 2");
}

/* S14: a node that is killed before its turn restarts; one whose turn it is does not. */
static void nodes_are_killed_during_a_change(void **state)
{
    (void)state;
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    assert_string_equal(killed(2, 20050), "reap 2, spawn 2");
    spawned(2, 20050);
    assert_string_equal(killed(1, 20100), "reap 1, drain 2");
    assert_string_equal(killed(2, 20150), "reap 2, change");
    assert_string_equal(step(SUPERVISOR_CHANGED, 0, 20500, 0, 0), "spawn 1, spawn 2");
}

/* S14: at the deadline the rest is killed, and the change is made. */
static void late_nodes_are_killed_for_a_change(void **state)
{
    (void)state;
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    assert_string_equal(tick(80000), "kill 1, kill 2");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(killed(2, 80010), "reap 2");
    assert_string_equal(killed(1, 80020), "reap 1, change");
    assert_string_equal(step(SUPERVISOR_CHANGED, 0, 80030, 0, 0), "spawn 1, spawn 2");
    spawned(1, 80030);
    spawned(2, 80030);
    assert_string_equal(drain(90000, 99000), "drain 1");
    assert_string_equal(exited(1, 90100, TN_EXIT_OK), "reap 1, drain 2");
    assert_string_equal(exited(2, 90200, TN_EXIT_OK), "reap 2, close");
    assert_true(supervisor.drained);
    assert_string_equal(closed(90300), "terminate 0");
}

/* S14: a signal during a change ends the agent, before and after its nodes have left. */
static void drain_takes_the_place_of_a_change(void **state)
{
    (void)state;
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    assert_string_equal(drain(20050, 45050), "");
    assert_string_equal(exited(1, 20100, TN_EXIT_OK), "reap 1, drain 2");
    assert_string_equal(exited(2, 20200, TN_EXIT_OK), "reap 2, close");
    assert_string_equal(step(SUPERVISOR_CHANGED, 0, 20500, 0, 0), "");
    (void)setup_stages(NULL);
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    assert_string_equal(exited(1, 20100, TN_EXIT_OK), "reap 1, drain 2");
    assert_string_equal(exited(2, 20200, TN_EXIT_OK), "reap 2, change");
    assert_string_equal(drain_for_change(20250, 80000), "");
    assert_string_equal(drain(20300, 45050), "close");
    assert_string_equal(step(SUPERVISOR_CHANGED, 0, 20500, 0, 0), "");
}

/* S14: the end of the job, and a stop, end a change. */
static void end_of_the_job_ends_a_change(void **state)
{
    (void)state;
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    (void)step(SUPERVISOR_JOB_ENDED, 0, 20050, 0, 0);
    assert_string_equal(exited(1, 20100, TN_EXIT_OK), "reap 1");
    assert_string_equal(exited(2, 20200, TN_EXIT_OK), "reap 2, close");
    (void)setup_stages(NULL);
    assert_string_equal(drain_for_change(20000, 80000), "drain 1");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 20050, 0, 0), "terminate 1, terminate 2");
    assert_false(supervisor.forced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nodes_leave_for_a_change_and_start_again, setup_stages),
        cmocka_unit_test_setup(nodes_are_killed_during_a_change, setup_stages),
        cmocka_unit_test_setup(late_nodes_are_killed_for_a_change, setup_stages),
        cmocka_unit_test_setup(drain_takes_the_place_of_a_change, setup_stages),
        cmocka_unit_test_setup(end_of_the_job_ends_a_change, setup_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
