#include "chaos/cluster/subprocess.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/log_reason.h"
#include "chaos/cluster/lab.h"
#include "common/base/files.h"

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

void subprocess_describe(const struct subprocess *subprocess, char *text, size_t size)
{
    char end[80], line[LOG_REASON_MAX];
    assert(size > 0);
    process_describe_end(subprocess->exit_code, subprocess->signal, end, sizeof end);
    log_reason_read(subprocess->log, 0, line);
    snprintf(text, size, "%s%s%s", subprocess->ended ? end : "still running",
             line[0] != '\0' ? ": " : "", line);
}
