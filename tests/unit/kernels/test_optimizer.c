/* Optimizers: names, formulas, and steps that do not depend on the division into shards. */
#include "kernels/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

enum { COUNT = 777 };

static struct variable_table table;

/* A matrix, a vector and a matrix. */
static int make_variables(void **state)
{
    (void)state;
    struct error error;
    const uint32_t shapes[][2] = {{20, 20}, {27, 1}, {350, 1}};
    static const char *const names[] = {"a/weights", "a/bias", "b/weights"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(variable_table_add(&table, names[i], i == 1 ? 1 : 2, shapes[i],
                                            VARIABLE_ZEROS, 0, &error),
                         TN_OK);
    }
    assert_int_equal(table.parameter_count, COUNT);
    return 0;
}

static struct optimizer of_kind(enum optimizer_kind kind)
{
    struct job job;
    job_init(&job);
    job.train.optimizer = kind;
    job.train.learning_rate = 0.001;
    return optimizer_of_job(&job, &table);
}

/* Each kind has a name and its arrays; the first array is the values. */
static void test_kinds_know_their_arrays(void **state)
{
    (void)state;
    assert_string_equal(optimizer_name(OPTIMIZER_MOMENTUM), "momentum");
    assert_int_equal(optimizer_arrays(OPTIMIZER_SGD), 1);
    assert_int_equal(optimizer_arrays(OPTIMIZER_MOMENTUM), 2);
    assert_int_equal(optimizer_arrays(OPTIMIZER_ADAM), 3);
    assert_string_equal(optimizer_name(OPTIMIZER_ADAMW), "adamw");
    assert_string_equal(optimizer_array_name(OPTIMIZER_ADAM, 0), "values");
    assert_string_equal(optimizer_array_name(OPTIMIZER_ADAM, 2), "v");
}

/* Adam's first step has the size of the learning rate, against the gradient. */
static void test_adam_starts_unbiased(void **state)
{
    (void)state;
    struct optimizer optimizer = of_kind(OPTIMIZER_ADAM);
    const float gradient[] = {3.0F, -0.001F}, zeros[] = {0, 0};
    float values[2], m[2], v[2];
    optimizer_apply(&optimizer, kernels_cpu(), 0, 0, 2, gradient,
                    (const float *const[OPTIMIZER_ARRAYS_MAX]){zeros, zeros, zeros},
                    (float *const[OPTIMIZER_ARRAYS_MAX]){values, m, v});
    assert_true(fabsf(values[0] + 0.001F) < 1e-7F);
    assert_true(fabsf(values[1] - 0.001F) < 1e-7F);
}

enum { UPDATES = 50 };

/* One parameter and its state in double precision. */
struct plain {
    double w, velocity, slow, squares, m, v;
};

/* The published formulas, without any of the constants that optimizer_apply() computes. */
static void plain_update(const struct optimizer *o, uint64_t step, double g, struct plain *p)
{
    double rate = o->schedule.rates[0].learning_rate, t = (double)step + 1, gradient = g;
    if (o->clip_value > 0) { g = fmax(fmin(g, o->clip_value), -o->clip_value); }
    if (o->kind != OPTIMIZER_ADAMW && o->kind != OPTIMIZER_LAMB) { g += o->weight_decay * p->w; }
    p->m = o->beta1 * p->m + (1 - o->beta1) * g;
    p->v = o->beta2 * p->v + (1 - o->beta2) * g * g;
    double adam =
        p->m / (1 - pow(o->beta1, t)) / (sqrt(p->v / (1 - pow(o->beta2, t))) + o->epsilon);
    p->velocity = o->momentum * p->velocity + g;
    p->squares = o->kind == OPTIMIZER_ADAGRAD ? p->squares + g * g
                                              : o->rho * p->squares + (1 - o->rho) * g * g;
    switch (o->kind) {
    case OPTIMIZER_SGD: p->w -= rate * g; break;
    case OPTIMIZER_MOMENTUM: p->w -= rate * p->velocity; break;
    case OPTIMIZER_NESTEROV: p->w -= rate * (g + o->momentum * p->velocity); break;
    case OPTIMIZER_ADAGRAD:
    case OPTIMIZER_RMSPROP: p->w -= rate * g / (sqrt(p->squares) + o->epsilon); break;
    case OPTIMIZER_ADAM: p->w -= rate * adam; break;
    case OPTIMIZER_ADAMW: p->w -= rate * adam + rate * o->weight_decay * p->w; break;
    case OPTIMIZER_LARS: {
        double norm = fabs(gradient), decay = o->weight_decay * fabs(p->w);
        bool adapts = norm > 0 && p->w != 0;
        double local = adapts ? o->trust * fabs(p->w) / (norm + decay) : 1;
        p->slow = o->momentum * p->slow + rate * local * g;
        p->w -= p->slow;
        break;
    }
    case OPTIMIZER_LAMB: p->w -= rate * copysign(p->w, adam + o->weight_decay * p->w); break;
    case OPTIMIZER_KINDS: break;
    }
}

/* Apply `updates` gradients to one parameter, which is 1 at first. */
static double run_updates(const struct optimizer *optimizer, uint64_t updates, uint64_t period,
                          float factor)
{
    static struct optimizer own;
    float arrays[2][OPTIMIZER_ARRAYS_MAX] = {{1}};
    for (uint64_t step = 0; step < updates; step++) {
        float *in = arrays[step % 2], *out = arrays[(step + 1) % 2];
        float gradient = factor * (random_unit_at(9, 1, step / period) - 0.4F);
        own = *optimizer;
        float change = gradient;
        if (own.kind == OPTIMIZER_LAMB) {
            const float *const state[OPTIMIZER_ARRAYS_MAX] = {in, in + 1, in + 2};
            optimizer_change(&own, step, 0, 1, &gradient, state, &change);
        }
        own.norms[0] = (struct variable_norms){fabs((double)in[0]), fabs((double)change)};
        optimizer_apply(&own, kernels_cpu(), step, 0, 1, &gradient,
                        (const float *const[OPTIMIZER_ARRAYS_MAX]){in, in + 1, in + 2},
                        (float *const[OPTIMIZER_ARRAYS_MAX]){out, out + 1, out + 2});
    }
    return (double)arrays[updates % 2][0];
}

/* Every optimizer follows its formula in double precision, with and without decay and a limit. */
static void test_kinds_follow_their_formulas(void **state)
{
    (void)state;
    for (int run = 0; run < 4 * OPTIMIZER_KINDS; run++) {
        struct optimizer optimizer = of_kind((enum optimizer_kind)(run / 4));
        optimizer.schedule.rates[0].learning_rate = 0.01;
        optimizer.trust = 0.5;
        optimizer.weight_decay = run % 2 == 0 ? 0 : 0.25;
        optimizer.clip_value = run % 4 < 2 ? 0 : 0.125;
        struct plain plain = {.w = 1};
        for (uint64_t step = 0; step < UPDATES; step++) {
            double gradient = (double)(random_unit_at(9, 1, step) - 0.4F);
            plain_update(&optimizer, step, gradient, &plain);
        }
        double value = run_updates(&optimizer, UPDATES, 1, 1);
        if (!(fabs(value - plain.w) < 2e-6)) {
            fail_msg("%s: %.9g instead of %.9g", optimizer_name(optimizer.kind), value, plain.w);
        }
        assert_true(fabs(plain.w - 1) > 1e-3);
    }
}

/* Four updates by equal slices have nearly the effect of one by their sum, for every kind. */
static void test_updates_per_slice_are_scaled(void **state)
{
    (void)state;
    for (enum optimizer_kind kind = 0; kind < OPTIMIZER_LARS; kind++) {
        struct optimizer whole = of_kind(kind);
        whole.schedule.rates[0].learning_rate = kind == OPTIMIZER_ADAGRAD ? 0.01 : 0.001;
        whole.schedule.rates[0].final_learning_rate = 0.0005;
        whole.schedule.rates[0].decay_steps = 400;
        whole.weight_decay = 0.1;
        whole.clip_value = 0.5;
        struct optimizer sliced = optimizer_per_slice(whole, 4);
        double once = run_updates(&whole, 400, 1, 1);
        double apart = run_updates(&sliced, 1600, 4, 0.25F);
        if (!(fabs(once - apart) < 0.05 * fabs(once - 1))) {
            fail_msg("%s: %.9g instead of %.9g", optimizer_name(kind), apart, once);
        }
    }
}

/* Run ten steps over the ranges [0, cut) and [cut, COUNT) of the same arrays. */
static void run_steps(const struct optimizer *optimizer, const struct kernels *kernels,
                      uint64_t cut, float arrays[2][OPTIMIZER_ARRAYS_MAX][COUNT])
{
    static float gradient[COUNT];
    memset(arrays, 0, 2 * sizeof arrays[0]);
    for (uint64_t step = 0; step < 10; step++) {
        float(*in)[COUNT] = arrays[step % 2], (*out)[COUNT] = arrays[(step + 1) % 2];
        for (uint64_t i = 0; i < COUNT; i++) { gradient[i] = random_unit_at(5, step, i) - 0.4F; }
        const uint64_t firsts[] = {0, cut}, counts[] = {cut, COUNT - cut};
        for (int part = 0; part < 2; part++) {
            uint64_t f = firsts[part];
            optimizer_apply(
                optimizer, kernels, step, f, counts[part], gradient + f,
                (const float *const[OPTIMIZER_ARRAYS_MAX]){in[0] + f, in[1] + f, in[2] + f},
                (float *const[OPTIMIZER_ARRAYS_MAX]){out[0] + f, out[1] + f, out[2] + f});
        }
    }
}

/* Ten steps have the same bits for any division of the parameters and any backend. */
static void test_steps_do_not_depend_on_shards(void **state)
{
    (void)state;
    for (enum optimizer_kind kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        static float whole[2][OPTIMIZER_ARRAYS_MAX][COUNT], cut[2][OPTIMIZER_ARRAYS_MAX][COUNT];
        struct optimizer optimizer = of_kind(kind);
        optimizer.weight_decay = 0.01;
        run_steps(&optimizer, kernels_reference(), COUNT, whole);
        run_steps(&optimizer, kernels_cpu(), 0, cut);
        assert_memory_equal(cut, whole, sizeof whole);
        run_steps(&optimizer, kernels_cpu(), 333, cut);
        assert_memory_equal(cut, whole, sizeof whole);
    }
}

/* Decay spares the vector, and a rule changes rate and decay of its variables only, wherever a
 * shard is cut. */
static void test_variables_have_factors(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    static float ones[COUNT], zeros[COUNT], whole[COUNT], cut[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) { ones[i] = 1; }
    job_init(&job);
    job.train.learning_rate = 0.5;
    job.train.weight_decay = 0.25;
    const char *rules = "train.variables=[{\"match\": \"b/*\", \"learning_rate_factor\": 0.5}]";
    assert_int_equal(job_set(&job, rules, &error), TN_OK);
    struct optimizer optimizer = optimizer_of_job(&job, &table);
    optimizer_apply(&optimizer, kernels_cpu(), 0, 0, COUNT, zeros,
                    (const float *const[OPTIMIZER_ARRAYS_MAX]){ones, 0, 0},
                    (float *const[OPTIMIZER_ARRAYS_MAX]){whole, 0, 0});
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(whole[i] == (i < 400 ? 0.875F : i < 427 ? 1.0F : 0.9375F));
    }
    for (uint64_t at = 0, count = 1; at < COUNT; at += count, count = count * 7 % 90 + 1) {
        count = at + count > COUNT ? COUNT - at : count;
        optimizer_apply(&optimizer, kernels_cpu(), 0, at, count, zeros,
                        (const float *const[OPTIMIZER_ARRAYS_MAX]){ones + at, 0, 0},
                        (float *const[OPTIMIZER_ARRAYS_MAX]){cut + at, 0, 0});
    }
    assert_memory_equal(cut, whole, sizeof whole);
}

/* Variables with optimizers of their own are updated as if each were alone, and leave arrays that
 * they do not use as they are; an average moves towards the mean and ignores all constants. */
static void test_variables_have_their_own_updates(void **state)
{
    (void)state;
    static float in[3][COUNT], mixed[3][COUNT], alone[3][COUNT], gradient[COUNT];
    static struct variable_table marked;
    struct job job;
    struct error error;
    job_init(&job);
    job.train.optimizer = OPTIMIZER_MOMENTUM;
    job.train.clip_value = 0.25;
    const char *rules = "train.variables={\"match\": \"b/*\", \"optimizer\": \"adam\"}";
    assert_int_equal(job_set(&job, rules, &error), TN_OK);
    marked = table;
    marked.variables[1].update = VARIABLE_AVERAGED;
    marked.variables[1].momentum = 0.75F;
    for (uint32_t i = 0; i < COUNT; i++) {
        gradient[i] = random_unit_at(5, 1, i) - 0.4F;
        for (uint32_t a = 0; a < 3; a++) { in[a][i] = random_unit_at(6, a, i); }
    }
    const float *const from[OPTIMIZER_ARRAYS_MAX] = {in[0], in[1], in[2]};
    struct optimizer optimizer = optimizer_of_job(&job, &marked);
    assert_int_equal(optimizer.arrays, 3);
    optimizer_apply(&optimizer, kernels_cpu(), 4, 0, COUNT, gradient, from,
                    (float *const[OPTIMIZER_ARRAYS_MAX]){mixed[0], mixed[1], mixed[2]});
    const enum optimizer_kind kinds[] = {OPTIMIZER_MOMENTUM, OPTIMIZER_SGD, OPTIMIZER_ADAM};
    const uint32_t ends[] = {400, 427, COUNT};
    for (uint32_t v = 0, i = 0; v < 3; v++) {
        struct optimizer single = of_kind(kinds[v]);
        single.schedule = optimizer.schedule;
        single.clip_value = 0.25;
        memcpy(alone, in, sizeof alone);
        optimizer_apply(&single, kernels_cpu(), 4, 0, COUNT, gradient, from,
                        (float *const[OPTIMIZER_ARRAYS_MAX]){alone[0], alone[1], alone[2]});
        for (; i < ends[v]; i++) {
            float value = v == 1 ? 0.75F * in[0][i] + 0.25F * gradient[i] : alone[0][i];
            assert_true(mixed[0][i] == value);
            assert_true(mixed[1][i] == alone[1][i] && mixed[2][i] == alone[2][i]);
        }
    }
}

/* In async mode V slices that emit a V-th of a mean each move an average as one step does. */
static void test_average_of_slices(void **state)
{
    (void)state;
    enum { SLICES = 4, STEPS = 200 };
    static struct variable_table marked;
    struct job job;
    job_init(&job);
    marked = table;
    marked.variables[0].update = VARIABLE_AVERAGED;
    marked.variables[0].momentum = 0.99F;
    struct optimizer whole = optimizer_of_job(&job, &marked);
    struct optimizer sliced = optimizer_per_slice(whole, SLICES);
    float once = 1, apart = 1, out;
    for (uint64_t step = 0; step < STEPS; step++) {
        float mean = 3, part = mean / SLICES;
        optimizer_apply(&whole, kernels_cpu(), step, 0, 1, &mean,
                        (const float *const[OPTIMIZER_ARRAYS_MAX]){&once, 0, 0},
                        (float *const[OPTIMIZER_ARRAYS_MAX]){&out, 0, 0});
        once = out;
        for (int v = 0; v < SLICES; v++) {
            optimizer_apply(&sliced, kernels_cpu(), step, 0, 1, &part,
                            (const float *const[OPTIMIZER_ARRAYS_MAX]){&apart, 0, 0},
                            (float *const[OPTIMIZER_ARRAYS_MAX]){&out, 0, 0});
            apart = out;
        }
    }
    assert_true(once > 2.7F && fabsf(once - apart) < 0.01F);
}

/* The values that an average emits are not in the norm, wherever a shard is cut, and are not
 * scaled. */
static void test_norm_leaves_averages_out(void **state)
{
    (void)state;
    static struct variable_table marked;
    static float gradient[COUNT], plain[COUNT];
    marked = table;
    marked.variables[1].update = VARIABLE_AVERAGED;
    for (uint32_t i = 0; i < COUNT; i++) {
        gradient[i] = random_unit_at(5, 2, i) - 0.4F;
        plain[i] = i < 400 || i >= 427 ? gradient[i] : 0;
    }
    struct norm_part expected = norm_begin(0);
    norm_add(&expected, COUNT, plain);
    for (uint64_t cut = 0; cut < COUNT; cut += NORM_LEAF) {
        struct norm_part first = norm_begin(0), second = norm_begin(cut);
        optimizer_add_norm(&marked, 0, cut, gradient, &first);
        optimizer_add_norm(&marked, cut, COUNT - cut, gradient + cut, &second);
        norm_append(&first, &second);
        assert_true(norm_of(&first) == norm_of(&expected));
    }
    memcpy(plain, gradient, sizeof plain);
    optimizer_scale(&marked, kernels_cpu(), 0.5F, gradient);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(gradient[i] == (i < 400 || i >= 427 ? 0.5F : 1) * plain[i]);
    }
}

/* The moving average begins with the initial values and follows its formula in double precision,
 * for every kind and with any division of the parameters; the values stay what they are without. */
static void test_moving_average(void **state)
{
    (void)state;
    enum { N = 427, STEPS = 30 };
    static float arrays[2][OPTIMIZER_ARRAYS_MAX][N], plain[2][OPTIMIZER_ARRAYS_MAX][N], gradient[N];
    for (enum optimizer_kind kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        double average[N];
        struct job job;
        job_init(&job);
        job.train.optimizer = kind;
        struct optimizer without = optimizer_of_job(&job, &table);
        job.train.ema = 0.75;
        struct optimizer with = optimizer_of_job(&job, &table);
        const uint32_t last = with.arrays - 1;
        assert_int_equal(last, without.arrays);
        memset(arrays, 0, sizeof arrays);
        memset(plain, 0, sizeof plain);
        for (uint32_t i = 0; i < N; i++) {
            average[i] = (double)(plain[0][0][i] = arrays[0][0][i] = random_unit_at(7, 1, i));
            arrays[0][1][i] = 7;
        }
        float *begun[OPTIMIZER_ARRAYS_MAX];
        for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { begun[a] = arrays[0][a]; }
        optimizer_begin(&with, N, begun);
        assert_memory_equal(arrays[0][last], arrays[0][0], sizeof arrays[0][0]);
        for (uint64_t step = 0; step < STEPS; step++) {
            for (uint32_t i = 0; i < N; i++) { gradient[i] = random_unit_at(8, step, i) - 0.4F; }
            float(*in)[N] = arrays[step % 2], (*out)[N] = arrays[(step + 1) % 2];
            for (uint64_t at = 0, count = 16 * (step + 1); at < N; at += count) {
                optimizer_apply(&with, kernels_cpu(), step, at, at + count > N ? N - at : count,
                                gradient + at,
                                (const float *const[OPTIMIZER_ARRAYS_MAX]){in[0] + at, in[1] + at,
                                                                           in[2] + at, in[3] + at},
                                (float *const[OPTIMIZER_ARRAYS_MAX]){out[0] + at, out[1] + at,
                                                                     out[2] + at, out[3] + at});
            }
            in = plain[step % 2], out = plain[(step + 1) % 2];
            optimizer_apply(&without, kernels_reference(), step, 0, N, gradient,
                            (const float *const[OPTIMIZER_ARRAYS_MAX]){in[0], in[1], in[2]},
                            (float *const[OPTIMIZER_ARRAYS_MAX]){out[0], out[1], out[2]});
            assert_memory_equal(arrays[(step + 1) % 2], out, without.arrays * sizeof out[0]);
            for (uint32_t i = 0; i < N; i++) {
                average[i] = 0.75 * average[i] + 0.25 * (double)out[0][i];
                double found = (double)arrays[(step + 1) % 2][last][i];
                assert_true(fabs(found - average[i]) < 1e-6 * (1 + fabs(average[i])));
            }
        }
    }
}

/* A gradient whose norm is too large is scaled to the limit; another one is not changed. */
static void test_norm_is_limited(void **state)
{
    (void)state;
    struct optimizer optimizer = of_kind(OPTIMIZER_SGD);
    optimizer.schedule.rates[0].learning_rate = 1;
    optimizer.clip_norm = 2;
    const float gradient[] = {4, -2}, zeros[] = {0, 0};
    for (int i = 0; i < 2; i++) {
        float values[2];
        optimizer.norm = i == 0 ? 8 : 1;
        optimizer_apply(&optimizer, kernels_cpu(), 0, 0, 2, gradient,
                        (const float *const[OPTIMIZER_ARRAYS_MAX]){zeros, 0, 0},
                        (float *const[OPTIMIZER_ARRAYS_MAX]){values, 0, 0});
        assert_true(values[0] == (i == 0 ? -1.0F : -4.0F) && values[1] == (i == 0 ? 0.5F : 2.0F));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_know_their_arrays),
        cmocka_unit_test(test_adam_starts_unbiased),
        cmocka_unit_test(test_kinds_follow_their_formulas),
        cmocka_unit_test(test_updates_per_slice_are_scaled),
        cmocka_unit_test(test_steps_do_not_depend_on_shards),
        cmocka_unit_test(test_variables_have_factors),
        cmocka_unit_test(test_variables_have_their_own_updates),
        cmocka_unit_test(test_average_of_slices),
        cmocka_unit_test(test_norm_leaves_averages_out),
        cmocka_unit_test(test_moving_average),
        cmocka_unit_test(test_norm_is_limited),
    };
    return cmocka_run_group_tests(tests, make_variables, NULL);
}
