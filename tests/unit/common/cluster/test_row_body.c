/* Bodies of frames that name rows: a written body is read, and any other is refused. */
#include "common/cluster/row_body.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/row_owner.h"

enum { TABLES = 3, KEYS = 40, BODY_BYTES = 4096, PS = 2, EXAMPLES = 10 };

static const uint32_t widths[TABLES] = {1, 4, 3};
static const struct row_borders equal;
static struct variable_table variables;
static uint8_t data[BODY_BYTES];

static int set_up(void **state)
{
    (void)state;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        variables.row_tables[t] = (struct row_table_shape){.width = widths[t], .keys = 4};
    }
    return 0;
}

static struct row_body_rules rules_of(bool gradients)
{
    return (struct row_body_rules){
        .variables = &variables,
        .gradients = gradients,
        .part = row_part_of(&equal, PS, 1),
        .examples = EXAMPLES,
    };
}

static bool is_ours(uint32_t table, uint64_t key)
{
    const struct row_part part = row_part_of(&equal, PS, 1);
    return row_part_has(&part, table, key);
}

static float value_of(uint32_t table, uint64_t key, uint32_t column)
{
    return (float)(1000 * table + 10 * key) + (float)column;
}

/* The body with all rows of ps 1 whose keys are in [from, end). */
static struct row_body body_of(bool gradients, uint64_t from, uint64_t end)
{
    struct row_body body = {.data = data, .room = sizeof data};
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint64_t key = from; key < end; key++) {
            float values[4];
            if (!is_ours(t, key)) { continue; }
            for (uint32_t c = 0; c < widths[t]; c++) { values[c] = value_of(t, key, c); }
            assert_true(row_body_add(&body, t, key, values, gradients ? widths[t] : 0));
        }
    }
    return body;
}

static void expect_rows(bool gradients, const struct row_body *body)
{
    const struct row_body_rules rules = rules_of(gradients);
    struct row_body_reader reader = row_body_read(&rules, body->data, body->size);
    struct row_body_row row;
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            if (!is_ours(t, key)) { continue; }
            assert_true(row_body_next(&reader, &row));
            assert_int_equal(row.table, t);
            assert_int_equal(row.key, key);
            for (uint32_t c = 0; c < widths[t] && gradients; c++) {
                float value;
                memcpy(&value, row.values + c * sizeof value, sizeof value);
                assert_true(value == value_of(t, key, c));
            }
        }
    }
    assert_false(row_body_next(&reader, &row));
}

static const char *fault_of(bool gradients, const struct row_body *body)
{
    const struct row_body_rules rules = rules_of(gradients);
    struct row_body_order order = {.begun = false};
    uint64_t floats;
    return row_body_fault(&rules, body->data, body->size, &order, &floats);
}

static void test_rows_are_read_as_written(void **state)
{
    (void)state;
    for (int gradients = 0; gradients < 2; gradients++) {
        const struct row_body body = body_of(gradients != 0, 0, KEYS);
        assert_null(fault_of(gradients != 0, &body));
        expect_rows(gradients != 0, &body);
    }
}

/* A body that is full takes no row, and stays as it is. */
static void test_a_full_body_refuses_rows(void **state)
{
    (void)state;
    const float values[4] = {1, 2, 3, 4};
    struct row_body body = {.data = data, .room = 8 + 8 + 16 + 23};
    assert_true(row_body_add(&body, 1, 5, values, 4));
    assert_false(row_body_add(&body, 1, 6, values, 4));
    assert_int_equal(body.size, 8 + 8 + 16);
    assert_true(row_body_add(&body, 2, 6, NULL, 0));
    assert_false(row_body_add(&body, 2, 7, NULL, 0));
}

/* Every shorter body, and every changed byte that matters, is refused or leaves valid rows. */
static void test_cut_bodies_are_refused(void **state)
{
    (void)state;
    struct row_body body = body_of(true, 0, KEYS);
    const size_t whole = body.size;
    uint32_t accepted = 0;
    for (body.size = 0; body.size < whole; body.size++) {
        if (fault_of(true, &body) == NULL) { accepted++; }
    }
    assert_int_equal(accepted, TABLES - 1); /* The ends of sections. */
}

static void set_u32(size_t at, uint32_t value)
{
    memcpy(data + at, &value, sizeof value);
}

static void set_u64(size_t at, uint64_t value)
{
    memcpy(data + at, &value, sizeof value);
}

static void expect_fault(bool gradients, const struct row_body *body, const char *wanted)
{
    const char *fault = fault_of(gradients, body);
    assert_non_null(fault);
    assert_string_equal(fault, wanted);
}

static void test_invalid_rows_are_refused(void **state)
{
    (void)state;
    struct row_body body = body_of(false, 0, KEYS);
    uint64_t first, second;
    memcpy(&first, data + 8, sizeof first);
    memcpy(&second, data + 16, sizeof second);
    set_u32(0, TABLES);
    expect_fault(false, &body, "it names an unknown table");
    set_u32(0, 0);
    set_u64(8, UINT64_C(1) << 63);
    expect_fault(false, &body, "it has a key above 2^63-1");
    set_u64(8, second);
    expect_fault(false, &body, "its keys do not ascend");
    uint64_t other = 0;
    while (is_ours(0, other)) { other++; }
    set_u64(8, other);
    expect_fault(false, &body, "another ps has its rows");
    set_u64(8, first);
    set_u32(4, UINT32_MAX);
    expect_fault(false, &body, "its rows are not in its body");
    set_u32(4, 0);
    expect_fault(false, &body, "its rows are not in its body");
}

static void test_gradients_are_finite_and_bounded(void **state)
{
    (void)state;
    const float infinite = INFINITY;
    struct row_body body = body_of(true, 0, KEYS);
    memcpy(data + 16, &infinite, sizeof infinite);
    expect_fault(true, &body, "it is not finite");
    body = body_of(true, 0, 3 * KEYS); /* About 60 keys; the slices have 40. */
    expect_fault(true, &body, "it has more rows than its slices have keys");
}

/* Infinities and NaNs of both signs are found in every column of rows of every width; the largest
 * numbers and those below the normal ones are accepted. */
static void test_each_column_is_checked(void **state)
{
    static const uint32_t wrong[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001};
    static const uint32_t right[] = {0x7f7fffff, 0xff7fffff, 0x00000001, 0x807fffff};
    enum { KEY_AT = 8, VALUES_AT = 16, COUNT = sizeof wrong / sizeof *wrong };
    (void)state;
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint32_t at = 0; at < widths[t] * COUNT; at++) {
            const float values[4] = {1, -1, 1, -1};
            struct row_body body = {.data = data, .room = sizeof data};
            uint64_t key = 0;
            while (!is_ours(t, key)) { key++; }
            assert_true(row_body_add(&body, t, key, values, widths[t]));
            assert_int_equal(body.size, VALUES_AT + widths[t] * sizeof *values);
            assert_memory_equal(data + KEY_AT, &key, sizeof key);
            set_u32(VALUES_AT + at / COUNT * sizeof *values, right[at % COUNT]);
            assert_null(fault_of(true, &body));
            set_u32(VALUES_AT + at / COUNT * sizeof *values, wrong[at % COUNT]);
            expect_fault(true, &body, "it is not finite");
        }
    }
}

/* Both ways to count the numbers of a body agree. */
static void test_floats_are_counted(void **state)
{
    (void)state;
    for (int gradients = 0; gradients < 2; gradients++) {
        const struct row_body_rules rules = rules_of(gradients != 0);
        const struct row_body body = body_of(gradients != 0, 0, KEYS);
        struct row_body_order order = {.begun = false};
        uint64_t floats, wanted = 0;
        for (uint32_t t = 0; t < TABLES; t++) {
            for (uint64_t key = 0; key < KEYS; key++) { wanted += is_ours(t, key) ? widths[t] : 0; }
        }
        assert_null(row_body_fault(&rules, body.data, body.size, &order, &floats));
        assert_int_equal(floats, wanted);
        assert_int_equal(row_body_floats(&rules, body.data, body.size), wanted);
    }
}

/* The bodies of one push ascend together. */
static void test_bodies_of_a_push_ascend(void **state)
{
    (void)state;
    const struct row_body_rules rules = rules_of(true);
    struct row_body_order order = {.begun = false};
    struct row_body body = {.data = data, .room = sizeof data};
    const float values[4] = {0};
    uint64_t floats, key = 0;
    while (!is_ours(1, key)) { key++; }
    assert_true(row_body_add(&body, 1, key, values, 4));
    assert_null(row_body_fault(&rules, data, body.size, &order, &floats));
    assert_int_equal(floats, 4);
    assert_string_equal(row_body_fault(&rules, data, body.size, &order, &floats),
                        "its keys do not ascend");
    body.size = 0;
    for (key = 0; !is_ours(0, key); key++) {}
    assert_true(row_body_add(&body, 0, key, values, 1));
    assert_string_equal(row_body_fault(&rules, data, body.size, &order, &floats),
                        "its tables do not ascend");
}

/* Each ps has about its share of the buckets, in a range. */
static void test_owners_share_the_buckets(void **state)
{
    (void)state;
    enum { OWNERS = 5, MANY = 20000 };
    uint32_t counts[OWNERS] = {0};
    for (uint64_t key = 0; key < MANY; key++) {
        const uint32_t owner = row_bucket(7, key) * OWNERS / ROW_BUCKETS;
        const struct row_part part = row_part_of(&equal, OWNERS, owner);
        assert_true(row_part_has(&part, 7, key));
        counts[owner]++;
    }
    for (uint32_t p = 0; p < OWNERS; p++) { assert_in_range(counts[p], 3700, 4300); }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_read_as_written),
        cmocka_unit_test(test_a_full_body_refuses_rows),
        cmocka_unit_test(test_cut_bodies_are_refused),
        cmocka_unit_test(test_invalid_rows_are_refused),
        cmocka_unit_test(test_gradients_are_finite_and_bounded),
        cmocka_unit_test(test_each_column_is_checked),
        cmocka_unit_test(test_floats_are_counted),
        cmocka_unit_test(test_bodies_of_a_push_ascend),
        cmocka_unit_test(test_owners_share_the_buckets),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
