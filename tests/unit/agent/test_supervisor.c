/* The decisions of the supervisor. Children: 0 is a ZooKeeper server, 1 and 2 are nodes. */
#include "tests/unit/agent/supervisor_steps.h"

/* S1: a killed node is reaped and restarted in the same step; a server is only restarted. */
static void killed_child_restarts_at_once(void **state)
{
    (void)state;
    assert_string_equal(killed(1, 5000), "reap 1, spawn 1");
    assert_string_equal(killed(0, 5000), "spawn 0");
}

/* S1: after short runs the next restarts wait 100 ms, 200 ms, ...; a run of a second resets
 * that. */
static void short_runs_delay_restarts(void **state)
{
    (void)state;
    assert_string_equal(killed(1, 1500), "reap 1, spawn 1");
    spawned(1, 1500);
    assert_string_equal(killed(1, 1600), "reap 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 1700);
    assert_string_equal(tick(1699), "");
    assert_string_equal(tick(1700), "spawn 1");
    spawned(1, 1700);
    assert_string_equal(killed(1, 1750), "reap 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 1950);
    assert_string_equal(tick(1950), "spawn 1");
    spawned(1, 1950);
    assert_string_equal(killed(1, 3000), "reap 1");
    assert_string_equal(tick(3400), "spawn 1");
    spawned(1, 3400);
    assert_string_equal(killed(1, 4400), "reap 1, spawn 1");
}

/* S2: eight errors in a row are a crash loop: the job fails, and the others are terminated. */
static void repeated_errors_fail_the_job(void **state)
{
    (void)state;
    uint64_t now_ms = 1000;
    for (int i = 0; i < SUPERVISOR_FAULTS_MAX - 1; i++) {
        now_ms += 2000;
        assert_string_equal(exited(1, now_ms, TN_EXIT_IO), "reap 1, spawn 1");
        spawned(1, now_ms);
    }
    assert_string_equal(exited(1, now_ms + 2000, TN_EXIT_IO), "reap 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_CRASH_LOOP);
}

/* S2: a server's exit code 10 is an error of ZooKeeper; 143 is a SIGTERM. */
static void server_exit_codes_are_those_of_java(void **state)
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

/* S2: a hundred kills from outside do not make a crash loop. */
static void kills_from_outside_are_not_faults(void **state)
{
    (void)state;
    for (uint64_t now_ms = 3000; now_ms < 203000; now_ms += 2000) {
        assert_string_equal(killed(2, now_ms), "reap 2, spawn 2");
        spawned(2, now_ms);
    }
}

/* S2: SIGSEGV ends a node at fault, but not a server, whose sender is unknown. */
static void signals_end_a_server_without_a_fault(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_EXITED, 1, 3000, 0, SIGSEGV), "reap 1, spawn 1");
    spawned(1, 3000);
    assert_int_equal(supervisor.children[1].faults, 1);
    for (uint64_t now_ms = 3000; now_ms < 103000; now_ms += 2000) {
        assert_string_equal(step(SUPERVISOR_EXITED, 0, now_ms, 0, SIGSEGV), "spawn 0");
        spawned(0, now_ms);
        assert_int_equal(supervisor.children[0].faults, 0);
    }
}

/* S3: an exit code that a restart cannot repair fails the job at once; a lost session does not. */
static void permanent_exit_code_fails_the_job(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 5000, TN_EXIT_SESSION_EXPIRED), "reap 1, spawn 1");
    spawned(1, 5000);
    assert_string_equal(exited(1, 7000, TN_EXIT_RESIGNED), "reap 1, spawn 1");
    spawned(1, 7000);
    assert_string_equal(exited(1, 9000, TN_EXIT_TASK_TAKEN), "reap 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_PERMANENT);
}

/* S3: a GPU that has failed and is not found afterwards may come back: the node is restarted, until
 * it has failed too often; after a long run, a missing GPU is invalid input again. */
static void node_whose_gpu_has_gone_is_restarted(void **state)
{
    (void)state;
    uint64_t now_ms = 3000;
    assert_string_equal(exited(1, now_ms, TN_EXIT_DEVICE_FAILED), "reap 1, spawn 1");
    for (uint32_t faults = 2; faults < SUPERVISOR_FAULTS_MAX; faults++) {
        spawned(1, now_ms);
        now_ms += SUPERVISOR_SHORT_LIFE_MS;
        assert_string_equal(exited(1, now_ms, TN_EXIT_INVALID_INPUT), "reap 1, spawn 1");
        assert_int_equal(supervisor.children[1].faults, faults);
    }
    spawned(1, now_ms);
    now_ms += SUPERVISOR_SHORT_LIFE_MS;
    assert_string_equal(exited(1, now_ms, TN_EXIT_INVALID_INPUT), "reap 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_CRASH_LOOP);
}

/* S3: the GPU may have failed when the node was killed. */
static void killed_node_whose_gpu_has_gone_is_restarted(void **state)
{
    (void)state;
    uint64_t now_ms = 3000 + SUPERVISOR_LONG_LIFE_MS;
    supervisor.gpus = true;
    assert_string_equal(killed(1, now_ms), "reap 1, spawn 1");
    spawned(1, now_ms);
    now_ms += SUPERVISOR_SHORT_LIFE_MS;
    assert_string_equal(exited(1, now_ms, TN_EXIT_INVALID_INPUT), "reap 1, spawn 1");
    assert_int_equal(supervisor.children[1].faults, 1);
}

/* S3: without GPUs, its input is invalid. */
static void killed_node_whose_input_is_invalid_is_not_restarted(void **state)
{
    (void)state;
    const uint64_t now_ms = 3000 + SUPERVISOR_LONG_LIFE_MS;
    assert_string_equal(killed(1, now_ms), "reap 1, spawn 1");
    spawned(1, now_ms);
    assert_string_equal(exited(1, now_ms + SUPERVISOR_SHORT_LIFE_MS, TN_EXIT_INVALID_INPUT),
                        "reap 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_PERMANENT);
}

static void missing_gpu_after_a_long_run_is_invalid_input(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 3000, TN_EXIT_DEVICE_FAILED), "reap 1, spawn 1");
    spawned(1, 3000);
    assert_string_equal(exited(1, 3000 + SUPERVISOR_LONG_LIFE_MS, TN_EXIT_INVALID_INPUT),
                        "reap 1, fail 1, terminate 2");
    assert_int_equal(actions.list[1].verdict, VERDICT_PERMANENT);
}

/* S9: a node whose task is held waits as a spare, and starts once the task has been free for longer
 * than a restart takes. */
static void node_of_a_held_task_waits_as_a_spare(void **state)
{
    (void)state;
    supervisor.spares = true;
    assert_string_equal(exited(1, 9000, TN_EXIT_TASK_TAKEN), "reap 1, spare 1");
    assert_string_equal(step(SUPERVISOR_MEMBER_TAKEN, 1, 9000, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(step(SUPERVISOR_MEMBER_LOST, 1, 20000, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 20000 + SUPERVISOR_SPARE_MS);
    assert_string_equal(step(SUPERVISOR_MEMBER_TAKEN, 1, 21000, 0, 0), ""); /* It was restarted. */
    assert_string_equal(tick(90000), "");
    assert_string_equal(step(SUPERVISOR_MEMBER_LOST, 1, 90000, 0, 0), "");
    assert_string_equal(tick(90000 + SUPERVISOR_SPARE_MS), "spawn 1");
    spawned(1, 98000);
    assert_int_equal(supervisor.children[1].faults, 0);
    assert_string_equal(killed(1, 99500), "reap 1, spawn 1"); /* No longer a spare. */
}

/* S9: to be a spare many times is not a fault. */
static void spare_is_not_in_a_crash_loop(void **state)
{
    (void)state;
    uint64_t now_ms = 1000;
    supervisor.spares = true;
    for (uint32_t i = 0; i < 2 * SUPERVISOR_FAULTS_MAX; i++) {
        assert_string_equal(exited(1, now_ms += 6000, TN_EXIT_TASK_TAKEN), "reap 1, spare 1");
        assert_string_equal(step(SUPERVISOR_MEMBER_LOST, 1, now_ms, 0, 0), "");
        assert_string_equal(tick(now_ms += SUPERVISOR_SPARE_MS), "spawn 1");
        spawned(1, now_ms);
    }
    assert_int_equal(supervisor.children[1].faults, 0);
}

/* S4: a process whose znode has been missing for half a second is killed once, then restarted. */
static void frozen_process_is_killed(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_MEMBER_LOST, 1, 1500, 0, 0), "");
    assert_string_equal(tick(9000), "");
    assert_string_equal(step(SUPERVISOR_MEMBER_SEEN, 1, 9000, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_MEMBER_LOST, 1, 10000, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 10500);
    assert_string_equal(tick(10500), "kill 1");
    assert_string_equal(tick(10501), "");
    assert_string_equal(killed(1, 10502), "reap 1, spawn 1");
}

/* S5: after the job's end nodes leave by themselves, none restarts, and servers are stopped
 * last. */
static void servers_stop_after_the_nodes(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_JOB_ENDED, 0, 5000, 0, 0), "");
    assert_string_equal(exited(1, 5100, 0), "reap 1");
    assert_string_equal(exited(2, 5200, 0), "reap 2, close");
    assert_string_equal(closed(5250), "terminate 0");
    assert_string_equal(exited(0, 5300, 143), "end");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
}

/* S5: a node that stays after the job's end is terminated, then killed; so is a server. */
static void remaining_children_are_terminated_then_killed(void **state)
{
    (void)state;
    (void)step(SUPERVISOR_JOB_ENDED, 0, 5000, 0, 0);
    assert_string_equal(exited(1, 5100, 0), "reap 1");
    assert_string_equal(tick(supervisor_deadline_ms(&supervisor)), "terminate 2");
    assert_string_equal(tick(supervisor_deadline_ms(&supervisor)), "kill 2");
    assert_string_equal(killed(2, 20000), "reap 2, close");
    assert_string_equal(closed(20100), "terminate 0");
    assert_string_equal(tick(supervisor_deadline_ms(&supervisor)), "kill 0");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(killed(0, 26000), "end");
}

/* S7: a node that exited with 0 restarts once /run was read again and the job continues. */
static void node_that_left_restarts_if_the_job_continues(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 5000, 0), "reap 1");
    assert_string_equal(step(SUPERVISOR_JOB_CONTINUES, 0, 5001, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 5000 + SUPERVISOR_ASK_MS);
    assert_string_equal(tick(5000 + SUPERVISOR_ASK_MS), "read 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(tick(90000), "");
    assert_string_equal(step(SUPERVISOR_JOB_CONTINUES, 0, 90000, 0, 0), "spawn 1");
    spawned(1, 90000);
    assert_string_equal(killed(1, 95000), "reap 1, spawn 1");
}

/* S7: all nodes leave before the agent learns of the job's end: none restarts. */
static void nodes_that_left_at_the_end_do_not_restart(void **state)
{
    (void)state;
    assert_string_equal(exited(1, 5000, 0), "reap 1");
    assert_string_equal(exited(2, 5000, 0), "reap 2");
    assert_string_equal(tick(5000 + SUPERVISOR_ASK_MS), "read 1, read 2");
    assert_string_equal(step(SUPERVISOR_JOB_ENDED, 0, 5300, 0, 0), "close");
    assert_string_equal(closed(5350), "terminate 0");
    assert_string_equal(exited(0, 5400, 143), "end");
}

/* S6: the first request to stop terminates the nodes; the second kills all children. */
static void second_stop_kills_all(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_STOP, 0, 5000, 0, 0), "terminate 1, terminate 2");
    assert_string_equal(exited(1, 5001, 0), "reap 1");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 5002, 0, 0), "kill 0, kill 2");
    assert_string_equal(killed(0, 5003), "");
    assert_string_equal(killed(2, 5004), "reap 2, abandon, end");
}

/* S6: on a request to drain, ps leave first, then workers, then coordinators; only those whose turn
 * has not come restart. */
static void nodes_are_drained_in_order(void **state)
{
    (void)state;
    supervisor_set_stage(&supervisor, 1, ROLE_PS);
    supervisor_set_stage(&supervisor, 2, ROLE_COORDINATOR);
    assert_string_equal(drain(5000, 30000), "drain 1");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 30000);
    assert_string_equal(killed(2, 5100), "reap 2, spawn 2");
    spawned(2, 5100);
    assert_string_equal(exited(1, 5200, 0), "reap 1, drain 2");
    assert_string_equal(exited(2, 5300, TN_EXIT_RESIGNED), "reap 2, close");
    assert_true(supervisor.drained);
    assert_string_equal(closed(5400), "terminate 0");
    assert_string_equal(exited(0, 5500, 143), "end");
}

/* S6: at the deadline of a drain, and on a request to stop, what still runs is killed. */
static void drain_has_a_deadline(void **state)
{
    (void)state;
    assert_string_equal(drain(5000, 30000), "drain 1, drain 2");
    assert_string_equal(tick(29999), "");
    assert_string_equal(tick(30000), "kill 1, kill 2");
    assert_false(supervisor.drained);
}

static void second_signal_ends_a_drain(void **state)
{
    (void)state;
    assert_string_equal(drain(5000, 30000), "drain 1, drain 2");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 5001, 0, 0), "kill 0, kill 1, kill 2");
    assert_false(supervisor.drained);
}

/* S4: a node that was asked to leave closes its session, and may need seconds to exit. */
static void leaving_process_has_time_to_exit(void **state)
{
    (void)state;
    assert_string_equal(drain(5000, 30000), "drain 1, drain 2");
    for (uint32_t i = 1; i <= 2; i++) {
        assert_string_equal(step(SUPERVISOR_MEMBER_SEEN, i, 5500, 0, 0), "");
        assert_string_equal(step(SUPERVISOR_MEMBER_LOST, i, 6000, 0, 0), "");
    }
    assert_int_equal(supervisor_deadline_ms(&supervisor), 11000);
    assert_string_equal(tick(10999), "");
    assert_string_equal(exited(1, 10999, 0), "reap 1");
    assert_string_equal(tick(11000), "kill 2"); /* It is frozen. */
}

/* S6: a ps that dies while it is drained does not restart, and the drain is not complete. */
static void death_of_a_ps_spoils_the_drain(void **state)
{
    (void)state;
    supervisor_set_stage(&supervisor, 2, ROLE_WORKER);
    assert_string_equal(drain(5000, 30000), "drain 1");
    assert_string_equal(killed(1, 5100), "reap 1, drain 2");
    assert_string_equal(exited(2, 5200, 0), "reap 2, close");
    assert_false(supervisor.drained);
}

/* S5: one deadline bounds the closing of all sessions; servers that were silent are killed. */
static void silent_servers_are_killed(void **state)
{
    (void)state;
    (void)step(SUPERVISOR_STOP, 0, 5000, 0, 0);
    assert_string_equal(exited(1, 5001, 0), "reap 1");
    assert_string_equal(exited(2, 5002, 0), "reap 2, close");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 5002 + SUPERVISOR_SESSIONS_MS);
    assert_string_equal(tick(5002 + SUPERVISOR_SESSIONS_MS), "abandon, kill 0");
    assert_string_equal(closed(8100), "");
    assert_string_equal(killed(0, 8101), "end");
}

/* S6: the second request to stop also ends the wait for sessions. */
static void second_stop_abandons_sessions(void **state)
{
    (void)state;
    (void)step(SUPERVISOR_STOP, 0, 5000, 0, 0);
    (void)exited(1, 5001, 0);
    assert_string_equal(exited(2, 5002, 0), "reap 2, close");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 5003, 0, 0), "abandon, kill 0");
    assert_string_equal(killed(0, 5004), "end");
}

/* A node that waits for its restart when the agent is stopped does not restart. */
static void stop_cancels_a_pending_restart(void **state)
{
    (void)state;
    (void)killed(1, 1100);
    spawned(1, 1100);
    assert_string_equal(killed(1, 1200), "reap 1");
    assert_string_equal(step(SUPERVISOR_STOP, 0, 1250, 0, 0), "terminate 2");
    assert_string_equal(tick(5000), "");
    assert_string_equal(exited(2, 5001, 0), "reap 2, close");
}

/* A process that the system refuses to start is retried after growing delays. */
static void refused_start_is_retried(void **state)
{
    (void)state;
    assert_string_equal(killed(1, 5000), "reap 1, spawn 1");
    assert_string_equal(step(SUPERVISOR_NOT_SPAWNED, 1, 5000, 0, 0), "spawn 1");
    assert_string_equal(step(SUPERVISOR_NOT_SPAWNED, 1, 5000, 0, 0), "");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 5100);
}

/* S12: only a child that another process ended has left memory that can be trusted. */
static void test_memory_is_kept_after_sigkill_only(void **state)
{
    (void)state;
    (void)killed(1, 5000);
    assert_true(supervisor_keeps_memory(&supervisor.children[1]));
    (void)exited(2, 5000, TN_EXIT_ERROR);
    assert_false(supervisor_keeps_memory(&supervisor.children[2]));
    (void)step(SUPERVISOR_EXITED, 0, 5000, 0, SIGSEGV);
    assert_false(supervisor_keeps_memory(&supervisor.children[0]));
}

/* S13: a node that is not wanted is asked to leave; it is restarted when it is wanted. */
static void unwanted_node_leaves_and_stays_away(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_UNWANTED, 2, 20000, 0, 0), "drain 2");
    assert_string_equal(exited(2, 20500, TN_EXIT_OK), "reap 2");
    assert_int_equal(supervisor_deadline_ms(&supervisor), UINT64_MAX);
    assert_string_equal(step(SUPERVISOR_WANTED, 2, 31000, 0, 0), "spawn 2");
    assert_string_equal(step(SUPERVISOR_WANTED, 2, 31000, 0, 0), "");
}

/* S13: a node that does not leave is killed, and killed or failed it does not come back. */
static void unwanted_node_that_stays_is_killed(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_UNWANTED, 2, 20000, 0, 0), "drain 2");
    assert_int_equal(supervisor_deadline_ms(&supervisor), 20000 + SUPERVISOR_UNWANTED_MS);
    assert_string_equal(tick(20000 + SUPERVISOR_UNWANTED_MS), "kill 2");
    assert_string_equal(killed(2, 111000), "reap 2");
    assert_string_equal(step(SUPERVISOR_UNWANTED, 1, 112000, 0, 0), "drain 1");
    assert_string_equal(exited(1, 112100, TN_EXIT_INVALID_INPUT), "reap 1");
    assert_false(supervisor.failed);
}

/* S13: one that is wanted again while it leaves is started when it has left and /run was read; a
 * pending restart of one that is not wanted is cancelled. */
static void node_wanted_again_restarts_after_it_left(void **state)
{
    (void)state;
    assert_string_equal(step(SUPERVISOR_UNWANTED, 2, 20000, 0, 0), "drain 2");
    assert_string_equal(step(SUPERVISOR_WANTED, 2, 20100, 0, 0), "");
    assert_string_equal(exited(2, 20200, TN_EXIT_OK), "reap 2");
    assert_string_equal(tick(20400), "read 2");
    assert_string_equal(step(SUPERVISOR_UNWANTED, 2, 20500, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_JOB_CONTINUES, 0, 20600, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_WANTED, 2, 20700, 0, 0), "spawn 2");
}

/* S13: a node may be wanted later or be added, but none starts outside the run. */
static void nodes_are_added_while_others_run(void **state)
{
    (void)state;
    const enum child_kind kinds[] = {CHILD_NODE, CHILD_NODE};
    supervisor_init(&supervisor, kinds, 2);
    assert_string_equal(step(SUPERVISOR_UNWANTED, 0, 900, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_UNWANTED, 1, 900, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_WANTED, 0, 950, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_START_NODES, 0, 1000, 0, 0), "spawn 0");
    spawned(0, 1000);
    assert_int_equal(supervisor_add(&supervisor), 2);
    assert_string_equal(step(SUPERVISOR_WANTED, 2, 3000, 0, 0), "spawn 2");
    spawned(2, 3000);
    assert_string_equal(step(SUPERVISOR_WANTED, 1, 3000, 0, 0), "spawn 1");
    assert_string_equal(step(SUPERVISOR_UNWANTED, 1, 3001, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_SPAWNED, 1, 3002, 0, 0), "drain 1");
    (void)step(SUPERVISOR_JOB_ENDED, 0, 9100, 0, 0);
    assert_string_equal(step(SUPERVISOR_UNWANTED, 0, 9200, 0, 0), "");
    assert_string_equal(step(SUPERVISOR_WANTED, 0, 9300, 0, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(killed_child_restarts_at_once, setup),
        cmocka_unit_test_setup(short_runs_delay_restarts, setup),
        cmocka_unit_test_setup(repeated_errors_fail_the_job, setup),
        cmocka_unit_test_setup(server_exit_codes_are_those_of_java, setup),
        cmocka_unit_test_setup(kills_from_outside_are_not_faults, setup),
        cmocka_unit_test_setup(signals_end_a_server_without_a_fault, setup),
        cmocka_unit_test_setup(permanent_exit_code_fails_the_job, setup),
        cmocka_unit_test_setup(node_whose_gpu_has_gone_is_restarted, setup),
        cmocka_unit_test_setup(killed_node_whose_gpu_has_gone_is_restarted, setup),
        cmocka_unit_test_setup(killed_node_whose_input_is_invalid_is_not_restarted, setup),
        cmocka_unit_test_setup(missing_gpu_after_a_long_run_is_invalid_input, setup),
        cmocka_unit_test_setup(node_of_a_held_task_waits_as_a_spare, setup),
        cmocka_unit_test_setup(spare_is_not_in_a_crash_loop, setup),
        cmocka_unit_test_setup(frozen_process_is_killed, setup),
        cmocka_unit_test_setup(servers_stop_after_the_nodes, setup),
        cmocka_unit_test_setup(remaining_children_are_terminated_then_killed, setup),
        cmocka_unit_test_setup(node_that_left_restarts_if_the_job_continues, setup),
        cmocka_unit_test_setup(nodes_that_left_at_the_end_do_not_restart, setup),
        cmocka_unit_test_setup(second_stop_kills_all, setup),
        cmocka_unit_test_setup(nodes_are_drained_in_order, setup),
        cmocka_unit_test_setup(drain_has_a_deadline, setup),
        cmocka_unit_test_setup(second_signal_ends_a_drain, setup),
        cmocka_unit_test_setup(leaving_process_has_time_to_exit, setup),
        cmocka_unit_test_setup(death_of_a_ps_spoils_the_drain, setup),
        cmocka_unit_test_setup(silent_servers_are_killed, setup),
        cmocka_unit_test_setup(second_stop_abandons_sessions, setup),
        cmocka_unit_test_setup(stop_cancels_a_pending_restart, setup),
        cmocka_unit_test_setup(refused_start_is_retried, setup),
        cmocka_unit_test_setup(test_memory_is_kept_after_sigkill_only, setup),
        cmocka_unit_test_setup(unwanted_node_leaves_and_stays_away, setup),
        cmocka_unit_test_setup(unwanted_node_that_stays_is_killed, setup),
        cmocka_unit_test_setup(node_wanted_again_restarts_after_it_left, setup),
        cmocka_unit_test_setup(nodes_are_added_while_others_run, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
