/*
 * cli/run/unused_folder.h: the folder of a run that ended before it trained anything: because
 * ZooKeeper did not serve, for example. It must not look like an unfinished run, which refuses
 * other jobs.
 *
 * Threads: the main thread. Blocking: on the disk.
 */
#ifndef CLI_RUN_UNUSED_FOLDER_H
#define CLI_RUN_UNUSED_FOLDER_H

#include "cli/run_folder.h"

/*
 * The run of `folder`, which is open, has trained nothing, and its processes have ended. If the
 * folder was new, remove the files of the run except for the logs of its ZooKeeper servers, which a
 * message names, and the folder if it is empty then. Otherwise do nothing. When files were removed,
 * `folder->dir` is "", as before the folder was opened, and it can only be closed.
 */
void unused_folder_clean(struct run_folder *folder);

#endif
