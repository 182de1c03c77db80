/*
 * cli/model/prediction_writer.h: predictions as CSV, as JSON with an object a line, or as an array
 * of numpy.
 *
 * Threads: the owner's. Blocking: on the output.
 */
#ifndef CLI_MODEL_PREDICTION_WRITER_H
#define CLI_MODEL_PREDICTION_WRITER_H

#include "common/base/partial_file.h"
#include "model/predictor.h"

struct dataset;

enum prediction_format { PREDICTION_CSV, PREDICTION_JSON, PREDICTION_NPY };

struct prediction_writer {
    enum prediction_format format;
    struct predictor_shape shape;
    const struct dataset *names; /* Names the classes; NULL: they have no names. */
    struct partial_file file;    /* Opened only for a path. */
    FILE *out;                   /* That file, or stdout. */
    const char *name;            /* For errors. */
    uint64_t examples;           /* Written so far. */
    long start;                  /* An array: where it begins in `out`. */
};

/* `names`: the data set that names the classes, or NULL. To `path`, or with NULL to stdout, which
 * must be a file for an array: its header has the number of rows. TN_EINVAL: stdout is not;
 * TN_ENOENT, TN_ENOSPC, TN_EIO. */
MUST_CHECK enum tn_status prediction_writer_open(struct prediction_writer *writer,
                                                 enum prediction_format format,
                                                 struct predictor_shape shape,
                                                 const struct dataset *names, const char *path,
                                                 struct error *error);

/* Write `count` examples: scores[count][rows][width]. TN_ENOSPC, TN_EIO. */
MUST_CHECK enum tn_status prediction_writer_add(struct prediction_writer *writer,
                                                const float *scores, uint32_t count,
                                                struct error *error);

/* As partial_file_close(). */
MUST_CHECK enum tn_status prediction_writer_close(struct prediction_writer *writer,
                                                  enum tn_status status, struct error *error);

#endif
