/*
 * model/metrics/area.h: the area under the ROC curve: the probability that a random positive
 * example has a higher score than a random negative one, where equal scores count half (Fawcett:
 * "An introduction to ROC analysis", 2006). Pure. Threads: any.
 */
#ifndef MODEL_METRICS_AREA_H
#define MODEL_METRICS_AREA_H

#include <stdbool.h>
#include <stdint.h>

struct area_score {
    float score;
    bool positive;
};

/* Sorts `scores`. Fewer than 2^32 of them give an exact count of pairs. NAN: all or none are
 * positive, or a score is NAN. */
double area_under_curve(struct area_score *scores, uint64_t count);

#endif
