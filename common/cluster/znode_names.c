/* The names of kinds in znodes. */
#include <assert.h>
#include <string.h>

#include "common/cluster/znodes.h"

const char *const history_kind_names[HISTORY_KINDS + 1] = {
    [HISTORY_ELECTED] = "elected",
    [HISTORY_TASK_UP] = "task-up",
    [HISTORY_TASK_LOST] = "task-lost",
    [HISTORY_PAUSED] = "paused",
    [HISTORY_RECOVERED] = "recovered",
    [HISTORY_RUNNING] = "running",
    [HISTORY_CHECKPOINT] = "checkpoint",
    [HISTORY_FALLBACK] = "fallback",
    [HISTORY_EVALUATED] = "evaluated",
    [HISTORY_DONE] = "done",
    [HISTORY_FAILED] = "failed",
    [HISTORY_HELD] = "held",
    [HISTORY_SKIPPED] = "skipped",
    [HISTORY_CHANGED] = "changed",
    [HISTORY_LATE] = "late",
    [HISTORY_RETURNED] = "returned",
};

const char *const request_kind_names[REQUEST_KINDS + 1] = {
    [REQUEST_STOP] = "stop",       [REQUEST_RESIGN] = "resign",
    [REQUEST_PAUSE] = "pause",     [REQUEST_RESUME] = "resume",
    [REQUEST_RESTORE] = "restore", [REQUEST_CHECKPOINT] = "checkpoint",
    [REQUEST_DRAIN] = "drain",     [REQUEST_ACCEPT_LOSS] = "accept-loss",
    [REQUEST_SCALE] = "scale",
};

const char *const kill_signal_names[KILL_SIGNALS + 1] = {
    [KILL_SIGKILL] = "KILL",
    [KILL_SIGTERM] = "TERM",
    [KILL_SIGSTOP] = "STOP",
    [KILL_SIGCONT] = "CONT",
};

const char *history_kind_name(enum history_kind kind)
{
    assert(kind < HISTORY_KINDS);
    return history_kind_names[kind];
}

const char *request_kind_name(enum request_kind kind)
{
    assert(kind < REQUEST_KINDS);
    return request_kind_names[kind];
}

const char *kill_signal_name(enum kill_signal signal)
{
    assert(signal < KILL_SIGNALS);
    return kill_signal_names[signal];
}

bool kill_signal_parse(const char *name, enum kill_signal *out)
{
    assert(name != NULL);
    for (int i = 0; i < KILL_SIGNALS; i++) {
        if (strcmp(name, kill_signal_names[i]) != 0) { continue; }
        *out = (enum kill_signal)i;
        return true;
    }
    return false;
}
