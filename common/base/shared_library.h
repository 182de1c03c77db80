/*
 * common/base/shared_library.h: constants of a shared library that a job names.
 *
 * Threads: one at a time. Blocking: on the disk. A library stays loaded until the process ends.
 */
#ifndef COMMON_BASE_SHARED_LIBRARY_H
#define COMMON_BASE_SHARED_LIBRARY_H

#include <stddef.h>

#include "common/base/error.h"

/* The constant `symbol`, of at least `least` bytes, of the file `path`; `*out` is NULL if there is
 * none. TN_EINVAL: the file is not a regular file, or not a library for this machine; the error
 * begins with `key`, which names it. */
MUST_CHECK enum tn_status shared_library_find(const char *path, const char *key, const char *symbol,
                                              size_t least, const void **out, struct error *error);

#endif
