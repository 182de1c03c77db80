#include "common/cluster/job_data.h"
#include "common/cluster/job_key_rows.h"
#include "common/cluster/job_layers.h"

static const char *const data_types[] = {"idx",     "text",        "synthetic",
                                         "matches", "criteo-like", NULL};

#define CUSTOM(key, member, conversion, text)                                                      \
    {                                                                                              \
        .name = key, .type = FIELD_CUSTOM, AT(member), .converter = &(conversion), .tags = FIXED,  \
        .help = text                                                                               \
    }

static const struct json_field fields[] = {
    NAME(FIELD_CHOICE, "data.type", data.type, data_types, FIXED,
         "`idx`: images and labels in IDX format, gzip'ed or not. `text`: the bytes of a file, "
         "each to be predicted from those before it. `synthetic`, `matches` and "
         "`criteo-like`: drawn from the seed. See [Data](#data)."),
    TEXT("data.path", data.path, FIXED,
         "Of `idx`: folder with `train-images-idx3-ubyte[.gz]` and the other three files. Of "
         "`text`: the file."),
    NUMBER(FIELD_UINT, "data.examples", data.examples, 1, 1 << 30, FIXED,
           "Training examples. Of `synthetic`, `matches` and `criteo-like` only."),
    NUMBER(FIELD_UINT, "data.test_examples", data.test_examples, 1, 1 << 30, FIXED,
           "Test examples. Of `synthetic`, `matches` and `criteo-like` only."),
    NUMBER(
        FIELD_REAL, "data.noise", data.noise, 0, 1e6, FIXED,
        "Standard deviation of the noise: of a regression on the targets, of a classifier on the "
        "inputs. Of `matches`: on the score that decides the label. Of `synthetic` and `matches` "
        "only."),
    TEXT("data.format", data.format, FIXED,
         "The format of files with columns, in place of `data.type`: `csv`, `tsv` or one of the "
         "[other formats](data-formats.md). See [data in files](data.md)."),
    TEXT("data.train", data.train, FIXED,
         "The files for training, a pattern as in a shell: `d/train-*.csv`. This and all below are "
         "of `data.format` only; `criteo-like` has `data.label`, `data.columns` and "
         "`data.options`."),
    TEXT("data.test", data.test, FIXED,
         "The files for evaluations. Without them, `data.split.test` takes rows of `data.train`."),
    TEXT("data.validation", data.validation, FIXED,
         "The files of the validation split: evaluations while training use it in place of the "
         "test set, which is evaluated once, at the end."),
    CUSTOM("data.label", data.label, job_label_converter,
           "The column to be predicted: its name; of a regression also a list of names. "
           "`{\"column\": NAME, \"vocabulary\": [...]}` gives classes names; others are whole "
           "numbers from 0."),
    CUSTOM("data.columns", data.columns, job_columns_converter,
           "How columns become inputs: see [feature columns](data.md#feature-columns). `{}`: "
           "each column but the label is a number."),
    CUSTOM("data.options", data.options, job_options_converter,
           "An object that the format reads: see [data-formats.md](data-formats.md). Of "
           "`criteo-like`: [`values`](#data)."),
    NUMBER(FIELD_REAL, "data.split.test", data.split_test, 0, 0.99, FIXED,
           "The part of the rows of `data.train` that is used for evaluations, chosen by a hash of "
           "the row's number and `seed`."),
    NUMBER(FIELD_REAL, "data.split.validation", data.split_validation, 0, 0.99, FIXED,
           "The part of the rows of `data.train` that is the validation split; see "
           "`data.validation`."),
    CUSTOM("data.shuffle", data.shuffle, job_shuffle_converter,
           "The order of examples in an epoch. `permutation`: any, by `seed`; `none`: that of "
           "the files; `{\"block\": 4096, \"window\": 64}`: blocks of examples in any order, "
           "and any order within a window of blocks, for slow disks. Of any data."),
    NUMBER(
        FIELD_UINT, "data.threads", data.threads, 0, 64, CHANGEABLE,
        "Threads of each worker that read the examples of the next step while the present one is "
        "computed; 0: examples are read when they are needed. They do not change the result."),
};

const struct json_part job_keys_data = {JSON_FIELDS(fields)};
