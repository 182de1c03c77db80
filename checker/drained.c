#include "checker/drained.h"

#include <assert.h>
#include <string.h>

const char *drained_follow(struct drained *drained, const struct run *was, const struct run *run,
                           uint64_t reached, uint64_t *step)
{
    const char *wrong = NULL;
    bool stops = was->phase == RUN_RUNNING && run->phase == RUN_PAUSED && was->gate != 0;
    assert(step != NULL);
    *step = drained->step;
    if (stops && run->committed_step == was->gate && run->generation == was->generation) {
        drained->generation = run->generation;
        drained->step = *step = run->committed_step;
    }
    bool drains = strncmp(run->recovery.cause, RUN_DRAINED_CAUSE, strlen(RUN_DRAINED_CAUSE)) == 0;
    if (stops && drains && run->committed_step != was->gate) {
        *step = run->committed_step;
        wrong = "training had not stopped at the gate";
    }
    if (run->phase == RUN_RUNNING || run->phase == RUN_FORMING) { drained->generation = 0; }
    bool active = drained->generation == was->generation && was->generation != 0;
    if (active && reached > drained->step) { wrong = "steps after it were made"; }
    if (active && run->phase == RUN_LOADING && run->load_step != drained->step) {
        wrong = "the next load is of another step";
    }
    return wrong;
}
