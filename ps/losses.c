#include "ps/losses.h"

#include <assert.h>

#include "common/base/minmax.h"

void losses_load(struct losses *losses, uint64_t step)
{
    if (losses->first > step || losses->end < step) { losses->first = step; }
    losses->end = step;
}

/* Entries up to that of `step` exist from now on, with a loss of 0. */
static void extend(struct losses *losses, uint64_t step)
{
    if (step >= losses->end + LOSSES_MAX) { losses->first = losses->end = step; }
    while (losses->end <= step) { losses->sums[losses->end++ % LOSSES_MAX] = 0; }
    if (losses->end > LOSSES_MAX) {
        losses->first = u64_max(losses->first, losses->end - LOSSES_MAX);
    }
}

void losses_apply(struct losses *losses, uint64_t step, uint32_t slices,
                  const struct slice_node *parts, uint32_t part_count)
{
    struct slice_sum sums[SLICES_MAX];
    const struct slice_node whole = slices_join(parts, part_count);
    const uint32_t count = slices_plan(slices, whole, parts, part_count, sums);
    extend(losses, step);
    for (uint32_t i = 0; i < count; i++) {
        losses->held[sums[i].into] += losses->held[sums[i].from];
    }
    if (step >= losses->first) { losses->sums[step % LOSSES_MAX] += losses->held[whole.first]; }
}

uint32_t losses_copy(const struct losses *losses, uint64_t *from, uint64_t until, uint32_t batch,
                     double out[static LOSSES_MAX])
{
    assert(batch >= 1);
    uint32_t count = 0;
    *from = u64_max(*from, losses->first);
    for (uint64_t step = *from; step < u64_min(until, losses->end); step++) {
        out[count++] = losses->sums[step % LOSSES_MAX] / batch;
    }
    return count;
}

struct frame_header losses_answer(const struct losses *losses, struct losses_observer *observer,
                                  const struct losses_request *request, struct buffer *body)
{
    uint64_t from = request->from;
    assert(body != NULL);
    const uint32_t count = losses_copy(losses, &from, request->until, request->batch, body->data);
    body->size = sizeof(double) * count;
    *observer = (struct losses_observer){.wanted = request->from, .asked_ms = request->now_ms};
    return (struct frame_header){
        .type = FRAME_LOSSES, .generation = request->generation, .step = from, .count = count};
}

bool losses_observer_waits(const struct losses_observer *observer, uint64_t step, uint64_t now_ms)
{
    return observer->asked_ms != 0 && observer->wanted < step &&
           now_ms < observer->asked_ms + OBSERVER_SILENT_MS;
}
