/* Nodes are bound to processors where they are too many and workers divide evenly. */
#include "agent/binding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int bind_to(uint32_t workers, uint32_t ps, uint32_t processors, enum role role,
                   uint32_t position)
{
    const struct binding_nodes nodes = {.workers = workers, .ps = ps, .threads = 1};
    return binding_of(&nodes, processors, role, position);
}

/* Two workers and two ps on two processors: one of each on each. */
static void each_processor_gets_as_many(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(bind_to(2, 2, 2, ROLE_WORKER, i), i);
        assert_int_equal(bind_to(2, 2, 2, ROLE_PS, i), i);
    }
    uint32_t workers[4] = {0};
    for (uint32_t i = 0; i < 8; i++) { workers[bind_to(8, 3, 4, ROLE_WORKER, i)]++; }
    for (uint32_t p = 0; p < 4; p++) { assert_int_equal(workers[p], 2); }
}

/* Linux finds an idle processor for each node. */
static void enough_processors_bind_none(void **state)
{
    (void)state;
    assert_int_equal(bind_to(2, 2, 4, ROLE_WORKER, 0), BINDING_NONE);
    assert_int_equal(bind_to(2, 2, 4, ROLE_PS, 1), BINDING_NONE);
    assert_int_equal(bind_to(2, 0, 2, ROLE_WORKER, 1), BINDING_NONE);
}

/* A third worker on two processors has to move between them. */
static void uneven_workers_are_not_bound(void **state)
{
    (void)state;
    assert_int_equal(bind_to(3, 2, 2, ROLE_WORKER, 0), BINDING_NONE);
    assert_int_equal(bind_to(1, 2, 2, ROLE_PS, 0), BINDING_NONE);
    assert_int_equal(bind_to(0, 3, 2, ROLE_PS, 2), BINDING_NONE);
}

/* A worker with two threads gets two neighbouring processors, and a ps one. */
static void threads_get_a_set_of_processors(void **state)
{
    (void)state;
    const struct binding_nodes nodes = {.workers = 2, .ps = 2, .threads = 2};
    assert_int_equal(binding_of(&nodes, 4, ROLE_WORKER, 0), 0);
    assert_int_equal(binding_of(&nodes, 4, ROLE_WORKER, 1), 2);
    assert_int_equal(binding_of(&nodes, 4, ROLE_PS, 1), 1);
    assert_int_equal(binding_of(&nodes, 2, ROLE_WORKER, 1), 0);
    assert_int_equal(binding_of(&nodes, 6, ROLE_WORKER, 1), BINDING_NONE); /* Enough for all. */
    assert_int_equal(binding_of(&nodes, 5, ROLE_WORKER, 1), BINDING_NONE); /* No sets of two. */
    assert_int_equal(binding_of(&nodes, 1, ROLE_WORKER, 0), BINDING_NONE);
}

/* Coordinators and evaluators take no part in steps. */
static void other_roles_are_not_bound(void **state)
{
    (void)state;
    assert_int_equal(bind_to(2, 2, 2, ROLE_COORDINATOR, 0), BINDING_NONE);
    assert_int_equal(bind_to(2, 2, 2, ROLE_EVALUATOR, 0), BINDING_NONE);
}

/* Two nodes share a processor while another has none; more nodes than processors are not uneven. */
static void idle_processor_is_uneven(void **state)
{
    (void)state;
    assert_true(binding_is_uneven((const uint32_t[]){2, 0}, 2));
    assert_true(binding_is_uneven((const uint32_t[]){1, 2, 0}, 3));
    assert_false(binding_is_uneven((const uint32_t[]){1, 1}, 2));
    assert_false(binding_is_uneven((const uint32_t[]){3, 1}, 2));
    assert_false(binding_is_uneven((const uint32_t[]){1, 0}, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_processor_gets_as_many),
        cmocka_unit_test(enough_processors_bind_none),
        cmocka_unit_test(uneven_workers_are_not_bound),
        cmocka_unit_test(threads_get_a_set_of_processors),
        cmocka_unit_test(other_roles_are_not_bound),
        cmocka_unit_test(idle_processor_is_uneven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
