/*
 * tanist/graph.h: a model as a graph of operations: placeholders for the fields of an example,
 * variables, operations, losses, metrics and outputs. Building a graph computes nothing.
 *
 * The graph keeps the first error: a call that fails returns TN_NONE, every call with a TN_NONE
 * returns TN_NONE, and tn_graph_status() returns the first error with its scope, operation and
 * shapes. Therefore a model need not check every call.
 *
 * A graph's meaning depends on its connections, not on the order of the calls: C does not define in
 * which order the arguments of tn_add(g, f(g), h(g)) are evaluated, and gcc and clang differ.
 * Before anything is derived from it, the graph is put into canonical order: depth first from the
 * losses, the metrics and the outputs, each in the order of their calls, inputs before their
 * readers, first input first. That order numbers the variables, and gradients that meet in a value
 * are added in descending order of their consumers (rule A9). Nodes that no loss, metric or output
 * depends on are dropped.
 *
 * Threads: a graph belongs to one thread at a time. Nothing blocks. Capacity: TN_GRAPH_NODES_MAX.
 */
#ifndef TANIST_GRAPH_H
#define TANIST_GRAPH_H

#include "tanist/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN_GRAPH_NODES_MAX = 1 << 16,
    TN_VARIABLES_MAX = 4096,
    TN_TABLES_MAX = 256,
    TN_LOOKUPS_MAX = 1024,
    TN_SCOPES_MAX = 16,
};

struct tn_graph;

/* A value of a graph. It may be copied; it has no meaning in another graph. */
typedef struct {
    uint32_t v;
} tn_tensor;
#ifdef __cplusplus
#define TN_NONE (tn_tensor())
#else
#define TN_NONE ((tn_tensor){0})
#endif

/* TN_ENOMEM: out of memory. */
TN_API TN_CHECKED enum tn_status tn_graph_create(struct tn_graph **out, struct tn_error *error);
TN_API void tn_graph_destroy(struct tn_graph *graph); /* NULL is allowed. */
/* TN_OK, or the first error since the graph was created. */
TN_API enum tn_status tn_graph_status(const struct tn_graph *graph, struct tn_error *error);
/* For a model's own checks: records TN_EINVAL with this text, unless the graph already has an
 * error. Always returns TN_NONE. */
TN_API tn_tensor tn_graph_fail(struct tn_graph *graph, const char *format, ...) TN_FORMAT(2, 3);
/* XXH3-64 over operations, attributes, shapes, names and devices in canonical order: nodes compare
 * it before they train together. 0: the graph has an error, or memory is exhausted. */
TN_API uint64_t tn_graph_hash(const struct tn_graph *graph);

/* Names of variables and of random operations are paths: "block2/attention/weights". A name
 * consists of letters, digits, "_", "-" and "."; a whole path has less than TN_NAME_MAX
 * characters. */
TN_API void tn_scope_begin(struct tn_graph *graph, const char *name);
TN_API void tn_scope_end(struct tn_graph *graph);

/*
 * Sets the device of the operations and variables that are created until tn_device_end():
 * "/job:worker", "/job:ps/task:1", "/gpu:0". Omitted parts are inherited from the enclosing device.
 * Without a device, operations run on the worker, and variables are where the job's placement puts
 * them. "/gpu:N" is a GPU of those of each worker; programs on the CPU ignore it, and "/cpu:0".
 */
TN_API void tn_device_begin(struct tn_graph *graph, const char *device);
TN_API void tn_device_end(struct tn_graph *graph);

/* ------------------------------------------------------------------------------- leaves */

/* A field of the data set, by its name; shape.dims[0] is TN_BATCH. A second call with the same name
 * returns the same placeholder, and must have the same type and shape. */
TN_API tn_tensor tn_placeholder(struct tn_graph *graph, const char *field, enum tn_type type,
                                struct tn_shape shape);
/* The values are copied; at most 16 MiB. */
TN_API tn_tensor tn_constant(struct tn_graph *graph, struct tn_view values);
TN_API tn_tensor tn_scalar(struct tn_graph *graph, float value);

enum tn_init {
    TN_INIT_DEFAULT,        /* Zeros for rank 0 and 1, else Glorot uniform. */
    TN_INIT_ZEROS,          /* */
    TN_INIT_ONES,           /* */
    TN_INIT_GLOROT_UNIFORM, /* In +-sqrt(6 / (fan_in + fan_out)). */
    TN_INIT_HE_NORMAL,      /* Deviation sqrt(2 / fan_in). */
    TN_INIT_NORMAL,         /* Deviation `scale`. */
    TN_INIT_UNIFORM,        /* In +-`scale`. */
    TN_INIT_VALUES,         /* `values`. */
};

enum tn_update {
    TN_UPDATE_OPTIMIZER, /* By the job's optimizer, or by `optimizer`. */
    TN_UPDATE_AVERAGE,   /* value' = momentum value + (1 - momentum) mean over the batch's slices:
                            batch statistics (rule A13). */
    TN_UPDATE_NEVER,     /* Frozen. */
};

/* The default of each field is zero. */
struct tn_variable_options {
    enum tn_init init;
    float scale;
    enum tn_update update;
    float momentum;
    bool no_weight_decay;  /* The job's weight decay leaves this variable out. */
    const char *optimizer; /* Copied. "adagrad": for this variable; NULL: the job's. */
    const float *values;   /* Copied. TN_INIT_VALUES: one for each element, row-major; finite. */
};

/* A variable of float32. It is created if the name is new. A second call with the same name returns
 * the same variable; the shape must be the same, and the options are ignored. `options` may be
 * NULL. The fan_out of a shape is its last dimension, fan_in the product of the others. */
TN_API tn_tensor tn_variable(struct tn_graph *graph, const char *name, struct tn_shape shape,
                             const struct tn_variable_options *options);

/* --------------------------------------------------------------------------- operations */
/* Elementwise operations on two values broadcast as in NumPy. */

TN_API tn_tensor tn_add(struct tn_graph *graph, tn_tensor a, tn_tensor b);
TN_API tn_tensor tn_subtract(struct tn_graph *graph, tn_tensor a, tn_tensor b);
TN_API tn_tensor tn_multiply(struct tn_graph *graph, tn_tensor a, tn_tensor b);
TN_API tn_tensor tn_divide(struct tn_graph *graph, tn_tensor a, tn_tensor b);
TN_API tn_tensor tn_scale(struct tn_graph *graph, tn_tensor a, float factor);
TN_API tn_tensor tn_power(struct tn_graph *graph, tn_tensor a, float exponent);
TN_API tn_tensor tn_sqrt(struct tn_graph *graph, tn_tensor a);
TN_API tn_tensor tn_exp(struct tn_graph *graph, tn_tensor a);
TN_API tn_tensor tn_log(struct tn_graph *graph, tn_tensor a);
/* The error function: x / 2 (1 + erf(x / sqrt(2))) is the exact gelu. */
TN_API tn_tensor tn_erf(struct tn_graph *graph, tn_tensor a);
/* The nearest value in [lowest, highest]; the gradient outside is zero. */
TN_API tn_tensor tn_clip(struct tn_graph *graph, tn_tensor a, float lowest, float highest);

enum tn_activation { TN_LINEAR, TN_RELU, TN_LEAKY_RELU, TN_GELU, TN_SILU, TN_SIGMOID, TN_TANH };
/* leaky_relu has the slope 0.01 below zero; gelu is its tanh form. */
TN_API tn_tensor tn_activate(struct tn_graph *graph, tn_tensor x, enum tn_activation activation);
/* Over the last dimension. */
TN_API tn_tensor tn_softmax(struct tn_graph *graph, tn_tensor x);

/* The last two dimensions, each operand transposed or not; the dimensions before them are equal,
 * or `b` has rank 2 and is used for all of them. */
TN_API tn_tensor tn_matmul(struct tn_graph *graph, tn_tensor a, tn_tensor b, bool transpose_a,
                           bool transpose_b);

/* TN_BATCH stays first. */
TN_API tn_tensor tn_reshape(struct tn_graph *graph, tn_tensor x, struct tn_shape shape);
/* Dimension i of the result is dimension order[i] of x. The batch stays first. */
TN_API tn_tensor tn_permute(struct tn_graph *graph, tn_tensor x, const uint32_t *order,
                            uint32_t count);
/* `axis` is not the batch, here and below. */
TN_API tn_tensor tn_concat(struct tn_graph *graph, const tn_tensor *parts, uint32_t count,
                           uint32_t axis);
TN_API tn_tensor tn_slice(struct tn_graph *graph, tn_tensor x, uint32_t axis, int64_t first,
                          int64_t count);
TN_API tn_tensor tn_pad(struct tn_graph *graph, tn_tensor x, uint32_t axis, int64_t before,
                        int64_t after, float value);
/* Returns the value of x, but passes no gradient to x. */
TN_API tn_tensor tn_stop_gradient(struct tn_graph *graph, tn_tensor x);

/* Over the dimensions axes[0..count), which are removed. Never over the batch: the result of an
 * example must not depend on the other examples. */
TN_API tn_tensor tn_sum(struct tn_graph *graph, tn_tensor x, const uint32_t *axes, uint32_t count);
TN_API tn_tensor tn_mean(struct tn_graph *graph, tn_tensor x, const uint32_t *axes, uint32_t count);

/* rows[ids]: embeddings. Rows have no batch. The result has the dimensions of the ids, then those
 * of a row. An id out of range gives NaN, also below. */
TN_API tn_tensor tn_gather(struct tn_graph *graph, tn_tensor rows, tn_tensor ids);
/* One more dimension, of size `depth`: 1 at the id, else 0. */
TN_API tn_tensor tn_one_hot(struct tn_graph *graph, tn_tensor ids, int64_t depth);
/* x * scale as float32; or, with scale 1, an integer as a wider one, or a float as an integer: its
 * whole part, and -1 of numbers below 0, from 2^31 on, and NaN. */
TN_API tn_tensor tn_cast(struct tn_graph *graph, tn_tensor x, enum tn_type type, float scale);

/* ------------------------------------------------------------------------------ tables */

/* A table of rows by key. It is not a value, because the number of its rows is not limited. */
typedef struct {
    uint32_t v; /* 0: the graph has an error. */
} tn_table;

enum { TN_TABLE_WIDTH_MAX = 4096 };
#define TN_KEY_NONE INT64_C(-1) /* Fills bags of keys up to their length; its row is zeros. */

enum tn_pooling { TN_POOL_NONE, TN_POOL_SUM, TN_POOL_MEAN };

/* The default of each field is zero. */
struct tn_table_options {
    uint64_t rows; /* Keys are hashed into this number of rows; 0: each key has a row of its own. */
    float scale;   /* Initial values are uniform in +-`scale`; 0: 1 / sqrt(width). */
};

/* Rows of `width` floats, at most TN_TABLE_WIDTH_MAX. A row that was never trained uses no memory:
 * its values depend only on the seed, the table, the key and the column. Only rows that a batch
 * reads are fetched and updated, by the job's train.table_optimizer. A second call with the same
 * name returns the same table; the width must be the same, and the options are ignored. `options`
 * may be NULL.
 *
 * Jobs with tables read the field "keys" of the data, and train in one process or on a cluster with
 * ps. tn_check_gradients() checks such a model with random rows, and a program of
 * tn_program_create() has rows of zeros. */
TN_API tn_table tn_table_create(struct tn_graph *graph, const char *name, uint32_t width,
                                const struct tn_table_options *options);
/* The rows of the keys in columns [first, first + count) of `keys`, a placeholder of type int64
 * with the shape [batch, n]: keys are TN_KEY_NONE or from 0 to 2^63-1. The result is
 * [batch][count][width], or, as the sum or the mean of a bag, [batch][width]. TN_KEY_NONE is not
 * counted in a mean; the mean of an empty bag is zeros. */
TN_API tn_tensor tn_lookup(struct tn_graph *graph, tn_table table, tn_tensor keys, uint32_t first,
                           uint32_t count, enum tn_pooling pooling);

struct tn_window {
    uint32_t height, width;               /* 0: 1; of a convolution: those of the weights. */
    uint32_t stride_height, stride_width; /* 0: 1. */
    uint32_t top, left, bottom, right;    /* Padding, smaller than the window. */
    bool same; /* Padding so that the result has size / stride, rounded up; replaces the four. */
};
/* x[batch][height][width][channels], weights[height][width][channels / groups][filters], padded
 * with zeros. groups 0: 1. */
TN_API tn_tensor tn_conv2d(struct tn_graph *graph, tn_tensor x, tn_tensor weights,
                           struct tn_window window, uint32_t groups);
/* Padding is not counted: the mean is that of the elements inside the image. */
TN_API tn_tensor tn_max_pool(struct tn_graph *graph, tn_tensor x, struct tn_window window);
TN_API tn_tensor tn_mean_pool(struct tn_graph *graph, tn_tensor x, struct tn_window window);
/* Over the whole image: [batch][channels]. */
TN_API tn_tensor tn_global_max_pool(struct tn_graph *graph, tn_tensor x);
TN_API tn_tensor tn_global_mean_pool(struct tn_graph *graph, tn_tensor x);

/* Over the last dimension, which `gain` and `bias` have. */
TN_API tn_tensor tn_normalize_layer(struct tn_graph *graph, tn_tensor x, tn_tensor gain,
                                    tn_tensor bias, float epsilon);
/* Over all dimensions but the last, with the statistics of the slice, not of the whole batch;
 * evaluation uses the variables `name`/mean and `name`/variance, averages of the slices' moments
 * (rule A13). */
TN_API tn_tensor tn_normalize_batch(struct tn_graph *graph, const char *name, tn_tensor x,
                                    tn_tensor gain, tn_tensor bias, float momentum, float epsilon);

/* Identity in evaluation. The elements that are dropped depend only on the seed, the scope and
 * `name`, the step, the position of the example in the batch, and the element: not on the worker,
 * the number of slices, or other operations (rule A11). */
TN_API tn_tensor tn_dropout(struct tn_graph *graph, const char *name, tn_tensor x, float rate);

/* softmax(q k^T scale + mask) v for [batch][heads][time][width]; scale 0: 1 / sqrt(width). Causal:
 * a query sees the keys up to its own time. */
TN_API tn_tensor tn_attention(struct tn_graph *graph, tn_tensor q, tn_tensor k, tn_tensor v,
                              bool causal, float scale);

/* ---------------------------------------------------------------- losses and results */
/* Each loss is the mean over the elements of an example: [batch]. */

/* logits[batch][...][classes], labels[batch][...]: integers. Smoothing s: the target distribution
 * is (1 - s) times that of the label, plus s / classes for each class. */
TN_API tn_tensor tn_softmax_cross_entropy(struct tn_graph *graph, tn_tensor logits,
                                          tn_tensor labels);
TN_API tn_tensor tn_softmax_cross_entropy_smoothed(struct tn_graph *graph, tn_tensor logits,
                                                   tn_tensor labels, float smoothing);
TN_API tn_tensor tn_sigmoid_cross_entropy(struct tn_graph *graph, tn_tensor logits,
                                          tn_tensor targets);
TN_API tn_tensor tn_squared_error(struct tn_graph *graph, tn_tensor outputs, tn_tensor targets);
TN_API tn_tensor tn_absolute_error(struct tn_graph *graph, tn_tensor outputs, tn_tensor targets);
/* Huber 1964: d^2 / 2 up to `width`, linear beyond. */
TN_API tn_tensor tn_huber_error(struct tn_graph *graph, tn_tensor outputs, tn_tensor targets,
                                float width);
/* The share of elements whose greatest logit is that of the label: 1 or 0 with one label. */
TN_API tn_tensor tn_is_correct(struct tn_graph *graph, tn_tensor logits, tn_tensor labels);

/*
 * Retrieval by two towers, queries[batch][width] and items[batch][width], whose scores are dot
 * products. The classes are the items of the slice: that of the query's own example is the right
 * one, those of the other examples are the wrong ones. So losses depend on the number of examples
 * in a slice, the batch over train.slices. `weights`, [batch], multiply the losses of queries: 1
 * for a pair that belongs together, 0 for one whose item is only a wrong one for others.
 */
TN_API tn_tensor tn_slice_softmax_cross_entropy(struct tn_graph *graph, tn_tensor queries,
                                                tn_tensor items, tn_tensor weights);
/* A metric whose mean over a slice is the share, by weight, of the queries whose own item has the
 * greatest score in the slice; 0 where all weights are 0. */
TN_API tn_tensor tn_slice_recall(struct tn_graph *graph, tn_tensor queries, tn_tensor items,
                                 tn_tensor weights);

/* The loss of each example, [batch]. The loss of the step is `weight` times the mean. Several
 * losses are added. */
TN_API void tn_loss(struct tn_graph *graph, tn_tensor per_example, float weight);
/* A number per example, [batch], whose mean over the evaluated examples is reported as `name`: up
 * to 16 besides "accuracy", of names below 48 bytes. */
TN_API void tn_metric(struct tn_graph *graph, const char *name, tn_tensor per_example);
/* The value that tn_program_output() returns for `name`. */
TN_API void tn_output(struct tn_graph *graph, const char *name, tn_tensor x);

/* For TN_NONE: a scalar, and 0. */
TN_API struct tn_shape tn_shape_of(const struct tn_graph *graph, tn_tensor x);
TN_API enum tn_type tn_type_of(const struct tn_graph *graph, tn_tensor x);

#ifdef __cplusplus
}
#endif
#endif
