#include "common/job/job_data.h"
#include "common/job/job_key_rows.h"
#include "common/job/job_layers.h"

static const char *const data_types[] = {"idx",     "text",        "synthetic",
                                         "matches", "criteo-like", NULL};

#define CUSTOM(key, member, conversion, text)                                                      \
    {                                                                                              \
        .name = key, .type = FIELD_CUSTOM, AT(member), .converter = &(conversion), .tags = FIXED,  \
        .help = text                                                                               \
    }

static const struct json_field fields[] = {
    {.name = "data.type",
     .type = FIELD_CHOICE,
     AT(data.type),
     .names = data_types,
     .tags = FIXED,
     .wanted = "\"idx\", \"text\", \"synthetic\", \"matches\" or \"criteo-like\"; for CSV and "
               "other files with columns, give data.format instead",
     .help =
         "`idx`: images and labels in IDX format, optionally compressed with gzip. `text`: the "
         "bytes of a file, each of which is predicted from those before it. `synthetic`, `matches` "
         "and `criteo-like`: generated from the seed. See [Data](#data)."},
    TEXT("data.path", data.path, FIXED,
         "For `idx`: the folder with `train-images-idx3-ubyte[.gz]` and the other three files. For "
         "`text`: the file."),
    NUMBER(FIELD_UINT, "data.examples", data.examples, 1, 1 << 30, FIXED,
           "The number of training examples. Only for `synthetic`, `matches` and `criteo-like`."),
    NUMBER(FIELD_UINT, "data.test_examples", data.test_examples, 1, 1 << 30, FIXED,
           "The number of test examples. Only for `synthetic`, `matches` and `criteo-like`."),
    NUMBER(FIELD_REAL, "data.noise", data.noise, 0, 1e6, FIXED,
           "The standard deviation of the noise. It is added to the targets of a regression, to "
           "the inputs of a classifier and, with `matches`, to the score that determines the "
           "label. Only for `synthetic` and `matches`."),
    TEXT("data.format", data.format, FIXED,
         "The format of files with columns, used instead of `data.type`: `csv`, `tsv` or one of "
         "the [other formats](data-formats.md). See [data in files](data.md)."),
    TEXT("data.train", data.train, FIXED,
         "The files for training, a pattern as in a shell: `d/train-*.csv`. This key and the "
         "`data` keys below it are only for `data.format`, except that `criteo-like` also has "
         "`data.label`, `data.columns` and `data.options`."),
    TEXT("data.test", data.test, FIXED,
         "The files for evaluations. Without them, `data.split.test` takes rows of `data.train`."),
    TEXT("data.validation", data.validation, FIXED,
         "The files of the validation split. If there is one, evaluations during training use it, "
         "and the test set is evaluated once, at the end."),
    CUSTOM("data.label", data.label, job_label_converter,
           "The name of the column to predict; for a regression also a list of names. "
           "`{\"column\": NAME, \"vocabulary\": [...]}` lists the names of the classes; without a "
           "vocabulary, classes are whole numbers from 0."),
    CUSTOM("data.columns", data.columns, job_columns_converter,
           "How columns become inputs: see [feature columns](data.md#feature-columns). `{}`: each "
           "column except the label is a number."),
    CUSTOM("data.options", data.options, job_options_converter,
           "An object with options for the format: see [data-formats.md](data-formats.md). For "
           "`criteo-like`: [`values`](#data)."),
    NUMBER(FIELD_REAL, "data.split.test", data.split_test, 0, 0.99, FIXED,
           "The share of the rows of `data.train` that is used for evaluations, selected by a hash "
           "of the row's number and `seed`."),
    NUMBER(FIELD_REAL, "data.split.validation", data.split_validation, 0, 0.99, FIXED,
           "The share of the rows of `data.train` that is the validation split; see "
           "`data.validation`."),
    CUSTOM("data.shuffle", data.shuffle, job_shuffle_converter,
           "The order of examples in an epoch. `permutation`: a random order that depends on "
           "`seed`. `none`: the order of the files. `{\"block\": 4096, \"window\": 64}`, for slow "
           "disks: blocks of examples in random order, and examples in random order within a "
           "window of blocks. For all data."),
    NUMBER(FIELD_UINT, "data.threads", data.threads, 0, 64, CHANGEABLE,
           "Threads in each worker that read the examples of the next step while the current one "
           "is computed; 0: examples are read when they are needed. The number does not change the "
           "result."),
};

const struct json_part job_keys_data = {JSON_FIELDS(fields)};
