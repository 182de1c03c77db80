/* The epochs of chiefs: I1. */
#include <assert.h>
#include <inttypes.h>

#include "checker/checker_private.h"
#include "common/base/text.h"

/* Whether another program removed all that ZooKeeper knew of the former epoch. A chief that gave no
 * order may be forgotten; otherwise it is as after a wipe, and the disks count. */
static bool is_forgotten(struct checker *checker, const struct chief_record *record)
{
    const struct checker_view *view = &checker->config.view;
    if (!checker->chief_lost) { return false; }
    if (!checker->run_lost) { return record->epoch > checker->run.epoch; }
    if (view->highest_epoch != NULL) { checker->epoch_floor = view->highest_epoch(view->ctx); }
    return true;
}

/* Whether a candidate replaced a /chief that it may not write twice: the answer to the first
 * transaction was lost, and it had not given an order. */
static bool is_repeated(const struct checker *checker, const struct chief_record *record)
{
    return checker->foreign && record->epoch == checker->chief.epoch &&
           record->incarnation == checker->chief.incarnation &&
           (!checker->has_run || checker->run.epoch < record->epoch);
}

void checker_on_chief(struct checker *checker, const struct zk_change *change)
{
    struct chief_record record;
    struct error error;
    assert(text_ends_with(change->path, "/chief"));
    if (change->blob == NULL || change->blob->size == 0) { return; }
    if (chief_record_decode(change->blob->data, change->blob->size, &record, &error) != TN_OK) {
        checker_fail(checker, "I1: /chief cannot be read: %s", error.text);
        return;
    }
    if (checker->has_chief && record.epoch <= checker->chief.epoch &&
        !is_forgotten(checker, &record) && !is_repeated(checker, &record)) {
        checker_fail(checker, "I1: epoch %" PRIu64 " after %" PRIu64, record.epoch,
                     checker->chief.epoch);
    }
    checker->chief_lost = false;
    bool raised = checker->has_chief && record.incarnation == checker->chief.incarnation;
    if (!raised) { checker->elections++; }
    checker->chief = record;
    checker->has_chief = true;
    checker_log(checker, "chief: coordinator:%u epoch %" PRIu64 "%s", record.task.index,
                record.epoch, raised ? " (raised)" : "");
}
