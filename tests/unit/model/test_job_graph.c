/* model/job_graph.h: the graphs of job models have the variables and the bits of worker/models/. */
#include "model/job_graph.h"

#include <math.h>

#include "common/cluster/variables.h"
#include "graph/openblas/backend.h"
#include "graph/program.h"
#include "tests/unit/support/graphs.h"
#include "worker/models/model.h"

static struct job job_of(const char *type, uint32_t hidden_count)
{
    struct job job;
    job_init(&job);
    strcpy(job.model.type, type);
    job.model.inputs = 40;
    job.model.outputs = strcmp(type, "linear") == 0 ? 3 : 7;
    job.model.hidden_count = hidden_count;
    job.model.hidden[0] = 24;
    job.model.hidden[1] = 11;
    return job;
}

struct sides {
    struct model *model;
    struct tn_program *program;
    uint64_t parameters;
};

static struct sides open_sides(const struct job *job, const struct kernels *kernels,
                               const struct backend *backend, uint32_t examples)
{
    struct sides sides;
    struct error error;
    struct tn_graph *graph = NULL;
    struct model_config config = model_config_of_job(job);
    struct tn_program_options options = {sizeof options, TN_TRAIN, .examples = examples};
    assert_int_equal(model_open(&config, kernels, examples, &sides.model, NULL), TN_OK);
    assert_int_equal(job_graph_create(job, &graph, NULL), TN_OK);
    if (program_create(graph, &options, backend, &sides.program, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    tn_graph_destroy(graph);
    sides.parameters = tn_program_parameters(sides.program);
    return sides;
}

static void close_sides(struct sides *sides)
{
    model_close(sides->model);
    tn_program_destroy(sides->program);
}

/* One slice by both; their gradients must be equal bit for bit. */
static void compare(const struct job *job, const struct kernels *kernels,
                    const struct backend *backend, uint32_t count)
{
    struct sides sides = open_sides(job, kernels, backend, count);
    size_t size = (size_t)sides.parameters;
    assert_int_equal(sides.parameters, sides.model->table.parameter_count);
    float *values = calloc(3 * size, sizeof *values);
    float *by_graph = values + size, *by_hand = values + 2 * size;
    variables_init_range(&sides.model->table, 5, 0, size, values);
    struct tn_view inputs = tn_program_field(sides.program, "inputs");
    struct tn_view labels = tn_program_field(sides.program, "labels");
    struct tn_view targets = tn_program_field(sides.program, "targets");
    fill_floats(inputs, -0.375F);
    if (targets.data != NULL) { fill_floats(targets, 0.25F); }
    for (uint32_t i = 0; labels.data != NULL && i < count; i++) {
        ((uint8_t *)labels.data)[i] = (uint8_t)(i * 5 % job->model.outputs);
    }
    struct examples examples = {inputs.data, labels.data, targets.data, count};
    double loss = 0;
    model_gradient(sides.model, values, &examples, 1.0F / 512, by_hand, &loss);
    struct tn_run run = {sizeof run, .values = values, .gradient = by_graph, .scale = 1.0F / 512};
    assert_int_equal(tn_program_run(sides.program, &run, NULL), TN_OK);
    assert_memory_equal(by_graph, by_hand, size * sizeof *values);
    assert_true(fabs(run.loss_sum - loss) <= 1e-6 * fabs(loss));
    free(values);
    close_sides(&sides);
}

static void compare_models(const struct kernels *kernels, const struct backend *backend)
{
    static const uint32_t slices[] = {1, 16, 64, 256};
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        for (uint32_t hidden = 0; hidden <= 2; hidden++) {
            struct job mlp = job_of("mlp", hidden);
            compare(&mlp, kernels, backend, slices[i]);
        }
        struct job softmax = job_of("softmax", 0), linear = job_of("linear", 0);
        compare(&softmax, kernels, backend, slices[i]);
        compare(&linear, kernels, backend, slices[i]);
    }
}

static void gradients_have_the_bits_of_the_reference(void **state)
{
    (void)state;
    compare_models(kernels_reference(), backend_kernels_reference());
}

static void gradients_have_the_bits_of_openblas(void **state)
{
    (void)state;
    const struct backend *backend = NULL;
    if (backend_openblas(&backend, NULL) != TN_OK) { skip(); }
    compare_models(kernels_cpu(), backend);
}

/* Names, order and initial values are those of the variable table. */
static void variables_are_those_of_the_table(void **state)
{
    (void)state;
    const struct job jobs[] = {job_of("mlp", 2), job_of("softmax", 0), job_of("linear", 0)};
    for (size_t k = 0; k < sizeof jobs / sizeof jobs[0]; k++) {
        struct sides sides =
            open_sides(&jobs[k], kernels_reference(), backend_kernels_reference(), 4);
        const struct variable_table *table = &sides.model->table;
        size_t size = (size_t)sides.parameters;
        float *first = calloc(2 * size, sizeof *first), *second = first + size;
        assert_int_equal(sides.program->variable_count, table->count);
        for (uint32_t i = 0; i < table->count; i++) {
            const struct program_variable *variable = &sides.program->variables[i];
            const struct node *node = &sides.program->graph->nodes[variable->node];
            assert_string_equal(node->attributes.name, table->variables[i].name);
            assert_int_equal(variable->offset, table->variables[i].offset);
            assert_int_equal(variable->count, table->variables[i].count);
        }
        variables_init_range(table, 9, 0, size, first);
        tn_program_initialize(sides.program, 9, second);
        assert_memory_equal(first, second, size * sizeof *first);
        free(first);
        close_sides(&sides);
    }
}

static void wrong_models_are_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = NULL;
    struct error error;
    struct job job = job_of("forest", 0);
    assert_int_equal(job_graph_create(&job, &graph, &error), TN_EINVAL);
    assert_string_equal(error.text, "unknown model.type 'forest': one of mlp, softmax, linear");
    job = job_of("mlp", 1);
    job.model.hidden[0] = 0;
    assert_int_equal(job_graph_create(&job, &graph, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "model: scope 'hidden1': variable 'hidden1/weights'"));
    assert_null(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_have_the_bits_of_the_reference),
        cmocka_unit_test(gradients_have_the_bits_of_openblas),
        cmocka_unit_test(variables_are_those_of_the_table),
        cmocka_unit_test(wrong_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
