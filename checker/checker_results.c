/* The results of the evaluator: I17. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "checker/checker_private.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"

/* The step of a committed checkpoint; STEP_NONE: its manifest no longer exists. */
static uint64_t step_of(const struct checker *checker, uint64_t id)
{
    const struct zk_tree *tree = checker->config.tree;
    for (size_t i = 0; tree != NULL && i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        struct manifest manifest;
        if (strstr(node->path, "/checkpoints/") == NULL || node->blob == NULL) { continue; }
        const char *text = (const char *)node->blob->data;
        if (manifest_decode(text, node->blob->size, &manifest, NULL) != TN_OK) { continue; }
        if (manifest.id == id) { return manifest.step; }
    }
    return STEP_NONE;
}

void checker_on_result(struct checker *checker, const struct history_entry *entry)
{
    assert(entry->kind == HISTORY_EVALUATED);
    const uint64_t id = entry->checkpoint;
    const bool committed = id <= checker->highest_id || checker->foreign;
    if (!committed || (id <= checker->evaluated_id && !checker->best_lost)) {
        checker_fail(checker,
                     "I17: a result of checkpoint %" PRIu64 " after one of %" PRIu64
                     "; the newest checkpoint is %" PRIu64,
                     id, checker->evaluated_id, checker->highest_id);
    }
    const uint64_t step = step_of(checker, id);
    if (step != STEP_NONE && step != entry->step) {
        checker_fail(checker,
                     "I17: a result of step %" PRIu64 " for checkpoint %" PRIu64
                     " of step %" PRIu64,
                     entry->step, id, step);
    }
    checker->evaluated_id = id;
    checker->evaluated++;
}

/* Checkpoints are evaluated again if the restored /run does not have their results. The result that
 * it has may be in the history already: the write of a chief was applied, its answer was lost, and
 * /run was damaged before the chief read it again. */
void checker_restore_results(struct checker *checker, const struct run *run)
{
    const uint64_t known = run->evaluated_checkpoint;
    checker->evaluated_id = u64_min(checker->evaluated_id, known > 0 ? known - 1 : 0);
}

void checker_check_result(const struct checker *checker, const struct run *run)
{
    const struct evaluation *found = &run->evaluation;
    const struct evaluation *was = &checker->run.evaluation;
    const struct checker_view *view = &checker->config.view;
    if (checker->config.job->cluster.evaluators == 0 || !checker->config.exact_cuts) { return; }
    if (found->step == STEP_NONE || (checker->has_run && found->step == was->step)) { return; }
    /* A worker's. Async: if pushes were on their way beyond the end, it is moved (C9), and the
     * evaluation is repeated there; I8 checks the last one. */
    if (!strategy_of_job(checker->config.job)->exact_steps && found->step >= run->until) { return; }
    const struct digest want = view->digest(view->ctx, found->step);
    if (found->digest[0] == want.low && found->digest[1] == want.high) { return; }
    checker_fail(checker, "I17: the values evaluated at step %" PRIu64 " are not those of it",
                 found->step);
}
