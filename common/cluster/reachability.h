/*
 * common/cluster/reachability.h: whether the nodes of two hosts can reach each other (R9). A
 * loopback address, the default, serves only a cluster on one machine. Pure.
 */
#ifndef COMMON_CLUSTER_REACHABILITY_H
#define COMMON_CLUSTER_REACHABILITY_H

#include "common/base/machine.h"
#include "common/cluster/znodes.h"

enum reachability {
    REACHABLE,            /* As far as the addresses show. */
    REACHABILITY_NOT_US,  /* The other node cannot reach our address. */
    REACHABILITY_NOT_THEM /* We cannot reach the address of the other node. */
};

enum { REACHABILITY_TEXT_MAX = 512 };

/* Compare our address and machine with those of a node that is registered. An unknown machine is
 * assumed to be reachable. */
enum reachability reachability_of(const char *address, const char *machine,
                                  const struct member *other);

/* The error text for people, unless REACHABLE. `flag`: the option that gives our address;
 * `suggestion`: one that would serve, "" if none is known. */
void reachability_describe(enum reachability reach, const char *flag, const char *address,
                           const char *suggestion, const struct member *other,
                           char text[static REACHABILITY_TEXT_MAX]);

#endif
