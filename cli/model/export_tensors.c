#include "cli/model/export_tensors.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/model/saved_rows.h"
#include "kernels/optimizer.h"

enum { PARTS = SAVED_STATE + 1 };

/* The name of an array of a variable in the file; false: the variable does not use the array. */
static bool name_tensor(const struct export_tensors *tensors, const struct optimizer *optimizer,
                        uint32_t variable, uint32_t array, char name[static EXPORT_NAME_MAX])
{
    const char *variable_name = tensors->saved->model->table.variables[variable].name;
    const struct variable_rule *rule = &optimizer->rules[variable];
    const char *prefix = "";
    if (array != saved_model_evaluated_array(tensors->saved)) {
        const uint32_t used =
            rule->update == VARIABLE_OPTIMIZED ? optimizer_arrays(rule->optimizer) : 1;
        if (array >= used) { return false; }
        prefix = array == 0 ? "parameters" : optimizer_array_name(rule->optimizer, array);
    }
    int length = snprintf(name, EXPORT_NAME_MAX, "%s%s%s%s", *prefix ? "state/" : "", prefix,
                          *prefix ? "/" : "", variable_name);
    assert(length > 0 && length < EXPORT_NAME_MAX);
    return true;
}

static void add_array(struct export_tensors *tensors, const struct optimizer *optimizer,
                      uint32_t array)
{
    const struct variable_table *table = &tensors->saved->model->table;
    for (uint32_t number = 0; number < table->count; number++) {
        for (uint32_t i = 0; i < table->count; i++) {
            const struct variable *variable = &table->variables[i];
            struct export_tensor *tensor = &tensors->list[tensors->count];
            if (variable->number != number ||
                !name_tensor(tensors, optimizer, i, array, tensor->name)) {
                continue;
            }
            tensor->rank = variable->rank;
            for (uint32_t d = 0; d < variable->rank; d++) { tensor->shape[d] = variable->shape[d]; }
            tensor->array = array;
            tensor->offset = variable->offset;
            tensor->count = variable->count;
            tensors->count++;
        }
    }
}

/* One array for each part of each table, behind those of the checkpoint. */
static void add_rows(struct export_tensors *tensors, uint32_t table, enum saved_part part)
{
    static const char *const names[PARTS] = {
        [SAVED_KEYS] = "keys", [SAVED_VALUES] = "values", [SAVED_STATE] = "state"};
    const struct saved_rows_shape shape = saved_rows_shape(tensors->saved, table);
    struct export_tensor *tensor = &tensors->list[tensors->count];
    const uint32_t width = part == SAVED_VALUES ? shape.width : shape.state;
    if (part == SAVED_STATE && shape.state == 0) { return; }
    int length = snprintf(tensor->name, EXPORT_NAME_MAX, "%s/%s", shape.name, names[part]);
    assert(length > 0 && length < EXPORT_NAME_MAX);
    tensor->keys = part == SAVED_KEYS;
    tensor->rank = tensor->keys ? 1 : 2;
    tensor->shape[0] = shape.rows;
    tensor->shape[1] = width;
    tensor->array = MANIFEST_ARRAYS_MAX + table * PARTS + part;
    tensor->count = shape.rows * (tensor->keys ? 1 : width);
    tensors->count++;
}

/* The values first, each array in the order in which the model has its variables. */
enum tn_status export_tensors_open(struct export_tensors *tensors, bool state, struct error *error)
{
    const struct variable_table *table = &tensors->saved->model->table;
    const uint32_t arrays = tensors->saved->manifest.state_arrays;
    const size_t most = (size_t)table->count * arrays + (size_t)table->row_table_count * PARTS;
    assert(tensors->saved != NULL && arrays <= MANIFEST_ARRAYS_MAX);
    tensors->list = calloc(most, sizeof *tensors->list);
    if (tensors->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    struct optimizer *optimizer = malloc(sizeof *optimizer);
    if (optimizer == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    *optimizer = optimizer_of_job(&tensors->saved->job, table);
    const uint32_t evaluated = saved_model_evaluated_array(tensors->saved);
    add_array(tensors, optimizer, evaluated);
    for (uint32_t a = 0; state && a < arrays; a++) {
        if (a != evaluated) { add_array(tensors, optimizer, a); }
    }
    free(optimizer);
    for (uint32_t t = 0; t < table->row_table_count; t++) {
        add_rows(tensors, t, SAVED_KEYS);
        add_rows(tensors, t, SAVED_VALUES);
        if (state) { add_rows(tensors, t, SAVED_STATE); }
    }
    return TN_OK;
}

static enum tn_status give_rows(struct export_tensors *tensors, uint32_t number,
                                const void **values, struct error *error)
{
    free(tensors->rows);
    const enum saved_part part = number % PARTS;
    enum tn_status status =
        saved_rows_read(tensors->saved, number / PARTS, part, &tensors->rows, error);
    *values = tensors->rows;
    return status;
}

enum tn_status export_tensors_array(void *ctx, uint32_t array, const void **values,
                                    struct error *error)
{
    struct export_tensors *tensors = ctx;
    if (array >= MANIFEST_ARRAYS_MAX) {
        return give_rows(tensors, array - MANIFEST_ARRAYS_MAX, values, error);
    }
    if (array == saved_model_evaluated_array(tensors->saved)) {
        *values = tensors->saved->values->data;
        return TN_OK;
    }
    buffer_release(tensors->array);
    tensors->array = NULL;
    enum tn_status status = saved_model_read(tensors->saved, array, &tensors->array, error);
    if (status != TN_OK) { return status; }
    assert(tensors->array != NULL);
    *values = tensors->array->data;
    return TN_OK;
}

void export_tensors_close(struct export_tensors *tensors)
{
    buffer_release(tensors->array);
    free(tensors->rows);
    free(tensors->list);
    tensors->array = NULL;
    tensors->rows = NULL;
    tensors->list = NULL;
}
