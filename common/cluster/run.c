#include "common/cluster/run.h"

#include <assert.h>

const char *run_phase_name(enum run_phase phase)
{
    static const char *const names[RUN_PHASES] = {
        [RUN_FORMING] = "forming", [RUN_LOADING] = "loading",   [RUN_RUNNING] = "running",
        [RUN_PAUSED] = "paused",   [RUN_STOPPING] = "stopping", [RUN_DONE] = "done",
        [RUN_FAILED] = "failed",
    };
    assert(phase < RUN_PHASES);
    return names[phase];
}

const char *recovery_kind_name(enum recovery_kind kind)
{
    static const char *const names[] = {
        [RECOVERY_NONE] = "none",         [RECOVERY_PS] = "ps",
        [RECOVERY_CHIEF] = "chief",       [RECOVERY_RESTART] = "restart",
        [RECOVERY_OPERATOR] = "operator",
    };
    assert(kind <= RECOVERY_OPERATOR);
    return names[kind];
}
