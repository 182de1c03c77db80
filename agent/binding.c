#include "agent/binding.h"

#include <assert.h>

int binding_of(const struct binding_nodes *nodes, uint32_t processors, enum role role,
               uint32_t position)
{
    assert(processors >= 1);
    if (role != ROLE_WORKER && role != ROLE_PS) { return BINDING_NONE; }
    assert(position < (role == ROLE_WORKER ? nodes->workers : nodes->ps));
    assert(nodes->threads >= 1);
    if (nodes->workers * nodes->threads + nodes->ps <= processors) { return BINDING_NONE; }
    if (processors % nodes->threads != 0) { return BINDING_NONE; }
    const uint32_t sets = processors / nodes->threads;
    if (nodes->workers == 0 || nodes->workers % sets != 0) { return BINDING_NONE; }
    return (int)(role == ROLE_WORKER ? position % sets * nodes->threads : position % processors);
}

bool binding_is_uneven(const uint32_t *nodes, uint32_t processors)
{
    assert(nodes != NULL);
    bool has_none = false, has_several = false;
    for (uint32_t i = 0; i < processors; i++) {
        has_none = has_none || nodes[i] == 0;
        has_several = has_several || nodes[i] > 1;
    }
    return has_none && has_several;
}
