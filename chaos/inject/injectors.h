/* chaos/inject/injectors.h: which injector does which fault. Pure. */
#ifndef CHAOS_INJECT_INJECTORS_H
#define CHAOS_INJECT_INJECTORS_H

#include "chaos/cluster/targets.h"

/* NULL: it is done at a failpoint only (STALL, FAIL). */
const struct injector *injector_of(enum fault fault);

#endif
