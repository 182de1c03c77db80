/* mirror/part_vector.h: each member has its variables, and together they are the vector of all. */
#include "mirror/part_vector.h"

#include "tests/unit/group/group_job.h"

struct scene {
    struct model *model;
    struct training_cut cut;
    struct part_vector vector;
    uint64_t count;
    float *all;
};

static int set_up(void **state)
{
    static struct scene scene;
    struct job job;
    *state = &scene;
    group_job_init(&job);
    group_job_set(&job, "cluster.ps=0");
    group_job_set(&job, "placement.strategy=ranges");
    scene.model = group_job_model(&job);
    scene.count = scene.model->table.parameter_count;
    scene.all = calloc(scene.count, sizeof(float));
    assert_non_null(scene.all);
    for (uint64_t i = 0; i < scene.count; i++) { scene.all[i] = (float)(i + 1); }
    assert_int_equal(training_cut_create(scene.model->graph, MEMBERS, &scene.cut, NULL), TN_OK);
    assert_int_equal(part_vector_open(&scene.vector, &scene.cut, &scene.model->table, NULL), TN_OK);
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    part_vector_close(&scene->vector);
    training_cut_free(&scene->cut);
    free(scene->all);
    model_close(scene->model);
    return 0;
}

/* The parts of all members make the vector again. */
static void parts_make_the_whole(void **state)
{
    const struct scene *scene = *state;
    float *whole = calloc(scene->count, sizeof(float));
    assert_non_null(whole);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        float *part = calloc(scene->cut.floats[m] + 1, sizeof(float));
        assert_non_null(part);
        assert_true(scene->cut.floats[m] > 0 && scene->cut.floats[m] < scene->count);
        part_vector_gather(&scene->vector, m, scene->all, part);
        assert_true(part[scene->cut.floats[m]] == 0);
        part_vector_scatter(&scene->vector, m, part, whole);
        free(part);
    }
    assert_memory_equal(whole, scene->all, scene->count * sizeof(float));
    free(whole);
}

/* A variable of a member is where its programs read it. */
static void a_variable_is_where_it_is_read(void **state)
{
    const struct scene *scene = *state;
    const struct variable_table *table = &scene->model->table;
    for (uint32_t i = 0; i < scene->cut.variable_count; i++) {
        const struct cut_variable *variable = &scene->cut.variables[i];
        float *part = calloc(scene->cut.floats[variable->task] + 1, sizeof(float));
        uint32_t v = 0;
        assert_non_null(part);
        while (strcmp(table->variables[v].name, variable->name) != 0) { v++; }
        part_vector_gather(&scene->vector, variable->task, scene->all, part);
        assert_memory_equal(part + variable->task_offset, scene->all + table->variables[v].offset,
                            variable->count * sizeof(float));
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_make_the_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_variable_is_where_it_is_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
