#include "checker/released.h"

#include <assert.h>

bool released_has(const struct released *released, uint64_t incarnation)
{
    assert(released->next < RELEASED_REMEMBERED);
    for (uint32_t i = 0; i < RELEASED_REMEMBERED; i++) {
        if (incarnation != 0 && released->incarnations[i] == incarnation) { return true; }
    }
    return false;
}

const char *released_follow(struct released *released, const struct run *run)
{
    assert(run->released_count <= RUN_RELEASED_MAX);
    if (run->released_count == 0) { return NULL; }
    for (uint32_t i = 0; i < run->released_count; i++) {
        if (released_has(released, run->released[i])) { continue; }
        released->incarnations[released->next] = run->released[i];
        released->next = (released->next + 1) % RELEASED_REMEMBERED;
    }
    if (run->gate != 0) { return "while training has a gate"; }
    const bool continues = run->phase == RUN_RUNNING || run->phase == RUN_PAUSED;
    return continues ? NULL : "while training does not continue";
}
