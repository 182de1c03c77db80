/* common/job/variable_order.h: the order of a checkpoint is found, whichever layout wrote it. */
#include "common/job/variable_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/job/variable_placement.h"

enum { VARIABLES = 6 };

static const uint32_t sizes[VARIABLES] = {50, 1, 40, 30, 30, 20};
/* The member of a group that has each variable. */
static const uint32_t members[VARIABLES] = {0, 1, 0, 1, 1, 0};

static struct manifest manifest;

struct layout {
    enum strategy_type type;
    enum placement_strategy placement;
    uint32_t ps;
};

static const struct layout layouts[] = {
    {STRATEGY_TYPE_PS, PLACEMENT_RANGES, 2},    {STRATEGY_TYPE_MIRROR, PLACEMENT_RANGES, 0},
    {STRATEGY_TYPE_PS, PLACEMENT_GREEDY, 3},    {STRATEGY_TYPE_PS, PLACEMENT_ROUND_ROBIN, 2},
    {STRATEGY_TYPE_GROUP, PLACEMENT_GREEDY, 2}, {STRATEGY_TYPE_GROUP, PLACEMENT_ROUND_ROBIN, 4},
    {STRATEGY_TYPE_LOCAL, PLACEMENT_GREEDY, 3},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static void make(const struct layout *layout, struct job *job, struct variable_table *table)
{
    char name[8];
    struct error error = {.text = ""};
    job_init(job);
    job->strategy.type = layout->type;
    job->placement.strategy = layout->placement;
    job->cluster.ps = layout->ps;
    *table = (struct variable_table){.count = 0};
    for (uint32_t i = 0; i < VARIABLES; i++) {
        assert_true(snprintf(name, sizeof name, "v%u", i) > 0);
        assert_int_equal(variable_table_add(table, name, 1, &sizes[i], VARIABLE_ZEROS, 0, NULL),
                         TN_OK);
        table->variables[i].member = members[i];
    }
    if (variables_place(table, job, &error) != TN_OK) { fail_msg("%s", error.text); }
}

/* From each layout to each other one: the moves give every variable its place. */
static void every_layout_is_found(void **state)
{
    (void)state;
    static struct variable_table from, to;
    static struct variable_move moves[VARIABLES_MAX];
    struct job before, after;
    for (uint32_t a = 0; a < LAYOUTS; a++) {
        for (uint32_t b = 0; b < LAYOUTS; b++) {
            uint32_t count = 0;
            make(&layouts[a], &before, &from);
            make(&layouts[b], &after, &to);
            const bool one = layouts[a].ps == 0 || layouts[a].type == STRATEGY_TYPE_LOCAL;
            manifest = (struct manifest){.variables_hash = variable_table_hash(&from),
                                         .parameter_count = from.parameter_count,
                                         .shard_count = one ? 1 : layouts[a].ps};
            assert_int_equal(variable_order_of(&manifest, &after, &to, moves, &count, NULL), TN_OK);
            assert_int_equal(count == 0, variable_table_hash(&to) == manifest.variables_hash);
            struct variable_move expected[VARIABLES_MAX];
            if (count == 0) { continue; }
            assert_int_equal(variable_moves_between(&from, &to, expected), count);
            assert_memory_equal(moves, expected, count * sizeof moves[0]);
        }
    }
}

/* Another model, and a placement that the job does not have, are refused. */
static void others_are_refused(void **state)
{
    (void)state;
    static struct variable_table table;
    struct job job;
    struct error error;
    uint32_t count;
    make(&layouts[0], &job, &table);
    manifest = (struct manifest){
        .variables_hash = 1, .parameter_count = table.parameter_count, .shard_count = 1};
    assert_int_equal(variable_order_of(&manifest, &job, &table, NULL, &count, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "holds other variables"));
    manifest.parameter_count++;
    assert_int_equal(variable_order_of(&manifest, &job, &table, NULL, &count, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "another model"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_is_found),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
