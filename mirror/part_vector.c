#include "mirror/part_vector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct variable *find_variable(const struct variable_table *table, const char *name)
{
    uint32_t i = 0;
    assert(table->count > 0);
    while (strcmp(table->variables[i].name, name) != 0) {
        i++;
        assert(i < table->count);
    }
    return &table->variables[i];
}

enum tn_status part_vector_open(struct part_vector *vector, const struct training_cut *cut,
                                const struct variable_table *table, struct error *error)
{
    *vector = (struct part_vector){.count = cut->variable_count};
    vector->places = calloc(cut->variable_count + 1, sizeof *vector->places);
    if (vector->places == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for the variables of a group");
    }
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        const struct cut_variable *variable = &cut->variables[i];
        vector->places[i] = (struct part_place){
            .task = variable->task,
            .whole = find_variable(table, variable->name)->offset,
            .part = variable->task_offset,
            .count = variable->count,
        };
        vector->floats += variable->count;
    }
    assert(vector->floats == table->parameter_count);
    return TN_OK;
}

void part_vector_close(struct part_vector *vector)
{
    free(vector->places);
    *vector = (struct part_vector){.count = 0};
}

void part_vector_gather(const struct part_vector *vector, uint32_t task, const float *whole,
                        float *part)
{
    assert(whole != NULL && part != NULL);
    for (uint32_t i = 0; i < vector->count; i++) {
        const struct part_place *place = &vector->places[i];
        if (place->task != task) { continue; }
        memcpy(part + place->part, whole + place->whole, place->count * sizeof(float));
    }
}

void part_vector_scatter(const struct part_vector *vector, uint32_t task, const float *part,
                         float *whole)
{
    assert(whole != NULL && part != NULL);
    for (uint32_t i = 0; i < vector->count; i++) {
        const struct part_place *place = &vector->places[i];
        if (place->task != task) { continue; }
        memcpy(whole + place->whole, part + place->part, place->count * sizeof(float));
    }
}
