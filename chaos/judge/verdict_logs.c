/* The log lines of a round: a bug is a bug even if a restart recovers from it. */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/judge/verdict_checks.h"

enum { PATH_BYTES = 4096, FOUND_MAX = 240 };

/* Only a program with a bug prints these. */
static const char *const bug_marks[] = {"Assertion `",     "AddressSanitizer",  "LeakSanitizer",
                                        "ThreadSanitizer", ": runtime error: ", "stack smashing",
                                        "double free",     "free(): invalid",   "malloc(): "};

/* The harness sends SIGKILL and SIGTERM; a process that ends by any other signal crashed. */
static bool is_crash(const char *line)
{
    const char *at = strstr(line, ": signal ");
    if (at == NULL || strstr(line, "(pid ") == NULL) { return false; }
    long number = strtol(at + strlen(": signal "), NULL, 10);
    return number != 9 && number != 15;
}

struct search {
    uint32_t files, found;
    char first[FOUND_MAX];
};

static void search_line(struct search *search, const char *name, const char *line)
{
    bool bad = is_crash(line);
    for (size_t i = 0; !bad && i < sizeof bug_marks / sizeof *bug_marks; i++) {
        bad = strstr(line, bug_marks[i]) != NULL;
    }
    if (!bad) { return; }
    if (search->found++ == 0) {
        (void)snprintf(search->first, sizeof search->first, "%s: %.180s", name, line);
    }
}

static void search_file(struct search *search, const char *path, const char *name)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) { return; }
    search->files++;
    while (getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        search_line(search, name, line);
    }
    free(line);
    (void)fclose(file);
}

void verdict_check_crashes(json_t *checks, const char *run_log, const char *run_dir)
{
    assert(run_log != NULL);
    assert(run_dir != NULL);
    char folder[PATH_BYTES], path[2 * PATH_BYTES];
    struct search search = {0};
    (void)snprintf(folder, sizeof folder, "%s/logs", run_dir);
    search_file(&search, run_log, "run.log");
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') { continue; }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        search_file(&search, path, entry->d_name);
    }
    if (dir != NULL) { (void)closedir(dir); }
    if (search.files < 2) {
        verdict_add(checks, "crashes", false, "the logs of the run cannot be read");
    } else if (search.found > 0) {
        verdict_add(checks, "crashes", false, "%u log lines report a bug; the first is in %s",
                    search.found, search.first);
    } else {
        verdict_add(checks, "crashes", true, "no process crashed, according to %u logs",
                    search.files);
    }
}
