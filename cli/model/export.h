/*
 * cli/model/export.h: the parameters of a run as a file, for other commands.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_MODEL_EXPORT_H
#define CLI_MODEL_EXPORT_H

#include "common/base/error.h"

/* Write the newest checkpoint of the run in `dir` to the file `to`, as `tanist export` does. Errors
 * as saved_model_open() and partial_file_close(). */
MUST_CHECK enum tn_status export_newest(const char *dir, const char *to, struct error *error);

#endif
