/* graph/portable/backend.h: whole programs have the same bits for each class of processors, and
 * gradients near those in double; weights are packed again when the values change. */
#include "graph/portable/backend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "graph/reference/backend.h"
#include "tests/portable/networks.h"

static const char *const classes[] = {"scalar", "avx2", "avx512", "neon"};

enum { CLASSES = sizeof classes / sizeof classes[0] };

static struct tn_program *compile_for(const struct network *network, const struct backend *backend,
                                      bool without_passes)
{
    struct tn_graph *graph = network_graph(network);
    struct tn_program_options options = {
        .struct_size = sizeof options,
        .mode = TN_TRAIN,
        .examples = NETWORK_EXAMPLES,
        .without_passes = without_passes,
    };
    struct tn_program *program = NULL;
    struct error error;
    if (program_create(graph, &options, backend, &program, &error) != TN_OK) {
        fail_msg("%s: %s", network->name, error.text);
    }
    tn_graph_destroy(graph);
    return program;
}

static struct network_digests digests_of(const struct network *network,
                                         const struct backend *backend, bool without_passes)
{
    struct tn_program *program = compile_for(network, backend, without_passes);
    memset(program->arena, without_passes ? 0xff : 0x7f, (size_t)program->plan.arena_bytes);
    struct network_digests digests = network_train(program);
    tn_program_destroy(program);
    return digests;
}

static bool digests_equal(const struct network_digests *a, const struct network_digests *b)
{
    return a->loss == b->loss && a->gradient == b->gradient && a->values == b->values;
}

static const struct backend *backend_fastest(void)
{
    const struct backend *backend = NULL;
    assert_int_equal(backend_portable("auto", &backend, NULL), TN_OK);
    return backend;
}

static void programs_have_the_same_bits_for_each_class(void **state)
{
    (void)state;
    for (size_t n = 0; n < NETWORKS; n++) {
        const struct backend *scalar = NULL, *backend = NULL;
        assert_int_equal(backend_portable("scalar", &scalar, NULL), TN_OK);
        struct network_digests expected = digests_of(&networks[n], scalar, false);
        for (size_t i = 0; i < CLASSES; i++) {
            if (backend_portable(classes[i], &backend, NULL) != TN_OK) { continue; }
            struct network_digests found = digests_of(&networks[n], backend, false);
            if (!digests_equal(&expected, &found)) {
                fail_msg("%s: %s and scalar differ", networks[n].name, classes[i]);
            }
        }
        struct network_digests plain = digests_of(&networks[n], backend_fastest(), true);
        if (!digests_equal(&expected, &plain)) {
            fail_msg("%s differs without passes", networks[n].name);
        }
    }
}

/* An error in the last bits of one element of one kernel's result is found. */
static void compute_wrongly(const struct kernel_call *call)
{
    kernel_function right = backend_fastest()->find(&op_softmax_cross_entropy_gradient);
    float *out = call->out[0].data;
    right(call);
    out[7] += 0x1p-20F * out[7];
}

static kernel_function find_wrongly(const struct op_type *op)
{
    bool is_wrong = op == &op_softmax_cross_entropy_gradient;
    return is_wrong ? compute_wrongly : backend_fastest()->find(op);
}

static void a_planted_error_is_found(void **state)
{
    (void)state;
    struct backend wrong = *backend_fastest();
    wrong.find = find_wrongly;
    for (size_t n = 0; n < 3; n++) { /* Those with this loss. */
        struct network_digests a = digests_of(&networks[n], backend_fastest(), false);
        struct network_digests b = digests_of(&networks[n], &wrong, false);
        assert_true(a.gradient != b.gradient && a.values != b.values);
    }
}

/* A program's gradient of the first step. `wide`: in double; the inputs are those of `narrow`. */
static double *gradient_of(struct tn_program *program, const struct tn_program *narrow)
{
    static const char *const fields[] = {"x", "y", "image", "label", "token", "next"};
    bool wide = program->backend->wide;
    size_t count = (size_t)program->parameters;
    float *values = calloc(count, sizeof *values), *gradient = calloc(count, sizeof *gradient);
    double *wide_values = calloc(count, sizeof *wide_values);
    double *wide_gradient = calloc(count, sizeof *wide_gradient);
    tn_program_initialize(program, 5, values);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct tn_view from = tn_program_field(narrow, fields[i]);
        struct tn_view to = tn_program_field(program, fields[i]);
        for (int64_t k = 0; to.data != NULL && k < shape_elements(&to.shape); k++) {
            if (to.type != TN_FLOAT32) {
                size_t size = type_size(to.type, false);
                memcpy((uint8_t *)to.data + (size_t)k * size,
                       (const uint8_t *)from.data + (size_t)k * size, size);
            } else if (wide) {
                ((double *)to.data)[k] = (double)((const float *)from.data)[k];
            }
        }
    }
    for (size_t i = 0; i < count; i++) { wide_values[i] = (double)values[i]; }
    struct tn_run run = {.struct_size = sizeof run, .seed = 9, .scale = 1};
    assert_int_equal(program_run(program, &run, wide ? (void *)wide_values : values,
                                 wide ? (void *)wide_gradient : gradient, NULL),
                     TN_OK);
    for (size_t i = 0; i < count && !wide; i++) { wide_gradient[i] = (double)gradient[i]; }
    free(values);
    free(gradient);
    free(wide_values);
    return wide_gradient;
}

static void gradients_are_near_those_in_double(void **state)
{
    (void)state;
    static const double rounding = 2e-4;
    for (size_t n = 0; n < NETWORKS; n++) {
        struct tn_program *narrow = compile_for(&networks[n], backend_fastest(), false);
        struct tn_program *wide = compile_for(&networks[n], backend_reference_wide(), false);
        (void)network_train(narrow); /* Fills the fields. */
        double *found = gradient_of(narrow, narrow), *expected = gradient_of(wide, narrow);
        double worst = 0;
        for (size_t i = 0; i < narrow->parameters; i++) {
            double difference = fabs(found[i] - expected[i]);
            worst = double_max(worst, difference / (1 + fabs(expected[i])));
        }
        print_message("%s: %zu gradients, worst difference %.1e\n", networks[n].name,
                      (size_t)narrow->parameters, worst);
        assert_true(worst < rounding);
        free(found);
        free(expected);
        tn_program_destroy(narrow);
        tn_program_destroy(wide);
    }
}

/* The gradient after running with `first` under one version and with `second` under another. */
static uint64_t gradient_after(struct tn_program *program, const float *first, const float *second,
                               const uint64_t versions[2])
{
    size_t count = (size_t)program->parameters;
    float *gradient = calloc(count, sizeof *gradient);
    struct tn_run run = {.struct_size = sizeof run,
                         .values = first,
                         .gradient = gradient,
                         .scale = 1,
                         .version = versions[0]};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    run.values = second;
    run.version = versions[1];
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    uint64_t hash = network_hash(1, gradient, count * sizeof *gradient);
    free(gradient);
    return hash;
}

/* Equal versions mean equal values: with others, the packed weights are the old ones, so the
 * promise matters; version 0 and a new version pack again. */
static void weights_are_packed_again_for_a_new_version(void **state)
{
    (void)state;
    struct tn_program *program = compile_for(&networks[1], backend_fastest(), false);
    size_t count = (size_t)program->parameters;
    float *values = calloc(2 * count, sizeof *values), *others = values + count;
    assert_true(program->packed_bytes > 0);
    tn_program_initialize(program, 5, values);
    tn_program_initialize(program, 6, others);
    network_fill(program, "image", 256);
    network_fill(program, "label", 10);
    uint64_t expected = gradient_after(program, others, others, (uint64_t[]){0, 0});
    assert_true(gradient_after(program, values, others, (uint64_t[]){0, 0}) == expected);
    assert_true(gradient_after(program, values, others, (uint64_t[]){7, 8}) == expected);
    assert_true(gradient_after(program, values, others, (uint64_t[]){7, 0}) == expected);
    assert_true(gradient_after(program, others, others, (uint64_t[]){3, 3}) == expected);
    assert_true(gradient_after(program, values, others, (uint64_t[]){9, 9}) != expected);
    free(values);
    tn_program_destroy(program);
}

static void unknown_classes_are_refused(void **state)
{
    (void)state;
    const struct backend *backend = NULL;
    struct error error;
    assert_int_equal(backend_portable("mmx", &backend, &error), TN_EINVAL);
    assert_null(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_have_the_same_bits_for_each_class),
        cmocka_unit_test(a_planted_error_is_found),
        cmocka_unit_test(gradients_are_near_those_in_double),
        cmocka_unit_test(weights_are_packed_again_for_a_new_version),
        cmocka_unit_test(unknown_classes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
