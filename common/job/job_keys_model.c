#include "common/job/job_embeddings.h"
#include "common/job/job_key_rows.h"
#include "common/job/job_layers.h"

static const char *const model_types[] = {"mlp",  "softmax", "linear",  "layers",
                                          "onnx", "program", "library", NULL};
static const char *const losses[] = {"softmax_cross_entropy",
                                     "squared_error",
                                     "absolute_error",
                                     "huber_error",
                                     "sigmoid_cross_entropy",
                                     "slice_softmax_cross_entropy",
                                     NULL};
static const char *const targets[] = {"data", "inputs", NULL};

static const struct json_field hidden_layer = {
    .type = FIELD_UINT,
    .size = sizeof(uint32_t),
    .least = 1,
    .most = 1 << 20,
};

static const struct json_field dimension = {
    .type = FIELD_UINT,
    .size = sizeof(uint32_t),
    .least = 1,
    .most = 1 << 20,
};

static const struct json_field pattern = {
    .type = FIELD_TEXT,
    .size = JOB_PATTERN_MAX,
};

static const struct json_field pair = {.type = FIELD_TEXT, .size = JOB_PAIR_MAX};

static const struct json_field fields[] = {
    NAME(FIELD_CHOICE, "model.type", model.type, model_types, FIXED,
         "`mlp`: hidden layers with ReLU, softmax classifier. `softmax`: softmax regression. "
         "`linear`: linear regression. `layers`: the network of `model.layers`. `onnx`: the [ONNX "
         "file](onnx.md) `model.path`. `program`: the model that is compiled into the program, "
         "[written in C](models.md); the default of such a program. `library`: the model in the "
         "shared library `model.path`."),
    TEXT("model.path", model.path, CHANGEABLE,
         "The ONNX file, or the [shared library](models.md#a-library-that-every-node-loads) with "
         "the model. Only for `onnx` and `library`. The path may differ between hosts: nodes "
         "compare the graph."),
    TEXT("model.symbol", model.symbol, CHANGEABLE,
         "The name of the `struct tn_model` in the shared library."),
    NUMBER(FIELD_UINT, "model.inputs", model.inputs, 1, 1 << 24, FIXED, "Numbers in an example."),
    NUMBER(FIELD_UINT, "model.outputs", model.outputs, 1, JOB_OUTPUTS_MAX, FIXED,
           "The number of classes; for a regression, how many numbers are predicted. [The "
           "memory](data.md#many-classes) grows with it."),
    {
        .name = "model.hidden",
        .type = FIELD_LIST,
        AT(model.hidden),
        .length_offset = offsetof(struct job, model.hidden_count),
        .element = &hidden_layer,
        .tags = FIXED,
        .help = "The widths of the hidden layers, a list: `[128]`. Only for `mlp`; other types "
                "have the default `[]`.",
    },
    {
        .name = "model.shape",
        .type = FIELD_LIST,
        AT(model.shape),
        .length_offset = offsetof(struct job, model.shape_count),
        .element = &dimension,
        .tags = FIXED,
        .help =
            "The dimensions of an example: `[28, 28, 1]` for images of height, width and channels. "
            "Their product is `model.inputs`. `[]`: one dimension. Only for `layers`.",
    },
    {
        .name = "model.layers",
        .type = FIELD_CUSTOM,
        AT(model.layers),
        .converter = &job_layers_converter,
        .tags = FIXED,
        .help = "The network as a list of layers: see [Layers](#layers). Only for `layers`.",
    },
    NAME(FIELD_ENUM, "model.loss", model.loss, losses, FIXED,
         "The quantity to minimise: `softmax_cross_entropy` for classes, `sigmoid_cross_entropy` "
         "for two classes with `model.outputs` 1, `slice_softmax_cross_entropy` for "
         "[two towers](#two-towers), the others for numbers. It is used by `layers`; for a model "
         "in C it only determines whether the data have labels or targets."),
    NAME(FIELD_ENUM, "model.targets", model.targets, targets, FIXED,
         "The values that the outputs are compared with: the labels or targets of the `data`, or "
         "the `inputs` themselves, for an autoencoder. Not for `mlp`, `softmax` and `linear`."),
    NUMBER(FIELD_REAL, "model.label_smoothing", model.label_smoothing, 0, 0.99, FIXED,
           "The share of the target distribution that is spread evenly over all classes. Only for "
           "`softmax_cross_entropy` with `layers`."),
    {
        .name = "model.options",
        .type = FIELD_CUSTOM,
        AT(model.options),
        .converter = &job_options_converter,
        .tags = FIXED,
        .help = "An object that the model's own code reads. Only for `program` and `library`.",
    },
    {
        .name = "model.freeze",
        .type = FIELD_LIST,
        AT(model.freeze),
        .length_offset = offsetof(struct job, model.freeze_count),
        .element = &pattern,
        .tags = FIXED,
        .help = "Patterns for the names of variables that are not trained, a list: "
                "`[\"embedding*\"]`. `*` stands for any text, `?` for any character.",
    },
    TEXT("model.warm_start", model.warm_start, CHANGEABLE,
         "A safetensors file with initial values: each variable starts with the tensor of the same "
         "name. The path may differ between hosts: nodes compare the values."),
    {
        .name = "model.map",
        .type = FIELD_LIST,
        AT(model.map),
        .length_offset = offsetof(struct job, model.map_count),
        .element = &pair,
        .tags = CHANGEABLE,
        .help = "Tensors in `model.warm_start` that have other names than their variables, a list "
                "of `variables=tensors`: `[\"hidden1/*=encoder/*\"]`. The `*` on both sides stands "
                "for the same text.",
    },
    {
        .name = "model.embeddings",
        .type = FIELD_LIST,
        AT(model.embeddings),
        .length_offset = offsetof(struct job, model.embedding_count),
        .element = &job_embedding_field,
        .tags = FIXED,
        .help =
            "Computed from the columns with `embed`: see [feature columns](data.md#embeddings).",
    },
};

const struct json_part job_keys_model = {JSON_FIELDS(fields)};
