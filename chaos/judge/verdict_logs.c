/* The log lines of a round: a bug is a bug even if a restart recovers from it. */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"
#include "chaos/plan/fault.h"
#include "tanist/status.h"

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

/* ------------------------------------------------------------- exit codes */

#define FAMILY(name) (1U << FAMILY_##name)

/* The families and the effects of faults, as sets. */
struct causes {
    unsigned families, effects;
};

/* The exit codes with which a node may end although the job continues, and the causes of which one
 * must have been injected; none: the code needs no fault. */
static const struct exit_cause {
    int code;
    struct causes causes;
} exit_causes[] = {
    {TN_EXIT_OK, {0}},
    {TN_EXIT_SESSION_EXPIRED, {0}},
    {TN_EXIT_DEPOSED, {0}},
    {TN_EXIT_RESIGNED, {.effects = EFFECT_ASKS_TO_RESIGN}},
    {TN_EXIT_CANNOT_CONNECT, {FAMILY(ZOOKEEPER) | FAMILY(NETWORK) | FAMILY(FREEZE), 0}},
    {TN_EXIT_IO, {FAMILY(DISK) | FAMILY(LIMITS) | FAMILY(FAILPOINT), 0}},
    {TN_EXIT_ERROR, {FAMILY(LIMITS) | FAMILY(GPU), 0}}, /* No memory, or no descriptor. */
    {TN_EXIT_DEVICE_FAILED, {FAMILY(GPU), 0}},
    {TN_EXIT_INVALID_INPUT, {FAMILY(GPU), 0}}, /* There is no GPU now. */
};

static bool has_cause(int code, struct causes injected)
{
    for (size_t i = 0; i < sizeof exit_causes / sizeof *exit_causes; i++) {
        const struct exit_cause *cause = &exit_causes[i];
        if (cause->code != code) { continue; }
        const struct causes *needed = &cause->causes;
        return (needed->families == 0 && needed->effects == 0) ||
               (needed->families & injected.families) != 0 ||
               (needed->effects & injected.effects) != 0;
    }
    return false;
}

static struct causes injected_causes(const json_t *history)
{
    struct causes injected = {0};
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (!line_is(line, "fault")) { continue; }
        const struct fault_descriptor *fault = fault_find(json_member_text(line, "fault", ""));
        if (fault == NULL) { continue; }
        injected.families |= 1U << fault->family;
        injected.effects |= fault->effects;
    }
    return injected;
}

/* The agent logs the end of a node as "[   1.2 s] ps:0 (pid 7): exit code 1 (error); restarting".
 * Returns the exit code; -1: the line is not such a line. */
static int exit_code_of(const char *line)
{
    static const char *const roles[] = {"coordinator:", "ps:", "worker:", "evaluator:"};
    const char *pid = strstr(line, " (pid "), *at = strstr(line, "): exit code ");
    if (pid == NULL || at == NULL || at < pid) { return -1; }
    const char *task = pid;
    while (task > line && task[-1] != ' ') { task--; }
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strncmp(task, roles[i], strlen(roles[i])) != 0) { continue; }
        return (int)strtol(at + strlen("): exit code "), NULL, 10);
    }
    return -1;
}

void verdict_check_exits(json_t *checks, const char *run_log, const json_t *history)
{
    char *line = NULL, first[FOUND_MAX] = "";
    size_t size = 0;
    unsigned ends = 0, unexpected = 0;
    assert(run_log != NULL);
    const struct causes injected = injected_causes(history);
    FILE *file = fopen(run_log, "re");
    if (file == NULL) {
        verdict_add(checks, "exits", false, "the log of the run cannot be read");
        return;
    }
    while (getline(&line, &size, file) > 0) {
        const int code = exit_code_of(line);
        ends += code >= 0;
        if (code < 0 || has_cause(code, injected)) { continue; }
        line[strcspn(line, "\n")] = '\0';
        if (unexpected++ == 0) { (void)snprintf(first, sizeof first, "%.200s", line); }
    }
    free(line);
    (void)fclose(file);
    if (unexpected > 0) {
        verdict_add(checks, "exits", false,
                    "%u nodes ended with an exit code that no injected fault explains; the first: "
                    "%s",
                    unexpected, first);
    } else {
        verdict_add(checks, "exits", true, "%u nodes ended by themselves, each with a known cause",
                    ends);
    }
}
