/* The orders that a member of a group without ps can carry out, and when its group is a worker
 * (M13). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mirror/member_state.h"

static struct member_values at(bool whole, uint64_t generation, uint64_t step)
{
    return (struct member_values){.whole = whole, .generation = generation, .step = step};
}

/* An order waits for values that will come, and is refused if the member has passed them. */
static void an_order_needs_the_values_of_its_step(void **state)
{
    (void)state;
    static const struct {
        bool whole;
        uint64_t generation, step;
        enum member_has has;
    } rows[] = {
        {true, 3, 7, MEMBER_HAS_VALUES},  {true, 3, 6, MEMBER_HAS_NOT_YET},
        {true, 3, 8, MEMBER_HAS_PASSED},  {false, 3, 0, MEMBER_HAS_NOT_YET},
        {true, 2, 9, MEMBER_HAS_NOT_YET}, {false, 2, 0, MEMBER_HAS_NOT_YET},
        {false, 4, 0, MEMBER_HAS_PASSED}, {true, 4, 7, MEMBER_HAS_PASSED},
        {true, 4, 1, MEMBER_HAS_PASSED},
    };
    static const struct member_copy copies[] = {
        {.generation = 3, .step = 7}, /* There is none. */
        {.generation = 3, .step = 6, .version = 1},
        {.generation = 2, .step = 7, .version = 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct member_values own = at(rows[i].whole, rows[i].generation, rows[i].step);
        for (size_t k = 0; k < sizeof copies / sizeof *copies; k++) {
            assert_int_equal(member_state_has(&own, &copies[k], 3, 7), rows[i].has);
        }
    }
}

/* The order for the first node of a step has made a copy; the order for the next one begins
 * although the member has completed the step meanwhile, with gradients of other workers. */
static void an_order_begins_with_the_copy_of_its_step(void **state)
{
    (void)state;
    const struct member_copy copy = {.generation = 3, .step = 7, .version = 2};
    struct member_values own = at(true, 3, 7);
    assert_int_equal(member_state_has(&own, &copy, 3, 7), MEMBER_HAS_COPY);
    own.step = 8;
    assert_int_equal(member_state_has(&own, &copy, 3, 7), MEMBER_HAS_COPY);
    assert_int_equal(member_state_has(&own, &copy, 3, 8), MEMBER_HAS_VALUES);
    assert_int_equal(member_state_has(&own, &copy, 3, 6), MEMBER_HAS_PASSED);
}

/* Before there are values, a complete group counts; later all members must have them. */
static void a_group_is_a_worker_when_all_have_values(void **state)
{
    (void)state;
    struct member_holders holders = {.generations = {0}};
    struct member_values own = at(false, 1, 0);
    assert_true(member_state_is_worker(&holders, 3, true, &own));
    assert_false(member_state_is_worker(&holders, 3, false, &own));
    own = at(true, 1, 0);
    assert_false(member_state_is_worker(&holders, 3, true, &own));
    holders.generations[1] = 1;
    assert_false(member_state_is_worker(&holders, 3, true, &own));
    holders.generations[2] = 1;
    assert_true(member_state_is_worker(&holders, 3, true, &own));
    assert_false(member_state_is_worker(&holders, 3, false, &own));
    own.generation = 2;
    assert_false(member_state_is_worker(&holders, 3, true, &own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_needs_the_values_of_its_step),
        cmocka_unit_test(an_order_begins_with_the_copy_of_its_step),
        cmocka_unit_test(a_group_is_a_worker_when_all_have_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
