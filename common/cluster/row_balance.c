#include "common/cluster/row_balance.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "common/base/minmax.h"

/* Ranges of buckets whose loads do not exceed `most`. */
struct ranges {
    uint64_t before[ROW_BUCKETS + 1]; /* The load of all buckets before this one. */
    uint64_t most;
    uint32_t needed[ROW_BUCKETS + 1]; /* The least number of ranges for this bucket and the rest. */
};

static void add_up(struct ranges *ranges, const uint64_t loads[static ROW_BUCKETS])
{
    ranges->before[0] = 0;
    for (uint32_t b = 0; b < ROW_BUCKETS; b++) {
        assert(loads[b] < ROW_LOADS_MAX - ranges->before[b]);
        ranges->before[b + 1] = ranges->before[b] + loads[b];
    }
}

/* The end of the longest range that begins with bucket `first`, at most `end`. */
static uint32_t end_of(const struct ranges *ranges, uint32_t first, uint32_t end)
{
    while (ranges->before[end] - ranges->before[first] > ranges->most) { end--; }
    return end;
}

/* Returns the number of ranges for all buckets. `most` is at least the load of each bucket. */
static uint32_t count_needed(struct ranges *ranges, uint64_t most)
{
    uint32_t end = ROW_BUCKETS;
    ranges->most = most;
    ranges->needed[ROW_BUCKETS] = 0;
    for (uint32_t b = ROW_BUCKETS; b-- > 0;) {
        end = end_of(ranges, b, end);
        assert(end > b);
        ranges->needed[b] = ranges->needed[end] + 1;
    }
    return ranges->needed[0];
}

/* The least load that no range of `ps_count` needs to exceed. */
static uint64_t least_most(struct ranges *ranges, uint32_t ps_count)
{
    uint64_t low = 0, high = ranges->before[ROW_BUCKETS];
    for (uint32_t b = 0; b < ROW_BUCKETS; b++) {
        low = u64_max(low, ranges->before[b + 1] - ranges->before[b]);
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (count_needed(ranges, middle) <= ps_count) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The first bucket of ps `ps`, whose predecessor begins with bucket `first`. The ranges behind it
 * suffice for the rest, and each has a bucket. */
static uint32_t border(const struct ranges *ranges, uint32_t ps_count, uint32_t ps, uint32_t first)
{
    const uint64_t total = ranges->before[ROW_BUCKETS];
    const uint32_t left = ps_count - ps;
    const uint32_t highest = u32_min(end_of(ranges, first, ROW_BUCKETS), ROW_BUCKETS - left);
    uint32_t at = first + 1;
    while (at < highest &&
           (ranges->needed[at] > left || ranges->before[at] * ps_count < ps * total)) {
        at++;
    }
    assert(ranges->needed[at] <= left);
    return at;
}

static bool are_equal(const uint64_t loads[static ROW_BUCKETS])
{
    for (uint32_t b = 1; b < ROW_BUCKETS; b++) {
        if (loads[b] != loads[0]) { return false; }
    }
    return true;
}

static bool are_even(const struct row_borders *borders, uint32_t ps_count)
{
    static const struct row_borders even;
    for (uint32_t ps = 0; ps < ps_count; ps++) {
        const struct row_part part = row_part_of(borders, ps_count, ps);
        const struct row_part equal = row_part_of(&even, ps_count, ps);
        if (!row_part_equal(&part, &equal)) { return false; }
    }
    return true;
}

struct row_borders row_balance(const uint64_t loads[static ROW_BUCKETS], uint32_t ps_count)
{
    struct row_borders borders = {.count = 0};
    struct ranges ranges;
    uint32_t first = 0;
    assert(ps_count >= 1 && ps_count <= PS_MAX);
    if (are_equal(loads)) { return borders; }
    add_up(&ranges, loads);
    (void)count_needed(&ranges, least_most(&ranges, ps_count));
    for (uint32_t ps = 1; ps < ps_count; ps++) {
        first = border(&ranges, ps_count, ps, first);
        borders.buckets[borders.count++] = (uint16_t)first;
    }
    assert(row_borders_fault(&borders, ps_count) == NULL);
    return are_even(&borders, ps_count) ? (struct row_borders){.count = 0} : borders;
}

double row_imbalance(const uint64_t loads[static ROW_BUCKETS], const struct row_borders *borders,
                     uint32_t ps_count)
{
    uint64_t most = 0, total = 0;
    for (uint32_t ps = 0; ps < ps_count; ps++) {
        const struct row_part part = row_part_of(borders, ps_count, ps);
        uint64_t load = 0;
        for (uint32_t b = part.first; b < part.end; b++) { load += loads[b]; }
        most = u64_max(most, load);
        total += load;
    }
    return total > 0 ? (double)most * ps_count / (double)total : NAN;
}
