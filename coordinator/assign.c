#include "coordinator/assign.h"

#include <assert.h>

static void clear(struct assignment *out, uint32_t slices)
{
    assert(slices <= SLICES_MAX);
    out->slice_count = slices;
    for (uint32_t v = 0; v < SLICES_MAX; v++) { out->worker[v] = UINT16_MAX; }
}

/* Contiguous parts, one for each of the `count` workers that are ready. */
static void distribute(struct assignment *out, const bool *ready, uint32_t count)
{
    assert(count > 0);
    uint32_t v = 0, part = 0;
    for (uint16_t w = 0; w < WORKERS_MAX; w++) {
        if (!ready[w]) { continue; }
        part++;
        for (; v < out->slice_count * part / count; v++) { out->worker[v] = w; }
    }
    assert(part == count && v == out->slice_count);
}

/* The slices of workers that are not ready go to the ready ones that own the fewest. */
static void reassign(struct assignment *out, const bool *ready, uint32_t *owns)
{
    assert(out->slice_count <= SLICES_MAX);
    for (uint32_t v = 0; v < out->slice_count; v++) {
        if (out->worker[v] != UINT16_MAX && ready[out->worker[v]]) { continue; }
        uint16_t least = UINT16_MAX;
        for (uint16_t w = 0; w < WORKERS_MAX; w++) {
            if (ready[w] && (least == UINT16_MAX || owns[w] < owns[least])) { least = w; }
        }
        assert(least != UINT16_MAX);
        out->worker[v] = least;
        owns[least]++;
    }
}

void assign_slices(const struct assignment *before, uint32_t slices,
                   const bool ready[static WORKERS_MAX], struct assignment *out)
{
    assert(slices > 0 && slices <= SLICES_MAX);
    uint32_t owns[WORKERS_MAX] = {0}, count = 0;
    bool fresh = before->slice_count != slices;
    *out = *before;
    if (fresh) { clear(out, slices); }
    for (uint32_t v = 0; v < slices; v++) {
        assert(out->worker[v] == UINT16_MAX || out->worker[v] < WORKERS_MAX);
        if (out->worker[v] != UINT16_MAX) { owns[out->worker[v]]++; }
    }
    for (uint16_t w = 0; w < WORKERS_MAX; w++) {
        count += ready[w];
        fresh = fresh || (ready[w] && owns[w] == 0);
    }
    if (count == 0) { return; }
    /* With more workers than slices some worker never owns any: that is not a reason to move them.
     */
    if (fresh && count > slices && before->slice_count == slices) { fresh = false; }
    if (fresh) {
        distribute(out, ready, count);
    } else {
        reassign(out, ready, owns);
    }
}

bool assign_equal(const struct assignment *a, const struct assignment *b)
{
    assert(a->slice_count <= SLICES_MAX && b->slice_count <= SLICES_MAX);
    if (a->generation != b->generation || a->slice_count != b->slice_count) { return false; }
    for (uint32_t v = 0; v < a->slice_count; v++) {
        if (a->worker[v] != b->worker[v]) { return false; }
    }
    return true;
}
