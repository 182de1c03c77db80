/*
 * common/base/files.h: small files, written so that a crash leaves either the old or the new
 * contents; and the operations on folders that durable writing needs.
 *
 * Threads: any; nothing is shared. Blocking: on the disk.
 *
 * Errors of all functions: TN_ENOENT: a folder of the path is missing; TN_ENOSPC: the device or the
 * quota is full; TN_EINVAL: a name is too long, or its links form a loop; TN_EIO: any other failure
 * (read-only, no permission, a failing disk). The error names the path and the system's message.
 */
#ifndef COMMON_BASE_FILES_H
#define COMMON_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* The status for an errno value, by the table above. ENOMEM: TN_ENOMEM; EEXIST: TN_EEXIST. */
enum tn_status files_status_of(int system_errno);

/* error_set() with `what` ("write", "open"), the path and the text of `system_errno`. */
enum tn_status files_error(struct error *error, int system_errno, const char *what,
                           const char *path);

/*
 * Make `path` hold exactly these bytes: written to a temporary file beside it (".NAME.tmp-*"),
 * synced, renamed, folder synced. After TN_OK the contents survive a loss of power. Of two
 * concurrent writers one wins, with all its contents. After a failure the old contents remain.
 * A temporary file that a killed writer left is used by the next one of `path`. Only the owner may
 * read the file, for it may hold a key.
 */
MUST_CHECK enum tn_status files_write_atomic(const char *path, const void *data, size_t size,
                                             struct error *error);

/* The same for what people and other programs read: charts, reports. The umask alone
 * restricts its readers, as for files of a shell. */
MUST_CHECK enum tn_status files_write_public(const char *path, const void *data, size_t size,
                                             struct error *error);

/* files_write_atomic() without syncing, for files that may be lost, but are never read half-written
 * by a process.
 */
MUST_CHECK enum tn_status files_write_unsynced(const char *path, const void *data, size_t size,
                                               struct error *error);

/*
 * The whole of a file, with a zero added after the last byte. The caller frees `*data`, which is
 * NULL after a failure. TN_EINVAL: it is larger than `limit` bytes, or not a regular file.
 */
MUST_CHECK enum tn_status files_read(const char *path, size_t limit, char **data, size_t *size,
                                     struct error *error);

/* `path` and its parents, like `mkdir -p -m 700`; existing folders are left alone. TN_EEXIST: a
 * part of the path is a file. */
MUST_CHECK enum tn_status files_make_folders(const char *path, struct error *error);

/* Make creations, renames and removals in the folder survive a loss of power. */
MUST_CHECK enum tn_status files_sync_folder(const char *path, struct error *error);

/* The folder for large temporary files: $TMPDIR, by default /var/tmp, which is seldom in memory. */
const char *files_temporary_folder(void);

/* Whether `name` is a temporary of files_write_atomic("FOLDER/`target`"), left by a crash. */
bool files_is_temporary_of(const char *name, const char *target);

#endif
