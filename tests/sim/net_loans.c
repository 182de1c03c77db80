/* Values that a ps lends in memory that outlives it (T10): one object, which workers read at any
 * time until they return it. The code of the ps is the product's (common/net/loans.c); workers, and
 * the locks by which the kernel reports what they have mapped, are modelled. A body that is lent
 * must not change before it is returned, whichever process writes to the memory: that is compared
 * at each event of the worker. Some bodies are read for longer than the worker uses them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/loan_locks.h"
#include "tests/sim/net_model_private.h"

enum {
    NEVER_RETURNED = 16, /* One of these that are read for longer. */
    READ_LONGER = 4,     /* One of these is. */
};

/* A body that is lent, by its number. */
struct net_loan {
    struct net_borrower *borrower;
    const uint8_t *body;
    uint8_t *expected; /* A copy of the whole body. */
    size_t bytes;
    unsigned parts; /* Sent, and not returned; 0: nothing is lent. */
    unsigned taken; /* Parts that the worker has taken and not returned. */
    unsigned used;  /* Parts that the node has not released. */
};

/* A part that the worker has taken and not returned. */
struct net_part {
    struct net_part *next;
    struct net_loan *loan;
};

/* The worker's end of a lane. */
struct net_borrower {
    struct net_borrower *next; /* In the list of those that may read. */
    struct net_link *link;
    struct loan_account *account; /* NULL: the lane has closed at its other end. */
    int fd;                       /* The memory. */
    off_t lock;
    const uint8_t *memory;
    struct loans_shared shared;
    struct net_loan loans[LOANS];
    struct net_part *parts;
};

/* For the replaced functions: the network, and the lane that is being opened. */
static struct net_model *current;
static struct net_borrower *joining;

/* ------------------------------------------------------------------------ locks */

/* The process has the memory mapped: by the lane, a body in use, or pages of its arrays. */
static bool may_read(const struct net_borrower *borrower)
{
    const struct net_side *side = &borrower->link->sides[0];
    if (side->endpoint->dead) { return false; }
    return !side->reported_closed || borrower->parts != NULL ||
           net_slots_has_pages(borrower->link->net, borrower);
}

/* The linker puts these in the places of the functions. */
bool __wrap_loan_locks_held(int fd, off_t first, off_t count);
int __wrap_loan_locks_open(int fd, off_t position);

bool __wrap_loan_locks_held(int fd, off_t first, off_t count)
{
    for (struct net_borrower **at = &current->borrowers; *at != NULL;) {
        const struct net_borrower *borrower = *at;
        if (!may_read(borrower)) { /* It never can again. */
            *at = borrower->next;
            continue;
        }
        const bool behind = count > 0 && borrower->lock >= first + count;
        if (borrower->fd == fd && borrower->lock >= first && !behind) { return true; }
        at = &(*at)->next;
    }
    return false;
}

int __wrap_loan_locks_open(int fd, off_t position)
{
    assert(joining != NULL);
    joining->fd = fd;
    joining->lock = position;
    return fd;
}

/* ----------------------------------------------------------------------- the ps */

void net_endpoint_lend(struct net_endpoint *endpoint, const struct loan_memory *memory)
{
    struct net_model *net = endpoint->net;
    assert(endpoint->loans == NULL);
    if (!net->config.lanes || !net->config.lends) { return; }
    struct loan_memory offered = *memory;
    offered.least_bytes = NET_PAGE_BYTES; /* Shards of the simulator are small. */
    offered.slots_max = net->config.loan_slots;
    current = net;
    endpoint->loans = loans_open(&offered);
    endpoint->loan_memory = memory->memory;
    assert(endpoint->loans != NULL);
}

void net_endpoint_end_loans(struct net_endpoint *endpoint)
{
    struct net_model *net = endpoint->net;
    if (endpoint->loans == NULL) { return; }
    for (size_t l = 0; l < net->link_count; l++) {
        if (net->links[l]->sides[1].endpoint == endpoint) { net_loans_leave(net->links[l]); }
    }
    loans_close(endpoint->loans);
    endpoint->loans = NULL;
}

void net_loans_join(struct net_link *link)
{
    struct net_model *net = link->net;
    const struct net_endpoint *lender = link->sides[1].endpoint;
    int fd;
    if (!link->lane || lender->loans == NULL) { return; }
    struct net_borrower *borrower = calloc(1, sizeof *borrower);
    assert(borrower != NULL);
    borrower->link = link;
    borrower->memory = lender->loan_memory;
    current = net;
    joining = borrower;
    borrower->account = loans_join(lender->loans, &borrower->shared, &fd);
    joining = NULL;
    if (borrower->account == NULL) {
        free(borrower);
        return;
    }
    borrower->next = net->borrowers;
    net->borrowers = borrower;
    link->borrower = borrower;
}

void net_loans_leave(struct net_link *link)
{
    struct net_borrower *borrower = link->borrower;
    if (borrower == NULL || borrower->account == NULL) { return; }
    current = link->net;
    loans_leave(borrower->account);
    borrower->account = NULL;
}

void net_loans_collect(struct net_link *link)
{
    struct net_borrower *borrower = link->borrower;
    if (borrower != NULL && borrower->account != NULL) { loans_collect(borrower->account); }
}

static void forget(struct net_loan *loan)
{
    free(loan->expected);
    loan->expected = NULL;
}

static void begin_loan(struct net_borrower *borrower, unsigned i, const struct buffer *body)
{
    struct net_loan *loan = &borrower->loans[i];
    *loan = (struct net_loan){.borrower = borrower,
                              .body = borrower->memory + borrower->shared.from[i],
                              .expected = malloc(body->size),
                              .bytes = body->size};
    assert(loan->expected != NULL);
    memcpy(loan->expected, loan->body, loan->bytes);
}

unsigned net_loans_lend(struct net_link *link, const struct net_side *side,
                        const struct frame_header *header, struct buffer *body, size_t from,
                        size_t size)
{
    struct net_borrower *borrower = link->borrower;
    if (borrower == NULL || borrower->account == NULL) { return 0; }
    if (side != &link->sides[1] || header->type != FRAME_VALUES || header->offset > 0) { return 0; }
    current = link->net;
    const unsigned number = loans_lend(borrower->account, body, from, size);
    if (number == 0) { return 0; }
    struct net_loan *loan = &borrower->loans[number - 1];
    if (loan->parts > 0 && loan->body != borrower->memory + borrower->shared.from[number - 1]) {
        world_fail(link->net->world, "T10: a loan ended before it was returned");
        return 0;
    }
    if (loan->parts == 0) { begin_loan(borrower, number - 1, body); }
    loan->parts++;
    link->net->lent++;
    return number;
}

uint64_t net_model_lent(const struct net_model *net)
{
    return net->lent;
}

/* ------------------------------------------------------------------- the worker */

static void check(const struct net_loan *loan)
{
    if (memcmp(loan->body, loan->expected, loan->bytes) == 0) { return; }
    struct world *world = loan->borrower->link->net->world;
    world_fail(world, "T10: values that a worker reads were overwritten by a ps");
}

void net_endpoint_check_loans(const struct net_endpoint *endpoint)
{
    for (const struct net_borrower *at = endpoint->net->borrowers; at != NULL; at = at->next) {
        if (at->link->sides[0].endpoint != endpoint || at->parts == NULL) { continue; }
        for (unsigned i = 0; i < LOANS; i++) {
            if (at->loans[i].taken > 0) { check(&at->loans[i]); }
        }
    }
}

static void remove_part(struct net_part *part)
{
    struct net_part **at = &part->loan->borrower->parts;
    while (*at != part) { at = &(*at)->next; }
    *at = part->next;
    free(part);
}

static void return_part(struct net_part *part)
{
    struct net_loan *loan = part->loan;
    const size_t i = (size_t)(loan - loan->borrower->loans);
    assert(loan->taken > 0 && loan->taken <= loan->parts);
    check(loan);
    atomic_fetch_add(&loan->borrower->shared.returned[i], 1);
    loan->taken--;
    loan->parts--;
    if (loan->parts == 0) { forget(loan); }
    remove_part(part);
}

static void on_return(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)world;
    (void)a;
    (void)b;
    (void)data;
    struct net_part *part = target;
    if (!part->loan->borrower->link->sides[0].endpoint->dead) { return_part(part); }
}

/* The worker has released the part. Once it has released all of them, the body may change. Another
 * part of its process may read on. */
static void release(void *ctx)
{
    struct net_part *part = ctx;
    struct net_loan *loan = part->loan;
    struct net_borrower *borrower = loan->borrower;
    struct net_model *net = borrower->link->net;
    assert(loan->used > 0);
    loan->used--;
    if (borrower->link->sides[0].endpoint->dead) { return; }
    if (loan->used == 0) { net_slots_overwrite_pages(net, borrower, loan->body, loan->bytes); }
    const bool longer =
        net->config.read_longer_us > 0 && random_below(&net->loans_random, READ_LONGER) == 0;
    if (!longer) {
        return_part(part);
    } else if (random_below(&net->loans_random, NEVER_RETURNED) != 0) {
        world_after(net->world, random_below(&net->loans_random, net->config.read_longer_us),
                    on_return, part, 0, 0, NULL);
    }
}

struct buffer *net_loans_take(struct net_link *link, unsigned number, size_t offset, size_t size)
{
    struct net_borrower *borrower = link->borrower;
    struct net_loan *loan = &borrower->loans[number - 1];
    assert(loan->taken < loan->parts && offset + size <= loan->bytes);
    struct net_part *part = malloc(sizeof *part);
    assert(part != NULL);
    *part = (struct net_part){borrower->parts, loan};
    borrower->parts = part;
    loan->taken++;
    loan->used++;
    check(loan);
    const uint8_t *at = loan->body + offset;
    net_slots_show_pages(link->net, borrower, at, size);
    struct buffer *body = buffer_wrap((void *)(uintptr_t)at, size, release, part);
    assert(body != NULL);
    body->memory = NET_LENT_MEMORY + link->sides[0].id;
    return body;
}

void net_loans_free(struct net_link *link)
{
    struct net_borrower *borrower = link->borrower;
    for (unsigned i = 0; borrower != NULL && i < LOANS; i++) { forget(&borrower->loans[i]); }
    while (borrower != NULL && borrower->parts != NULL) { remove_part(borrower->parts); }
    free(borrower);
}
