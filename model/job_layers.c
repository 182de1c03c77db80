#include "model/job_layers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/job/strategy.h"
#include "model/layer_joins.h"
#include "model/layer_types.h"

enum { LAYER_DEVICE_MAX = 32 };

struct builder {
    struct tn_graph *graph;
    tn_tensor x; /* The value of the last layer. */
    uint32_t depth;
};

static enum tn_status build_list(struct builder *builder, const json_t *list, const char *where,
                                 struct error *error);

/* "WHERE.NAME", cut if it is too long. */
static void place(char out[static JSON_WHERE_MAX], const char *where, const char *name)
{
    struct text text = text_begin(out, JSON_WHERE_MAX);
    text_add(&text, where);
    text_add(&text, ".");
    text_add(&text, name);
}

/* "WHERE[INDEX]" */
static void place_at(char out[static JSON_WHERE_MAX], const char *where, size_t index)
{
    struct text text = text_begin(out, JSON_WHERE_MAX);
    text_add(&text, where);
    text_add(&text, "[");
    text_add_number(&text, index);
    text_add(&text, "]");
}

/* Keys of every layer. */
static bool is_device_key(const char *key)
{
    return strcmp(key, "task") == 0 || strcmp(key, "gpu") == 0;
}

/* The name and the value of a layer. A name alone has the value NULL. */
static enum tn_status split(const json_t *element, const char *where, const char **name,
                            const json_t **value, struct error *error)
{
    *value = NULL;
    *name = json_string_value(element);
    if (*name != NULL) { return TN_OK; }
    json_t *object = (json_t *)(uintptr_t)element;
    size_t names = 0;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        if (is_device_key(json_object_iter_key(at))) { continue; }
        *name = json_object_iter_key(at);
        *value = json_object_iter_value(at);
        names++;
    }
    if (names == 1) { return TN_OK; }
    return json_refuse(where, "", element, error,
                       "give the name of a layer, or an object with one key, the name, and "
                       "perhaps \"task\" or \"gpu\": {\"dense\": {\"units\": 10}, \"task\": 1}");
}

/* Add the part of the device that the number of `key` names. */
static enum tn_status read_number(const json_t *element, const char *where, const char *key,
                                  int most, const char *meaning, struct text *device,
                                  struct error *error)
{
    const json_t *value = json_object_get(element, key);
    if (value == NULL) { return TN_OK; }
    const json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    if (number < 0 || number > most) {
        return json_refuse(where, key, value, error,
                           "give a whole number from 0 to %d: %s that computes the layer", most,
                           meaning);
    }
    text_add(device, strcmp(key, "gpu") == 0 ? "/gpu:" : "/job:worker/task:");
    text_add_number(device, (uint64_t)number);
    return TN_OK;
}

/* The device of a layer with "task", a member of a group, or "gpu". "": it has none. */
static enum tn_status read_device(const json_t *element, const char *where,
                                  char device[static LAYER_DEVICE_MAX], struct error *error)
{
    struct text text = text_begin(device, LAYER_DEVICE_MAX);
    enum tn_status status = read_number(element, where, "task", GROUP_TASKS_MAX - 1,
                                        "the member of a group (strategy.members)", &text, error);
    if (status != TN_OK) { return status; }
    return read_number(element, where, "gpu", JOB_GPUS_MAX - 1, "the GPU of a worker (train.gpus)",
                       &text, error);
}

/* The values of the keys, with the short form {"NAME": value}. */
static enum tn_status read_keys(const struct layer_type *type, const json_t *value,
                                const char *where, struct layer *out, struct error *error)
{
    *out = type->defaults;
    if (type->keys.count == 0) {
        if (value == NULL || (json_is_object(value) && json_object_size(value) == 0)) {
            return TN_OK;
        }
        return json_refuse(where, "", value, error, "this layer has no keys: give only \"%s\"",
                           type->name);
    }
    if (value != NULL && !json_is_object(value) && type->main_key != NULL) {
        json_t *object = json_object();
        if (object == NULL ||
            json_object_set(object, type->main_key, (json_t *)(uintptr_t)value) != 0) {
            json_decref(object);
            return error_set(error, TN_ENOMEM, "out of memory for layers");
        }
        enum tn_status status = json_codec_read(&type->keys, object, where, out, error);
        json_decref(object);
        return status;
    }
    json_t *none = value == NULL ? json_object() : NULL;
    enum tn_status status =
        json_codec_read(&type->keys, value != NULL ? value : none, where, out, error);
    json_decref(none);
    return status;
}

/* The graph's error, after the place of the layer and the shape of its input. */
static enum tn_status status_of(const struct tn_graph *graph, const char *where, tn_tensor x,
                                struct error *error)
{
    struct tn_error text = {.text = ""};
    char shape[LAYER_SHAPE_MAX];
    enum tn_status status = tn_graph_status(graph, &text);
    if (status == TN_OK) { return TN_OK; }
    layer_shape_text(graph, x, shape);
    return error_set(error, status, "%s: of %s: %s", where, shape, text.text);
}

static enum tn_status build_plain(struct builder *builder, const char *type_name, const char *scope,
                                  const json_t *value, const char *where, struct error *error)
{
    const struct layer_type *type = NULL;
    struct layer layer;
    enum tn_status status = layer_type_find(type_name, where, &type, error);
    char here[JSON_WHERE_MAX];
    if (status != TN_OK) { return status; }
    place(here, where, type_name);
    status = read_keys(type, value, here, &layer, error);
    if (status != TN_OK) { return status; }
    const tn_tensor x = builder->x;
    builder->x = type->build(builder->graph, scope, x, &layer);
    return status_of(builder->graph, here, x, error);
}

/* The results of the branches in `value`: a list of layers, or a list of such lists. */
static enum tn_status build_branches(struct builder *builder, const struct layer_join *join,
                                     const json_t *value, const char *where, tn_tensor *branches,
                                     struct error *error)
{
    const tn_tensor x = builder->x;
    if (join->with_input) {
        branches[0] = x;
        enum tn_status status = build_list(builder, value, where, error);
        branches[1] = builder->x;
        return status;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        char here[JSON_WHERE_MAX], scope[32];
        const json_t *list = json_array_get(value, i);
        place_at(here, where, i);
        if (!json_is_array(list)) {
            return json_refuse(here, "", list, error, "give a list of layers, [...]");
        }
        builder->x = x;
        snprintf(scope, sizeof scope, "branch%zu", i + 1);
        tn_scope_begin(builder->graph, scope);
        enum tn_status status = build_list(builder, list, here, error);
        tn_scope_end(builder->graph);
        if (status != TN_OK) { return status; }
        branches[i] = builder->x;
    }
    return TN_OK;
}

static enum tn_status check_branches(const struct builder *builder, const struct layer_join *join,
                                     const json_t *value, const char *where, struct error *error)
{
    size_t count = json_array_size(value);
    if (join->with_input && count == 0) {
        return json_refuse(where, "", value, error, "give a list of layers, [...]");
    }
    if (!join->with_input && (count < 2 || count > LAYER_BRANCHES_MAX)) {
        return json_refuse(where, "", value, error,
                           "give a list of 2 to %d lists of layers, [[...], [...]]",
                           LAYER_BRANCHES_MAX);
    }
    if (builder->depth < JOB_LAYERS_DEPTH_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s: lists of layers are more than %d deep: put them one after another", where,
                     JOB_LAYERS_DEPTH_MAX);
}

static enum tn_status build_join(struct builder *builder, const struct layer_join *join,
                                 const char *scope, const json_t *value, const char *where,
                                 struct error *error)
{
    char here[JSON_WHERE_MAX];
    tn_tensor branches[LAYER_BRANCHES_MAX];
    place(here, where, join->name);
    enum tn_status status = check_branches(builder, join, value, here, error);
    if (status != TN_OK) { return status; }
    builder->depth++;
    tn_scope_begin(builder->graph, scope);
    status = build_branches(builder, join, value, here, branches, error);
    uint32_t count = join->with_input ? 2 : (uint32_t)json_array_size(value);
    if (status == TN_OK) {
        status = layer_join_build(join, builder->graph, branches, count, here, &builder->x, error);
    }
    tn_scope_end(builder->graph);
    builder->depth--;
    return status == TN_OK ? status_of(builder->graph, here, branches[0], error) : status;
}

static enum tn_status build_list(struct builder *builder, const json_t *list, const char *where,
                                 struct error *error)
{
    assert(json_is_array(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char here[JSON_WHERE_MAX], scope[64], device[LAYER_DEVICE_MAX];
        const char *name = NULL;
        const json_t *value = NULL;
        place_at(here, where, i);
        const json_t *element = json_array_get(list, i);
        enum tn_status status = split(element, here, &name, &value, error);
        if (status == TN_OK) { status = read_device(element, here, device, error); }
        if (status != TN_OK) { return status; }
        snprintf(scope, sizeof scope, "%.32s%zu", name, i + 1);
        const struct layer_join *join = layer_join_find(name);
        if (device[0] != '\0') { tn_device_begin(builder->graph, device); }
        status = join != NULL ? build_join(builder, join, scope, value, here, error)
                              : build_plain(builder, name, scope, value, here, error);
        if (device[0] != '\0') { tn_device_end(builder->graph); }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static enum tn_status parse(const struct job *job, json_t **out, struct error *error)
{
    *out = json_loads(job->model.layers, 0, NULL);
    if (*out != NULL && json_array_size(*out) > 0) { return TN_OK; }
    json_decref(*out);
    *out = NULL;
    return error_set(error, TN_EINVAL, "model.layers is empty: give a list of layers");
}

enum tn_status job_layers_build(const struct job *job, struct tn_graph *graph, tn_tensor x,
                                tn_tensor *out, struct error *error)
{
    struct builder builder = {.graph = graph, .x = x};
    json_t *list = NULL;
    assert(job != NULL && graph != NULL && out != NULL);
    enum tn_status status = parse(job, &list, error);
    if (status == TN_OK) { status = build_list(&builder, list, "model.layers", error); }
    json_decref(list);
    *out = builder.x;
    return status;
}

/* Whether the input of `list` goes to an embedding. A slice and a reshape move it unchanged. */
static bool list_reads_ids(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = NULL;
        const json_t *value = NULL;
        if (split(json_array_get(list, i), "", &name, &value, NULL) != TN_OK) { return false; }
        if (strcmp(name, "embedding") == 0) { return true; }
        const struct layer_join *join = layer_join_find(name);
        if (join != NULL) {
            return list_reads_ids(join->with_input ? value : json_array_get(value, 0));
        }
        bool moves = strcmp(name, "slice") == 0 || strcmp(name, "flatten") == 0 ||
                     strcmp(name, "reshape") == 0;
        if (!moves) { return false; }
    }
    return false;
}

bool job_layers_read_ids(const struct job *job)
{
    json_t *list = NULL;
    assert(job != NULL);
    if (parse(job, &list, NULL) != TN_OK) { return false; }
    bool ids = list_reads_ids(list);
    json_decref(list);
    return ids;
}
