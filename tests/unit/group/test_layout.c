/* group/layout.h: the values of a member are the shards of its ps. */
#include "group/layout.h"

#include "tests/unit/group/group_job.h"

/* The values of a member, from the vector of all, as its ps send them. */
static float *member_values(const struct group_layout *layout, const struct variable_table *table,
                            const float *all)
{
    float *values = calloc(layout->floats + 1, sizeof *values);
    assert_non_null(values);
    for (uint32_t p = 0; p < layout->ps; p++) {
        const struct placement shard = variable_table_shard(table, layout->ps, p);
        const struct placement place = layout->places[p];
        if (!layout->owns[p]) {
            assert_int_equal(place.count, 0);
            continue;
        }
        assert_int_equal(place.count, shard.count);
        assert_true(place.first + place.count <= layout->floats);
        memcpy(values + place.first, all + shard.first, place.count * sizeof *values);
    }
    return values;
}

static void check_variables(const struct training_cut *cut, const struct variable_table *table,
                            uint32_t member, const float *values, const float *all)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        const struct cut_variable *variable = &cut->variables[i];
        uint32_t v = 0;
        if (variable->task != member) { continue; }
        while (strcmp(table->variables[v].name, variable->name) != 0) { v++; }
        assert_int_equal(table->variables[v].count, variable->count);
        assert_memory_equal(values + variable->task_offset, all + table->variables[v].offset,
                            variable->count * sizeof *values);
        own++;
    }
    assert_true(own > 0);
}

static void check_members(const struct job *job)
{
    struct model *model = group_job_model(job);
    const struct variable_table *table = &model->table;
    struct training_cut cut;
    uint64_t floats = 0;
    float *all = calloc(table->parameter_count, sizeof *all);
    assert_non_null(all);
    for (uint64_t i = 0; i < table->parameter_count; i++) { all[i] = (float)i; }
    assert_int_equal(training_cut_create(model->graph, MEMBERS, &cut, NULL), TN_OK);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        struct group_layout layout;
        group_layout_set(&layout, job, table, m);
        assert_int_equal(layout.ps, job->cluster.ps);
        for (uint32_t p = 0; p < layout.ps; p++) { assert_int_equal(layout.owns[p], p % 2 == m); }
        group_layout_apply(&layout, table, m, &cut);
        float *values = member_values(&layout, table, all);
        check_variables(&cut, table, m, values, all);
        floats += layout.floats;
        free(values);
    }
    assert_int_equal(floats, table->parameter_count);
    training_cut_free(&cut);
    free(all);
    model_close(model);
}

/* One ps or several for a member: each variable of a member is where its ps has it. */
static void variables_are_where_their_ps_have_them(void **state)
{
    (void)state;
    struct job job;
    group_job_init(&job);
    check_members(&job);
    group_job_set(&job, "cluster.ps=2");
    check_members(&job);
    group_job_set(&job, "cluster.ps=6");
    group_job_set(&job, "placement.strategy=round_robin");
    check_members(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_where_their_ps_have_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
