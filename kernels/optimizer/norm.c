#include "kernels/optimizer/norm.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "common/base/minmax.h"

struct norm_part norm_begin(uint64_t first)
{
    assert(first % NORM_LEAF == 0);
    return (struct norm_part){.first = first / NORM_LEAF, .end = first / NORM_LEAF};
}

static bool are_siblings(const struct norm_node *left, const struct norm_node *right)
{
    return left->level == right->level && left->index % 2 == 0 && left->index + 1 == right->index;
}

/* Append a node, and replace siblings at the end by their parents. */
static void push(struct norm_part *part, struct norm_node node)
{
    while (part->count > 0 && are_siblings(&part->nodes[part->count - 1], &node)) {
        const struct norm_node *left = &part->nodes[--part->count];
        node = (struct norm_node){
            .index = node.index / 2,
            .level = node.level + 1,
            .sum = left->sum + node.sum,
        };
    }
    assert(part->count < NORM_NODES_MAX);
    part->nodes[part->count++] = node;
}

static double sum_squares(uint64_t count, const float *elements)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) { sum += (double)elements[i] * (double)elements[i]; }
    return sum;
}

void norm_add(struct norm_part *part, uint64_t count, const float *elements)
{
    for (uint64_t at = 0; at < count; at += NORM_LEAF) {
        double sum = sum_squares(u64_min(count - at, NORM_LEAF), elements + at);
        push(part, (struct norm_node){.index = part->end++, .sum = sum});
    }
}

struct norm_part norm_nodes(uint64_t first, uint64_t count)
{
    assert(count > 0);
    struct norm_part part = norm_begin(first);
    const uint64_t end = part.first + (count + NORM_LEAF - 1) / NORM_LEAF;
    while (part.end < end) {
        uint32_t level = 0;
        while (part.end % (2ULL << level) == 0 && part.end + (2ULL << level) <= end) { level++; }
        assert(part.count < NORM_NODES_MAX);
        part.nodes[part.count++] = (struct norm_node){part.end >> level, level, 0};
        part.end += 1ULL << level;
    }
    return part;
}

void norm_append(struct norm_part *part, const struct norm_part *next)
{
    assert(part->end == next->first);
    for (uint32_t i = 0; i < next->count; i++) { push(part, next->nodes[i]); }
    part->end = next->end;
}

double norm_of(const struct norm_part *part)
{
    double sum = 0;
    for (uint32_t i = part->count; i > 0; i--) { sum += part->nodes[i - 1].sum; }
    return sqrt(sum);
}
