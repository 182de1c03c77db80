#include "chaos/cluster/subprocess.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chaos/cluster/lab.h"
#include "common/base/files.h"

enum { LAST_WORDS_MAX = 300 };

enum tn_status subprocess_start(const struct target_cluster *cluster, const char *place,
                                const char *name, const char *const *words, struct subprocess *out,
                                struct error *error)
{
    char folder[TARGET_PATH_MAX + 16], network[48] = "";
    int namespace = cluster->lab != NULL && place != NULL ? lab_namespace(cluster->lab, place) : -1;
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
                                           .arguments = words,
                                           .environment = cluster->environment,
                                           .log_path = out->log,
                                           .network = *network ? network : NULL};
    status = process_start(&process, &out->process, error);
    out->ended = status != TN_OK;
    return status;
}

bool subprocess_has_ended(struct subprocess *subprocess)
{
    if (subprocess->ended) { return true; }
    struct pollfd end = {.fd = subprocess->process.pidfd, .events = POLLIN};
    if (poll(&end, 1, 0) <= 0) { return false; }
    process_reap(&subprocess->process, &subprocess->exit_code, &subprocess->signal);
    return subprocess->ended = true;
}

void subprocess_stop(struct subprocess *subprocess)
{
    if (subprocess_has_ended(subprocess)) { return; }
    (void)kill(subprocess->process.pid, SIGKILL);
    process_reap(&subprocess->process, &subprocess->exit_code, &subprocess->signal);
    subprocess->ended = true;
}

static void last_words(const char *path, char words[static LAST_WORDS_MAX])
{
    words[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL) { return; }
    if (fseek(file, 1 - (long)LAST_WORDS_MAX, SEEK_END) != 0) { rewind(file); }
    size_t size = fread(words, 1, LAST_WORDS_MAX - 1, file);
    fclose(file);
    while (size > 0 && words[size - 1] == '\n') { size--; }
    words[size] = '\0';
    const char *line = strrchr(words, '\n');
    if (line != NULL) { memmove(words, line + 1, strlen(line + 1) + 1); }
}

void subprocess_describe(const struct subprocess *subprocess, char *text, size_t size)
{
    char end[80], words[LAST_WORDS_MAX];
    process_describe_end(subprocess->exit_code, subprocess->signal, end, sizeof end);
    last_words(subprocess->log, words);
    snprintf(text, size, "%s%s%s", subprocess->ended ? end : "still running", *words ? ": " : "",
             words);
}
