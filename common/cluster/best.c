#include "common/cluster/best.h"

#include <math.h>
#include <stddef.h>

const char *const best_metric_names[] = {"none", "loss", "accuracy", NULL};

double best_value(enum best_metric metric, double loss, double accuracy)
{
    if (metric == BEST_NONE) { return (double)NAN; }
    return metric == BEST_ACCURACY ? accuracy : loss;
}

bool best_is_better(enum best_metric metric, double value, double than)
{
    return metric == BEST_ACCURACY ? value > than : value < than;
}

bool best_improves(const struct best *best, enum best_metric metric, double value)
{
    if (metric == BEST_NONE || !isfinite(value)) { return false; }
    if (best->checkpoint == 0 || best->metric != metric) { return true; }
    return best_is_better(metric, value, best->value);
}

struct best best_of_metric(const struct best *best, enum best_metric metric)
{
    const bool same = best->checkpoint != 0 && best->metric == metric;
    return same ? *best : (struct best){.metric = metric};
}
