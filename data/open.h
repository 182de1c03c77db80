/*
 * data/open.h: the source of a pattern: one file, many, or folders, in the byte order of their
 * names, as one table.
 *
 * Compressed files are unpacked first (data/source/unpack.h). The digest covers the unpacked
 * contents of all files and the format, but not their names, so that hosts may have them in
 * different places.
 */
#ifndef DATA_OPEN_H
#define DATA_OPEN_H

#include "data/source/source.h"

struct source_config {
    const char *format;  /* The name of a type. */
    const char *pattern; /* As in a shell: "d/train-*.csv", "d/{a,b}.csv". */
    const char *options; /* As in struct source_input. */
};

/*
 *   TN_ENOENT  no file matches
 *   TN_EINVAL  the format is unknown; files have different columns; a file is damaged
 *   TN_EIO, TN_ENOSPC, TN_ENOMEM
 * Blocks: every file is read once, for its digest and its rows.
 */
MUST_CHECK enum tn_status source_open(const struct source_config *config, struct source *out,
                                      struct error *error);

#endif
