#include "ps/norms.h"

#include <assert.h>
#include <string.h>

#include "common/cluster/placement.h"

static_assert(sizeof(double) * NORM_NODES_MAX == NORM_PART_BYTES_MAX, "a node is a double");

void norms_init(struct norms *norms, struct buffer_pool *pool, uint64_t parameters, uint32_t ps,
                uint32_t index)
{
    assert(pool != NULL);
    assert(ps >= 1 && ps <= PS_MAX && ps <= placement_ps_max(parameters));
    assert(index < ps);
    *norms = (struct norms){.pool = pool, .parameters = parameters, .ps = ps, .index = index};
    for (uint32_t p = 0; p < ps; p++) {
        struct placement place = placement_range(parameters, ps, p);
        norms->parts[p] = norm_nodes(place.first, place.count);
    }
}

void norms_close(struct norms *norms)
{
    norms_forget(norms);
}

size_t norms_part_bytes(const struct norms *norms, uint32_t ps)
{
    assert(ps < norms->ps);
    return norms->parts[ps].count * sizeof norms->parts[ps].nodes[0].sum;
}

const char *norms_fault(const struct norms *norms, uint32_t ps, size_t bytes)
{
    if (ps >= norms->ps) { return "its ps is not one of the job"; }
    if (ps == norms->index) { return "its ps is the receiver"; }
    return bytes == norms_part_bytes(norms, ps) ? NULL : "its size is not that of the ps's part";
}

void norms_hold(struct norms *norms, uint32_t ps, const void *bytes)
{
    assert(ps < norms->ps);
    const unsigned char *from = bytes;
    struct norm_part *part = &norms->parts[ps];
    for (uint32_t i = 0; i < part->count; i++, from += sizeof part->nodes[i].sum) {
        memcpy(&part->nodes[i].sum, from, sizeof part->nodes[i].sum);
    }
}

bool norms_measured(struct norms *norms, const struct norm_part *part)
{
    struct norm_part *own = &norms->parts[norms->index];
    assert(part->first == own->first && part->end == own->end && part->count == own->count);
    *own = *part;
    size_t bytes = norms_part_bytes(norms, norms->index);
    buffer_release(norms->present);
    norms->present = buffer_acquire(norms->pool, bytes);
    if (norms->present == NULL) { return false; }
    norms->present->size = bytes;
    unsigned char *to = norms->present->data;
    for (uint32_t i = 0; i < own->count; i++, to += sizeof own->nodes[i].sum) {
        memcpy(to, &own->nodes[i].sum, sizeof own->nodes[i].sum);
    }
    return true;
}

double norms_finish(struct norms *norms)
{
    assert(norms->present != NULL);
    struct norm_part whole = norm_begin(0);
    for (uint32_t p = 0; p < norms->ps; p++) { norm_append(&whole, &norms->parts[p]); }
    buffer_release(norms->previous);
    norms->previous = norms->present;
    norms->present = NULL;
    return norm_of(&whole);
}

void norms_forget(struct norms *norms)
{
    buffer_release(norms->present);
    buffer_release(norms->previous);
    norms->present = norms->previous = NULL;
}
