/*
 * common/net/lane_listener.h: how the two ends of a TCP connection find out that they share a host,
 * and get the memory of a lane: over a local socket whose name is derived from the address at which
 * the accepting end listens, in the name space of its network (an abstract socket, which leaves no
 * file).
 *
 *   dialing end                                  accepting end
 *   lane_request(): key, nonce, doorbell         ->
 *                                                <- lane_listener_handle(): memory, doorbell, and
 *                                                   the memory that it lends, if there is one
 *   nonce, over the TCP connection               -> lane_listener_take()
 *
 * Only the nonce, which arrives both ways, proves that both connections lead to the same process.
 * Both ends check that the other belongs to the same user.
 *
 * Threads: one thread serves the listener; lane_listener_take() from any. Blocking: never.
 */
#ifndef COMMON_NET_LANE_LISTENER_H
#define COMMON_NET_LANE_LISTENER_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/lane.h"

enum {
    LANE_CLIENTS_MAX = 16,  /* Whose request has not arrived; others wait to be accepted. */
    LANE_PREPARED_MAX = 64, /* Lanes whose nonce has not arrived; the oldest one is given up. */
    LANE_REASON_MAX = 160,
};

struct lane_nonce {
    uint64_t parts[2];
};

struct lane_client {
    int fd; /* -1: none. */
    uint64_t since_ms;
};

struct lane_prepared {
    struct lane lane; /* All zero: none. */
    struct lane_nonce nonce;
    uint64_t since_ms;
};

struct lane_listener {
    int fd; /* -1: closed. */
    uint64_t cluster;
    int doorbell_fd;     /* Borrowed. */
    struct loans *loans; /* The loans of the lanes; set by the owner; NULL: none. */
    bool starved;        /* A client waits for which there was no descriptor or no memory. */
    struct lane_client clients[LANE_CLIENTS_MAX];
    pthread_mutex_t mutex; /* Guards the next one. */
    struct lane_prepared prepared[LANE_PREPARED_MAX];
};

/* `address` is the one at which the node listens, "127.0.0.1:4000". False: `reason`; the listener
 * is closed then, and the functions below do nothing. */
bool lane_listener_open(struct lane_listener *listener, uint64_t cluster, const char *address,
                        int doorbell_fd, char reason[static LANE_REASON_MAX]);
void lane_listener_close(struct lane_listener *listener);

/* The descriptors to wait for, at most 1 + LANE_CLIENTS_MAX; their number. Without that of the
 * listener while it is starved: it would be readable all the time. */
unsigned lane_listener_polled(struct lane_listener *listener, struct pollfd *polled);
/* Serve the clients; close those that have waited for too long. */
void lane_listener_handle(struct lane_listener *listener, uint64_t now_ms);

/* Take the lane that was prepared for this nonce. False: there is none. */
bool lane_listener_take(struct lane_listener *listener, const struct lane_nonce *nonce,
                        struct lane *out);

/* Ask the listener of the process that listens at `address` on this host. Returns a descriptor that
 * becomes readable with the answer; -1: `reason`. */
int lane_request(uint64_t cluster, const char *address, int doorbell_fd, struct lane_nonce *nonce,
                 char reason[static LANE_REASON_MAX]);
/* Read the answer; the descriptor stays the caller's. False: `reason`. */
bool lane_request_answer(int fd, const struct lane_nonce *nonce, struct lane *out,
                         char reason[static LANE_REASON_MAX]);

#endif
