/* The start of an agent: sessions of nodes of the former one are closed, the cluster is created
 * when ZooKeeper answers, and attempts that a busy server interrupts are repeated. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/zk/session_file.h"
#include "tests/support/servers.h"

/* The results of the attempts to create the cluster, one after the other; the last one is that of
 * all further attempts. */
struct attempts {
    uint32_t made, count;
    const enum tn_status *results;
};

static enum tn_status prepare(void *ctx, struct error *error)
{
    struct attempts *attempts = ctx;
    const uint32_t at = u32_min(attempts->made, attempts->count - 1);
    attempts->made++;
    return error_set(error, attempts->results[at], "attempt %u", (unsigned)attempts->made);
}

static enum tn_status restore(void *ctx, struct error *error)
{
    (void)ctx;
    (void)error;
    return TN_OK;
}

static void notify(void *ctx, const struct agent_event *event)
{
    (void)ctx;
    (void)event;
}

/* An agent without nodes. */
static enum tn_status run_agent(struct attempts *attempts, uint32_t timeout_ms, struct error *error)
{
    static struct job job;
    static struct agent_result result;
    char dir[sizeof servers.dir + 16];
    job_init(&job);
    snprintf(job.name, sizeof job.name, "prepared");
    snprintf(dir, sizeof dir, "%s/agent", servers.dir);
    assert_int_equal(files_make_folders(dir, error), TN_OK);
    const struct agent_config config = {.job = &job,
                                        .dir = dir,
                                        .job_file = "job.json",
                                        .connect = servers.ensemble.connect,
                                        .listen_host = "127.0.0.1",
                                        .drain_ms = 1000,
                                        .connect_timeout_ms = timeout_ms,
                                        .prepare = prepare,
                                        .restore = restore,
                                        .notify = notify,
                                        .ctx = attempts};
    return agent_run(&config, &result, error);
}

/* After a request whose outcome is unknown the agent tries again; after a refusal it gives up. */
static void interrupted_attempts_are_repeated(void **state)
{
    (void)state;
    static const enum tn_status results[] = {TN_ETIMEDOUT, TN_ECONNECT, TN_EEXPIRED, TN_EINVAL};
    struct attempts attempts = {.count = 4, .results = results};
    struct error error = {0};
    assert_int_equal(run_agent(&attempts, 600000, &error), TN_EINVAL);
    assert_int_equal(attempts.made, 4);
    assert_string_equal(error.text, "attempt 4");
}

/* The attempts end when ZooKeeper has not answered for as long as the agent waits for it. */
static void attempts_are_bounded(void **state)
{
    (void)state;
    static const enum tn_status results[] = {TN_ETIMEDOUT};
    struct attempts attempts = {.count = 1, .results = results};
    struct error error = {0};
    assert_int_equal(run_agent(&attempts, 1000, &error), TN_ECONNECT);
    assert_non_null(strstr(error.text, "the cluster could not be created within "));
    assert_non_null(strstr(error.text, " s: attempt "));
}

/* A node of a killed agent has left a session and its file. */
struct former {
    char dir[sizeof servers.dir + 16], path[sizeof servers.dir + 48];
    struct zk_session session;
};

static void leave_session(struct former *former)
{
    struct test_client client;
    struct error error = {0};
    char folder[sizeof former->dir + 16];
    snprintf(former->dir, sizeof former->dir, "%s/former", servers.dir);
    snprintf(folder, sizeof folder, "%s/sessions", former->dir);
    snprintf(former->path, sizeof former->path, "%s/ps-0", folder);
    assert_int_equal(files_make_folders(folder, &error), TN_OK);
    servers_connect(&client, 60000, 60000);
    former->session = zk_session_of(client.zk);
    assert_int_equal(session_file_write(former->path, &former->session, &error), TN_OK);
    test_client_abandon(&client);
}

static void expect_closed(const struct former *former)
{
    assert_int_equal(zk_close_session(servers.ensemble.connect, &former->session, 60000, NULL),
                     TN_EEXPIRED);
}

static void sessions_of_a_former_agent_are_closed(void **state)
{
    (void)state;
    struct former former;
    leave_session(&former);
    const struct agent_config config = {.dir = former.dir, .connect = servers.ensemble.connect};
    struct session_reaper *reaper = NULL;
    struct error error = {0};
    assert_int_equal(session_reaper_start(config.connect, &reaper, &error), TN_OK);
    children_close_former(&config, reaper);
    session_reaper_finish(reaper); /* A busy server may not have answered in time. */
    struct pollfd ended = {.fd = session_reaper_fd(reaper), .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 60000), 1);
    session_reaper_stop(reaper);
    expect_closed(&former);
    (void)unlink(former.path);
}

/* An agent that is killed, or whose servers do not answer, before it has closed a session leaves
 * the file to the next one. The reaper closes the session later; here it knows a server that
 * answers. */
static void a_session_that_is_not_closed_keeps_its_file(void **state)
{
    (void)state;
    struct former former;
    leave_session(&former);
    const struct agent_config config = {.dir = former.dir, .connect = "127.0.0.1:1"};
    struct zk_session left = {0};
    struct session_reaper *reaper = NULL;
    struct error error = {0};
    children_close_former(&config, NULL);
    assert_int_equal(session_file_read(former.path, &left, &error), TN_OK);
    assert_int_equal(left.id, former.session.id);
    assert_int_equal(session_reaper_start(servers.ensemble.connect, &reaper, &error), TN_OK);
    children_close_former(&config, reaper);
    session_reaper_finish(reaper);
    struct pollfd ended = {.fd = session_reaper_fd(reaper), .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 60000), 1);
    session_reaper_stop(reaper);
    expect_closed(&former);
    (void)unlink(former.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(interrupted_attempts_are_repeated, servers_heal),
        cmocka_unit_test_setup(attempts_are_bounded, servers_heal),
        cmocka_unit_test_setup(sessions_of_a_former_agent_are_closed, servers_heal),
        cmocka_unit_test_setup(a_session_that_is_not_closed_keeps_its_file, servers_heal),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
