#include "chaos/errand.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chaos/lab.h"
#include "common/files.h"

enum { LAST_WORDS_MAX = 300 };

enum tn_status errand_start(const struct arena *arena, const char *place, const char *name,
                            const char *const *words, struct errand *out, struct error *error)
{
    char folder[ARENA_PATH_MAX + 16], network[48] = "";
    union {
        const char *const *given;
        char *const *wanted;
    } arguments = {.given = words};
    int namespace = arena->lab && place ? lab_namespace(arena->lab, place) : -1;
    if (namespace >= 0) snprintf(network, sizeof network, "/proc/self/fd/%d", namespace);
    *out = (struct errand){.ended = true};
    snprintf(folder, sizeof folder, "%s/scratch", arena->dir);
    snprintf(out->log, sizeof out->log, "%s/%s.log", folder, name);
    enum tn_status status = files_make_folders(folder, error);
    if (status != TN_OK) return status;
    if (unlink(out->log) != 0 && errno != ENOENT)
        return files_error(error, errno, "remove", out->log);
    const struct process_config process = {.program = arena->program,
                                           .arguments = arguments.wanted,
                                           .environment = arena->environment,
                                           .log_path = out->log,
                                           .network = *network ? network : NULL};
    status = process_start(&process, &out->process, error);
    out->ended = status != TN_OK;
    return status;
}

bool errand_look(struct errand *errand)
{
    if (errand->ended) return true;
    struct pollfd end = {.fd = errand->process.pidfd, .events = POLLIN};
    if (poll(&end, 1, 0) <= 0) return false;
    process_reap(&errand->process, &errand->exit_code, &errand->signal);
    return errand->ended = true;
}

void errand_stop(struct errand *errand)
{
    if (errand_look(errand)) return;
    (void)kill(errand->process.pid, SIGKILL);
    process_reap(&errand->process, &errand->exit_code, &errand->signal);
    errand->ended = true;
}

static void last_words(const char *path, char words[static LAST_WORDS_MAX])
{
    words[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (fseek(file, 1 - (long)LAST_WORDS_MAX, SEEK_END) != 0) rewind(file);
    size_t size = fread(words, 1, LAST_WORDS_MAX - 1, file);
    fclose(file);
    while (size > 0 && words[size - 1] == '\n') size--;
    words[size] = '\0';
    const char *line = strrchr(words, '\n');
    if (line) memmove(words, line + 1, strlen(line + 1) + 1);
}

void errand_describe(const struct errand *errand, char *text, size_t size)
{
    char end[80], words[LAST_WORDS_MAX];
    process_describe_end(errand->exit_code, errand->signal, end, sizeof end);
    last_words(errand->log, words);
    snprintf(text, size, "%s%s%s", errand->ended ? end : "still running", *words ? ": " : "",
             words);
}
