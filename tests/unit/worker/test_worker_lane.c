/* The demand of `transport.lane` on the connections to ps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tanist/status.h"
#include "worker/worker_private.h"

static unsigned closed;

static void count_close(void *ctx, conn_id conn)
{
    (void)ctx;
    assert_int_equal(conn.v, 7);
    closed++;
}

static struct job job;
static struct worker *worker;

static void begin(enum transport_lane lane)
{
    job_init(&job);
    job.transport.lane = lane;
    worker = calloc(1, sizeof *worker);
    assert_non_null(worker);
    worker->config.job = &job;
    worker->ports.transport = (struct transport_port){.close = count_close};
    links_init(&worker->links, 1, &worker->ports.transport);
    worker->links.items[0].conn = (conn_id){7};
    closed = 0;
}

/* `auto` and `tcp` accept any connection; `shm` accepts those through shared memory. */
static void other_lanes_are_accepted(void **state)
{
    (void)state;
    const enum transport_lane lanes[] = {LANE_AUTO, LANE_TCP, LANE_SHM};
    for (unsigned i = 0; i < 3; i++) {
        begin(lanes[i]);
        assert_true(worker_accepts_lane(worker, 0, lanes[i] == LANE_SHM));
        assert_true(worker_accepts_lane(worker, 0, true));
        assert_int_equal(closed, 0);
        assert_false(worker->finished);
        free(worker);
    }
}

/* `shm` closes connections over TCP, a few times, as the ps may just be starting; then the worker
 * ends. One through shared memory begins the count again. */
static void shared_memory_is_demanded(void **state)
{
    (void)state;
    begin(LANE_SHM);
    for (unsigned i = 0; i < 10; i++) { assert_false(worker_accepts_lane(worker, 0, false)); }
    assert_int_equal(closed, 10);
    assert_true(worker_accepts_lane(worker, 0, true));
    for (unsigned i = 0; i < 19; i++) { assert_false(worker_accepts_lane(worker, 0, false)); }
    assert_int_equal(closed, 29);
    assert_false(worker->finished);
    assert_false(worker_accepts_lane(worker, 0, false));
    assert_true(worker->finished);
    assert_int_equal(worker->exit_code, TN_EXIT_INVALID_INPUT);
    free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_lanes_are_accepted),
        cmocka_unit_test(shared_memory_is_demanded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
