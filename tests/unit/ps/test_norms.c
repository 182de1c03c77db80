/* Parts of norms: any number of ps computes the same norm from the parts that it receives. */
#include "ps/norms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "common/cluster/placement.h"

enum { COUNT = 5003 };

static float gradient[COUNT];
static struct buffer_pool *pool;
static struct norms norms[PS_MAX];

static int open_pool(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++) { gradient[i] = random_unit_at(3, 1, i) - 0.5F; }
    pool = buffer_pool_create(0);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    buffer_pool_destroy(pool); /* Asserts that no reference is left. */
    return 0;
}

/* Each of `count` ps measures its part and sends it to all others. */
static void exchange(uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        struct placement place = placement_range(COUNT, count, p);
        norms_init(&norms[p], pool, COUNT, count, p);
        struct norm_part part = norm_begin(place.first);
        norm_add(&part, place.count, gradient + place.first);
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

/* 1 to 64 ps have the bits of one. */
static void norm_does_not_depend_on_the_number_of_ps(void **state)
{
    (void)state;
    struct norm_part whole = norm_begin(0);
    norm_add(&whole, COUNT, gradient);
    const double expected = norm_of(&whole);
    for (uint32_t count = 1; count <= PS_MAX; count++) {
        exchange(count);
        for (uint32_t p = 0; p < count; p++) {
            const double norm = norms_finish(&norms[p]);
            assert_memory_equal(&norm, &expected, sizeof norm);
            assert_null(norms[p].present);
            assert_non_null(norms[p].previous);
            norms_close(&norms[p]);
        }
    }
}

/* A part of another gradient changes the norm: none is ignored. */
static void every_part_counts(void **state)
{
    (void)state;
    const double zeros[NORM_NODES_MAX] = {0};
    for (uint32_t wrong = 1; wrong < 7; wrong++) {
        exchange(7);
        norms_hold(&norms[0], wrong, zeros);
        assert_true(norms_finish(&norms[0]) < norms_finish(&norms[wrong]));
        for (uint32_t p = 0; p < 7; p++) { norms_close(&norms[p]); }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_does_not_depend_on_the_number_of_ps),
        cmocka_unit_test(every_part_counts),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
