/* The kernels of each backend compared with the plain C reference; exact ones bit for bit. */
#include "kernels/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "common/base/small_numbers.h"
#include "common/cluster/slices.h"
#include "kernels/cpu.h"
#include "tests/unit/kernels/slice_terms.h"

enum { COUNT = 1003 }; /* Not a multiple of any vector. */

/* All variants of the loops that this machine can run. */
static const struct kernels *backends[3];
static int backend_count;

static int find_backends(void **state)
{
    (void)state;
    backends[backend_count++] = kernels_cpu();
    backends[backend_count++] = cpu_loops_baseline();
#if defined(__x86_64__)
    if (cpu_loops_avx2() != NULL && __builtin_cpu_supports("avx2")) {
        backends[backend_count++] = cpu_loops_avx2();
    }
#endif
    return 0;
}

static float *random_floats(uint64_t stream, size_t count)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) { values[i] = 4.0F * random_unit_at(11, stream, i) - 2.0F; }
    return values;
}

static void assert_close(const float *a, const float *b, size_t count, float tolerance)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(a[i] - b[i]) <= tolerance * (1.0F + fabsf(b[i])))) {
            fail_msg("element %zu: %.9g is not near %.9g", i, (double)a[i], (double)b[i]);
        }
    }
}

static void check_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k)
{
    float *a = random_floats(1, m * k), *b = random_floats(2, k * n);
    float *expected = random_floats(3, m * n), *out = random_floats(4, m * n);
    kernels_reference()->multiply(transpose_a, transpose_b, m, n, k, a, b, expected);
    kernels_cpu()->multiply(transpose_a, transpose_b, m, n, k, a, b, out);
    assert_close(out, expected, m * n, 1e-4F);
    free(a), free(b), free(expected), free(out);
}

/* Products of many shapes, plain and transposed, agree with the reference. */
static void test_multiply_agrees(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{1, 1, 1},   {32, 128, 784}, {784, 128, 32}, {31, 10, 128},
                                {7, 13, 29}, {128, 10, 1},   {1, 300, 64},   {5, 1, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int transposes = 0; transposes < 4; transposes++) {
            check_multiply((transposes & 1) != 0, (transposes & 2) != 0, shapes[s][0], shapes[s][1],
                           shapes[s][2]);
        }
    }
}

/* The bits of a product do not depend on the alignment of its matrices. */
static void test_multiply_does_not_depend_on_alignment(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{32, 128, 784}, {784, 128, 32}, {32, 10, 128}, {31, 10, 128}};
    for (size_t s = 0; s < 4; s++) {
        size_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        float *a = random_floats(1, m * k), *b = random_floats(2, k * n), *first = NULL;
        for (size_t shift = 0; shift < 17; shift++) {
            float *a_moved = malloc((m * k + shift) * sizeof *a);
            float *b_moved = malloc((k * n + 16 - shift) * sizeof *b);
            float *out = malloc((m * n + shift) * sizeof *out);
            assert_true(a_moved != NULL && b_moved != NULL && out != NULL);
            memcpy(a_moved + shift, a, m * k * sizeof *a);
            memcpy(b_moved + 16 - shift, b, k * n * sizeof *b);
            kernels_cpu()->multiply(false, false, m, n, k, a_moved + shift, b_moved + 16 - shift,
                                    out + shift);
            if (first != NULL) { assert_memory_equal(out + shift, first, m * n * sizeof *out); }
            if (first == NULL) {
                first = out;
            } else {
                free(out);
            }
            free(a_moved), free(b_moved);
        }
        free(a), free(b), free(first);
    }
}

/* Sums, scaling and bias have the reference's bits, for every length up to 40. */
static void test_elementwise_is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < backend_count; i++) {
        for (size_t count = 0; count <= 40; count++) {
            float *from = random_floats(1, 5 * count), *a = random_floats(2, 5 * count);
            float *b = random_floats(2, 5 * count), sums_a[40], sums_b[40];
            const struct kernels *both[] = {backends[i], kernels_reference()};
            for (int k = 0; k < 2; k++) {
                float *into = k == 0 ? a : b;
                both[k]->add(5 * count, from, into);
                both[k]->scale(5 * count, 0.3F, into);
                both[k]->add_bias(5, count, from, into);
                both[k]->relu(5 * count, into);
                both[k]->relu_backward(5 * count, from, into);
                both[k]->sum_rows(5, count, into, k == 0 ? sums_a : sums_b);
            }
            assert_memory_equal(a, b, 5 * count * sizeof *a);
            assert_memory_equal(sums_a, sums_b, count * sizeof *sums_a);
            free(from), free(a), free(b);
        }
    }
}

/* The gradient of relu passes exactly where its output is positive; NaN is preserved. */
static void test_relu_is_exact_at_zero(void **state)
{
    (void)state;
    for (int i = 0; i < backend_count; i++) {
        float values[] = {-1.0F, -0.0F, 0.0F, 2.0F, NAN}, gradient[] = {1, 1, 1, 1, 1};
        backends[i]->relu(5, values);
        assert_true(values[0] == 0.0F && values[3] == 2.0F && isnan(values[4]));
        backends[i]->relu_backward(5, values, gradient);
        assert_memory_equal(gradient, ((float[]){0, 0, 0, 1, 1}), sizeof gradient);
    }
}

/* Every optimizer has the reference's bits, with and without weight decay, a scale and a limit,
 * also at unaligned addresses. */
static void test_optimizer_steps_are_exact(void **state)
{
    (void)state;
    float *g = random_floats(1, COUNT), *in[OPTIMIZER_ARRAYS_MAX];
    static const struct optimizer_constants steps[] = {
        {0.01F, 1, INFINITY, 0, 0.9F, 0.9F, 0.1F, 0.999F, 0.001F, 1.7F, 1e-8F, 10},
        {0.1F, 0.75F, 1.25F, 0.001F, 0.5F, 0.8F, 0.2F, 0.9F, 0.1F, 3, 1e-3F, 5},
    };
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { in[a] = random_floats(2 + a, COUNT); }
    for (size_t i = 0; i < COUNT; i++) { in[2][i] *= in[2][i]; }
    for (int run = 0; run < backend_count * OPTIMIZER_KINDS * 2 * 9; run++) {
        static float out[2][OPTIMIZER_ARRAYS_MAX][COUNT];
        const struct kernels *both[] = {backends[run / (OPTIMIZER_KINDS * 2 * 9)],
                                        kernels_reference()};
        const struct optimizer_constants *step = &steps[run / 9 % 2];
        int kind = run / (9 * 2) % OPTIMIZER_KINDS;
        size_t first = (size_t)run % 9;
        for (int k = 0; k < 2; k++) {
            memset(out[k], 0, sizeof out[k]);
            both[k]->optimizers->update[kind](
                COUNT - first, step, g + first,
                (const float *const[OPTIMIZER_ARRAYS_MAX]){
                    in[0] + first, in[kind < OPTIMIZER_ADAGRAD ? 1 : 2] + first, in[2] + first},
                (float *const[OPTIMIZER_ARRAYS_MAX]){out[k][0], out[k][1], out[k][2]});
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    }
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { free(in[a]); }
    free(g);
}

static float tree_sum(const struct slice_node node, float *const *arrays, size_t i)
{
    if (node.count == 1) { return arrays[node.first][i]; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return tree_sum(left, arrays, i) + tree_sum(right, arrays, i);
}

/* The sum of any number of arrays has the bits of its definition, for any length and alignment, and
 * nothing behind it is written. */
static void test_sums_over_trees_are_exact(void **state)
{
    (void)state;
    float *arrays[SLICES_MAX];
    for (uint32_t v = 0; v < SLICES_MAX; v++) { arrays[v] = random_floats(v, COUNT); }
    for (uint32_t run = 0; run < 400; run++) {
        const struct kernels *kernels =
            run % 5 == 4 ? kernels_reference() : backends[run % 5 % (uint32_t)backend_count];
        const struct slice_node root = {0, run < 20 ? SLICES_MAX - run : 2 + run % 31};
        const size_t offset = run % 17, out_offset = run / 3 % 17;
        const size_t count = 1 + run * 37 % (COUNT - 40);
        struct sum_term terms[SLICES_MAX];
        static float out[COUNT];
        out[out_offset + count] = 42;
        const size_t at = run % 3 == 0 ? offset : 0; /* Both ways to begin behind the start. */
        kernels->sum_tree(at, count, slice_terms(root, arrays, offset - at, terms), terms,
                          out + out_offset);
        assert_true(out[out_offset + count] == 42);
        for (size_t i = 0; i < count; i++) {
            const float expected = tree_sum(root, arrays, offset + i);
            assert_memory_equal(&expected, &out[out_offset + i], sizeof expected);
        }
    }
    for (uint32_t v = 0; v < SLICES_MAX; v++) { free(arrays[v]); }
}

/* Streamed values arrive, for any length and alignment, and nothing else is written. */
static void test_streams_are_copies(void **state)
{
    (void)state;
    float *values = random_floats(1, COUNT);
    for (uint32_t run = 0; run < 200; run++) {
        const struct kernels *kernels = backends[run % (uint32_t)backend_count];
        const size_t from = run % 7, to = 1 + run % 37, count = run < 40 ? run : run * 5 % 900;
        _Alignas(64) static float out[COUNT];
        memset(out, 0, sizeof out);
        kernels->stream(count, values + from, out + to);
        kernels->stream_fence();
        assert_memory_equal(out + to, values + from, count * sizeof *out);
        assert_true(out[to - 1] == 0 && out[to + count] == 0);
    }
    free(values);
}

/* Every byte has the bits of its division by 255, at any place of a vector. */
static void test_bytes_are_divided(void **state)
{
    (void)state;
    uint8_t bytes[256];
    float expected[256], out[256];
    for (int i = 0; i < 256; i++) { bytes[i] = (uint8_t)i; }
    kernels_reference()->divide_bytes(256, bytes, expected);
    for (int b = 0; b < backend_count; b++) {
        for (size_t from = 0; from < 256; from++) {
            const size_t count = 256 - from;
            backends[b]->divide_bytes(count, bytes + from, out);
            assert_memory_equal(out, expected + from, count * sizeof *out);
        }
    }
}

/* The state has the same bits in place as in other arrays. */
static void test_state_is_updated_in_place(void **state)
{
    (void)state;
    const struct optimizer_constants step = {0.1F, 0.75F, 1.25F, 0.001F, 0.5F,  0.8F,
                                             0.2F, 0.9F,  0.1F,  3,      1e-3F, 5};
    float *in[OPTIMIZER_ARRAYS_MAX], *g = random_floats(9, COUNT);
    for (uint32_t run = 0; run < 4 * OPTIMIZER_KINDS; run++) {
        const uint32_t k = run / OPTIMIZER_KINDS;
        const struct kernels *kernels =
            k == 3 ? kernels_reference() : backends[k % (uint32_t)backend_count];
        static float out[OPTIMIZER_ARRAYS_MAX][COUNT], values[COUNT];
        for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
            in[a] = random_floats(2 + a, COUNT);
            for (size_t i = 0; i < COUNT; i++) { in[a][i] *= in[a][i]; }
            memcpy(out[a], in[a], sizeof out[a]); /* Arrays that the kind does not use. */
        }
        optimizer_kernel *update = kernels->optimizers->update[run % OPTIMIZER_KINDS];
        update(COUNT, &step, g, (const float *const[]){in[0], in[1], in[2], in[3]},
               (float *const[]){out[0], out[1], out[2], out[3]});
        update(COUNT, &step, g, (const float *const[]){in[0], in[1], in[2], in[3]},
               (float *const[]){values, in[1], in[2], in[3]});
        assert_memory_equal(values, out[0], sizeof values);
        for (uint32_t a = 1; a < OPTIMIZER_ARRAYS_MAX; a++) {
            assert_memory_equal(in[a], out[a], sizeof out[a]);
        }
        for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { free(in[a]); }
    }
    free(g);
}

/* Numbers of all magnitudes, most of them tiny; both signs. */
static float *tiny_floats(uint64_t stream)
{
    float *values = random_floats(stream, COUNT);
    for (size_t i = 0; i < COUNT; i++) { values[i] = ldexpf(values[i], -(int)(i % 150)); }
    return values;
}

/* A gradient below the bound is 0, and state below its bound becomes 0 (A19), in all backends. Only
 * state that never decays, Adagrad's, may stay small. */
static void test_small_numbers_count_as_zero(void **state)
{
    (void)state;
    const struct optimizer_constants step = {.rate = 0.1F,
                                             .scale = 1,
                                             .limit = INFINITY,
                                             .momentum = 0.5F,
                                             .beta1 = 0.5F,
                                             .one_minus_beta1 = 0.5F,
                                             .beta2 = 0.5F,
                                             .one_minus_beta2 = 0.5F,
                                             .root = 1,
                                             .epsilon = 1e-8F,
                                             .correction = 1};
    float *g = tiny_floats(20), *zeroed = tiny_floats(20);
    for (size_t i = 0; i < COUNT; i++) {
        if (fabsf(zeroed[i]) < SMALLEST_GRADIENT) { zeroed[i] = 0; }
    }
    float *in[OPTIMIZER_ARRAYS_MAX];
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        in[a] = tiny_floats(21 + a);
        for (size_t i = 0; a > 1 && i < COUNT; i++) { in[a][i] = fabsf(in[a][i]); }
    }
    for (uint32_t run = 0; run < 4 * OPTIMIZER_KINDS; run++) {
        const uint32_t k = run / OPTIMIZER_KINDS, kind = run % OPTIMIZER_KINDS;
        const struct kernels *kernels =
            k == 3 ? kernels_reference() : backends[k % (uint32_t)backend_count];
        static float out[2][OPTIMIZER_ARRAYS_MAX][COUNT];
        memset(out, 0, sizeof out);
        for (uint32_t i = 0; i < 2; i++) {
            kernels->optimizers->update[kind](
                COUNT, &step, i == 0 ? g : zeroed,
                (const float *const[]){in[0], in[2], in[3], in[3]},
                (float *const[]){out[i][0], out[i][1], out[i][2], out[i][3]});
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        if (kind == OPTIMIZER_ADAGRAD) { continue; }
        for (uint32_t a = 1; a < OPTIMIZER_ARRAYS_MAX; a++) {
            for (size_t i = 0; i < COUNT; i++) {
                assert_true(out[0][a][i] == 0 || fabsf(out[0][a][i]) >= SMALLEST_STATE);
            }
        }
    }
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { free(in[a]); }
    free(g);
    free(zeroed);
}

/* Averages are exact, too. */
static void test_averages_are_exact(void **state)
{
    (void)state;
    float *mean = random_floats(1, COUNT), *old = random_floats(2, COUNT);
    static float out[2][COUNT];
    const struct optimizer_constants constants = {.beta1 = 0.99F, .one_minus_beta1 = 0.01F};
    for (int i = 0; i < backend_count; i++) {
        const struct kernels *both[] = {backends[i], kernels_reference()};
        for (int k = 0; k < 2; k++) {
            both[k]->optimizers->average(
                COUNT - 3, &constants, mean + 3,
                (const float *const[OPTIMIZER_ARRAYS_MAX]){old + 3, NULL, NULL},
                (float *const[OPTIMIZER_ARRAYS_MAX]){out[k], NULL, NULL});
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        assert_true(out[0][7] == 0.99F * old[10] + 0.01F * mean[10]);
    }
    free(mean), free(old);
}

/* The sum of the losses of all rows, and the gradient in place of the logits. */
static double loss_and_gradient(const struct kernels *kernels, size_t rows, size_t columns,
                                float *logits, const uint8_t *labels, float scale)
{
    double sum = 0;
    for (size_t r = 0; r < rows; r++, logits += columns) {
        sum += kernels->cross_entropy(columns, logits, labels[r]);
        kernels->cross_entropy_backward(columns, logits, labels[r], scale);
    }
    return sum;
}

/* Softmax and its loss agree with the reference, which is in double precision, also far from
 * zero. */
static void test_softmax_agrees(void **state)
{
    (void)state;
    for (int i = 0; i < backend_count; i++) {
        for (size_t columns = 1; columns <= 33; columns++) {
            float *a = random_floats(columns, 20 * columns),
                  *b = random_floats(columns, 20 * columns);
            uint8_t labels[20];
            for (size_t r = 0; r < 20; r++) {
                labels[r] = (uint8_t)(r % columns);
                float scale = r < 10 ? 1.0F : 40.0F;
                for (size_t c = 0; c < columns; c++) {
                    a[r * columns + c] = b[r * columns + c] *= scale;
                }
            }
            double loss = loss_and_gradient(backends[i], 20, columns, a, labels, 0.25F);
            double expected = loss_and_gradient(kernels_reference(), 20, columns, b, labels, 0.25F);
            assert_true(fabs(loss - expected) <= 1e-5 * (1 + expected));
            assert_close(a, b, 20 * columns, 1e-6F);
            free(a), free(b);
        }
    }
}

/* Softmax has the same bits in the loops of each class of processors. */
static void test_softmax_does_not_depend_on_the_processor(void **state)
{
    (void)state;
    float *a = random_floats(1, 1000), *b = random_floats(1, 1000);
    uint8_t labels[100] = {0};
    double loss = loss_and_gradient(cpu_loops_baseline(), 100, 10, a, labels, 0.01F);
    double other = loss_and_gradient(kernels_cpu(), 100, 10, b, labels, 0.01F);
    assert_memory_equal(&loss, &other, sizeof loss);
    assert_memory_equal(a, b, 1000 * sizeof *a);
    free(a), free(b);
}

/* A NaN or infinite logit makes the loss NaN, so that divergence is visible. */
static void test_softmax_shows_divergence(void **state)
{
    (void)state;
    const uint8_t label = 1;
    for (int i = 0; i < backend_count; i++) {
        float with_nan[] = {1, 2, NAN, 3}, with_infinity[] = {1, INFINITY, 2, 3};
        assert_true(isnan(loss_and_gradient(backends[i], 1, 4, with_nan, &label, 1)));
        assert_true(isnan(loss_and_gradient(backends[i], 1, 4, with_infinity, &label, 1)));
    }
}

/* Squared error is exact, and counts of correct answers agree. */
static void test_losses_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < backend_count; i++) {
        float *a = random_floats(1, 300), *b = random_floats(1, 300), *t = random_floats(2, 300);
        uint8_t labels[100];
        for (size_t r = 0; r < 100; r++) { labels[r] = (uint8_t)(r % 3); }
        assert_int_equal(backends[i]->count_correct(100, 3, a, labels),
                         kernels_reference()->count_correct(100, 3, a, labels));
        assert_true(backends[i]->squared_error(100, 3, a, t, 0.5F) ==
                    kernels_reference()->squared_error(100, 3, b, t, 0.5F));
        assert_memory_equal(a, b, 300 * sizeof *a);
        free(a), free(b), free(t);
    }
}

/* Backends are found by name; the error for another name lists them. */
static void test_backends_are_found_by_name(void **state)
{
    (void)state;
    const struct kernels *found;
    struct error error;
    char text[200] = "";
    assert_int_equal(kernels_open("reference", &found, &error), TN_OK);
    assert_int_equal(kernels_open("cpu", &found, &error), TN_OK);
    found->fingerprint(text, sizeof text);
    assert_non_null(strstr(text, "OpenBLAS"));
    assert_int_equal(kernels_open("portable", &found, &error), TN_OK);
    found->fingerprint(text, sizeof text);
    assert_string_equal(text, "portable: version 2");
    assert_int_equal(kernels_open("cuda", &found, &error), TN_ENOENT);
    assert_string_equal(error.text,
                        "kernels 'cuda': this build has no CUDA backend: use 'portable'");
    assert_int_equal(kernels_open("gpu", &found, &error), TN_EINVAL);
    assert_string_equal(error.text, "unknown kernels 'gpu': one of portable, cpu, reference, cuda");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multiply_agrees),
        cmocka_unit_test(test_multiply_does_not_depend_on_alignment),
        cmocka_unit_test(test_elementwise_is_exact),
        cmocka_unit_test(test_relu_is_exact_at_zero),
        cmocka_unit_test(test_optimizer_steps_are_exact),
        cmocka_unit_test(test_sums_over_trees_are_exact),
        cmocka_unit_test(test_streams_are_copies),
        cmocka_unit_test(test_bytes_are_divided),
        cmocka_unit_test(test_state_is_updated_in_place),
        cmocka_unit_test(test_small_numbers_count_as_zero),
        cmocka_unit_test(test_averages_are_exact),
        cmocka_unit_test(test_softmax_agrees),
        cmocka_unit_test(test_softmax_does_not_depend_on_the_processor),
        cmocka_unit_test(test_softmax_shows_divergence),
        cmocka_unit_test(test_losses_are_exact),
        cmocka_unit_test(test_backends_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, find_backends, NULL);
}
