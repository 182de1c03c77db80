/*
 * chaos/plan/fault.h: the faults that can be injected, what each needs of the machine, and one
 * fault of a schedule. Pure.
 *
 * Names are those of plans, histories and reports. docs/chaos.md explains each to its users.
 */
#ifndef CHAOS_PLAN_FAULT_H
#define CHAOS_PLAN_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/run.h"

/* What a fault needs of the machine; chaos/inject/probe.h finds out what there is. */
enum need {
    NEED_NOTHING = 0,
    NEED_NETWORK = 1,    /* Network namespaces, veth, nft: chaos/cluster/lab.h. */
    NEED_BANDWIDTH = 2,  /* tc tbf. */
    NEED_SHIM = 4,       /* LD_PRELOAD of tanist-faults.so. */
    NEED_TMPFS = 8,      /* A mount of a small tmpfs. */
    NEED_FAILPOINTS = 16 /* A build with TANIST_FAILPOINTS. */
};

/* (constant, name, needs, whom it may strike, what it does). Whom: n a node, a the agent, z a
 * ZooKeeper server, c the cluster as a whole. `value` and `for` are explained in docs/chaos.md. */
#define FAULT_LIST(X)                                                                              \
    X(KILL, "kill", NEED_NOTHING, "nazc", "SIGKILL")                                               \
    X(TERMINATE, "terminate", NEED_NOTHING, "naz", "SIGTERM")                                      \
    X(FREEZE, "freeze", NEED_NOTHING, "naz", "SIGSTOP, then SIGCONT")                              \
    X(ZOMBIE, "zombie", NEED_NOTHING, "n", "SIGSTOP, its agent as well; it wakes first")           \
    X(CRASH_LOOP, "crash-loop", NEED_NOTHING, "n", "SIGKILL of each new incarnation for a while")  \
    X(OUTAGE, "outage", NEED_NOTHING, "z", "ZooKeeper servers stand still for a while")            \
    X(WIPE, "wipe", NEED_NOTHING, "c", "all ZooKeeper servers are killed and their data removed")  \
    X(CUT_ZOOKEEPER, "cut-zookeeper", NEED_NETWORK, "n", "no packets to or from ZooKeeper")        \
    X(CUT_PEERS, "cut-peers", NEED_NETWORK, "n", "no packets to or from other nodes")              \
    X(CUT_IN, "cut-in", NEED_NETWORK, "nz", "nothing arrives, what it sends does")                 \
    X(CUT_OUT, "cut-out", NEED_NETWORK, "nz", "nothing it sends arrives")                          \
    X(CUT, "cut", NEED_NETWORK, "nz", "no packets in or out")                                      \
    X(HALVES, "halves", NEED_NETWORK, "c", "two halves of nodes and servers cannot reach another") \
    X(BLACK_HOLE, "black-hole", NEED_NETWORK, "nz", "packets of established connections vanish")   \
    X(RESET_STORM, "reset-storm", NEED_NETWORK, "nz", "connections are reset again and again")     \
    X(POKE, "poke", NEED_NOTHING, "nz", "garbage, FIN and RST at its listening port")              \
    X(LOSS, "loss", NEED_NETWORK, "nz", "a share of packets is lost: value, in percent")           \
    X(BANDWIDTH, "bandwidth", NEED_BANDWIDTH, "nz", "a slow link: value, in Mbit/s")               \
    X(DELAY, "delay", NEED_NETWORK, "n", "what it receives is late: value, in ms, at most")        \
    X(DUPLICATE, "duplicate", NEED_NETWORK, "n", "frames it receives come twice")                  \
    X(DISK_FULL, "disk-full", NEED_TMPFS, "n", "the device of its checkpoints is full")            \
    X(DISK_ERROR, "disk-error", NEED_SHIM, "nz", "writes fail with EIO")                           \
    X(SYNC_FAILS, "sync-fails", NEED_SHIM, "nz", "fsync fails with EIO")                           \
    X(SYNC_SLOW, "sync-slow", NEED_SHIM, "nz", "each fsync takes value ms longer")                 \
    X(FLIP_BITS, "flip-bits", NEED_NOTHING, "n", "bits of its newest shard change; then SIGKILL")  \
    X(TRUNCATE, "truncate", NEED_NOTHING, "n", "its newest shard loses its end; then SIGKILL")     \
    X(SWAP_SHARDS, "swap-shards", NEED_NOTHING, "c", "two ps find each other's shards; SIGKILL")   \
    X(STALE_SHARD, "stale-shard", NEED_NOTHING, "n",                                               \
      "its newest shard holds an older one's bytes")                                               \
    X(MEMORY, "memory", NEED_NOTHING, "n", "it may map value MiB more, then no more")              \
    X(DESCRIPTORS, "descriptors", NEED_NOTHING, "n", "it may open value more files, then no more") \
    X(CLOCK_JUMP, "clock-jump", NEED_SHIM, "nz", "its wall clock is value ms off")                 \
    X(TWICE, "twice", NEED_NOTHING, "n", "the same task is started a second time, by hand")        \
    X(TWO_CLUSTERS, "two-clusters", NEED_NOTHING, "c",                                             \
      "a second cluster of the same name is tried")                                                \
    X(MIXED_JOBS, "mixed-jobs", NEED_NOTHING, "n", "a node with another job file joins")           \
    X(RESIGN, "resign", NEED_NOTHING, "c", "the chief is asked to resign")                         \
    X(PAUSE, "pause", NEED_NOTHING, "c", "the workers are held, then let go on")                   \
    X(STALL, "stall", NEED_FAILPOINTS, "n", "it sleeps value ms at a failpoint")                   \
    X(FAIL, "fail", NEED_FAILPOINTS, "n", "the operation at a failpoint fails")

enum fault {
#define FAULT_ENUM(constant, name, needs, whom, about) FAULT_##constant,
    FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT
};

struct fault_info {
    const char *name;
    unsigned needs; /* A set of `enum need`. */
    const char *whom, *about;
};
const struct fault_info *fault_info(enum fault fault);
/* False: there is no such fault. */
bool fault_parse(const char *name, enum fault *out);

enum { WHOM_MAX = 32, POINT_NAME_MAX = 48, INJECTIONS_MAX = 4096 };

/* When a fault is due. */
enum trigger_type {
    TRIGGER_TIME,  /* `at_ms` after training began. */
    TRIGGER_STEP,  /* When that step is reached. */
    TRIGGER_PHASE, /* When /run says `phase`, the `count`-th time. */
    TRIGGER_POINT, /* When the target reaches the failpoint, the `count`-th time from `at_ms` on. */
};

struct trigger {
    enum trigger_type type;
    uint64_t at_ms, step;
    enum run_phase phase;
    char point[POINT_NAME_MAX];
    uint32_t count; /* From 1. */
};

/*
 * One fault of a schedule. `whom`: "ps:1", "worker:0", "coordinator:1", "zookeeper:2" as drawn from
 * the seed, or a name that means somebody else from moment to moment: "chief", "zookeeper-leader",
 * "zookeeper-follower" (one), "zookeeper-majority", "zookeeper-all", "agent", "everything" (every
 * process of the run), "cluster".
 */
struct injection {
    uint32_t id; /* From 1, in the order of the schedule. */
    enum fault fault;
    char whom[WHOM_MAX];
    struct trigger trigger;
    uint64_t for_ms; /* Until it is undone; 0: nothing to undo. */
    double value;
};

struct schedule {
    uint32_t count;
    struct injection *list; /* Owned. */
};
void schedule_free(struct schedule *schedule);

#endif
