/*
 * chaos/plan/fault_list.h: the faults that can be injected, one row each. Every table about faults
 * is derived from this one: chaos/plan/fault.c describes them, chaos/inject/injectors.c binds the
 * injectors, docs/chaos.md documents them. To add a fault, add a row here and its injector.
 *
 * X(constant, name, family, targets, needs, duration, injector, remote injector, about, other
 *   fields of struct fault_descriptor...)
 *
 * The injector `kill` is the variable `injector_kill` (chaos/inject/injector.h). The remote
 * injector acts on a cluster of which only ZooKeeper can be reached; `out_of_reach` refuses.
 */
#ifndef CHAOS_PLAN_FAULT_LIST_H
#define CHAOS_PLAN_FAULT_LIST_H

#define FAULT_LIST(X)                                                                              \
    X(KILL, "kill", PROCESS, TARGET_NODE | TARGET_AGENT | TARGET_ZOOKEEPER | TARGET_EVERYTHING, 0, \
      NONE, kill, remote_kill, "SIGKILL", .at_failpoint = POINT_KILL)                              \
    X(TERMINATE, "terminate", PROCESS, TARGET_NODE | TARGET_AGENT | TARGET_ZOOKEEPER, 0, NONE,     \
      terminate, remote_terminate, "SIGTERM", .effects = EFFECT_ASKS_TO_RESIGN)                    \
    X(FREEZE, "freeze", FREEZE, TARGET_NODE | TARGET_AGENT | TARGET_ZOOKEEPER, 0, REQUIRED,        \
      freeze, remote_freeze, "SIGSTOP, and SIGCONT at the end", .at_failpoint = POINT_FREEZE)      \
    X(ZOMBIE, "zombie", FREEZE, TARGET_NODE, 0, REQUIRED, zombie, out_of_reach,                    \
      "SIGSTOP to the node and its agent; at the end the node continues first")                    \
    X(CRASH_LOOP, "crash-loop", PROCESS, TARGET_NODE, 0, REQUIRED, crash_loop, remote_crash_loop,  \
      "SIGKILL to each new incarnation until the end")                                             \
    X(OUTAGE, "outage", ZOOKEEPER, TARGET_ZOOKEEPER, 0, REQUIRED, freeze, out_of_reach,            \
      "ZooKeeper servers are frozen until the end", .effects = EFFECT_ANY_TASK)                    \
    X(WIPE, "wipe", ZOOKEEPER, TARGET_CLUSTER, 0, NONE, wipe, out_of_reach,                        \
      "all ZooKeeper servers are killed and their data is removed", .effects = EFFECT_ANY_TASK)    \
    X(CUT_ZOOKEEPER, "cut-zookeeper", NETWORK, TARGET_NODE, NEED_NETWORK, REQUIRED, filter,        \
      out_of_reach, "packets to and from ZooKeeper are dropped")                                   \
    X(CUT_PEERS, "cut-peers", NETWORK, TARGET_NODE, NEED_NETWORK, REQUIRED, filter, out_of_reach,  \
      "packets to and from other nodes are dropped")                                               \
    X(CUT_IN, "cut-in", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_NETWORK, REQUIRED, filter,   \
      out_of_reach, "incoming packets are dropped")                                                \
    X(CUT_OUT, "cut-out", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_NETWORK, REQUIRED, filter, \
      out_of_reach, "outgoing packets are dropped")                                                \
    X(CUT, "cut", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_NETWORK, REQUIRED, filter,         \
      out_of_reach, "incoming and outgoing packets are dropped")                                   \
    X(HALVES, "halves", NETWORK, TARGET_CLUSTER, NEED_NETWORK, REQUIRED, halves, out_of_reach,     \
      "nodes and servers are split into two halves that cannot reach each other",                  \
      .effects = EFFECT_ANY_TASK)                                                                  \
    X(BLACK_HOLE, "black-hole", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_NETWORK, REQUIRED,   \
      filter, out_of_reach, "packets of connections that existed before are dropped")              \
    X(RESET_STORM, "reset-storm", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_NETWORK, REQUIRED, \
      reset_storm, out_of_reach, "connections are reset five times a second")                      \
    X(HOSTILE_CLIENT, "poke", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, 0, OPTIONAL,                \
      hostile_client, out_of_reach,                                                                \
      "a hostile client sends garbage, FIN and RST to each listening port; a worker has none")     \
    X(LOSS, "loss", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_NETWORK, REQUIRED, filter,       \
      out_of_reach, "value percent of the packets are lost, in each direction",                    \
      .value = {.unit = "percent", .least = 0.1, .most = 100})                                     \
    X(BANDWIDTH, "bandwidth", NETWORK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_BANDWIDTH, REQUIRED,   \
      bandwidth, out_of_reach, "the link carries at most value Mbit/s in each direction",          \
      .value = {.unit = "Mbit/s", .least = 0.1, .most = 100000})                                   \
    X(DELAY, "delay", NETWORK, TARGET_NODE, NEED_NETWORK, REQUIRED, proxy, out_of_reach,           \
      "received bytes are delayed by up to value ms",                                              \
      .value = {.unit = "ms", .least = 1, .most = 60000})                                          \
    X(DUPLICATE, "duplicate", NETWORK, TARGET_NODE, NEED_NETWORK, REQUIRED, proxy, out_of_reach,   \
      "three of ten received frames arrive twice")                                                 \
    X(DISK_FULL, "disk-full", DISK, TARGET_NODE, NEED_TMPFS, REQUIRED, disk_full, out_of_reach,    \
      "the device of all checkpoints is full")                                                     \
    X(DISK_ERROR, "disk-error", DISK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_SHIM, REQUIRED, disk,   \
      out_of_reach, "writes to files fail with EIO")                                               \
    X(SYNC_FAILS, "sync-fails", DISK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_SHIM, REQUIRED, disk,   \
      out_of_reach, "fsync fails with EIO")                                                        \
    X(SYNC_SLOW, "sync-slow", DISK, TARGET_NODE | TARGET_ZOOKEEPER, NEED_SHIM, REQUIRED, disk,     \
      out_of_reach, "each fsync takes value ms longer",                                            \
      .value = {.unit = "ms", .least = 1, .most = 60000})                                          \
    X(FLIP_BITS, "flip-bits", DISK, TARGET_NODE, 0, NONE, damage, out_of_reach,                    \
      "value bits of the newest shard are flipped (default 8), then SIGKILL",                      \
      .effects = EFFECT_DAMAGES_CHECKPOINT,                                                        \
      .value = {.unit = "bits", .least = 1, .most = 1e6, .has_default = true})                     \
    X(TRUNCATE, "truncate", DISK, TARGET_NODE, 0, NONE, damage, out_of_reach,                      \
      "the newest shard loses its last value bytes (default: half), then SIGKILL",                 \
      .effects = EFFECT_DAMAGES_CHECKPOINT,                                                        \
      .value = {.unit = "bytes", .least = 1, .most = 1e9, .has_default = true})                    \
    X(SWAP_SHARDS, "swap-shards", DISK, TARGET_CLUSTER, 0, NONE, damage, out_of_reach,             \
      "two ps find each other's newest shard, then SIGKILL",                                       \
      .effects = EFFECT_DAMAGES_CHECKPOINT | EFFECT_ANY_TASK)                                      \
    X(STALE_SHARD, "stale-shard", DISK, TARGET_NODE, 0, NONE, damage, out_of_reach,                \
      "the newest shard is overwritten with an older one, then SIGKILL",                           \
      .effects = EFFECT_DAMAGES_CHECKPOINT)                                                        \
    X(MEMORY, "memory", LIMITS, TARGET_NODE, 0, REQUIRED, limit, out_of_reach,                     \
      "the process can map only value MiB more",                                                   \
      .value = {.unit = "MiB", .least = 0, .most = 1048576})                                       \
    X(DESCRIPTORS, "descriptors", LIMITS, TARGET_NODE, 0, REQUIRED, limit, out_of_reach,           \
      "the process can open only value files more",                                                \
      .value = {.unit = "files", .least = 0, .most = 1048576})                                     \
    X(CLOCK_JUMP, "clock-jump", LIMITS, TARGET_NODE | TARGET_ZOOKEEPER, NEED_SHIM, REQUIRED,       \
      clock, out_of_reach, "the wall clock is value ms ahead",                                     \
      .value = {.unit = "ms", .least = -1e12, .most = 1e12})                                       \
    X(TWICE, "twice", OPERATOR, TARGET_NODE, 0, NONE, operator, out_of_reach,                      \
      "the same task is started a second time, by hand", .effects = EFFECT_MUST_BE_REFUSED)        \
    X(TWO_CLUSTERS, "two-clusters", OPERATOR, TARGET_CLUSTER, 0, NONE, operator, out_of_reach,     \
      "a second cluster of the same name is started", .effects = EFFECT_MUST_BE_REFUSED)           \
    X(MIXED_JOBS, "mixed-jobs", OPERATOR, TARGET_NODE, 0, NONE, operator, out_of_reach,            \
      "a node with a different job file is started", .effects = EFFECT_MUST_BE_REFUSED)            \
    X(RESIGN, "resign", OPERATOR, TARGET_CLUSTER, 0, NONE, request, remote_resign,                 \
      "the chief is asked to resign", .effects = EFFECT_ANY_TASK | EFFECT_ASKS_TO_RESIGN)          \
    X(PAUSE, "pause", OPERATOR, TARGET_CLUSTER, 0, REQUIRED, request, remote_pause,                \
      "the workers are paused, and resumed at the end", .effects = EFFECT_ANY_TASK)                \
    X(STALL, "stall", FAILPOINT, TARGET_NODE, NEED_FAILPOINTS, NONE, failpoint, out_of_reach,      \
      "the thread sleeps for value ms at a failpoint", .at_failpoint = POINT_STALL,                \
      .value = {.unit = "ms", .least = 1, .most = 600000})                                         \
    X(FAIL, "fail", FAILPOINT, TARGET_NODE, NEED_FAILPOINTS, NONE, failpoint, out_of_reach,        \
      "the operation at a failpoint fails with an I/O error", .at_failpoint = POINT_FAIL)          \
    X(GPU_ERROR, "gpu-error", GPU, TARGET_NODE, NEED_FAILPOINTS, NONE, failpoint, out_of_reach,    \
      "the driver of the GPU reports an error at a failpoint", .at_failpoint = POINT_FAIL)         \
    X(GPU_MEMORY, "gpu-memory", GPU, TARGET_NODE, NEED_FAILPOINTS, REQUIRED, gpu, out_of_reach,    \
      "SIGKILL; until the end, the next process can allocate no memory of its GPU")                \
    X(GPU_LOST, "gpu-lost", GPU, TARGET_NODE, NEED_FAILPOINTS, REQUIRED, gpu, out_of_reach,        \
      "the GPU of the worker or ps has disappeared until the end")

#endif
