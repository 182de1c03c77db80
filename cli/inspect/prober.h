/*
 * cli/inspect/prober.h: the modes of some ZooKeeper servers, asked periodically on a thread of its
 * own, so that a server that does not answer delays no other work.
 *
 * Threads: the owner's; it starts one of its own.
 */
#ifndef CLI_INSPECT_PROBER_H
#define CLI_INSPECT_PROBER_H

#include "cli/target.h"
#include "common/base/error.h"

struct prober;

enum { PROBER_MODE_MAX = 24 };

/* Ask `servers`, which are copied, every `every_ms`. TN_ENOMEM: no memory or no thread. */
MUST_CHECK enum tn_status prober_start(const struct target_server *servers, size_t count,
                                       uint32_t every_ms, struct prober **out, struct error *error);
/* Waits for the request in flight, 300 ms at most. `prober` may be NULL. */
void prober_stop(struct prober *prober);

/* The mode of server `index`: "leader", "down", ...; "" when it has not been asked yet. */
void prober_get(struct prober *prober, size_t index, char mode[static PROBER_MODE_MAX]);

/* All servers have been asked at least once. */
bool prober_is_complete(struct prober *prober);

#endif
