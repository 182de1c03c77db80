/*
 * model/layer_types.h: the layers that job files may contain, as a table: names, keys with their
 * types, limits and defaults, and the calls of tanist/layers.h. Private to model/.
 *
 * Threads: no state.
 */
#ifndef MODEL_LAYER_TYPES_H
#define MODEL_LAYER_TYPES_H

#include "common/base/json_codec.h"
#include "common/job/job.h"
#include "tanist/layers.h"

/* The values of the keys of all types; each type uses some. */
struct layer {
    uint32_t units, filters, kernel, stride, size;
    uint32_t rows, width, heads, mlp_width;
    uint32_t first, count;
    uint32_t shape[JOB_RANK_MAX], shape_count;
    double rate, dropout;
    bool causal;
    int activation, padding; /* enum tn_activation; 0: same, 1: none. */
};

struct layer_type {
    const char *name;
    struct json_table keys; /* Without rows: the layer has no keys. */
    const char *main_key;   /* {"NAME": value} sets it; NULL: there is none. */
    struct layer defaults;
    /* Append the layer under the scope `name`. Errors stick to the graph. */
    tn_tensor (*build)(struct tn_graph *graph, const char *name, tn_tensor x,
                       const struct layer *layer);
};

/* TN_EINVAL: there is no layer of that name; the error, which begins with `where`, suggests one,
 * also a name of layer_joins.h. */
MUST_CHECK enum tn_status layer_type_find(const char *name, const char *where,
                                          const struct layer_type **out, struct error *error);

#endif
