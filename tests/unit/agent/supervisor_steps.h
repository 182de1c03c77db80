/* tests/unit/agent/supervisor_steps.h: a supervisor that is fed with events, and its actions as
 * text. Children: 0 is a ZooKeeper server, 1 and 2 are nodes. */
#ifndef TESTS_UNIT_AGENT_SUPERVISOR_STEPS_H
#define TESTS_UNIT_AGENT_SUPERVISOR_STEPS_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/supervisor.h"
#include "tanist/status.h"

static struct supervisor supervisor;
static struct supervisor_actions actions;
static char trace[512];

/* Feeds one event; returns the actions as text: "reap 1, spawn 1". */
static const char *feed(const struct supervisor_event *event)
{
    static const char *const names[] = {"spawn", "reap", "drain", "terminate", "kill", "spare",
                                        "read",  "fail", "close", "abandon",   "end",  "change"};
    size_t length = 0;
    trace[0] = '\0';
    supervisor_step(&supervisor, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct supervisor_action *action = &actions.list[i];
        length += (size_t)snprintf(trace + length, sizeof trace - length, "%s%s", i ? ", " : "",
                                   names[action->type]);
        if (action->type < DO_CLOSE_SESSIONS) {
            length += (size_t)snprintf(trace + length, sizeof trace - length, " %u", action->child);
        }
    }
    return trace;
}

static const char *step(enum supervisor_event_type type, uint32_t child, uint64_t now_ms,
                        int exit_code, int signal_number)
{
    return feed(&(struct supervisor_event){.type = type,
                                           .child = child,
                                           .now_ms = now_ms,
                                           .exit_code = exit_code,
                                           .signal = signal_number});
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

static const char *closed(uint64_t now_ms)
{
    return step(SUPERVISOR_SESSIONS_CLOSED, 0, now_ms, 0, 0);
}

static const char *drain(uint64_t now_ms, uint64_t until_ms)
{
    const struct supervisor_event event = {
        .type = SUPERVISOR_DRAIN, .now_ms = now_ms, .until_ms = until_ms};
    return feed(&event);
}

static void spawned(uint32_t child, uint64_t now_ms)
{
    assert_string_equal(step(SUPERVISOR_SPAWNED, child, now_ms, 0, 0), "");
}

/* All three children run; the nodes since 1000. */
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

#endif
