/* tests/sim/net_model_private.h: shared by the streams of the network and its ports. */
#ifndef SIM_NET_MODEL_PRIVATE_H
#define SIM_NET_MODEL_PRIVATE_H

#include "common/net/loans.h"
#include "common/net/slots.h"
#include "tests/sim/net_model.h"

enum {
    NET_ENDPOINTS_MAX = 4096,
    RETRY_US = 20000,
    NET_PAGE_BYTES = 64, /* Shards of the simulator are smaller than pages of a machine. */
};

/* The memory numbers of lanes that lend begin here. */
#define NET_LENT_MEMORY (UINT64_C(1) << 32)

struct net_frame {
    struct net_frame *next;
    uint64_t due_us;
    uint64_t leaves_us; /* When its sender sends it. */
    bool closes;        /* The end of the stream. */
    enum tn_status status;
    struct frame_header header;
    size_t size;
    struct net_slot *slot; /* The body is in this one, too; NULL: it is not. */
    unsigned loan;         /* It is lent by this number; 0: it is not. */
    uint8_t bytes[];
};

/* One end of a connection, and the stream of frames towards it. */
struct net_side {
    struct net_endpoint *endpoint; /* NULL: no process listens at the address. */
    uint64_t id;
    bool reported_open, reported_closed;
    bool closing; /* This side has closed the connection. */
    uint64_t heard_us;
    struct net_frame *head, **tail;
    uint64_t last_us;
    bool pumping;
};

struct net_link {
    struct net_model *net;
    bool established;
    struct net_side sides[2]; /* [0] is the side that dialled. */
    bool lane;                /* Values are in slots, if one is free. */
    struct net_slot *slots[SLOTS];
    struct net_slot *reservable;   /* For pushes. */
    struct net_borrower *borrower; /* Values are lent to the side that dialled; NULL: none. */
};

struct net_endpoint {
    struct net_model *net;
    uint32_t host;
    uint64_t number, cluster, sender;
    struct buffer_pool *pool;
    transport_sink sink;
    void *ctx;
    bool dead, frozen;
    bool muted;   /* It dies at the end of the present event: what it sends is lost. */
    bool silent;  /* The host died too: it does not refuse connections. */
    bool stopped; /* SIGSTOP: frames that leave later than `stopped_us` wait. */
    uint64_t stopped_us;
    uint64_t delay_us;   /* Frames leave this much later. */
    struct loans *loans; /* A ps has them; NULL: it lends nothing. */
    const void *loan_memory;
};

struct net_model {
    struct world *world;
    struct net_config config;
    struct net_link **links; /* By connection: ids 2i+1 (dialler) and 2i+2. */
    size_t link_count, link_capacity;
    size_t first_open; /* All links before it have ended. */
    struct net_endpoint *endpoints[NET_ENDPOINTS_MAX];
    size_t endpoint_count;
    bool cut[NET_HOSTS_MAX][NET_HOSTS_MAX];
    net_observer observer;
    void *observer_ctx;
    struct net_slot **slots; /* The slots of all links. */
    size_t slot_count;
    struct net_alias *aliases;
    struct net_borrower *borrowers; /* Those that may read lent values. */
    struct random loans_random;
    uint64_t lent; /* Bodies. */
};

/* net_model.c */
uint64_t net_latency(struct net_model *net);
uint64_t net_patience_us(const struct net_model *net); /* Four heartbeats. */
struct net_side *net_other(struct net_link *link, const struct net_side *side);
/* Append a frame (taken over), or the end, to the stream towards `side`. */
void net_append(struct net_link *link, struct net_side *side, struct net_frame *frame);
void net_append_close(struct net_link *link, struct net_side *side, enum tn_status status);
void net_schedule_pump(struct net_link *link, struct net_side *side, uint64_t at_us);
void net_report_open(struct net_link *link, struct net_side *side);

/* net_slots.c */
/* Copy the body of a frame to a free slot. NULL: there is none, or such a body has none. */
struct net_slot *net_slots_put(struct net_link *link, const struct frame_header *header,
                               const void *body, size_t size);
/* Reserve the slot for a push. NULL: not possible. */
struct buffer *net_slots_reserve(struct net_link *link, size_t size);
/* A body that is about to be sent may have been written through pages of an array. */
void net_slots_read_through(struct net_model *net, const struct buffer *body);
/* The slot of a body that is reserved on this link, from now on used by the receiver. NULL: it is
 * elsewhere, or the receiver has not returned it yet. */
struct net_slot *net_slots_lend(struct net_link *link, const struct buffer *body);
/* The body in it; its release returns the slot. */
struct buffer *net_slots_take(struct net_slot *slot, size_t size);
void net_slots_free(struct net_model *net);
/* The pages of arrays that belong to bytes [body, body + bytes) of lent memory: whether there are
 * any at all; they get the contents of the body; they are overwritten, as their owner may do. */
bool net_slots_has_pages(const struct net_model *net, const struct net_borrower *borrower);
void net_slots_show_pages(const struct net_model *net, const struct net_borrower *borrower,
                          const uint8_t *body, size_t bytes);
void net_slots_overwrite_pages(const struct net_model *net, const struct net_borrower *borrower,
                               const uint8_t *body, size_t bytes);

/* net_loans.c */
/* The lane of an established link can borrow from now on, if its accepting side lends. */
void net_loans_join(struct net_link *link);
/* The lane closes at its accepting side. */
void net_loans_leave(struct net_link *link);
/* The accepting side receives a frame. */
void net_loans_collect(struct net_link *link);
/* Lend a part of a body that `side` sends. Returns the number of the loan; 0: it is copied. */
unsigned net_loans_lend(struct net_link *link, const struct net_side *side,
                        const struct frame_header *header, struct buffer *body, size_t from,
                        size_t size);
/* A part of the loan's body; its release returns it, perhaps later. */
struct buffer *net_loans_take(struct net_link *link, unsigned number, size_t offset, size_t size);
void net_loans_free(struct net_link *link);

/* net_port.c */
void net_break_link(struct net_link *link, enum tn_status status);

#endif
