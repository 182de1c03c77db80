/* chaos/injectors.h: which injector does which fault. Pure. */
#ifndef CHAOS_INJECTORS_H
#define CHAOS_INJECTORS_H

#include "chaos/arena.h"

/* NULL: it is done at a failpoint only (STALL, FAIL). */
const struct injector *injector_of(enum fault fault);

#endif
