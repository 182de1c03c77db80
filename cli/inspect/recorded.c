#include "cli/inspect/recorded.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli/run_folder.h"
#include "common/base/clock.h"

static void add_record(struct error *error, const struct error *problem)
{
    const size_t used = strnlen(error->text, sizeof error->text - 1);
    (void)snprintf(error->text + used, sizeof error->text - used,
                   "; its last state cannot be shown: %s", problem->text);
}

/* Whether reading fails in this way when the ZooKeeper of a run has ended, or ends meanwhile. */
static bool is_end_of_run(enum tn_status status)
{
    return status == TN_EUNHEALTHY || status == TN_ECONNECT || status == TN_ETIMEDOUT ||
           status == TN_EEXPIRED;
}

enum tn_status recorded_read(const struct target_options *given, enum tn_status status,
                             struct run_record *out, struct error *error)
{
    char time[TIME_TEXT_MAX];
    assert(status != TN_OK);
    if (given->dir == NULL || !is_end_of_run(status)) { return status; }
    const bool active = run_folder_in_use(given->dir);
    if (active && !run_folder_is_local(given->dir)) { return status; }
    struct error problem = {0};
    enum tn_status found = run_record_read(given->dir, out, &problem);
    if (found == TN_ENOENT) { return status; }
    if (found != TN_OK && !run_folder_is_local(given->dir)) {
        /* The error of `status` contains the remedy. */
        if (error != NULL) { add_record(error, &problem); }
        return status;
    }
    if (found != TN_OK) {
        if (error != NULL) { *error = problem; }
        return found;
    }
    clock_format(out->wall_ms, time);
    fprintf(stderr, "the run in %s is %s; this is the record of %s\n", given->dir,
            active ? "in one process" : "not active", time);
    if (error != NULL) { *error = (struct error){0}; }
    return TN_OK;
}
