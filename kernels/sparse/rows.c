#include "kernels/sparse/rows.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/short_copy.h"

/* A pass over digits costs as much as some hundred comparisons, however few keys there are. */
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64, FEW_KEYS = 32 };
/* Up to this number of keys, a pass over shorter digits is faster, and still divides them well. */
enum { SHORT_KEYS = 128, SHORT_BITS = 6 };
enum { MOVES = 8 }; /* For each key: with more, a sort by digits is faster. */

/* A stable sort by insertion. False: it would take more than `most` moves; the order is another
 * one, in which equal keys still have their order. */
static bool sort_near(uint64_t count, struct sparse_place *places, uint64_t most)
{
    for (uint64_t i = 1; i < count; i++) {
        const struct sparse_place place = places[i];
        uint64_t at = i;
        for (; at > 0 && places[at - 1].key > place.key; at--) { places[at] = places[at - 1]; }
        places[at] = place;
        if (i - at > most) { return false; }
        most -= i - at;
    }
    return true;
}

/* The bits in which some keys differ. */
static uint64_t differing_bits(uint64_t count, const struct sparse_place *places)
{
    uint64_t bits = 0;
    for (uint64_t i = 1; i < count; i++) { bits |= places[i].key ^ places[0].key; }
    return bits;
}

/* One pass of a stable sort, by the `bits` bits from `shift` on. */
static void sort_by_digit(uint32_t shift, uint32_t bits, uint64_t count,
                          const struct sparse_place *from, struct sparse_place *to)
{
    const uint64_t digits = UINT64_C(1) << bits;
    uint64_t starts[DIGITS], at = 0;
    memset(starts, 0, digits * sizeof *starts);
    for (uint64_t i = 0; i < count; i++) { starts[from[i].key >> shift & (digits - 1)]++; }
    for (uint64_t d = 0; d < digits; d++) {
        const uint64_t size = starts[d];
        starts[d] = at;
        at += size;
    }
    for (uint64_t i = 0; i < count; i++) {
        to[starts[from[i].key >> shift & (digits - 1)]++] = from[i];
    }
}

/* Both arrays of a sort. */
struct arrays {
    struct sparse_place *sorted, *room;
};

/* By digits of `bits` bits, from the bit `shift` to the highest one in which keys differ. */
static void sort_by_digits(uint32_t shift, uint32_t bits, uint64_t differing, uint64_t count,
                           struct arrays *arrays)
{
    for (; shift < KEY_BITS && differing >> shift != 0; shift += bits) {
        if ((differing >> shift & ((UINT64_C(1) << bits) - 1)) == 0) { continue; }
        sort_by_digit(shift, bits, count, arrays->sorted, arrays->room);
        struct sparse_place *sorted = arrays->room;
        arrays->room = arrays->sorted;
        arrays->sorted = sorted;
    }
}

/* Enough digits that few of `count` evenly distributed keys have the same ones. */
static uint32_t digits_of(uint64_t count)
{
    uint32_t digits = 1;
    while (digits < 3 && count >> digits * DIGIT_BITS > 1) { digits++; }
    return digits;
}

struct sparse_place *sparse_sort(uint64_t count, struct sparse_place *places,
                                 struct sparse_place *room)
{
    struct arrays arrays = {.sorted = places, .room = room};
    if (count <= FEW_KEYS) {
        (void)sort_near(count, places, UINT64_MAX);
        return places;
    }
    /* The first digits of hashed keys bring them so near to their places that few moves remain. */
    const uint64_t differing = differing_bits(count, places);
    const uint32_t bits = differing == 0 ? 0 : KEY_BITS - (uint32_t)__builtin_clzll(differing);
    const uint32_t width = count <= SHORT_KEYS ? SHORT_BITS : DIGIT_BITS;
    const uint32_t digits = digits_of(count);
    if (bits > (digits + 1) * DIGIT_BITS) {
        sort_by_digits(bits - digits * width, width, differing, count, &arrays);
        if (sort_near(count, arrays.sorted, count * MOVES)) { return arrays.sorted; }
    }
    sort_by_digits(0, DIGIT_BITS, differing, count, &arrays);
    return arrays.sorted;
}

uint64_t sparse_sum(const struct sparse_place *sorted, uint64_t count, const float *gradients,
                    uint32_t width, uint64_t *out_keys, float *out)
{
    uint64_t sums = 0;
    assert(width > 0);
    for (uint64_t i = 0; i < count; i++) {
        const float *row = gradients + (uint64_t)sorted[i].position * width;
        if (i > 0 && sorted[i].key == sorted[i - 1].key) {
            sparse_add_row(width, row, out + (sums - 1) * width);
            continue;
        }
        out_keys[sums] = sorted[i].key;
        short_copy(out + sums * width, row, width * sizeof *out);
        sums++;
    }
    return sums;
}

/* Copy rows that are added to none. */
static void copy_rows(struct sparse_rows rows, uint64_t first, uint32_t width, uint64_t *out_keys,
                      float *out)
{
    const uint64_t count = rows.count - first;
    if (count == 0) { return; }
    memcpy(out_keys, rows.keys + first, count * sizeof *out_keys);
    memcpy(out, rows.values + first * width, count * width * sizeof *out);
}

uint64_t sparse_merge(struct sparse_rows left, struct sparse_rows right, uint32_t width,
                      uint64_t *out_keys, float *out)
{
    uint64_t sums = 0, l = 0, r = 0;
    assert(width > 0);
    while (l < left.count && r < right.count) {
        const uint64_t left_key = left.keys[l], right_key = right.keys[r];
        const bool has_left = left_key <= right_key, has_right = right_key <= left_key;
        /* No branch on which one is first: it could not be predicted. */
        const float *const rows[] = {right.values + r * width, left.values + l * width};
        float *sum = out + sums * width;
        out_keys[sums] = has_left ? left_key : right_key;
        short_copy(sum, rows[has_left], width * sizeof *sum);
        if (left_key == right_key) { sparse_add_row(width, rows[0], sum); }
        l += has_left;
        r += has_right;
        sums++;
    }
    copy_rows(left, l, width, out_keys + sums, out + sums * width);
    sums += left.count - l;
    copy_rows(right, r, width, out_keys + sums, out + sums * width);
    return sums + right.count - r;
}
