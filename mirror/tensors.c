#include "mirror/tensors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum tn_status tensors_open(struct tensors *tensors, const struct kernels *kernels,
                            struct buffer_pool *pool, uint32_t ranges, uint32_t slices,
                            uint64_t parameters, struct error *error)
{
    assert(ranges >= 1 && ranges <= RANGES_MAX);
    assert(slices >= 1 && slices <= SLICES_MAX);
    *tensors =
        (struct tensors){.kernels = kernels, .pool = pool, .ranges = ranges, .slices = slices};
    for (uint32_t r = 0; r < ranges; r++) {
        tensors->places[r] = placement_range(parameters, ranges, r);
    }
    gradients_open(&tensors->own, pool, tensors->places, parameters);
    tensors->pushes = calloc(ranges, sizeof *tensors->pushes);
    if (tensors->pushes != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for the gradients of a replica");
}

static void clear_sum(struct range_sum *sum)
{
    buffer_release(sum->body);
    *sum = (struct range_sum){.body = NULL};
}

static void clear_pushes(struct range_pushes *pushes)
{
    for (uint32_t v = 0; v < SLICES_MAX; v++) { clear_sum(&pushes->slots[v]); }
}

void tensors_clear(struct tensors *tensors)
{
    tensors_drop(tensors, STEP_NONE);
    gradients_clear(&tensors->own);
    for (uint32_t i = 0; i <= REPLICA_KEEP_MAX; i++) {
        for (uint32_t r = 0; r < tensors->ranges; r++) { clear_sum(&tensors->sums[i].ranges[r]); }
    }
}

void tensors_close(struct tensors *tensors)
{
    if (tensors->pushes == NULL) { return; }
    tensors_clear(tensors);
    gradients_close(&tensors->own);
    free(tensors->pushes);
    tensors->pushes = NULL;
}

/* ------------------------------------------------------------------- pushes */

void tensors_hold(struct tensors *tensors, uint32_t range, uint64_t step, struct slice_node node,
                  struct buffer *body, double loss)
{
    struct range_pushes *pushes = &tensors->pushes[range][step % 2];
    assert(range < tensors->ranges);
    assert(body->size == tensors->places[range].count * sizeof(float));
    if (pushes->step != step) { clear_pushes(pushes); }
    pushes->step = step;
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        clear_sum(&pushes->slots[v]);
    }
    pushes->slots[node.first] = (struct range_sum){.body = buffer_retain(body), .loss = loss};
}

void tensors_drop(struct tensors *tensors, uint64_t step)
{
    for (uint32_t r = 0; r < tensors->ranges; r++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct range_pushes *pushes = &tensors->pushes[r][i];
            if (step == STEP_NONE || pushes->step < step) { clear_pushes(pushes); }
        }
    }
}

/* --------------------------------------------------------------------- sums */

static struct range_sum *place_of_sum(struct tensors *tensors, uint32_t range, uint64_t step)
{
    const uint32_t slot = step % (REPLICA_KEEP_MAX + 1);
    assert(range < tensors->ranges);
    if (tensors->sums[slot].step != step) {
        for (uint32_t r = 0; r < tensors->ranges; r++) {
            clear_sum(&tensors->sums[slot].ranges[r]);
        }
    }
    tensors->sums[slot].step = step;
    return &tensors->sums[slot].ranges[range];
}

void tensors_take(struct tensors *tensors, uint32_t range, uint64_t step, struct buffer *body,
                  double loss)
{
    struct range_sum *sum = place_of_sum(tensors, range, step);
    assert(body->size == tensors->places[range].count * sizeof(float));
    clear_sum(sum);
    *sum = (struct range_sum){.body = buffer_retain(body), .loss = loss};
}

const struct range_sum *tensors_sum(const struct tensors *tensors, uint32_t range, uint64_t step)
{
    const uint32_t slot = step % (REPLICA_KEEP_MAX + 1);
    const struct range_sum *sum = &tensors->sums[slot].ranges[range];
    assert(range < tensors->ranges);
    assert(tensors->sums[slot].step == step && sum->body != NULL);
    return sum;
}

/* The term of a sum, with one reference. A gradient leaves the held ones. NULL: out of memory. */
static struct buffer *take_term(struct tensors *tensors, uint32_t range, uint64_t step,
                                const struct replica_part *part, double *loss)
{
    if (part->own != REPLICA_NOT_OWN) {
        *loss = tensors->own_losses[part->own];
        return gradients_part(&tensors->own, part->own, range, 0, tensors->places[range].count);
    }
    struct range_pushes *pushes = &tensors->pushes[range][step % 2];
    struct range_sum *held = &pushes->slots[part->first];
    struct buffer *body = held->body;
    assert(pushes->step == step && body != NULL);
    *loss = held->loss;
    *held = (struct range_sum){.body = NULL};
    return body;
}

/* The sum of two in the memory of one of them, with one reference more. NULL: other users have
 * references on both. */
static struct buffer *add_two(const struct tensors *tensors, struct buffer *left,
                              struct buffer *right)
{
    struct buffer *into = buffer_is_spare(right) ? right : buffer_is_spare(left) ? left : NULL;
    assert(left->size == right->size);
    if (into == NULL) { return NULL; }
    /* Two numbers have the same sum in either order. */
    const struct buffer *from = into == right ? left : right;
    tensors->kernels->add(into->size / sizeof(float), from->data, into->data);
    return buffer_retain(into);
}

/* Add up the bodies of `nodes` in their slots, which make up `root`, in the order of the tree; the
 * loss is in the slot of the root. NULL: out of memory. */
static struct buffer *add(const struct tensors *tensors, struct slice_node root,
                          struct buffer *const slots[], double losses[],
                          const struct slice_node *nodes, uint32_t count, size_t bytes)
{
    struct slice_sum sums[SLICES_MAX];
    struct sum_term terms[SLICES_MAX];
    bool begun[SLICES_MAX] = {false};
    const uint32_t sum_count = slices_plan(tensors->slices, root, nodes, count, sums);
    if (sum_count == 0) { return buffer_retain(slots[root.first]); }
    for (uint32_t i = 0; i < sum_count; i++) {
        const uint32_t left = sums[i].into, right = sums[i].from;
        terms[i].left = begun[left] ? NULL : slots[left]->data;
        terms[i].right = begun[right] ? NULL : slots[right]->data;
        begun[left] = true;
        losses[left] += losses[right];
    }
    struct buffer *out = NULL;
    if (sum_count == 1) { out = add_two(tensors, slots[sums[0].into], slots[sums[0].from]); }
    if (out != NULL) { return out; }
    out = buffer_acquire(tensors->pool, bytes);
    if (out == NULL) { return NULL; }
    out->size = bytes;
    tensors->kernels->sum_tree(0, bytes / sizeof(float), sum_count, terms, out->data);
    return out;
}

/* The sum of the parts, which make up `root`, with one reference. NULL: out of memory. */
static struct buffer *add_parts(struct tensors *tensors, uint32_t range, uint64_t step,
                                struct slice_node root, const struct replica_part *parts,
                                uint32_t count, double *loss)
{
    struct buffer *slots[SLICES_MAX] = {NULL};
    double losses[SLICES_MAX];
    struct slice_node nodes[SLICES_MAX];
    bool here = true;
    assert(count >= 1 && count <= tensors->slices);
    for (uint32_t i = 0; i < count; i++) {
        nodes[i] = (struct slice_node){parts[i].first, parts[i].count};
        slots[parts[i].first] = take_term(tensors, range, step, &parts[i], &losses[parts[i].first]);
        here = here && slots[parts[i].first] != NULL;
    }
    const size_t bytes = tensors->places[range].count * sizeof(float);
    struct buffer *out = here ? add(tensors, root, slots, losses, nodes, count, bytes) : NULL;
    for (uint32_t v = 0; v < tensors->slices; v++) { buffer_release(slots[v]); }
    if (out != NULL) { *loss = losses[root.first]; }
    return out;
}

bool tensors_reduce(struct tensors *tensors, uint32_t range, uint64_t step,
                    const struct replica_part *parts, uint32_t part_count)
{
    const struct slice_node root = {0, tensors->slices};
    double loss = 0;
    struct buffer *out = add_parts(tensors, range, step, root, parts, part_count, &loss);
    if (out == NULL) { return false; }
    tensors_take(tensors, range, step, out, loss);
    buffer_release(out);
    struct range_pushes *pushes = &tensors->pushes[range][step % 2];
    if (pushes->step == step) { clear_pushes(pushes); }
    return true;
}

/* ------------------------------------------------------------------- relays */

uint32_t tensors_join(struct tensors *tensors, uint32_t range, uint64_t step,
                      const struct replica_part *parts, uint32_t part_count,
                      struct slice_node out[static SLICES_MAX])
{
    struct slice_set set = {0};
    uint32_t first = 0;
    for (uint32_t i = 0; i < part_count; i++) {
        slice_set_add(&set, (struct slice_node){parts[i].first, parts[i].count});
    }
    const uint32_t count = slices_cover(tensors->slices, &set, out);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end = first;
        double loss = 0;
        while (end < part_count && parts[end].first < out[i].first + out[i].count) { end++; }
        struct buffer *sum =
            add_parts(tensors, range, step, out[i], &parts[first], end - first, &loss);
        if (sum == NULL) { return 0; }
        tensors_hold(tensors, range, step, out[i], sum, loss);
        buffer_release(sum);
        first = end;
    }
    return count;
}

const struct range_sum *tensors_held(const struct tensors *tensors, uint32_t range, uint64_t step,
                                     struct slice_node node)
{
    const struct range_pushes *pushes = &tensors->pushes[range][step % 2];
    assert(range < tensors->ranges && pushes->step == step);
    assert(pushes->slots[node.first].body != NULL);
    return &pushes->slots[node.first];
}

void tensors_applied(struct tensors *tensors, uint64_t step, uint64_t keep_from)
{
    for (uint32_t r = 0; r < tensors->ranges; r++) {
        struct range_pushes *pushes = &tensors->pushes[r][step % 2];
        if (pushes->step <= step) { clear_pushes(pushes); }
    }
    for (uint32_t i = 0; i <= REPLICA_KEEP_MAX; i++) {
        if (tensors->sums[i].step >= keep_from) { continue; }
        for (uint32_t r = 0; r < tensors->ranges; r++) { clear_sum(&tensors->sums[i].ranges[r]); }
    }
}
