#include "model/warm_start.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/core/build.h"
#include "model/safetensors.h"

/* --------------------------------------------------------------------- names */

/* The part of `name` that the "*" of pattern[0..length) stands for. False: no match. */
static bool match(const char *pattern, size_t length, const char *name, const char **part,
                  size_t *part_length)
{
    const char *star = memchr(pattern, '*', length);
    const size_t size = strlen(name);
    *part = name;
    *part_length = 0;
    if (star == NULL) { return size == length && memcmp(pattern, name, size) == 0; }
    const size_t before = (size_t)(star - pattern), after = length - before - 1;
    if (size < before + after || memcmp(pattern, name, before) != 0 ||
        memcmp(star + 1, name + size - after, after) != 0) {
        return false;
    }
    *part = name + before;
    *part_length = size - before - after;
    return true;
}

uint32_t warm_start_name(const struct job *job, const char *name,
                         char out[static WARM_START_NAME_MAX])
{
    assert(job->model.map_count <= JOB_MAP_MAX);
    for (uint32_t i = 0; i < job->model.map_count; i++) {
        const char *pair = job->model.map[i], *equals = strchr(pair, '=');
        const char *part;
        size_t length;
        if (equals == NULL || !match(pair, (size_t)(equals - pair), name, &part, &length)) {
            continue;
        }
        const size_t before = strcspn(equals + 1, "*");
        const char *after = equals + 1 + before + (equals[1 + before] == '*');
        if (equals[1 + before] != '*') { length = 0; }
        (void)snprintf(out, WARM_START_NAME_MAX, "%.*s%.*s%s", (int)before, equals + 1, (int)length,
                       part, after);
        return i + 1;
    }
    (void)snprintf(out, WARM_START_NAME_MAX, "%s", name);
    return 0;
}

/* -------------------------------------------------------------------- values */

static bool same_shape(const struct tn_shape *shape, const struct safetensors_tensor *tensor)
{
    static const struct tn_shape one = {.rank = 1, .dims = {1}};
    if (shape->rank == 0 && tensor->rank > 0) { shape = &one; }
    bool same = shape->rank == tensor->rank;
    for (uint32_t d = 0; same && d < shape->rank; d++) {
        same = (uint64_t)shape->dims[d] == tensor->shape[d];
    }
    return same;
}

static enum tn_status refuse_shape(const struct node *node, const char *name,
                                   const struct safetensors_tensor *tensor, struct error *error)
{
    char wanted[SHAPE_TEXT_MAX], found[SHAPE_TEXT_MAX] = "";
    size_t length = 0;
    for (uint32_t d = 0; d < tensor->rank; d++) {
        length += (size_t)snprintf(found + length, sizeof found - length, "%s%" PRIu64,
                                   d > 0 ? ", " : "", tensor->shape[d]);
    }
    return error_set(error, TN_EINVAL,
                     "tensor \"%.80s\" is %s [%s], but variable \"%s\" is %s: correct the model or "
                     "the map, or leave the variable out by mapping it to a name that the file "
                     "lacks",
                     name, tensor->floats ? "float32" : tensor->type, found, node->attributes.name,
                     shape_format(TN_FLOAT32, &node->shapes[0], wanted));
}

/* A copy of the options of a variable, which may be changed. */
static struct tn_variable_options *own_options(struct tn_graph *graph, struct node *node)
{
    struct tn_variable_options *options =
        graph_keep(graph, node->attributes.variable, sizeof *options);
    if (options != NULL) { node->attributes.variable = options; }
    return options;
}

static enum tn_status graph_failure(const struct tn_graph *graph, struct error *error)
{
    return error_set(error, graph->error.status, "%s", graph->error.text);
}

static enum tn_status set_values(struct tn_graph *graph, struct node *node, const float *values,
                                 uint64_t count, struct error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) { continue; }
        return error_set(error, TN_EINVAL, "variable \"%s\": value %" PRIu64 " is %g: not finite",
                         node->attributes.name, i, (double)values[i]);
    }
    struct tn_variable_options *options = own_options(graph, node);
    const struct shared_values *kept = options != NULL ? values_copy(graph, values, count) : NULL;
    if (kept == NULL) { return graph_failure(graph, error); }
    options->init = TN_INIT_VALUES;
    options->scale = 0;
    node->attributes.initial = kept;
    return TN_OK;
}

static enum tn_status load_variable(const struct safetensors *file,
                                    const struct safetensors_tensor *tensor, struct tn_graph *graph,
                                    struct node *node, struct error *error)
{
    const uint64_t count = (uint64_t)shape_elements(&node->shapes[0]);
    float *values = malloc(count * sizeof *values);
    if (values == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for the values of \"%s\"",
                         node->attributes.name);
    }
    enum tn_status status = safetensors_read(file, tensor, values, error);
    if (status == TN_OK) { status = set_values(graph, node, values, count, error); }
    free(values);
    return status;
}

/* Adds to `*loaded`, and the pair of model.map that names the tensor to the set `*used`. */
static enum tn_status start_variable(const struct job *job, const struct safetensors *file,
                                     struct tn_graph *graph, struct node *node, uint32_t *loaded,
                                     uint32_t *used, struct error *error)
{
    char name[WARM_START_NAME_MAX];
    struct safetensors_tensor tensor;
    const uint32_t pair = warm_start_name(job, node->attributes.name, name);
    if (pair > 0) { *used |= UINT32_C(1) << (pair - 1); }
    if (!safetensors_find(file, name, &tensor)) { return TN_OK; }
    if (!tensor.floats || !same_shape(&node->shapes[0], &tensor)) {
        return refuse_shape(node, name, &tensor, error);
    }
    (*loaded)++;
    return load_variable(file, &tensor, graph, node, error);
}

/* A pair that names no variable is a mistake in its left side. */
static enum tn_status check_pairs(const struct job *job, uint32_t used, struct error *error)
{
    static_assert(JOB_MAP_MAX <= 32, "a set of pairs is 32 bits");
    for (uint32_t i = 0; i < job->model.map_count; i++) {
        if ((used & UINT32_C(1) << i) != 0) { continue; }
        return error_set(error, TN_EINVAL,
                         "model.map[%" PRIu32 "] is \"%s\", whose left side matches none of the "
                         "variables that are left: `tanist graph` lists their names",
                         i, job->model.map[i]);
    }
    return TN_OK;
}

static enum tn_status start_all(const struct job *job, struct tn_graph *graph, struct error *error)
{
    struct safetensors file;
    uint32_t loaded = 0, used = 0;
    enum tn_status status = safetensors_open(job->model.warm_start, &file, error);
    if (status != TN_OK) { return status; }
    for (uint32_t i = 0; i < graph->count && status == TN_OK; i++) {
        struct node *node = &graph->nodes[i];
        if (node->attributes.variable == NULL) { continue; }
        status = start_variable(job, &file, graph, node, &loaded, &used, error);
    }
    safetensors_close(&file);
    if (status == TN_OK && (status = check_pairs(job, used, error)) != TN_OK) { return status; }
    if (status == TN_OK && loaded == 0) {
        status = error_set(error, TN_EINVAL,
                           "%s has none of the model's variables: map their names, for instance "
                           "--map 'hidden1/*=encoder/*'; `tanist graph` lists them",
                           job->model.warm_start);
    }
    return status == TN_OK ? TN_OK : error_context(error, "model.warm_start");
}

/* -------------------------------------------------------------------- frozen */

static enum tn_status freeze(const struct job *job, struct tn_graph *graph, uint32_t pattern,
                             struct error *error)
{
    bool found = false;
    for (uint32_t i = 0; i < graph->count; i++) {
        struct node *node = &graph->nodes[i];
        if (node->attributes.variable == NULL ||
            fnmatch(job->model.freeze[pattern], node->attributes.name, 0) != 0) {
            continue;
        }
        found = true;
        struct tn_variable_options *options = own_options(graph, node);
        if (options == NULL) { return graph_failure(graph, error); }
        options->update = TN_UPDATE_NEVER;
        options->momentum = 0;
    }
    if (found) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "model.freeze[%" PRIu32 "] is \"%s\", which matches none of the variables: "
                     "`tanist graph` lists their names",
                     pattern, job->model.freeze[pattern]);
}

enum tn_status warm_start_apply(const struct job *job, struct tn_graph *graph, struct error *error)
{
    assert(job != NULL && graph != NULL);
    enum tn_status status = TN_OK;
    if (job->model.warm_start[0] != '\0') { status = start_all(job, graph, error); }
    for (uint32_t i = 0; i < job->model.freeze_count && status == TN_OK; i++) {
        status = freeze(job, graph, i, error);
    }
    return status;
}
