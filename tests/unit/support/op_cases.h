/*
 * tests/unit/support/op_cases.h: the test cases of operations. A case builds a small graph around
 * one operation; run_case() then checks
 *   - the shape of the result, or the text of the error;
 *   - the gradient, in double, against central differences;
 *   - each backend against the reference in double;
 *   - that a second run in other memory, and one without passes, give the same bits.
 * Each check is recorded for the operations that took part in it; the registry's test compares the
 * record with the list of all operations.
 */
#ifndef TESTS_UNIT_SUPPORT_OP_CASES_H
#define TESTS_UNIT_SUPPORT_OP_CASES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "graph/openblas/backend.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/portable/backend.h"
#include "graph/program.h"
#include "graph/reference/backend.h"

enum { CHECK_SHAPES = 1, CHECK_GRADIENT = 2, CHECK_BACKENDS = 4, CHECK_TWICE = 8 };
enum { CHECKS_ALL = 15, CASE_EXAMPLES = 3, OPERATIONS_MAX = 256 };

struct op_case {
    const char *name;
    const char *op;                        /* The operation under test. */
    tn_tensor (*build)(struct tn_graph *); /* Returns the result. */
    const char *shape;                     /* The result's; NULL: `error` is expected. */
    const char *error;                     /* A part of the expected text. */
    int64_t limit;                         /* Integer fields are below it; 0: 3. */
    const double *expected;                /* Elements of the result; NULL: not compared. */
    bool without_gradient;                 /* No variable takes part. */
};

static uint8_t case_record[OPERATIONS_MAX];
static double case_worst; /* The greatest relative error of a gradient. */
static uint32_t case_count;

static void record(const struct op_type *op, uint8_t checks)
{
    uint32_t count;
    const struct op_type *const *all = op_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (all[i] == op) {
            case_record[i] |= checks;
            return;
        }
    }
    fail_msg("operation %s is not in the registry", op->name);
}

static void record_program(const struct tn_program *program, uint8_t checks)
{
    for (uint32_t t = 0; t < program->order_count; t++) {
        record(program->graph->nodes[program->order[t]].op, checks);
    }
}

/* A variable with normal initial values. */
static inline tn_tensor variable(struct tn_graph *graph, const char *name, struct tn_shape shape)
{
    return tn_variable(graph, name, shape,
                       &(struct tn_variable_options){.init = TN_INIT_NORMAL, .scale = 1});
}

/* A field of floats plus a variable of the same shape for one example: a value that has the batch
 * in front and a gradient. */
static inline tn_tensor batch_value(struct tn_graph *graph, const char *name, struct tn_shape shape)
{
    struct tn_shape one = shape;
    one.dims[0] = 1;
    char field[TN_NAME_MAX];
    snprintf(field, sizeof field, "%s field", name);
    return tn_add(graph, tn_placeholder(graph, field, TN_FLOAT32, shape),
                  variable(graph, name, one));
}

/* A loss that weighs each element of `y` differently. */
static void add_loss(struct tn_graph *graph, tn_tensor y)
{
    if (tn_graph_status(graph, NULL) != TN_OK) { return; }
    struct tn_shape shape = tn_shape_of(graph, y);
    bool batch = shape.rank > 0 && shape.dims[0] == TN_BATCH;
    struct tn_shape weights = shape;
    if (batch) { weights.dims[0] = 1; }
    size_t count = (size_t)shape_elements(&weights);
    float *values = calloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++) { values[i] = 0.25F + 0.125F * (float)(i * 7 % 11); }
    tn_tensor pattern = tn_constant(graph, (struct tn_view){TN_FLOAT32, weights, values});
    free(values);
    uint32_t axes[TN_RANK_MAX], axis_count = 0;
    for (uint32_t i = batch ? 1 : 0; i < shape.rank; i++) { axes[axis_count++] = i; }
    tn_tensor loss = tn_sum(graph, tn_multiply(graph, y, pattern), axes, axis_count);
    if (!batch) {
        loss = tn_multiply(graph, loss,
                           tn_placeholder(graph, "weight", TN_FLOAT32, TN_SHAPE(TN_BATCH)));
    }
    tn_loss(graph, loss, 1.5F);
}

static void fill_case_rows(const struct tn_program *program, uint32_t number)
{
    const tn_tensor value = tensor_of(number, 0);
    void *rows = program_memory(program, &program->plan.places[value.v - 1]);
    for (int64_t k = 0; rows != NULL && k < shape_elements(shape_of(program->graph, value)); k++) {
        const float element = random_normal_at(6, number, (uint64_t)k);
        if (program->backend->wide) {
            ((double *)rows)[k] = (double)element;
        } else {
            ((float *)rows)[k] = element;
        }
    }
}

static void fill_case_fields(const struct tn_program *program, int64_t limit)
{
    for (uint32_t i = 0; i < program->graph->count; i++) {
        const struct node *node = &program->graph->nodes[i];
        if (node->op == &op_lookup) { fill_case_rows(program, i); }
        if (node->op != &op_placeholder) { continue; }
        struct tn_view field = tn_program_field(program, node->attributes.name);
        for (int64_t k = 0; field.data != NULL && k < shape_elements(&field.shape); k++) {
            int64_t integer = (k * 7 + 2) % (limit == 0 ? 3 : limit);
            float number = random_normal_at(5, i, (uint64_t)k);
            switch (field.type) {
            case TN_FLOAT32:
                if (program->backend->wide) {
                    ((double *)field.data)[k] = (double)number;
                } else {
                    ((float *)field.data)[k] = number;
                }
                break;
            case TN_INT32: ((int32_t *)field.data)[k] = (int32_t)integer; break;
            case TN_INT64: ((int64_t *)field.data)[k] = integer; break;
            case TN_UINT8: ((uint8_t *)field.data)[k] = (uint8_t)integer; break;
            }
        }
    }
}

/* The results of one run. */
struct case_result {
    struct tn_program *program;
    double *y, *gradient; /* As doubles. */
    size_t y_count, gradient_count;
    double loss;
};

static void *copy_wide(bool wide, const void *data, size_t count)
{
    double *out = calloc(count + 1, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        out[i] = wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
    }
    return out;
}

static struct case_result run_program(struct tn_graph *graph, const struct op_case *test,
                                      const struct backend *backend, bool without_passes)
{
    struct case_result result = {0};
    struct error error;
    struct tn_program_options options = {
        .struct_size = sizeof options,
        .mode = test->without_gradient ? TN_EVALUATE : TN_TRAIN,
        .examples = CASE_EXAMPLES,
        .without_passes = without_passes,
        .keep_outputs = true,
    };
    if (program_create(graph, &options, backend, &result.program, &error) != TN_OK) {
        fail_msg("%s: %s", test->name, error.text);
    }
    size_t count = (size_t)result.program->parameters;
    float *values = calloc(count + 1, sizeof *values);
    tn_program_initialize(result.program, 3, values);
    double *wide = copy_wide(false, values, count);
    void *gradient = calloc(count + 1, sizeof(double));
    memset(gradient, 0x5a, (count + 1) * sizeof(double));
    memset(result.program->arena, without_passes ? 0xff : 0x7f,
           (size_t)result.program->plan.arena_bytes);
    fill_case_fields(result.program, test->limit);
    struct tn_run run = {sizeof run, .seed = 11, .step = 2, .first = 40, .scale = 0.25F};
    assert_int_equal(program_run(result.program, &run, backend->wide ? (const void *)wide : values,
                                 gradient, NULL),
                     TN_OK);
    struct tn_view y = tn_program_output(result.program, "y");
    result.y_count = (size_t)shape_elements(&y.shape);
    result.y = y.type == TN_FLOAT32 ? copy_wide(backend->wide, y.data, result.y_count)
                                    : calloc(result.y_count + 1, sizeof(double));
    result.gradient_count = test->without_gradient ? 0 : count;
    result.gradient = copy_wide(backend->wide, gradient, result.gradient_count);
    result.loss = run.loss_sum;
    free(values);
    free(wide);
    free(gradient);
    return result;
}

static void free_result(struct case_result *result)
{
    tn_program_destroy(result->program);
    free(result->y);
    free(result->gradient);
}

static void assert_near(const struct op_case *test, const char *what, const double *a,
                        const double *b, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        double difference = fabs(a[i] - b[i]);
        bool near = difference <= tolerance * (1 + fabs(a[i]) + fabs(b[i]));
        if (!near && !(isnan(a[i]) && isnan(b[i]))) {
            fail_msg("%s: %s[%zu] is %.9g in one and %.9g in the other", test->name, what, i, a[i],
                     b[i]);
        }
    }
}

/* One backend: its results are near those in double, and the same bits with and without passes in
 * other memory. */
static void check_backend(struct tn_graph *graph, const struct op_case *test,
                          const struct case_result *wide, const struct backend *backend)
{
    static const double same_bits = 0, rounding = 2e-4;
    struct case_result narrow = run_program(graph, test, backend, false);
    struct case_result again = run_program(graph, test, backend, true);
    assert_near(test, "y", wide->y, narrow.y, wide->y_count, rounding);
    assert_near(test, "gradient", wide->gradient, narrow.gradient, wide->gradient_count, rounding);
    record_program(narrow.program, CHECK_BACKENDS);
    assert_near(test, "y, run twice", narrow.y, again.y, again.y_count, same_bits);
    assert_near(test, "gradient, run twice", narrow.gradient, again.gradient, again.gradient_count,
                same_bits);
    assert_near(test, "loss, run twice", &narrow.loss, &again.loss, 1, same_bits);
    record_program(narrow.program, CHECK_TWICE);
    free_result(&narrow);
    free_result(&again);
}

/* Portable kernels: the same bits for each class of processors, near those in double. */
static void check_portable(struct tn_graph *graph, const struct op_case *test,
                           const struct case_result *wide)
{
    static const char *const classes[] = {"scalar", "avx2", "avx512", "neon"};
    struct case_result first = {0};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        const struct backend *backend = NULL;
        if (backend_portable(classes[i], &backend, NULL) != TN_OK) { continue; }
        check_backend(graph, test, wide, backend);
        struct case_result found = run_program(graph, test, backend, false);
        if (i == 0) {
            first = found;
            continue;
        }
        assert_near(test, "y, scalar and vectors", first.y, found.y, found.y_count, 0);
        assert_near(test, "gradient, scalar and vectors", first.gradient, found.gradient,
                    found.gradient_count, 0);
        assert_near(test, "loss, scalar and vectors", &first.loss, &found.loss, 1, 0);
        free_result(&found);
    }
    free_result(&first);
}

static void check_backends(struct tn_graph *graph, const struct op_case *test)
{
    const struct backend *openblas = NULL;
    struct case_result wide = run_program(graph, test, backend_reference_wide(), false);
    check_backend(graph, test, &wide, backend_reference());
    check_backend(graph, test, &wide, backend_kernels_reference());
    check_portable(graph, test, &wide);
    if (backend_openblas(&openblas, NULL) == TN_OK) { check_backend(graph, test, &wide, openblas); }
    if (test->expected != NULL) {
        assert_near(test, "expected", test->expected, wide.y, wide.y_count, 1e-6);
    }
    free_result(&wide);
}

static void check_gradient(struct tn_graph *graph, const struct op_case *test)
{
    struct tn_error error = {.text = ""};
    double worst = 0;
    if (tn_check_gradients(graph, 17, CASE_EXAMPLES, 40, &worst, &error) != TN_OK) {
        fail_msg("%s: %s", test->name, error.text);
    }
    if (!(worst < 1e-6)) { fail_msg("%s: the gradient is wrong by %g", test->name, worst); }
    case_worst = double_max(case_worst, worst);
    struct tn_program *program = NULL;
    struct tn_program_options options = {sizeof options, TN_TRAIN, .examples = CASE_EXAMPLES,
                                         .keep_outputs = true};
    assert_int_equal(program_create(graph, &options, backend_reference_wide(), &program, NULL),
                     TN_OK);
    /* differentiate() asserts that each gradient has the shape of its value. */
    record_program(program, CHECK_GRADIENT | CHECK_SHAPES);
    tn_program_destroy(program);
}

static inline void run_case(const struct op_case *test)
{
    struct tn_graph *graph = NULL;
    struct tn_error error = {.text = ""};
    char shape[SHAPE_TEXT_MAX];
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    tn_tensor y = test->build(graph);
    enum tn_status status = tn_graph_status(graph, &error);
    if (test->error != NULL) {
        if (status == TN_OK || strstr(error.text, test->error) == NULL) {
            fail_msg("%s: expected '%s', got '%s'", test->name, test->error, error.text);
        }
        assert_int_equal(y.v, 0);
    } else {
        if (status != TN_OK) { fail_msg("%s: %s", test->name, error.text); }
        const struct tn_shape *found = shape_of(graph, y);
        assert_string_equal(test->shape, shape_format(tn_type_of(graph, y), found, shape));
        record(op_find(test->op), CHECK_SHAPES);
        tn_output(graph, "y", y);
        if (!test->without_gradient) {
            add_loss(graph, y);
            check_gradient(graph, test);
        }
        check_backends(graph, test);
    }
    case_count++;
    tn_graph_destroy(graph);
}

#define RUN_CASES(cases)                                                                           \
    for (size_t case_at = 0; case_at < sizeof(cases) / sizeof(cases)[0]; case_at++) {              \
        run_case(&(cases)[case_at]);                                                               \
    }

/* The program of one family: its cases are the test. */
#define FAMILY_MAIN(cases)                                                                         \
    static void cases_pass(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        RUN_CASES(cases)                                                                           \
    }                                                                                              \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {cmocka_unit_test(cases_pass)};                          \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
