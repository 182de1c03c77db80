/* chaos/inject/inject_request.c: requests that operators make: `tanist resign`, `pause`,
 * `resume`. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "chaos/cluster/subprocess.h"
#include "chaos/inject/injector.h"
#include "common/base/clock.h"

/* GRACE_MS: how much longer than its duration a request may take while chiefs die and ZooKeeper is
 * down. */
enum { GRACE_MS = 120000, RETRY_MS = 300, NAME_BYTES = 48 };

/*
 *   REQUESTED -- resign: answered ------> DONE
 *             -- pause: answered -------> PAUSED -- its time is over --> RESUMING
 *   RESUMING  -- `tanist resume`: ok ---> DONE
 *             -- refused ---------------> RESUMING, after RETRY_MS
 */
enum request_stage { REQUESTED, PAUSED, RESUMING, DONE };

struct operator_request {
    enum request_stage stage;
    uint64_t began_ms, for_ms, retry_ms;
    struct subprocess command;
};

static enum tn_status run_command(const struct target_cluster *cluster, struct active_fault *fault,
                                  const char *verb, struct error *error)
{
    char name[NAME_BYTES];
    struct operator_request *request = fault->state;
    const char *const arguments[] = {"tanist", verb, "--dir", cluster->run_dir, "--timeout", "60",
                                     "--wait", "60", NULL};
    snprintf(name, sizeof name, "%s-%u", verb, fault->injection.id);
    return subprocess_start(cluster, NULL, name, arguments, &request->command, error);
}

static bool succeeded(const struct subprocess *command)
{
    return command->exit_code == 0 && command->signal == 0;
}

static enum tn_status begin_request(struct target_cluster *cluster, struct active_fault *fault,
                                    struct error *error)
{
    struct operator_request *request = fault->state;
    assert(request->stage == REQUESTED);
    const char *verb = fault->injection.fault == FAULT_PAUSE ? "pause" : "resign";
    enum tn_status status = run_command(cluster, fault, verb, error);
    if (status != TN_OK) { return status; }
    request->began_ms = clock_monotonic_ms();
    request->for_ms = fault->injection.for_ms;
    fault->injection.for_ms += GRACE_MS; /* tick_request() ends it earlier. */
    fault_describe(fault, "`tanist %s` was started", verb);
    return TN_OK;
}

/* The text becomes the log of the stages. */
static void enter(struct active_fault *fault, enum request_stage stage, const char *what)
{
    struct operator_request *request = fault->state;
    assert(stage != REQUESTED);
    if (request->stage == REQUESTED) { fault_describe(fault, "%s", ""); }
    fault_describe_item(fault, "%s after %" PRIu64 " ms", what,
                        clock_monotonic_ms() - request->began_ms);
    request->stage = stage;
    if (stage == DONE) { fault->injection.for_ms = 1; }
}

/* A refusal is not a bug: the run may be over, or without a chief. It is repeated, because the
 * pause must end. */
static void resume(struct target_cluster *cluster, struct active_fault *fault)
{
    struct error error;
    struct operator_request *request = fault->state;
    assert(request->stage == PAUSED || request->stage == RESUMING);
    uint64_t now_ms = clock_monotonic_ms();
    if (!subprocess_has_ended(&request->command) || now_ms < request->retry_ms) { return; }
    if (request->stage == RESUMING && succeeded(&request->command)) {
        enter(fault, DONE, "the run continued");
        return;
    }
    request->stage = RESUMING;
    request->retry_ms = now_ms + RETRY_MS;
    if (run_command(cluster, fault, "resume", &error) != TN_OK) {
        request->command = (struct subprocess){.ended = true, .exit_code = 1};
    }
}

static void tick_request(struct target_cluster *cluster, struct active_fault *fault)
{
    struct operator_request *request = fault->state;
    if (request->stage == REQUESTED && subprocess_has_ended(&request->command)) {
        bool granted = succeeded(&request->command);
        if (fault->injection.fault == FAULT_RESIGN) {
            enter(fault, DONE, granted ? "there was another chief" : "it was not granted");
        } else {
            enter(fault, PAUSED, granted ? "the workers were paused" : "it was not granted");
        }
    }
    bool over = clock_monotonic_ms() >= request->began_ms + request->for_ms;
    if (request->stage == RESUMING || (request->stage == PAUSED && over)) {
        resume(cluster, fault);
    }
}

static void end_request(struct target_cluster *cluster, struct active_fault *fault)
{
    struct operator_request *request = fault->state;
    static const char *const unfinished[] = {
        [REQUESTED] = "the round ended without an answer",
        [PAUSED] = "the round ended while the workers were paused",
        [RESUMING] = "the round ended without an answer to `tanist resume`",
    };
    (void)cluster;
    subprocess_stop(&request->command);
    if (request->stage != DONE) { enter(fault, DONE, unfinished[request->stage]); }
}

const struct injector injector_request = {.state_bytes = sizeof(struct operator_request),
                                          .begin = begin_request,
                                          .tick = tick_request,
                                          .end = end_request};
