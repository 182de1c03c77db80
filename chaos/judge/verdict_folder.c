/* What a round leaves on the disk, in the process table and among the mounts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/cluster/resources.h"
#include "chaos/judge/verdict_checks.h"
#include "common/base/clock.h"

enum {
    PATH_BYTES = 4096,
    DEPTH_MAX = 12,
    IDS_MAX = 4096,
    LOOK_AGAIN_MS = 50,
    COMMAND_MAX = 120,
    MOUNT_LINE_MAX = 8192,
    LEFT_TEXT_MAX = 320,
};

/* ------------------------------------------------------------------- disk */

struct store_view {
    uint64_t committed[IDS_MAX]; /* With their manifest. */
    size_t committed_count;
    uint64_t loose[IDS_MAX]; /* Without, or with something half written inside. */
    size_t loose_count;
};

static bool is_half_written(const char *name)
{
    return strstr(name, ".partial-") != NULL || strstr(name, ".tmp-") != NULL;
}

/* Whether anything half written is in the folder or in the folders of it. */
static bool holds_half_written(const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    bool found = false;
    if (dir == NULL) { return false; }
    for (struct dirent *entry; !found && (entry = readdir(dir)) != NULL;) {
        char path[PATH_BYTES];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) { continue; }
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_BYTES) { continue; }
        found =
            is_half_written(entry->d_name) || (depth > 0 && holds_half_written(path, depth - 1));
    }
    (void)closedir(dir);
    return found;
}

static int newest_first(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? 1 : -(left > right);
}

/* False: the folder cannot be read. */
static bool look_at_store(const char *folder, struct store_view *out)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) { return false; }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *end, path[PATH_BYTES], inside[PATH_BYTES];
        uint64_t id = strtoull(entry->d_name, &end, 10);
        if (id == 0 || *end != '\0' || out->committed_count == IDS_MAX) { continue; }
        if (snprintf(inside, sizeof inside, "%s/%s", folder, entry->d_name) >= PATH_BYTES) {
            continue;
        }
        if (snprintf(path, sizeof path, "%s/manifest.json", inside) >= PATH_BYTES) { continue; }
        bool committed = access(path, F_OK) == 0;
        if (committed) { out->committed[out->committed_count++] = id; }
        if (out->loose_count == IDS_MAX) { continue; }
        if (!committed || holds_half_written(inside, 1)) { out->loose[out->loose_count++] = id; }
    }
    (void)closedir(dir);
    qsort(out->committed, out->committed_count, sizeof out->committed[0], newest_first);
    return true;
}

/* What is not committed goes at the next commit; each ps sees to it, but the last one to die may
 * not have come to it: only what two more commits have left behind is wrong. */
static size_t count_forgotten(const struct store_view *view)
{
    size_t count = 0;
    if (view->committed_count < 3) { return 0; }
    for (size_t i = 0; i < view->loose_count; i++) { count += view->loose[i] < view->committed[2]; }
    return count;
}

void verdict_check_disk(json_t *checks, const char *run_dir, uint32_t keep)
{
    char folder[PATH_BYTES];
    struct store_view *view = calloc(1, sizeof *view);
    (void)snprintf(folder, sizeof folder, "%s/checkpoints", run_dir);
    if (view == NULL || !look_at_store(folder, view)) {
        verdict_add(checks, "disk", false, "%.500s cannot be read: %s", folder, strerror(errno));
        free(view);
        return;
    }
    /* One more is there until it is collected, another because a generation was loaded from it. */
    size_t forgotten = count_forgotten(view), most = (size_t)keep + 2;
    if (view->committed_count > most) {
        verdict_add(checks, "disk", false, "%zu checkpoints are there, %u are to be kept",
                    view->committed_count, keep);
    } else if (forgotten > 0) {
        verdict_add(checks, "disk", false,
                    "%zu half written checkpoints are older than two committed ones: nobody "
                    "removes them",
                    forgotten);
    } else {
        verdict_add(checks, "disk", true,
                    "%zu checkpoints are there, %u are to be kept; %zu that were never committed",
                    view->committed_count, keep, view->loose_count);
    }
    free(view);
}

/* ----------------------------------------------------------- nothing left */

static bool find_process(const char *mark, char *text, size_t size)
{
    pid_t pid = 0;
    char command[COMMAND_MAX];
    size_t count = resources_marked(mark, &pid, 1);
    if (count == 0) { return false; }
    resources_command(pid, command, sizeof command);
    (void)snprintf(text, size, "%zu processes, as pid %d: %s", count, (int)pid, command);
    return true;
}

static bool find_socket(const char *folder, int depth, char *text, size_t size)
{
    DIR *dir = opendir(folder);
    bool found = false;
    if (dir == NULL) { return false; }
    for (struct dirent *entry; !found && (entry = readdir(dir)) != NULL;) {
        char path[PATH_BYTES];
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) { continue; }
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_BYTES) { continue; }
        if (lstat(path, &about) != 0) { continue; }
        found = S_ISSOCK(about.st_mode);
        if (found) { (void)snprintf(text, size, "the socket %.280s", path); }
        if (S_ISDIR(about.st_mode) && depth > 0) {
            found = find_socket(path, depth - 1, text, size);
        }
    }
    (void)closedir(dir);
    return found;
}

/* The mount point is the fifth word of a line (proc(5)). A path with a space is written with \040:
 * ours has none, or is not found; then its file systems show as busy folders. */
static bool find_mount(const char *dir, char *text, size_t size)
{
    char line[MOUNT_LINE_MAX], real[PATH_BYTES], point[PATH_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (file == NULL || realpath(dir, real) == NULL) { real[0] = '\0'; }
    size_t length = strlen(real);
    while (file != NULL && length > 1 && !found && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1) { continue; }
        found = strncmp(point, real, length) == 0 && point[length] == '/';
        if (found) { (void)snprintf(text, size, "the mount %.280s", point); }
    }
    if (file != NULL) { (void)fclose(file); }
    return found;
}

static bool find_left(const char *mark, const char *dir, const char *run_dir, char *text,
                      size_t size)
{
    return find_process(mark, text, size) || find_socket(run_dir, DEPTH_MAX, text, size) ||
           find_mount(dir, text, size);
}

void verdict_check_nothing_left(json_t *checks, const char *mark, const char *dir,
                                const char *run_dir, uint64_t patience_ms)
{
    char text[LEFT_TEXT_MAX];
    uint64_t until_ms = clock_monotonic_ms() + patience_ms;
    if (mark == NULL || strchr(mark, '=') == NULL || access(run_dir, R_OK | X_OK) != 0) {
        verdict_add(checks, "nothing-left", false, "no mark, or no folder to look into: %.300s",
                    run_dir);
        return;
    }
    bool left = find_left(mark, dir, run_dir, text, sizeof text);
    while (left && clock_monotonic_ms() < until_ms) {
        (void)usleep(LOOK_AGAIN_MS * 1000);
        left = find_left(mark, dir, run_dir, text, sizeof text);
    }
    if (left) {
        verdict_add(checks, "nothing-left", false, "still there: %s", text);
    } else {
        verdict_add(checks, "nothing-left", true, "no process, no socket, no mount");
    }
}
