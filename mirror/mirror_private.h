/* mirror/mirror_private.h: shared by mirror_worker.c (the reactor), mirror_frames.c (frames of
 * peers and observers) and mirror_actions.c (the actions of the core); no other file includes it.
 */
#ifndef MIRROR_MIRROR_PRIVATE_H
#define MIRROR_MIRROR_PRIVATE_H

#include "common/net/assembly.h"
#include "common/node/membership.h"
#include "common/node/peer_links.h"
#include "common/node/worker_watch.h"
#include "mirror/frame_codec.h"
#include "mirror/mirror_group.h"
#include "mirror/mirror_worker.h"
#include "mirror/replica.h"
#include "mirror/tensors.h"
#include "mirror/turns.h"
#include "ps/checkpoint_client.h"
#include "ps/losses.h"
#include "ps/shard.h"
#include "worker/compute.h"
#include "worker/slice_timer.h"

enum { FOLLOW_UPS_MAX = 4 };

/* A connection on which a peer, or an observer, asks. */
struct asker {
    conn_id conn;
    struct assembly body;
    bool by_lane, trains;
};

/* The arrays of a peer, as they arrive. */
struct fetched {
    uint64_t generation, step;
    uint32_t count; /* The first `count` have arrived. */
    struct buffer *arrays[OPTIMIZER_ARRAYS_MAX];
};

/* A load that the core has ordered. */
struct load_order {
    uint64_t generation, checkpoint, step;
    bool waits; /* For the end of the load before it. */
};

struct mirror_worker {
    struct worker_config config;
    struct node_ports ports;
    struct membership membership;
    struct worker_watch watch;
    struct links links;                   /* To the other workers, by index. */
    struct assembly answers[WORKERS_MAX]; /* On each link. */
    struct fetched fetched[WORKERS_MAX];  /* From each link. */
    uint32_t asker_count;
    struct asker askers[TRANSPORT_CONNECTIONS_MAX];
    struct replica core;
    struct replica_actions actions;
    struct frame_codec_shape shape;
    struct tensors tensors;
    struct shard shard;
    struct shard_rows rows; /* Zeroed: a model with tables is refused. */
    struct checkpoint_client checkpoints;
    struct load_order load;
    struct losses losses;
    struct compute compute;
    struct mirror_group *group; /* NULL: it computes by itself. */
    struct slice_timer timer;
    struct evaluation evaluation; /* The newest of this generation. */
    uint64_t evaluation_ns;       /* The processor time of the last one here; 0: unknown. */
    uint64_t saved_step, missed_checkpoint, late_checkpoint;
    uint64_t failed_load, failed_load_generation, failed_load_missing;
    struct losses_observer observer;
    uint64_t now_ms;
    struct turns turns;
    struct replica_event follow_ups[FOLLOW_UPS_MAX];
    uint32_t follow_up_count;
    uint64_t wait_logged_at_ms;
    uint64_t leave_at_ms;    /* Latest time to leave after the run's end. UINT64_MAX: no end yet. */
    uint64_t drain_until_ms; /* Latest time to leave after a request; 0: there was none. */
    bool finished;
    int exit_code;
    char place[sizeof((struct report *)0)->place];
};

/* The tensor that comes with an event. */
struct brought {
    struct buffer *body; /* PUSH, SUM; with one reference, or NULL. */
    double loss;
};

/* Pass an event to the core and carry out its actions, and those that follow from their results.
 * Takes over the reference of `with`. */
void mirror_feed(struct mirror_worker *worker, struct replica_event event, struct brought with);
/* The node leaves with the first code. */
void mirror_finish(struct mirror_worker *worker, int exit_code);
/* The node logs that memory ran out, and leaves. */
void mirror_out_of_memory(struct mirror_worker *worker);

/* mirror_frames.c */
void mirror_transport(struct mirror_worker *worker, const struct transport_event *event);
/* The arrays that worker `peer` has sent are not needed. */
void mirror_drop_fetched(struct mirror_worker *worker, uint32_t peer);
/* Send a frame under the newest epoch that this worker knows. Takes one reference of `body`, which
 * may be NULL. */
void mirror_send(struct mirror_worker *worker, conn_id conn, struct frame_header header,
                 struct buffer *body);

/* mirror_actions.c: `event` is the one that the core has handled. */
void mirror_carry_out(struct mirror_worker *worker, const struct replica_action *action,
                      const struct replica_event *event, struct brought *with);
void mirror_release_brought(struct brought *with); /* One without a body is allowed. */
/* About the time of an evaluation: of the last one, or of as many examples in training. */
uint64_t mirror_evaluation_ms(const struct mirror_worker *worker);
/* The load from the store has ended. */
void mirror_loaded(struct mirror_worker *worker, bool succeeded);

#endif
