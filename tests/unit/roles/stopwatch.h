/* tests/unit/roles/stopwatch.h: the stopwatch of nodes in tests: computing takes no time. */
#ifndef TESTS_UNIT_ROLES_STOPWATCH_H
#define TESTS_UNIT_ROLES_STOPWATCH_H

#include "common/node/node.h"

static inline uint64_t no_time_ns(void *ctx, uint64_t slices)
{
    (void)ctx;
    (void)slices;
    return 0;
}

static const struct stopwatch_port no_stopwatch = {.read_ns = no_time_ns};

#endif
