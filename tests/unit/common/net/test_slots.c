/* Slots for bodies between two ends, of which the other one may write anything into the shared
 * counts. */
#include "common/net/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

static struct slots_shared shared;
static uint8_t *memory, *body;
static uint8_t lines[SLOTS]; /* Where the bodies begin. */
static struct slots_sender sender;
static struct slots_receiver receiver;

static int begin(void **state)
{
    (void)state;
    memory = aligned_alloc(4096, SLOTS_BYTES);
    body = malloc(SLOT_BYTES);
    memset(&shared, 0, sizeof shared);
    sender = (struct slots_sender){.shared = &shared, .bytes = memory};
    receiver = (struct slots_receiver){.shared = &shared, .bytes = memory};
    return memory == NULL || body == NULL;
}

static int end(void **state)
{
    (void)state;
    free(memory);
    free(body);
    return 0;
}

static unsigned put_body(const void *at, size_t bytes)
{
    struct frame_header header = {.type = FRAME_PUSH, .body_bytes = (uint32_t)bytes};
    const bool put = slots_put(&sender, &header, at);
    assert_int_equal(put, header.slot != 0);
    if (put) { lines[header.slot - 1] = header.line; }
    return header.slot;
}

static unsigned put(int contents, size_t bytes)
{
    memset(body, contents, size_min(bytes, SLOT_BYTES));
    return put_body(body, bytes);
}

/* Take a body of `bytes` bytes out of slot `number`. */
static void *take(unsigned number, size_t bytes)
{
    const bool exists = number >= 1 && number <= SLOTS;
    const struct frame_header header = {.type = FRAME_PUSH,
                                        .slot = (uint8_t)number,
                                        .line = exists ? lines[number - 1] : 0,
                                        .body_bytes = (uint32_t)bytes};
    return slots_take(&receiver, &header);
}

static void assert_body(const uint8_t *taken, int contents, size_t bytes)
{
    assert_non_null(taken);
    for (size_t i = 0; i < bytes; i++) {
        if (taken[i] != contents) { fail_msg("byte %zu is %d, not %d", i, taken[i], contents); }
    }
}

/* Bodies of the largest size lie apart from each other, on cache lines, and stay until they are
 * returned. */
static void every_slot_has_a_body_of_its_own(void **state)
{
    (void)state;
    const uint8_t *taken[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++) {
        assert_int_equal(put((int)i + 7, SLOT_BYTES), i + 1);
        taken[i] = take(i + 1, SLOT_BYTES);
        assert_int_equal((uintptr_t)taken[i] % 64, 0);
        assert_true(taken[i] >= memory && taken[i] + SLOT_BYTES <= memory + SLOTS_BYTES);
    }
    for (unsigned i = 0; i < SLOTS; i++) { assert_body(taken[i], (int)i + 7, SLOT_BYTES); }
}

/* A slot is lent again once it was returned, whatever the order, and never before. */
static void returned_slots_are_lent_again(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= SLOTS; i++) {
        assert_int_equal(put(1, SLOT_LEAST_BYTES), i);
        assert_non_null(take(i, SLOT_LEAST_BYTES));
    }
    assert_int_equal(put(2, SLOT_LEAST_BYTES), 0);
    slots_return(&receiver, 3);
    assert_int_equal(put(3, SLOT_LEAST_BYTES), 3);
    assert_int_equal(put(3, SLOT_LEAST_BYTES), 0);
    slots_return(&receiver, 1);
    assert_body(take(3, SLOT_LEAST_BYTES), 3, SLOT_LEAST_BYTES);
    assert_int_equal(put(4, SLOT_LEAST_BYTES), 1);
}

/* Bodies that are too small or too large travel otherwise. */
static void other_sizes_get_no_slot(void **state)
{
    (void)state;
    assert_int_equal(put(1, SLOT_LEAST_BYTES - 1), 0);
    assert_int_equal(put(1, (size_t)SLOT_BYTES + 1), 0);
    assert_int_equal(put(1, SLOT_LEAST_BYTES), 1);
}

/* Values begin where their header demands it, whatever it names; those of the largest size fit. */
static void values_begin_at_the_line_of_their_header(void **state)
{
    (void)state;
    const uint32_t begins[] = {0, 63, UINT32_MAX};
    for (unsigned i = 0; i < 3; i++) {
        struct frame_header header = {
            .type = FRAME_VALUES, .first = begins[i], .body_bytes = SLOT_BYTES};
        memset(body, (int)i, SLOT_BYTES);
        assert_true(slots_put(&sender, &header, body));
        assert_int_equal(header.slot, i + 1);
        const uint8_t *taken = slots_take(&receiver, &header);
        assert_body(taken, (int)i, SLOT_BYTES);
        assert_int_equal((uintptr_t)taken % 4096, (begins[i] % 64) * 64);
        assert_true(taken + SLOT_BYTES <= memory + (size_t)(i + 1) * SLOT_APART_BYTES);
    }
}

/* A body that was written into the reserved slot is received there, without a copy. */
static void reserved_slot_is_written_in_place(void **state)
{
    (void)state;
    uint8_t *place = slots_reserve(&sender, 63, SLOT_BYTES);
    assert_non_null(place);
    assert_int_equal((uintptr_t)place % 4096, 63 * 64);
    memset(place, 7, SLOT_BYTES);
    assert_true(place + SLOT_BYTES <= memory + SLOTS_BYTES);
    const unsigned number = put_body(place, SLOT_BYTES);
    assert_int_equal(number, SLOT_RESERVABLE + 1);
    assert_ptr_equal(take(number, SLOT_BYTES), place);
    slots_return(&receiver, number);
    assert_int_equal(put_body(place, SLOT_BYTES), number); /* It may be sent again. */
}

/* A body that is sent again while the receiver uses it is copied. */
static void reserved_slot_in_use_is_copied(void **state)
{
    (void)state;
    uint8_t *place = slots_reserve(&sender, 1, SLOT_LEAST_BYTES);
    memset(place, 7, SLOT_LEAST_BYTES);
    assert_ptr_equal(take(put_body(place, SLOT_LEAST_BYTES), SLOT_LEAST_BYTES), place);
    const unsigned again = put_body(place, SLOT_LEAST_BYTES);
    assert_int_equal(again, 1);
    assert_body(take(again, SLOT_LEAST_BYTES), 7, SLOT_LEAST_BYTES);
}

/* No other body is put into a reserved slot, and none is reserved that is in use. */
static void reserved_slot_has_one_body(void **state)
{
    (void)state;
    assert_null(slots_reserve(&sender, 0, SLOT_LEAST_BYTES - 1));
    assert_null(slots_reserve(&sender, 0, (size_t)SLOT_BYTES + 1));
    assert_non_null(slots_reserve(&sender, 0, SLOT_LEAST_BYTES));
    assert_null(slots_reserve(&sender, 0, SLOT_LEAST_BYTES));
    for (unsigned i = 0; i < SLOT_RESERVABLE; i++) {
        assert_int_equal(put(1, SLOT_LEAST_BYTES), i + 1);
    }
    assert_int_equal(put(1, SLOT_LEAST_BYTES), 0);
    slots_unreserve(&sender);
    assert_int_equal(put(1, SLOT_LEAST_BYTES), SLOT_RESERVABLE + 1);
    assert_null(slots_reserve(&sender, 0, SLOT_LEAST_BYTES));
}

/* A slot that does not exist, of an impossible size, or that is in use already is not taken. */
static void impossible_slots_are_not_taken(void **state)
{
    (void)state;
    assert_null(take(0, SLOT_LEAST_BYTES));
    assert_null(take(SLOTS + 1, SLOT_LEAST_BYTES));
    assert_null(take(1, SLOT_LEAST_BYTES - 1));
    assert_null(take(1, (size_t)SLOT_BYTES + 1));
    assert_int_equal(put(1, SLOT_BYTES), 1);
    assert_non_null(take(1, SLOT_BYTES));
    assert_null(take(1, SLOT_BYTES));
}

/* Whatever the peer writes into the shared counts, a body in use is neither lent nor taken again;
 * the slot is at most lost. */
static void wrong_counts_only_lose_slots(void **state)
{
    (void)state;
    assert_int_equal(put(1, SLOT_BYTES), 1);
    assert_non_null(take(1, SLOT_BYTES));
    atomic_store(&shared.slots[0].returned, 12345);
    assert_null(take(1, SLOT_BYTES));
    assert_int_equal(put(2, SLOT_BYTES), 2);
    slots_return(&receiver, 1);
    assert_int_equal(put(3, SLOT_BYTES), 1);
}

/* The counts go on beyond their largest value. */
static void counts_wrap_around(void **state)
{
    (void)state;
    atomic_store(&shared.slots[0].returned, UINT32_MAX);
    sender.lent[0] = UINT32_MAX;
    atomic_store(&receiver.counts[0].taken, UINT32_MAX);
    atomic_store(&receiver.counts[0].returned, UINT32_MAX);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put(i, SLOT_BYTES), 1);
        assert_body(take(1, SLOT_BYTES), i, SLOT_BYTES);
        slots_return(&receiver, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_slot_has_a_body_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(returned_slots_are_lent_again, begin, end),
        cmocka_unit_test_setup_teardown(other_sizes_get_no_slot, begin, end),
        cmocka_unit_test_setup_teardown(values_begin_at_the_line_of_their_header, begin, end),
        cmocka_unit_test_setup_teardown(reserved_slot_is_written_in_place, begin, end),
        cmocka_unit_test_setup_teardown(reserved_slot_in_use_is_copied, begin, end),
        cmocka_unit_test_setup_teardown(reserved_slot_has_one_body, begin, end),
        cmocka_unit_test_setup_teardown(impossible_slots_are_not_taken, begin, end),
        cmocka_unit_test_setup_teardown(wrong_counts_only_lose_slots, begin, end),
        cmocka_unit_test_setup_teardown(counts_wrap_around, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
