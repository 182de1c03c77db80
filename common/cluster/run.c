#include "common/cluster/run.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/base/text.h"

const char *const run_phase_names[RUN_PHASES + 1] = {
    [RUN_FORMING] = "forming", [RUN_LOADING] = "loading",   [RUN_RUNNING] = "running",
    [RUN_PAUSED] = "paused",   [RUN_STOPPING] = "stopping", [RUN_DONE] = "done",
    [RUN_FAILED] = "failed",   [RUN_HELD] = "held",
};

const char *const recovery_kind_names[RECOVERY_KINDS + 1] = {
    [RECOVERY_NONE] = "none",         [RECOVERY_PS] = "ps",
    [RECOVERY_CHIEF] = "chief",       [RECOVERY_RESTART] = "restart",
    [RECOVERY_OPERATOR] = "operator", [RECOVERY_WARM] = "warm",
    [RECOVERY_WORKER] = "worker",
};

const char *run_phase_name(enum run_phase phase)
{
    assert(phase < RUN_PHASES);
    return run_phase_names[phase];
}

bool run_is_over(const struct run *run)
{
    assert(run->phase < RUN_PHASES);
    return run->phase == RUN_DONE || run->phase == RUN_FAILED;
}

bool run_wants_worker(const struct run *run, uint32_t index)
{
    return run->workers == 0 || index < run->workers;
}

bool run_is_paused_by_operator(const struct run *run)
{
    return run->phase == RUN_PAUSED && run->recovery.kind == RECOVERY_OPERATOR;
}

bool run_has_released(const struct run *run, uint64_t incarnation)
{
    assert(run->released_count <= RUN_RELEASED_MAX);
    for (uint32_t i = 0; i < run->released_count; i++) {
        if (run->released[i] == incarnation) { return true; }
    }
    return false;
}

uint64_t run_limit(const struct run *run)
{
    return run->gate != 0 ? u64_min(run->until, run->gate) : run->until;
}

bool run_hurries_save(const struct run *run, uint64_t generation, uint64_t step, uint64_t every)
{
    const uint64_t soon = step + every / 4 + 1;
    if (run->phase != RUN_RUNNING || run->generation != generation) { return true; }
    if (run->gate != 0 || soon >= run->until) { return true; }
    return run->save_due != 0 && soon >= run->save_due;
}

bool run_is_unloadable(const struct run *run, uint64_t checkpoint)
{
    assert(run->unloadable_count <= RUN_UNLOADABLE_MAX);
    for (uint32_t i = 0; i < run->unloadable_count; i++) {
        if (run->unloadable[i] == checkpoint) { return true; }
    }
    return false;
}

bool run_phase_parse(const char *name, enum run_phase *out)
{
    assert(name != NULL);
    for (enum run_phase phase = 0; phase < RUN_PHASES; phase++) {
        if (!text_equal(run_phase_name(phase), name)) { continue; }
        *out = phase;
        return true;
    }
    return false;
}

const char *recovery_kind_name(enum recovery_kind kind)
{
    assert(kind < RECOVERY_KINDS);
    return recovery_kind_names[kind];
}
