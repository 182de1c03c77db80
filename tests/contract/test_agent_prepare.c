/* The start of an agent: the cluster is created when ZooKeeper answers, and attempts that a busy
 * server interrupts are repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "common/base/files.h"
#include "common/base/minmax.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(interrupted_attempts_are_repeated, servers_heal),
        cmocka_unit_test_setup(attempts_are_bounded, servers_heal),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
