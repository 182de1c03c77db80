/* chaos/inject/injectors.h: which injector does which fault. Pure. */
#ifndef CHAOS_INJECT_INJECTORS_H
#define CHAOS_INJECT_INJECTORS_H

#include "chaos/cluster/targets.h"

/* injector_kill, injector_remote_kill, ...: those that FAULT_LIST names. */
#define INJECTOR_DECLARE(constant, local, remote, ...)                                             \
    extern const struct injector injector_##local, injector_##remote;
FAULT_LIST(INJECTOR_DECLARE)
#undef INJECTOR_DECLARE

/* `remote`: on a cluster of which only ZooKeeper can be reached (chaos/cluster/remote.h). Never
 * NULL: some refuse. */
const struct injector *injector_of(enum fault fault, bool remote);

#endif
