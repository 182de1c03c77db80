#include "worker/recent_losses.h"

#include <math.h>
#include <stddef.h>

void recent_losses_add(struct recent_losses *losses, uint64_t step, double loss_sum,
                       uint64_t examples)
{
    const size_t at = step % RECENT_LOSSES_STEPS;
    if (losses->steps[at].step != step) { /* It is that of an earlier step. */
        losses->steps[at].step = step;
        losses->steps[at].loss_sum = 0;
        losses->steps[at].examples = 0;
    }
    losses->steps[at].loss_sum += loss_sum;
    losses->steps[at].examples += examples;
}

/* A worker that had no slices for a while still has the losses from before. */
double recent_losses_mean(const struct recent_losses *losses, uint64_t step)
{
    double loss_sum = 0;
    uint64_t examples = 0;
    for (uint32_t i = 0; i < RECENT_LOSSES_STEPS; i++) {
        if (losses->steps[i].step + RECENT_LOSSES_STEPS < step) { continue; }
        loss_sum += losses->steps[i].loss_sum;
        examples += losses->steps[i].examples;
    }
    return examples > 0 ? loss_sum / (double)examples : (double)NAN;
}
