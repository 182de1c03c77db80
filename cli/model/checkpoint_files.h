/*
 * cli/model/checkpoint_files.h: the files with the rows of tables of a checkpoint: a full one and
 * the deltas behind it, of each shard; of a run in one process there is one chain. Each file is
 * read and compared with its digest, so that damaged and missing ones are named, all of them.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef CLI_MODEL_CHECKPOINT_FILES_H
#define CLI_MODEL_CHECKPOINT_FILES_H

#include <jansson.h>
#include <limits.h>

#include "common/base/error.h"
#include "common/cluster/manifest.h"
#include "ps/table/table_file.h"

struct checkpoint_file {
    char path[PATH_MAX];
    uint32_t shard;
    uint64_t checkpoint, bytes;  /* That wrote it, and the size that it wrote. */
    enum tn_status status;       /* TN_OK: it is intact; TN_ENOENT: it is missing. */
    struct table_file_info info; /* If it is intact. */
    char reason[sizeof((struct error *)0)->text]; /* If it is not. */
};

/* All zero: empty. */
struct checkpoint_files {
    struct checkpoint_file *list; /* By shard, in the order of the chain. Owned. */
    uint32_t count, problems;     /* Files; those that are not intact. */
};

/* The files of the checkpoint in `dir`, the folder of checkpoints. A shard whose own file is
 * damaged or missing is in the list in place of its files. TN_ENOMEM, TN_EINVAL: a path is too
 * long. */
MUST_CHECK enum tn_status checkpoint_files_read(struct checkpoint_files *files, const char *dir,
                                                const struct manifest *manifest,
                                                struct error *error);
void checkpoint_files_free(struct checkpoint_files *files); /* A zeroed one is allowed. */

/* [{shard, path, checkpoint, kind, rows, bytes, state, reason}] */
json_t *checkpoint_files_json(const struct checkpoint_files *files);

/* A table, and a line for each file that is not intact. False: stdout could not be written. */
bool checkpoint_files_print(const struct checkpoint_files *files);

#endif
