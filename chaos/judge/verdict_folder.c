/* Files, processes and mounts that a round leaves behind. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/cluster/proc.h"
#include "chaos/judge/verdict_checks.h"
#include "common/base/clock.h"

enum {
    PATH_BYTES = 4096,
    DEPTH_MAX = 12,
    IDS_MAX = 4096,
    RETRY_MS = 50,
    COMMAND_MAX = 120,
    MOUNT_LINE_MAX = 8192,
    FOUND_TEXT_MAX = 320,
};

/* Whether a file is one that is searched for. */
typedef bool file_test(const char *name, mode_t mode);

/* The first file that passes the test in a folder, or in its folders down to `depth`. Links are not
 * followed. */
static bool find_file(const char *folder, int depth, file_test *test, char path[static PATH_BYTES])
{
    DIR *dir = opendir(folder);
    bool found = false;
    assert(depth >= 0);
    if (dir == NULL) { return false; }
    for (struct dirent *entry; !found && (entry = readdir(dir)) != NULL;) {
        char inside[PATH_BYTES];
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) { continue; }
        if (snprintf(inside, sizeof inside, "%s/%s", folder, entry->d_name) >= PATH_BYTES) {
            continue;
        }
        if (lstat(inside, &about) != 0) { continue; }
        found = test(entry->d_name, about.st_mode);
        if (found) { memcpy(path, inside, sizeof inside); }
        if (!found && S_ISDIR(about.st_mode) && depth > 0) {
            found = find_file(inside, depth - 1, test, path);
        }
    }
    (void)closedir(dir);
    return found;
}

/* ------------------------------------------------------------------- disk */

struct store_view {
    uint64_t committed[IDS_MAX]; /* With their manifest; newest first. */
    size_t committed_count;
    uint64_t partial[IDS_MAX]; /* Without a manifest, or with a partial file inside. */
    size_t partial_count;
};

static bool is_partial(const char *name, mode_t mode)
{
    (void)mode;
    return strstr(name, ".partial-") != NULL || strstr(name, ".tmp-") != NULL;
}

static int newest_first(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? 1 : -(left > right);
}

/* False: the folder cannot be read. */
static bool read_store(const char *folder, struct store_view *out)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) { return false; }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *end, path[PATH_BYTES], checkpoint[PATH_BYTES];
        uint64_t id = strtoull(entry->d_name, &end, 10);
        if (id == 0 || *end != '\0' || out->committed_count == IDS_MAX) { continue; }
        int length = snprintf(checkpoint, sizeof checkpoint, "%s/%s", folder, entry->d_name);
        if (length >= PATH_BYTES) { continue; }
        length = snprintf(path, sizeof path, "%s/manifest.json", checkpoint);
        if (length >= PATH_BYTES) { continue; }
        bool committed = access(path, F_OK) == 0;
        if (committed) { out->committed[out->committed_count++] = id; }
        if (out->partial_count == IDS_MAX) { continue; }
        if (!committed || find_file(checkpoint, 1, is_partial, path)) {
            out->partial[out->partial_count++] = id;
        }
    }
    (void)closedir(dir);
    qsort(out->committed, out->committed_count, sizeof out->committed[0], newest_first);
    return true;
}

/* Each ps removes its partial files at the next commit, but the last one to be killed may not have
 * had the time: only those that two further commits have left behind are a leak. */
static size_t count_abandoned(const struct store_view *view)
{
    size_t count = 0;
    if (view->committed_count < 3) { return 0; }
    for (size_t i = 0; i < view->partial_count; i++) {
        count += view->partial[i] < view->committed[2];
    }
    return count;
}

void verdict_check_disk(json_t *checks, const char *run_dir, uint32_t keep, uint64_t unloadable)
{
    char folder[PATH_BYTES];
    struct store_view *view = calloc(1, sizeof *view);
    assert(run_dir != NULL);
    (void)snprintf(folder, sizeof folder, "%s/checkpoints", run_dir);
    if (view == NULL || !read_store(folder, view)) {
        verdict_add(checks, "disk", false, "%.500s cannot be read: %s", folder, strerror(errno));
        free(view);
        return;
    }
    /* One more exists until it is removed, another one while it is what the ps loaded. */
    size_t abandoned = count_abandoned(view), most = (size_t)(keep + 2 + unloadable);
    if (view->committed_count > most) {
        verdict_add(checks, "disk", false, "%zu committed checkpoints, at most %zu are allowed",
                    view->committed_count, most);
    } else if (abandoned > 0) {
        verdict_add(checks, "disk", false,
                    "%zu partial checkpoints are older than two committed ones: no ps removes "
                    "them",
                    abandoned);
    } else {
        verdict_add(checks, "disk", true, "%zu committed checkpoints, %u to keep; %zu partial ones",
                    view->committed_count, keep, view->partial_count);
    }
    free(view);
}

/* ----------------------------------------------------------- nothing left */

static bool find_process(const char *mark, char *text, size_t size)
{
    pid_t pid = 0;
    char command[COMMAND_MAX];
    size_t count = proc_find_marked(mark, &pid, 1);
    if (count == 0) { return false; }
    proc_command(pid, command, sizeof command);
    (void)snprintf(text, size, "%zu processes, for example pid %d: %s", count, (int)pid, command);
    return true;
}

static bool is_socket(const char *name, mode_t mode)
{
    (void)name;
    return S_ISSOCK(mode);
}

static bool find_socket(const char *folder, char *text, size_t size)
{
    char path[PATH_BYTES];
    if (!find_file(folder, DEPTH_MAX, is_socket, path)) { return false; }
    (void)snprintf(text, size, "the socket %.280s", path);
    return true;
}

/* The mount point is the fifth field of a line (proc(5)). A path that holds a space is escaped as
 * \040 and not found here. */
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
    return find_process(mark, text, size) || find_socket(run_dir, text, size) ||
           find_mount(dir, text, size);
}

void verdict_check_nothing_left(json_t *checks, const char *mark, const char *dir,
                                const char *run_dir, uint64_t patience_ms)
{
    char text[FOUND_TEXT_MAX];
    assert(dir != NULL);
    assert(run_dir != NULL);
    uint64_t until_ms = clock_monotonic_ms() + patience_ms;
    if (mark == NULL || strchr(mark, '=') == NULL || access(run_dir, R_OK | X_OK) != 0) {
        verdict_add(checks, "nothing-left", false, "no mark, or %.300s cannot be read", run_dir);
        return;
    }
    bool left = find_left(mark, dir, run_dir, text, sizeof text);
    while (left && clock_monotonic_ms() < until_ms) {
        (void)usleep(RETRY_MS * 1000);
        left = find_left(mark, dir, run_dir, text, sizeof text);
    }
    if (left) {
        verdict_add(checks, "nothing-left", false, "still exists: %s", text);
    } else {
        verdict_add(checks, "nothing-left", true, "no process, no socket, no mount");
    }
}
