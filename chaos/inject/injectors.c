#include "chaos/inject/injectors.h"

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
    [FAULT_DISK_FULL] = &injector_disk_full,
    [FAULT_DISK_ERROR] = &injector_disk_fault,
    [FAULT_SYNC_FAILS] = &injector_disk_fault,
    [FAULT_SYNC_SLOW] = &injector_disk_fault,
    [FAULT_FLIP_BITS] = &injector_damage,
    [FAULT_TRUNCATE] = &injector_damage,
    [FAULT_SWAP_SHARDS] = &injector_damage,
    [FAULT_STALE_SHARD] = &injector_damage,
    [FAULT_MEMORY] = &injector_limit,
    [FAULT_DESCRIPTORS] = &injector_limit,
    [FAULT_CLOCK_JUMP] = &injector_clock,
    [FAULT_TWICE] = &injector_operator,
    [FAULT_TWO_CLUSTERS] = &injector_operator,
    [FAULT_MIXED_JOBS] = &injector_operator,
    [FAULT_RESIGN] = &injector_request,
    [FAULT_PAUSE] = &injector_request,
};
/* clang-format on */

const struct injector *injector_of(enum fault fault)
{
    return injectors[fault];
}
