#include "mirror/member_state.h"

#include <assert.h>
#include <stddef.h>

enum member_has member_state_has(const struct member_values *own, const struct member_copy *copy,
                                 uint64_t generation, uint64_t step)
{
    assert(own != NULL && copy != NULL);
    const bool is_copied = copy->generation == generation && copy->step == step;
    if (copy->version != 0 && is_copied) { return MEMBER_HAS_COPY; }
    if (own->generation > generation) { return MEMBER_HAS_PASSED; }
    if (own->generation < generation || !own->whole) { return MEMBER_HAS_NOT_YET; }
    if (own->step < step) { return MEMBER_HAS_NOT_YET; }
    return own->step == step ? MEMBER_HAS_VALUES : MEMBER_HAS_PASSED;
}

bool member_state_is_worker(const struct member_holders *holders, uint32_t members, bool complete,
                            const struct member_values *own)
{
    assert(members >= 1 && members <= GROUP_MEMBERS_MAX);
    if (!complete || !own->whole) { return complete; }
    for (uint32_t m = 1; m < members; m++) {
        if (holders->generations[m] != own->generation) { return false; }
    }
    return true;
}
