/*
 * chaos/report/report.h: what a campaign came to: DIR/report.json for programs (its members are in
 * docs/chaos-report.md) and DIR/report.html for people: one file that needs nothing else, no
 * network either.
 *
 * Threads: any; nothing is shared. Blocking: reads the histories, one at a time, and writes.
 */
#ifndef CHAOS_REPORT_REPORT_H
#define CHAOS_REPORT_REPORT_H

#include <stddef.h>

#include "common/base/error.h"

/*
 * `histories`: paths of history.jsonl, one a round, in their order. One that cannot be read is a
 * failed round of the report, which says why.
 *
 *   TN_EINVAL   there is no history at all
 *   TN_ENOMEM, TN_EIO, TN_ENOSPC, TN_ENOENT  as it is; the file is named
 */
MUST_CHECK enum tn_status report_write(const char *dir, const char *const *histories, size_t count,
                                       struct error *error);

#endif
