/*
 * agent/ensemble/zoo_repair.h: what a full or failing disk leaves of a ZooKeeper server's data that
 * the server cannot read. Version 3.8 makes a transaction log and then writes its header; did that
 * fail, the empty log stays, and the server reads it again and again for ever, thousands of times a
 * second, each time with 20 lines in its own log, while the ensemble goes on without it.
 *
 * A log without its header holds no transaction: nothing that was ever promised is in it.
 *
 * Threads: any. Blocking: reads one folder.
 */
#ifndef AGENT_ENSEMBLE_ZOO_REPAIR_H
#define AGENT_ENSEMBLE_ZOO_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Whether DATA_DIR holds a log without a header. For a moment that is so each time a server makes a
 * new one: only what stays is a fault. */
bool zoo_repair_needed(const char *data_dir);

/* Remove such logs of a server that is not running. How many; best effort. */
uint32_t zoo_repair(const char *data_dir);

#endif
