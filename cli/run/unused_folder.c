#include "cli/run/unused_folder.h"

#include <assert.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

static bool is_log_of_server(const FTSENT *entry)
{
    return entry->fts_info == FTS_F && strncmp(entry->fts_name, "log", strlen("log")) == 0 &&
           entry->fts_level == 2 && entry->fts_statp->st_size > 0;
}

/* Entries that existed before stay, and folders that are not empty. Returns whether logs
 * remain. */
static bool remove_created(const struct run_folder *folder)
{
    char paths[RUN_FOLDER_CREATED][RUN_PATH_MAX];
    char *roots[RUN_FOLDER_CREATED + 1] = {NULL};
    size_t count = 0;
    bool has_logs = false;
    for (size_t i = 0; i < RUN_FOLDER_CREATED; i++) {
        if (folder->held[i]) { continue; }
        run_folder_path(folder, run_folder_created[i], paths[count]);
        roots[count] = paths[count];
        count++;
    }
    if (count == 0) { return false; }
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (tree == NULL) { return false; }
    for (FTSENT *entry = fts_read(tree); entry != NULL; entry = fts_read(tree)) {
        if (is_log_of_server(entry)) {
            has_logs = true;
        } else if (entry->fts_info == FTS_DP) {
            (void)rmdir(entry->fts_path);
        } else if (entry->fts_info != FTS_D) {
            (void)unlink(entry->fts_path);
        }
    }
    (void)fts_close(tree);
    return has_logs;
}

static void remove_folder(const struct run_folder *folder, const char *name)
{
    char path[RUN_PATH_MAX];
    run_folder_path(folder, name, path);
    (void)rmdir(path);
}

void unused_folder_clean(struct run_folder *folder)
{
    char lock[RUN_PATH_MAX];
    assert(folder->lock >= 0);
    if (!folder->is_new) { return; }
    const bool has_logs = remove_created(folder);
    remove_folder(folder, "checkpoints");
    remove_folder(folder, "logs");
    if (has_logs) {
        output_message(LOG_INFO,
                       "nothing was trained: only the logs of ZooKeeper remain in %s/zookeeper",
                       folder->dir);
    }
    run_folder_path(folder, "lock", lock);
    (void)unlink(lock);
    (void)rmdir(folder->dir);
    folder->dir[0] = '\0';
}
