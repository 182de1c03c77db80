/*
 * graph/core/shape.h: sizes, texts and broadcasting of shapes. Pure.
 */
#ifndef GRAPH_CORE_SHAPE_H
#define GRAPH_CORE_SHAPE_H

#include "tanist/tensor.h"

enum { SHAPE_TEXT_MAX = 160 };

/* The largest number of elements of one value. */
#define SHAPE_ELEMENTS_MAX (INT64_C(1) << 40)

/* Number of elements; TN_BATCH counts as 1. */
int64_t shape_elements(const struct tn_shape *shape);

/* Whether dims[0] is TN_BATCH. */
bool shape_has_batch(const struct tn_shape *shape);

bool shape_equal(const struct tn_shape *a, const struct tn_shape *b);

/* The size of the last dimension; 1 for a scalar. */
int64_t shape_last(const struct tn_shape *shape);

/* Whether a value may have this shape: rank at most TN_RANK_MAX, TN_BATCH only in front, the other
 * dimensions at least 1, at most SHAPE_ELEMENTS_MAX elements. */
bool shape_is_valid(const struct tn_shape *shape);

/* Compute the shape of an elementwise operation as NumPy does: shapes are aligned at their last
 * dimensions, and a dimension of 1 is repeated. False: they do not fit. */
bool shape_broadcast(const struct tn_shape *a, const struct tn_shape *b, struct tn_shape *out);

/* The shape with `count` in place of TN_BATCH. */
struct tn_shape shape_with_batch(struct tn_shape shape, int64_t count);

/* Write "float32 [batch, 784]" to `out`. Returns `out`. */
const char *shape_format(enum tn_type type, const struct tn_shape *shape, char out[SHAPE_TEXT_MAX]);

/* "float32", "int32", "int64", "uint8"; "unknown" for other numbers. */
const char *type_name(enum tn_type type);

/* Bytes per element. `wide`: floats are computed in double. */
size_t type_size(enum tn_type type, bool wide);

#endif
