/*
 * tests/sim/faults.h: the faults of a run, drawn from the seed. Each is independent of the others,
 * so that shrinking can leave out any of them.
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/random.h"

enum fault_kind {
    FAULT_KILL,          /* SIGKILL of a node, seen by its agent. */
    FAULT_CRASH_LOOP,    /* A node is killed at each start, for a while. */
    FAULT_FREEZE,        /* SIGSTOP, and SIGCONT later, possibly after its session has expired. */
    FAULT_AGENT,         /* The agent dies with its nodes; they are not reaped. */
    FAULT_HOST,          /* A host loses power: its connections are not closed. */
    FAULT_EVERYTHING,    /* All nodes at once. */
    FAULT_RESET,         /* All connections of a node break. */
    FAULT_CUT_PEERS,     /* Two hosts do not reach each other (one direction or both). */
    FAULT_CUT_ZOOKEEPER, /* A host does not reach some or all ZooKeeper servers. */
    FAULT_DROP_SESSION,  /* A node's connection to ZooKeeper breaks; the session does not. */
    FAULT_SERVER,        /* A ZooKeeper server is down for a while. */
    FAULT_OUTAGE,        /* A majority of the servers is down. */
    FAULT_WIPE,          /* All servers lose their disks. */
    FAULT_DAMAGE,        /* A bit flips in a shard. */
    FAULT_RESIGN,        /* An operator asks the chief to resign. */
    FAULT_HOLD,          /* An operator pauses the run and resumes it later. */
    FAULT_DRAWN,         /* The kinds above are drawn from the main stream of the seed. */
    FAULT_MOVE = FAULT_DRAWN, /* A ps starts on a host without its shards, then moves back. */
    FAULT_DRAIN,              /* A host is drained, and its agent starts again later. */
    FAULT_DELETE,             /* Another program deletes a znode, with all below it. */
    FAULT_REPLACE,            /* Another program replaces the contents of a znode. */
    FAULT_READ_ONLY,          /* Another program makes a znode read-only. */
    FAULT_OTHER_INPUTS,       /* A worker starts with other data, until it has been refused. */
    FAULT_TEAR,               /* SIGKILL of a ps in the middle of an update. */
    FAULT_STOP,               /* An operator asks the run to stop. */
    FAULT_RESIZE,  /* Everything ends, and starts again with `target` ps, and borders between their
                    * rows that `other` draws; in scenarios alone. */
    FAULT_SCALE,   /* An operator wants `target` workers; in scenarios alone. */
    FAULT_CHANGE,  /* A command wants the same while it runs, or `both_ways`: groups with them; in
                    * scenarios alone. */
    FAULT_WORKERS, /* One wants `target` workers in a job without a range; in scenarios alone. */
    FAULT_KINDS
};

enum { FAULTS_MAX = 64, FAULT_HOSTS_MAX = 16 };

struct fault {
    enum fault_kind kind;
    uint64_t at_ms, duration_ms;
    uint32_t target, other; /* Index of a task, a host or a server, modulo their number. */
    bool both_ways;
};

const char *fault_name(enum fault_kind kind);

/* Draws `count` faults (at most FAULTS_MAX are drawn) within [from_ms, to_ms), sorted by time, of
 * the kinds whose bits are set in `allowed`. Returns their number. */
uint32_t faults_draw(struct random *random, uint32_t count, uint64_t from_ms, uint64_t to_ms,
                     uint32_t allowed, uint32_t session_timeout_ms,
                     struct fault out[static FAULTS_MAX]);

/* "12.345 s freeze target 3/7 for 2000 ms". */
void fault_describe(const struct fault *fault, char *text, unsigned size);

#endif
