/*
 * tests/sim/replicas/scene.h: replicas (mirror/replica.h) under virtual time. The state machine is
 * the real one; its driver, the network, the processes and the chief are models. Slices, sums and
 * values are 64-bit hashes: the addition is neither commutative nor associative, so a sum of other
 * slices, in another order or of another step has other bits.
 *
 * Modelled: processes (killed alone, several at once, all; frozen, waking as a zombie beside the
 * successor), directed connections (delays, order, breaks with loss, questions that arrive after
 * the death of the asker), partitions, slow workers, ZooKeeper as orders that come late and of
 * which some are never seen, its outages, chiefs that die, slices that move at any time,
 * hosts, whose workers have relays (M14),
 * groups that lose a member and with it a computation (M13, in one seed of four), checkpoints,
 * evaluations, requests to stop and to go back. Not modelled: disks, the chunks of a frame, the
 * protocol of ZooKeeper, the fence of the chief.
 *
 * Checked:
 *
 *   I3   a committed checkpoint has the values of its step, of each range
 *   I6   each sum, the values of each step and each evaluation have the bits of the undisturbed run
 *   I10  when faults end, training continues and ends within a bound
 *   I14  each multiple of the interval is evaluated
 *   I18  no replica goes back a step within a generation
 *   I19  no load is ordered while a registered replica holds values, unless an operator demands it
 */
#ifndef SIM_REPLICAS_SCENE_H
#define SIM_REPLICAS_SCENE_H

#include "mirror/replica.h"
#include "tests/sim/world.h"

#define SCENE_RELEASED 0xdeadbeefdeadbeefu /* In the memory of a tensor that was released. */

enum {
    SCENE_WORKERS = 6,
    SCENE_HOSTS = 3,
    SCENE_RANGES = 6,
    SCENE_SLICES = 8,
    SCENE_STEPS = 64,
    SCENE_PROCESSES = 128,
    SCENE_CONNS = 6000,
    SCENE_CHECKPOINTS = 600,
    SCENE_SUMS = 8, /* Sums of this number of steps have a place, by step. */
    SCENE_SESSION_US = 300000,
    SCENE_FAULTS_US = 1500000, /* All faults have ended by then. */
    SCENE_BOUND_US = 12000000, /* The run ends within this time after the faults. */
};

struct value {
    uint64_t parameter, moment;
};

/* The body of a frame. */
struct body {
    uint64_t sum;
    struct value values[SCENE_RANGES];
};

struct process {
    bool alive, expired;
    uint32_t index, id, host;
    uint64_t frozen_until_us, slow_us;
    uint64_t ticks_at_us; /* The next tick that was asked for. */
    struct replica core;
    struct value values[SCENE_RANGES];
    uint64_t own[SCENE_SLICES][SCENE_RANGES];     /* By node. */
    uint64_t held[SCENE_RANGES][2][SCENE_SLICES]; /* By range, parity of step, slot. */
    uint64_t sums[SCENE_RANGES][SCENE_SUMS];      /* By range and step. */
    uint64_t seen_generation, seen_step;          /* I18. */
    uint64_t saved_checkpoint, missed_checkpoint;
    uint32_t saved_ranges;
    uint64_t evaluated_step, evaluated_digest; /* STEP_NONE: nothing. */
    uint32_t link[SCENE_WORKERS];              /* Connection to that worker; 0: none. */
    struct value computing_from[SCENE_RANGES];
    uint64_t computing_step;
    uint32_t computing_first, computing_count;
    struct slice_node computing_nodes[SCENE_SLICES];
    uint32_t computations_lost; /* Computations that will end without a result. */
};

struct conn {
    uint32_t from, to;       /* Processes. */
    bool is_dialled;         /* Not open yet. */
    bool open_from, open_to; /* As each end knows. */
    uint64_t last_us[2];     /* Time of the last frame, in each direction. */
};

/* The report of a worker to the chief. */
struct observed {
    bool known;
    uint32_t process;
    bool whole;
    uint64_t generation, step, epoch, revision;
    uint64_t saved_checkpoint, missed_checkpoint;
    uint32_t saved_ranges;
    uint64_t waits_for_checkpoint;
    uint64_t evaluated_step, evaluated_digest;
};

struct stored {
    bool present;
    uint64_t step;
    struct value value;
};

struct counts {
    uint64_t seeds, failed, kills, freezes, breaks, cuts, chiefs, moves, loads, pauses, commits;
    uint64_t skips, evaluations, stops, restores, values_sent, pushes, pulls, steps;
    uint64_t incomplete; /* Groups that lost a member. */
    uint64_t forwards;   /* By relays. */
    uint64_t lost[4];    /* Kills with a replica left that lost the furthest 0, 1, 2, more steps. */
};

struct scene {
    struct world *world;
    struct counts *counts;
    uint32_t workers, ranges, slices, keep_sums, hosts;
    uint64_t job, steps;
    struct value reference[SCENE_STEPS + 1][SCENE_RANGES];
    uint64_t reference_sum[SCENE_STEPS][SCENE_RANGES];
    uint32_t process_count, conn_count;
    struct process processes[SCENE_PROCESSES];
    struct conn conns[SCENE_CONNS];
    uint32_t member[SCENE_WORKERS]; /* Id + 1 of the process that is registered; 0: none. */
    bool cut[SCENE_WORKERS][SCENE_WORKERS];
    bool healed, finished;
    bool has_groups; /* Workers may be unable to compute. */
    uint64_t zookeeper_down_until_us;
    struct stored store[SCENE_CHECKPOINTS][SCENE_RANGES];
    /* In ZooKeeper. */
    struct run run;
    uint16_t writers[RANGES_MAX];
    struct assignment assignment;
    /* The chief. */
    bool chief_up;
    bool assigns; /* It has assigned slices. */
    uint64_t checkpoint_every, evaluate_every;
    struct observed observed[SCENE_WORKERS];
};

/* arithmetic.c */
void scene_make_reference(struct scene *s);
uint64_t scene_gradient(const struct scene *s, const struct value *values, uint64_t step,
                        struct slice_node node, uint32_t range);
/* The parts make up `root`. */
uint64_t scene_add(const struct scene *s, struct slice_node root, const struct replica_part *parts,
                   uint32_t count, const uint64_t slots[static SCENE_SLICES]);
struct value scene_apply(struct value value, uint64_t sum, uint64_t step);
uint64_t scene_digest(const struct scene *s, const struct value *values);

/* relay.c: REPLICA_DO_FORWARD. */
void scene_forward(struct scene *s, struct process *p, const struct replica_action *action,
                   const struct replica_part *parts);

/* process.c */
void scene_spawn(struct scene *s, uint32_t worker);
void scene_die(struct scene *s, struct process *p);
void scene_kill(struct scene *s, struct process *p);
/* Its group is complete, or lacks a member. */
void scene_set_able(struct scene *s, struct process *p, bool is_able);
void scene_feed(struct scene *s, struct process *p, struct replica_event event,
                const struct body *body);
/* It is registered, and has values of the ordered generation. */
bool scene_holds(const struct scene *s, const struct process *p);
uint64_t scene_furthest(const struct scene *s);
uint32_t scene_holders(const struct scene *s);
/* The registered process of a worker that is alive; NULL: none. */
struct process *scene_member(struct scene *s, uint32_t worker);

/* network.c */
uint64_t scene_delay_us(struct scene *s);
void scene_send(struct scene *s, uint32_t conn, bool answers, const struct replica_event *event,
                const struct body *body);
void scene_break(struct scene *s, uint32_t conn);
void scene_dial(struct scene *s, struct process *p);
/* Both ends of its connections learn of the death. */
void scene_close_all(struct scene *s, const struct process *p);

/* chief.c */
void scene_chief_start(struct scene *s);
void scene_report(struct scene *s, const struct process *p);
/* The process reads /run and /assignment, some time later. */
void scene_notify(struct scene *s, const struct process *p);
void scene_request_stop(struct scene *s);
/* An operator demands the committed checkpoint, although replicas hold values. */
void scene_request_restore(struct scene *s);

/* faults.c */
void scene_plan_faults(struct scene *s);

#endif
