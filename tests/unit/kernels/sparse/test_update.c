/* Sparse optimizers: against the formulas in double precision, and bit for bit against the dense
 * optimizers of the same name. */
#include "kernels/sparse/update.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "kernels/optimizer/update.h"

enum { WIDTH = 5, STEPS = 200, NUMBERS = 3 * WIDTH };

static const struct sparse_optimizer settings = {
    .momentum = 0.9,
    .beta1 = 0.9,
    .beta2 = 0.99,
    .epsilon = 1e-6,
    .l1 = 0.3,
    .l2 = 0.05,
    .beta = 0.5,
    .clip_value = 0.8,
};

static double rate_at(uint64_t step)
{
    return 0.05 / (1 + 0.01 * (double)step);
}

static void draw(uint64_t step, float *gradient)
{
    for (uint32_t c = 0; c < WIDTH; c++) {
        gradient[c] = 0.6F * random_normal_at(3, c, step) + 0.1F * (float)c;
    }
}

/* --------------------------------------------------------- in double precision */

typedef void reference(const struct sparse_optimizer *o, double rate, uint64_t t, const double *g,
                       double *x);

static void reference_sgd(const struct sparse_optimizer *o, double rate, uint64_t t,
                          const double *g, double *x)
{
    (void)o;
    (void)t;
    for (int c = 0; c < WIDTH; c++) { x[c] -= rate * g[c]; }
}

static void reference_momentum(const struct sparse_optimizer *o, double rate, uint64_t t,
                               const double *g, double *x)
{
    (void)t;
    for (int c = 0; c < WIDTH; c++) {
        x[WIDTH + c] = o->momentum * x[WIDTH + c] + g[c];
        x[c] -= rate * x[WIDTH + c];
    }
}

static void reference_adagrad(const struct sparse_optimizer *o, double rate, uint64_t t,
                              const double *g, double *x)
{
    (void)t;
    for (int c = 0; c < WIDTH; c++) {
        x[WIDTH + c] += g[c] * g[c];
        x[c] -= rate * g[c] / (sqrt(x[WIDTH + c]) + o->epsilon);
    }
}

static void reference_row_adagrad(const struct sparse_optimizer *o, double rate, uint64_t t,
                                  const double *g, double *x)
{
    (void)t;
    for (int c = 0; c < WIDTH; c++) { x[WIDTH] += g[c] * g[c] / WIDTH; }
    for (int c = 0; c < WIDTH; c++) { x[c] -= rate * g[c] / (sqrt(x[WIDTH]) + o->epsilon); }
}

static void reference_lazy_adam(const struct sparse_optimizer *o, double rate, uint64_t t,
                                const double *g, double *x)
{
    const double first = 1 - pow(o->beta1, (double)t), second = 1 - pow(o->beta2, (double)t);
    for (int c = 0; c < WIDTH; c++) {
        double *m = &x[WIDTH + c], *v = &x[2 * WIDTH + c];
        *m = o->beta1 * *m + (1 - o->beta1) * g[c];
        *v = o->beta2 * *v + (1 - o->beta2) * g[c] * g[c];
        x[c] -= rate * (*m / first) / (sqrt(*v / second) + o->epsilon);
    }
}

static void reference_ftrl(const struct sparse_optimizer *o, double rate, uint64_t t,
                           const double *g, double *x)
{
    (void)t;
    for (int c = 0; c < WIDTH; c++) {
        double *z = &x[WIDTH + c], *n = &x[2 * WIDTH + c];
        const double sigma = (sqrt(*n + g[c] * g[c]) - sqrt(*n)) / rate;
        *z += g[c] - sigma * x[c];
        *n += g[c] * g[c];
        const double sign = *z < 0 ? -1 : 1;
        x[c] = fabs(*z) <= o->l1 ? 0 : -(*z - sign * o->l1) / ((o->beta + sqrt(*n)) / rate + o->l2);
    }
}

static reference *const references[SPARSE_KINDS] = {
    [SPARSE_SGD] = reference_sgd,
    [SPARSE_MOMENTUM] = reference_momentum,
    [SPARSE_ADAGRAD] = reference_adagrad,
    [SPARSE_ROW_ADAGRAD] = reference_row_adagrad,
    [SPARSE_LAZY_ADAM] = reference_lazy_adam,
    [SPARSE_FTRL] = reference_ftrl,
};

/* The row is touched at every second or third step, as rows are. */
static void optimizers_follow_their_formulas(void **state)
{
    (void)state;
    for (int kind = 0; kind < SPARSE_KINDS; kind++) {
        struct sparse_optimizer optimizer = settings;
        float row[NUMBERS] = {0.3F, -0.2F, 0.1F, 0, -1}, next[NUMBERS] = {0}, gradient[WIDTH];
        double wanted[NUMBERS], limited[WIDTH];
        optimizer.kind = (enum sparse_kind)kind;
        const uint32_t numbers = WIDTH + sparse_state(optimizer.kind, WIDTH);
        for (int i = 0; i < NUMBERS; i++) { wanted[i] = (double)row[i]; }
        for (uint64_t step = 0; step < STEPS; step += 2 + step % 2) {
            const struct sparse_constants constants =
                sparse_constants_of(&optimizer, rate_at(step), step);
            draw(step, gradient);
            for (int c = 0; c < WIDTH; c++) {
                limited[c] = fmin(fmax((double)gradient[c], -0.8), 0.8);
            }
            sparse_update(optimizer.kind, WIDTH, &constants, gradient, row, next);
            references[kind](&optimizer, rate_at(step), step + 1, limited, wanted);
            memcpy(row, next, sizeof row);
            for (uint32_t i = 0; i < numbers; i++) {
                assert_true(fabs((double)row[i] - wanted[i]) <= 2e-5 * (1 + fabs(wanted[i])));
            }
        }
    }
}

/* A schedule may end with a rate of 0, or fall below the smallest float. */
static void a_rate_of_zero_keeps_the_values(void **state)
{
    static const double rates[] = {0, 1e-300, 1e-40};
    (void)state;
    for (int kind = 0; kind < SPARSE_KINDS; kind++) {
        struct sparse_optimizer optimizer = settings;
        optimizer.kind = (enum sparse_kind)kind;
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            float row[NUMBERS] = {0.3F, -0.2F, 0.1F, 0, -1}, next[NUMBERS] = {0}, gradient[WIDTH];
            for (uint64_t step = 0; step < 3; step++) {
                struct sparse_constants constants =
                    sparse_constants_of(&optimizer, step == 0 ? 0.1 : rates[i], step);
                draw(step, gradient);
                sparse_update(optimizer.kind, WIDTH, &constants, gradient, row, next);
                assert_int_equal(memcmp(next, row, WIDTH * sizeof *row) == 0, step > 0);
                memcpy(row, next, sizeof row);
            }
        }
    }
}

/* A row that every step touches. */
static void dense_optimizers_have_the_same_bits(void **state)
{
    static const struct {
        enum sparse_kind sparse;
        enum optimizer_kind dense;
    } pairs[] = {
        {SPARSE_SGD, OPTIMIZER_SGD},
        {SPARSE_MOMENTUM, OPTIMIZER_MOMENTUM},
        {SPARSE_ADAGRAD, OPTIMIZER_ADAGRAD},
        {SPARSE_LAZY_ADAM, OPTIMIZER_ADAM},
    };
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        struct sparse_optimizer optimizer = settings;
        float row[NUMBERS] = {0.3F, -0.2F, 0.1F, 0, -1}, next[NUMBERS] = {0}, gradient[WIDTH];
        float arrays[2][3][WIDTH] = {{{0.3F, -0.2F, 0.1F, 0, -1}}};
        optimizer.kind = pairs[p].sparse;
        for (uint64_t step = 0; step < STEPS; step++) {
            const struct sparse_constants c = sparse_constants_of(&optimizer, rate_at(step), step);
            const struct optimizer_constants same = {
                .rate = c.rate,
                .scale = 1,
                .limit = c.limit,
                .momentum = c.momentum,
                .beta1 = c.beta1,
                .one_minus_beta1 = c.one_minus_beta1,
                .beta2 = c.beta2,
                .one_minus_beta2 = c.one_minus_beta2,
                .root = c.root,
                .epsilon = c.epsilon,
            };
            float(*from)[WIDTH] = arrays[step % 2], (*to)[WIDTH] = arrays[(step + 1) % 2];
            const float *const in[OPTIMIZER_ARRAYS_MAX] = {from[0], from[1], from[2]};
            float *const out[OPTIMIZER_ARRAYS_MAX] = {to[0], to[1], to[2]};
            draw(step, gradient);
            sparse_update(optimizer.kind, WIDTH, &c, gradient, row, next);
            optimizer_reference.update[pairs[p].dense](WIDTH, &same, gradient, in, out);
            memcpy(row, next, sizeof row);
            const uint32_t state_numbers = sparse_state(optimizer.kind, WIDTH);
            assert_memory_equal(row, to[0], WIDTH * sizeof *row);
            assert_memory_equal(row + WIDTH, to[1], state_numbers * sizeof *row);
        }
    }
}

/* A row of any width has the bits of as many rows of one column, also where its columns are
 * computed several at a time. */
static void columns_are_independent(void **state)
{
    enum { WIDTH_MOST = 19 };
    static const enum sparse_kind kinds[] = {SPARSE_SGD, SPARSE_MOMENTUM, SPARSE_ADAGRAD,
                                             SPARSE_LAZY_ADAM, SPARSE_FTRL};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct sparse_optimizer optimizer = settings;
        optimizer.kind = kinds[k];
        const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.05, 3);
        for (uint32_t width = 1; width <= WIDTH_MOST; width++) {
            float gradient[WIDTH_MOST], row[3 * WIDTH_MOST], next[3 * WIDTH_MOST];
            const uint32_t arrays = 1 + sparse_state(optimizer.kind, width) / width;
            for (uint32_t i = 0; i < 3 * width; i++) {
                row[i] = i % 7 == 0 ? 0x1p-112F : fabsf(random_normal_at(5, width, i));
            }
            for (uint32_t c = 0; c < width; c++) {
                gradient[c] = c % 5 == 0 ? -0x1p-51F : random_normal_at(6, width, c);
            }
            sparse_update(optimizer.kind, width, &constants, gradient, row, next);
            for (uint32_t c = 0; c < width; c++) {
                const float one[3] = {row[c], row[width + c], row[2 * width + c]};
                float wanted[3];
                sparse_update(optimizer.kind, 1, &constants, gradient + c, one, wanted);
                for (uint32_t a = 0; a < arrays; a++) {
                    assert_memory_equal(&next[a * width + c], &wanted[a], sizeof wanted[a]);
                }
            }
        }
    }
}

/* FTRL with L1 sets weights of features that do not matter to 0. */
static void l1_gives_zeros(void **state)
{
    struct sparse_optimizer optimizer = settings;
    float row[NUMBERS] = {0}, next[NUMBERS], gradient[WIDTH] = {0.01F, -0.01F, 0.5F, 0, -0.5F};
    (void)state;
    optimizer.kind = SPARSE_FTRL;
    const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.1, 0);
    sparse_update(SPARSE_FTRL, WIDTH, &constants, gradient, row, next);
    assert_true(next[0] == 0 && next[1] == 0 && next[3] == 0);
    assert_true(next[2] < 0 && next[4] > 0);
}

static void a_nan_stays(void **state)
{
    (void)state;
    for (int kind = 0; kind < SPARSE_KINDS; kind++) {
        struct sparse_optimizer optimizer = settings;
        float row[NUMBERS] = {0}, next[NUMBERS] = {0}, gradient[WIDTH] = {NAN, NAN, NAN, NAN, NAN};
        optimizer.kind = (enum sparse_kind)kind;
        const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.1, 0);
        sparse_update(optimizer.kind, WIDTH, &constants, gradient, row, next);
        for (int c = 0; c < WIDTH; c++) { assert_true(isnan(next[c])); }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_follow_their_formulas),
        cmocka_unit_test(a_rate_of_zero_keeps_the_values),
        cmocka_unit_test(dense_optimizers_have_the_same_bits),
        cmocka_unit_test(columns_are_independent),
        cmocka_unit_test(l1_gives_zeros),
        cmocka_unit_test(a_nan_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
