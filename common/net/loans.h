/*
 * common/net/loans.h: bodies that the peers of lanes use in the memory of their owner, without a
 * copy: the owner lends a body once to each peer, and all of them read the same pages.
 *
 *   owner                                          peer
 *   loans_join(): a descriptor, to be read only    -> borrower_map()
 *   loans_lend(), then a header that names it      -> borrower_take()
 *   loans_collect()                                <- borrower_return()
 *
 * A loan holds a reference to the body, so its memory is not written before the peer has returned
 * it. If the lane closes before that, the peer may go on reading: a worker that has lost its
 * connection does. Then the loan ends with the last page that the peer has mapped. The kernel
 * reports that: each peer gets a description of the file of its own, with a lock on it
 * (F_OFD_SETLK), which the kernel removes with the last mapping of the file through this
 * description, so also when the peer is killed.
 *
 * An owner that is killed leaves the locks of its peers and, in memory that outlives it, the slots
 * that it has ever lent. As long as one of these locks is held, its successor acquires none of
 * these slots to write to it (buffer_pool_hold_back()). It may continue to write to a slot that its
 * predecessor was writing to, since that was lent to no peer.
 *
 * The memory that the peer writes is untrusted: a peer that returns a body too early only changes
 * the values that it reads itself. A description that can only be read keeps a defect of a peer
 * from changing the memory of all. A process of the same user that intends to has other ways.
 *
 * Threads: any, but loans_open() and loans_close() run alone, and borrower_map() and
 * borrower_unmap() as well. Blocking: never.
 */
#ifndef COMMON_NET_LOANS_H
#define COMMON_NET_LOANS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"

enum {
    LOANS = 64,              /* Numbers of loans on a lane: more than bodies in LOAN_SLOTS_MAX. */
    LOAN_ACCOUNTS_MAX = 256, /* Lanes, open or with loans that are not returned. */
    LOAN_SLOTS_MAX = 24,     /* Slots that are lent; bodies in others are copied. This number is
                              * reached only if peers lag behind or do not run. */
};

/* The memory that the owner offers: at most 64 slots of a pool, in a file. Outlives the loans. */
struct loan_memory {
    int fd;
    uint64_t offset; /* The slots' in the file: a multiple of the page size. */
    void *memory;    /* They, mapped. */
    size_t bytes;
    struct buffer_pool *pool; /* Holds back the slots of `lent`, if a former process may have lent
                               * them. */
    _Atomic uint64_t *lent;   /* Bits of the slots that were lent, in memory that outlives the
                               * process. */
    size_t least_bytes;       /* Smaller bodies are copied; 0: SLOT_LEAST_BYTES. */
    uint32_t slots_max;       /* The most slots that are lent; 0: LOAN_SLOTS_MAX. */
};

/* The loans of one lane, in its memory; all zero: nothing is lent. */
struct loans_shared {
    _Atomic uint64_t from[LOANS];     /* Where the body begins in the memory. The owner's. */
    _Atomic uint32_t returned[LOANS]; /* Parts, modulo 2^32. The peer's. */
};

struct loans;        /* An owner's. */
struct loan_account; /* One lane's. */

/* NULL: not possible, for lack of memory or because the kernel has no such locks. */
struct loans *loans_open(const struct loan_memory *memory);
/* Every lane is closed. Ends all loans: this process no longer writes to the memory. NULL is
 * allowed. */
void loans_close(struct loans *loans);

/* The place of the memory in its file. */
void loans_range(const struct loans *loans, uint64_t *offset, uint64_t *bytes);

/* A lane that can borrow. `*fd` is for its peer; the caller closes it once it is sent. `shared`
 * stays valid until loans_leave(). NULL: not possible; bodies are copied to this lane. */
struct loan_account *loans_join(struct loans *loans, struct loans_shared *shared, int *fd);
/* The lane closes. */
void loans_leave(struct loan_account *account);

/* Lend `bytes` bytes at `from` of the body. Returns the number of the loan, from 1 on, which is the
 * same for all parts of the body that the peer has not returned; 0: the body is elsewhere, or too
 * much is lent already. The body must not change as long as it exists. */
unsigned loans_lend(struct loan_account *account, struct buffer *body, size_t from, size_t bytes);
/* Release the bodies that the peer has returned, and what former peers no longer have. */
void loans_collect(struct loan_account *account);

/* ---- the peer */

struct borrower {
    struct loans_shared *shared;
    const uint8_t *memory; /* NULL: nothing can be borrowed. */
    size_t bytes;
};

/* Map the memory, to be read only. False: it is not sealed, too small, or cannot be mapped. The
 * descriptor stays the caller's. */
bool borrower_map(struct borrower *borrower, struct loans_shared *shared, int fd, uint64_t offset,
                  uint64_t bytes);
void borrower_unmap(struct borrower *borrower); /* A borrower that is all zero is allowed. */
/* `bytes` bytes at `offset` of the body of loan `number`. As long as one part of a body is not
 * returned, none of it changes. NULL: the owner cannot have lent it. */
const void *borrower_take(const struct borrower *borrower, unsigned number, uint64_t offset,
                          size_t bytes);
/* Return one part of the body, which the caller no longer reads. */
void borrower_return(const struct borrower *borrower, unsigned number);

#endif
