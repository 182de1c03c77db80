#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/core/build.h"

/* Memory with the lifetime of its graph. The bytes follow the header. */
struct chunk {
    struct chunk *next;
    size_t used, size;
    uint8_t *bytes;
};

enum { ALIGNMENT = 64 };

enum tn_status tn_graph_create(struct tn_graph **out, struct tn_error *error)
{
    assert(out != NULL);
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        struct error text;
        enum tn_status status = error_set(&text, TN_ENOMEM, "cannot create a graph: out of memory");
        error_export(&text, error);
        return status;
    }
    (*out)->devices[0] = "";
    return TN_OK;
}

void tn_graph_destroy(struct tn_graph *graph)
{
    if (graph == NULL) { return; }
    values_release(graph);
    for (struct chunk *chunk = graph->chunks; chunk != NULL;) {
        struct chunk *next = chunk->next;
        free(chunk->bytes);
        free(chunk);
        chunk = next;
    }
    free(graph->nodes);
    free(graph);
}

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct chunk *chunk_create(size_t size)
{
    struct chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL) { return NULL; }
    chunk->size = aligned(size_max(size, GRAPH_CHUNK_BYTES));
    chunk->bytes = aligned_alloc(ALIGNMENT, chunk->size);
    if (chunk->bytes != NULL) { return chunk; }
    free(chunk);
    return NULL;
}

void *graph_keep(struct tn_graph *graph, const void *data, size_t size)
{
    assert(data != NULL || size == 0);
    struct chunk *chunk = graph->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        chunk = chunk_create(size);
        if (chunk == NULL) {
            graph_fail(graph, TN_ENOMEM, "out of memory: make the model smaller");
            return NULL;
        }
        chunk->next = graph->chunks;
        graph->chunks = chunk;
    }
    void *at = chunk->bytes + chunk->used;
    chunk->used += size_min(aligned(size), chunk->size - chunk->used);
    if (size > 0) { memcpy(at, data, size); }
    return at;
}

const char *graph_keep_text(struct tn_graph *graph, const char *text)
{
    assert(text != NULL);
    return text[0] == '\0' ? "" : graph_keep(graph, text, strlen(text) + 1);
}

enum tn_status tn_graph_status(const struct tn_graph *graph, struct tn_error *error)
{
    assert(graph != NULL);
    return graph_failed(graph) ? error_export(&graph->error, error) : TN_OK;
}

__attribute__((format(printf, 3, 0))) static tn_tensor fail(struct tn_graph *graph,
                                                            enum tn_status status,
                                                            const char *format, va_list arguments)
{
    assert(status != TN_OK);
    if (graph_failed(graph)) { return TN_NONE; }
    char text[ERROR_TEXT_MAX];
    if (vsnprintf(text, sizeof text, format, arguments) < 0) { text[0] = '\0'; }
    error_set(&graph->error, status, "%s", text);
    if (graph->scope[0] != '\0') { error_context(&graph->error, "scope '%s'", graph->scope); }
    return TN_NONE;
}

tn_tensor graph_fail(struct tn_graph *graph, enum tn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tn_tensor none = fail(graph, status, format, arguments);
    va_end(arguments);
    return none;
}

tn_tensor tn_graph_fail(struct tn_graph *graph, const char *format, ...)
{
    assert(graph != NULL && format != NULL);
    va_list arguments;
    va_start(arguments, format);
    tn_tensor none = fail(graph, TN_EINVAL, format, arguments);
    va_end(arguments);
    return none;
}

struct tn_shape tn_shape_of(const struct tn_graph *graph, tn_tensor x)
{
    return x.v == 0 ? TN_SCALAR : *shape_of(graph, x);
}

enum tn_type tn_type_of(const struct tn_graph *graph, tn_tensor x)
{
    return x.v == 0 ? (enum tn_type)0 : node_of(graph, x)->types[tensor_output(x)];
}
