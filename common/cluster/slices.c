#include "common/cluster/slices.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/base/minmax.h"

enum { WORD_BITS = 64 };

static bool node_fits(struct slice_node node)
{
    return node.count > 0 && node.count <= SLICES_MAX && node.first <= SLICES_MAX - node.count;
}

static uint32_t last_word(struct slice_node node)
{
    return (node.first + node.count - 1) / WORD_BITS;
}

/* The bits of the node's slices in `words[word]`, which has some. */
static uint64_t bits_of(struct slice_node node, uint32_t word)
{
    const uint32_t first = u32_max(node.first, word * WORD_BITS);
    const uint32_t end = u32_min(node.first + node.count, (word + 1) * WORD_BITS);
    return UINT64_MAX >> (WORD_BITS - (end - first)) << first % WORD_BITS;
}

void slice_set_add(struct slice_set *set, struct slice_node node)
{
    assert(node_fits(node));
    for (uint32_t w = node.first / WORD_BITS; w <= last_word(node); w++) {
        set->words[w] |= bits_of(node, w);
    }
}

void slice_set_remove(struct slice_set *set, struct slice_node node)
{
    assert(node_fits(node));
    for (uint32_t w = node.first / WORD_BITS; w <= last_word(node); w++) {
        set->words[w] &= ~bits_of(node, w);
    }
}

bool slice_set_has_all(const struct slice_set *set, struct slice_node node)
{
    assert(node_fits(node));
    for (uint32_t w = node.first / WORD_BITS; w <= last_word(node); w++) {
        if ((bits_of(node, w) & ~set->words[w]) != 0) { return false; }
    }
    return true;
}

bool slice_set_is_within(const struct slice_set *set, const struct slice_set *other)
{
    for (uint32_t w = 0; w < SLICES_WORDS; w++) {
        if ((set->words[w] & ~other->words[w]) != 0) { return false; }
    }
    return true;
}

bool slice_set_has_any(const struct slice_set *set, struct slice_node node)
{
    assert(node_fits(node));
    for (uint32_t w = node.first / WORD_BITS; w <= last_word(node); w++) {
        if ((bits_of(node, w) & set->words[w]) != 0) { return true; }
    }
    return false;
}

uint32_t slice_set_count(const struct slice_set *set)
{
    uint32_t count = 0;
    for (uint32_t word = 0; word < SLICES_WORDS; word++) {
        for (uint64_t rest = set->words[word]; rest != 0; rest &= rest - 1) { count++; }
    }
    return count;
}

/* The least power of two that is not below `count`. */
static uint32_t power_from(uint32_t count)
{
    assert(count >= 1 && count <= SLICES_MAX);
    return count == 1 ? 1 : UINT32_C(1) << (32 - __builtin_clz(count - 1));
}

void slices_children(struct slice_node node, struct slice_node *left, struct slice_node *right)
{
    assert(node_fits(node));
    assert(node.count >= 2);
    const uint32_t half = power_from(node.count) / 2;
    *left = (struct slice_node){node.first, half};
    *right = (struct slice_node){node.first + half, node.count - half};
}

bool slices_is_node(uint32_t slices, uint32_t first, uint32_t count)
{
    if (slices == 0 || slices > SLICES_MAX) { return false; }
    if (!node_fits((struct slice_node){first, count}) || first + count > slices) { return false; }
    /* Every split is at a multiple of a power of two that is at least half of what it splits. So
     * a node begins at a multiple of the power of two from its size on, and each such range is a
     * node if it is of this size, or as long as the slices reach. */
    const uint32_t power = power_from(count);
    return first % power == 0 && (count == power || first + count == slices);
}

/* Size of the stack of a depth-first walk: each level adds at most one right half. */
enum { DEPTH_MAX = 16 };

uint32_t slices_cover(uint32_t slices, const struct slice_set *owned,
                      struct slice_node out[static SLICES_MAX])
{
    assert(slices > 0);
    assert(slices <= SLICES_MAX);
    struct slice_node stack[DEPTH_MAX] = {{0, slices}};
    uint32_t depth = 1, count = 0;
    while (depth > 0) {
        struct slice_node at = stack[--depth];
        if (slice_set_has_all(owned, at)) {
            out[count++] = at;
        } else if (slice_set_has_any(owned, at)) {
            assert(depth + 2 <= DEPTH_MAX);
            struct slice_node left, right;
            slices_children(at, &left, &right);
            stack[depth++] = right;
            stack[depth++] = left;
        }
    }
    return count;
}

static bool is_part(const struct slice_node *part_at, struct slice_node node)
{
    return part_at[node.first].count == node.count;
}

uint32_t slices_plan(uint32_t slices, struct slice_node node, const struct slice_node *parts,
                     uint32_t part_count, struct slice_sum out[static SLICES_MAX])
{
    assert(slices_is_node(slices, node.first, node.count));
    assert(part_count > 0);
    assert(part_count <= node.count);
    struct slice_node part_at[SLICES_MAX];
    memset(part_at, 0, sizeof part_at);
    for (uint32_t i = 0; i < part_count; i++) {
        assert(slices_is_node(slices, parts[i].first, parts[i].count));
        part_at[parts[i].first] = parts[i];
    }
    /* Each node is visited twice: on the way down, and again when both halves have their values. */
    struct {
        struct slice_node node;
        bool halves_done;
    } stack[2 * DEPTH_MAX] = {{node, false}};
    uint32_t depth = 1, count = 0;
    while (depth > 0) {
        struct slice_node at = stack[--depth].node;
        if (is_part(part_at, at)) { continue; }
        assert(at.count >= 2); /* Otherwise a slice is in no part. */
        struct slice_node left, right;
        slices_children(at, &left, &right);
        if (stack[depth].halves_done) {
            out[count++] = (struct slice_sum){left.first, right.first};
            continue;
        }
        assert(depth + 3 <= 2 * DEPTH_MAX);
        stack[depth++].halves_done = true; /* `at` stays on the stack. */
        stack[depth].node = right;
        stack[depth++].halves_done = false;
        stack[depth].node = left;
        stack[depth++].halves_done = false;
    }
    assert(count == part_count - 1); /* Otherwise parts overlap or lie outside. */
    return count;
}

struct slice_range slices_positions(uint32_t slices, uint32_t batch, uint32_t slice)
{
    assert(slices > 0);
    assert(slice < slices);
    uint64_t first = (uint64_t)slice * batch / slices;
    uint64_t end = ((uint64_t)slice + 1) * batch / slices;
    return (struct slice_range){(uint32_t)first, (uint32_t)(end - first)};
}

struct slice_node slices_join(const struct slice_node *parts, uint32_t part_count)
{
    assert(part_count >= 1);
    struct slice_node node = parts[0];
    for (uint32_t i = 1; i < part_count; i++) {
        uint32_t end = u32_max(node.first + node.count, parts[i].first + parts[i].count);
        node.first = u32_min(node.first, parts[i].first);
        node.count = end - node.first;
    }
    return node;
}
