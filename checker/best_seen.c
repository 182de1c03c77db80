#include "checker/best_seen.h"

#include <assert.h>
#include <math.h>

void best_seen_evaluation(struct best_seen *seen, uint64_t step, double loss, double accuracy)
{
    if (seen->metric == BEST_NONE) { return; }
    while (seen->evaluations > 0 && seen->evaluation[seen->evaluations - 1].step >= step) {
        seen->evaluations--;
    }
    if (seen->evaluations == BEST_SEEN_MAX) { seen->metric = BEST_NONE; }
    if (seen->metric == BEST_NONE) { return; }
    seen->evaluation[seen->evaluations].step = step;
    seen->evaluation[seen->evaluations++].value = best_value(seen->metric, loss, accuracy);
}

void best_seen_commit(struct best_seen *seen, uint64_t id, uint64_t step, const struct best *named)
{
    assert(seen->commits == 0 || seen->commit[seen->commits - 1].id < id);
    if (seen->commits == BEST_SEEN_MAX) { seen->metric = BEST_NONE; }
    if (seen->metric == BEST_NONE) { return; }
    seen->commit[seen->commits].id = id;
    seen->commit[seen->commits++].step = step;
    seen->named = *named;
    seen->unchecked = true;
}

void best_seen_rewind(struct best_seen *seen, uint64_t id, uint64_t step)
{
    while (seen->commits > 0 && seen->commit[seen->commits - 1].id > id) { seen->commits--; }
    while (seen->evaluations > 0 && seen->evaluation[seen->evaluations - 1].step > step) {
        seen->evaluations--;
    }
}

static double value_of(const struct best_seen *seen, uint64_t step)
{
    for (uint32_t i = seen->evaluations; i-- > 0;) {
        if (seen->evaluation[i].step == step) { return seen->evaluation[i].value; }
    }
    return (double)NAN;
}

uint64_t best_seen_wrong(struct best_seen *seen)
{
    struct best best = {0};
    if (!seen->unchecked) { return UINT64_MAX; }
    seen->unchecked = false;
    for (uint32_t i = 0; i < seen->commits; i++) {
        const double value = value_of(seen, seen->commit[i].step);
        if (!best_improves(&best, seen->metric, value)) { continue; }
        best = (struct best){seen->commit[i].id, seen->commit[i].step, seen->metric, value};
    }
    return best.checkpoint == seen->named.checkpoint ? UINT64_MAX : best.checkpoint;
}
