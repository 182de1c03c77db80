/* Gradients, sums and updates as hashes, and the undisturbed run. */
#include <assert.h>
#include <string.h>

#include "tests/sim/replicas/scene.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return mix(a * 3 + (b << 7 | b >> 57));
}

static uint64_t slice_gradient(const struct scene *s, const struct value *values, uint64_t step,
                               uint32_t slice, uint32_t range)
{
    uint64_t hash = mix(s->job ^ mix(step * SCENE_SLICES + slice) ^ (uint64_t)range << 20);
    for (uint32_t i = 0; i < s->ranges; i++) { hash = mix(hash ^ values[i].parameter); }
    return hash;
}

uint64_t scene_gradient(const struct scene *s, const struct value *values, uint64_t step,
                        struct slice_node node, uint32_t range)
{
    uint64_t slots[SCENE_SLICES] = {0};
    struct slice_node ones[SCENE_SLICES];
    struct slice_sum plan[SLICES_MAX];
    assert(slices_is_node(s->slices, node.first, node.count));
    for (uint32_t i = 0; i < node.count; i++) {
        ones[i] = (struct slice_node){node.first + i, 1};
        slots[node.first + i] = slice_gradient(s, values, step, node.first + i, range);
    }
    const uint32_t count = slices_plan(s->slices, node, ones, node.count, plan);
    for (uint32_t i = 0; i < count; i++) {
        slots[plan[i].into] = add(slots[plan[i].into], slots[plan[i].from]);
    }
    return slots[node.first];
}

uint64_t scene_add(const struct scene *s, struct slice_node root, const struct replica_part *parts,
                   uint32_t count, const uint64_t slots[static SCENE_SLICES])
{
    uint64_t sums[SCENE_SLICES];
    struct slice_node nodes[SCENE_SLICES];
    struct slice_sum plan[SLICES_MAX];
    assert(count >= 1 && count <= s->slices);
    memcpy(sums, slots, sizeof sums);
    for (uint32_t i = 0; i < count; i++) {
        nodes[i] = (struct slice_node){parts[i].first, parts[i].count};
    }
    const uint32_t sum_count = slices_plan(s->slices, root, nodes, count, plan);
    for (uint32_t i = 0; i < sum_count; i++) {
        sums[plan[i].into] = add(sums[plan[i].into], sums[plan[i].from]);
    }
    return sums[root.first];
}

struct value scene_apply(struct value value, uint64_t sum, uint64_t step)
{
    struct value next = {.moment = mix(value.moment * 5 + sum)};
    next.parameter = mix(value.parameter ^ next.moment ^ step << 40);
    return next;
}

uint64_t scene_digest(const struct scene *s, const struct value *values)
{
    uint64_t hash = s->job;
    assert(s->ranges <= SCENE_RANGES);
    for (uint32_t i = 0; i < s->ranges; i++) { hash = mix(hash ^ values[i].parameter); }
    return hash;
}

void scene_make_reference(struct scene *s)
{
    const struct slice_node root = {0, s->slices};
    assert(s->ranges <= SCENE_RANGES);
    for (uint32_t i = 0; i < s->ranges; i++) {
        s->reference[0][i] = (struct value){.parameter = mix(s->job + i)};
    }
    for (uint32_t step = 0; step < SCENE_STEPS; step++) {
        const struct value *from = s->reference[step];
        for (uint32_t i = 0; i < s->ranges; i++) {
            s->reference_sum[step][i] = scene_gradient(s, from, step, root, i);
            s->reference[step + 1][i] = scene_apply(from[i], s->reference_sum[step][i], step);
        }
    }
}
