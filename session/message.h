/*
 * session/message.h: the messages between the client of a session and its servers, in frames of
 * type FRAME_SESSION (docs/session.md). A body of any size travels in chunks.
 *
 * Pure. Threads: any.
 */
#ifndef SESSION_MESSAGE_H
#define SESSION_MESSAGE_H

#include "common/net/transport.h"

/* Servers and clients belong to no cluster; all use this cluster key. */
#define SESSION_CLUSTER UINT64_C(0x74616e6973747331)

/* All addresses of servers begin with it. */
#define SESSION_SCHEME "tcp://"

enum {
    SESSION_VERSION = 1,
    SESSION_SERVERS_MAX = 64,
    SESSION_PLANS_MAX = 16, /* In one session; a new one replaces the one used least recently. */
    SESSION_HEARTBEAT_MS = 1000,
    SESSION_EXAMPLES_MAX = 1 << 20,
    SESSION_TEXT_MAX = 1024, /* The text of an error. */
};

enum message_kind {
    MESSAGE_OPEN = 1, /* Client: begins a session, or continues it on another connection. Body:
                       * below. */
    MESSAGE_VALUES,   /* Client: the values of the server's variables. Body: float32. */
    MESSAGE_PLAN,     /* Client: the server's parts of a plan. Body: session/server_plan.h. */
    MESSAGE_READY,    /* Server: the plan is compiled. */
    MESSAGE_DROP,     /* Client: the plan is no longer used. */
    MESSAGE_RUN,      /* Client: begins a run of the plan; its fields follow as tensors. */
    MESSAGE_TENSOR,   /* Client or server: the value of an edge in a run. Body: its elements. */
    MESSAGE_DONE,     /* Server: its parts of the run are computed. */
    MESSAGE_FAILED,   /* Server: an order cannot be carried out. Body: status, text. */
    MESSAGE_KINDS,
};

struct message {
    enum message_kind kind;
    uint64_t session; /* Random; a peer that knows it belongs to the session. */
    uint64_t run;     /* RUN, TENSOR, DONE; FAILED: 0 if it is not about a run. */
    uint32_t plan;    /* PLAN, READY, DROP, RUN, TENSOR, DONE. Numbers grow and are not reused. */
    uint32_t edge;    /* TENSOR. */
    uint64_t bytes;   /* The size of the whole body. */
};

/* Send a message. Takes one reference of `body`; NULL: the body is empty. */
void message_send(const struct transport_port *port, conn_id conn, const struct message *message,
                  struct buffer *body);
/* False: the frame is not a message. */
bool message_read(const struct frame_header *header, struct message *out);

/* The body of OPEN. */
struct message_open {
    uint32_t self, count;                                     /* The server's own number. */
    char servers[SESSION_SERVERS_MAX][TRANSPORT_ADDRESS_MAX]; /* "tcp://h1:2222" */
    uint64_t floats; /* All values of the server's variables. */
};

/* NULL: out of memory. The caller releases it. */
struct buffer *message_encode_open(struct buffer_pool *pool, const struct message_open *open);
/* TN_EPROTO: the error names the field. */
MUST_CHECK enum tn_status message_decode_open(const struct buffer *body, struct message_open *out,
                                              struct error *error);

/* The body of FAILED. NULL: out of memory. */
struct buffer *message_encode_error(struct buffer_pool *pool, const struct error *error);
/* Whatever the bytes are, `out` is an error. */
void message_decode_error(const struct buffer *body, struct error *out);

#endif
