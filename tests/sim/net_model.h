/*
 * tests/sim/net_model.h: the network between nodes under virtual time: connections that delay,
 * break, go half open or silent, and frames that are lost with them. Within a connection frames
 * come whole and in order, as TCP and common/net/transport.c give them: a frame cut by a break is a
 * frame that never came.
 */
#ifndef SIM_NET_MODEL_H
#define SIM_NET_MODEL_H

#include "common/net/transport.h"
#include "tests/sim/world.h"

enum { NET_HOSTS_MAX = 64 };

struct net_model;
struct net_endpoint; /* The transport of one process. */

struct net_config {
    uint32_t latency_us;     /* Usual one-way delay; drawn between a half and the double of it. */
    uint32_t slow_per_mille; /* Frames that take up to `slow_us` instead. */
    uint32_t slow_us;
    uint32_t break_per_mille; /* Frames at which the connection breaks instead. */
    uint32_t heartbeat_ms;    /* A side that hears nothing for four of these closes. */
};

/* Told of each frame when it is delivered; `receiver` is the ctx of its endpoint. For the checker.
 */
typedef void (*net_observer)(void *ctx, void *receiver, const struct frame_header *header,
                             const void *body);

struct net_model *net_model_create(struct world *world, const struct net_config *config);
void net_model_free(struct net_model *net);
void net_model_observe(struct net_model *net, net_observer observer, void *ctx);
/* After which no frame is slow or breaks its connection any more. */
void net_model_heal(struct net_model *net);
/* Cut the way from one host to another (one direction). */
void net_model_cut(struct net_model *net, uint32_t from, uint32_t to, bool cut);

/* A process on `host` starts its transport. Endpoints live as long as the network. */
struct net_endpoint *net_endpoint_open(struct net_model *net, uint32_t host, uint64_t cluster,
                                       uint64_t sender, struct buffer_pool *pool,
                                       transport_sink sink, void *ctx);
struct transport_port net_endpoint_port(struct net_endpoint *endpoint);
void net_endpoint_address(const struct net_endpoint *endpoint, char *text, size_t size);
/* The process died: its peers are told by the kernel, unless its whole host died (`silently`). */
void net_endpoint_kill(struct net_endpoint *endpoint, bool silently);
void net_endpoint_freeze(struct net_endpoint *endpoint, bool frozen);
/* Break every connection of the endpoint now. */
void net_endpoint_reset(struct net_endpoint *endpoint);

#endif
