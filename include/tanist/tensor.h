/*
 * tanist/tensor.h: types, shapes and views of memory. Plain structs without ownership.
 */
#ifndef TANIST_TENSOR_H
#define TANIST_TENSOR_H

#include "tanist/base.h"

enum tn_type {
    TN_FLOAT32 = 1, /* The only type of variables, and of values that have a gradient. */
    TN_INT32,       /* Ids, labels. */
    TN_INT64,       /* Ids, keys. */
    TN_UINT8,       /* Pixels, labels; tn_cast() makes floats of them. */
};

enum { TN_RANK_MAX = 6 };

/* The size of a first dimension that is the number of examples. It is known only once a program is
 * created. */
#define TN_BATCH ((int64_t)-1)

/* Row-major, without gaps. Dimensions beyond `rank` are 0. Only dims[0] may be TN_BATCH. */
struct tn_shape {
    uint32_t rank; /* 0: a scalar. */
    int64_t dims[TN_RANK_MAX];
};

/* TN_SHAPE(TN_BATCH, 28, 28): a shape of these dimensions, at most TN_RANK_MAX. */
#ifdef __cplusplus
template <typename... Dimensions> constexpr tn_shape tn_make_shape(Dimensions... dimensions)
{
    static_assert(sizeof...(dimensions) <= TN_RANK_MAX,
                  "a shape has at most TN_RANK_MAX dimensions");
    return tn_shape{static_cast<uint32_t>(sizeof...(dimensions)),
                    {static_cast<int64_t>(dimensions)...}};
}
#define TN_SHAPE(...) (tn_make_shape(__VA_ARGS__))
#define TN_SCALAR     (tn_shape())
#else
#define TN_SHAPE(...)                                                                              \
    ((struct tn_shape){.rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                 \
                       .dims = {__VA_ARGS__}})
#define TN_SCALAR ((struct tn_shape){0})
#endif

/* Memory of the host that belongs to another owner. `data` starts on a 64-byte boundary where the
 * library allocated it. */
struct tn_view {
    enum tn_type type;
    struct tn_shape shape; /* Without TN_BATCH. */
    void *data;
};

#endif
