/* The watch of a worker: the nodes that it connects to, and the assignment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "common/node/worker_watch.h"
#include "tests/unit/support/fake_ports.h"

enum { WORKERS = 3, ME = 1, SLICES = 2 };

static struct fake_ports fake;
static struct node_ports ports;
static struct membership m;
static struct links links;
static struct worker_watch watch;
static char text[ZNODE_JSON_MAX];

static enum worker_watch_change show(struct zk_event event)
{
    return worker_watch_handle(&watch, &event, 1000);
}

/* Answer the last read of `tail` with `size` bytes of `text`. */
static enum worker_watch_change answer(const char *tail, size_t size)
{
    const struct fake_request *read = fake_last(&fake, 'r', tail);
    assert_non_null(read);
    return show((struct zk_event){.type = ZK_RESULT,
                                  .op = read->op,
                                  .outcome = ZK_OK,
                                  .path = read->writes[0].path,
                                  .data = text,
                                  .size = size});
}

static enum worker_watch_change member_on(const char *tail, uint32_t index, uint64_t incarnation,
                                          const char *machine)
{
    struct member of = {.task = {ROLE_WORKER, index},
                        .incarnation = incarnation,
                        .host = "here",
                        .address = "tcp://here:1"};
    strncpy(of.machine, machine, sizeof of.machine - 1);
    return answer(tail, member_encode(&of, text));
}

static enum worker_watch_change member(const char *tail, uint32_t index, uint64_t incarnation)
{
    return member_on(tail, index, incarnation, "");
}

static int setup(void **state)
{
    static const struct node_identity identity = {
        .task = {ROLE_WORKER, ME}, .incarnation = 42, .cluster = "c", .machine = "boot/1"};
    (void)state;
    log_init(LOG_ERROR + 1, LOG_TEXT, "test");
    memset(&fake, 0, sizeof fake);
    ports = fake_node_ports(&fake, buffer_pool_create(0));
    membership_init(&m, &identity, &ports);
    links_init(&links, WORKERS, &ports.transport);
    worker_watch_init(&watch, ROLE_WORKER, SLICES, &links, &m);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_pool_destroy(ports.buffers);
    return 0;
}

/* There is a session: the znodes are being read. */
static int setup_following(void **state)
{
    setup(state);
    m.session = 5;
    show((struct zk_event){.type = ZK_CONNECTED, .session = 5});
    return 0;
}

/* Nothing is read before there is a session. */
static void it_begins_with_the_session(void **state)
{
    (void)state;
    show((struct zk_event){.type = ZK_CONNECTED});
    assert_false(watch.is_following);
    assert_int_equal(fake.request_count, 0);
    assert_true(worker_watch_deadline_ms(&watch) == UINT64_MAX);
    m.session = 5;
    show((struct zk_event){.type = ZK_CONNECTED, .session = 5});
    assert_true(watch.is_following);
    assert_int_equal(fake.request_count, WORKERS + 1);
}

/* A peer is dialled; when it restarts, its open connection is closed. */
static void restarts_of_peers_are_reported(void **state)
{
    (void)state;
    assert_int_equal(member("/worker-2", 2, 7), WORKER_WATCH_NOTHING);
    assert_true(links.items[2].known);
    links_tick(&links, 1000);
    links_opened(&links, 2);
    show((struct zk_event){.type = ZK_CHANGED,
                           .path = fake_last(&fake, 'r', "/worker-2")->writes[0].path});
    assert_int_equal(member("/worker-2", 2, 8), WORKER_WATCH_RESTARTED);
    assert_int_equal(watch.peer, 2);
}

/* Those on the same machine; nothing is known of others. */
static void peers_on_the_machine_are_near(void **state)
{
    (void)state;
    assert_false(worker_watch_is_near(&watch, 2));
    (void)member_on("/worker-2", 2, 7, "boot/1");
    (void)member_on("/worker-0", 0, 8, "boot/2");
    assert_true(worker_watch_is_near(&watch, 2));
    assert_false(worker_watch_is_near(&watch, 0));
    show((struct zk_event){.type = ZK_CHANGED,
                           .path = fake_last(&fake, 'r', "/worker-2")->writes[0].path});
    (void)member("/worker-2", 2, 9);
    assert_false(worker_watch_is_near(&watch, 2));
}

/* A worker does not connect to itself. */
static void its_own_registration_is_ignored(void **state)
{
    (void)state;
    assert_int_equal(member("/worker-1", ME, 42), WORKER_WATCH_NOTHING);
    assert_false(links.items[ME].known);
}

/* Garbage, and assignments of other numbers of slices, are ignored. */
static void only_assignments_of_this_job_count(void **state)
{
    (void)state;
    struct assignment assignment = {.generation = 1, .slice_count = SLICES, .worker = {2, ME}};
    assert_int_equal(answer("/assignment", assignment_encode(&assignment, text)),
                     WORKER_WATCH_ASSIGNED);
    assert_int_equal(watch.assignment.worker[0], 2);
    const char *path = fake_last(&fake, 'r', "/assignment")->writes[0].path;
    show((struct zk_event){.type = ZK_CHANGED, .path = path});
    assignment.slice_count = SLICES + 1;
    assert_int_equal(answer("/assignment", assignment_encode(&assignment, text)),
                     WORKER_WATCH_NOTHING);
    show((struct zk_event){.type = ZK_CHANGED, .path = path});
    assert_int_equal(answer("/assignment", 1), WORKER_WATCH_NOTHING);
    assert_int_equal(watch.assignment.slice_count, SLICES);
}

/* W9: a worker without slices, or of a run that does not train, may leave. */
static void workers_with_slices_are_awaited(void **state)
{
    (void)state;
    struct slice_set owned = {.words = {0}};
    assert_false(worker_watch_is_awaited(&watch, &owned));
    m.has_run = true;
    m.run.phase = RUN_RUNNING;
    assert_false(worker_watch_is_awaited(&watch, &owned));
    slice_set_add(&owned, (struct slice_node){1, 1});
    assert_true(worker_watch_is_awaited(&watch, &owned));
    m.run.phase = RUN_PAUSED;
    assert_false(worker_watch_is_awaited(&watch, &owned));
    m.run.phase = RUN_STOPPING;
    watch.is_following = false;
    assert_true(worker_watch_is_awaited(&watch, &(struct slice_set){.words = {0}}));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_following, teardown)

/* A member of a group follows the ps, and the other workers, to which it makes connections
 * itself. */
static void members_of_a_group_follow_workers(void **state)
{
    (void)state;
    links_init(&links, 1, &ports.transport);
    worker_watch_init(&watch, ROLE_PS, SLICES, &links, &m);
    worker_watch_follow_workers(&watch, WORKERS);
    assert_null(worker_watch_worker(&watch, 2));
    m.session = 5;
    show((struct zk_event){.type = ZK_CONNECTED, .session = 5});
    assert_int_equal(fake.request_count, 1 + WORKERS + 1);
    assert_int_equal(member("/worker-2", 2, 7), WORKER_WATCH_WORKER);
    assert_int_equal(watch.peer, 2);
    assert_string_equal(worker_watch_worker(&watch, 2)->address, "tcp://here:1");
    assert_null(worker_watch_worker(&watch, 0));
    assert_false(links.items[0].known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_begins_with_the_session, setup, teardown),
        TEST(restarts_of_peers_are_reported),
        TEST(peers_on_the_machine_are_near),
        TEST(its_own_registration_is_ignored),
        TEST(only_assignments_of_this_job_count),
        TEST(workers_with_slices_are_awaited),
        cmocka_unit_test_setup_teardown(members_of_a_group_follow_workers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
