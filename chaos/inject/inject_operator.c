/* chaos/inject/inject_operator.c: what operators do by mistake, and what must be refused: the same
 * task twice, the same cluster twice, a node with another job. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chaos/cluster/subprocess.h"
#include "common/base/clock.h"

enum {
    ATTEMPTS = 2,
    WORDS = 64,
    COMMAND_LINE = 8192,
    PATIENCE_MS = 180000, /* A refusal waits for a session timeout and more. */
    TEXT_MAX = 460,
};

/* A command that must end with `wanted`, as long as process `while_pid` lives. */
struct attempt {
    const char *what; /* Static. */
    int wanted;
    bool given, dropped;
    struct subprocess subprocess;
};

struct mistake {
    uint64_t began_ms;
    char place[PLACE_NAME_MAX]; /* Whose life makes it a mistake, ... */
    pid_t pid;                  /* ... and its process. */
    struct attempt attempts[ATTEMPTS];
};

/* ------------------------------------------------------------- the attempts */

static enum tn_status give(const struct target_cluster *cluster, const struct strike *strike,
                           struct attempt *attempt, const char *place, const char *const *words,
                           struct error *error)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%u-%s", fault_descriptor(strike->injection.fault)->name,
             strike->injection.id, attempt->what);
    for (char *at = name; *at; at++) {
        if (*at == ' ' || *at == '/') { *at = '-'; }
    }
    enum tn_status status =
        subprocess_start(cluster, place, name, words, &attempt->subprocess, error);
    attempt->given = status == TN_OK;
    return status;
}

/* The words of a process's command line, but those that the agent alone gives: as one would type
 * it. `text` holds them. TN_EAGAIN: it has ended. */
static enum tn_status copy_words(pid_t pid, char text[static COMMAND_LINE],
                                 const char *words[static WORDS], struct error *error)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, COMMAND_LINE - 1);
    if (fd >= 0) { close(fd); }
    if (size <= 0) { return error_set(error, TN_EAGAIN, "process %ld has ended", (long)pid); }
    text[size] = '\0';
    size_t count = 0;
    for (char *word = text; word < text + size && count < WORDS - 1; word += strlen(word) + 1) {
        bool ours = strcmp(word, "--incarnation") == 0 || strcmp(word, "--session-file") == 0;
        if (ours) {
            word += strlen(word) + 1; /* Its value goes, too. */
        } else {
            words[count++] = word;
        }
    }
    words[count] = NULL;
    return TN_OK;
}

static enum tn_status begin_twice(struct target_cluster *cluster, struct strike *strike,
                                  struct mistake *mistake, struct error *error)
{
    char text[COMMAND_LINE];
    const char *words[WORDS];
    const struct place *place = target_cluster_place(cluster, strike->targets[0]);
    if (place == NULL || !place->is_node) {
        return error_set(error, TN_EINVAL, "twice: %s is no node", strike->targets[0]);
    }
    if (place->pid <= 0) { return error_set(error, TN_EAGAIN, "%s is not running", place->name); }
    enum tn_status status = copy_words(place->pid, text, words, error);
    if (status != TN_OK) { return status; }
    mistake->pid = place->pid;
    snprintf(mistake->place, sizeof mistake->place, "%s", place->name);
    struct attempt *attempt = &mistake->attempts[0];
    *attempt = (struct attempt){.what = "its second process", .wanted = TN_EXIT_TASK_TAKEN};
    status = give(cluster, strike, attempt, place->name, words, error);
    snprintf(strike->text, sizeof strike->text, "%s, alive as pid %ld, was started again by hand",
             place->name, (long)place->pid);
    return status;
}

/* While the agent lives. */
static enum tn_status need_agent(const struct target_cluster *cluster, struct mistake *mistake,
                                 struct error *error)
{
    const struct place *agent = &cluster->places[0];
    if (agent->pid <= 0) { return error_set(error, TN_EAGAIN, "the agent is not running"); }
    if (!*cluster->connect) { return error_set(error, TN_EAGAIN, "ZooKeeper is not known yet"); }
    mistake->pid = agent->pid;
    snprintf(mistake->place, sizeof mistake->place, "%s", agent->name);
    return TN_OK;
}

static enum tn_status begin_two(struct target_cluster *cluster, struct strike *strike,
                                struct mistake *mistake, struct error *error)
{
    char job[TARGET_PATH_MAX + 16], other[TARGET_PATH_MAX + 64];
    enum tn_status status = need_agent(cluster, mistake, error);
    if (status != TN_OK) { return status; }
    snprintf(job, sizeof job, "%s/job.json", cluster->run_dir);
    snprintf(other, sizeof other, "%s/scratch/second-%u", cluster->dir, strike->injection.id);
    const char *const same_folder[] = {"tanist", "run", job, "--dir", cluster->run_dir, "-q", NULL};
    const char *const same_name[] = {"tanist",         "run", job, "--dir", other, "--zk",
                                     cluster->connect, "-q",  NULL};
    struct attempt *attempts = mistake->attempts;
    attempts[0] =
        (struct attempt){.what = "a run in the same folder", .wanted = TN_EXIT_INVALID_INPUT};
    attempts[1] =
        (struct attempt){.what = "a run of the same name", .wanted = TN_EXIT_INVALID_INPUT};
    status = give(cluster, strike, &attempts[0], NULL, same_folder, error);
    if (status == TN_OK) { status = give(cluster, strike, &attempts[1], NULL, same_name, error); }
    snprintf(strike->text, sizeof strike->text,
             "`tanist run` was given again, in the same folder and in another");
    return status;
}

static enum tn_status begin_mixed(struct target_cluster *cluster, struct strike *strike,
                                  struct mistake *mistake, struct error *error)
{
    char job[TARGET_PATH_MAX + 16], other[TARGET_PATH_MAX + 64], seed[40], index[16];
    const struct place *place = target_cluster_place(cluster, strike->targets[0]);
    enum tn_status status = need_agent(cluster, mistake, error);
    if (status != TN_OK) { return status; }
    if (place == NULL || !place->is_node) {
        return error_set(error, TN_EINVAL, "mixed-jobs: %s is no node", strike->targets[0]);
    }
    snprintf(job, sizeof job, "%s/job.json", cluster->run_dir);
    snprintf(other, sizeof other, "%s/scratch/mixed-%u", cluster->dir, strike->injection.id);
    snprintf(seed, sizeof seed, "seed=%" PRIu64, cluster->job->seed + 1);
    snprintf(index, sizeof index, "%u", place->task.index);
    const char *const words[] = {"tanist",    role_name(place->task.role),
                                 "--index",   index,
                                 "--job",     job,
                                 "--set",     seed,
                                 "--cluster", cluster->job->name,
                                 "--zk",      cluster->connect,
                                 "--dir",     other,
                                 NULL};
    struct attempt *attempt = &mistake->attempts[0];
    *attempt = (struct attempt){.what = "a node with another job", .wanted = TN_EXIT_INVALID_INPUT};
    status = give(cluster, strike, attempt, place->name, words, error);
    snprintf(strike->text, sizeof strike->text, "another %s was started by hand, with %s",
             place->name, seed);
    return status;
}

/* ------------------------------------------------------------- the verdict */

/* Ends that say nothing of a mistake: ZooKeeper was away, the run was over, or another fault of the
 * round (a failpoint) struck who was started by hand. */
static bool says_nothing(const struct attempt *attempt)
{
    const struct subprocess *subprocess = &attempt->subprocess;
    return attempt->dropped || subprocess->signal == SIGKILL ||
           (subprocess->signal == 0 && (subprocess->exit_code == TN_EXIT_CANNOT_CONNECT ||
                                        subprocess->exit_code == TN_EXIT_UNHEALTHY ||
                                        subprocess->exit_code == TN_EXIT_SESSION_EXPIRED));
}

static void judge(const struct mistake *mistake, char text[static TEXT_MAX])
{
    size_t used = 0;
    bool wrong = false;
    for (int i = 0; i < ATTEMPTS; i++) {
        const struct attempt *attempt = &mistake->attempts[i];
        bool refused =
            attempt->subprocess.signal == 0 && attempt->subprocess.exit_code == attempt->wanted;
        if (attempt->given && !refused && !says_nothing(attempt)) { wrong = true; }
    }
    if (wrong) { used += (size_t)snprintf(text, TEXT_MAX, "WRONG: "); }
    for (int i = 0; i < ATTEMPTS; i++) {
        const struct attempt *attempt = &mistake->attempts[i];
        const struct subprocess *subprocess = &attempt->subprocess;
        char end[200];
        if (!attempt->given || used >= TEXT_MAX) { continue; }
        bool refused = subprocess->signal == 0 && subprocess->exit_code == attempt->wanted;
        subprocess_describe(subprocess, end, sizeof end);
        if (attempt->dropped) {
            snprintf(end, sizeof end, "taken back, as %s died", mistake->place);
        }
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%s: %s%s", i ? "; " : "",
                                 attempt->what, refused ? "refused, " : "", end);
    }
}

static void drop(struct mistake *mistake)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct attempt *attempt = &mistake->attempts[i];
        if (!attempt->given || subprocess_has_ended(&attempt->subprocess)) { continue; }
        subprocess_stop(&attempt->subprocess);
        attempt->dropped = true;
    }
}

static bool all_ended(struct mistake *mistake)
{
    bool ended = true;
    for (int i = 0; i < ATTEMPTS; i++) {
        ended = (!mistake->attempts[i].given ||
                 subprocess_has_ended(&mistake->attempts[i].subprocess)) &&
                ended;
    }
    return ended;
}

/* ------------------------------------------------------------- the injector */

static enum tn_status begin_mistake(struct target_cluster *cluster, struct strike *strike,
                                    struct error *error)
{
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    /* On an ensemble that has just lost its data who comes first is in the right. */
    if (!*cluster->chief) { return error_set(error, TN_EAGAIN, "nobody is in office now"); }
    struct mistake *mistake = calloc(1, sizeof *mistake);
    if (mistake == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    switch (strike->injection.fault) {
    case FAULT_TWICE: status = begin_twice(cluster, strike, mistake, error); break;
    case FAULT_TWO_CLUSTERS: status = begin_two(cluster, strike, mistake, error); break;
    default: status = begin_mixed(cluster, strike, mistake, error); break;
    }
    if (status != TN_OK) {
        drop(mistake);
        free(mistake);
        return status;
    }
    mistake->began_ms = clock_monotonic_ms();
    strike->injection.for_ms = PATIENCE_MS; /* tick_mistake() shortens it. */
    strike->state = mistake;
    return TN_OK;
}

/* When the living one dies it is no mistake any more, and might succeed: it is taken back at once.
 */
static void tick_mistake(struct target_cluster *cluster, struct strike *strike)
{
    struct mistake *mistake = strike->state;
    const struct place *place = target_cluster_place(cluster, mistake->place);
    if (place == NULL || place->pid != mistake->pid) { drop(mistake); }
    if (all_ended(mistake)) { strike->injection.for_ms = 1; /* Over. */ }
}

static void end_mistake(struct target_cluster *cluster, struct strike *strike)
{
    struct mistake *mistake = strike->state;
    const struct place *place = target_cluster_place(cluster, mistake->place);
    bool lives = place != NULL && place->pid == mistake->pid;
    bool in_time = clock_monotonic_ms() < mistake->began_ms + PATIENCE_MS;
    if (!lives || in_time) { drop(mistake); /* The round ended before: nothing is known. */ }
    for (int i = 0; i < ATTEMPTS; i++) {
        if (mistake->attempts[i].given) { subprocess_stop(&mistake->attempts[i].subprocess); }
    }
    judge(mistake, strike->text);
    free(mistake);
    strike->state = NULL;
}

const struct injector injector_operator = {
    .begin = begin_mistake, .tick = tick_mistake, .end = end_mistake};
