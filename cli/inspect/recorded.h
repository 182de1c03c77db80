/*
 * cli/inspect/recorded.h: the record of a run whose agent and ZooKeeper have ended
 * (agent/observe/run_record.h), for commands that otherwise ask ZooKeeper.
 *
 * Threads: the main thread. Blocking: on the disk.
 */
#ifndef CLI_INSPECT_RECORDED_H
#define CLI_INSPECT_RECORDED_H

#include "agent/observe/run_record.h"
#include "cli/target.h"

/*
 * A command could not read the cluster, with `status`: read the record of --dir in its place, if
 * the folder has one and no agent uses it; the record of a run in one process is kept up to date
 * and counts meanwhile, too. A message on stderr reports the record and its time.
 * Otherwise returns `status`, whose error names a record that cannot be read, or, of a run in one
 * process, the error of the record.
 */
MUST_CHECK enum tn_status recorded_read(const struct target_options *given, enum tn_status status,
                                        struct run_record *out, struct error *error);

#endif
