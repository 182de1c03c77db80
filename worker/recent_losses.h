/*
 * worker/recent_losses.h: the losses of a worker's slices in recent steps, for the training loss
 * that an evaluation reports. Pure.
 */
#ifndef WORKER_RECENT_LOSSES_H
#define WORKER_RECENT_LOSSES_H

#include <stdint.h>

enum { RECENT_LOSSES_STEPS = 50 /* The training loss is their mean. */ };

/* A ring; all zero: there are none. */
struct recent_losses {
    struct {
        uint64_t step;
        double loss_sum;
        uint64_t examples; /* 0: the entry is empty. */
    } steps[RECENT_LOSSES_STEPS];
};

/* Add the sum of the losses of `examples` examples of `step`. */
void recent_losses_add(struct recent_losses *losses, uint64_t step, double loss_sum,
                       uint64_t examples);
/* The mean loss of the examples in the RECENT_LOSSES_STEPS steps up to `step`; NAN: there are
 * none. */
double recent_losses_mean(const struct recent_losses *losses, uint64_t step);

#endif
