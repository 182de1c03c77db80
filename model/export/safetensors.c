/* model/export/safetensors.c: the format of https://github.com/huggingface/safetensors: the size
 * of a header, the header in JSON with types, shapes and offsets, then the values. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/export/tensors.h"

enum { ALIGNMENT = 8 };

static json_t *facts_json(const struct export_fact *facts)
{
    json_t *object = json_object();
    for (; facts->key != NULL; facts++) {
        json_object_set_new(object, facts->key, json_string(facts->value));
    }
    return object;
}

static json_t *tensor_json(const struct export_tensor *tensor, uint64_t begin)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; d < tensor->rank; d++) {
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[d]));
    }
    const uint64_t end = begin + tensor->count * export_element(tensor);
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor->keys ? "I64" : "F32", "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The header, padded with blanks; NULL: out of memory. */
static char *make_header(const struct export_source *source)
{
    json_t *object = json_object();
    uint64_t at = 0;
    json_object_set_new(object, "__metadata__", facts_json(source->facts));
    for (size_t i = 0; i < source->count; i++) {
        json_object_set_new(object, source->tensors[i].name, tensor_json(&source->tensors[i], at));
        at += source->tensors[i].count * export_element(&source->tensors[i]);
    }
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (text == NULL) { return NULL; }
    const size_t length = strlen(text), padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *header = realloc(text, padded + 1);
    if (header == NULL) {
        free(text);
        return NULL;
    }
    memset(header + length, ' ', padded - length);
    header[padded] = '\0';
    return header;
}

enum tn_status export_safetensors(const struct export_source *source, struct partial_file *file,
                                  struct error *error)
{
    assert(source->count >= 1 && source->array != NULL);
    char *header = make_header(source);
    if (header == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a header"); }
    const uint64_t size = strlen(header); /* The low byte comes first, as in memory. */
    partial_file_write(file, &size, sizeof size);
    partial_file_write(file, header, size);
    free(header);
    const void *values = NULL;
    enum tn_status status = TN_OK;
    for (size_t i = 0; i < source->count && status == TN_OK; i++) {
        const struct export_tensor *tensor = &source->tensors[i];
        if (i == 0 || tensor->array != tensor[-1].array) {
            status = source->array(source->ctx, tensor->array, &values, error);
        }
        if (status != TN_OK) { break; }
        const size_t each = export_element(tensor);
        partial_file_write(file, (const uint8_t *)values + tensor->offset * each,
                           tensor->count * each);
    }
    return status;
}
