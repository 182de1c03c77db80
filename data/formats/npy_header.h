/*
 * data/formats/npy_header.h: the header of a .npy file, a dictionary in Python's notation, for
 * example {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }. Pure, apart from error
 * texts.
 */
#ifndef DATA_FORMATS_NPY_HEADER_H
#define DATA_FORMATS_NPY_HEADER_H

#include "data/formats/npy.h"

/* Fill kind, item_bytes, big_endian, rank and dimensions. A single number (shape ()) has the shape
 * (1,). Errors as npy_parse()'s. */
MUST_CHECK enum tn_status npy_header_parse(const char *text, size_t size, struct npy *out,
                                           struct error *error);

#endif
