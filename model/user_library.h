/*
 * model/user_library.h: a shared library with a model (tanist/model.h), which every node loads. It
 * calls the functions of libtanist that this program exports, also if it is linked with a library.
 *
 * Threads: one at a time. Blocking: on the disk. A library stays loaded until the process ends.
 */
#ifndef MODEL_USER_LIBRARY_H
#define MODEL_USER_LIBRARY_H

#include "common/base/error.h"
#include "tanist/model.h"

/* The constant `symbol` of the file `path`, which is loaded once. TN_EINVAL: it is not a regular
 * file, not a library for this machine, or has no such model; the error names the remedy. */
MUST_CHECK enum tn_status user_library_open(const char *path, const char *symbol,
                                            const struct tn_model **out, struct error *error);

#endif
