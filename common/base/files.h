/*
 * common/base/files.h: small files written so that a crash leaves the old contents or the new,
 * never half; and the few operations on folders that durable writing needs.
 *
 * Threads: any; nothing is shared. Blocking: on the disk.
 *
 * All functions: TN_ENOENT a folder of the path is missing; TN_ENOSPC the device or the quota is
 * full; TN_EIO anything else the system refuses (read-only, no permission, a failing disk). The
 * error names the path and the system's own words.
 */
#ifndef COMMON_BASE_FILES_H
#define COMMON_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* What an errno value means for us, by the table above. ENOMEM: TN_ENOMEM; EEXIST: TN_EEXIST. */
enum tn_status files_status_of(int system_errno);

/* error_set() with `what` ("write", "open"), the path and the text of `system_errno`. */
enum tn_status files_error(struct error *error, int system_errno, const char *what,
                           const char *path);

/*
 * Make `path` hold exactly these bytes: written to a temporary file beside it (".NAME.tmp-*"),
 * synced, renamed, folder synced. Once it returns TN_OK the contents survive loss of power. Two
 * writers at once: one of them wins, whole. After a failure the old contents are there still.
 */
MUST_CHECK enum tn_status files_write_atomic(const char *path, const void *data, size_t size,
                                             struct error *error);

/*
 * The whole of a file, with a zero added after the last byte. The caller frees `*data`, which is
 * NULL after a failure. TN_EINVAL: it is larger than `limit` bytes, or not a regular file.
 */
MUST_CHECK enum tn_status files_read(const char *path, size_t limit, char **data, size_t *size,
                                     struct error *error);

/* `path` and its parents, like `mkdir -p`; those that are there are left alone. TN_EEXIST: a part
 * of it is a file. */
MUST_CHECK enum tn_status files_make_folders(const char *path, struct error *error);

/* Make what was created, renamed or removed in the folder survive loss of power. */
MUST_CHECK enum tn_status files_sync_folder(const char *path, struct error *error);

/* Whether `name` is a temporary of files_write_atomic("FOLDER/`target`"), left by a crash. */
bool files_is_temporary_of(const char *name, const char *target);

#endif
