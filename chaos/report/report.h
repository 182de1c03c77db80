/*
 * chaos/report/report.h: the results of a campaign: DIR/report.json for programs (members:
 * docs/chaos-report.md), and DIR/report.html for people: one file that needs no other file and no
 * network.
 *
 * Threads: any; nothing is shared. Blocking: reads the histories, one at a time, and writes.
 */
#ifndef CHAOS_REPORT_REPORT_H
#define CHAOS_REPORT_REPORT_H

#include <stddef.h>

#include "common/base/error.h"

/*
 * `histories`: paths of history.jsonl, one a round, in the order of rounds. One that cannot be read
 * becomes a failed round of the report, with the reason.
 *
 *   TN_EINVAL                         `count` is 0, or `dir` is too long
 *   TN_ENOMEM                         out of memory
 *   TN_EIO, TN_ENOSPC, TN_ENOENT      a report cannot be written; the file is named
 */
MUST_CHECK enum tn_status report_write(const char *dir, const char *const *histories, size_t count,
                                       struct error *error);

#endif
