/* Bodies that several peers read in the memory of one owner, and peers and owners that die. */
#include "common/net/loans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory_alias.h"

enum { BODY = 40000, SLOT_COUNT = 48, HEAD = 4096, PEERS = 3 };

/* The memory that outlives an owner. */
static int file;
static char *memory;
static size_t file_bytes;
static _Atomic uint64_t lent;

/* The owner. */
static struct buffer_pool *pool;
static struct loans *loans;

/* A lane of it, with both ends. */
static struct peer {
    struct loan_account *account;
    struct loans_shared shared;
    struct borrower borrower;
} peers[PEERS];

static void open_owner(void)
{
    pool = buffer_pool_of_slots(memory + HEAD, BODY, SLOT_COUNT);
    buffer_pool_hold_back(pool, lent);
    const struct loan_memory offered = {
        .fd = file,
        .offset = HEAD,
        .memory = memory + HEAD,
        .bytes = file_bytes - HEAD,
        .pool = pool,
        .lent = &lent,
    };
    loans = loans_open(&offered);
    assert_non_null(loans);
}

static void close_owner(void)
{
    loans_close(loans);
    buffer_pool_destroy(pool); /* Asserts that no slot is in use. */
}

static void join(struct peer *peer)
{
    int fd;
    uint64_t offset, bytes;
    memset(peer, 0, sizeof *peer);
    peer->account = loans_join(loans, &peer->shared, &fd);
    assert_non_null(peer->account);
    loans_range(loans, &offset, &bytes);
    assert_true(borrower_map(&peer->borrower, &peer->shared, fd, offset, bytes));
    close(fd);
}

static int begin(void **state)
{
    (void)state;
    file_bytes = HEAD + SLOT_COUNT * buffer_slot_bytes(BODY);
    file = memfd_create("test-loans", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(file, (off_t)file_bytes), 0);
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    memory = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    lent = 0;
    open_owner();
    return 0;
}

static int end(void **state)
{
    (void)state;
    close_owner();
    (void)munmap(memory, file_bytes);
    close(file);
    return 0;
}

static struct buffer *make_body(int contents)
{
    struct buffer *body = buffer_acquire(pool, BODY);
    assert_true(buffer_slot(pool, body) < SLOT_COUNT);
    memset(body->data, contents, BODY);
    return body;
}

static const uint8_t *borrow(struct peer *peer, struct buffer *body, unsigned *number)
{
    *number = loans_lend(peer->account, body, 0, BODY);
    return borrower_take(&peer->borrower, *number, 0, BODY);
}

/* Whether the next body of the owner would overwrite this slot. */
static bool is_written_next(uint32_t slot)
{
    struct buffer *next = buffer_acquire(pool, BODY);
    const bool same = buffer_slot(pool, next) == slot;
    buffer_release(next);
    return same;
}

/* Peers read one body in the same memory, and it is written again only when the last one has
 * returned it, in whatever order. */
static void body_is_lent_to_all_without_a_copy(void **state)
{
    (void)state;
    unsigned numbers[2];
    for (int i = 0; i < 2; i++) { join(&peers[i]); }
    struct buffer *body = make_body(7);
    const uint32_t slot = buffer_slot(pool, body);
    const uint8_t *first = borrow(&peers[0], body, &numbers[0]),
                  *second = borrow(&peers[1], body, &numbers[1]);
    assert_true(first[BODY - 1] == 7 && second[0] == 7);
    ((uint8_t *)body->data)[5] = 8;
    assert_true(first[5] == 8 && second[5] == 8);
    buffer_release(body);
    for (int i = 0; i < 2; i++) {
        loans_collect(peers[0].account);
        loans_collect(peers[1].account);
        assert_false(is_written_next(slot));
        borrower_return(&peers[i].borrower, numbers[i]);
    }
    for (int i = 0; i < 2; i++) { loans_collect(peers[i].account); }
    assert_true(is_written_next(slot));
    for (int i = 0; i < 2; i++) {
        borrower_unmap(&peers[i].borrower);
        loans_leave(peers[i].account);
    }
}

/* The parts of a body are one loan, which lasts until all of them are returned, in whatever order:
 * also if more parts are lent than a lane has loans. */
static void parts_of_a_body_are_one_loan(void **state)
{
    (void)state;
    enum { PART = 8 * 1024, PARTS = 2 * LOANS };
    join(&peers[0]);
    struct buffer *body = make_body(7), *other = make_body(8);
    const uint32_t slot = buffer_slot(pool, body);
    const unsigned number = loans_lend(peers[0].account, body, PART, PART);
    const uint8_t *begin = borrower_take(&peers[0].borrower, number, 0, PART);
    for (size_t i = 1; i < PARTS; i++) {
        const size_t from = i % 4 * PART;
        assert_int_equal(loans_lend(peers[0].account, body, from, PART), number);
        assert_ptr_equal(borrower_take(&peers[0].borrower, number, from, PART), begin + from);
    }
    const unsigned second = loans_lend(peers[0].account, other, 0, BODY);
    assert_int_not_equal(second, number);
    borrower_return(&peers[0].borrower, second);
    buffer_release(other);
    buffer_release(body);
    for (int i = 0; i < PARTS; i++) {
        loans_collect(peers[0].account);
        assert_false(is_written_next(slot));
        borrower_return(&peers[0].borrower, number);
    }
    loans_collect(peers[0].account);
    assert_true(is_written_next(slot) || is_written_next(slot + 1));
    borrower_unmap(&peers[0].borrower);
    loans_leave(peers[0].account);
}

/* A peer that does not run keeps what it has. Others get further bodies, in other slots. */
static void stopped_peer_does_not_hold_up_others(void **state)
{
    (void)state;
    unsigned stopped, number;
    for (int i = 0; i < 2; i++) { join(&peers[i]); }
    struct buffer *body = make_body(1);
    const uint8_t *kept = borrow(&peers[0], body, &stopped);
    buffer_release(body);
    for (int step = 2; step < 200; step++) {
        body = make_body(step);
        assert_int_equal(borrow(&peers[1], body, &number)[0], step);
        borrower_return(&peers[1].borrower, number);
        buffer_release(body);
    }
    assert_true(kept[0] == 1 && kept[BODY - 1] == 1);
    borrower_return(&peers[0].borrower, stopped);
    for (int i = 0; i < 2; i++) {
        borrower_unmap(&peers[i].borrower);
        loans_leave(peers[i].account);
    }
}

/* The loans of a lane that has closed last until its peer has unmapped the memory, with all pages
 * that it has mapped a second time: then it can no longer read them. A kill has the same
 * effect. */
static void loan_outlives_its_lane(void **state)
{
    (void)state;
    unsigned number;
    struct memory_port port = memory_port_of_machine();
    struct buffer *array = memory_array_create(BODY);
    join(&peers[0]);
    struct buffer *body = make_body(3);
    const uint32_t slot = buffer_slot(pool, body);
    const uint8_t *kept = borrow(&peers[0], body, &number);
    const size_t before = port.page_bytes - (uintptr_t)kept % port.page_bytes;
    struct buffer seen = {.data = (void *)(uintptr_t)kept, .size = BODY};
    assert_true(port.alias(port.ctx, &seen, before, array->data, port.page_bytes, false));
    buffer_release(body);
    loans_leave(peers[0].account);
    borrower_return(&peers[0].borrower, number); /* It is no longer read. */
    join(&peers[1]);
    assert_false(is_written_next(slot));
    borrower_unmap(&peers[0].borrower);
    loans_leave(peers[1].account);
    assert_false(is_written_next(slot));
    assert_int_equal(((uint8_t *)array->data)[0], 3);
    assert_true(port.unalias(port.ctx, array->data, port.page_bytes));
    join(&peers[2]);
    assert_true(is_written_next(slot));
    loans_leave(peers[2].account);
    for (int i = 1; i < PEERS; i++) { borrower_unmap(&peers[i].borrower); }
    buffer_release(array);
}

/* A successor of the owner does not write to slots that peers of the former process may read, but
 * may go on with those that it has found in use. Once they have exited, it uses all. */
static void successor_spares_what_was_lent(void **state)
{
    (void)state;
    unsigned number;
    join(&peers[0]);
    struct buffer *body = make_body(5);
    const uint32_t slot = buffer_slot(pool, body);
    const uint8_t *kept = borrow(&peers[0], body, &number);
    buffer_release(body);
    loans_leave(peers[0].account);
    close_owner();
    for (int process = 0; process < 3; process++) {
        open_owner();
        struct buffer *found = buffer_acquire_slot(pool, slot, BODY, BUFFER_ANY_LINE);
        assert_ptr_equal((char *)found->data - memory,
                         (char *)(uintptr_t)kept - (char *)(uintptr_t)peers[0].borrower.memory +
                             HEAD);
        buffer_release(found);
        assert_false(is_written_next(slot));
        struct buffer *other = make_body(6);
        assert_int_equal(kept[0], 5);
        buffer_release(other);
        close_owner();
    }
    borrower_unmap(&peers[0].borrower);
    open_owner();
    assert_int_equal(lent, 0);
    assert_true(is_written_next(0));
}

/* While peers of a former process exist, what the successor has lent itself is noted as well. */
static void successor_lends_beside_former_peers(void **state)
{
    (void)state;
    unsigned number;
    join(&peers[0]);
    struct buffer *body = make_body(5);
    (void)borrow(&peers[0], body, &number);
    buffer_release(body);
    loans_leave(peers[0].account);
    close_owner();
    open_owner();
    join(&peers[1]);
    body = make_body(6);
    const uint64_t own = (uint64_t)1 << buffer_slot(pool, body);
    assert_int_equal(borrow(&peers[1], body, &number)[0], 6);
    assert_int_equal(lent, 1 | own);
    borrower_return(&peers[1].borrower, number);
    borrower_unmap(&peers[0].borrower);
    assert_int_equal(borrow(&peers[1], body, &number)[0], 6);
    assert_int_equal(lent, own);
    assert_true(is_written_next(0));
    buffer_release(body);
    borrower_unmap(&peers[1].borrower);
    loans_leave(peers[1].account);
}

/* A former process may have lent slots of another size, so that all are held back. They are used
 * again once its peers have exited, although no body has been in a slot until then. */
static void slots_of_another_size_are_used_again(void **state)
{
    (void)state;
    unsigned number;
    join(&peers[0]);
    loans_leave(peers[0].account);
    close_owner();
    lent = UINT64_MAX;
    open_owner();
    join(&peers[1]);
    struct buffer_pool *other = buffer_pool_create(0);
    struct buffer *elsewhere = buffer_acquire(other, BODY);
    assert_null(buffer_acquire(pool, BODY));
    assert_int_equal(loans_lend(peers[1].account, elsewhere, 0, BODY), 0);
    assert_null(buffer_acquire(pool, BODY));
    borrower_unmap(&peers[0].borrower);
    assert_int_equal(loans_lend(peers[1].account, elsewhere, 0, BODY), 0);
    struct buffer *body = make_body(4);
    assert_int_equal(borrow(&peers[1], body, &number)[0], 4);
    buffer_release(body);
    buffer_release(elsewhere);
    buffer_pool_destroy(other);
    borrower_unmap(&peers[1].borrower);
    loans_leave(peers[1].account);
}

/* A body that is elsewhere, too small or too much is not lent: it is copied. */
static void loans_are_bounded(void **state)
{
    (void)state;
    struct buffer *bodies[SLOT_COUNT];
    unsigned numbers[SLOT_COUNT];
    join(&peers[0]);
    struct buffer_pool *other = buffer_pool_create(0);
    struct buffer *elsewhere = buffer_acquire(other, BODY);
    assert_int_equal(loans_lend(peers[0].account, elsewhere, 0, BODY), 0);
    buffer_release(elsewhere);
    buffer_pool_destroy(other);
    for (unsigned i = 0; i < LOAN_SLOTS_MAX + 1; i++) {
        bodies[i] = make_body(1);
        numbers[i] = loans_lend(peers[0].account, bodies[i], 0, BODY);
        assert_int_equal(numbers[i] > 0, i < LOAN_SLOTS_MAX);
    }
    assert_int_equal(loans_lend(peers[0].account, bodies[0], 0, 64), 0);
    borrower_return(&peers[0].borrower, numbers[3]);
    assert_int_equal(loans_lend(peers[0].account, bodies[3], 0, BODY), numbers[3]);
    for (unsigned i = 0; i < LOAN_SLOTS_MAX + 1; i++) { buffer_release(bodies[i]); }
    borrower_unmap(&peers[0].borrower);
    loans_leave(peers[0].account);
}

/* A peer can neither write to the memory nor be led out of it. */
static void memory_is_read_only_and_checked(void **state)
{
    (void)state;
    int fd;
    unsigned number;
    struct borrower other;
    struct peer *peer = &peers[0];
    memset(peer, 0, sizeof *peer);
    peer->account = loans_join(loans, &peer->shared, &fd);
    assert_ptr_equal(mmap(NULL, HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    assert_int_equal(errno, EACCES);
    assert_false(borrower_map(&other, &peer->shared, fd, HEAD, file_bytes));
    assert_false(borrower_map(&other, &peer->shared, fd, file_bytes + HEAD, HEAD));
    assert_null(borrower_take(&other, 1, 0, BODY));
    assert_true(borrower_map(&peer->borrower, &peer->shared, fd, HEAD, file_bytes - HEAD));
    close(fd);
    assert_int_not_equal(mprotect((void *)(uintptr_t)peer->borrower.memory, HEAD, PROT_WRITE), 0);
    struct buffer *body = make_body(2);
    assert_non_null(borrow(peer, body, &number));
    assert_null(borrower_take(&peer->borrower, 0, 0, BODY));
    assert_null(borrower_take(&peer->borrower, LOANS + 1, 0, BODY));
    const uint64_t behind[] = {file_bytes - HEAD - BODY + 1, file_bytes - HEAD,
                               UINT64_MAX - BODY + 1};
    for (unsigned i = 0; i < sizeof behind / sizeof *behind; i++) {
        assert_null(borrower_take(&peer->borrower, number, behind[i], BODY));
    }
    const uint64_t wrong[] = {1, file_bytes - HEAD - 64, UINT64_MAX - 63};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        peer->shared.from[number] = wrong[i];
        assert_null(borrower_take(&peer->borrower, number + 1, 0, BODY));
    }
    buffer_release(body);
    borrower_unmap(&peer->borrower);
    loans_leave(peer->account);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(body_is_lent_to_all_without_a_copy, begin, end),
        cmocka_unit_test_setup_teardown(parts_of_a_body_are_one_loan, begin, end),
        cmocka_unit_test_setup_teardown(stopped_peer_does_not_hold_up_others, begin, end),
        cmocka_unit_test_setup_teardown(loan_outlives_its_lane, begin, end),
        cmocka_unit_test_setup_teardown(successor_spares_what_was_lent, begin, end),
        cmocka_unit_test_setup_teardown(successor_lends_beside_former_peers, begin, end),
        cmocka_unit_test_setup_teardown(slots_of_another_size_are_used_again, begin, end),
        cmocka_unit_test_setup_teardown(loans_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(memory_is_read_only_and_checked, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
