/* Parts of norms: any number of ps computes the same norm from the parts that it receives. */
#include "ps/norms.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/cluster/placement.h"

enum { VARIABLES = 7 };

/* Variables of many sizes: of some, several ps have a part. */
static const uint32_t rows[VARIABLES] = {3, 1100, 1, 90, 700, 2, 40};
static struct variable_table table;
static struct optimizer optimizers[PS_MAX + 1];
static float values[8000], gradient[8000];
static struct buffer_pool *pool;
static struct norms norms[PS_MAX];

static int open_pool(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    job.train.optimizer = OPTIMIZER_LARS;
    job.train.clip_norm = 1;
    for (uint32_t v = 0; v < VARIABLES; v++) {
        const char name[] = {(char)('a' + v), '\0'};
        const uint32_t shape[] = {rows[v], v == 2 ? 5 : 3};
        assert_int_equal(variable_table_add(&table, name, 2, shape, VARIABLE_ZEROS, 0, &error),
                         TN_OK);
    }
    table.variables[5].no_weight_decay = true; /* It does not adapt. */
    for (uint64_t i = 0; i < table.parameter_count; i++) {
        gradient[i] = random_unit_at(3, 1, i) - 0.5F;
        values[i] = random_unit_at(3, 2, i) - 0.5F;
    }
    for (uint32_t p = 0; p <= PS_MAX; p++) { optimizers[p] = optimizer_of_job(&job, &table); }
    pool = buffer_pool_create(0);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    buffer_pool_destroy(pool); /* Asserts that no reference is left. */
    return 0;
}

/* Each of `count` ps measures its part, in pieces, and sends it to all others. */
static void exchange(uint32_t count)
{
    static struct measurement part;
    for (uint32_t p = 0; p < count; p++) {
        struct placement place = placement_range(table.parameter_count, count, p);
        norms_init(&norms[p], pool, &optimizers[p], count, p);
        measurement_begin(&part, place.first, place.count);
        for (uint64_t at = 0, size; at < place.count; at += size) {
            size = u64_min(16 + 16 * (at % 7 * p), place.count - at);
            const float *const arrays[OPTIMIZER_ARRAYS_MAX] = {values + place.first + at};
            measurement_add(&part, &optimizers[p], 0, size, arrays, gradient + place.first + at);
        }
        assert_true(norms_measured(&norms[p], &part));
    }
    for (uint32_t from = 0; from < count; from++) {
        for (uint32_t to = 0; to < count; to++) {
            assert_int_equal(norms[from].present->size, norms_part_bytes(&norms[to], from));
            if (from == to) { continue; }
            norms_hold(&norms[to], from, norms[from].present->data);
        }
    }
}

static double plain_norm(const float *elements, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) { sum += (double)elements[i] * (double)elements[i]; }
    return sqrt(sum);
}

/* Each norm is near its definition, and 1 to 64 ps have the bits of one: of the whole gradient all
 * ps, of a variable those that have a part of it. */
static void norms_do_not_depend_on_the_number_of_ps(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= PS_MAX; count++) {
        const struct optimizer *one = &optimizers[PS_MAX];
        exchange(count);
        for (uint32_t p = 0; p < count; p++) {
            struct placement place = placement_range(table.parameter_count, count, p);
            norms_finish(&norms[p], &optimizers[p]);
            if (count == 1) { optimizers[PS_MAX] = optimizers[0]; }
            assert_true(optimizers[p].norm == one->norm);
            for (uint32_t v = 0; v < VARIABLES; v++) {
                const struct variable *variable = &table.variables[v];
                bool has = variable->offset < place.first + place.count &&
                           variable->offset + variable->count > place.first;
                if (!has || v == 5) { continue; }
                assert_memory_equal(&optimizers[p].norms[v], &one->norms[v], sizeof one->norms[v]);
            }
            assert_null(norms[p].present);
            assert_non_null(norms[p].previous);
            norms_close(&norms[p]);
        }
    }
    for (uint32_t v = 0; v < VARIABLES; v++) {
        const struct variable *variable = &table.variables[v];
        const struct variable_norms *found = &optimizers[PS_MAX].norms[v];
        double w = plain_norm(values + variable->offset, variable->count);
        double g = plain_norm(gradient + variable->offset, variable->count);
        assert_true(fabs(found->values - (v == 5 ? 0 : w)) < 1e-12 * w);
        assert_true(fabs(found->gradient - (v == 5 ? 0 : g)) < 1e-12 * g);
    }
    double whole = plain_norm(gradient, table.parameter_count);
    assert_true(fabs(optimizers[PS_MAX].norm - whole) < 1e-12 * whole);
}

/* A part of another gradient changes the norm: none is ignored. */
static void every_part_counts(void **state)
{
    (void)state;
    const double zeros[MEASUREMENT_PARTS_MAX * NORM_NODES_MAX] = {0};
    for (uint32_t wrong = 1; wrong < 7; wrong++) {
        exchange(7);
        norms_hold(&norms[0], wrong, zeros);
        norms_finish(&norms[0], &optimizers[0]);
        norms_finish(&norms[wrong], &optimizers[wrong]);
        assert_true(optimizers[0].norm < optimizers[wrong].norm);
        for (uint32_t p = 0; p < 7; p++) { norms_close(&norms[p]); }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_do_not_depend_on_the_number_of_ps),
        cmocka_unit_test(every_part_counts),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
