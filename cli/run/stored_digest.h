/*
 * cli/run/stored_digest.h: the parameters of a run's last checkpoint, recomputed from the disk.
 * An evaluation by a worker does not show the contents of the shards; this digest does.
 *
 * Threads: any. Blocking: reads the whole checkpoint.
 */
#ifndef CLI_RUN_STORED_DIGEST_H
#define CLI_RUN_STORED_DIGEST_H

#include "cli/run/result.h"
#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/run.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"

/*
 * Set `text` to the digest of the parameters in the last committed checkpoint of `run`, as its
 * shards in `folder` hold them, and compare it with that of the worker that evaluated the same
 * step. `text` is empty if it could not be computed. `job`: that of the run, for the rows of its
 * tables; NULL: it has none. Of a run on a cluster, they are counted in `result`, which may be
 * NULL.
 *
 *   TN_ENOENT    no checkpoint was committed, or its manifest is not in `folder`
 *   TN_ECORRUPT  a shard is missing or damaged, or the digests differ: the error names both
 *   TN_EIO, TN_EINVAL, TN_ENOMEM
 */
MUST_CHECK enum tn_status stored_digest_check(const char *folder, const struct run *run,
                                              const struct variable_table *variables,
                                              const struct job *job,
                                              char text[static DIGEST_TEXT_BYTES],
                                              struct result *result, struct error *error);

#endif
