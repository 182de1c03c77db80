/* The end of a child: whether it caused its end, and when it may start again (S1, S2, S3, S12). */
#include <assert.h>
#include <signal.h>

#include "agent/supervisor_private.h"
#include "tanist/status.h"

bool supervised_runs(const struct supervised *child)
{
    return child->state == CHILD_STARTING || child->state == CHILD_ALIVE;
}

/* S3. Servers are Java programs with exit codes of their own. */
bool supervised_is_permanent(const struct supervised *child)
{
    assert(!supervised_runs(child));
    if (child->kind != CHILD_NODE || child->signal != 0) { return false; }
    if (child->exit_code == TN_EXIT_INVALID_INPUT) { return !child->device_in_doubt; }
    return child->exit_code == TN_EXIT_ARGUMENTS || child->exit_code == TN_EXIT_TASK_TAKEN;
}

/* S2: whether the child caused its end. */
static bool is_fault(const struct supervised *child)
{
    assert(child->signal >= 0);
    if (child->kind == CHILD_SERVER) {
        /* Java exits with 128 or more when a signal ended it. */
        return child->signal == 0 && child->exit_code != 0 && child->exit_code < 128;
    }
    switch (child->signal) {
    case 0:
        return child->exit_code != TN_EXIT_OK && child->exit_code != TN_EXIT_SESSION_EXPIRED &&
               child->exit_code != TN_EXIT_DEPOSED && child->exit_code != TN_EXIT_RESIGNED &&
               child->exit_code != TN_EXIT_TASK_TAKEN;
    case SIGSEGV: /* The signals of common/base/fault_signals.h. */
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSYS: return true;
    default: return false;
    }
}

/* S1, S2: sets when the child may restart; returns whether it is in a crash loop. */
bool supervised_count_end(struct supervised *child, uint64_t now_ms, bool gpus)
{
    assert(supervised_runs(child));
    assert(child->state != CHILD_ALIVE || child->started_ms <= now_ms);
    uint64_t life_ms = child->state == CHILD_ALIVE ? now_ms - child->started_ms : 0;
    bool is_short = life_ms < SUPERVISOR_SHORT_LIFE_MS;
    if (life_ms >= SUPERVISOR_LONG_LIFE_MS) {
        child->faults = child->delay_ms = 0;
        child->device_in_doubt = false;
    }
    /* A process that is killed cannot report that its GPU failed. */
    if (child->signal != 0 ? gpus : child->exit_code == TN_EXIT_DEVICE_FAILED) {
        child->device_in_doubt = true;
    }
    if (life_ms < SUPERVISOR_LONG_LIFE_MS && is_fault(child)) { child->faults++; }
    child->restart_at_ms = now_ms + child->delay_ms;
    if (!is_short) {
        child->delay_ms = 0;
    } else if (child->delay_ms == 0) {
        child->delay_ms = SUPERVISOR_DELAY_MS;
    } else if (child->delay_ms < SUPERVISOR_DELAY_MAX_MS / 2) {
        child->delay_ms *= 2;
    } else {
        child->delay_ms = SUPERVISOR_DELAY_MAX_MS;
    }
    assert(child->delay_ms <= SUPERVISOR_DELAY_MAX_MS);
    return child->faults >= SUPERVISOR_FAULTS_MAX;
}

bool supervisor_keeps_memory(const struct supervised *child)
{
    return child->signal == SIGKILL;
}
