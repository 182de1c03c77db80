#include "common/net/loans.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/loan_locks.h"
#include "common/net/slots.h"
#include "common/net/take_count.h"

_Static_assert(LOAN_SLOTS_MAX < LOANS && LOANS == 64, "a loan for each body, a bit for each loan");

enum {
    PROCESSES_MAX = 1024, /* Former ones whose peers still have the memory. */
    PROCESS_SHIFT = 32,   /* The locks of a process are at 2^32 positions. */
};

struct loan_account {
    struct loans *loans;
    bool used;
    struct loans_shared *shared; /* NULL: the lane has closed. */
    off_t lock;                  /* Its position. */
    _Atomic uint64_t held;       /* Bits of the loans. */
    uint32_t lent[LOANS];        /* Parts, modulo 2^32. */
    struct buffer *bodies[LOANS];
};

struct loans {
    struct loan_memory memory;
    pthread_mutex_t mutex; /* Guards the rest. */
    off_t locks;           /* The position of the first lock of this process. */
    uint32_t serial;
    bool former;  /* Peers of former processes may have the memory. */
    uint64_t own; /* Bits of the slots that this process has lent. */
    struct loan_account accounts[LOAN_ACCOUNTS_MAX];
};

/* ------------------------------------------------------------ former processes */

static bool former_peers_exist(const struct loans *loans)
{
    const off_t next = loans->locks + ((off_t)1 << PROCESS_SHIFT);
    const int fd = loans->memory.fd;
    return loan_locks_held(fd, 0, loans->locks) || loan_locks_held(fd, next, 0);
}

/* Once no peer of a former process has the memory, none can get it again, and the slots that these
 * processes have lent are free. */
static void forget_former(struct loans *loans)
{
    if (!loans->former || former_peers_exist(loans)) { return; }
    loans->former = false;
    atomic_store(loans->memory.lent, loans->own);
    buffer_pool_hold_back(loans->memory.pool, 0);
}

/* ------------------------------------------------------------------ the owner */

struct loans *loans_open(const struct loan_memory *memory)
{
    assert(memory->fd >= 0 && memory->pool != NULL && memory->lent != NULL);
    struct loans *loans = calloc(1, sizeof *loans);
    if (loans == NULL) { return NULL; }
    loans->memory = *memory;
    if (memory->least_bytes == 0) { loans->memory.least_bytes = SLOT_LEAST_BYTES; }
    if (memory->slots_max == 0) { loans->memory.slots_max = LOAN_SLOTS_MAX; }
    loans->former = true;
    for (off_t process = 1; process <= PROCESSES_MAX && loans->locks == 0; process++) {
        const off_t first = process << PROCESS_SHIFT;
        const bool taken = loan_locks_held(memory->fd, first, (off_t)1 << PROCESS_SHIFT);
        if (!taken) { loans->locks = first; }
    }
    if (loans->locks == 0) {
        free(loans);
        return NULL;
    }
    pthread_mutex_init(&loans->mutex, NULL);
    forget_former(loans);
    return loans;
}

static void end_loan(struct loan_account *account, unsigned i)
{
    buffer_release(account->bodies[i]);
    account->bodies[i] = NULL;
    atomic_fetch_and(&account->held, ~((uint64_t)1 << i));
}

static void end_all(struct loan_account *account)
{
    for (uint64_t left = atomic_load(&account->held); left != 0; left &= left - 1) {
        end_loan(account, (unsigned)__builtin_ctzll(left));
    }
    account->used = false;
}

/* With the mutex held. */
static void collect(struct loan_account *account)
{
    assert(account->shared != NULL);
    for (uint64_t left = atomic_load(&account->held); left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (take_count_is_free(&account->shared->returned[i], account->lent[i])) {
            end_loan(account, i);
        }
    }
}

/* End the loans of lanes that have closed, if their peers can no longer read the memory. With the
 * mutex held. */
static void settle(struct loans *loans)
{
    for (unsigned i = 0; i < LOAN_ACCOUNTS_MAX; i++) {
        struct loan_account *account = &loans->accounts[i];
        if (!account->used || account->shared != NULL) { continue; }
        if (!loan_locks_held(loans->memory.fd, account->lock, 1)) { end_all(account); }
    }
}

void loans_close(struct loans *loans)
{
    if (loans == NULL) { return; }
    for (unsigned i = 0; i < LOAN_ACCOUNTS_MAX; i++) {
        struct loan_account *account = &loans->accounts[i];
        assert(account->shared == NULL);
        if (account->used) { end_all(account); }
    }
    pthread_mutex_destroy(&loans->mutex);
    free(loans);
}

void loans_range(const struct loans *loans, uint64_t *offset, uint64_t *bytes)
{
    *offset = loans->memory.offset;
    *bytes = loans->memory.bytes;
}

static struct loan_account *free_account(struct loans *loans)
{
    for (unsigned i = 0; i < LOAN_ACCOUNTS_MAX; i++) {
        if (!loans->accounts[i].used) { return &loans->accounts[i]; }
    }
    return NULL;
}

struct loan_account *loans_join(struct loans *loans, struct loans_shared *shared, int *fd)
{
    assert(shared != NULL);
    *fd = -1;
    pthread_mutex_lock(&loans->mutex);
    settle(loans);
    struct loan_account *account = free_account(loans);
    const off_t lock = loans->locks + loans->serial;
    if (account != NULL && loans->serial < UINT32_MAX) {
        *fd = loan_locks_open(loans->memory.fd, lock);
    }
    if (*fd >= 0) {
        loans->serial++;
        *account =
            (struct loan_account){.loans = loans, .used = true, .shared = shared, .lock = lock};
    }
    pthread_mutex_unlock(&loans->mutex);
    return *fd >= 0 ? account : NULL;
}

void loans_leave(struct loan_account *account)
{
    struct loans *loans = account->loans;
    pthread_mutex_lock(&loans->mutex);
    collect(account);
    account->shared = NULL;
    if (atomic_load(&account->held) == 0) { account->used = false; }
    settle(loans);
    pthread_mutex_unlock(&loans->mutex);
}

/* Whether the slot may be lent: then that is noted first, for a successor. */
static bool note_slot(struct loans *loans, uint32_t slot)
{
    const uint64_t bit = (uint64_t)1 << slot, lent = atomic_load(loans->memory.lent);
    assert(slot < 64);
    if ((lent & bit) == 0 && (uint32_t)__builtin_popcountll(lent) >= loans->memory.slots_max) {
        return false;
    }
    loans->own |= bit;
    atomic_store(loans->memory.lent, lent | bit);
    return true;
}

/* The loan of the body, which may be a new one. */
static unsigned find_loan(struct loan_account *account, struct buffer *body)
{
    const uint64_t held = atomic_load(&account->held);
    for (uint64_t left = held; left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (account->bodies[i] == body) { return i; }
    }
    assert(held != UINT64_MAX); /* Each body has a slot of its own. */
    const unsigned i = (unsigned)__builtin_ctzll(~held);
    const ptrdiff_t at = (const char *)body->data - (const char *)account->loans->memory.memory;
    assert(at >= 0 && (size_t)at + body->size <= account->loans->memory.bytes);
    account->bodies[i] = buffer_retain(body);
    /* The frame's header, which the ring publishes, comes behind it. */
    atomic_store_explicit(&account->shared->from[i], (uint64_t)at, memory_order_relaxed);
    atomic_store(&account->held, held | (uint64_t)1 << i);
    return i;
}

unsigned loans_lend(struct loan_account *account, struct buffer *body, size_t from, size_t bytes)
{
    struct loans *loans = account->loans;
    const uint32_t slot = buffer_slot(loans->memory.pool, body);
    assert(from + bytes <= body->size);
    if (bytes < loans->memory.least_bytes) { return 0; }
    unsigned number = 0;
    pthread_mutex_lock(&loans->mutex);
    forget_former(loans);
    collect(account);
    if (slot != BUFFER_NO_SLOT && note_slot(loans, slot)) {
        const unsigned i = find_loan(account, body);
        account->lent[i]++;
        number = i + 1;
    }
    pthread_mutex_unlock(&loans->mutex);
    return number;
}

void loans_collect(struct loan_account *account)
{
    if (atomic_load(&account->held) == 0) { return; }
    pthread_mutex_lock(&account->loans->mutex);
    forget_former(account->loans);
    collect(account);
    pthread_mutex_unlock(&account->loans->mutex);
}

/* ------------------------------------------------------------------- the peer */

bool borrower_map(struct borrower *borrower, struct loans_shared *shared, int fd, uint64_t offset,
                  uint64_t bytes)
{
    struct stat file;
    *borrower = (struct borrower){.shared = shared};
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &file) != 0 || bytes == 0 ||
        offset > (uint64_t)file.st_size || bytes > (uint64_t)file.st_size - offset) {
        errno = EINVAL;
        return false;
    }
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    if (memory == MAP_FAILED) { return false; }
    borrower->memory = memory;
    borrower->bytes = bytes;
    return true;
}

void borrower_unmap(struct borrower *borrower)
{
    if (borrower->memory != NULL) {
        (void)munmap((void *)(uintptr_t)borrower->memory, borrower->bytes);
    }
    borrower->memory = NULL;
}

const void *borrower_take(const struct borrower *borrower, unsigned number, uint64_t offset,
                          size_t bytes)
{
    if (borrower->memory == NULL || number < 1 || number > LOANS || bytes < SLOT_LEAST_BYTES) {
        return NULL;
    }
    const unsigned i = number - 1;
    /* Read once, then checked. */
    const uint64_t from = atomic_load_explicit(&borrower->shared->from[i], memory_order_relaxed);
    if (from % SLOT_LINE_BYTES != 0 || from > borrower->bytes || offset > borrower->bytes - from ||
        bytes > borrower->bytes - from - offset) {
        return NULL;
    }
    return borrower->memory + from + offset;
}

void borrower_return(const struct borrower *borrower, unsigned number)
{
    assert(number >= 1 && number <= LOANS);
    /* Release: the peer's reads happened before. Parts may be returned at the same time. */
    atomic_fetch_add_explicit(&borrower->shared->returned[number - 1], 1, memory_order_release);
}
