/* Admission of keys, compared with a model: a list of all keys, their counts and their rows. */
#include "ps/table/row_admission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

enum { KEYS = 40, WIDTH = 2, STEPS = 400 };

static struct error error;

/* A key by the rule. Steps are those that updates make; 0: never. */
struct expected {
    uint64_t seen, seen_at, trained_at;
    float value; /* Each column has it; untrained rows have 0. */
};

struct scene {
    struct job_table_rule rule;
    struct row_table *rows, *counts;
    struct row_admission admission;
    struct expected keys[KEYS];
};

static void open_scene(struct scene *scene, const struct job_table_rule *rule)
{
    const struct row_table_spec spec = {.name = "t",
                                        .width = WIDTH,
                                        .optimizer = SPARSE_SGD,
                                        .expire_after = rule->expire_after_steps};
    *scene = (struct scene){.rule = *rule};
    assert_int_equal(row_table_open(&spec, &scene->rows, &error), TN_OK);
    assert_int_equal(row_admission_open(&scene->admission, rule, &spec, &scene->counts, &error),
                     TN_OK);
}

static void close_scene(struct scene *scene)
{
    row_admission_close(&scene->admission);
    row_table_close(scene->counts);
    row_table_close(scene->rows);
}

static bool has_row(const struct scene *scene, const struct expected *key, uint64_t step)
{
    const uint64_t most = scene->rule.expire_after_steps;
    return key->trained_at > 0 && (most == 0 || step < key->trained_at + most);
}

/* The update that makes step + 1 touches the key. */
static void expect_touch(const struct scene *scene, struct expected *key, uint64_t step)
{
    if (!has_row(scene, key, step)) {
        if (step >= key->seen_at + scene->rule.admit_within_steps) { key->seen = 0; }
        key->seen_at = step + 1;
        key->value = 0;
        if (++key->seen < scene->rule.admit_after) { return; }
        key->seen = 0;
    }
    key->trained_at = step + 1;
    key->value -= 1;
}

static void update(struct scene *scene, uint64_t count, const uint64_t *keys)
{
    float gradients[KEYS * WIDTH];
    for (uint64_t i = 0; i < count * WIDTH; i++) { gradients[i] = 1; }
    struct sparse_rows all = {.count = count, .keys = keys, .values = gradients}, admitted, counted;
    const struct sparse_constants one = row_admission_constants();
    assert_int_equal(
        row_admission_choose(&scene->admission, scene->rows, all, &admitted, &counted, &error),
        TN_OK);
    assert_int_equal(row_table_apply(scene->counts, &one, counted, &error), TN_OK);
    assert_int_equal(row_table_apply(scene->rows, &one, admitted, &error), TN_OK);
    row_table_release(scene->counts, row_table_step(scene->counts));
    row_table_release(scene->rows, row_table_step(scene->rows));
}

static void check(const struct scene *scene, uint64_t step)
{
    uint64_t rows = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        float values[WIDTH];
        bool have;
        const struct expected *key = &scene->keys[k];
        row_table_read(scene->rows, step, &k, 1, values);
        row_table_have(scene->rows, &k, 1, &have);
        assert_int_equal(have, has_row(scene, key, step));
        assert_true(values[0] == (have ? key->value : 0));
        assert_true(values[1] == values[0]);
        rows += have;
    }
    assert_int_equal(row_table_stats(scene->rows).rows, rows);
}

/* Low keys are touched often, high ones seldom. */
static void train(const struct job_table_rule *rule, uint64_t seed)
{
    struct scene scene;
    struct random random = {.state = seed};
    open_scene(&scene, rule);
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t keys[KEYS], count = 0;
        for (uint64_t k = 0; k < KEYS; k++) {
            if (random_below(&random, k + 2) != 0) { continue; }
            keys[count++] = k;
            expect_touch(&scene, &scene.keys[k], step);
        }
        update(&scene, count, keys);
        check(&scene, step + 1);
    }
    close_scene(&scene);
}

static void keys_get_rows_by_the_rule(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct random random = {.state = seed};
        const struct job_table_rule rule = {
            .match = "*",
            .expire_after_steps = random_below(&random, 2) * random_below(&random, 12),
            .admit_after = 2 + random_below(&random, 4),
            .admit_within_steps = 1 + random_below(&random, 30),
        };
        train(&rule, seed);
    }
}

/* Counts are removed when they are forgotten, so their memory is bounded. */
static void counts_are_forgotten(void **state)
{
    struct scene scene;
    (void)state;
    const struct job_table_rule rule = {.match = "*", .admit_after = 3, .admit_within_steps = 4};
    open_scene(&scene, &rule);
    for (uint64_t step = 0; step < 100; step++) {
        update(&scene, 1, &step);
        assert_true(row_table_stats(scene.counts).rows <= 4);
        assert_true(row_table_stats(scene.counts).cells <= 5);
    }
    assert_int_equal(row_table_stats(scene.rows).rows, 0);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_get_rows_by_the_rule),
        cmocka_unit_test(counts_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
