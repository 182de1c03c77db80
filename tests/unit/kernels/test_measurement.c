/* Norms of whole variables: LAMB against its formula in double precision, in ranges of any size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "kernels/measurement.h"

enum { COUNT = 777, VARIABLES = 3, STEPS = 40, ARRAYS = 3, RANGES_MAX = 7 };

static struct variable_table table;
static struct job job;

/* A matrix, a bias without decay, which does not adapt, and a vector. */
static int make_variables(void **state)
{
    (void)state;
    const uint32_t shapes[][2] = {{20, 20}, {27, 1}, {350, 1}};
    static const char *const names[] = {"a/weights", "a/bias", "b/weights"};
    for (uint32_t v = 0; v < VARIABLES; v++) {
        assert_int_equal(
            variable_table_add(&table, names[v], 2, shapes[v], VARIABLE_ZEROS, 0, NULL), TN_OK);
    }
    table.variables[1].no_weight_decay = true;
    job_init(&job);
    job.train.optimizer = OPTIMIZER_LAMB;
    job.train.learning_rate = 0.01;
    job.train.weight_decay = 0.25;
    job.train.clip_value = 0.5;
    return 0;
}

static float gradient_at(uint64_t step, uint64_t i)
{
    return random_unit_at(5, step, i) - 0.4F;
}

/* The steps over `ranges` equal ranges, as if each were on a ps of its own. */
static void train(const struct kernels *kernels, uint32_t ranges, float arrays[2][ARRAYS][COUNT])
{
    static struct optimizer optimizer;
    static struct measurement parts[RANGES_MAX];
    static float gradient[COUNT];
    optimizer = optimizer_of_job(&job, &table);
    memset(arrays, 0, 2 * sizeof arrays[0]);
    for (uint64_t i = 0; i < COUNT; i++) { arrays[0][0][i] = random_unit_at(7, 0, i) - 0.5F; }
    const uint64_t size = (COUNT / ranges + NORM_LEAF) / NORM_LEAF * NORM_LEAF;
    for (uint64_t step = 0; step < STEPS; step++) {
        float(*in)[COUNT] = arrays[step % 2], (*out)[COUNT] = arrays[(step + 1) % 2];
        for (uint64_t i = 0; i < COUNT; i++) { gradient[i] = gradient_at(step, i); }
        for (uint64_t r = 0; r < ranges; r++) {
            const uint64_t at = r * size, count = u64_min(size, COUNT - at);
            const float *const from[OPTIMIZER_ARRAYS_MAX] = {in[0] + at, in[1] + at, in[2] + at};
            measurement_begin(&parts[r], at, count);
            measurement_add(&parts[r], &optimizer, step, count, from, gradient + at);
        }
        measurement_join(parts, ranges, &optimizer);
        for (uint64_t r = 0; r < ranges; r++) {
            const uint64_t at = r * size, count = u64_min(size, COUNT - at);
            optimizer_apply(
                &optimizer, kernels, step, at, count, gradient + at,
                (const float *const[OPTIMIZER_ARRAYS_MAX]){in[0] + at, in[1] + at, in[2] + at},
                (float *const[OPTIMIZER_ARRAYS_MAX]){out[0] + at, out[1] + at, out[2] + at});
        }
    }
}

/* A step of a variable by the published formula. */
static void plain_step(const struct variable *variable, uint64_t step, double *w, double *m,
                       double *v)
{
    static double change[COUNT];
    const double t = (double)step + 1, decay = variable->no_weight_decay ? 0 : 0.25;
    double values = 0, changes = 0;
    for (uint64_t i = variable->offset; i < variable->offset + variable->count; i++) {
        const double g = fmax(fmin((double)gradient_at(step, i), 0.5), -0.5);
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        change[i] = m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.999, t))) + 1e-8);
        change[i] += decay * w[i];
        values += w[i] * w[i];
        changes += change[i] * change[i];
    }
    const double ratio = decay > 0 ? sqrt(values) / sqrt(changes) : 1;
    for (uint64_t i = variable->offset; i < variable->offset + variable->count; i++) {
        w[i] -= 0.01 * ratio * change[i];
    }
}

/* Every parameter stays near that of the formula in double precision. */
static void lamb_follows_its_formula(void **state)
{
    (void)state;
    static float arrays[2][ARRAYS][COUNT];
    static double w[COUNT], m[COUNT], v[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) { w[i] = (double)(random_unit_at(7, 0, i) - 0.5F); }
    for (uint64_t step = 0; step < STEPS; step++) {
        for (uint32_t k = 0; k < VARIABLES; k++) { plain_step(&table.variables[k], step, w, m, v); }
    }
    train(kernels_cpu(), 1, arrays);
    double most = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(fabs(w[i] - (double)(random_unit_at(7, 0, i) - 0.5F)) > 1e-4);
        most = double_max(most, fabs(w[i] - (double)arrays[STEPS % 2][0][i]));
    }
    if (!(most < 2e-6)) { fail_msg("the largest difference is %.3g", most); }
}

/* The bits of all arrays are those of one range, for any number of ranges and any backend. */
static void bits_do_not_depend_on_ranges(void **state)
{
    (void)state;
    static float one[2][ARRAYS][COUNT], other[2][ARRAYS][COUNT];
    train(kernels_reference(), 1, one);
    for (uint32_t ranges = 1; ranges <= RANGES_MAX; ranges++) {
        train(kernels_cpu(), ranges, other);
        assert_memory_equal(other, one, sizeof one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lamb_follows_its_formula),
        cmocka_unit_test(bits_do_not_depend_on_ranges),
    };
    return cmocka_run_group_tests(tests, make_variables, NULL);
}
