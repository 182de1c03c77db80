/*
 * agent/ensemble/zoo_repair.h: removes transaction logs that a ZooKeeper server cannot read.
 * Version 3.8 creates a log and then writes its header. If a full or failing disk prevents that, an
 * empty log remains, and the server reads it again in an endless loop, thousands of times a second,
 * with 20 lines in its own log each time, while the ensemble continues without it.
 *
 * A log without a header contains no transaction, so its removal loses nothing that was committed.
 *
 * Threads: any. Blocking: reads one folder.
 */
#ifndef AGENT_ENSEMBLE_ZOO_REPAIR_H
#define AGENT_ENSEMBLE_ZOO_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Whether `data_dir` has a log without a header. Every new log is one for a moment: only one that
 * remains is a fault. */
bool zoo_repair_needed(const char *data_dir);

/* Remove such logs of a server that is not running, as far as possible. Returns their number. */
uint32_t zoo_repair(const char *data_dir);

#endif
