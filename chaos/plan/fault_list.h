/*
 * chaos/plan/fault_list.h: the faults that can be injected, one row each. Every table about faults
 * is derived from this one: chaos/plan/fault.c describes them, chaos/inject/injectors.c binds the
 * injectors, docs/chaos.md documents them. To add a fault, add a row here and its injector.
 *
 * X(constant, injector, remote injector, fields of struct fault_descriptor...)
 *
 * The injector of `kill` is the variable `injector_kill` (chaos/inject/injector.h). The remote
 * injector acts on a cluster of which only ZooKeeper can be reached; `out_of_reach` refuses.
 */
#ifndef CHAOS_PLAN_FAULT_LIST_H
#define CHAOS_PLAN_FAULT_LIST_H

#define FAULT_LIST(X)                                                                              \
    X(KILL, kill, remote_kill, .name = "kill", .family = FAMILY_PROCESS,                           \
      .targets = TARGET_NODE | TARGET_AGENT | TARGET_ZOOKEEPER | TARGET_EVERYTHING,                \
      .at_failpoint = POINT_KILL, .about = "SIGKILL")                                              \
    X(TERMINATE, terminate, remote_terminate, .name = "terminate", .family = FAMILY_PROCESS,       \
      .targets = TARGET_NODE | TARGET_AGENT | TARGET_ZOOKEEPER, .about = "SIGTERM")                \
    X(FREEZE, freeze, remote_freeze, .name = "freeze", .family = FAMILY_FREEZE,                    \
      .targets = TARGET_NODE | TARGET_AGENT | TARGET_ZOOKEEPER, .duration = DURATION_REQUIRED,     \
      .at_failpoint = POINT_FREEZE, .about = "SIGSTOP, and SIGCONT at the end")                    \
    X(ZOMBIE, zombie, out_of_reach, .name = "zombie", .family = FAMILY_FREEZE,                     \
      .targets = TARGET_NODE, .duration = DURATION_REQUIRED,                                       \
      .about = "SIGSTOP to the node and its agent; at the end the node continues first")           \
    X(CRASH_LOOP, crash_loop, remote_crash_loop, .name = "crash-loop", .family = FAMILY_PROCESS,   \
      .targets = TARGET_NODE, .duration = DURATION_REQUIRED,                                       \
      .about = "SIGKILL to each new incarnation until the end")                                    \
    X(OUTAGE, freeze, out_of_reach, .name = "outage", .family = FAMILY_ZOOKEEPER,                  \
      .targets = TARGET_ZOOKEEPER, .duration = DURATION_REQUIRED, .effects = EFFECT_ANY_TASK,      \
      .about = "ZooKeeper servers are frozen until the end")                                       \
    X(WIPE, wipe, out_of_reach, .name = "wipe", .family = FAMILY_ZOOKEEPER,                        \
      .targets = TARGET_CLUSTER, .effects = EFFECT_ANY_TASK,                                       \
      .about = "all ZooKeeper servers are killed and their data is removed")                       \
    X(CUT_ZOOKEEPER, filter, out_of_reach, .name = "cut-zookeeper", .family = FAMILY_NETWORK,      \
      .targets = TARGET_NODE, .needs = NEED_NETWORK, .duration = DURATION_REQUIRED,                \
      .about = "packets to and from ZooKeeper are dropped")                                        \
    X(CUT_PEERS, filter, out_of_reach, .name = "cut-peers", .family = FAMILY_NETWORK,              \
      .targets = TARGET_NODE, .needs = NEED_NETWORK, .duration = DURATION_REQUIRED,                \
      .about = "packets to and from other nodes are dropped")                                      \
    X(CUT_IN, filter, out_of_reach, .name = "cut-in", .family = FAMILY_NETWORK,                    \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_NETWORK,                            \
      .duration = DURATION_REQUIRED, .about = "incoming packets are dropped")                      \
    X(CUT_OUT, filter, out_of_reach, .name = "cut-out", .family = FAMILY_NETWORK,                  \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_NETWORK,                            \
      .duration = DURATION_REQUIRED, .about = "outgoing packets are dropped")                      \
    X(CUT, filter, out_of_reach, .name = "cut", .family = FAMILY_NETWORK,                          \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_NETWORK,                            \
      .duration = DURATION_REQUIRED, .about = "incoming and outgoing packets are dropped")         \
    X(HALVES, halves, out_of_reach, .name = "halves", .family = FAMILY_NETWORK,                    \
      .targets = TARGET_CLUSTER, .needs = NEED_NETWORK, .duration = DURATION_REQUIRED,             \
      .effects = EFFECT_ANY_TASK,                                                                  \
      .about = "nodes and servers are split into two halves that cannot reach each other")         \
    X(BLACK_HOLE, filter, out_of_reach, .name = "black-hole", .family = FAMILY_NETWORK,            \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_NETWORK,                            \
      .duration = DURATION_REQUIRED,                                                               \
      .about = "packets of connections that existed before are dropped")                           \
    X(RESET_STORM, reset_storm, out_of_reach, .name = "reset-storm", .family = FAMILY_NETWORK,     \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_NETWORK,                            \
      .duration = DURATION_REQUIRED, .about = "connections are reset five times a second")         \
    X(HOSTILE_CLIENT, hostile_client, out_of_reach, .name = "poke", .family = FAMILY_NETWORK,      \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .duration = DURATION_OPTIONAL,                    \
      .about = "a hostile client sends garbage, FIN and RST to each listening port")               \
    X(LOSS, filter, out_of_reach, .name = "loss", .family = FAMILY_NETWORK,                        \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_NETWORK,                            \
      .duration = DURATION_REQUIRED, .value = {.unit = "percent", .least = 0.1, .most = 100},      \
      .about = "value percent of the packets are lost, in each direction")                         \
    X(BANDWIDTH, bandwidth, out_of_reach, .name = "bandwidth", .family = FAMILY_NETWORK,           \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_BANDWIDTH,                          \
      .duration = DURATION_REQUIRED, .value = {.unit = "Mbit/s", .least = 0.1, .most = 100000},    \
      .about = "the link carries at most value Mbit/s in each direction")                          \
    X(DELAY, proxy, out_of_reach, .name = "delay", .family = FAMILY_NETWORK,                       \
      .targets = TARGET_NODE, .needs = NEED_NETWORK, .duration = DURATION_REQUIRED,                \
      .value = {.unit = "ms", .least = 1, .most = 60000},                                          \
      .about = "received bytes are delayed by up to value ms")                                     \
    X(DUPLICATE, proxy, out_of_reach, .name = "duplicate", .family = FAMILY_NETWORK,               \
      .targets = TARGET_NODE, .needs = NEED_NETWORK, .duration = DURATION_REQUIRED,                \
      .about = "three of ten received frames arrive twice")                                        \
    X(DISK_FULL, disk_full, out_of_reach, .name = "disk-full", .family = FAMILY_DISK,              \
      .targets = TARGET_NODE, .needs = NEED_TMPFS, .duration = DURATION_REQUIRED,                  \
      .about = "the device of all checkpoints is full")                                            \
    X(DISK_ERROR, disk, out_of_reach, .name = "disk-error", .family = FAMILY_DISK,                 \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_SHIM,                               \
      .duration = DURATION_REQUIRED, .about = "writes to files fail with EIO")                     \
    X(SYNC_FAILS, disk, out_of_reach, .name = "sync-fails", .family = FAMILY_DISK,                 \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_SHIM,                               \
      .duration = DURATION_REQUIRED, .about = "fsync fails with EIO")                              \
    X(SYNC_SLOW, disk, out_of_reach, .name = "sync-slow", .family = FAMILY_DISK,                   \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_SHIM,                               \
      .duration = DURATION_REQUIRED, .value = {.unit = "ms", .least = 1, .most = 60000},           \
      .about = "each fsync takes value ms longer")                                                 \
    X(FLIP_BITS, damage, out_of_reach, .name = "flip-bits", .family = FAMILY_DISK,                 \
      .targets = TARGET_NODE, .effects = EFFECT_DAMAGES_CHECKPOINT,                                \
      .value = {.unit = "bits", .least = 1, .most = 1e6, .has_default = true},                     \
      .about = "value bits of the newest shard are flipped (default 8), then SIGKILL")             \
    X(TRUNCATE, damage, out_of_reach, .name = "truncate", .family = FAMILY_DISK,                   \
      .targets = TARGET_NODE, .effects = EFFECT_DAMAGES_CHECKPOINT,                                \
      .value = {.unit = "bytes", .least = 1, .most = 1e9, .has_default = true},                    \
      .about = "the newest shard loses its last value bytes (default: half), then SIGKILL")        \
    X(SWAP_SHARDS, damage, out_of_reach, .name = "swap-shards", .family = FAMILY_DISK,             \
      .targets = TARGET_CLUSTER, .effects = EFFECT_DAMAGES_CHECKPOINT | EFFECT_ANY_TASK,           \
      .about = "two ps find each other's newest shard, then SIGKILL")                              \
    X(STALE_SHARD, damage, out_of_reach, .name = "stale-shard", .family = FAMILY_DISK,             \
      .targets = TARGET_NODE, .effects = EFFECT_DAMAGES_CHECKPOINT,                                \
      .about = "the newest shard is overwritten with an older one, then SIGKILL")                  \
    X(MEMORY, limit, out_of_reach, .name = "memory", .family = FAMILY_LIMITS,                      \
      .targets = TARGET_NODE, .duration = DURATION_REQUIRED,                                       \
      .value = {.unit = "MiB", .least = 0, .most = 1048576},                                       \
      .about = "the process can map only value MiB more")                                          \
    X(DESCRIPTORS, limit, out_of_reach, .name = "descriptors", .family = FAMILY_LIMITS,            \
      .targets = TARGET_NODE, .duration = DURATION_REQUIRED,                                       \
      .value = {.unit = "files", .least = 0, .most = 1048576},                                     \
      .about = "the process can open only value files more")                                       \
    X(CLOCK_JUMP, clock, out_of_reach, .name = "clock-jump", .family = FAMILY_LIMITS,              \
      .targets = TARGET_NODE | TARGET_ZOOKEEPER, .needs = NEED_SHIM,                               \
      .duration = DURATION_REQUIRED, .value = {.unit = "ms", .least = -1e12, .most = 1e12},        \
      .about = "the wall clock is value ms ahead")                                                 \
    X(TWICE, operator, out_of_reach, .name = "twice", .family = FAMILY_OPERATOR,                   \
      .targets = TARGET_NODE, .effects = EFFECT_MUST_BE_REFUSED,                                   \
      .about = "the same task is started a second time, by hand")                                  \
    X(TWO_CLUSTERS, operator, out_of_reach, .name = "two-clusters", .family = FAMILY_OPERATOR,     \
      .targets = TARGET_CLUSTER, .effects = EFFECT_MUST_BE_REFUSED,                                \
      .about = "a second cluster of the same name is started")                                     \
    X(MIXED_JOBS, operator, out_of_reach, .name = "mixed-jobs", .family = FAMILY_OPERATOR,         \
      .targets = TARGET_NODE, .effects = EFFECT_MUST_BE_REFUSED,                                   \
      .about = "a node with a different job file is started")                                      \
    X(RESIGN, request, remote_resign, .name = "resign", .family = FAMILY_OPERATOR,                 \
      .targets = TARGET_CLUSTER, .effects = EFFECT_ANY_TASK,                                       \
      .about = "the chief is asked to resign")                                                     \
    X(PAUSE, request, remote_pause, .name = "pause", .family = FAMILY_OPERATOR,                    \
      .targets = TARGET_CLUSTER, .duration = DURATION_REQUIRED, .effects = EFFECT_ANY_TASK,        \
      .about = "the workers are paused, and resumed at the end")                                   \
    X(STALL, failpoint, out_of_reach, .name = "stall", .family = FAMILY_FAILPOINT,                 \
      .targets = TARGET_NODE, .needs = NEED_FAILPOINTS, .at_failpoint = POINT_STALL,               \
      .value = {.unit = "ms", .least = 1, .most = 600000},                                         \
      .about = "the thread sleeps for value ms at a failpoint")                                    \
    X(FAIL, failpoint, out_of_reach, .name = "fail", .family = FAMILY_FAILPOINT,                   \
      .targets = TARGET_NODE, .needs = NEED_FAILPOINTS, .at_failpoint = POINT_FAIL,                \
      .about = "the operation at a failpoint fails with an I/O error")

#endif
