#include "tests/sim/faults.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/minmax.h"

static const char *const names[FAULT_KINDS] = {
    [FAULT_KILL] = "kill",
    [FAULT_CRASH_LOOP] = "crash-loop",
    [FAULT_FREEZE] = "freeze",
    [FAULT_AGENT] = "agent",
    [FAULT_HOST] = "host",
    [FAULT_EVERYTHING] = "everything",
    [FAULT_RESET] = "reset",
    [FAULT_CUT_PEERS] = "cut-peers",
    [FAULT_CUT_ZOOKEEPER] = "cut-zookeeper",
    [FAULT_DROP_SESSION] = "drop-session",
    [FAULT_SERVER] = "server",
    [FAULT_OUTAGE] = "outage",
    [FAULT_WIPE] = "wipe",
    [FAULT_DAMAGE] = "damage",
    [FAULT_RESIGN] = "resign",
    [FAULT_HOLD] = "hold",
    [FAULT_MOVE] = "move",
    [FAULT_DRAIN] = "drain",
    [FAULT_DELETE] = "delete",
    [FAULT_REPLACE] = "replace",
    [FAULT_READ_ONLY] = "read-only",
    [FAULT_OTHER_INPUTS] = "other-inputs",
    [FAULT_TEAR] = "tear",
    [FAULT_STOP] = "stop",
    [FAULT_RESIZE] = "resize",
    [FAULT_SCALE] = "scale",
    [FAULT_CHANGE] = "change",
    [FAULT_WORKERS] = "workers",
};

/* How often each kind is drawn, relative to the others. */
static const uint32_t weights[FAULT_DRAWN] = {
    [FAULT_KILL] = 30,         [FAULT_CRASH_LOOP] = 4, [FAULT_FREEZE] = 10,
    [FAULT_AGENT] = 3,         [FAULT_HOST] = 4,       [FAULT_EVERYTHING] = 2,
    [FAULT_RESET] = 8,         [FAULT_CUT_PEERS] = 8,  [FAULT_CUT_ZOOKEEPER] = 8,
    [FAULT_DROP_SESSION] = 10, [FAULT_SERVER] = 8,     [FAULT_OUTAGE] = 3,
    [FAULT_WIPE] = 1,          [FAULT_DAMAGE] = 4,     [FAULT_RESIGN] = 3,
    [FAULT_HOLD] = 3,
};

const char *fault_name(enum fault_kind kind)
{
    assert((unsigned)kind < FAULT_KINDS);
    return names[kind];
}

static enum fault_kind draw_kind(struct random *random, uint32_t allowed)
{
    uint32_t total = 0;
    for (uint32_t k = 0; k < FAULT_DRAWN; k++) { total += allowed >> k & 1 ? weights[k] : 0; }
    assert(total > 0);
    uint64_t pick = random_below(random, total);
    for (uint32_t k = 0; k < FAULT_DRAWN; k++) {
        uint32_t weight = allowed >> k & 1 ? weights[k] : 0;
        if (pick < weight) { return (enum fault_kind)k; }
        pick -= weight;
    }
    return FAULT_KILL;
}

/* A third each: 20 ms to one session timeout, 0.3 to one, and 0.3 to 10. */
static uint64_t draw_duration(struct random *random, uint32_t session_timeout_ms)
{
    uint64_t scale = random_below(random, 3);
    uint64_t low = scale == 0 ? 20 : session_timeout_ms * 3 / 10;
    uint64_t high = scale == 2 ? 10ull * session_timeout_ms : session_timeout_ms;
    return low + random_below(random, high - low + 1);
}

uint32_t faults_draw(struct random *random, uint32_t count, uint64_t from_ms, uint64_t to_ms,
                     uint32_t allowed, uint32_t session_timeout_ms,
                     struct fault out[static FAULTS_MAX])
{
    assert(from_ms < to_ms);
    count = u32_min(count, FAULTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct fault fault = {.kind = draw_kind(random, allowed)};
        fault.at_ms = from_ms + random_below(random, to_ms - from_ms);
        fault.duration_ms = draw_duration(random, session_timeout_ms);
        fault.target = (uint32_t)random_below(random, 1000);
        fault.other = (uint32_t)random_below(random, 1000);
        fault.both_ways = random_below(random, 2) == 0;
        /* One third of the faults follow the fault before within 60 ms. */
        if (i > 0 && random_below(random, 3) == 0) {
            fault.at_ms = out[i - 1].at_ms + random_below(random, 60);
        }
        uint32_t at = i;
        while (at > 0 && out[at - 1].at_ms > fault.at_ms) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = fault;
    }
    return count;
}

void fault_describe(const struct fault *fault, char *text, unsigned size)
{
    (void)snprintf(text, size, "%" PRIu64 ".%03" PRIu64 " s %s target %u/%u for %" PRIu64 " ms%s",
                   fault->at_ms / 1000, fault->at_ms % 1000, fault_name(fault->kind), fault->target,
                   fault->other, fault->duration_ms, fault->both_ways ? " both ways" : "");
}
