#include "worker/gradients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct buffer **slot(const struct gradients *gradients, uint32_t node, uint32_t ps)
{
    assert(node < SLICES_MAX);
    assert(ps < gradients->ps_count);
    return &gradients->buffers[(size_t)node * gradients->ps_count + ps];
}

bool gradients_open(struct gradients *gradients, struct buffer_pool *pool,
                    const struct placement *shards, uint32_t ps_count)
{
    assert(pool != NULL);
    assert(ps_count >= 1);
    *gradients = (struct gradients){.pool = pool, .shards = shards, .ps_count = ps_count};
    gradients->buffers = calloc((size_t)SLICES_MAX * ps_count, sizeof *gradients->buffers);
    return gradients->buffers != NULL;
}

void gradients_close(struct gradients *gradients)
{
    if (gradients->buffers != NULL) { gradients_clear(gradients); }
    free(gradients->buffers);
    gradients->buffers = NULL;
}

bool gradients_put(struct gradients *gradients, uint32_t node, const float *sum)
{
    assert(sum != NULL);
    for (uint32_t p = 0; p < gradients->ps_count; p++) {
        size_t bytes = gradients->shards[p].count * sizeof *sum;
        struct buffer *part = buffer_acquire(gradients->pool, bytes);
        if (part == NULL) { return false; }
        part->size = bytes;
        memcpy(part->data, sum + gradients->shards[p].first, bytes);
        buffer_release(*slot(gradients, node, p));
        *slot(gradients, node, p) = part;
    }
    return true;
}

struct buffer *gradients_get(const struct gradients *gradients, uint32_t node, uint32_t ps)
{
    struct buffer *part = *slot(gradients, node, ps);
    assert(part != NULL);
    return part;
}

void gradients_clear(struct gradients *gradients)
{
    assert(gradients->buffers != NULL);
    for (size_t i = 0; i < (size_t)SLICES_MAX * gradients->ps_count; i++) {
        buffer_release(gradients->buffers[i]);
        gradients->buffers[i] = NULL;
    }
}
