#include "model/onnx/file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/files.h"
#include "model/onnx/scan.h"
#include "onnx.pb-c.h"

enum { BUDGET_LEAST = 16 << 20, BUDGET_FACTOR = 4 };

/* A few bytes can decode to many: an empty message has two, its struct a hundred. */
static void *allocate(void *data, size_t size)
{
    struct onnx_file *file = data;
    if (size > file->budget) { return NULL; }
    file->budget -= size;
    return malloc(size);
}

static void release(void *data, void *memory)
{
    (void)data;
    free(memory);
}

/* The version of the operators, that of the domain "" or "ai.onnx". */
static enum tn_status find_opset(struct onnx_file *file, struct error *error)
{
    const Onnx__ModelProto *proto = file->proto;
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = proto->opset_import[i];
        const char *domain = set->domain != NULL ? set->domain : "";
        if (domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0) { file->opset = set->version; }
    }
    if (file->opset >= ONNX_OPSET_LEAST && file->opset <= ONNX_OPSET_MOST) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "opset_import: the model has opset %" PRId64 ": export it with opset %d to %d "
                     "(torch.onnx.export(..., opset_version=%d))",
                     file->opset, ONNX_OPSET_LEAST, ONNX_OPSET_MOST, ONNX_OPSET_MOST);
}

/* Refuse the parts that a forward graph of float32 does not need. */
static enum tn_status check_kind(const Onnx__ModelProto *proto, struct error *error)
{
    const Onnx__GraphProto *graph = proto->graph;
    if (graph == NULL || graph->n_node == 0) {
        return error_set(error, TN_EINVAL, "graph.node is empty: give a model with operations");
    }
    if (graph->n_node > ONNX_NODES_MAX) {
        return error_set(error, TN_EINVAL, "graph.node has %zu nodes: give at most %d",
                         graph->n_node, ONNX_NODES_MAX);
    }
    if (graph->n_sparse_initializer > 0) {
        return error_set(error, TN_EINVAL,
                         "graph.sparse_initializer is given: export dense initializers");
    }
    if (proto->n_functions > 0) {
        return error_set(error, TN_EINVAL,
                         "functions: the model defines its own operators: export it with plain "
                         "operators (torch.onnx.export(..., dynamo=False))");
    }
    return TN_OK;
}

enum tn_status onnx_file_decode(const uint8_t *bytes, size_t size, struct onnx_file *out,
                                struct error *error)
{
    assert(out != NULL);
    *out = (struct onnx_file){.budget = BUDGET_LEAST + BUDGET_FACTOR * size};
    enum tn_status status = onnx_scan(&onnx__model_proto__descriptor, bytes, size, error);
    if (status != TN_OK) { return status; }
    ProtobufCAllocator allocator = {.alloc = allocate, .free = release, .allocator_data = out};
    out->proto = onnx__model_proto__unpack(&allocator, size, bytes);
    if (out->proto == NULL) {
        return error_set(error, TN_EINVAL,
                         "the file cannot be decoded, or needs more than %zu bytes of memory: give "
                         "an ONNX model",
                         BUDGET_LEAST + BUDGET_FACTOR * size);
    }
    status = check_kind(out->proto, error);
    if (status == TN_OK) { status = find_opset(out, error); }
    if (status != TN_OK) { onnx_file_close(out); }
    return status;
}

enum tn_status onnx_file_open(const char *path, struct onnx_file *out, struct error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    assert(path != NULL && out != NULL);
    *out = (struct onnx_file){0};
    enum tn_status status = files_read(path, ONNX_FILE_MAX, &bytes, &size, error);
    if (status == TN_OK) {
        status = onnx_file_decode((const uint8_t *)bytes, size, out, error);
        if (status != TN_OK) { (void)error_context(error, "%s", path); }
    }
    free(bytes);
    return status == TN_OK ? TN_OK : error_context(error, "model.path");
}

void onnx_file_close(struct onnx_file *file)
{
    ProtobufCAllocator allocator = {.alloc = allocate, .free = release, .allocator_data = file};
    if (file->proto != NULL) { onnx__model_proto__free_unpacked(file->proto, &allocator); }
    *file = (struct onnx_file){0};
}
