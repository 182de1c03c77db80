/*
 * group/layout.h: where the values of a member are. The variables of a member are on ps of its own
 * (G3, strategy_member_of_ps()); its values are the shards of these ps, one behind the other.
 *
 * Pure.
 */
#ifndef GROUP_LAYOUT_H
#define GROUP_LAYOUT_H

#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "graph/training_cut.h"

struct group_layout {
    uint32_t ps; /* All of the cluster. */
    uint64_t floats;
    bool owns[PS_MAX];
    /* In the values of the member; `count` 0: a ps of another member. */
    struct placement places[PS_MAX];
};

/* The layout of member `member`; `table` is placed. */
void group_layout_set(struct group_layout *layout, const struct job *job,
                      const struct variable_table *table, uint32_t member);

/* Let `cut` have the places of the variables of `member` in this layout. */
void group_layout_apply(const struct group_layout *layout, const struct variable_table *table,
                        uint32_t member, struct training_cut *cut);

#endif
