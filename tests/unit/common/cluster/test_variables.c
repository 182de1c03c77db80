/* The variable table and the initial values. */
#include "common/cluster/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/task.h"

static struct variable_table two_layers(void)
{
    struct variable_table table = {0};
    struct error error;
    assert_int_equal(variable_table_add(&table, "hidden/weights", 2, (uint32_t[]){30, 20},
                                        VARIABLE_GLOROT_UNIFORM, 0, &error),
                     TN_OK);
    assert_int_equal(
        variable_table_add(&table, "hidden/bias", 1, (uint32_t[]){20}, VARIABLE_ZEROS, 0, &error),
        TN_OK);
    assert_int_equal(variable_table_add(&table, "output/weights", 2, (uint32_t[]){20, 500},
                                        VARIABLE_HE_NORMAL, 0, &error),
                     TN_OK);
    return table;
}

/* Variables follow each other without gaps. */
static void offsets_have_no_gaps(void **state)
{
    (void)state;
    struct variable_table table = two_layers();
    assert_int_equal(table.variables[1].offset, 600);
    assert_int_equal(table.variables[2].offset, 620);
    assert_int_equal(table.parameter_count, 10620);
}

/* Wrong names, shapes and sizes are refused and do not change the table. */
static void wrong_variables_are_refused(void **state)
{
    (void)state;
    struct variable_table table = two_layers(), before = table;
    struct error error;
    const uint32_t one = 1, zero = 0, huge[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    char longest[VARIABLE_NAME_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(variable_table_add(&table, "", 1, &one, VARIABLE_ZEROS, 0, &error), TN_EINVAL);
    assert_int_equal(variable_table_add(&table, longest, 1, &one, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
    assert_int_equal(variable_table_add(&table, "hidden/bias", 1, &one, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
    assert_string_equal(error.text, "variable 'hidden/bias' exists twice: rename one");
    assert_int_equal(variable_table_add(&table, "a", 0, &one, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
    assert_int_equal(variable_table_add(&table, "a", 5, huge, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
    assert_int_equal(variable_table_add(&table, "a", 1, &zero, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
    assert_int_equal(variable_table_add(&table, "a", 4, huge, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
    assert_non_null(strstr(error.text, "make the model smaller"));
    assert_memory_equal(&table, &before, sizeof table);
}

/* One variable more than VARIABLES_MAX is refused. */
static void table_is_bounded(void **state)
{
    (void)state;
    static struct variable_table table;
    struct error error;
    const uint32_t one = 1;
    for (int i = 0; i < VARIABLES_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(variable_table_add(&table, name, 1, &one, VARIABLE_ZEROS, 0, &error),
                         TN_OK);
    }
    assert_int_equal(variable_table_add(&table, "more", 1, &one, VARIABLE_ZEROS, 0, &error),
                     TN_EINVAL);
}

/* Names, shapes and initialisers all change the hash. */
static void hash_covers_everything(void **state)
{
    (void)state;
    struct variable_table table = two_layers(), changed = table;
    uint64_t hash = variable_table_hash(&table);
    changed.variables[0].name[0] = 'H';
    assert_int_not_equal(variable_table_hash(&changed), hash);
    changed = table;
    changed.variables[2].shape[1]++;
    assert_int_not_equal(variable_table_hash(&changed), hash);
    changed = table;
    changed.variables[1].init = VARIABLE_HE_NORMAL;
    assert_int_not_equal(variable_table_hash(&changed), hash);
    changed = two_layers();
    assert_int_equal(variable_table_hash(&changed), hash);
}

/* Any division of the vector gives the same bits. */
static void ranges_agree_with_the_whole(void **state)
{
    (void)state;
    struct variable_table table = two_layers();
    static float whole[10620], part[10620];
    variables_init_range(&table, 3, 0, 10620, whole);
    for (uint64_t first = 0; first < 10620; first += 97) {
        uint64_t count = 10620 - first < 97 ? 10620 - first : 97;
        variables_init_range(&table, 3, first, count, part + first);
    }
    assert_memory_equal(part, whole, sizeof whole);
    variables_init_range(&table, 4, 0, 10620, part);
    assert_memory_not_equal(part, whole, 600 * sizeof(float));
}

/* The values have the range, mean and deviation of their initialiser. */
static void initial_values_are_distributed(void **state)
{
    (void)state;
    struct variable_table table = two_layers();
    static float values[10620];
    variables_init_range(&table, 3, 0, 10620, values);
    for (int i = 0; i < 600; i++) {
        assert_true(values[i] >= -0.3465F && values[i] <= 0.3465F); /* sqrt(6 / 50) */
    }
    for (int i = 600; i < 620; i++) { assert_true(values[i] == 0.0F); }
    double sum = 0, squares = 0;
    for (int i = 620; i < 10620; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    assert_true(sum / 1e4 < 0.01 && sum / 1e4 > -0.01);
    assert_true(squares / 1e4 > 0.095 && squares / 1e4 < 0.105); /* 2 / 20 */
}

/* A ps that would own nothing is refused, with the remedy. */
static void too_many_ps_are_refused(void **state)
{
    (void)state;
    struct variable_table table = two_layers();
    struct error error;
    assert_int_equal(variable_table_check_ps(&table, 664, &error), TN_OK);
    assert_int_equal(variable_table_check_ps(&table, 665, &error), TN_EINVAL);
    assert_non_null(
        strstr(error.text, "make at most 664 ps in blocks of 16: give at most that number"));
    assert_int_equal(variable_table_check_ps(&table, 0, &error), TN_EINVAL);
}

/* Nothing but memory bounds a shard: one ps may own all of the largest table. */
static void one_ps_owns_any_number_of_parameters(void **state)
{
    (void)state;
    struct variable_table table = {0};
    struct error error = {0};
    const uint32_t huge[] = {1 << 20, (1 << 20) - 1};
    assert_int_equal(variable_table_add(&table, "a", 2, huge, VARIABLE_ZEROS, 0, &error), TN_OK);
    assert_int_equal(variable_table_check_ps(&table, 1, &error), TN_OK);
    struct placement whole = variable_table_shard(&table, 1, 0);
    assert_int_equal(whole.count, (UINT64_C(1) << 40) - (1 << 20));
    assert_int_equal(variable_table_shard(&table, 2, 1).first, whole.count / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_have_no_gaps),
        cmocka_unit_test(wrong_variables_are_refused),
        cmocka_unit_test(table_is_bounded),
        cmocka_unit_test(hash_covers_everything),
        cmocka_unit_test(ranges_agree_with_the_whole),
        cmocka_unit_test(initial_values_are_distributed),
        cmocka_unit_test(too_many_ps_are_refused),
        cmocka_unit_test(one_ps_owns_any_number_of_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
