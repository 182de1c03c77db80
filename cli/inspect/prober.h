/*
 * cli/inspect/prober.h: what each of some ZooKeeper servers says of itself, asked again and again
 * on a thread of its own, so that a server that is silent holds nobody up.
 *
 * Threads: the owner's; there is one inside.
 */
#ifndef CLI_INSPECT_PROBER_H
#define CLI_INSPECT_PROBER_H

#include "cli/target.h"
#include "common/base/error.h"

struct prober;

enum { PROBER_WORD_MAX = 24 };

/* Ask these, which are copied, every so often. TN_ENOMEM: no memory or no thread. */
MUST_CHECK enum tn_status prober_start(const struct target_server *servers, size_t count,
                                       uint32_t every_ms, struct prober **out, struct error *error);
/* Waits for the question in flight, some 300 ms at most. NULL is allowed. */
void prober_stop(struct prober *prober);

/* What server `index` said last: "leader", "down", ...; "" when it was not asked yet. */
void prober_get(struct prober *prober, size_t index, char word[static PROBER_WORD_MAX]);

/* All of them have been asked. */
bool prober_is_whole(struct prober *prober);

#endif
