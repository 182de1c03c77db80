/*
 * data/source/index.h: results about data that all processes of a run need, kept in the folder of
 * the run: digests of files, unpacked files, statistics of columns.
 *
 * An entry is found by its kind and its key, a digest of all that it depends on, so that it is
 * never out of date; its contents are verified when it is loaded. A process that finds none
 * computes the result and stores it. A stored entry appears whole or, when the process dies
 * before, not at all. Failures to store are ignored, because an entry only saves time.
 *
 * Threads: any, after index_use(). Blocking: on the disk.
 */
#ifndef DATA_SOURCE_INDEX_H
#define DATA_SOURCE_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/digest.h"

enum { INDEX_PATH_MAX = 4096 };

/* From now on the folder is `dir`/index; it is created with the first entry if `dir` exists. NULL:
 * nothing is stored or found, as before the first call. */
void index_use(const char *dir);
/* Use the index for a process outside of the run, which stores nothing there. If an index is used
 * already, nothing changes. */
void index_look_up(const char *dir);
/* Remove all entries, and the folder. */
void index_discard(void);

/* The payload of an entry, malloc'ed, with a zero at its end; NULL: it does not exist, or is
 * damaged. */
char *index_load(const char *kind, struct digest key, size_t *size);
void index_store(const char *kind, struct digest key, const void *payload, size_t size);

/* The key of a file in its present state: its place on the disk, size and times. False: no index is
 * used, or the file was changed so recently that another change may not be noticed. */
bool index_key_of_file(const char *path, struct digest *key);

/* An entry that is a whole file, of which the caller keeps the digest in another one: that which
 * exists, and the place to store it. False: there is none; nothing is stored, or the folder cannot
 * be created. */
bool index_find(const char *kind, struct digest key, char path[static INDEX_PATH_MAX]);
bool index_place(const char *kind, struct digest key, char path[static INDEX_PATH_MAX]);

#endif
