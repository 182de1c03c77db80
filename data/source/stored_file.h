/*
 * data/source/stored_file.h: a file as formats read it: mapped, unpacked if it was compressed, with
 * the digest of its contents. Digests and unpacked files are kept in the index, if one is used.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef DATA_SOURCE_STORED_FILE_H
#define DATA_SOURCE_STORED_FILE_H

#include "common/base/digest.h"
#include "data/source/file.h"

/* Errors as source_file_open() and unpack_file(). */
MUST_CHECK enum tn_status stored_file_open(const char *path, struct source_file *out,
                                           struct digest *digest, struct error *error);

#endif
