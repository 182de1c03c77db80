/*
 * chaos/cluster/targets.h: a round's cluster as those who attack it know it: where its files are,
 * which processes it has now, the network it runs in and the knobs inside its processes.
 *
 * Owned by chaos/round.c, borrowed by injectors. Threads: the main thread.
 */
#ifndef CHAOS_CLUSTER_TARGETS_H
#define CHAOS_CLUSTER_TARGETS_H

#include <jansson.h>
#include <sys/types.h>

#include "chaos/plan/fault.h"
#include "common/base/random.h"
#include "common/cluster/job.h"
#include "common/cluster/task.h"
#include "common/faults/fault_control.h"

struct lab;
struct remote;

enum { PLACES_MAX = TASKS_MAX + 8, TARGET_PATH_MAX = 1024, PLACE_NAME_MAX = 24 };

/* A task or a ZooKeeper server: what can be up, down or frozen. */
struct place {
    char name[PLACE_NAME_MAX]; /* "ps:1", "zookeeper:2", "agent" */
    bool is_node;
    struct task task;  /* Of a node. */
    uint32_t server;   /* Number of a ZooKeeper server, from 1; 0: none. */
    pid_t pid;         /* 0: not running, as far as we know. */
    bool frozen;       /* By us. */
    char address[128]; /* Where it listens, "tcp://127.0.0.1:4711" or "127.0.0.1:2181"; "": unknown.
                        */
};

struct target_cluster {
    const char *program;       /* Path of tanist. */
    char dir[TARGET_PATH_MAX]; /* The round's folder; injectors may keep files in DIR/scratch. */
    char run_dir[TARGET_PATH_MAX];  /* --dir of the run. */
    char job_file[TARGET_PATH_MAX]; /* As given to the run. */
    const struct job *job;          /* With everything applied. */
    char connect[1024];             /* ZooKeeper, once it is known; "" before. */
    uint32_t count;
    struct place places[PLACES_MAX];       /* The agent first, then servers, then nodes. */
    char chief[PLACE_NAME_MAX];            /* Who is in office and alive; "": nobody. */
    char zookeeper_leader[PLACE_NAME_MAX]; /* "": unknown. */
    struct lab *lab;                       /* NULL: no namespaces; all on loopback. */
    struct fault_control *control; /* Shared with the shim and the failpoints of all processes. */
    struct random random;          /* Of the seed and the round. */
    struct remote *remote;         /* Attacked through ZooKeeper alone; NULL: processes of ours. */
    bool agent_struck;             /* The run ends by our doing: it is started again. */
    uint32_t wipes;                /* Former lives of the ensemble are in DIR/scratch/wiped-1 ... */
    char *const *environment;      /* Of the run; for whoever starts more processes of it. */
};

/* Places of a job's cluster; nothing runs yet. */
void target_cluster_init(struct target_cluster *cluster, const struct job *job);
struct place *target_cluster_place(struct target_cluster *cluster,
                                   const char *name); /* NULL: there is none. */

/* ["agent", "zookeeper:1", "ps:0", ...], a new reference. NULL: out of memory. */
json_t *target_cluster_places_json(const struct target_cluster *cluster);

/* Which place a process is, by its command line (/proc/PID/cmdline: words that each end with a
 * zero, `size` bytes and a zero after them): `tanist ps --index 1 ...` is "ps:1",
 * `java ... DIR/zookeeper/2/zoo.cfg` is "zookeeper:2". False: it is none. Pure. */
bool target_cluster_name_process(const char *words, size_t size, char name[static PLACE_NAME_MAX]);

/* Read from /proc which process is which place now: sets the pids of the agent's children, 0 for
 * what has ended. The agent's own pid is the caller's to set. */
void target_cluster_look(struct target_cluster *cluster);

enum { TARGETS_MAX = PLACES_MAX };

/* A fault that is being done. */
struct strike {
    struct injection injection;
    uint32_t target_count;
    char targets[TARGETS_MAX][PLACE_NAME_MAX]; /* Names of places, as resolved when it began. */
    char text[512]; /* What was done, for people: "SIGKILL to ps:1 (pid 123)". Set by the injector.
                     */
    void *state;    /* The injector's own, between strike and undo; undo frees it. */
};

/* Whom `strike->injection.whom` means now: sets its targets. TN_EAGAIN: nobody. */
MUST_CHECK enum tn_status target_cluster_resolve(struct target_cluster *cluster,
                                                 struct strike *strike, struct error *error);

/*
 * Who does a fault. `begin` never blocks for more than some 50 ms; what lasts is undone by `end`,
 * which is called exactly once for each begin that returned TN_OK and has `for_ms` > 0: when its
 * time is over, or when the round ends before. `tick`, which may be NULL, is called about every 20
 * ms in between. Both may set `strike->injection.for_ms`: how long it lasts may depend on what
 * comes of it. A text that begins with "WRONG:" says that something kept no promise.
 *
 *   TN_EAGAIN   the target is not there now: begin again soon
 *   TN_ENOTSUP  this machine cannot do it (the error says why): the fault is skipped
 *   others      the fault could not be done
 */
struct injector {
    enum tn_status (*begin)(struct target_cluster *cluster, struct strike *strike,
                            struct error *error);
    void (*tick)(struct target_cluster *cluster, struct strike *strike);
    void (*end)(struct target_cluster *cluster, struct strike *strike);
};

#endif
