#include "chaos/injectors.h"

static const struct injector *const injectors[FAULT_COUNT] = {
    [FAULT_KILL] = &injector_kill,     [FAULT_TERMINATE] = &injector_terminate,
    [FAULT_FREEZE] = &injector_freeze, [FAULT_CRASH_LOOP] = &injector_crash_loop,
    [FAULT_OUTAGE] = &injector_outage, [FAULT_WIPE] = &injector_wipe,
};

const struct injector *injector_of(enum fault fault)
{
    return injectors[fault];
}
