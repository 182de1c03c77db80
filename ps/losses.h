/*
 * ps/losses.h: the training losses of the newest steps, for observers. Each push brings the sum of
 * the losses of its examples; a ps adds up those of a step in the order of the tree of slices, like
 * the gradients, so that the loss of a step has the same bits on every ps, whatever was pushed.
 *
 * Only metrics use the losses: they are not saved, and a ps that was restarted has none of earlier
 * steps. Pure: no allocation. Threads: the owner's.
 */
#ifndef PS_LOSSES_H
#define PS_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/slices.h"
#include "common/net/wire.h"

struct losses {
    double held[SLICES_MAX]; /* The losses of the held pushes, by first slice. */
    uint64_t first;          /* The losses of the steps from `first` to `end` - 1 are known. */
    uint64_t end;            /* In an async run these losses may be incomplete. */
    double sums[LOSSES_MAX]; /* The sum of step s is in entry s % LOSSES_MAX. */
};

enum { OBSERVER_SILENT_MS = 2000 }; /* An observer that asked within this time is waited for. */

/* The last request of an observer. */
struct losses_observer {
    uint64_t wanted;   /* The observer lacks the losses from this step on. */
    uint64_t asked_ms; /* 0: there was no request. */
};

/* A request: the losses of the steps from `from` on and below `until`, of batches of `batch`
 * examples. */
struct losses_request {
    uint64_t generation, from, until, now_ms;
    uint32_t batch;
};

/* The shard is at `step` now: losses of later steps are dropped. */
void losses_load(struct losses *losses, uint64_t step);

/* The held losses of `parts`, as in shard_apply(), belong to the update of `step`. */
void losses_apply(struct losses *losses, uint64_t step, uint32_t slices,
                  const struct slice_node *parts, uint32_t part_count);

/* Write the mean losses of batches of `batch` examples of the steps from `*from` on and below
 * `until` to `out`. Returns their number, and moves `*from` to the first that is known. */
uint32_t losses_copy(const struct losses *losses, uint64_t *from, uint64_t until, uint32_t batch,
                     double out[static LOSSES_MAX]);

/* The header of the answer to a request, whose losses are written to `body`, a buffer of LOSSES_MAX
 * doubles. */
struct frame_header losses_answer(const struct losses *losses, struct losses_observer *observer,
                                  const struct losses_request *request, struct buffer *body);

/* Whether an observer asked recently and has not yet received the losses of the steps before
 * `step`. */
bool losses_observer_waits(const struct losses_observer *observer, uint64_t step, uint64_t now_ms);

#endif
