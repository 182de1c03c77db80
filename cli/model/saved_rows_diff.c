#include "cli/model/saved_rows_diff.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Sums over the numbers of rows in both. */
struct sums {
    double differences, squares, norm;
    uint64_t numbers;
};

static bool same_bits(float a, float b)
{
    uint32_t left, right;
    memcpy(&left, &a, sizeof left);
    memcpy(&right, &b, sizeof right);
    return left == right;
}

static void compare_rows(const float *first, const float *second, uint32_t width,
                         struct rows_diff *diff, struct sums *sums)
{
    bool changed = false;
    for (uint32_t c = 0; c < width; c++) {
        const double difference = fabs((double)second[c] - (double)first[c]);
        sums->norm += (double)first[c] * (double)first[c];
        if (same_bits(first[c], second[c])) { continue; }
        changed = true;
        diff->most = difference > diff->most || isnan(difference) ? difference : diff->most;
        sums->differences += difference;
        sums->squares += difference * difference;
    }
    sums->numbers += width;
    diff->changed += changed;
}

struct rows_diff rows_diff_of(const struct rows_view *first, const struct rows_view *second,
                              uint32_t width)
{
    struct rows_diff diff = {0};
    struct sums sums = {0};
    uint64_t a = 0, b = 0;
    assert(width >= 1);
    while (a < first->count || b < second->count) {
        if (b == second->count || (a < first->count && first->keys[a] < second->keys[b])) {
            diff.removed++;
            a++;
        } else if (a == first->count || second->keys[b] < first->keys[a]) {
            diff.added++;
            b++;
        } else {
            compare_rows(first->values + a++ * width, second->values + b++ * width, width, &diff,
                         &sums);
        }
    }
    if (sums.numbers > 0) { diff.mean = sums.differences / (double)sums.numbers; }
    if (sums.squares != 0) { diff.relative = sqrt(sums.squares) / sqrt(sums.norm); }
    return diff;
}
