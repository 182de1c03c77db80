/* Rule C15: the repair of znodes that other programs deleted or damaged. */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

/* Ids may have been used that no znode and no disk shows. */
enum { LOST_MARGIN = 64 };

bool chief_lost(struct chief *c, unsigned lost, struct chief_actions *out)
{
    const unsigned rewritten = CHIEF_LOST_RUN | CHIEF_LOST_ASSIGNMENT;
    assert(c->elected);
    if (lost & CHIEF_LOST_CHIEF) { return false; }
    c->lost |= lost & rewritten;
    out->restore = lost & ~rewritten;
    return true;
}

void chief_listed(const struct chief *c, const uint64_t *ids, uint32_t count,
                  struct chief_actions *out)
{
    assert(c->elected);
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < count && !found; k++) { found = ids[k] == c->checkpoints[i].id; }
        if (!found) { out->republish[out->republish_count++] = c->checkpoints[i].id; }
    }
}

/* /run is as this process saw it last, or new; the former chief may have written more since. So
 * every ps loads again: what it holds may be of a later generation. */
void chief_take_over_lost_run(struct chief *c)
{
    struct run *run = &c->run;
    assert(c->elected);
    c->lost |= CHIEF_LOST_RUN;
    run->generation += run->generation > 0 ? LOST_MARGIN : 0;
    run->last_checkpoint += LOST_MARGIN;
    run->save_checkpoint = run->save_step = 0;
    if (c->checkpoint_count > 0) {
        const struct chief_checkpoint *newest = &c->checkpoints[c->checkpoint_count - 1];
        run->last_checkpoint = u64_max(run->last_checkpoint, newest->id + LOST_MARGIN);
        if (newest->id > run->committed_checkpoint) {
            run->committed_checkpoint = newest->id;
            run->committed_step = newest->step;
        }
    }
    bool trained = run->phase == RUN_LOADING || run->phase == RUN_RUNNING ||
                   run->phase == RUN_STOPPING || run->phase == RUN_PAUSED;
    if (!trained) { return; }
    run->phase = RUN_PAUSED;
    if (run->recovery.kind == RECOVERY_NONE) {
        run->recovery = (struct recovery){
            .task = c->config.self, .started_wall_ms = c->wall_ms, .step = run->committed_step};
        text_set(run->recovery.cause, sizeof run->recovery.cause, "/run was deleted");
    }
    run->recovery.kind = RECOVERY_CHIEF;
}
