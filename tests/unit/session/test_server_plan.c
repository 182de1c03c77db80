/* session/server_plan.c: a decoded plan equals the encoded one; invalid bytes are
 * refused. */
#include "session/server_plan.h"

#include "tests/unit/session/plan_fixture.h"

/* Edges, variables and parts arrive. */
static void server_plans_survive(void **state)
{
    (void)state;
    size_t size;
    struct server_plan plan;
    uint8_t *bytes = encoded_server_plan(1, &size);
    assert_int_equal(server_plan_decode(bytes, size, 1, 2, MEMORY, &plan, NULL), TN_OK);
    assert_int_equal(plan.examples, EXAMPLES);
    assert_int_equal(plan.part_count, 1);
    assert_int_equal(plan.edge_count, 2);
    const struct server_plan_edge *edge = server_plan_find_edge(&plan, EDGE_BETWEEN);
    assert_int_equal(edge->from, 0);
    assert_int_equal(edge->to, 1);
    assert_int_equal(edge->bytes, sizeof(float) * EXAMPLES * WIDTH);
    assert_int_equal(server_plan_find_edge(&plan, EDGE_RESULT)->to, SERVER_PLAN_CLIENT);
    assert_null(server_plan_find_edge(&plan, EDGE_X));
    assert_null(server_plan_find_edge(&plan, EDGES));
    assert_int_equal(plan.variable_count, 1);
    assert_string_equal(plan.variables[0].name, "w");
    assert_int_equal(plan.variables[0].count, WIDTH);
    server_plan_free(&plan);
    free(bytes);
}

/* A truncated plan is refused, and so is the plan of another server. */
static void cut_bytes_are_refused(void **state)
{
    (void)state;
    size_t size;
    struct server_plan plan;
    uint8_t *bytes = encoded_server_plan(0, &size);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(server_plan_decode(bytes, i, 0, 2, MEMORY, &plan, NULL), TN_EINVAL);
        server_plan_free(&plan);
    }
    assert_int_equal(server_plan_decode(bytes, size, 2, 3, MEMORY, &plan, NULL), TN_EINVAL);
    server_plan_free(&plan);
    free(bytes);
}

/* Whatever one changed byte makes of it, reading stays within bounds. */
static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    size_t size;
    struct server_plan plan;
    uint8_t *bytes = encoded_server_plan(1, &size);
    for (size_t i = 0; i < 8 * size; i++) {
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        const enum tn_status status = server_plan_decode(bytes, size, 1, 2, MEMORY, &plan, NULL);
        assert_true(status == TN_OK || status == TN_EINVAL || status == TN_ENOMEM);
        server_plan_free(&plan);
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    free(bytes);
}

/* A value, or a graph, that is larger than the memory that is left: the error has the numbers. */
static void large_values_are_refused(void **state)
{
    (void)state;
    size_t size;
    struct server_plan plan;
    struct error error = {.text = ""};
    uint8_t *bytes = encoded_server_plan(0, &size);
    assert_int_equal(server_plan_decode(bytes, size, 0, 2, 16, &plan, &error), TN_ENOMEM);
    assert_non_null(strstr(error.text, "a value of 24 bytes is larger than the 16 bytes"));
    server_plan_free(&plan);
    assert_int_equal(server_plan_decode(bytes, size, 0, 2, 32, &plan, &error), TN_ENOMEM);
    assert_non_null(strstr(error.text, "the graph of a plan takes more than the 32 bytes"));
    server_plan_free(&plan);
    free(bytes);
}

/* The size of a value does not overflow. */
static void sizes_do_not_overflow(void **state)
{
    (void)state;
    const struct tn_shape huge = TN_SHAPE(TN_BATCH, INT64_C(1) << 40);
    const struct tn_shape scalar = TN_SCALAR;
    assert_true(server_plan_value_bytes(TN_INT64, &huge, SESSION_EXAMPLES_MAX) == UINT64_MAX);
    assert_int_equal(server_plan_value_bytes(TN_INT64, &scalar, 7), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_plans_survive),     cmocka_unit_test(cut_bytes_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm), cmocka_unit_test(large_values_are_refused),
        cmocka_unit_test(sizes_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
