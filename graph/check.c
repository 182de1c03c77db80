/* graph/check.c: tn_check_gradients(): gradients against central differences, in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "graph/reference/backend.h"

enum { STREAM_FIELDS = 1, STREAM_VALUES = 2, STREAM_ROWS = 3, INTEGERS_DEFAULT = 2 };

/* The half width of a difference. Smaller: rounding dominates; larger: curvature. */
static const double STEP = 1e-5;
/* Gradients below it count as differences, not as ratios. */
static const double FLOOR = 1e-3;

struct check {
    struct tn_program *program;
    double *values, *gradient, *unused;
    struct tn_run run;
};

/* The number of values that the integers of each value may have, by value; 0: any. Limits pass from
 * readers to their inputs through operations that only move integers. */
static void find_limits(const struct tn_program *program, int64_t *limits)
{
    for (uint32_t t = program->order_count; t-- > 0;) {
        const struct node *node = &program->graph->nodes[program->order[t]];
        int64_t passed = limits[program->order[t] * OP_OUTPUTS_MAX];
        for (uint32_t k = 0; k < node->input_count; k++) {
            int64_t limit = node->op->index_limit == NULL
                                ? passed
                                : node->op->index_limit(program->graph, node, k);
            int64_t *known = &limits[node->inputs[k].v - 1];
            if (limit != 0 && (*known == 0 || limit < *known)) { *known = limit; }
        }
    }
}

static void put_integer(enum tn_type type, void *data, int64_t at, uint64_t value)
{
    switch (type) {
    case TN_INT32: ((int32_t *)data)[at] = (int32_t)value; break;
    case TN_INT64: ((int64_t *)data)[at] = (int64_t)value; break;
    case TN_UINT8: ((uint8_t *)data)[at] = (uint8_t)value; break;
    case TN_FLOAT32: assert(false && "an integer type"); break;
    }
}

/* Floats get normal numbers, integers uniform ones below their limit. */
static void fill_field(const struct tn_program *program, uint32_t number, int64_t limit,
                       uint64_t seed)
{
    const struct node *node = &program->graph->nodes[number];
    struct tn_view field = tn_program_field(program, node->attributes.name);
    uint64_t top = limit == 0 ? INTEGERS_DEFAULT : (uint64_t)limit;
    if (field.type == TN_UINT8) { top = u64_min(top, UINT8_MAX + 1); }
    for (int64_t i = 0; i < shape_elements(&field.shape); i++) {
        uint64_t index = ((uint64_t)number << 32) + (uint64_t)i;
        if (field.type == TN_FLOAT32) {
            ((double *)field.data)[i] = (double)random_normal_at(seed, STREAM_FIELDS, index);
        } else {
            put_integer(field.type, field.data, i, random_at(seed, STREAM_FIELDS, index) % top);
        }
    }
}

static enum tn_status fill_fields(const struct tn_program *program, uint64_t seed)
{
    size_t values = (size_t)program->graph->count * OP_OUTPUTS_MAX;
    int64_t *limits = calloc(values + 1, sizeof *limits);
    if (limits == NULL) { return TN_ENOMEM; }
    find_limits(program, limits);
    for (uint32_t t = 0; t < program->order_count; t++) {
        uint32_t number = program->order[t];
        if (program->graph->nodes[number].op == &op_placeholder) {
            fill_field(program, number, limits[number * OP_OUTPUTS_MAX], seed);
        }
    }
    free(limits);
    return TN_OK;
}

/* Small numbers are added to the initial values, since zeros and ones hide errors. */
static enum tn_status fill_values(const struct check *check, uint64_t seed)
{
    uint64_t count = check->program->parameters;
    float *initial = calloc((size_t)count + 1, sizeof *initial);
    if (initial == NULL) { return TN_ENOMEM; }
    tn_program_initialize(check->program, seed, initial);
    for (uint64_t i = 0; i < count; i++) {
        double noise = (double)random_unit_at(seed, STREAM_VALUES, i) - 0.5;
        check->values[i] = (double)initial[i] + 0.25 * noise;
    }
    free(initial);
    return TN_OK;
}

/* The memory of the looked-up rows, and of their gradients. */
struct wide_rows {
    uint64_t count;
    double *values;
    const double *gradient;
};

/* False: the loss does not depend on them. */
static bool wide_rows(const struct tn_program *program, const struct program_lookup *lookup,
                      struct wide_rows *out)
{
    const tn_tensor rows = tensor_of(lookup->node, 0);
    if (lookup->gradient.v == 0) { return false; }
    *out = (struct wide_rows){
        .count = (uint64_t)shape_elements(shape_of(program->graph, rows)),
        .values = program_memory(program, &program->plan.places[rows.v - 1]),
        .gradient = program_memory(program, &program->plan.places[lookup->gradient.v - 1]),
    };
    return true;
}

static void fill_rows(const struct tn_program *program, uint64_t seed)
{
    for (uint32_t i = 0; i < program->lookup_count; i++) {
        struct wide_rows rows;
        if (!wide_rows(program, &program->lookups[i], &rows)) { continue; }
        for (uint64_t k = 0; k < rows.count; k++) {
            rows.values[k] = (double)random_normal_at(seed, STREAM_ROWS + i, k);
        }
    }
}

static double loss_at(struct check *check, double *at, double value, double *gradient)
{
    double before = *at;
    *at = value;
    enum tn_status status = program_run(check->program, &check->run, check->values, gradient, NULL);
    assert(status == TN_OK || check->program->check_numerics);
    *at = before;
    return status == TN_OK ? check->run.loss_sum : (double)NAN;
}

/* The error of `exact`, the gradient of a parameter or of an element of a looked-up row. */
static double difference_at(struct check *check, double *at, double exact)
{
    double value = *at;
    double above = loss_at(check, at, value + STEP, check->unused);
    double below = loss_at(check, at, value - STEP, check->unused);
    double numeric = (above - below) / (2 * STEP);
    double error = fabs(numeric - exact) / (fabs(numeric) + fabs(exact) + FLOOR);
    return isfinite(error) ? error : (double)INFINITY;
}

/* The rows of the lookups: their gradients lie in the arena, which the next run overwrites. */
static double worst_of_rows(struct check *check, uint32_t samples)
{
    double worst = 0;
    for (uint32_t i = 0; i < check->program->lookup_count; i++) {
        const struct program_lookup *lookup = &check->program->lookups[i];
        struct wide_rows rows;
        if (!wide_rows(check->program, lookup, &rows)) { continue; }
        const uint64_t stride = u64_max(1, rows.count / u64_max(samples, 1));
        for (uint64_t k = 0; k < rows.count; k += stride) {
            loss_at(check, check->values, check->values[0], check->unused);
            worst = double_max(worst, difference_at(check, &rows.values[k], rows.gradient[k]));
        }
    }
    return worst;
}

static double worst_difference(struct check *check, uint32_t samples)
{
    double worst = worst_of_rows(check, samples);
    if (check->program->parameters == 0) { return worst; }
    loss_at(check, check->values, check->values[0], check->gradient);
    for (uint32_t i = 0; i < check->program->variable_count; i++) {
        const struct program_variable *variable = &check->program->variables[i];
        const struct node *node = &check->program->graph->nodes[variable->node];
        if (node->attributes.variable->update != TN_UPDATE_OPTIMIZER) { continue; }
        uint64_t stride = u64_max(1, variable->count / u64_max(samples, 1));
        for (uint64_t k = 0; k < variable->count; k += stride) {
            const uint64_t at = variable->offset + k;
            worst =
                double_max(worst, difference_at(check, &check->values[at], check->gradient[at]));
        }
    }
    return worst;
}

static enum tn_status open_check(struct check *check, uint64_t seed)
{
    size_t count = (size_t)check->program->parameters + 1;
    check->values = calloc(count, sizeof *check->values);
    check->gradient = calloc(count, sizeof *check->gradient);
    check->unused = calloc(count, sizeof *check->unused);
    if (check->values == NULL || check->gradient == NULL || check->unused == NULL) {
        return TN_ENOMEM;
    }
    enum tn_status status = fill_values(check, seed);
    fill_rows(check->program, seed);
    return status == TN_OK ? fill_fields(check->program, seed) : status;
}

enum tn_status tn_check_gradients(const struct tn_graph *graph, uint64_t seed, uint32_t examples,
                                  uint32_t samples, double *worst, struct tn_error *error)
{
    assert(graph != NULL && worst != NULL);
    struct error text = {.status = TN_OK};
    struct check check = {.run = {.struct_size = sizeof check.run, .seed = seed, .scale = 1}};
    struct tn_program_options options = {sizeof options, TN_TRAIN, .examples = examples};
    enum tn_status status =
        program_create(graph, &options, backend_reference_wide(), &check.program, &text);
    if (status == TN_OK) {
        status = open_check(&check, seed);
        if (status != TN_OK) { error_set(&text, status, "out of memory: use fewer examples"); }
    }
    if (status == TN_OK) { *worst = worst_difference(&check, samples); }
    free(check.values);
    free(check.gradient);
    free(check.unused);
    tn_program_destroy(check.program);
    return status == TN_OK ? TN_OK : error_export(&text, error);
}
