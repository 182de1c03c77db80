#include "chaos/cluster/subprocess.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chaos/cluster/lab.h"
#include "common/base/files.h"

enum { LAST_LINE_MAX = 300 };

enum tn_status subprocess_start(const struct target_cluster *cluster, const char *component,
                                const char *name, const char *const *arguments,
                                struct subprocess *out, struct error *error)
{
    char folder[TARGET_PATH_MAX + 16], network[48] = "";
    int namespace =
        cluster->lab != NULL && component != NULL ? lab_namespace(cluster->lab, component) : -1;
    assert(name != NULL);
    assert(arguments[0] != NULL);
    if (namespace >= 0) { snprintf(network, sizeof network, "/proc/self/fd/%d", namespace); }
    *out = (struct subprocess){.ended = true};
    snprintf(folder, sizeof folder, "%s/scratch", cluster->dir);
    snprintf(out->log, sizeof out->log, "%s/%s.log", folder, name);
    enum tn_status status = files_make_folders(folder, error);
    if (status != TN_OK) { return status; }
    if (unlink(out->log) != 0 && errno != ENOENT) {
        return files_error(error, errno, "remove", out->log);
    }
    const struct process_config process = {.program = cluster->program,
                                           .arguments = arguments,
                                           .environment = cluster->environment,
                                           .log_path = out->log,
                                           .network = *network ? network : NULL};
    status = process_start(&process, &out->process, error);
    out->ended = status != TN_OK;
    return status;
}

bool subprocess_has_ended(struct subprocess *subprocess)
{
    if (!subprocess->ended) {
        subprocess->ended =
            process_wait(&subprocess->process, 0, &subprocess->exit_code, &subprocess->signal);
    }
    return subprocess->ended;
}

void subprocess_stop(struct subprocess *subprocess)
{
    if (subprocess_has_ended(subprocess)) { return; }
    (void)kill(subprocess->process.pid, SIGKILL);
    process_reap(&subprocess->process, &subprocess->exit_code, &subprocess->signal);
    subprocess->ended = true;
}

static void read_last_line(const char *path, char line[static LAST_LINE_MAX])
{
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL) { return; }
    if (fseek(file, 1 - (long)LAST_LINE_MAX, SEEK_END) != 0) { rewind(file); }
    size_t size = fread(line, 1, LAST_LINE_MAX - 1, file);
    fclose(file);
    while (size > 0 && line[size - 1] == '\n') { size--; }
    line[size] = '\0';
    const char *last = strrchr(line, '\n');
    if (last != NULL) { memmove(line, last + 1, strlen(last + 1) + 1); }
}

void subprocess_describe(const struct subprocess *subprocess, char *text, size_t size)
{
    char end[80], line[LAST_LINE_MAX];
    assert(size > 0);
    process_describe_end(subprocess->exit_code, subprocess->signal, end, sizeof end);
    read_last_line(subprocess->log, line);
    snprintf(text, size, "%s%s%s", subprocess->ended ? end : "still running",
             line[0] != '\0' ? ": " : "", line);
}
