/*
 * common/cluster/reach.h: whether the nodes of two hosts can reach each other (R9). A loopback
 * address, the default, serves only a cluster on one machine. Pure.
 */
#ifndef COMMON_CLUSTER_REACH_H
#define COMMON_CLUSTER_REACH_H

#include "common/base/machine.h"
#include "common/cluster/znodes.h"

enum reach {
    REACH_GOOD,    /* As far as the addresses show. */
    REACH_NOT_US,  /* The other node cannot reach our address. */
    REACH_NOT_THEM /* We cannot reach the address of the other node. */
};

enum { REACH_TEXT_MAX = 512 };

/* Compare our address and machine with those of a node that is registered. An unknown machine is
 * assumed to be reachable. */
enum reach reach_of(const char *address, const char *machine, const struct member *other);

/* The error text for people, unless REACH_GOOD. `flag`: the option that gives our address;
 * `suggestion`: one that would serve, "" if none is known. */
void reach_describe(enum reach reach, const char *flag, const char *address, const char *suggestion,
                    const struct member *other, char text[static REACH_TEXT_MAX]);

#endif
