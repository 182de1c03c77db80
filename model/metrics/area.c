#include "model/metrics/area.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int by_score(const void *a, const void *b)
{
    const struct area_score *left = a, *right = b;
    return (left->score > right->score) - (left->score < right->score);
}

/* Groups of equal scores, in ascending order: each positive one is above all negative ones before
 * its group. Pairs count twice, so that halves are whole. */
double area_under_curve(struct area_score *scores, uint64_t count)
{
    uint64_t positives = 0, negatives = 0, pairs = 0;
    assert(scores != NULL || count == 0);
    for (uint64_t i = 0; i < count; i++) {
        if (isnan(scores[i].score)) { return (double)NAN; }
    }
    if (count > 0) { qsort(scores, count, sizeof *scores, by_score); }
    for (uint64_t i = 0; i < count;) {
        uint64_t up = 0, down = 0, at = i;
        for (; at < count && scores[at].score == scores[i].score; at++) {
            up += scores[at].positive;
            down += !scores[at].positive;
        }
        pairs += up * (2 * negatives + down);
        positives += up;
        negatives += down;
        i = at;
    }
    if (positives == 0 || negatives == 0) { return (double)NAN; }
    return (double)pairs / (2 * (double)positives * (double)negatives);
}
