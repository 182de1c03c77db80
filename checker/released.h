/*
 * checker/released.h: I20: /run releases workers without ps (C24) only while training continues
 * without a gate. Remembers the incarnations that it has released. Plain data.
 *
 * Threads: one owner.
 */
#ifndef CHECKER_RELEASED_H
#define CHECKER_RELEASED_H

#include "common/cluster/run.h"

enum { RELEASED_REMEMBERED = 256 /* The oldest are forgotten first. */ };

struct released {
    uint32_t next; /* The place of the next one. */
    uint64_t incarnations[RELEASED_REMEMBERED];
};

/* /run changes. NULL: as it must; else what is wrong. Static storage. */
const char *released_follow(struct released *released, const struct run *run);

/* Whether the worker of this incarnation was ever released. */
bool released_has(const struct released *released, uint64_t incarnation);

#endif
