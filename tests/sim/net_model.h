/*
 * tests/sim/net_model.h: a model of the network between nodes under virtual time: connections that
 * delay, break, stay half open or fall silent, and frames that are lost with them. Within a
 * connection frames arrive complete and in order, as with TCP and common/net/transport.c: a frame
 * cut by a break never arrives.
 */
#ifndef SIM_NET_MODEL_H
#define SIM_NET_MODEL_H

#include "common/base/memory_alias.h"
#include "common/net/transport.h"
#include "tests/sim/world.h"

enum { NET_HOSTS_MAX = 64 };

struct net_model;
struct net_endpoint; /* The transport of one process. */
struct loan_memory;

struct net_config {
    uint32_t latency_us;     /* One-way delay: drawn from half to twice this. */
    uint32_t slow_per_mille; /* Share of frames that take up to `slow_us`. */
    uint32_t slow_us;
    uint32_t break_per_mille; /* Share of frames at which the connection breaks. */
    uint32_t heartbeat_ms;    /* A side that receives nothing for four of these closes. */
    /* Pushes and values are cut by it, a multiple of 64; 0: WIRE_CHUNK_BYTES. */
    uint32_t chunk_bytes;
    bool lanes;              /* Values and gradients are in memory that ps and worker share. */
    bool lends;              /* Then a ps that keeps memory lends values there. */
    uint32_t loan_slots;     /* The most that are lent. */
    uint64_t read_longer_us; /* Some values are read this much longer than the worker needs them. */
};

/* Called for each delivered frame; `receiver` is the ctx of its endpoint. */
typedef void (*net_observer)(void *ctx, void *receiver, const struct frame_header *header,
                             const void *body);

struct net_model *net_model_create(struct world *world, const struct net_config *config);
void net_model_free(struct net_model *net);
uint64_t net_model_lent(const struct net_model *net); /* Bodies that were lent so far. */
void net_model_observe(struct net_model *net, net_observer observer, void *ctx);
/* From now on no frame is slow or breaks its connection, and no hosts are cut off. */
void net_model_heal(struct net_model *net);
/* Cuts the network from one host to another (one direction), or restores it. */
void net_model_cut(struct net_model *net, uint32_t from, uint32_t to, bool cut);

/* Starts the transport of a process on `host`. The network owns the endpoint. */
struct net_endpoint *net_endpoint_open(struct net_model *net, uint32_t host, uint64_t cluster,
                                       uint64_t sender, struct buffer_pool *pool,
                                       transport_sink sink, void *ctx);
/* The process lends values in this memory to those that dial it, as the product does. */
void net_endpoint_lend(struct net_endpoint *endpoint, const struct loan_memory *memory);
/* The process has ended, and releases its buffers. */
void net_endpoint_end_loans(struct net_endpoint *endpoint);
/* Before the process handles an event: the values that are lent to it have not changed. */
void net_endpoint_check_loans(const struct net_endpoint *endpoint);
struct transport_port net_endpoint_port(struct net_endpoint *endpoint);
struct memory_port net_endpoint_memory(struct net_endpoint *endpoint);
void net_endpoint_address(const struct net_endpoint *endpoint, char *text, size_t size);
/* The process died: the kernel closes its connections, unless the host died (`silently`). */
void net_endpoint_kill(struct net_endpoint *endpoint, bool silently);
/* It will be killed after the present event: all that it sends until then is lost. */
void net_endpoint_mute(struct net_endpoint *endpoint);
/* Frames that the process sends from now on leave this much later. */
void net_endpoint_delay(struct net_endpoint *endpoint, uint64_t delay_us);
void net_endpoint_freeze(struct net_endpoint *endpoint, bool frozen);
/* SIGSTOP and SIGCONT: frames that would have left after the stop leave at its end. */
void net_endpoint_stop(struct net_endpoint *endpoint, bool stopped);
/* Breaks every connection of the endpoint now. */
void net_endpoint_reset(struct net_endpoint *endpoint);

#endif
