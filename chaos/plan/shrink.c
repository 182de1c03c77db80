/*
 * shrink_result() does these transitions:
 *
 *   SHRINK_NONE   -- fails --> DONE, nothing is kept
 *                 -- passes -> PARTS of two
 *   SHRINK_PARTS  -- fails --> that part is kept; PARTS of two
 *                 -- all pass --> RESTS; with two parts the rests are the parts, so go_finer()
 *   SHRINK_RESTS  -- fails --> that rest is kept; RESTS with one part less
 *                 -- all pass --> go_finer()
 *   go_finer()    PARTS of twice as many; DONE if the parts were single faults
 */
#include "chaos/plan/shrink.h"

#include <assert.h>

#include "common/base/minmax.h"

void shrink_init(struct shrink *shrink, uint32_t count)
{
    assert(count <= INJECTIONS_MAX);
    shrink->phase = count > 0 ? SHRINK_NONE : SHRINK_DONE;
    shrink->count = shrink->kept_count = count;
    shrink->parts = shrink->part = shrink->tries = 0;
    for (uint32_t i = 0; i < count; i++) { shrink->kept[i] = i; }
}

/* The index in `kept` where a part begins; of the part after the last, where `kept` ends. */
static uint32_t part_begin(const struct shrink *shrink, uint32_t part)
{
    assert(shrink->parts > 0 && part <= shrink->parts);
    return (uint32_t)((uint64_t)shrink->kept_count * part / shrink->parts);
}

/* Whether the next try includes the `i`-th of `kept`. */
static bool is_tried(const struct shrink *shrink, uint32_t i)
{
    if (shrink->phase == SHRINK_NONE) { return false; }
    if (shrink->phase == SHRINK_DONE) { return true; }
    bool within = i >= part_begin(shrink, shrink->part) && i < part_begin(shrink, shrink->part + 1);
    return within == (shrink->phase == SHRINK_PARTS);
}

bool shrink_next(const struct shrink *shrink, bool *subset)
{
    assert(shrink->kept_count <= shrink->count);
    for (uint32_t i = 0; i < shrink->count; i++) { subset[i] = false; }
    for (uint32_t i = 0; i < shrink->kept_count; i++) {
        subset[shrink->kept[i]] = is_tried(shrink, i);
    }
    return shrink->phase != SHRINK_DONE;
}

static void begin(struct shrink *shrink, enum shrink_phase phase, uint32_t parts)
{
    shrink->phase = shrink->kept_count > 1 ? phase : SHRINK_DONE;
    shrink->parts = parts;
    shrink->part = 0;
}

/* The tried faults fail by themselves: drop all others. */
static void keep_tried(struct shrink *shrink)
{
    uint32_t count = 0;
    assert(shrink->phase == SHRINK_PARTS || shrink->phase == SHRINK_RESTS);
    for (uint32_t i = 0; i < shrink->kept_count; i++) {
        if (is_tried(shrink, i)) { shrink->kept[count++] = shrink->kept[i]; }
    }
    bool was_part = shrink->phase == SHRINK_PARTS;
    shrink->kept_count = count;
    if (was_part || shrink->parts <= 3) {
        begin(shrink, SHRINK_PARTS, 2);
    } else {
        begin(shrink, SHRINK_RESTS, shrink->parts - 1);
    }
}

static void go_finer(struct shrink *shrink)
{
    if (shrink->parts >= shrink->kept_count) {
        shrink->phase = SHRINK_DONE;
    } else {
        begin(shrink, SHRINK_PARTS, u32_min(shrink->parts * 2, shrink->kept_count));
    }
}

void shrink_result(struct shrink *shrink, bool failed)
{
    assert(shrink->phase != SHRINK_DONE);
    shrink->tries++;
    if (shrink->phase == SHRINK_NONE) {
        if (failed) { shrink->kept_count = 0; }
        begin(shrink, SHRINK_PARTS, 2);
    } else if (failed) {
        keep_tried(shrink);
    } else if (++shrink->part < shrink->parts) {
        return;
    } else if (shrink->phase == SHRINK_PARTS && shrink->parts > 2) {
        begin(shrink, SHRINK_RESTS, shrink->parts);
    } else {
        go_finer(shrink);
    }
}
