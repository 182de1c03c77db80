#include "chaos/plan/measure.h"

static const struct measure measures[FAULT_COUNT] = {
    [FAULT_FREEZE] = {.lasts = LASTS},
    [FAULT_ZOMBIE] = {.lasts = LASTS},
    [FAULT_CRASH_LOOP] = {.lasts = LASTS},
    [FAULT_OUTAGE] = {.lasts = LASTS},
    [FAULT_CUT_ZOOKEEPER] = {.lasts = LASTS},
    [FAULT_CUT_PEERS] = {.lasts = LASTS},
    [FAULT_CUT_IN] = {.lasts = LASTS},
    [FAULT_CUT_OUT] = {.lasts = LASTS},
    [FAULT_CUT] = {.lasts = LASTS},
    [FAULT_HALVES] = {.lasts = LASTS},
    [FAULT_BLACK_HOLE] = {.lasts = LASTS},
    [FAULT_RESET_STORM] = {.lasts = LASTS},
    [FAULT_POKE] = {.lasts = LASTS_MAYBE},
    [FAULT_LOSS] = {.lasts = LASTS, .unit = "percent", .least = 0.1, .most = 100},
    [FAULT_BANDWIDTH] = {.lasts = LASTS, .unit = "Mbit/s", .least = 0.1, .most = 100000},
    [FAULT_DELAY] = {.lasts = LASTS, .unit = "ms", .least = 1, .most = 60000},
    [FAULT_DUPLICATE] = {.lasts = LASTS},
    [FAULT_DISK_FULL] = {.lasts = LASTS},
    [FAULT_DISK_ERROR] = {.lasts = LASTS},
    [FAULT_SYNC_FAILS] = {.lasts = LASTS},
    [FAULT_SYNC_SLOW] = {.lasts = LASTS, .unit = "ms", .least = 1, .most = 60000},
    [FAULT_FLIP_BITS] = {.unit = "bits", .least = 1, .most = 1e6, .usual = true},
    [FAULT_TRUNCATE] = {.unit = "bytes", .least = 1, .most = 1e9, .usual = true},
    [FAULT_MEMORY] = {.lasts = LASTS, .unit = "MiB", .least = 0, .most = 1048576},
    [FAULT_DESCRIPTORS] = {.lasts = LASTS, .unit = "files", .least = 0, .most = 1048576},
    [FAULT_CLOCK_JUMP] = {.lasts = LASTS, .unit = "ms", .least = -1e12, .most = 1e12},
    [FAULT_PAUSE] = {.lasts = LASTS},
    [FAULT_STALL] = {.lasts = LASTS_NOT, .unit = "ms", .least = 1, .most = 600000},
};

const struct measure *fault_measure(enum fault fault)
{
    return &measures[fault];
}
