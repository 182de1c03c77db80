/*
 * data/formats/libsvm.h: lines of libsvm's format: "LABEL INDEX:VALUE INDEX:VALUE ... # comment",
 * with ascending indices. Features that a line does not name are 0.
 *
 * Lines are not trusted and are read in place. Pure, apart from error texts. Threads: any.
 */
#ifndef DATA_FORMATS_LIBSVM_H
#define DATA_FORMATS_LIBSVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { LIBSVM_INDEX_MAX = 1 << 24 }; /* Rows are dense: 64 MiB. */

/* The rest of a line. */
struct libsvm_line {
    const uint8_t *at, *end;
    int64_t last; /* The last index; -1 in the beginning. */
};

struct libsvm_pair {
    uint32_t index;
    double value;
};

/* Begin with the line in bytes[0..size), without its line end. False: it has no example, but at
 * most a comment. */
bool libsvm_begin(const uint8_t *bytes, size_t size, struct libsvm_line *out);

/* The label, which comes first. TN_EINVAL: it is not a number, or infinite. */
MUST_CHECK enum tn_status libsvm_label(struct libsvm_line *line, double *out, struct error *error);

/* The next pair; `*more` is false at the end of the line. TN_EINVAL: it is not INDEX:VALUE, no
 * float can hold the value, or the index is not above the last one. */
MUST_CHECK enum tn_status libsvm_pair(struct libsvm_line *line, struct libsvm_pair *out, bool *more,
                                      struct error *error);

#endif
