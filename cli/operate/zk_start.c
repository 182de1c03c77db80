#include "cli/operate/zk_start.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/process.h"
#include "cli/commands.h"
#include "common/base/clock.h"

enum { PROBE_MS = 500, POLL_MS = 100, SAY_AFTER_MS = 3000, SAY_EVERY_MS = 10000, STOP_MS = 10000 };

extern char **environ;

enum phase { STARTING, SERVING, ENDED };

/* A server that we started, or found running. */
struct started {
    const struct zoo_server_files *server;
    struct ensemble_command command;
    pid_t pid;
    bool found; /* It ran before us: we are not its parent. */
    enum phase phase;
    enum tn_status answer; /* To the last probe. */
};

struct run {
    struct started *list;
    size_t count;
    uint64_t began_ms, said_ms;
};

void zk_servers_connect(const struct zk_servers *servers, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < servers->count && used < size; i++) {
        int length =
            snprintf(text + used, size - used, "%s%s", i > 0 ? "," : "", servers->list[i].address);
        if (length > 0) { used += (size_t)length; }
    }
}

/* ----------------------------------------------------------------- starting */

static enum tn_status start_attached(struct started *one, struct error *error)
{
    struct process_config config = {.program = one->command.argv[0],
                                    .arguments = one->command.argv,
                                    .environment = environ,
                                    .log_path = one->server->log_path};
    struct process process;
    enum tn_status status = process_start(&config, &process, error);
    if (status != TN_OK) { return status; }
    close(process.pidfd); /* SIGCHLD tells. */
    one->pid = process.pid;
    return TN_OK;
}

static enum tn_status start_one(struct started *one, bool foreground, struct error *error)
{
    struct zoo_server_files server = *one->server;
    struct ensemble_health health;
    char name[ZOO_ADDRESS_MAX + 32];
    zk_server_name(&server, name, sizeof name);
    one->pid = zoo_server_pid(&server);
    one->found = one->pid != 0;
    if (one->found && foreground) {
        return error_set(error, TN_EBUSY, "%s runs already, as process %ld: stop it first", name,
                         (long)one->pid);
    }
    if (one->found) {
        fprintf(stderr, "%s runs already, as process %ld\n", name, (long)one->pid);
        return TN_OK;
    }
    if (ensemble_probe(server.address, PROBE_MS, &health) != TN_ECONNECT) {
        return error_set(error, TN_EBUSY,
                         "%s: another program listens there: stop it, or change clientPort in %s",
                         name, server.cfg_path);
    }
    bool made_id = server.id != 0 && server.id_missing;
    enum tn_status status = zoo_server_prepare(&server, error);
    if (status != TN_OK) { return status; }
    if (made_id) {
        fprintf(stderr, "%s: wrote %s/myid, its number by its client port\n", name,
                server.cfg.data_dir);
    }
    status = foreground ? start_attached(one, error)
                        : zoo_server_detach(&server, &one->command, &one->pid, error);
    return status == TN_OK ? zoo_server_note_pid(&server, one->pid, error) : status;
}

/* ----------------------------------------------------------------- watching */

static void say_end(const struct started *one, int how)
{
    char name[ZOO_ADDRESS_MAX + 32];
    char end[128];
    char words[512];
    if (WIFSIGNALED(how)) {
        process_describe_end(0, WTERMSIG(how), end, sizeof end);
    } else { /* Java's own codes, not those of our programs. */
        snprintf(end, sizeof end, "exit code %d", WEXITSTATUS(how));
    }
    zoo_server_last_error(one->server, words, sizeof words);
    fprintf(stderr, "tanist: %s ended: %s%s%s; its log is %s\n",
            zk_server_name(one->server, name, sizeof name), end, words[0] != '\0' ? ": " : "",
            words, one->server->log_path);
}

/* Which of our servers have ended? `quiet`: they were told to. */
static void reap(struct run *run, bool quiet)
{
    for (size_t i = 0; i < run->count; i++) {
        struct started *one = &run->list[i];
        int how = 0;
        if (one->phase == ENDED || one->found || one->pid == 0) { continue; }
        if (waitpid(one->pid, &how, WNOHANG) != one->pid) { continue; }
        one->phase = ENDED;
        zoo_server_forget_pid(one->server);
        if (!quiet) { say_end(one, how); }
    }
}

static size_t count_in(const struct run *run, enum phase phase)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++) {
        if (run->list[i].phase == phase) { count++; }
    }
    return count;
}

static void probe(struct run *run)
{
    struct ensemble_health health;
    for (size_t i = 0; i < run->count; i++) {
        struct started *one = &run->list[i];
        if (one->phase != STARTING) { continue; }
        one->answer = ensemble_probe(one->server->address, PROBE_MS, &health);
        if (one->answer == TN_OK) { one->phase = SERVING; }
    }
}

/* Never wait in silence: whom for, since when, and what it last said. */
static void say_waiting(struct run *run)
{
    uint64_t now_ms = clock_monotonic_ms();
    bool due = run->said_ms == 0 ? now_ms - run->began_ms >= SAY_AFTER_MS
                                 : now_ms - run->said_ms >= SAY_EVERY_MS;
    if (!due) { return; }
    run->said_ms = now_ms;
    for (size_t i = 0; i < run->count; i++) {
        const struct started *one = &run->list[i];
        char name[ZOO_ADDRESS_MAX + 32];
        if (one->phase != STARTING) { continue; }
        bool quorum = one->answer == TN_EUNHEALTHY;
        fprintf(stderr, "waiting for %s since %.0f s: %s%s%s\n",
                zk_server_name(one->server, name, sizeof name),
                (double)(now_ms - run->began_ms) / 1000,
                quorum ? "it has no quorum; are the others of its ensemble running?"
                       : tanist_strerror(one->answer),
                quorum ? "" : "; its log is ", quorum ? "" : one->server->log_path);
    }
}

/* Wait for one of these signals, at most POLL_MS. 0: none came. */
static int next_signal(const sigset_t *signals)
{
    struct timespec time = {.tv_nsec = POLL_MS * 1000000};
    int number = sigtimedwait(signals, NULL, &time);
    return number == SIGINT || number == SIGTERM || number == SIGHUP ? number : 0;
}

static void stop_all(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct started *one = &run->list[i];
        if (one->pid != 0 && !one->found && one->phase != ENDED) { kill(one->pid, SIGTERM); }
    }
    uint64_t until_ms = clock_monotonic_ms() + STOP_MS;
    for (size_t i = 0; i < run->count; i++) {
        struct started *one = &run->list[i];
        while (one->pid != 0 && !one->found && one->phase != ENDED) {
            struct timespec time = {.tv_nsec = POLL_MS * 1000000};
            if (clock_monotonic_ms() >= until_ms) { kill(one->pid, SIGKILL); }
            nanosleep(&time, NULL);
            reap(run, true);
        }
    }
}

/* ------------------------------------------------------------------ the run */

/* Until all serve, one has ended, the time is over, or a signal comes. */
static int wait_until_serving(struct run *run, uint64_t wait_ms, const sigset_t *signals)
{
    run->began_ms = clock_monotonic_ms();
    for (;;) {
        reap(run, false);
        if (count_in(run, ENDED) > 0) { return TN_EXIT_SERVER_ERROR; }
        probe(run);
        if (count_in(run, SERVING) == run->count) { return TN_EXIT_OK; }
        if (clock_monotonic_ms() - run->began_ms >= wait_ms) { break; }
        say_waiting(run);
        if (next_signal(signals) != 0) { return TN_EXIT_ERROR; }
    }
    if (wait_ms == 0) { return TN_EXIT_OK; }
    fprintf(stderr, "tanist: %zu of %zu servers serve after %llu s; all were started\n",
            count_in(run, SERVING), run->count, (unsigned long long)wait_ms / 1000);
    return TN_EXIT_UNHEALTHY;
}

/* In the foreground: until a signal, or until the last one has ended. */
static int stay(struct run *run, const sigset_t *signals)
{
    for (;;) {
        if (next_signal(signals) != 0) { return TN_EXIT_OK; }
        reap(run, false);
        if (count_in(run, ENDED) == run->count) { return TN_EXIT_SERVER_ERROR; }
    }
}

static enum tn_status start_all(struct run *run, const struct zk_servers *servers,
                                const struct zk_start_options *options, struct error *error)
{
    for (size_t i = 0; i < servers->count; i++) {
        struct started *one = &run->list[i];
        one->server = &servers->list[i];
        enum tn_status status = ensemble_command(
            one->server->cfg_path, (uint32_t)options->heap_mib.value, &one->command, error);
        if (status != TN_OK) { return status; }
    }
    for (size_t i = 0; i < servers->count; i++) {
        enum tn_status status = start_one(&run->list[i], options->foreground, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static int run_servers(struct run *run, const struct zk_servers *servers,
                       const struct zk_start_options *options, const sigset_t *signals)
{
    struct error error = {.text = ""};
    char connect[ARGUMENTS_MAX * ZOO_ADDRESS_MAX];
    if (start_all(run, servers, options, &error) != TN_OK) {
        stop_all(run);
        return command_failed(&error);
    }
    int code = wait_until_serving(run, options->wait_s.value * 1000, signals);
    if (code == TN_EXIT_OK) {
        zk_servers_connect(servers, connect, sizeof connect);
        puts(connect);
        fflush(stdout);
    }
    if (!options->foreground) {
        if (code == TN_EXIT_ERROR) { stop_all(run); /* A signal came. */ }
        return code;
    }
    if (code == TN_EXIT_OK || code == TN_EXIT_UNHEALTHY) { code = stay(run, signals); }
    stop_all(run);
    return code;
}

int zk_start(const struct zk_servers *servers, const struct zk_start_options *options)
{
    sigset_t signals;
    sigset_t before;
    if (options->heap_mib.value < 32 || options->heap_mib.value > 1024 * 1024 ||
        options->wait_s.value > 24 * 3600) {
        fprintf(stderr, "tanist: --heap: use 32 to 1048576 MiB; --wait: up to 86400 seconds\n");
        return TN_EXIT_ARGUMENTS;
    }
    struct run run = {.count = servers->count};
    run.list = calloc(servers->count, sizeof *run.list);
    if (run.list == NULL) { return TN_EXIT_ERROR; }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    int code = run_servers(&run, servers, options, &signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(run.list);
    return code;
}
