/*
 * model/onnx/value.h: the values of an imported graph, by their names in the file. Private to
 * model/onnx/.
 *
 * ONNX has images as [batch][channels][height][width], the graph as
 * [batch][height][width][channels]. So a value is a tensor of the graph together with an order of
 * its dimensions: a transposition changes only the order, and operations that need another one
 * permute. Between the convolutions of a network nothing is permuted.
 *
 * Errors stick to the import, as those of a graph do.
 */
#ifndef MODEL_ONNX_VALUE_H
#define MODEL_ONNX_VALUE_H

#include "common/job/job.h"
#include "model/onnx/tensor.h"
#include "tanist/graph.h"

enum onnx_kind {
    ONNX_INITIALIZER, /* Floats of the file that become a variable where they are read. */
    ONNX_STATIC,      /* Known while the graph is built: `given`. */
    ONNX_TENSOR,      /* x and order. */
};

/* The static integer that stands for the number of examples. */
#define ONNX_BATCH INT64_MIN

enum onnx_last { ONNX_LAST_OTHER, ONNX_LAST_SOFTMAX, ONNX_LAST_SIGMOID };

struct onnx_value {
    const char *name;
    enum onnx_kind kind;
    struct onnx_tensor given;
    tn_tensor x;
    uint32_t rank, order[TN_RANK_MAX]; /* Dimension i of the value is order[i] of x. */
    enum onnx_last last;               /* The operation of which it is the result. */
    tn_tensor logits;                  /* Its argument. */
};

struct onnx_name {
    const char *name;
    uint32_t value;
};

struct onnx_import {
    const struct job *job;
    struct tn_graph *graph;
    int64_t opset;
    int64_t file_batch; /* The number of examples that the file was exported with; -1: any. */
    struct onnx_value *values;
    uint32_t count, capacity;
    struct onnx_name *names; /* A hash table, half empty. */
    uint32_t slots;
    bool frozen[JOB_FREEZE_MAX]; /* Patterns of `freeze` that have matched. */
    struct error error;
};

/* Room for this many values. TN_ENOMEM. */
MUST_CHECK enum tn_status onnx_values_open(struct onnx_import *import, size_t capacity,
                                           struct error *error);
void onnx_values_close(struct onnx_import *import);

/* NULL: the name is unknown. */
struct onnx_value *onnx_find(const struct onnx_import *import, const char *name);
/* Add a value, or another name of one. An error if the name exists. */
void onnx_add(struct onnx_import *import, const struct onnx_value *value);
void onnx_alias(struct onnx_import *import, const char *name, const struct onnx_value *value);

void onnx_fail(struct onnx_import *import, enum tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool onnx_failed(const struct onnx_import *import)
{
    return import->error.status != TN_OK;
}

/* The tensor whose dimension j is dimension axes[j] of the value: an initializer becomes a
 * variable, a static value a constant. */
tn_tensor onnx_permuted(struct onnx_import *import, struct onnx_value *value, const uint32_t *axes,
                        uint32_t count);
/* The same with all dimensions as the file has them. */
tn_tensor onnx_plain(struct onnx_import *import, struct onnx_value *value);

/* The shape of the value, as the file has its dimensions. */
struct tn_shape onnx_shape(const struct onnx_import *import, const struct onnx_value *value);

#endif
