#include "ps/norms.h"

#include <assert.h>
#include <string.h>

#include "common/cluster/placement.h"

static_assert(sizeof(double) == 8, "NORM_PART_BYTES_MAX");

void norms_init(struct norms *norms, struct buffer_pool *pool, const struct optimizer *optimizer,
                uint32_t ps, uint32_t index)
{
    const uint64_t parameters = optimizer->variables->parameter_count;
    assert(pool != NULL);
    assert(ps >= 1 && ps <= PS_MAX && ps <= placement_ps_max(parameters));
    assert(index < ps);
    *norms = (struct norms){.pool = pool, .ps = ps, .index = index};
    for (uint32_t p = 0; p < ps; p++) {
        struct placement place = placement_range(parameters, ps, p);
        measurement_shape(&norms->parts[p], optimizer, place.first, place.count);
    }
}

void norms_close(struct norms *norms)
{
    norms_forget(norms);
}

size_t norms_part_bytes(const struct norms *norms, uint32_t ps)
{
    assert(ps < norms->ps);
    const struct measurement *m = &norms->parts[ps];
    size_t nodes = m->whole.count;
    for (uint32_t i = 0; i < m->split_count; i++) {
        nodes += m->split[i].values.count + m->split[i].gradient.count;
    }
    return nodes * sizeof(double);
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
    struct norm_part *parts[MEASUREMENT_PARTS_MAX];
    const uint32_t count = measurement_parts(&norms->parts[ps], parts);
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < parts[k]->count; i++, from += sizeof(double)) {
            memcpy(&parts[k]->nodes[i].sum, from, sizeof(double));
        }
    }
}

bool norms_measured(struct norms *norms, const struct measurement *part)
{
    struct measurement *own = &norms->parts[norms->index];
    assert(part->first == own->first && part->end == own->end);
    assert(part->split_count == own->split_count);
    *own = *part;
    buffer_release(norms->present);
    norms->present = buffer_acquire(norms->pool, NORM_PART_BYTES_MAX);
    if (norms->present == NULL) { return false; }
    norms->present->size = norms_part_bytes(norms, norms->index);
    unsigned char *to = norms->present->data;
    struct norm_part *parts[MEASUREMENT_PARTS_MAX];
    const uint32_t count = measurement_parts(own, parts);
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < parts[k]->count; i++, to += sizeof(double)) {
            memcpy(to, &parts[k]->nodes[i].sum, sizeof(double));
        }
    }
    return true;
}

void norms_finish(struct norms *norms, struct optimizer *optimizer)
{
    assert(norms->present != NULL);
    measurement_join(norms->parts, norms->ps, optimizer);
    buffer_release(norms->previous);
    norms->previous = norms->present;
    norms->present = NULL;
}

void norms_forget(struct norms *norms)
{
    buffer_release(norms->present);
    buffer_release(norms->previous);
    norms->present = norms->previous = NULL;
}
