/* A replica whose group computes the gradients, and may be unable to (M13). */
#include <assert.h>

#include "mirror/replica_private.h"

void replica_become_unable(struct replica *r, struct replica_actions *out)
{
    r->is_able = false;
    if (!r->computing) { return; }
    assert(r->computing_count <= r->node_count);
    for (uint32_t i = r->node_count - r->computing_count; i < r->node_count; i++) {
        slice_set_remove(&r->done, r->nodes[i]);
    }
    r->node_count -= r->computing_count;
    r->computing_count = 0;
    r->computing = false;
    /* The driver may have some of the lost ones: large, and perhaps not computed again for long. */
    if (r->node_count == 0) { replica_act(out, REPLICA_DO_FORGET); }
}
