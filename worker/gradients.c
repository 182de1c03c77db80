#include "worker/gradients.h"

#include <assert.h>

void gradients_open(struct gradients *gradients, struct buffer_pool *pool,
                    const struct placement *shards, uint64_t parameters)
{
    assert(pool != NULL);
    *gradients = (struct gradients){
        .pool = pool, .shards = shards, .parameters = parameters, .shared_node = SLICES_MAX};
}

float *gradients_begin(struct gradients *gradients, uint32_t node)
{
    assert(node < SLICES_MAX);
    struct buffer **buffer = &gradients->buffers[node];
    /* First, so that their memory is used again. */
    buffer_release(*buffer);
    buffer_release(gradients->last);
    gradients->last = NULL;
    if (gradients->shared_node == node) { gradients->shared_node = SLICES_MAX; }
    *buffer = gradient_array_begin(&gradients->shared);
    if (*buffer != NULL) {
        gradients->shared_node = node;
    } else {
        *buffer = buffer_acquire(gradients->pool, gradients->parameters * sizeof(float));
    }
    if (*buffer == NULL) { return NULL; }
    gradients->last = buffer_retain(*buffer);
    return (*buffer)->data;
}

struct buffer *gradients_part(struct gradients *gradients, uint32_t node, uint32_t ps,
                              uint64_t first, uint64_t end)
{
    assert(node < SLICES_MAX && gradients->buffers[node] != NULL);
    const struct placement *shard = &gradients->shards[ps];
    assert(first <= end && end <= shard->count);
    if (gradients->shared_node == node && end - first == shard->count) {
        return gradient_array_range(&gradients->shared, ps);
    }
    return buffer_part(gradients->buffers[node], (shard->first + first) * sizeof(float),
                       (end - first) * sizeof(float));
}

void gradients_clear(struct gradients *gradients)
{
    for (uint32_t i = 0; i < SLICES_MAX; i++) {
        buffer_release(gradients->buffers[i]);
        gradients->buffers[i] = NULL;
    }
    gradients->shared_node = SLICES_MAX;
}

void gradients_close(struct gradients *gradients)
{
    gradients_clear(gradients);
    buffer_release(gradients->last);
    gradients->last = NULL;
    gradient_array_close(&gradients->shared);
}
