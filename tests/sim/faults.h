/*
 * tests/sim/faults.h: what goes wrong, and when: a list drawn from the seed, each entry independent
 * of the others, so that the shrinker may leave any of them out.
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/random.h"

enum fault_kind {
    FAULT_KILL,          /* SIGKILL of a node; its agent sees it. */
    FAULT_CRASH_LOOP,    /* Killed again each time it comes up, for a while. */
    FAULT_FREEZE,        /* SIGSTOP, and SIGCONT later: a zombie if that is after its session. */
    FAULT_AGENT,         /* The agent dies with its nodes; nobody reaps them. */
    FAULT_HOST,          /* A host loses power: its peers are not told. */
    FAULT_EVERYTHING,    /* All nodes at once. */
    FAULT_RESET,         /* All connections of a node break. */
    FAULT_CUT_PEERS,     /* Two hosts do not reach each other (one direction or both). */
    FAULT_CUT_ZOOKEEPER, /* A host does not reach some or all ZooKeeper servers. */
    FAULT_DROP_SESSION,  /* A node's connection to ZooKeeper breaks; the session lives. */
    FAULT_SERVER,        /* A ZooKeeper server is down for a while. */
    FAULT_OUTAGE,        /* The majority of them. */
    FAULT_WIPE,          /* They lose their disks as well. */
    FAULT_DAMAGE,        /* A bit flips in a shard. */
    FAULT_RESIGN,        /* An operator asks the chief to step down. */
    FAULT_HOLD,          /* An operator pauses, and resumes later. */
    FAULT_KINDS
};

enum { FAULTS_MAX = 64, FAULT_HOSTS_MAX = 16 };

struct fault {
    enum fault_kind kind;
    uint64_t at_ms, duration_ms;
    uint32_t target, other; /* Tasks, hosts or servers, modulo their number. */
    bool both_ways;
};

const char *fault_name(enum fault_kind kind);

/* `count` faults within [from_ms, to_ms), in the order of their times, of kinds in `allowed` (a bit
 * each). */
uint32_t faults_draw(struct random *random, uint32_t count, uint64_t from_ms, uint64_t to_ms,
                     uint32_t allowed, uint32_t session_timeout_ms,
                     struct fault out[static FAULTS_MAX]);

/* "12.345 freeze task 3 for 2000 ms", for people. */
void fault_describe(const struct fault *fault, char *text, unsigned size);

#endif
