/* graph/ops/registry.h: every operation has its cases. */
#include "tests/unit/graph/ops/cases_activation.h"
#include "tests/unit/graph/ops/cases_arrange.h"
#include "tests/unit/graph/ops/cases_attention.h"
#include "tests/unit/graph/ops/cases_classify.h"
#include "tests/unit/graph/ops/cases_conv.h"
#include "tests/unit/graph/ops/cases_custom.h"
#include "tests/unit/graph/ops/cases_dropout.h"
#include "tests/unit/graph/ops/cases_elementwise.h"
#include "tests/unit/graph/ops/cases_fused.h"
#include "tests/unit/graph/ops/cases_gather.h"
#include "tests/unit/graph/ops/cases_leaves.h"
#include "tests/unit/graph/ops/cases_lookup.h"
#include "tests/unit/graph/ops/cases_matmul.h"
#include "tests/unit/graph/ops/cases_normalize.h"
#include "tests/unit/graph/ops/cases_pool.h"
#include "tests/unit/graph/ops/cases_reduce.h"
#include "tests/unit/graph/ops/cases_regress.h"
#include "tests/unit/graph/ops/cases_reshape.h"
#include "tests/unit/graph/ops/cases_retrieval.h"
#include "tests/unit/graph/ops/cases_softmax.h"
#include "tests/unit/graph/ops/cases_unary.h"

/* The checks that an operation needs. Without a gradient of its own it must be part of another
 * operation's, except leaves and views that stop it. */
static uint8_t needed(const struct op_type *op)
{
    bool never = op == &op_constant || op == &op_stop_gradient || op == &op_placeholder;
    return never ? CHECKS_ALL & ~CHECK_GRADIENT : CHECKS_ALL;
}

/* An operation that lacks a case fails here by name. */
static void every_operation_has_its_cases(void **state)
{
    (void)state;
    uint32_t count, missing = 0;
    const struct op_type *const *all = op_all(&count);
    RUN_CASES(cases_activation)
    RUN_CASES(cases_arrange)
    RUN_CASES(cases_attention)
    RUN_CASES(cases_classify)
    RUN_CASES(cases_conv)
    RUN_CASES(cases_custom)
    RUN_CASES(cases_dropout)
    RUN_CASES(cases_elementwise)
    RUN_CASES(cases_fused)
    RUN_CASES(cases_gather)
    RUN_CASES(cases_leaves)
    RUN_CASES(cases_lookup)
    RUN_CASES(cases_matmul)
    RUN_CASES(cases_normalize)
    RUN_CASES(cases_pool)
    RUN_CASES(cases_reduce)
    RUN_CASES(cases_regress)
    RUN_CASES(cases_reshape)
    RUN_CASES(cases_retrieval)
    RUN_CASES(cases_softmax)
    RUN_CASES(cases_unary)
    for (uint32_t i = 0; i < count; i++) {
        uint8_t lacks = (uint8_t)(needed(all[i]) & ~case_record[i]);
        if (lacks == 0) { continue; }
        print_error("operation %s has no case for its%s%s%s%s: add one to its family's cases\n",
                    all[i]->name, lacks & CHECK_SHAPES ? " shapes" : "",
                    lacks & CHECK_GRADIENT ? " gradient" : "",
                    lacks & CHECK_BACKENDS ? " backends" : "",
                    lacks & CHECK_TWICE ? " second run" : "");
        missing++;
    }
    print_message("%u operations, %u cases, worst relative error of a gradient %.1e\n", count,
                  case_count, case_worst);
    assert_int_equal(missing, 0);
}

/* The record detects an operation without cases. */
static void an_operation_without_cases_is_found(void **state)
{
    (void)state;
    memset(case_record, 0, sizeof case_record);
    run_case(&cases_elementwise[0]);
    uint32_t count, incomplete = 0;
    const struct op_type *const *all = op_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        incomplete += (needed(all[i]) & ~case_record[i]) != 0;
        if (all[i] == &op_add) { assert_int_equal(case_record[i], CHECKS_ALL); }
    }
    assert_true(incomplete > 0);
}

static void names_are_unique_and_found(void **state)
{
    (void)state;
    uint32_t count;
    const struct op_type *const *all = op_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        assert_ptr_equal(op_find(all[i]->name), all[i]);
        assert_true(all[i]->version >= 1);
        assert_true(all[i]->outputs >= 1 && all[i]->outputs <= OP_OUTPUTS_MAX);
        assert_true(all[i]->inputs_max <= OP_INPUTS_MAX);
        assert_non_null(all[i]->infer);
    }
    assert_null(op_find("no such operation"));
}

/* Every operation with memory of its own has a kernel in both widths. */
static void every_operation_has_reference_kernels(void **state)
{
    (void)state;
    uint32_t count;
    const struct op_type *const *all = op_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        bool computed = !all[i]->traits.leaf && !all[i]->traits.view;
        assert_int_equal(backend_reference()->find(all[i]) != NULL, computed);
        assert_int_equal(backend_reference_wide()->find(all[i]) != NULL, computed);
    }
}

/* An operation without one would be refused by the default backend. */
static void every_operation_has_a_portable_kernel(void **state)
{
    (void)state;
    uint32_t count;
    const struct op_type *const *all = op_all(&count);
    const struct backend *portable = NULL;
    assert_int_equal(backend_portable("scalar", &portable, NULL), TN_OK);
    for (uint32_t i = 0; i < count; i++) {
        bool computed = !all[i]->traits.leaf && !all[i]->traits.view;
        if ((portable->find(all[i]) != NULL) != computed) { fail_msg("%s", all[i]->name); }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_has_its_cases),
        cmocka_unit_test(an_operation_without_cases_is_found),
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(every_operation_has_reference_kernels),
        cmocka_unit_test(every_operation_has_a_portable_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
