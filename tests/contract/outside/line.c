/* A line through points, fitted by gradient descent without a cluster. */
#include <math.h>
#include <stdio.h>
#include <tanist/tanist.h>

enum { POINTS = 16, STEPS = 500 };

/* The user's own functions may have the names of internal ones of the library. */
void log_write(void);
void log_write(void)
{
}

static struct tn_graph *line(void)
{
    struct tn_graph *graph = NULL;
    if (tn_graph_create(&graph, NULL) != TN_OK) { return NULL; }
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_tensor y = tn_placeholder(graph, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_loss(graph, tn_squared_error(graph, tn_dense(graph, "line", x, 1, TN_LINEAR), y), 1);
    return graph;
}

static void fill(struct tn_program *program)
{
    float *x = tn_program_field(program, "x").data, *y = tn_program_field(program, "y").data;
    for (int i = 0; i < POINTS; i++) {
        x[i] = (float)i / POINTS;
        y[i] = 3 * x[i] - 1;
    }
}

static int fit(struct tn_program *program)
{
    float values[2], gradient[2];
    struct tn_error error;
    if (tn_program_parameters(program) != 2) { return 1; }
    tn_program_initialize(program, 1, values);
    fill(program);
    for (uint64_t step = 0; step < STEPS; step++) {
        struct tn_run run = {.struct_size = sizeof run,
                             .values = values,
                             .step = step,
                             .scale = 1.0f / POINTS,
                             .gradient = gradient};
        if (tn_program_run(program, &run, &error) != TN_OK) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        for (int i = 0; i < 2; i++) { values[i] -= 0.5f * gradient[i]; }
    }
    printf("%s: %.3f %.3f\n", tn_version(), (double)values[0], (double)values[1]);
    return 0;
}

int main(void)
{
    struct tn_error error = {.status = TN_OK};
    struct tn_program *program = NULL;
    struct tn_graph *graph = line();
    double worst = NAN;
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_TRAIN, .examples = POINTS};
    if (tn_check_gradients(graph, 4, 16, 1, &worst, &error) != TN_OK || !(worst < 1e-5) ||
        tn_program_create(graph, &options, &program, &error) != TN_OK) {
        fprintf(stderr, "%s: %s (%g)\n", tanist_strerror(error.status), error.text, worst);
        return 1;
    }
    tn_graph_destroy(graph);
    const int failed = fit(program);
    tn_program_destroy(program);
    return failed;
}
