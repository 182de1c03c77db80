#include "chaos/injectors.h"

/* clang-format off */
static const struct injector *const injectors[FAULT_COUNT] = {
    [FAULT_KILL] = &injector_kill,
    [FAULT_TERMINATE] = &injector_terminate,
    [FAULT_FREEZE] = &injector_freeze,
    [FAULT_ZOMBIE] = &injector_zombie,
    [FAULT_CRASH_LOOP] = &injector_crash_loop,
    [FAULT_OUTAGE] = &injector_outage,
    [FAULT_WIPE] = &injector_wipe,
    [FAULT_CUT_ZOOKEEPER] = &injector_cut,
    [FAULT_CUT_PEERS] = &injector_cut,
    [FAULT_CUT_IN] = &injector_cut,
    [FAULT_CUT_OUT] = &injector_cut,
    [FAULT_CUT] = &injector_cut,
    [FAULT_HALVES] = &injector_halves,
    [FAULT_BLACK_HOLE] = &injector_black_hole,
    [FAULT_RESET_STORM] = &injector_reset_storm,
    [FAULT_POKE] = &injector_poke,
    [FAULT_LOSS] = &injector_loss,
    [FAULT_BANDWIDTH] = &injector_bandwidth,
    [FAULT_DELAY] = &injector_delay,
    [FAULT_DUPLICATE] = &injector_duplicate,
};
/* clang-format on */

const struct injector *injector_of(enum fault fault)
{
    return injectors[fault];
}
