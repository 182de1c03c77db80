/*
 * ps/losses.h: the training losses of the newest steps, for observers. Each push brings the sum of
 * the losses of its examples; a ps adds up those of a step in the order of the tree of slices, like
 * the gradients, so that the loss of a step has the same bits on every ps, whatever was pushed.
 *
 * Only metrics use them: they are not saved, and a ps that was restarted has none of the steps
 * before. Pure: no allocation. Threads: the owner's.
 */
#ifndef PS_LOSSES_H
#define PS_LOSSES_H

#include <stdint.h>

#include "common/cluster/slices.h"
#include "common/net/wire.h"

struct losses {
    double held[SLICES_MAX]; /* Those of the held pushes, by first slice. */
    uint64_t first;          /* The losses of steps from this one on are here ... */
    uint64_t end;            /* ... below this one; those of an async run may be incomplete. */
    double sums[LOSSES_MAX]; /* That of step s is in entry s % LOSSES_MAX. */
};

/* The shard is that of `step` now: losses of later steps are dropped. */
void losses_load(struct losses *losses, uint64_t step);

/* The held losses of `parts`, as in shard_apply(), belong to the update of `step`. */
void losses_apply(struct losses *losses, uint64_t step, uint32_t slices,
                  const struct slice_node *parts, uint32_t part_count);

/* Write the mean losses of batches of `batch` examples of the steps from `*from` on and below
 * `until` to `out`. Returns their number, and moves `*from` to the first that is known. */
uint32_t losses_copy(const struct losses *losses, uint64_t *from, uint64_t until, uint32_t batch,
                     double out[static LOSSES_MAX]);

#endif
