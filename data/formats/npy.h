/*
 * data/formats/npy.h: arrays in numpy's .npy format, read in place.
 *
 * Format (numpy/lib/format.py): the magic "\x93NUMPY", a version, the length of the header, a
 * Python dictionary with the keys 'descr', 'fortran_order' and 'shape', then the elements. The
 * first dimension counts the examples; the others are the values of one example.
 *
 * Files are not trusted: the header must be exact, and the elements must fill the rest of the file.
 *
 * Pure, apart from error texts. Threads: any.
 */
#ifndef DATA_FORMATS_NPY_H
#define DATA_FORMATS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { NPY_RANK_MAX = 5, NPY_HEADER_MAX = 1 << 16 };

enum npy_kind { NPY_BOOL, NPY_UNSIGNED, NPY_SIGNED, NPY_FLOAT };

struct npy {
    enum npy_kind kind;
    uint32_t item_bytes; /* 1, 2, 4 or 8. */
    bool big_endian;
    uint32_t rank;                     /* At least 1. */
    uint64_t dimensions[NPY_RANK_MAX]; /* Each at least 1. */
    uint64_t rows, columns;            /* The first dimension; the product of the others. */
    const uint8_t *items;              /* In the bytes that were given: rows * columns items. */
};

/*
 * Read the header in bytes[0..size), a whole file or a member of a .npz.
 *   TN_ECORRUPT  not a .npy file, or it is damaged or cut off
 *   TN_EINVAL    a valid array that cannot be read: its type, order or shape; the error has the
 *                remedy
 */
MUST_CHECK enum tn_status npy_parse(const uint8_t *bytes, size_t size, struct npy *out,
                                    struct error *error);

/* The `columns` values of a row as floats, each rounded once. row < rows. */
void npy_row(const struct npy *npy, uint64_t row, float *out);

/* One value as a double; integers beyond 2^53 are rounded. row < rows, column < columns. */
double npy_number(const struct npy *npy, uint64_t row, uint64_t column);

#endif
