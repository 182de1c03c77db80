/* common/cluster/variable_moves.h: every float of the one order has its place in the other one. */
#include "common/cluster/variable_moves.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { VARIABLES = 5, FLOATS = 30 };

static struct variable_table canonical, placed;

/* Variables of 2, 4, ... floats; `placed` has them in the order of `numbers`. */
static void make_tables(const uint32_t numbers[static VARIABLES])
{
    char name[8];
    uint64_t offset = 0;
    canonical = (struct variable_table){.count = 0};
    for (uint32_t i = 0; i < VARIABLES; i++) {
        const uint32_t size = 2 * (i + 1);
        assert_true(snprintf(name, sizeof name, "v%u", i) > 0);
        assert_int_equal(variable_table_add(&canonical, name, 1, &size, VARIABLE_ZEROS, 0, NULL),
                         TN_OK);
    }
    placed = canonical;
    for (uint32_t i = 0; i < VARIABLES; i++) {
        placed.variables[i] = canonical.variables[numbers[i]];
        placed.variables[i].offset = offset;
        offset += placed.variables[i].count;
    }
    assert_int_equal(offset, FLOATS);
}

/* Variables that stay neighbours are one move, and the way back is the inverse. */
static void moves_are_complete(void **state)
{
    (void)state;
    const uint32_t numbers[VARIABLES] = {3, 4, 0, 1, 2};
    struct variable_move there[VARIABLES_MAX], back[VARIABLES_MAX];
    make_tables(numbers);
    assert_int_equal(variable_moves_between(&canonical, &placed, there), 2);
    assert_int_equal(variable_moves_between(&placed, &canonical, back), 2);
    assert_true(there[0].from == 0 && there[0].to == 18 && there[0].count == 12);
    assert_true(there[1].from == 12 && there[1].to == 0 && there[1].count == 18);
    assert_true(back[0].from == 0 && back[0].to == 12 && back[0].count == 18);
    assert_int_equal(variable_moves_between(&canonical, &canonical, there), 1);
}

/* A range of the target gets each of its floats once. */
static void ranges_are_complete(void **state)
{
    (void)state;
    const uint32_t numbers[VARIABLES] = {4, 2, 0, 3, 1};
    struct variable_move list[VARIABLES_MAX], part[VARIABLES_MAX], cut;
    make_tables(numbers);
    const struct variable_moves moves = {list, variable_moves_between(&canonical, &placed, list)};
    for (uint64_t first = 0; first < FLOATS; first++) {
        for (uint64_t count = 1; first + count <= FLOATS; count++) {
            uint64_t found = 0;
            const uint32_t parts = variable_moves_clip(&moves, first, count, part);
            for (uint32_t i = 0; i < parts; i++) {
                found += part[i].count;
                assert_true(part[i].to + part[i].count <= count);
                assert_true(i == 0 || part[i].from >= part[i - 1].from + part[i - 1].count);
            }
            assert_int_equal(found, count);
        }
    }
    assert_int_equal(variable_moves_find(&moves, 0), 0);
    assert_int_equal(variable_moves_find(&moves, FLOATS), moves.count);
    assert_false(variable_move_cut(&list[0], list[0].count, FLOATS, &cut));
    assert_true(variable_move_cut(&list[0], 1, FLOATS, &cut));
    assert_true(cut.from == 1 && cut.to == list[0].to + 1 && cut.count == list[0].count - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_are_complete),
        cmocka_unit_test(ranges_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
